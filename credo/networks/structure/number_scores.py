"""Linear-Gaussian scores of families of numbers, from means and scatter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.core.moments import CrossMoments
from credo.errors import DataError
from credo.networks.structure.category_scores import checked_size
from credo.networks.structure.set_score import Members, SetScore
from credo.numerics.exact import Array

SINGULAR_SHARE = 1e-10  # share of a variable's variance: if less is left, the other variables determine it
CONSTANT_SHARE = 1e-12  # a standard deviation below this share of the numbers' size may be rounding


class Measured(Protocol):
    """Columns of numbers, complete, here or elsewhere."""

    @property
    def variables(self) -> tuple[str, ...]: ...

    @property
    def rows(self) -> int: ...

    @property
    def n(self) -> float:
        """The weight of all rows."""
        ...

    @property
    def scales(self) -> Array:
        """The standard deviation of each variable; none may be constant."""
        ...

    @property
    def correlations(self) -> Array:
        """The scatter of standardised variables, so that units don't matter."""
        ...


@dataclass(frozen=True, eq=False)
class NumberSums:
    """Sums over the rows of columns of numbers: they add, so that rows can stay where they are."""

    variables: tuple[str, ...]
    rows: int
    moments: CrossMoments  # of all rows as one group

    @cached_property
    def n(self) -> float:
        return float(self.moments.n.value[0])

    @cached_property
    def mean(self) -> Array:
        return np.asarray(self.moments.mean[0])

    @cached_property
    def scatter(self) -> Array:
        return np.asarray(self.moments.scatter[0])

    @cached_property
    def scales(self) -> Array:
        size = np.sqrt(self.moments.second.value[0].diagonal() / self.n)
        return checked_scales(self.variables, self.scatter, self.n, size)

    @cached_property
    def correlations(self) -> Array:
        return self.scatter / np.outer(self.scales, self.scales)


@dataclass(frozen=True, eq=False)
class Standard:
    """Units in which numbers have mean 0 and standard deviation 1."""

    mean: Array
    scales: Array

    def __call__(self, x: Array) -> Array:
        """x: (rows, numbers)"""
        return np.asarray((x - self.mean) / self.scales)


@dataclass(frozen=True, eq=False)
class NumberTable:
    """Complete columns of numbers."""

    variables: tuple[str, ...]
    x: Array  # (rows, variables)
    weight: Array | None = None

    @property
    def rows(self) -> int:
        return len(self.x)

    @cached_property
    def n(self) -> float:
        return float(len(self.x) if self.weight is None else self.weight.sum())

    @cached_property
    def scatter(self) -> Array:
        """Σ w (x - mean)(x - mean)′."""
        weight = np.ones(len(self.x)) if self.weight is None else self.weight
        centred = self.x - np.average(self.x, axis=0, weights=weight)
        centred -= np.average(centred, axis=0, weights=weight)
        return np.asarray((centred * weight[:, None]).T @ centred)

    @cached_property
    def scales(self) -> Array:
        return checked_scales(self.variables, self.scatter, self.n, np.abs(self.x).max(0, initial=0.0))

    @cached_property
    def correlations(self) -> Array:
        return self.scatter / np.outer(self.scales, self.scales)


def checked_scales(variables: Sequence[str], scatter: Array, n: float, size: Array) -> Array:
    """The standard deviations, of numbers of some size; a constant variable is refused."""
    found = np.sqrt(np.maximum(scatter.diagonal(), 0.0) / n)
    for j in np.flatnonzero(~(found > CONSTANT_SHARE * size)).tolist():
        name = variables[j]
        raise DataError(
            f"column {name!r} is constant: a constant number has no variance. Leave it out with "
            f"kinds={{{name!r}: 'ignore'}}"
        )
    return np.asarray(found)


