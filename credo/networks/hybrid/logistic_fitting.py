"""Logistic nodes from rows: the most probable weights at each configuration of category parents.

They have no additive statistics, so rows can't be added later."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from credo.core.membership import Codes
from credo.errors import DataError
from credo.networks.hybrid.learning import NodeShape
from credo.networks.hybrid.line_priors import LinePrior
from credo.networks.hybrid.number_node import LogisticNode
from credo.numerics.exact import Array
from credo.numerics.softmax import LikelihoodSums, SumLikelihood, feature_rows
from credo.numerics.softmax_modes import WeightPrior, newton_mode

WEIGHT_SD = 2.5  # prior standard deviation of a weight, for numbers in units of their standard deviation
INTERCEPT_SD = 10.0  # prior standard deviation of an intercept


def fitted_logistic(
    line: NodeShape,
    codes: Mapping[str, Codes],
    numbers: Mapping[str, Array],
    sizes: Mapping[str, int],
    weight: Array,
    prior: LinePrior,
) -> LogisticNode:
    """The most probable weights under weights ~ N(0, 2.5²) per standard deviation of their number and intercepts ~ N(0,
    10²); `prior` multiplies these precisions, None is maximum likelihood."""
    x = np.column_stack([numbers[name] for name in line.numbers])
    middle = np.average(x, axis=0, weights=weight)
    spread = np.sqrt(np.average((x - middle) ** 2, axis=0, weights=weight))
    spread = np.where(spread > 0, spread, 1.0)
    shape = tuple(sizes[name] for name in line.categories)
    states = sizes[line.name]
    configuration = line.configuration(codes, sizes, len(weight))
    intercept, weights = np.zeros((prod(shape), states)), np.zeros((prod(shape), states, x.shape[1]))
    for k in range(prod(shape)):
        rows = configuration == k
        if not rows.any():
            continue
        found = _mode(line.name, (x[rows] - middle) / spread, codes[line.name][rows], weight[rows], states, prior)
        slopes = (found[1:] / spread[:, None]).T  # (columns, numbers)
        columns = slice(1, 2) if states == 2 else slice(None)
        weights[k, columns] = slopes
        intercept[k, columns] = found[0] - slopes @ middle
    slope_shape = (*shape, states, x.shape[1])
    return LogisticNode(
        line.name, line.categories, line.numbers, intercept.reshape(*shape, states), weights.reshape(slope_shape)
    )


def _mode(name: str, features: Array, codes: Codes, weight: Array, states: int, prior: LinePrior) -> Array:
    """(1 + features, columns): with two states the log-odds of the second, with more a column for each."""
    rows = feature_rows(features, codes, weight)
    start = np.zeros((1 + features.shape[1], 1 if states == 2 else states))
    cases = prior if isinstance(prior, float) else 1.0 if prior is not None else 0.0
    precision = np.full(start.shape, cases / WEIGHT_SD**2)
    precision[0] = cases / INTERCEPT_SD**2

    def sums(theta: Array, derivatives: str) -> LikelihoodSums:
        return SumLikelihood(theta, derivatives)(rows)  # type: ignore[arg-type]

    found = newton_mode(sums, WeightPrior(start, precision), start)
    if not found.converged or not np.isfinite(found.coefficients).all():
        raise DataError(
            f"the logistic node of {name!r} has no most probable weights: numbers separate its states; give a prior"
        )
    return np.asarray(found.coefficients)
