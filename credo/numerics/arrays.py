"""Types of arrays, by their elements; and faster versions of slow NumPy operations."""

from __future__ import annotations

import numpy as np

from credo._kernels.arrays import Array as Array
from credo._kernels.arrays import Codes as Codes
from credo._kernels.arrays import Flags as Flags
from credo._kernels.arrays import Integers as Integers
from credo._kernels.arrays import Positions as Positions

SHORT_AXIS = 12  # length of an axis, up to which a loop over it is faster than NumPy's reduction


def over_short(ufunc: np.ufunc, x: Array, axis: int = -1) -> Array:
    """A ufunc's reduction over an axis, which is kept with length 1; fast for a short axis, such as few classes.

    >>> over_short(np.add, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).tolist()
    [[6.0], [15.0]]
    """
    if not 1 < x.shape[axis] <= SHORT_AXIS:
        return np.asarray(ufunc.reduce(x, axis=axis, keepdims=True))
    before = (slice(None),) * (axis % x.ndim)
    found = ufunc(x[(*before, slice(0, 1))], x[(*before, slice(1, 2))])
    for k in range(2, x.shape[axis]):
        ufunc(found, x[(*before, slice(k, k + 1))], out=found)
    return np.asarray(found)


def less_mean(x: Array, axis: int = -1) -> Array:
    """The values minus their mean over a short axis, such as that of classes."""
    return np.asarray(x - over_short(np.add, x, axis) / x.shape[axis])


class Stacked:
    """Parts of an array, stacked as they come: in place, if the number of rows is known beforehand.

    >>> parts = Stacked()
    >>> for part in ([[1.0, 2.0]], [[3.0, 4.0]]):
    ...     parts.add(np.array(part), rows=3)
    >>> parts.whole((0, 2)).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self._rows, self._filled = np.empty((0, 0)), 0

    def add(self, part: Array, rows: int | None) -> None:
        if rows is None:
            self._parts.append(part)
            return
        if not self._filled:
            self._rows = np.empty((rows, part.shape[1]))
        self._rows[self._filled : self._filled + len(part)] = part
        self._filled += len(part)

    def whole(self, empty: tuple[int, int]) -> Array:
        """All rows so far; an array of the shape `empty`, if there are none."""
        if self._filled:
            return self._rows[: self._filled]
        return np.concatenate(self._parts) if self._parts else np.empty(empty)
