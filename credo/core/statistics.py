"""Statistics of a batch, grouped by membership: small, and they add, subtract and scale.

Every field is a sum over rows (numerics.exact): merging is +, forgetting is - and fading is *. The leading axis is the
groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from operator import add, sub
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo._kernels.core.sums import RESIDUAL_WEIGHT as RESIDUAL_WEIGHT
from credo._kernels.core.sums import add_sums_hard, add_weights_soft
from credo._kernels.data.codes import count_pairs
from credo.core.membership import Codes, Hard, Membership
from credo.errors import EvidenceError
from credo.numerics.arrays import Positions as Positions
from credo.numerics.exact import Array, Exact, Largest

PAIR_ROUNDING = 2.0**-90  # the error of a long chain of pair sums, relative to the largest term
WEIGHT_ROUNDING = 1e-12  # the relative difference of sums of the same weights in floats


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over rows, by group; the first, n, is the weight of the rows."""

    n: Exact

    @property
    def sums(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    @property
    def weight(self) -> Array:
        """The weight of each group's rows. (groups,)"""
        return self.n.value

    def _map(self, function: Callable[..., Any], *others: Self) -> Self:
        return type(self)(*map(function, self.sums, *(other.sums for other in others)))

    def __add__(self, other: Self) -> Self:
        return self._map(add, other)

    def __sub__(self, other: Self) -> Self:
        return self._map(sub, other)

    def __mul__(self, factor: float) -> Self:
        return self._map(lambda x: x * factor)

    __rmul__ = __mul__

    def __getitem__(self, group: int | slice | Positions) -> Self:
        return self._map(lambda x: x[group])

    def take(self, axis: int, positions: Positions) -> Self:
        """Some entries of an axis; fields without the axis are unchanged."""
        return self._map(lambda x: x.take(axis, positions) if x.ndim > axis else x)

    @classmethod
    def gather(cls, parts: Sequence[Self], places: Sequence[Sequence[Positions]], sizes: Sequence[int]) -> Self:
        """The sum of parts whose first axes have these positions on wider axes of these sizes."""
        if all(type(sums) is Exact for part in parts for sums in part.sums) and _are_whole(places, sizes):
            with np.errstate(all="ignore"):  # infinities are reported where cells are read
                return reduce(add, parts)
        gathered, cells = [], dict[int, list[Any]]()
        for name in (field.name for field in fields(cls)):
            sums = [getattr(part, name) for part in parts]
            axes = min(len(sizes), sums[0].ndim)
            if axes not in cells:
                cells[axes] = _cells_of_parts([place[:axes] for place in places], sizes[:axes])
            total = type(sums[0]).gather([_flat(part, axes) for part in sums], cells[axes], math.prod(sizes[:axes]))
            gathered.append(total.reshape((*sizes[:axes], *sums[0].shape[axes:])))
        return cls(*gathered)

    def with_new_group(self) -> Self:
        """The statistics with an empty group added at the end."""
        size = self.n.shape[0]
        every, more = np.arange(size), (size + 1,)
        return type(self)(*(x.gather([_flat(x, 1)], [every], size + 1).reshape(more + x.shape[1:]) for x in self.sums))

    def pooled(self) -> Self:
        """All groups as one."""
        return self._map(lambda x: x.sum()[None])

    def leaving_out(self, rows: Self, codes: Codes) -> Self:
        """For each row, the statistics of all groups with the row left out. (rows, groups, ...)"""
        each, gone = np.arange(len(codes)), self.n[codes] - rows.n
        empty = gone.value <= RESIDUAL_WEIGHT * self.n[codes].value

        def left(total: Exact, row: Exact) -> Exact:
            high, low = (np.repeat(part[None], len(codes), axis=0) for part in (total.high, total.low))
            mine = total[codes] - row
            nothing = empty.reshape(empty.shape + (1,) * (mine.ndim - empty.ndim))
            high[each, codes], low[each, codes] = (np.where(nothing, 0.0, part) for part in (mine.high, mine.low))
            return Exact(high, low)

        return self._map(left, rows)

    def without(self, other: Self) -> Self | None:
        """This minus other; None if other can't have been part of it."""
        left = self - other
        if (left.n.high < -PAIR_ROUNDING * self.n.high).any():
            return None
        gone = left.n.high <= PAIR_ROUNDING * self.n.high
        cleared = []
        for before, after in zip(self.sums, left.sums, strict=True):
            empty = gone.reshape(gone.shape + (1,) * (after.ndim - gone.ndim))
            if (empty & (np.abs(after.high) > PAIR_ROUNDING * (1 + np.abs(before.high)))).any():
                return None
            cleared.append(Exact(np.where(empty, 0.0, after.high), np.where(empty, 0.0, after.low)))
        left = type(self)(*cleared)._settled(self)
        if left._lost_in_rounding(self):
            raise EvidenceError(
                "can't forget: numbers this large rounded off digits of the others when they were learned. "
                "Refit on the remaining rows"
            )
        return left if left._possible(self) else None

    def possible(self) -> bool:
        """Whether some rows have these sums; those of a group without rows are 0."""
        gone = self.n.high == 0
        nothing = (np.abs(each.high) * gone.reshape(gone.shape + (1,) * (each.ndim - gone.ndim)) for each in self.sums)
        return not any(each.any() for each in nothing) and self._possible(self)

    def _settled(self, before: Self) -> Self:  # noqa: ARG002 - counts leave no rounding behind
        """The statistics without rounding errors where the remaining numbers are equal."""
        return self

    def _lost_in_rounding(self, before: Self) -> bool:  # noqa: ARG002 - counts are never lost
        """Whether the remainder is so small compared with the sum before that rounding dominates it."""
        return False

    def _possible(self, before: Self) -> bool:
        """Whether some rows have these sums, up to the rounding of `before`."""
        return bool(np.isfinite(before.n.high).all())


@dataclass(frozen=True, eq=False)
class Counts(Statistics):
    """n[k, v] = Σᵢ wᵢₖ [xᵢ = v]: how often group k showed value v. (groups, levels)"""

    @property
    def weight(self) -> Array:
        return np.asarray(self.n.value.sum(-1))

    def entries(self) -> tuple[Positions, Positions, Array]:
        """The nonzero cells: their groups, values and counts."""
        n = self.n.value
        rows, columns = np.nonzero(n)
        return rows, columns, n[rows, columns]

    def at(self, groups: Any, values: Any) -> Array:
        """The counts of these groups and values."""
        return np.asarray(self.n.value[groups, values])

    @classmethod
    def of(cls, x: Codes, levels: int, member: Membership) -> Self:
        """The counts of codes; a code below 0 is a missing cell."""
        if isinstance(member, Hard) and (member.weight == 1).all():  # counting is exact, and several times faster
            return cls(Exact.of(_counts_of_pairs(np.asarray(x, dtype=np.int32), levels, member)))
        if isinstance(member, Hard):
            cells = np.where((x >= 0) & (member.codes >= 0), member.codes.astype(np.int64) * levels + x, -1)
            return cls(_weights_of(cells, member.groups * levels, member.weight).reshape((member.groups, levels)))
        n = np.zeros((levels, member.groups))
        add_weights_soft(np.asarray(x, dtype=np.int32), member.weights, n)
        return cls(Exact.of(np.ascontiguousarray(n.T)))

    @classmethod
    def of_pairs(cls, high: ArrayLike, low: ArrayLike) -> Counts:
        """The counts from pair sums. (groups, levels)"""
        return cls(Exact.of(high, low))

    @classmethod
    def of_rows(cls, member: Membership) -> Counts:
        """The weight of each group's rows. (groups, 1)"""
        if isinstance(member, Hard):
            return cls(_weights_of(member.codes, member.groups, member.weight)[:, None])
        return cls(Exact.of((np.ones(member.rows) @ member.weights)[:, None]))


@dataclass(frozen=True, eq=False)
class PairCounts(Statistics):
    """n[k, a, b] = Σᵢ wᵢₖ [row i has the cells a and b]; the diagonal counts single cells. (groups, cells, cells)"""

    @property
    def weight(self) -> Array:
        """The weight of the rows with the commonest cell. (groups,)"""
        return np.asarray(np.diagonal(self.n.value, axis1=1, axis2=2).max(1, initial=0.0))

    def possible(self) -> bool:
        """Whether the table is symmetric, and no pair is commoner than either of its cells."""
        n = self.n.value
        single = np.diagonal(n, axis1=1, axis2=2)
        least = np.minimum(single[:, :, None], single[:, None]) * (1 + WEIGHT_ROUNDING)
        return bool(super().possible() and (n == n.swapaxes(1, 2)).all() and (n <= least).all())


@dataclass(frozen=True, eq=False)
class FamilyCounts(Statistics):
    """n[k, a, ..., b] = Σᵢ wᵢₖ [row i has the cells a, ..., b of parents and column]. (groups, cells...)"""

    @property
    def weight(self) -> Array:
        n = self.n.value
        return np.asarray(n.sum(axis=tuple(range(1, n.ndim))))


@dataclass(frozen=True, eq=False)
class Totals(Statistics):
    """n = Σ wᵢₖ (groups,), total = Σ wᵢₖ xᵢ (groups, columns), log_base = Σ wᵢₖ log h(xᵢ) (groups,), over whole rows.

    h is the factor of the density without parameters, such as 1/x! of a Poisson count.
    """

    total: Exact
    log_base: Exact

    @classmethod
    def of(cls, x: Array, log_base: Array, member: Membership) -> Totals:
        known = np.asarray(~np.isnan(x).any(axis=1))
        columns = np.column_stack([np.ones(known.sum()), log_base[known], x[known]])
        member = member.take(known)
        if isinstance(member, Hard):
            high, low = np.zeros((2, member.groups, columns.shape[1]))
            add_sums_hard(columns, member.codes, member.weight, high, low)
            return cls.of_pairs(high, low)
        return cls.of_pairs(member.weights.T @ columns)

    @classmethod
    def of_pairs(cls, high: Array, low: Array | None = None) -> Totals:
        """The totals from sums of 1, log h(x) and x. (groups, 2 + columns)"""
        sums = Exact.of(high, low)
        return cls(sums[:, 0], sums[:, 2:], sums[:, 1])

    def _possible(self, before: Totals) -> bool:
        return bool((self.total.high >= -PAIR_ROUNDING * before.total.high).all())


@dataclass(frozen=True, eq=False)
class Extremes(Statistics):
    """n = Σ wᵢₖ and the largest xᵢ of group k. (groups,) Maxima can be merged, but not subtracted."""

    largest: Largest

    @classmethod
    def of(cls, x: Array, member: Membership) -> Extremes:
        known = ~np.isnan(x)
        x, member = x[known], member.take(known)
        largest = np.zeros(member.groups)
        if isinstance(member, Hard):
            inside = (member.codes >= 0) & (member.weight > 0)
            np.maximum.at(largest, member.codes[inside], x[inside])
        else:
            largest = np.max(np.where(member.weights > 0, x[:, None], 0.0), axis=0, initial=0.0)
        return cls(Counts.of_rows(member).n[:, 0], Largest(largest))


def exceeds(observations: Array, rows: Array, slack: float) -> bool:
    """Whether a group has more observations than rows, beyond slack and rounding."""
    return bool((observations > rows * (1 + WEIGHT_ROUNDING) + slack).any())


def _flat(sums: Any, axes: int) -> Any:
    """The sums with their first axes flattened."""
    return sums.reshape((math.prod(sums.shape[:axes]), *sums.shape[axes:]))


def _are_whole(places: Sequence[Sequence[Positions]], sizes: Sequence[int]) -> bool:
    """Whether each part has all levels in order."""
    return all(
        len(own) == size and np.array_equal(own, np.arange(size))
        for place in places
        for own, size in zip(place, sizes, strict=True)
    )


def _cells_of_parts(places: Sequence[Sequence[Positions]], sizes: Sequence[int]) -> list[Any]:
    """The cells of each part; parts with the same positions share them."""
    found: list[Any] = []
    for i, place in enumerate(places):
        same = i > 0 and all(own is before for own, before in zip(place, places[i - 1], strict=True))
        found.append(found[-1] if same else _cells(place, sizes))
    return found


def _cells(places: Sequence[Positions], sizes: Sequence[int]) -> NDArray[np.int64]:
    """The positions of a part's entries when the wider axes are flattened."""
    cells = np.zeros(1, dtype=np.int64)
    for place, size in zip(places, sizes, strict=True):
        cells = (cells[:, None] * size + place).ravel()
    return cells


def _counts_of_pairs(x: Codes, levels: int, member: Hard) -> NDArray[np.int64]:
    """The number of rows with each pair of a group's code and a code of x, both at least 0. (groups, levels)"""
    if not count_pairs.is_ready:  # NumPy is faster than loading Numba, unless rows are very many
        cells = np.where((x >= 0) & (member.codes >= 0), member.codes.astype(np.int64) * levels + x, -1)
        return np.bincount(cells + 1, minlength=member.groups * levels + 1)[1:].reshape(member.groups, levels)
    n = np.zeros((member.groups, levels), dtype=np.int64)
    count_pairs(x, member.codes, n)
    return n


def _weights_of(cells: Codes | NDArray[np.int64], size: int, weight: Array) -> Exact:
    """The weight of the rows in each cell; negative cells are ignored."""
    if (weight == 1).all():  # counting is exact, and several times faster
        return Exact.of(np.bincount(cells + 1, minlength=size + 1)[1:])
    high, low = np.zeros((2, size, 1))
    add_sums_hard(np.ones((len(cells), 1)), cells, weight, high, low)
    return Exact.of(high[:, 0], low[:, 0])
