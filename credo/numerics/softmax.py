"""Softmax regression of many features: sums over rows of the log-likelihood and its derivatives.

log P(class k) = ηₖ - log Σₗ exp ηₗ with ηₖ = bₖ + z · wₖ. For two classes, the first has η = 0, and there is one column
of coefficients. For more, each class has a column, and the prior fixes what all have in common. The coefficients are a
matrix (1 + features, columns); its first row is the intercepts b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from credo.engines.partitions import Loaded
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

CACHED_FLOATS = 1 << 15  # floats of the rows that are processed at a time, so that they stay in the cache
PASS_FLOATS = 1 << 18  # floats of the rows that are read twice in a pass, but from memory once
NARROW, MANY_PRODUCTS = 128, 1 << 22  # features at most, and products at least, for a kernel to be faster than BLAS
Derivatives = Literal["gradient", "diagonal", "curvature"]


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Sparse rows in CSR form: the entries of row i are at starts[i] to starts[i + 1]."""

    starts: NDArray[np.int64]
    places: Codes
    values: Array
    width: int

    def part(self, rows: slice) -> SparseRows:
        """A slice of the rows."""
        first, last, _ = rows.indices(len(self.starts) - 1)
        starts = self.starts[first : last + 1]
        own = slice(starts[0], starts[-1])
        return SparseRows(starts - starts[0], self.places[own], self.values[own], self.width)

    def take(self, rows: NDArray[np.intp]) -> SparseRows:
        sizes = np.diff(self.starts)[rows]
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        at = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        return SparseRows(starts, self.places[at], self.values[at], self.width)

    def beside(self, other: SparseRows) -> SparseRows:
        """The rows with the features of both."""
        starts, sizes = self.starts + other.starts, np.diff(self.starts)
        total = int(starts[-1])
        mine = np.arange(len(self.places)) + np.repeat(other.starts[:-1], sizes)
        places, values = np.empty(total, dtype=np.int32), np.empty(total)
        others = np.ones(total, dtype=np.bool_)
        others[mine] = False
        places[mine], values[mine] = self.places, self.values
        places[others], values[others] = other.places + self.width, other.values
        return SparseRows(starts, places, values, self.width + other.width)

    def dense(self) -> Array:
        found = np.zeros((len(self.starts) - 1, self.width))
        np.add.at(found, (np.repeat(np.arange(len(found)), np.diff(self.starts)), self.places), self.values)
        return found


