"""GammaPoisson and GammaExponential: the rate of events, from counts or from waiting times."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.core.membership import Membership
from credo.core.statistics import Totals
from credo.families.family import Family
from credo.numerics.distributions import Distribution, Gamma, Lomax, NegativeBinomial, Real
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False, repr=False)
class GammaRate(Family):
    """A rate λ ~ Gamma(shape, rate): `events` add to the shape, `exposure` to the rate."""

    shape: Real = 1.0
    rate: Real = 1.0

    def __post_init__(self) -> None:
        self._require_positive("shape", "rate")

    @abstractmethod
    def log_base(self, x: Array) -> Array:
        """log h(x), the factor of the likelihood without λ."""

    @abstractmethod
    def events(self, statistics: Totals) -> Array: ...

    @abstractmethod
    def exposure(self, statistics: Totals) -> Array: ...

    def statistics(self, x: Array, member: Membership) -> Totals:
        return Totals.of(x[:, None], self.log_base(x), member)

    def posterior(self, statistics: Totals) -> Self:
        return type(self)(self.shape + self.events(statistics), self.rate + self.exposure(statistics))

    def log_evidence(self, statistics: Totals) -> Array:
        """log Γ(s′)/Γ(s) + s log r - s′ log r′ + Σ log h, where ′ marks the posterior."""
        from scipy.special import gammaln

        self._require_proper()
        after = self.posterior(statistics)
        before = self.shape * np.log(self.rate) - gammaln(self.shape)
        return np.asarray(before + gammaln(after.shape) - after.shape * np.log(after.rate) + statistics.log_base.value)

    def marginals(self) -> tuple[Distribution, ...]:
        self._require_proper()
        return (Gamma(self.shape, self.rate),)

    def mode(self) -> Any:
        """(shape - 1)/rate; 0 for a shape of at most 1."""
        self._require_proper()
        return np.maximum(np.asarray(self.shape) - 1, 0) / self.rate

    def maximum_likelihood(self, statistics: Totals) -> Array:
        events, exposure = self.events(statistics), self.exposure(statistics)
        unbounded = np.where(events > 0, np.inf, np.nan)  # if all waiting times are 0, the likelihood has no maximum
        return np.where(exposure > 0, events / np.where(exposure > 0, exposure, 1), unbounded)

    def log_prior(self, parameters: Array) -> Array:
        self._require_proper()
        return np.asarray(Gamma(self.shape, self.rate).log_prob(parameters))


@dataclass(frozen=True, eq=False, repr=False)
class GammaPoisson(GammaRate):
    """p(x | λ) = λˣ exp(-λ)/x!, λ ~ Gamma(shape, rate); after counts x₁..xₙ Gamma(shape + Σx, rate + n).

    >>> GammaPoisson(1, 1).update([3, 5, 4]).posterior
    GammaPoisson(shape=13, rate=4)

    Shape ½ and rate 0 are Jeffreys' prior, p(λ) ∝ 1/√λ.

    >>> GammaPoisson(0.5, 0).update([3, 5, 4]).posterior
    GammaPoisson(shape=12.5, rate=3)
    """

    reads = "count"
    reference: ClassVar[dict[str, float]] = {"shape": 0.5, "rate": 0.0}

    def log_base(self, x: Array) -> Array:
        from scipy.special import gammaln

        return -np.asarray(gammaln(x + 1))

    def events(self, statistics: Totals) -> Array:
        return statistics.total.value[..., 0]

    def exposure(self, statistics: Totals) -> Array:
        return statistics.n.value

    def log_density(self, x: Array, parameters: Array) -> Array:
        from scipy.special import xlogy

        known = ~np.isnan(x)[:, None]
        log_mass = xlogy(x[:, None], parameters) - parameters + self.log_base(x)[:, None]
        return np.where(known, log_mass, 0.0)

    def predictive(self) -> NegativeBinomial:
        self._require_proper()
        return NegativeBinomial(self.shape, self.rate)


@dataclass(frozen=True, eq=False, repr=False)
class GammaExponential(GammaRate):
    """p(x | λ) = λ exp(-λx), λ ~ Gamma(shape, rate); after waiting times x₁..xₙ Gamma(shape + n, rate + Σx).

    >>> GammaExponential(1, 1).update([0.5, 2.5]).posterior
    GammaExponential(shape=3, rate=4)
    """

    reads = "positive"

    def log_base(self, x: Array) -> Array:
        return np.zeros_like(x)

    def events(self, statistics: Totals) -> Array:
        return statistics.n.value

    def exposure(self, statistics: Totals) -> Array:
        return statistics.total.value[..., 0]

    def log_density(self, x: Array, parameters: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.where(np.isnan(x)[:, None], 0.0, np.log(parameters) - parameters * x[:, None])

    def predictive(self) -> Lomax:
        return Lomax(self.shape, self.rate)
