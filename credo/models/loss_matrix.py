"""The loss matrix of decisions, completed from the losses that users give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import DataError, SchemaError, suggest
from credo.numerics.exact import Array

Loss = Mapping[Any, Mapping[Any, float]] | Sequence[Sequence[float]]  # loss[truth][decision]


def loss_matrix(loss: Loss | None, classes: Sequence[object]) -> Array:
    """The loss of each decision under each truth; by default 0 if it is right, else 1. (truth, decision)

    >>> loss_matrix({"sick": {"well": 5}}, ["sick", "well"]).tolist()
    [[0.0, 5.0], [1.0, 0.0]]
    """
    size = len(classes)
    matrix = 1.0 - np.eye(size)
    if loss is None:
        return matrix
    wrong = f"loss must be finite numbers, as in {{truth: {{decision: 3}}}} or a matrix, but is {loss!r:.80}"
    if not isinstance(loss, Mapping):
        try:
            matrix = np.asarray(loss, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(wrong) from None
        if not np.isfinite(matrix).all():
            raise DataError(wrong)
        if matrix.shape != (size, size):
            raise DataError(f"the loss must have {size} rows and columns, one per class, but has shape {matrix.shape}")
        return matrix
    places = {value: k for k, value in enumerate(classes)}
    for truth, costs in loss.items():
        if not isinstance(costs, Mapping):
            raise DataError(wrong)
        for decision, cost in costs.items():
            for value in (truth, decision):
                if value not in places:
                    raise SchemaError(f"loss names a class {value!r} that isn't there; {suggest(value, classes)}")
            if not isinstance(cost, int | float | np.number) or not np.isfinite(cost):
                raise DataError(wrong)
            matrix[places[truth], places[decision]] = cost
    return matrix
