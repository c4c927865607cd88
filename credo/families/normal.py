"""NormalMean and NormalInverseGamma: Gaussian numbers with known or unknown variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from credo.core.membership import Membership
from credo.core.moments import Moments
from credo.data.cells import LARGEST_NUMBER
from credo.errors import EvidenceError
from credo.families.family import Family
from credo.numerics.distributions import LOG_2PI, Distribution, InverseGamma, Normal, Real, Seed, StudentT, shown
from credo.numerics.exact import Array
from credo.numerics.special import log_gamma, log_gamma_ratio


class Gaussian(NamedTuple):
    """The parameters of a normal distribution."""

    mean: Any
    variance: Any


def log_likelihood(n: Array, mean: Array, scatter: Array, at: Gaussian) -> Array:
    """log p of n numbers with this mean and scatter, at μ and σ².

    >>> log_likelihood(np.array(2.0), np.array(1.0), np.array(2.0), Gaussian(1.0, 1.0)).round(4)  # of 0 and 2
    np.float64(-2.8379)
    """
    squares = scatter + n * (mean - at.mean) ** 2
    return np.asarray(-0.5 * (n * np.log(2 * np.pi * at.variance) + squares / at.variance))


def log_peaks(variance: Array, blur: Array | None) -> Array:
    """-½ log 2πσ², the log-density at the mean; less δ²/24σ² for numbers rounded to steps δ, with blur = δ²/12."""
    return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + (0.0 if blur is None else blur / variance)))


class StudentTerms(NamedTuple):
    """log p(x) = constant - power log(1 + inverse (x - mean)²), the Student's t predictive of NormalInverseGamma."""

    inverse: Array
    power: Array
    constant: Array

    @classmethod
    def of(cls, strength: Array, shape: Array, scale: Array) -> StudentTerms:
        """power = a + ½, inverse = κ/(κ + 1)/2b, constant = log Γ(a + ½)/Γ(a) + ½ log(inverse/π)."""
        inverse = strength / (strength + 1) / (2 * scale)
        return cls(inverse, shape + 0.5, log_gamma_ratio(shape) + 0.5 * np.log(inverse / np.pi))


@dataclass(frozen=True, eq=False, repr=False, init=False)
class NormalMean(Family):
    """x ~ N(μ, σ²) with known noise σ = noise_sd, μ ~ N(mean, sd²). sd 0 is certainty.

    μₙ = (σ² mean + n sd² x̄)/(σ² + n sd²),  σₙ² = σ² sd²/(σ² + n sd²)

    >>> NormalMean(mean=0, sd=1, noise_sd=1).update([2.0, 4.0]).posterior
    NormalMean(mean=2, sd=0.57735, noise_sd=1)
    """

    location: Array
    sd: Array
    noise_sd: Array

    reads = "number"

    def __init__(self, mean: Real, sd: Real, noise_sd: Real) -> None:
        self._require("location", mean, np.isfinite, "a number")
        self._require("sd", sd, lambda x: x >= 0, "0 or more")
        self._require("noise_sd", noise_sd, lambda x: x > 0, "positive")

    def statistics(self, x: Array, member: Membership) -> Moments:
        return Moments.of(x[:, None], member)

    def posterior(self, statistics: Moments) -> NormalMean:
        n, mean, _ = _moments(statistics)
        total = n + self._prior_rows()
        after = self.location + n / total * (mean - self.location)
        return NormalMean(after, self.noise_sd / np.sqrt(total), self.noise_sd)

    def _prior_rows(self) -> Array:
        """(σ/sd)², the prior's strength in rows; infinite for a certain prior."""
        with np.errstate(divide="ignore"):
            return (self.noise_sd / self.sd) ** 2

    def log_evidence(self, statistics: Moments) -> Array:
        """log N(x; mean·1, σ²I + sd²·11′)."""
        n, mean, scatter = _moments(statistics)
        spread = np.hypot(self.noise_sd, np.sqrt(n) * self.sd)
        distance = scatter / self.noise_sd**2 + n * ((mean - self.location) / spread) ** 2
        scale = (n - 1) * np.log(self.noise_sd) + np.log(spread)
        return np.asarray(-0.5 * (n * LOG_2PI + distance) - scale)

    def marginals(self) -> tuple[Distribution, ...]:
        return (Normal(self.location, self.sd),)

    def mode(self) -> Any:
        return self.location

    def maximum_likelihood(self, statistics: Moments) -> Any:
        n, mean, _ = _moments(statistics)
        return np.where(n > 0, mean, np.nan)

    def log_density(self, x: Array, parameters: Array) -> Array:
        return np.where(np.isnan(x)[:, None], 0.0, Normal(parameters, self.noise_sd).log_prob(x[:, None]))

    def log_prior(self, parameters: Array) -> Array:
        return np.asarray(Normal(self.location, self.sd).log_prob(parameters))

    def predictive(self) -> Normal:
        """N(mean, sd² + σ²): wider than the belief about the mean."""
        return Normal(self.location, np.hypot(self.sd, self.noise_sd))


