"""Logarithms of number columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from credo.data import Batch
from credo.errors import DataError
from credo.numerics.exact import Array


def logarithms_of(batch: Batch, names: Sequence[str], strict: Collection[str]) -> Array:
    """Logarithms of columns; a number of at most 0 is an error in strict columns, and a missing cell in others."""
    x = batch.matrix(names)
    wrong = (x <= 0) & np.isin(names, list(strict))
    if wrong.any():
        row, j = np.argwhere(wrong)[0]
        raise DataError(
            f"column {names[j]!r} has the value {x[row, j]:g} (row {batch.number(int(row))}), which has no logarithm; "
            f"use kinds={{{names[j]!r}: 'number'}}"
        )
    return logarithms(x)


def logarithms(x: Array) -> Array:
    """log x; NaN for x ≤ 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 0, np.log(x), np.nan)
