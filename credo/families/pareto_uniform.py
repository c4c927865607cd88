"""ParetoUniform: the upper bound of a uniform distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.core.membership import Membership
from credo.core.statistics import Extremes
from credo.families.family import Family
from credo.numerics.distributions import Distribution, Pareto, ParetoMixedUniform, Real
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False, repr=False)
class ParetoUniform(Family):
    """p(x | θ) = 1/θ on [0, θ], θ ~ Pareto(scale, shape); after x₁..xₙ Pareto(max(scale, x₁..xₙ), shape + n).

    >>> ParetoUniform(scale=1, shape=1).update([2.0, 7.0]).posterior
    ParetoUniform(scale=7, shape=3)
    """

    scale: Real
    shape: Real

    reads = "positive"

    def __post_init__(self) -> None:
        self._require_positive("scale", "shape")

    def statistics(self, x: Array, member: Membership) -> Extremes:
        return Extremes.of(x, member)

    def posterior(self, statistics: Extremes) -> ParetoUniform:
        return ParetoUniform(np.maximum(self.scale, statistics.largest.value), self.shape + statistics.n.value)

    def log_evidence(self, statistics: Extremes) -> Array:
        """log s mˢ/(s′ m′ˢ′), where ′ marks the posterior."""
        after = self.posterior(statistics)
        before = np.log(self.shape) + self.shape * np.log(self.scale)
        return np.asarray(before - np.log(after.shape) - after.shape * np.log(after.scale))

    def marginals(self) -> tuple[Distribution, ...]:
        return (Pareto(self.scale, self.shape),)

    def mode(self) -> Real:
        return self.scale

    def maximum_likelihood(self, statistics: Extremes) -> Array:
        return np.where(statistics.n.value > 0, statistics.largest.value, np.nan)

    def log_density(self, x: Array, parameters: Array) -> Array:
        inside = np.where(x[:, None] <= parameters, -np.log(parameters), -np.inf)
        return np.where(np.isnan(x)[:, None], 0.0, inside)

    def log_prior(self, parameters: Array) -> Array:
        return np.asarray(Pareto(self.scale, self.shape).log_prob(parameters))

    def predictive(self) -> ParetoMixedUniform:
        return ParetoMixedUniform(self.scale, self.shape)