@dataclass(frozen=True, eq=False, repr=False, init=False)
class NormalInverseGamma(Family):
    """x ~ N(μ, σ²), σ² ~ InverseGamma(shape, scale), μ | σ² ~ N(mean, σ²/strength).

    With n rows: strengthₙ = κ + n, meanₙ = (κ mean + n x̄)/(κ + n), shapeₙ = shape + n/2,
    scaleₙ = scale + ½ Σ(x - x̄)² + ½ κn/(κ + n) (x̄ - mean)², where κ is strength.

    >>> NormalInverseGamma(mean=0, strength=1, shape=1, scale=1).update([2.0, 4.0]).posterior
    NormalInverseGamma(mean=2, strength=3, shape=2, scale=5)

    Strength 0, shape -½ and scale 0 are the reference prior, p(μ, σ²) ∝ 1/σ². Under it (μ - x̄)/(s/√n) has Student's t
    distribution with n - 1 degrees of freedom.

    >>> NormalInverseGamma(mean=0, strength=0, shape=-0.5, scale=0).update([2.0, 4.0, 6.0]).posterior
    NormalInverseGamma(mean=4, strength=3, shape=1, scale=4)
    """

    location: Array
    strength: Array
    shape: Array
    scale: Array

    reads = "number"
    parameters = Gaussian
    reference: ClassVar[dict[str, float]] = {"strength": 0.0, "shape": -0.5, "scale": 0.0}

    def __init__(self, mean: Real, strength: Real, shape: Real, scale: Real) -> None:
        self._require("location", mean, np.isfinite, "a number")
        for name, value in (("strength", strength), ("shape", shape), ("scale", scale)):
            object.__setattr__(self, name, value)
        self._require_positive("strength", "shape", "scale")

    def statistics(self, x: Array, member: Membership) -> Moments:
        return Moments.of(x[:, None], member)

    def posterior(self, statistics: Moments) -> NormalInverseGamma:
        n, mean, scatter = _moments(statistics)
        improper = self.improper
        if improper.any():
            require_scale(n[improper & (n > 0)], mean[improper & (n > 0)], scatter[improper & (n > 0)])
        strength, distance = self.strength + n, mean - self.location
        total = np.where(strength > 0, strength, 1.0)
        scale = self.scale + scatter / 2 + self.strength * n / total * np.where(improper, 0.0, distance) ** 2 / 2
        return NormalInverseGamma(self.location + n / total * distance, strength, self.shape + n / 2, scale)

    def log_evidence(self, statistics: Moments) -> Array:
        self._require_proper()
        n = statistics.n.value[..., 0]
        return self.posterior(statistics)._log_normaliser() - self._log_normaliser() - n / 2 * LOG_2PI

    def _log_normaliser(self) -> Array:
        return np.asarray(log_gamma(self.shape) - self.shape * np.log(self.scale) - np.log(self.strength) / 2)

    def marginals(self) -> tuple[Distribution, ...]:
        self._require_proper()
        mean = StudentT(2 * self.shape, self.location, np.sqrt(self.scale / (self.shape * self.strength)))
        return mean, InverseGamma(self.shape, self.scale)

    def mean(self) -> Gaussian:
        """(mean, scale/(shape - 1)); the median of μ if its t distribution has no mean (2·shape ≤ 1)."""
        _, variance = self.marginals()
        expected = np.asarray(variance.mean())
        return Gaussian(self.location + np.zeros(expected.shape), expected)

    def mode(self) -> Gaussian:
        """(mean, scale/(shape + 3/2))."""
        self._require_proper()
        return Gaussian(self.location, self.scale / (self.shape + 1.5))

    def maximum_likelihood(self, statistics: Moments) -> Gaussian:
        n, mean, scatter = _moments(statistics)
        seen = np.where(n > 0, n, np.nan)
        return Gaussian(mean + 0 * seen, scatter / seen)

    def log_density(self, x: Array, parameters: Gaussian) -> Array:
        normal = Normal(parameters.mean, np.sqrt(parameters.variance))
        return np.where(np.isnan(x)[:, None], 0.0, normal.log_prob(x[:, None]))

    def log_prior(self, parameters: Gaussian) -> Array:
        self._require_proper()
        mean = Normal(self.location, np.sqrt(parameters.variance / self.strength)).log_prob(parameters.mean)
        return np.asarray(mean) + InverseGamma(self.shape, self.scale).log_prob(parameters.variance)

    def predictive(self) -> StudentT:
        """Student's t with 2·shape degrees, scale² = scale (strength + 1)/(shape · strength)."""
        self._require_proper()
        spread = self.scale * (self.strength + 1) / (self.shape * self.strength)
        return StudentT(2 * self.shape, self.location, np.sqrt(spread))

    def sample(self, size: int, seed: Seed = None) -> Gaussian:
        self._require_proper()
        rng = np.random.default_rng(seed)
        variance = InverseGamma(self.shape, self.scale).sample(size, rng)
        noise = rng.standard_normal(variance.shape)
        return Gaussian(self.location + np.sqrt(variance / self.strength) * noise, variance)


