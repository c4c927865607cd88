"""The strength of the ridge, chosen by evidence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from credo.core.moments import CrossMoments
from credo.numerics.exact import Array

WEAKEST_RIDGE, STRONGEST_RIDGE = 1e-10, 1e8  # in rows
RIDGE_GRID = 91  # strengths tried, five per factor of 10
NARROWING_ROUNDS = 60  # of narrowing the interval about the best grid point
LEAST_RESIDUAL = 2.0**-50  # of the target's scatter: smaller residuals are rounding errors


@dataclass(frozen=True, eq=False)
class RidgeEvidence:
    """log p(target | strength λ), intercept and noise integrated out under flat priors, weights under N(0, σ²/λ):

    ½ Σᵢ log λ/(dᵢ + λ) - (n - 1)/2 · log Q(λ) + constant,  Q(λ) = Σ(y - ȳ)² - Σᵢ cᵢ²/(dᵢ + λ)

    where d are the eigenvalues of the features' scatter, and c the features' products with the target along its
    eigenvectors.
    """

    n: float
    eigenvalues: Array  # (features,)
    products: Array  # c². (features,)
    scatter: float  # of the target

    @classmethod
    def of(cls, sums: CrossMoments) -> RidgeEvidence:
        """From the moments of scaled features and, last, the target."""
        scatter = sums.scatter[0]
        values, vectors = np.linalg.eigh(scatter[:-1, :-1])
        products = (vectors.T @ scatter[:-1, -1]) ** 2
        return cls(float(sums.n.value[0]), np.maximum(values, 0.0), products, float(scatter[-1, -1]))

    def at(self, strengths: Array) -> Array:
        """The log-evidence at each strength, up to a constant. (strengths,)"""
        shrunk = self.eigenvalues + strengths[:, None]
        residual = self.scatter - (self.products / shrunk).sum(1)
        residual = np.maximum(residual, LEAST_RESIDUAL * self.scatter)
        fits = 0.5 * np.log(strengths[:, None] / shrunk).sum(1)
        return np.asarray(fits - (self.n - 1) / 2 * np.log(residual))

    def log_prior(self, strengths: Array) -> Array:
        """The log-density of log λ if the explained share of the target's variance, s/(1 + s) with s = Σd/(nλ), is
        uniform a priori. With few rows, evidence alone can't separate weights from noise, and may choose no noise at
        all. (strengths,)"""
        explained = self.eigenvalues.sum() / (self.n * strengths)
        return np.asarray(np.log(explained) - 2.0 * np.log1p(explained))

    def _log_posterior(self, logs: Array) -> Array:
        strengths = np.exp(logs)
        return self.at(strengths) + self.log_prior(strengths)

    @cached_property
    def best(self) -> float:
        """The most probable strength: on a grid, then by narrowing."""
        if not self.eigenvalues.any() or self.scatter <= 0 or self.n < 2:
            return 1.0
        grid = np.linspace(np.log(WEAKEST_RIDGE), np.log(STRONGEST_RIDGE), RIDGE_GRID)
        top = int(np.argmax(self._log_posterior(grid)))
        low, high = grid[max(top - 1, 0)], grid[min(top + 1, RIDGE_GRID - 1)]
        for _ in range(NARROWING_ROUNDS):
            points = np.linspace(low, high, 7)
            top = int(np.argmax(self._log_posterior(points)))
            low, high = points[max(top - 1, 0)], points[min(top + 1, 6)]
            if high - low < 1e-7:
                break
        return float(np.exp((low + high) / 2))
