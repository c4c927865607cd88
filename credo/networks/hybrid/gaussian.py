"""Products of linear-Gaussian factors: ∏ N(rᵢ; 0, vᵢ), r = A u + c, as a Gaussian in u and a density of the evidence.

Λ = A′V⁻¹A, u ~ N(-Λ⁻¹A′V⁻¹c, Λ⁻¹); log ∫ = -½(c + Au)′V⁻¹(c + Au) - ½ log|2πV| + ½ log|2πΛ⁻¹| at the mean u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.errors import NetworkError
from credo.numerics.distributions import LOG_2PI
from credo.numerics.exact import Array

FEWEST_SPARSE_UNKNOWNS = 120  # unknown numbers for which sparse matrices are faster
COLUMNS_SOLVED_AT_ONCE = 256  # right-hand sides

Indices = NDArray[np.signedinteger[Any]]


class SolvedGaussian(Protocol):
    """A Gaussian over unknown numbers, for each of some configurations of categories."""

    @property
    def log_density(self) -> Array:
        """log-density of the known numbers. (configurations,)"""
        ...

    @property
    def mean(self) -> Array:
        """Means of the unknown numbers. (configurations, unknown)"""
        ...

    def covariance(self, places: Sequence[int]) -> Array:
        """Covariance of some unknown numbers. (configurations, places, places)"""
        ...

    def variances(self) -> Array:
        """Variances of all unknown numbers. (configurations, unknown)"""
        ...


@dataclass(frozen=True, eq=False)
class DenseGaussian:
    log_density: Array
    mean: Array
    whole: Array  # (configurations, unknown, unknown)

    def covariance(self, places: Sequence[int]) -> Array:
        return np.asarray(self.whole[:, places][:, :, places])

    def variances(self) -> Array:
        return np.asarray(np.diagonal(self.whole, axis1=1, axis2=2))

    def taken(self, which: Indices) -> DenseGaussian:
        """The same for some of the configurations."""
        return DenseGaussian(self.log_density[which], self.mean[which], self.whole[which])


def solved_dense(coefficients: Array, constant: Array, variance: Array) -> DenseGaussian:
    """coefficients: A (configurations, factors, unknown); constant: c and variance: v (configurations, factors).

    A and v have one configuration if they are the same for all."""
    weighted = coefficients / variance[..., None]
    precision = np.swapaxes(weighted, 1, 2) @ coefficients
    scale = 1.0 / np.sqrt(np.diagonal(precision, axis1=1, axis2=2))  # each number in its own units
    scaled = precision * scale[:, :, None] * scale[:, None, :]
    try:
        root = np.linalg.cholesky(scaled)
        inverse = np.linalg.inv(root)
    except np.linalg.LinAlgError:
        raise _degenerate() from None
    whole = (np.swapaxes(inverse, 1, 2) @ inverse) * scale[:, :, None] * scale[:, None, :]
    mean = np.zeros((len(constant), coefficients.shape[-1]))
    for _ in range(2):  # iterative refinement: numbers far from 0 lose digits in the first solution
        left = constant[..., None] + coefficients @ mean[..., None]
        mean = mean - (whole @ (np.swapaxes(weighted, 1, 2) @ left))[..., 0]
    log_determinant = 2 * (np.log(np.diagonal(root, axis1=1, axis2=2)) - np.log(scale)).sum(1)
    whole = np.broadcast_to(whole, (len(mean), *whole.shape[1:]))
    return DenseGaussian(_log_density(coefficients, constant, variance, mean, log_determinant), mean, whole)


def _log_density(coefficients: Any, constant: Array, variance: Array, mean: Array, log_determinant: Array) -> Array:
    away = constant + (coefficients @ mean[..., None])[..., 0]
    known = variance.shape[-1] - mean.shape[-1]
    with np.errstate(over="ignore"):  # a number this far away is impossible
        quadratic = (away**2 / variance + np.log(variance)).sum(-1)
    return np.asarray(-0.5 * (quadratic + known * LOG_2PI + log_determinant))


@dataclass(frozen=True, eq=False)
class SparseGaussian:
    """One configuration of many numbers, by a sparse factorisation of the precision matrix."""

    log_density: Array
    mean: Array
    factor: Any  # SuperLU of the scaled precision
    scale: Array

    def covariance(self, places: Sequence[int]) -> Array:
        return np.asarray(self._columns(places)[places][None])

    def variances(self) -> Array:
        """Variances by Takahashi's recursion; column by column if pivoting wasn't symmetric."""
        found = selected_variances(self.factor)
        if found is None:
            size = len(self.scale)
            found = np.empty(size)
            for start in range(0, size, COLUMNS_SOLVED_AT_ONCE):
                own = np.arange(start, min(start + COLUMNS_SOLVED_AT_ONCE, size))
                found[own] = self._columns(own)[own, np.arange(len(own))]
            return found[None]
        return np.asarray(self.scale**2 * found)[None]

    def _columns(self, places: Sequence[int] | Indices) -> Array:
        right = np.zeros((len(self.scale), len(places)))
        right[places, np.arange(len(places))] = self.scale[places]
        return np.asarray(self.scale[:, None] * self.factor.solve(right))


def solved_sparse(coefficients: Any, constant: Array, variance: Array) -> SparseGaussian:
    """coefficients: a SciPy sparse matrix A (factors, unknown)."""
    from scipy import sparse
    from scipy.sparse.linalg import splu

    weighted = sparse.diags_array(1.0 / variance) @ coefficients
    precision = (coefficients.T @ weighted).tocsc()
    scale = 1.0 / np.sqrt(precision.diagonal())
    units = sparse.diags_array(scale)
    scaled = (units @ precision @ units).tocsc()
    # Positive definite: symmetric pivoting keeps the factor as sparse as a Cholesky factor.
    factor = splu(scaled, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    diagonal = factor.U.diagonal()
    if not (diagonal > 0).all():
        raise _degenerate()
    mean = np.zeros(len(scale))
    for _ in range(2):
        mean = mean - scale * factor.solve(scale * (weighted.T @ (constant + coefficients @ mean)))
    log_determinant = np.log(diagonal).sum() - 2 * np.log(scale).sum()
    away = constant + coefficients @ mean
    known = len(variance) - len(mean)
    log_density = -0.5 * ((away**2 / variance + np.log(variance)).sum() + known * LOG_2PI + log_determinant)
    return SparseGaussian(np.array([log_density]), mean[None], factor, scale)


def selected_variances(factor: Any) -> Array | None:
    """The diagonal of (LDL′)⁻¹ = Z, from the last column to the first: Zᵢⱼ = -Zᵢᵢ lⱼ, Zⱼⱼ = 1/dⱼ - lⱼ′Zᵢⱼ, where i are
    the rows of column j. These rows are a subset of those of j's parent in the elimination tree, whose part of Z is
    known by then. (Takahashi, Fagan and Chen 1973) None if pivoting wasn't symmetric."""
    order = factor.perm_c
    if not np.array_equal(order, factor.perm_r):
        return None
    pivots, (rows, weights) = factor.U.diagonal(), _columns_of(factor.L)
    waiting = [0] * len(pivots)  # children not yet processed
    for below in rows:
        if len(below):
            waiting[below[0]] += 1
    blocks: dict[int, tuple[Indices, Array]] = {}  # rows {j, i} of a column, and Z there
    found = np.empty(len(pivots))
    for j in range(len(pivots) - 1, -1, -1):
        below, own = rows[j], np.empty((len(rows[j]) + 1, len(rows[j]) + 1))
        own[0, 0] = 1.0 / pivots[j]
        if len(below):
            parent = int(below[0])
            known, block = blocks[parent]
            places = known.searchsorted(below)
            inner = block[places[:, None], places]
            column = -(inner @ weights[j])
            own[1:, 1:], own[1:, 0], own[0, 1:] = inner, column, column
            own[0, 0] -= weights[j] @ column
            waiting[parent] -= 1
            if not waiting[parent]:
                del blocks[parent]
        found[j] = own[0, 0]
        if waiting[j]:
            blocks[j] = np.concatenate([[j], below]), own
    return np.asarray(found[order])


