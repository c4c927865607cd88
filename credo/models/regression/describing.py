"""The parameters of a regression as a table that a reader understands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.regression.fitted_line import Basis
    from credo.models.regression.linear import LinearRegression

AVERAGE_ROW = "(average row)"


def parameter_table(model: LinearRegression) -> pa.Table:
    """A line for the prediction of an average row, and one for each term."""
    line = model.fitted
    terms, effects = effects_of(line.basis)
    found = line.weights(effects)
    low, high = found.interval(0.95)
    columns: dict[str, Any] = {
        "term": [AVERAGE_ROW, *terms],
        "weight": np.asarray(found.location),
        "low": np.asarray(low),
        "high": np.asarray(high),
    }
    if line.inclusion is not None:
        sources = line.basis.features.sources
        columns["probability"] = [1.0, *(line.inclusion.probability.get(sources[i], 0.0) for i in range(len(terms)))]
    return pa.table(columns)


def effects_of(basis: Basis) -> tuple[tuple[str, ...], Array]:
    """The effect of each term as a linear combination of the basis' weights: a number's for one unit more; a level's
    against the average of its column's levels, since only differences of levels are identified. (1 + terms, 1 +
    kept)"""
    features, scales, kept = basis.features, basis.scales, basis.kept
    made = np.zeros((1 + features.width, 1 + len(kept)))
    made[0, 0] = 1.0
    made[1 + kept, 1 + np.arange(len(kept))] = 1 / scales[kept]
    start = 0
    for column in features.schema:
        size = 1 if column.levels is None else len(column.levels)
        if column.levels is not None and size:
            own = slice(1 + start, 1 + start + size)
            made[own] -= basis.features.centre[start : start + size] @ made[own]
        start += size
    return features.names, made