@dataclass(frozen=True, eq=False)
class FeatureRows(Loaded):
    """Rows of features, dense ones before sparse ones, with the class and the weight of each row."""

    dense: Array  # (rows, features)
    sparse: SparseRows | None
    codes: Codes
    weight: Array
    folds: NDArray[np.intp] | None = None  # the fold of each row
    centre: Array | None = None  # subtracted from the dense features
    shares: Array | None = None  # P(class) of each row at some coefficients, kept for repeated use

    @property
    def rows(self) -> int:
        return len(self.codes)

    @property
    def width(self) -> int:
        return int(self.dense.shape[1]) + (0 if self.sparse is None else self.sparse.width)

    @property
    def size(self) -> int:
        """The size in bytes."""
        entries = 0 if self.sparse is None else self.sparse.values.nbytes + self.sparse.places.nbytes
        return int(self.dense.nbytes + entries)

    @property
    def entries(self) -> int:
        """The number of stored entries."""
        sparse = 0 if self.sparse is None else len(self.sparse.values)
        return self.rows * int(self.dense.shape[1]) + sparse

    def take(self, rows: NDArray[np.intp]) -> FeatureRows:
        sparse = None if self.sparse is None else self.sparse.take(rows)
        folds = None if self.folds is None else self.folds[rows]
        return FeatureRows(self.dense[rows], sparse, self.codes[rows], self.weight[rows], folds, self.centre)

    def with_shares(self, coefficients: Array) -> FeatureRows:
        """The rows with P(class) of each; for two classes, of the second."""
        log_shares = to_log_shares(self.logits(coefficients))
        return replace(self, shares=np.exp(log_shares[:, -coefficients.shape[1] :]))

    def of_fold(self, k: int, inside: bool) -> FeatureRows:
        """The rows inside the fold, or outside it, with weight 0 for the others."""
        assert self.folds is not None
        return replace(self, weight=np.where((self.folds == k) == inside, self.weight, 0.0))

    def logits(self, coefficients: Array) -> Array:
        """η = b + z · w. (rows, columns)"""
        own = self.dense.shape[1]
        found, weights = self.dense @ coefficients[1 : 1 + own], coefficients[1 : 1 + own]
        found += coefficients[0] if self.centre is None else coefficients[0] - self.centre @ weights
        if self.sparse is not None:
            from credo._kernels.numerics.softmax import add_products

            add_products(*_entries(self.sparse), coefficients[1 + own :], found)
        return np.asarray(found)

    def transposed(self, values: Array) -> Array:
        """Σᵢ (1, zᵢ) valuesᵢ. (1 + features, columns)"""
        own, found = self.dense.shape[1], np.zeros((1 + self.width, values.shape[1]))
        found[0] = values.sum(0)
        found[1 : 1 + own] = self.dense.T @ values
        if self.centre is not None:
            found[1 : 1 + own] -= self.centre[:, None] * found[0]
        if self.sparse is not None:
            from credo._kernels.numerics.softmax import add_transposed

            add_transposed(*_entries(self.sparse), values, found[1 + own :])
        return found

    def squares(self, values: Array) -> Array:
        """Σᵢ (1, zᵢ²) valuesᵢ. (1 + features, columns)"""
        own, found = self.dense.shape[1], np.zeros((1 + self.width, values.shape[1]))
        found[0] = values.sum(0)
        for tile in self.tiles():
            found[1 : 1 + own] += (self._centred(tile) ** 2).T @ values[tile]
        if self.sparse is not None:
            from credo._kernels.numerics.softmax import add_transposed_squares

            add_transposed_squares(*_entries(self.sparse), values, found[1 + own :])
        return found

    def cross(self, values: Array) -> Array:
        """Σᵢ (1, zᵢ)(1, zᵢ)′ valueᵢ. (1 + features, 1 + features)"""
        size, positive = 1 + self.width, bool((values >= 0).all())
        if self.sparse is None and size <= NARROW and self.rows * size**2 >= MANY_PRODUCTS:
            return self._cross_of_many(values)
        found = np.zeros((size, size))
        roots = np.sqrt(np.abs(values))
        for tile in self.tiles():
            z = self.with_ones(tile)
            z *= roots[tile, None]
            if positive:
                found += z.T @ z  # X′X takes half as long as X′Y
            else:
                found += (z * np.sign(values[tile, None])).T @ z
        return found

    def _cross_of_many(self, values: Array) -> Array:
        from credo._kernels.numerics.softmax import add_weighted_products

        size = 1 + self.width
        lower = np.zeros((size + size % 2, -(-size // 8) * 8))
        centre = np.zeros(self.width) if self.centre is None else self.centre
        add_weighted_products(self.dense, centre, values, lower)
        lower = np.tril(lower[:size, :size])
        return np.asarray(lower + np.tril(lower, -1).T)

    def _centred(self, tile: slice) -> Array:
        return self.dense[tile] if self.centre is None else self.dense[tile] - self.centre

    def with_ones(self, tile: slice) -> Array:
        """(1, z) of a slice of rows."""
        own, found = self.dense.shape[1], np.empty((len(self.weight[tile]), 1 + self.width))
        found[:, 0] = 1.0
        np.subtract(self.dense[tile], 0.0 if self.centre is None else self.centre, out=found[:, 1 : 1 + own])
        if self.sparse is not None:
            found[:, 1 + own :] = self.sparse.part(tile).dense()
        return found

    def tiles(self, floats: int = CACHED_FLOATS) -> list[slice]:
        step = max(64, floats // (1 + self.width))
        return [slice(first, first + step) for first in range(0, self.rows, step)]

    def parts(self) -> list[FeatureRows]:
        """Consecutive parts of a few rows each; sparse rows aren't split."""
        if self.sparse is not None or self.rows * self.width <= 2 * PASS_FLOATS:
            return [self]
        return [
            FeatureRows(self.dense[tile], None, self.codes[tile], self.weight[tile], centre=self.centre)
            for tile in self.tiles(PASS_FLOATS)
        ]


def feature_rows(features: Any, codes: NDArray[np.integer], weight: Array | None = None) -> FeatureRows:
    """The rows of a dense matrix, or of a sparse one in CSR form."""
    weight = np.ones(len(codes)) if weight is None else weight
    own = np.asarray(codes, dtype=np.int32)
    if not hasattr(features, "indptr"):
        return FeatureRows(np.ascontiguousarray(features, dtype=np.float64), None, own, weight)
    starts, places = features.indptr.astype(np.int64), features.indices.astype(np.int32)
    sparse = SparseRows(starts, places, np.asarray(features.data, dtype=np.float64), features.shape[1])
    return FeatureRows(np.zeros((len(codes), 0)), sparse, own, weight)


def _entries(sparse: SparseRows) -> tuple[Any, Any, Any]:
    return sparse.starts, sparse.places, sparse.values


@dataclass(frozen=True, eq=False)
class LikelihoodSums:
    """Σ w log P(class | row), its gradient in the coefficients, and minus its second derivatives."""

    value: float
    gradient: Array  # (1 + features, columns)
    curvature: Array | None = None  # the same shape for a diagonal, otherwise (coefficients, coefficients)

    @classmethod
    def total(cls, parts: Sequence[LikelihoodSums]) -> LikelihoodSums:
        curvatures = [part.curvature for part in parts if part.curvature is not None]
        curvature = sum(curvatures[1:], curvatures[0]) if curvatures else None
        gradient = sum((part.gradient for part in parts[1:]), parts[0].gradient)
        return cls(float(sum(part.value for part in parts)), gradient, curvature)


@dataclass(frozen=True, eq=False)
class SumLikelihood:
    """Sums over the rows of a batch, given the coefficients."""

    coefficients: Array
    derivatives: Derivatives = "gradient"

    def __call__(self, rows: FeatureRows) -> LikelihoodSums:
        return LikelihoodSums.total([self._of(part) for part in rows.parts()])

    def _of(self, rows: FeatureRows) -> LikelihoodSums:
        logits, columns = rows.logits(self.coefficients), self.coefficients.shape[1]
        if columns == 1:
            value, shares, residual = _of_two_classes(logits[:, 0], rows)
        else:
            log_shares, each = to_log_shares(logits), np.arange(rows.rows)
            value = float(rows.weight @ log_shares[each, rows.codes])
            shares = np.exp(log_shares)
            residual = -shares
            residual[each, rows.codes] += 1.0
            residual *= rows.weight[:, None]
        return LikelihoodSums(value, rows.transposed(residual), self._curvature(rows, shares))

    def _curvature(self, rows: FeatureRows, shares: Array) -> Array | None:
        if self.derivatives == "gradient":
            return None
        if self.derivatives == "diagonal":
            return rows.squares(shares * (1 - shares) * rows.weight[:, None])
        return curvature(rows, shares)


def _of_two_classes(logits: Array, rows: FeatureRows) -> tuple[float, Array, Array]:
    """The log-likelihood, P(second class), and w (truth - P); the logits are overwritten."""
    truth = rows.codes == 1
    small = np.exp(-np.abs(logits))
    share = np.where(logits >= 0, 1.0, small)
    share /= 1.0 + small
    against = np.where(truth, -logits, logits)  # the logit of the wrong class
    np.maximum(against, 0.0, out=against)
    against += np.log1p(small, out=small)
    residual = truth - share
    residual *= rows.weight
    return -float(rows.weight @ against), share[:, None], residual[:, None]


def curvature(rows: FeatureRows, shares: Array) -> Array:
    """Σ w (1, z)(1, z)′ ⊗ (diag p - p p′), with the coefficients of a feature adjacent."""
    columns, size = shares.shape[1], 1 + rows.width
    found = np.empty((size, columns, size, columns))
    for k in range(columns):
        for m in range(k, columns):
            worth = shares[:, k] * ((k == m) - shares[:, m]) * rows.weight
            found[:, k, :, m] = rows.cross(worth)
            found[:, m, :, k] = found[:, k, :, m]
    return found.reshape(size * columns, size * columns)


@dataclass(frozen=True, eq=False)
class TimesCurvature:
    """Minus the second derivative times a direction, without forming the matrix. (1 + features, columns)"""

    coefficients: Array
    direction: Array

    def __call__(self, rows: FeatureRows) -> Array:
        shares = rows.shares if rows.shares is not None else rows.with_shares(self.coefficients).shares
        assert shares is not None
        moved = rows.logits(self.direction)
        moved -= np.einsum("rk,rk->r", shares, moved)[:, None]
        moved *= shares * rows.weight[:, None]
        return rows.transposed(moved)


def to_log_shares(logits: Array) -> Array:
    """log P(class) from logits; one column is for two classes, where the first has the logit 0. (rows, classes)

    >>> np.exp(to_log_shares(np.log([[3.0]]))).round(4).tolist()
    [[0.25, 0.75]]
    """
    if logits.shape[1] == 1:
        return np.hstack([-np.logaddexp(0.0, logits), -np.logaddexp(0.0, -logits)])
    top = logits.max(1, keepdims=True)
    logits = logits - top
    return np.asarray(logits - np.log(np.exp(logits).sum(1, keepdims=True)))
