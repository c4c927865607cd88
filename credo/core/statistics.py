"""Statistics of a batch, grouped by membership: small, and they add, subtract and scale.

Every field is a sum over rows (numerics.exact), so that merging is +, forgetting is - and fading is * for all of them.
The leading axis is the groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import add, sub
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo._kernels.core.sums import ALIKE, FAINT, add_moments_hard, add_products_hard, add_sums_hard, add_weights_soft
from credo._kernels.data.codes import count_pairs
from credo.core import soft_sums
from credo.core.few_products import FEW_PRODUCTS, add_few_products
from credo.core.membership import Codes, Hard, Membership, Soft
from credo.errors import EvidenceError
from credo.numerics.arrays import Positions as Positions
from credo.numerics.exact import Array, Exact, Largest

ALONE = 1e-12  # of a group's weight: what is left of it when its only row goes
ROUNDING = 2.0**-90  # what a long chain of pair sums may lose, relative to the largest of its terms
CLOSE = 2.0**-30  # of a sum of squares: below it, sums are taken about the mean
MANY_PRODUCTS = 2**23  # rows x columns²: from here on, compiling a kernel for rows of weight 1 pays
FEW = 8  # rows whose sums lose nothing
CORRELATED = 1e-6  # by which rounding may move the eigenvalues of a correlation matrix
OF_WEIGHTS = 1e-12  # by which sums of the same weights may differ as floats, relative to themselves


@dataclass(frozen=True, eq=False)
class Statistics:
    """Fields of sums; n, the first, is the weight of the rows behind them."""

    n: Exact

    @property
    def sums(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    @property
    def weight(self) -> Array:
        """Of the rows behind each group. (groups,)"""
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
        """Those entries of an axis (fields that don't have it stay)."""
        return self._map(lambda x: x.take(axis, positions) if x.ndim > axis else x)

    @classmethod
    def gather(cls, parts: Sequence[Self], places: Sequence[Sequence[Positions]], sizes: Sequence[int]) -> Self:
        """The sum of parts whose first axes lie at these positions of wider ones, of these sizes."""
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
        """And, after the others, a group that has shown nothing."""
        size = self.n.shape[0]
        every, more = np.arange(size), (size + 1,)
        return type(self)(*(x.gather([_flat(x, 1)], [every], size + 1).reshape(more + x.shape[1:]) for x in self.sums))

    def pooled(self) -> Self:
        """All groups as one."""
        return self._map(lambda x: x.sum()[None])

    def leaving_out(self, rows: Self, codes: Codes) -> Self:
        """For each row, all groups' statistics, that of its own group without it. (rows, groups, ...)"""
        each, gone = np.arange(len(codes)), self.n[codes] - rows.n
        empty = gone.value <= ALONE * self.n[codes].value

        def left(total: Exact, row: Exact) -> Exact:
            high, low = (np.repeat(part[None], len(codes), axis=0) for part in (total.high, total.low))
            mine = total[codes] - row
            nothing = empty.reshape(empty.shape + (1,) * (mine.ndim - empty.ndim))
            high[each, codes], low[each, codes] = (np.where(nothing, 0.0, part) for part in (mine.high, mine.low))
            return Exact(high, low)

        return self._map(left, rows)

    def without(self, other: Self) -> Self | None:
        """What is left when other is taken away; None if it can't have been part of this."""
        left = self - other
        if (left.n.high < -ROUNDING * self.n.high).any():
            return None
        gone = left.n.high <= ROUNDING * self.n.high
        cleared = []
        for before, after in zip(self.sums, left.sums, strict=True):
            empty = gone.reshape(gone.shape + (1,) * (after.ndim - gone.ndim))
            if (empty & (np.abs(after.high) > ROUNDING * (1 + np.abs(before.high)))).any():
                return None
            cleared.append(Exact(np.where(empty, 0.0, after.high), np.where(empty, 0.0, after.low)))
        left = type(self)(*cleared)._settled(self)
        if left._drowned(self):
            raise EvidenceError(
                "can't forget: beside numbers this large, digits of the others were lost when they were learned. "
                "Learn the rows that stay again"
            )
        return left if left._possible(self) else None

    def possible(self) -> bool:
        """Whether some rows have these sums: those of a group without rows are 0."""
        gone = self.n.high == 0
        nothing = (np.abs(each.high) * gone.reshape(gone.shape + (1,) * (each.ndim - gone.ndim)) for each in self.sums)
        return not any(each.any() for each in nothing) and self._possible(self)

    def _settled(self, before: Self) -> Self:  # noqa: ARG002 - counts leave no rounding behind
        """Without what rounding left where numbers are alike that weren't before."""
        return self

    def _drowned(self, before: Self) -> bool:  # noqa: ARG002 - counts are never lost
        """Whether what is left was so small beside what it is taken from that rounding shows in it."""
        return False

    def _possible(self, before: Self) -> bool:
        """Whether some rows have these sums, up to what rounding did to `before`."""
        return bool(np.isfinite(before.n.high).all())


@dataclass(frozen=True, eq=False)
class Counts(Statistics):
    """n[k, v] = Σᵢ wᵢₖ [xᵢ = v]: how often group k showed value v. (groups, levels)"""

    @property
    def weight(self) -> Array:
        return np.asarray(self.n.value.sum(-1))

    def entries(self) -> tuple[Positions, Positions, Array]:
        """The cells that aren't 0: their groups, their values and how often they were seen."""
        n = self.n.value
        rows, columns = np.nonzero(n)
        return rows, columns, n[rows, columns]

    def at(self, groups: Any, values: Any) -> Array:
        """How often each of these groups showed each of these values."""
        return np.asarray(self.n.value[groups, values])

    @classmethod
    def of(cls, x: Codes, levels: int, member: Membership) -> Self:
        """Codes below 0 are missing cells."""
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
        """From sums of 1. (groups, levels)"""
        return cls(Exact.of(high, low))

    @classmethod
    def of_rows(cls, member: Membership) -> Counts:
        """How many rows each group has. (groups, 1)"""
        if isinstance(member, Hard):
            return cls(_weights_of(member.codes, member.groups, member.weight)[:, None])
        return cls(Exact.of((np.ones(member.rows) @ member.weights)[:, None]))


@dataclass(frozen=True, eq=False)
class PairCounts(Statistics):
    """n[k, a, b] = Σᵢ wᵢₖ [row i has the cells a and b]; the diagonal counts single cells. (groups, cells, cells)"""

    @property
    def weight(self) -> Array:
        """Of the rows with the commonest cell."""
        return np.asarray(np.diagonal(self.n.value, axis1=1, axis2=2).max(1, initial=0.0))

    def possible(self) -> bool:
        """Whether the table is symmetric, and no pair is commoner than either of its cells."""
        n = self.n.value
        single = np.diagonal(n, axis1=1, axis2=2)
        least = np.minimum(single[:, :, None], single[:, None]) * (1 + OF_WEIGHTS)
        return bool(super().possible() and (n == n.swapaxes(1, 2)).all() and (n <= least).all())


@dataclass(frozen=True, eq=False)
class FamilyCounts(Statistics):
    """n[k, a, ..., b] = Σᵢ wᵢₖ [row i has the cells a, ..., b]: its parents' and a column's own. (groups, cells...)"""

    @property
    def weight(self) -> Array:
        n = self.n.value
        return np.asarray(n.sum(axis=tuple(range(1, n.ndim))))


@dataclass(frozen=True, eq=False)
class Totals(Statistics):
    """n = Σ wᵢₖ (groups,), total = Σ wᵢₖ xᵢ (groups, columns), log_base = Σ wᵢₖ log h(xᵢ) (groups,), over whole rows.

    h is the factor of the density that has no parameters in it, such as 1/x! of a Poisson count.
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
        """From sums of 1, log h(x) and x. (groups, 2 + columns)"""
        sums = Exact.of(high, low)
        return cls(sums[:, 0], sums[:, 2:], sums[:, 1])

    def _possible(self, before: Totals) -> bool:
        return bool((self.total.high >= -ROUNDING * before.total.high).all())


@dataclass(frozen=True, eq=False)
class Moments(Statistics):
    """n = Σ wᵢₖ, first = Σ wᵢₖ xᵢⱼ, second = Σ wᵢₖ xᵢⱼ², over the known cells of column j. (groups, columns)

    >>> x = np.array([[1e9 + 1], [1e9 + 2], [1e9 + 3]])
    >>> float(Moments.of(x, Hard.whole(3)).scatter[0, 0])
    2.0
    """

    first: Exact
    second: Exact

    @property
    def weight(self) -> Array:
        return np.asarray(self.n.value.max(-1, initial=0.0))

    @classmethod
    def of(cls, x: Array, member: Membership) -> Moments:
        return cls.of_tiles([(0, x)], x.shape[1], member)

    @classmethod
    def of_tiles(cls, tiles: Iterable[tuple[int, Array]], columns: int, member: Membership) -> Moments:
        """Of rows that come a few after others, each time with the place of the first."""
        if isinstance(member, Soft):
            return cls._of_soft_tiles(tiles, columns, member)
        high, low, rest = np.zeros((3, 3, member.groups, columns))
        for start, x in tiles:
            rows = slice(start, start + len(x))
            add_moments_hard(x, member.codes[rows], member.weight[rows], high, low, rest)
        return cls.of_pairs(high, low, rest)

    @classmethod
    def _of_soft_tiles(cls, tiles: Iterable[tuple[int, Array]], columns: int, member: Soft) -> Moments:
        """Plain sums of some rows are added up in pairs: so rows in order lose no digits."""
        total = cls(*(Exact.zeros((member.groups, columns)) for _ in range(3)))
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are reported by whoever reads the cells
            for start, x in tiles:
                total = total + cls.of_centred(soft_sums.moments(x, member.weights[start : start + len(x)]))
        return total

    @classmethod
    def of_centred(cls, sums: soft_sums.CentredSums, shift: ArrayLike | None = None) -> Moments:
        """From plain sums about pivots, which may be counted from a shift."""
        n, first, second, pivot = map(Exact.of, sums)
        return cls(n, *_uncentred(n, first, second, pivot if shift is None else pivot + Exact.of(shift)))

    @classmethod
    def of_pairs(cls, high: Array, low: Array, rest: Array) -> Moments:
        """From sums of 1, x and x², each of three floats. (3, groups, columns)"""
        return cls(*(Exact.of(*pair) + Exact.of(more) for *pair, more in zip(high, low, rest, strict=True)))

    @classmethod
    def of_scatter(cls, n: Array, mean: Array, scatter: Array) -> Moments:
        """The sums of rows with such a mean and scatter."""
        total = Exact.of(n) * mean
        return cls(Exact.of(n), total, total * mean + Exact.of(scatter))

    def about(self, shift: Array) -> Moments:
        """The same of x - shift: Σ(x - c) = Σx - nc, Σ(x - c)² = Σx² - 2cΣx + nc². Nothing is lost."""
        c = Exact.of(shift)
        moved = self.first - self.n * c
        return Moments(self.n, moved, self.second - (self.first + moved) * c)

    @cached_property
    def mean(self) -> Array:
        return (self.first / self.n).value

    @cached_property
    def scatter(self) -> Array:
        """Σ w (x - mean)² = second - first²/n; 0 where what is left may be rounding, of numbers that are alike, or is
        too faint."""
        found = (self.second - self.first * (self.first / self.n)).value
        return np.where(found > np.maximum(ALIKE * self.second.high, FAINT), found, 0.0)

    def _settled(self, before: Moments) -> Moments:
        alike = self.first * (self.first / self.n)
        rounded = np.abs((self.second - alike).value) <= ALIKE * before.second.high
        return Moments(self.n, self.first, alike.where(rounded, self.second))

    def _drowned(self, before: Moments) -> bool:
        return _drowned(self.first.value * self.mean, self.second.value, before.second.high)

    def _possible(self, before: Moments) -> bool:
        scatter = (self.second - self.first * (self.first / self.n)).value
        return bool((scatter >= -ROUNDING * before.second.high).all())


@dataclass(frozen=True, eq=False)
class CrossMoments(Statistics):
    """n = Σ wᵢₖ (groups,), first = Σ wᵢₖ xᵢ (groups, d), second = Σ wᵢₖ xᵢxᵢ′ (groups, d, d), over whole rows."""

    first: Exact
    second: Exact

    @classmethod
    def of(cls, x: Array, member: Membership) -> CrossMoments:
        if isinstance(member, Hard):
            return cls.of_bordered(_bordered(x), member)
        return cls.of_centred(soft_sums.products(x, member.weights))

    @classmethod
    def of_bordered(cls, cells: Array, member: Hard) -> CrossMoments:
        """Of rows (1, x); many are summed fastest where they lie column by column in memory."""
        found = cls._of_products(cells, member)
        close = found._close(member)
        if not close.any():
            return found
        about = np.where(close, found.mean, 0.0)
        n, first, second = cls._of_products(_bordered(_away(cells[:, 1:], member.codes, about)), member).sums
        return cls(n, *_uncentred(n[:, None], first, second, Exact.of(about), products=True))

    @classmethod
    def of_centred(cls, sums: soft_sums.CentredSums) -> CrossMoments:
        """From plain sums about pivots."""
        n, first, second, pivot = map(Exact.of, sums)
        first, second = _uncentred(n[:, None], first, second, pivot, products=True)
        return cls(n, first, Exact(*map(soft_sums.symmetric, (second.high, second.low))))  # to the last bit

    @classmethod
    def _of_products(cls, cells: Array, member: Hard) -> CrossMoments:
        rows, size = cells.shape
        high, low = np.zeros((2, member.groups, size, size))
        few = rows * size**2 <= FEW_PRODUCTS and not add_products_hard.is_ready
        if rows * size**2 >= MANY_PRODUCTS and member.groups == 1 and (member.weight == 1).all():
            from credo._kernels.core.cut_products import add_products_whole

            known = member.codes >= 0
            lanes = np.ascontiguousarray((cells if known.all() else cells[known]).T)
            add_products_whole(lanes, np.maximum(lanes.max(1), -lanes.min(1)), high[0], low[0])
        else:
            cells = np.ascontiguousarray(cells)
            (add_few_products if few else add_products_hard)(cells, member.codes, member.weight, high, low)
        return cls.of_pairs(high, low)

    def _close(self, member: Hard) -> NDArray[np.bool_]:
        """Where many numbers lie so close together, far from 0, that their sums are taken about their mean: there
        x - mean is exact. (groups, d)"""
        every = np.arange(self.first.shape[1])
        squares = self.second[:, every, every]
        raw = (squares - self.first * (self.first / self.n[:, None])).value
        many = np.bincount(member.codes + 1, minlength=member.groups + 1)[1:] > FEW
        return np.asarray((raw < CLOSE * squares.high) & many[:, None])

    @classmethod
    def of_pairs(cls, high: Array, low: Array) -> CrossMoments:
        """From sums of (1, x)(1, x)′, of which the lower triangle counts. (groups, 1 + d, 1 + d)"""
        high, low = (np.tril(part) + np.tril(part, -1).swapaxes(1, 2) for part in (high, low))
        sums = Exact.of(high, low)
        return cls(sums[:, 0, 0], sums[:, 1:, 0], sums[:, 1:, 1:])

    def about(self, shift: Array) -> CrossMoments:
        """The same of x - shift, (columns,): Σ(x - c)(x - c)′ = Σxx′ - c(Σx)′ - (Σx)c′ + ncc′. Nothing is lost."""
        pivot = Exact.of(np.broadcast_to(-shift, self.first.shape))
        return CrossMoments(self.n, *_uncentred(self.n[:, None], self.first, self.second, pivot, products=True))

    @cached_property
    def mean(self) -> Array:
        return (self.first / self.n[..., None]).value

    @cached_property
    def scatter(self) -> Array:
        """Σ w (x - mean)(x - mean)′ = second - first first′/n"""
        mean = self.first / self.n[..., None]
        return (self.second - self.first[..., :, None] * mean[..., None, :]).value

    def _settled(self, before: CrossMoments) -> CrossMoments:
        alike = self.first[..., :, None] * (self.first / self.n[..., None])[..., None, :]
        away = np.einsum("...ii->...i", (self.second - alike).value)
        rounded = np.abs(away) <= ALIKE * np.einsum("...ii->...i", before.second.high)
        return CrossMoments(self.n, self.first, alike.where(rounded[..., :, None] | rounded[..., None, :], self.second))

    def _drowned(self, before: CrossMoments) -> bool:
        own, all_ = (np.einsum("...ii->...i", sums.second.value) for sums in (self, before))
        return _drowned(self.first.value * self.mean, own, all_)

    def possible(self) -> bool:
        """Also whether correlations are those of any columns: their matrix has no negative eigenvalue."""
        if not super().possible() or (self.second.high != self.second.high.swapaxes(-1, -2)).any():
            return False
        scatter = self.scatter
        size = np.sqrt(np.maximum(np.einsum("...ii->...i", scatter), 0.0))
        size = np.where(size > 0, size, np.inf)
        correlations = scatter / size[..., :, None] / size[..., None, :]
        try:
            np.linalg.cholesky(correlations + CORRELATED * np.eye(scatter.shape[-1]))
        except np.linalg.LinAlgError:
            return False
        return True

    def _possible(self, before: CrossMoments) -> bool:
        diagonal = np.einsum("...ii->...i", self.scatter)
        return bool((diagonal >= -ROUNDING * np.einsum("...ii->...i", before.second.high)).all())


@dataclass(frozen=True, eq=False)
class Extremes(Statistics):
    """n = Σ wᵢₖ and the largest xᵢ of group k. (groups,) A maximum adds but has no subtraction."""

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
    """Whether a group has more observations than rows, beyond slack and what rounding makes of weights."""
    return bool((observations > rows * (1 + OF_WEIGHTS) + slack).any())


def _drowned(squared: Array, left: Array, before: Array) -> bool:
    """Of sums of squares, which are kept to about 100 bits; `squared` is n times the square of the mean."""
    size = np.maximum(left, squared)
    return bool(((size > 0) & (before > 2.0**70 * size) & (2.0**-100 * before > 1e-6 * (left - squared))).any())


def _flat(sums: Any, axes: int) -> Any:
    """The first axes as one."""
    return sums.reshape((math.prod(sums.shape[:axes]), *sums.shape[axes:]))


def _cells_of_parts(places: Sequence[Sequence[Positions]], sizes: Sequence[int]) -> list[Any]:
    """The cells of each part; those of a part whose positions are the part's before it are found once."""
    found: list[Any] = []
    for i, place in enumerate(places):
        same = i > 0 and all(own is before for own, before in zip(place, places[i - 1], strict=True))
        found.append(found[-1] if same else _cells(place, sizes))
    return found


def _cells(places: Sequence[Positions], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Where the entries of a part go when the wider axes are laid out as one."""
    cells = np.zeros(1, dtype=np.int64)
    for place, size in zip(places, sizes, strict=True):
        cells = (cells[:, None] * size + place).ravel()
    return cells


def _counts_of_pairs(x: Codes, levels: int, member: Hard) -> NDArray[np.int64]:
    """How often each group's code meets each of x's, both being at least 0. (groups, levels)"""
    if not count_pairs.is_ready:  # NumPy is faster than loading Numba, unless rows are very many
        cells = np.where((x >= 0) & (member.codes >= 0), member.codes.astype(np.int64) * levels + x, -1)
        return np.bincount(cells + 1, minlength=member.groups * levels + 1)[1:].reshape(member.groups, levels)
    n = np.zeros((member.groups, levels), dtype=np.int64)
    count_pairs(x, member.codes, n)
    return n


def _weights_of(cells: Codes | NDArray[np.int64], size: int, weight: Array) -> Exact:
    """The weight of the rows in each cell; a negative one is none."""
    if (weight == 1).all():  # counting is exact, and several times faster
        return Exact.of(np.bincount(cells + 1, minlength=size + 1)[1:])
    high, low = np.zeros((2, size, 1))
    add_sums_hard(np.ones((len(cells), 1)), cells, weight, high, low)
    return Exact.of(high[:, 0], low[:, 0])


def _bordered(x: Array) -> Array:
    """(1, x)"""
    return np.column_stack([np.ones(len(x)), x])


def _away(x: Array, codes: Codes, pivot: Array) -> Array:
    """x - the pivot of its group; a row of no group stays."""
    return np.asarray(x - np.append(pivot, np.zeros((1, pivot.shape[1])), axis=0)[codes])


def _uncentred(n: Exact, first: Exact, second: Exact, pivot: Exact, products: bool = False) -> tuple[Exact, Exact]:
    """Sums about 0 from sums about a pivot p: Σx = Σz + np, Σxx′ = Σzz′ + p(Σz)′ + (Σz)p′ + npp′."""
    shifted = first + n * pivot
    if not products:
        return shifted, second + (first + shifted) * pivot
    row, column = pivot[..., None, :], pivot[..., :, None]
    second = second + first[:, None, :] * column + first[:, :, None] * row
    return shifted, second + n[:, :, None] * column * row
