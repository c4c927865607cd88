"""How strongly weights are drawn towards 0: the strength under which the data is most probable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from credo.core.moments import CrossMoments
from credo.numerics.exact import Array

WEAKEST, STRONGEST = 1e-10, 1e8  # strengths that are tried, in rows
GRID = 91  # points, five a factor of 10
ROUNDS = 60  # of narrowing the interval about the best of them
RESOLVED = 2.0**-50  # of the target's scatter: a residual below it is rounding


@dataclass(frozen=True, eq=False)
class RidgeEvidence:
    """log p(target | strength λ), intercept and noise integrated out under flat priors, weights under N(0, σ²/λ):

    ½ Σᵢ log λ/(dᵢ + λ) - (n - 1)/2 · log Q(λ) + constant,  Q(λ) = Σ(y - ȳ)² - Σᵢ cᵢ²/(dᵢ + λ)

    d being the eigenvalues of the features' scatter, c the features' products with the target along its eigenvectors.
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
        """The log-evidence at each strength, up to a constant that they share. (strengths,)"""
        shrunk = self.eigenvalues + strengths[:, None]
        residual = self.scatter - (self.products / shrunk).sum(1)
        residual = np.maximum(residual, RESOLVED * self.scatter)
        fits = 0.5 * np.log(strengths[:, None] / shrunk).sum(1)
        return np.asarray(fits - (self.n - 1) / 2 * np.log(residual))

    @cached_property
    def best(self) -> float:
        """The strength with the highest evidence: on a grid, then by narrowing."""
        if not len(self.eigenvalues) or self.scatter <= 0 or self.n < 2:
            return 1.0
        grid = np.linspace(np.log(WEAKEST), np.log(STRONGEST), GRID)
        top = int(np.argmax(self.at(np.exp(grid))))
        low, high = grid[max(top - 1, 0)], grid[min(top + 1, GRID - 1)]
        for _ in range(ROUNDS):
            points = np.linspace(low, high, 7)
            top = int(np.argmax(self.at(np.exp(points))))
            low, high = points[max(top - 1, 0)], points[min(top + 1, 6)]
            if high - low < 1e-7:
                break
        return float(np.exp((low + high) / 2))
