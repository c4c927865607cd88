"""Sums in pairs of floats, so that subtracting rows restores the sums before they were added.

Each number is an unevaluated pair high + low of floats (106 bits: Dekker 1971, Knuth TAOCP 4.2.2). Raw sums of squares
cancel in plain floats (at mean 10⁹ and sd 1 they give a variance of 384), but not in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo._kernels.arrays import Array as Array
from credo._kernels.arrays import Integers
from credo._kernels.core.sums import add_pairs_at
from credo.errors import EvidenceError

GATHERED_CELLS = 2**17  # cells up to which parts are copied together, for one call of a kernel instead of many
SPLIT = 134217729.0  # 2²⁷ + 1 splits a float into two halves whose products are exact


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b = sum + error, exactly (Knuth)."""
    total = a + b
    rounded = total - a
    return total, (a - (total - rounded)) + (b - rounded)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a · b = product + error, exactly (Dekker)."""
    product = a * b
    a_high, b_high = SPLIT * a - (SPLIT * a - a), SPLIT * b - (SPLIT * b - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@dataclass(frozen=True, eq=False)
class Exact:
    """An array of sums: value = high + low, to 106 bits.

    >>> huge, small = Exact.of(1e30), Exact.of(1.0)
    >>> float((huge + small - huge).value)
    1.0
    """

    high: Array
    low: Array

    @classmethod
    def of(cls, values: ArrayLike, low: ArrayLike | None = None) -> Exact:
        """The values as sums; `low` holds their rounding errors, if known."""
        high = np.asarray(values, dtype=np.float64)
        return cls(high, np.zeros(high.shape)) if low is None else cls(*two_sum(high, np.asarray(low)))

    @classmethod
    def zeros(cls, shape: int | tuple[int, ...]) -> Exact:
        return cls(np.zeros(shape), np.zeros(shape))

    @property
    def value(self) -> Array:
        """The nearest floats."""
        return self.high + self.low

    @property
    def shape(self) -> tuple[int, ...]:
        return self.high.shape

    @property
    def ndim(self) -> int:
        return self.high.ndim

    def __add__(self, other: Exact) -> Exact:
        high, error = two_sum(self.high, other.high)
        low, rest = two_sum(self.low, other.low)
        high, error = two_sum(high, error + low)
        return Exact(*two_sum(high, error + rest))

    def __neg__(self) -> Exact:
        return Exact(-self.high, -self.low)

    def __sub__(self, other: Exact) -> Exact:
        return self + -other

    def __mul__(self, other: Exact | ArrayLike) -> Exact:
        if not isinstance(other, Exact):
            other = Exact.of(other)
        high, error = two_product(self.high, other.high)
        return Exact(*two_sum(high, error + (self.high * other.low + self.low * other.high)))

    def __truediv__(self, other: Exact) -> Exact:
        """The quotient, 0 where the divisor is 0 (an average over no rows)."""
        safe = np.where(other.high == 0, 1.0, other.high)
        first = np.where(other.high == 0, 0.0, self.high / safe)
        rest = self - other * first
        return Exact(*two_sum(first, np.where(other.high == 0, 0.0, rest.value / safe)))

    def __getitem__(self, key: Any) -> Exact:
        return Exact(np.asarray(self.high[key]), np.asarray(self.low[key]))

    def sum(self, axis: int = 0) -> Exact:
        """The sum along an axis, by pairwise summation: as exact as +."""
        part = self if axis == 0 else Exact(np.moveaxis(self.high, axis, 0), np.moveaxis(self.low, axis, 0))
        if part.shape[0] == 0:
            return Exact.zeros(part.shape[1:])
        while (n := part.shape[0]) > 1:
            half = part[: n // 2] + part[n // 2 : n // 2 * 2]
            part = half if n % 2 == 0 else half.append(part[n - 1 :])
        return part[0]

    def filled(self) -> Exact:
        """These sums: they are dense already (see credo.core.sparse)."""
        return self

    def along(self, axis: int) -> Array:
        """The sums over all other axes, as plain floats."""
        return np.asarray(self.value.sum(tuple(i for i in range(self.ndim) if i != axis)))

    def append(self, other: Exact) -> Exact:
        return Exact(np.concatenate([self.high, other.high]), np.concatenate([self.low, other.low]))

    def take(self, axis: int, positions: NDArray[np.intp]) -> Exact:
        return Exact(np.take(self.high, positions, axis), np.take(self.low, positions, axis))

    def where(self, chosen: NDArray[np.bool_], other: Exact) -> Exact:
        """These sums where chosen, the others elsewhere."""
        return Exact(np.where(chosen, self.high, other.high), np.where(chosen, self.low, other.low))

    @classmethod
    def gather(cls, parts: Sequence[Exact], cells: Sequence[Integers], size: int) -> Exact:
        """A sum of `size` rows, to which each part adds its rows at its distinct cells."""
        total = cls.zeros((size, math.prod(parts[0].shape[1:])))
        few = sum(map(len, cells)) * total.shape[1] <= GATHERED_CELLS
        if few and not add_pairs_at.is_ready:
            with np.errstate(all="ignore"):
                for part, cell in zip(parts, cells, strict=True):
                    rows = total[cell] + part.reshape((len(cell), total.shape[1]))
                    total.high[cell], total.low[cell] = rows.high, rows.low
            return total
        if few:
            high, low = (np.concatenate([getattr(part, half) for part in parts]) for half in ("high", "low"))
            parts, cells = [Exact(high, low)], [np.concatenate(cells)]
        for part, cell in zip(parts, cells, strict=True):
            rows = part.reshape((len(cell), total.shape[1]))
            add_pairs_at(rows.high, rows.low, cell, total.high, total.low)
        return total

    def reshape(self, shape: tuple[int, ...]) -> Exact:
        return Exact(self.high.reshape(shape), self.low.reshape(shape))


@dataclass(frozen=True, eq=False)
class Largest:
    """An array of maxima of numbers ≥ 0: the sum of two is the larger one, and they can't be subtracted."""

    value: Array

    @property
    def high(self) -> Array:
        return self.value

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def __add__(self, other: Largest) -> Largest:
        return Largest(np.maximum(self.value, other.value))

    def __sub__(self, other: Largest) -> Largest:
        raise EvidenceError(
            "a maximum can't be unlearned: without the largest row, the next largest is unknown. "
            "Refit without those rows"
        )

    def __mul__(self, factor: float) -> Largest:
        return self

    def __getitem__(self, key: Any) -> Largest:
        return Largest(np.asarray(self.value[key]))

    def sum(self, axis: int = 0) -> Largest:
        return Largest(self.value.max(axis, initial=0.0))

    def take(self, axis: int, positions: NDArray[np.intp]) -> Largest:
        return Largest(np.take(self.value, positions, axis))

    @classmethod
    def gather(cls, parts: Sequence[Largest], cells: Sequence[Integers], size: int) -> Largest:
        total = np.zeros(size)
        for part, cell in zip(parts, cells, strict=True):
            total[cell] = np.maximum(total[cell], part.value)
        return cls(total)

    def reshape(self, shape: tuple[int, ...]) -> Largest:
        return Largest(self.value.reshape(shape))