class SharedVariance(NamedTuple):
    """μ ~ N(mean, σ²/strength) of each group and column, and one σ² ~ InverseGamma(shape, spread/2) for all."""

    mean: Array  # (..., groups, columns)
    strength: Array  # (..., groups, columns)
    shape: Array  # (...)
    spread: Array  # (...)

    def posterior(self, n: Array, mean: Array, scatter: Array) -> SharedVariance:
        """The posterior as in NormalInverseGamma, of the known cells of each group and column; their scatters add."""
        strength, away = self.strength + n, mean - self.mean
        share = np.where(strength > 0, n / np.where(strength > 0, strength, 1.0), 0.0)
        spread = self.spread + (scatter + self.strength * share * away**2).sum((-2, -1))
        return SharedVariance(self.mean + share * away, strength, self.shape + n.sum((-2, -1)) / 2, spread)

    def log_evidence(self, n: Array, mean: Array, scatter: Array) -> Array:
        """log p of numbers, with means and variance integrated out. (...)"""
        from scipy.special import gammaln

        after = self.posterior(n, mean, scatter)
        means = 0.5 * (np.log(self.strength / after.strength) - n * np.log(2 * np.pi)).sum((-2, -1))
        before, left = (each.shape * np.log(each.spread / 2) for each in (self, after))
        return np.asarray(means + gammaln(after.shape) - gammaln(self.shape) + before - left)

    def expected_variance(self) -> Array:
        return self.spread / (2 * self.shape - 2)

    def variance_at_mode(self) -> Array:
        return self.spread / (2 * self.shape + 2 + np.prod(self.mean.shape[-2:]))

    def log_kernel(self, mean: Array, variance: Array) -> Array:
        """log Π N(μ; mean, σ²/κ) InverseGamma(σ²), without constants."""
        means = -0.5 * (np.log(variance) + self.strength * (mean - self.mean) ** 2 / variance).sum((-2, -1))
        return np.asarray(means - (self.shape + 1) * np.log(variance) - self.spread / 2 / variance)

    def log_predictive(self, z: Array) -> Array:
        """The multivariate t of the known cells; NaN is missing. (..., 1, columns) -> (..., groups)"""
        from scipy.special import gammaln

        known, grow = ~np.isnan(z), self.strength / (self.strength + 1)
        squared, size = np.where(known, grow * (z - self.mean) ** 2, 0.0).sum(-1), known.sum(-1)
        shape, spread = np.asarray(self.shape)[..., None], np.asarray(self.spread)[..., None]
        peak = gammaln(shape + size / 2) - gammaln(shape) - size / 2 * np.log(np.pi * spread)
        peak = peak + 0.5 * np.where(known, np.log(grow), 0.0).sum(-1)
        return np.asarray(peak - (shape + size / 2) * np.log1p(squared / spread))


def require_scale(n: Array, mean: Array, scatter: Array) -> None:
    """Refuse groups of equal numbers: they give no scale for the next number."""
    unknown = ~((scatter > 0) & (n > 1))
    if not unknown.any():
        return
    rows, place, spread = (np.atleast_1d(each)[np.atleast_1d(unknown)][0] for each in (n, mean, scatter))
    if rows == 0:
        found = "there are no observations"
    elif spread > 0:
        found = f"the weights of the observations sum to {shown(rows)}, and must exceed 1"
    elif 0 < abs(place) < 1 / LARGEST_NUMBER:
        found = f"squares of numbers as small as {shown(place)} underflow, so they need another unit"
    else:
        found = f"every observation is {shown(place)}"
    raise EvidenceError(
        f"the scale is unknown: {found}. Observe different numbers, or give a proper prior (mean, strength, "
        "shape and scale of a NormalInverseGamma)"
    )


def _moments(statistics: Moments) -> tuple[Array, Array, Array]:
    """n, mean and scatter of a single column. (groups,)"""
    return statistics.n.value[..., 0], statistics.mean[..., 0], statistics.scatter[..., 0]