def _columns_of(lower: Any) -> tuple[list[Indices], list[Array]]:
    """Rows and values below the diagonal, including structural zeros: the rows of a column are a subset of those of its
    parent, the first of them."""
    lower = lower.tocsc()
    lower.sort_indices()
    starts = lower.indptr
    given = [lower.indices[a + 1 : b] for a, b in pairwise(starts.tolist())]
    rows: list[Indices] = [*given]
    weights: list[Array] = []
    for j, below in enumerate(rows):
        if len(below):
            parent = int(below[0])
            if len(below) > 1 and not _among(below[1:], rows[parent]):
                rows[parent] = np.union1d(rows[parent], below[1:])
        values = lower.data[starts[j] + 1 : starts[j + 1]]
        if len(below) > len(values):
            filled = np.zeros(len(below))
            filled[np.searchsorted(below, given[j])] = values
            values = filled
        weights.append(values)
    return rows, weights


def _among(some: Indices, rows: Indices) -> bool:
    """Whether these are a subset of others, both sorted."""
    if len(rows) < len(some):
        return False
    places = rows.searchsorted(some)
    return bool(places[-1] < len(rows) and (rows[places] == some).all())


def _degenerate() -> NetworkError:
    return NetworkError(
        "the covariance is numerically singular: the standard deviations of the nodes "
        "differ by too many orders of magnitude"
    )
