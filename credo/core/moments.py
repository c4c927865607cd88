"""Moments of numbers, grouped by membership: sums of values, squares and products, which add."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo._kernels.core.sums import EQUAL_SCATTER, SCATTER_UNDERFLOW, add_moments_hard, add_products_hard
from credo.core import soft_sums
from credo.core.few_products import FEW_PRODUCTS, add_few_products
from credo.core.membership import Codes, Hard, Membership, Soft
from credo.core.statistics import PAIR_ROUNDING, Statistics
from credo.data.cells import LARGEST_NUMBER
from credo.numerics.exact import Array, Exact

CLOSE_SCATTER = 2.0**-30  # of a sum of squares: with a smaller scatter, sums are taken about the mean
LANE_PRODUCTS = 2**23  # rows x columns², above which compiling a kernel for rows of weight 1 pays
LOSSLESS_ROWS = 8  # rows whose sums lose no digits
LARGEST_WHOLE = 2.0**26  # the largest whole number with an exact square
EIGENVALUE_ROUNDING = 1e-6  # by which rounding may change the eigenvalues of a correlation matrix


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
        """The moments of tiles of rows, each with the position of its first row."""
        if isinstance(member, Soft):
            return cls._of_soft_tiles(tiles, columns, member)
        high, low, rest = np.zeros((3, 3, member.groups, columns))
        for start, x in tiles:
            rows = slice(start, start + len(x))
            add_moments_hard(x, member.codes[rows], member.weight[rows], high, low, rest)
        return cls.of_pairs(high, low, rest)

    @classmethod
    def _of_soft_tiles(cls, tiles: Iterable[tuple[int, Array]], columns: int, member: Soft) -> Moments:
        """The moments under soft membership: plain sums of a few rows at a time are added in pairs."""
        total = cls(*(Exact.zeros((member.groups, columns)) for _ in range(3)))
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are reported where cells are read
            for start, x in tiles:
                total = total + cls.of_centred(soft_sums.moments(x, member.weights[start : start + len(x)]))
        return total

    @classmethod
    def of_centred(cls, sums: soft_sums.CentredSums, shift: ArrayLike | None = None) -> Moments:
        """The moments from plain sums about pivots, which may be relative to a shift."""
        n, first, second, pivot = map(Exact.of, sums)
        return cls(n, *_uncentred(n, first, second, pivot if shift is None else pivot + Exact.of(shift)))

    @classmethod
    def of_pairs(cls, high: Array, low: Array, rest: Array) -> Moments:
        """The moments from sums of 1, x and x², each as three floats. (3, groups, columns)"""
        return cls(*(Exact.of(*pair) + Exact.of(more) for *pair, more in zip(high, low, rest, strict=True)))

    @classmethod
    def of_scatter(cls, n: Array, mean: Array, scatter: Array) -> Moments:
        """The moments of rows with this mean and scatter."""
        total = Exact.of(n) * mean
        return cls(Exact.of(n), total, total * mean + Exact.of(scatter))

    def about(self, shift: Array) -> Moments:
        """The moments of x - shift, exactly: Σ(x - c) = Σx - nc, Σ(x - c)² = Σx² - 2cΣx + nc²."""
        c = Exact.of(shift)
        moved = self.first - self.n * c
        return Moments(self.n, moved, self.second - (self.first + moved) * c)

    @cached_property
    def mean(self) -> Array:
        return (self.first / self.n).value

    @cached_property
    def scatter(self) -> Array:
        """Σ w (x - mean)² = second - first²/n; 0 where that may be rounding or underflow, as for equal numbers."""
        found = (self.second - self.first * (self.first / self.n)).value
        return np.where(found > np.maximum(EQUAL_SCATTER * self.second.high, SCATTER_UNDERFLOW), found, 0.0)

    def _settled(self, before: Moments) -> Moments:
        alike = self.first * (self.first / self.n)
        rounded = np.abs((self.second - alike).value) <= EQUAL_SCATTER * before.second.high
        return Moments(self.n, self.first, alike.where(rounded, self.second))

    def _lost_in_rounding(self, before: Moments) -> bool:
        return _lost_in_rounding(self.first.value * self.mean, self.second.value, before.second.high)

    def _possible(self, before: Moments) -> bool:
        scatter = (self.second - self.first * (self.first / self.n)).value
        return bool((scatter >= -PAIR_ROUNDING * before.second.high).all())


@dataclass(frozen=True, eq=False)
class CrossMoments(Statistics):
    """n = Σ wᵢₖ (groups,), first = Σ wᵢₖ xᵢ (groups, d), second = Σ wᵢₖ xᵢxᵢ′ (groups, d, d), over whole rows."""

    first: Exact
    second: Exact

    @classmethod
    def of(cls, x: Array, member: Membership) -> CrossMoments:
        if isinstance(member, Hard):
            cells = _bordered(x)
            return cls._of_rows(cells, member)._about_means(cells, member)
        return cls.of_centred(soft_sums.products(x, member.weights))

    @classmethod
    def of_lanes(cls, lanes: Array, member: Hard) -> CrossMoments | None:
        """The moments of rows (1, x) in column-major order (columns, rows); None if a cell is missing or too large."""
        if _many_whole(lanes.T, member):
            found = cls._of_lanes(lanes)
        else:
            found = cls._of_products(lanes.T, member) if _all_within(lanes, LARGEST_NUMBER) else None
        return None if found is None else found._about_means(lanes.T, member)

    def _about_means(self, cells: Array, member: Hard) -> CrossMoments:
        """The moments, from sums about the means where numbers are close together. cells: (1, x)"""
        close = self._close(member)
        if not close.any():
            return self
        about = np.where(close, self.mean, 0.0)
        n, first, second = self._of_rows(_bordered(_from_pivot(cells[:, 1:], member.codes, about)), member).sums
        return CrossMoments(n, *_uncentred(n[:, None], first, second, Exact.of(about), products=True))

    @classmethod
    def of_centred(cls, sums: soft_sums.CentredSums) -> CrossMoments:
        """The moments from plain sums about pivots."""
        n, first, second, pivot = map(Exact.of, sums)
        first, second = _uncentred(n[:, None], first, second, pivot, products=True)
        return cls(n, first, Exact(*map(soft_sums.symmetric, (second.high, second.low))))  # to the last bit

    @classmethod
    def _of_rows(cls, cells: Array, member: Hard) -> CrossMoments:
        known = member.codes >= 0
        lanes = (cells if known.all() else cells[known]).T
        found = cls._of_lanes(lanes) if _many_whole(cells, member) else None
        return cls._of_products(cells, member) if found is None else found

    @classmethod
    def _of_lanes(cls, lanes: Array) -> CrossMoments | None:
        """The moments of many rows of weight 1; None if a cell is missing or too large."""
        from credo._kernels.core.cut_products import add_products_whole

        high, low = np.zeros((2, 1, len(lanes), len(lanes)))
        whole = add_products_whole(np.ascontiguousarray(lanes), high[0], low[0])
        return cls.of_pairs(high, low) if whole else None

    @classmethod
    def _of_products(cls, cells: Array, member: Hard) -> CrossMoments:
        rows, size = cells.shape
        high, low = np.zeros((2, member.groups, size, size))
        few = rows * size**2 <= FEW_PRODUCTS and not add_products_hard.is_ready
        cells = np.ascontiguousarray(cells)
        (add_few_products if few else add_products_hard)(cells, member.codes, member.weight, high, low)
        return cls.of_pairs(high, low)

    def _close(self, member: Hard) -> NDArray[np.bool_]:
        """Whether many numbers are so close together, relative to 0, that sums are taken about their mean, from which
        differences are exact. (groups, d)"""
        every = np.arange(self.first.shape[1])
        squares = self.second[:, every, every]
        raw = (squares - self.first * (self.first / self.n[:, None])).value
        many = np.bincount(member.codes + 1, minlength=member.groups + 1)[1:] > LOSSLESS_ROWS
        exact = (raw == 0) & _are_whole(squares) & _are_whole(self.first)  # equal numbers, without rounding
        return np.asarray((raw < CLOSE_SCATTER * squares.high) & many[:, None] & ~exact)

    @classmethod
    def of_pairs(cls, high: Array, low: Array) -> CrossMoments:
        """The moments from the lower triangles of sums of (1, x)(1, x)′. (groups, 1 + d, 1 + d)"""
        high, low = (np.tril(part) + np.tril(part, -1).swapaxes(1, 2) for part in (high, low))
        sums = Exact.of(high, low)
        return cls(sums[:, 0, 0], sums[:, 1:, 0], sums[:, 1:, 1:])

    def about(self, shift: Array) -> CrossMoments:
        """The moments of x - shift, exactly: Σ(x - c)(x - c)′ = Σxx′ - c(Σx)′ - (Σx)c′ + ncc′. shift: (columns,)"""
        pivot = Exact.of(np.broadcast_to(-shift, self.first.shape))
        return CrossMoments(self.n, *_uncentred(self.n[:, None], self.first, self.second, pivot, products=True))

    @cached_property
    def mean(self) -> Array:
        return (self.first / self.n[..., None]).value

    @cached_property
    def scatter(self) -> Array:
        """Σ w (x - mean)(x - mean)′ = second - first first′/n."""
        mean = self.first / self.n[..., None]
        return (self.second - self.first[..., :, None] * mean[..., None, :]).value

    def _settled(self, before: CrossMoments) -> CrossMoments:
        alike = self.first[..., :, None] * (self.first / self.n[..., None])[..., None, :]
        away = np.einsum("...ii->...i", (self.second - alike).value)
        rounded = np.abs(away) <= EQUAL_SCATTER * np.einsum("...ii->...i", before.second.high)
        return CrossMoments(self.n, self.first, alike.where(rounded[..., :, None] | rounded[..., None, :], self.second))

    def _lost_in_rounding(self, before: CrossMoments) -> bool:
        own, all_ = (np.einsum("...ii->...i", sums.second.value) for sums in (self, before))
        return _lost_in_rounding(self.first.value * self.mean, own, all_)

    def possible(self) -> bool:
        """Whether some rows have these sums: the correlation matrix has no negative eigenvalue, too."""
        if not super().possible() or (self.second.high != self.second.high.swapaxes(-1, -2)).any():
            return False
        scatter = self.scatter
        size = np.sqrt(np.maximum(np.einsum("...ii->...i", scatter), 0.0))
        size = np.where(size > 0, size, np.inf)
        correlations = scatter / size[..., :, None] / size[..., None, :]
        try:
            np.linalg.cholesky(correlations + EIGENVALUE_ROUNDING * np.eye(scatter.shape[-1]))
        except np.linalg.LinAlgError:
            return False
        return True

    def _possible(self, before: CrossMoments) -> bool:
        diagonal = np.einsum("...ii->...i", self.scatter)
        return bool((diagonal >= -PAIR_ROUNDING * np.einsum("...ii->...i", before.second.high)).all())


def _are_whole(sums: Exact) -> NDArray[np.bool_]:
    """Whether sums are whole numbers, small enough for exact products."""
    small = (sums.low == 0) & (np.abs(sums.high) <= LARGEST_WHOLE)
    return np.asarray(small & (sums.high == np.rint(sums.high)))


def _lost_in_rounding(squared: Array, left: Array, before: Array) -> bool:
    """Whether rounding shows in sums of squares, which have about 100 bits; `squared` is n times the squared mean."""
    size = np.maximum(left, squared)
    return bool(((size > 0) & (before > 2.0**70 * size) & (2.0**-100 * before > 1e-6 * (left - squared))).any())


def _many_whole(cells: Array, member: Hard) -> bool:
    """Whether there are many rows of one group and of weight 1."""
    many = cells.shape[0] * cells.shape[1] ** 2 >= LANE_PRODUCTS
    return many and member.groups == 1 and bool((member.weight == 1).all())


def _all_within(x: Array, limit: float) -> bool:
    """Whether all cells are known and within ±limit."""
    return not x.size or bool(x.max() <= limit and x.min() >= -limit)  # False for NaN


def _bordered(x: Array) -> Array:
    """The rows (1, x)."""
    return np.column_stack([np.ones(len(x)), x])


def _from_pivot(x: Array, codes: Codes, pivot: Array) -> Array:
    """x - pivot of the row's group; a row without a group is unchanged."""
    return np.asarray(x - np.append(pivot, np.zeros((1, pivot.shape[1])), axis=0)[codes])


def _uncentred(n: Exact, first: Exact, second: Exact, pivot: Exact, products: bool = False) -> tuple[Exact, Exact]:
    """Sums about 0 from sums about a pivot p: Σx = Σz + np, Σxx′ = Σzz′ + p(Σz)′ + (Σz)p′ + npp′."""
    shifted = first + n * pivot
    if not products:
        return shifted, second + (first + shifted) * pivot
    row, column = pivot[..., None, :], pivot[..., :, None]
    second = second + first[:, None, :] * column + first[:, :, None] * row
    return shifted, second + n[:, :, None] * column * row