class LogDeterminants:
    """log |M| of principal submatrices: for a base, and for the base with each of the others."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix

    def of(self, base: Sequence[int], others: Sequence[int]) -> Array:
        """The log-determinants; -inf for singular sets."""
        from scipy.linalg import solve_triangular

        rows, columns = list(base), list(others)
        left, log_base = self.matrix.diagonal()[columns].copy(), 0.0
        if rows:
            try:
                lower = np.linalg.cholesky(self.matrix[np.ix_(rows, rows)])
            except np.linalg.LinAlgError:
                return np.full(len(columns), -np.inf)
            explained = solve_triangular(lower, self.matrix[np.ix_(rows, columns)], lower=True)
            left -= (explained**2).sum(0)
            log_base = 2 * float(np.log(lower.diagonal()).sum())
        fine = left > SINGULAR_SHARE * self.matrix.diagonal()[columns]
        return np.where(fine, log_base + np.log(np.where(fine, left, 1.0)), -np.inf)


class GaussianSetScore(SetScore):
    """A score of numbers, as a difference of a function of sets. A set of linearly dependent variables has no density,
    so its families are never chosen."""

    def __init__(self, table: Measured) -> None:
        super().__init__(table.variables)
        self.n = table.n

    def family(self, node: int, parents: Sequence[int]) -> float:
        return _defined(super().family(node, parents))

    def grown(self, node: int, parents: Sequence[int], others: Sequence[int]) -> Array:
        with np.errstate(invalid="ignore"):
            found = super().grown(node, parents, others)
        return np.where(np.isfinite(found), found, -np.inf)


def _defined(value: float) -> float:
    return value if np.isfinite(value) else -np.inf


class GaussianBIC(GaussianSetScore):
    """log-likelihood of linear regressions - ½ log n · parameters: a slope for each parent, intercept and variance.
    (Centred rows have a rank below their number; for larger sets, only rounding errors remain as variance.)"""

    def __init__(self, table: Measured) -> None:
        super().__init__(table)
        self._rank = table.rows - 1
        self._scales = np.log(table.scales)
        self._determinants = LogDeterminants(table.correlations / table.n)

    def nothing(self) -> float:
        return 0.0

    def values(self, base: Members, others: Sequence[int]) -> Array:
        members = len(base) + 1
        scales = self._scales[list(base)].sum() + self._scales[list(others)]
        spread = self._determinants.of(base, others) + 2 * scales
        likelihood = -0.5 * self.n * (spread + members * (1 + np.log(2 * np.pi)))
        found = likelihood - 0.5 * np.log(self.n) * (members * (members - 1) / 2 + 2 * members)
        return np.where(np.isfinite(spread) & (members <= self._rank), found, -np.inf)


class BGe(GaussianSetScore):
    """log p(data | graph) under a normal-Wishart prior with the data's mean, an equivalent sample size, and a diagonal
    scale matrix in each variable's own units. (Geiger and Heckerman 1994; Kuipers et al. 2014)

    Of l variables among d, with α = d + equivalent + 1 and t = equivalent·(α - d - 1)/(equivalent + 1):
    log p = l/2·log(equivalent/((n + equivalent)·πⁿ)) + log Γₗ((n + α - d + l)/2)/Γₗ((α - d + l)/2)
            + (α - d + l)/2·log|t·V| - (n + α - d + l)/2·log|t·V + scatter|
    """

    def __init__(self, table: Measured, equivalent: float = 1.0) -> None:
        super().__init__(table)
        self.prior = NormalWishart(checked_size(equivalent))
        self._scales = np.log(table.scales)
        self._determinants = LogDeterminants(table.correlations + self.prior.scale * np.eye(len(table.variables)))

    def nothing(self) -> float:
        return 0.0

    def values(self, base: Members, others: Sequence[int]) -> Array:
        scales = self._scales[list(base)].sum() + self._scales[list(others)]
        evidence = self.prior.log_evidence(self.n, len(base) + 1, self._determinants.of(base, others))
        return np.asarray(evidence - self.n * scales)


@dataclass(frozen=True)
class NormalWishart:
    """The prior of all Gaussian families of a network, for standardised variables."""

    equivalent: float = 1.0

    @property
    def scale(self) -> float:
        """t, the diagonal of the scale matrix."""
        return self.equivalent**2 / (self.equivalent + 1)

    def posterior_scale(self, n: Array, mean: Array, scatter: Array) -> Array:
        """The scale matrix of each group after its rows: t·I + scatter + n·e/(n + e)·mean mean′."""
        shrunk = (n * self.equivalent / (n + self.equivalent))[:, None, None] * mean[:, :, None] * mean[:, None, :]
        return np.asarray(self.scale * np.eye(scatter.shape[-1]) + scatter + shrunk)

    def log_evidence(self, n: float | Array, members: int, log_determinant: Array) -> Array:
        """The log-evidence of rows, from the log-determinant of their scatter plus the prior's scale."""
        from scipy.special import multigammaln

        freedom = self.equivalent + 1 + members  # α - d + l
        posterior = 0.5 * (np.asarray(n) + freedom)
        mean = 0.5 * members * (np.log(self.equivalent / (n + self.equivalent)) - n * np.log(np.pi))
        gamma = multigammaln(posterior, members) - multigammaln(0.5 * freedom, members)
        prior = 0.5 * freedom * members * np.log(self.scale)
        return np.asarray(mean + gamma + prior - posterior * log_determinant)


def grouped_scatter(z: Array, weight: Array, keys: NDArray[np.integer[Any]], groups: int) -> tuple[Array, Array, Array]:
    """The weight, the mean and Σ w (z - mean)(z - mean)′ of the rows of each group.

    >>> n, mean, scatter = grouped_scatter(np.array([[1.0], [3.0], [5.0]]), np.ones(3), np.array([0, 0, 1]), 2)
    >>> n.tolist(), mean[:, 0].tolist(), scatter[:, 0, 0].tolist()
    ([2.0, 1.0], [2.0, 5.0], [2.0, 0.0])
    """
    n: Array = np.bincount(keys, weight, groups).astype(np.float64)
    safe, size = np.maximum(n, np.finfo(float).tiny), z.shape[1]
    mean = np.stack([np.bincount(keys, weight * own, groups) / safe for own in z.T], axis=1)
    centred = z - mean[keys]
    scatter = np.zeros((groups, size, size))
    for i in range(size):
        for j in range(i + 1):
            scatter[:, i, j] = scatter[:, j, i] = np.bincount(keys, weight * centred[:, i] * centred[:, j], groups)
    return n, mean, scatter
