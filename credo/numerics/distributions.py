"""Distributions of numbers, many at once: parameters and arguments broadcast.

A belief's marginals and predictives are such distributions. Each has a log-density, moments, a distribution function
and quantiles; intervals, highest-density intervals and samples follow from these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from credo.errors import DataError
from credo.numerics.exact import Array
from credo.numerics.special import beta_interval, beta_quantile, gamma_quantile

Real = float | Array
Seed = int | np.random.Generator | None  # None: different draws each time
LOG_2PI = float(np.log(2 * np.pi))


def plain(values: ArrayLike) -> Real:
    """One number as a float, many as an array."""
    array = np.asarray(values, dtype=np.float64)
    return array.item() if array.ndim == 0 else array


def floats(*values: ArrayLike) -> Iterator[Array]:
    """Each value as an array."""
    return (np.asarray(value, dtype=np.float64) for value in values)


@dataclass(frozen=True, eq=False, repr=False)
class Distribution(ABC):
    """A distribution of a number, or of several where the parameters are arrays."""

    @abstractmethod
    def log_prob(self, x: ArrayLike) -> Real: ...

    @abstractmethod
    def mean(self) -> Real: ...

    @abstractmethod
    def variance(self) -> Real: ...

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Real: ...

    @abstractmethod
    def quantile(self, p: ArrayLike) -> Real: ...

    def interval(self, mass: float = 0.95) -> tuple[Real, Real]:
        """The equal-tailed interval: (1 - mass)/2 lies below it and above it."""
        tail = (1 - checked_mass(mass)) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def highest_density(self, mass: float = 0.95) -> tuple[Real, Real]:
        """The shortest interval with this mass, by golden-section search for the tail below it."""
        spare = 1 - checked_mass(mass)
        golden = (np.sqrt(5) - 1) / 2

        def width(tail: Array) -> Array:
            ends = np.asarray(self.quantile(np.minimum(tail + mass, 1))) - np.asarray(self.quantile(tail))
            return np.where(np.isfinite(ends), ends, np.inf)

        shape = np.shape(self.mean())
        low, high = np.zeros(shape), np.full(shape, spare)
        for _ in range(60):
            left, right = high - golden * (high - low), low + golden * (high - low)
            shorter = width(left) <= width(right)
            low, high = np.where(shorter, low, left), np.where(shorter, right, high)
        tail = np.minimum.reduce([low, high]) if spare == 0 else (low + high) / 2
        # A density that falls from its edge has its shortest interval at the edge itself.
        ends = np.stack([np.zeros(shape), tail, np.full(shape, spare)])
        best = np.argmin(np.stack([width(end) for end in ends]), axis=0)
        tail = np.take_along_axis(ends, best[None], axis=0)[0]
        return self.quantile(tail), self.quantile(np.minimum(tail + mass, 1))

    def sample(self, size: int, seed: Seed = None) -> Array:
        """Draws, (size,) or (size, groups), by inverting the distribution function."""
        uniform = np.random.default_rng(seed).random((size, *np.shape(self.mean())))
        return np.asarray(self.quantile(uniform))

    def __repr__(self) -> str:
        values = (f"{field.name}={shown(getattr(self, field.name))}" for field in fields(self))
        return f"{type(self).__name__}({', '.join(values)})"

    def _repr_html_(self) -> str:
        from credo.present.models import in_notebook

        return in_notebook(self)


def checked_mass(mass: float) -> float:
    if not 0 < mass < 1:
        raise DataError(f"an interval's mass must lie between 0 and 1, but is {mass!r}")
    return mass


def shown(value: object) -> str:
    """A parameter as printed: one number, a few, or the shape of many."""
    if isinstance(value, tuple) and len(value) > 20:
        return f"({', '.join(map(repr, value[:3]))}, ... {len(value):,} in all)"
    if isinstance(value, str | tuple):
        return repr(value)
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array.item():.6g}"
    few = array.ndim == 1 and array.size <= 6
    return f"[{', '.join(f'{x:.6g}' for x in array)}]" if few else f"<{' x '.join(map(str, array.shape))} array>"


@dataclass(frozen=True, repr=False)
class Beta(Distribution):
    """p(θ) ∝ θᵃ⁻¹ (1 - θ)ᵇ⁻¹ on [0, 1]; b = 0 is certainty of θ = 1.

    >>> Beta(3, 1).mean()
    0.75
    """

    a: Real
    b: Real

    def log_prob(self, x: ArrayLike) -> Real:
        from scipy.special import betaln, xlog1py, xlogy

        a, b, x = floats(self.a, self.b, x)
        inside = (x >= 0) & (x <= 1)
        safe = np.where(inside, x, 0.5)
        with np.errstate(divide="ignore"):
            log_density = xlogy(a - 1, safe) + xlog1py(b - 1, -safe) - betaln(a, b)
        return plain(np.where(inside, log_density, -np.inf))

    def mean(self) -> Real:
        return plain(np.asarray(self.a) / (np.asarray(self.a) + self.b))

    def variance(self) -> Real:
        a, b = floats(self.a, self.b)
        return plain(a * b / ((a + b) ** 2 * (a + b + 1)))

    def cdf(self, x: ArrayLike) -> Real:
        from scipy.special import betainc

        x, certain = np.asarray(x, dtype=np.float64), np.asarray(self.b) == 0
        smooth = betainc(self.a, np.where(certain, 1.0, self.b), np.clip(x, 0, 1))
        return plain(np.where(certain, (x >= 1).astype(float), smooth))

    def quantile(self, p: ArrayLike) -> Real:
        certain = np.asarray(self.b) == 0
        if not certain.any():
            return plain(beta_quantile(p, self.a, self.b))
        return plain(np.where(certain, 1.0, beta_quantile(p, self.a, np.where(certain, 1.0, self.b))))

    def interval(self, mass: float = 0.95) -> tuple[Real, Real]:
        """The equal-tailed interval; both ends share most of the work."""
        if (np.asarray(self.b) == 0).any():
            return super().interval(mass)
        low, high = beta_interval(checked_mass(mass), self.a, self.b)
        return plain(low), plain(high)

    def sample(self, size: int, seed: Seed = None) -> Array:
        shape = np.broadcast_shapes(np.shape(self.a), np.shape(self.b))
        return np.random.default_rng(seed).beta(self.a, self.b, (size, *shape))


@dataclass(frozen=True, repr=False)
class Gamma(Distribution):
    """p(λ) = rateˢ λˢ⁻¹ exp(-rate λ) / Γ(s) on λ ≥ 0, with the shape s."""

    shape: Real
    rate: Real

    def log_prob(self, x: ArrayLike) -> Real:
        from scipy.special import gammaln, xlogy

        s, rate, x = floats(self.shape, self.rate, x)
        inside = x >= 0
        safe = np.where(inside, x, 1.0)
        with np.errstate(divide="ignore"):
            log_density = s * np.log(rate) + xlogy(s - 1, safe) - rate * safe - gammaln(s)
        return plain(np.where(inside, log_density, -np.inf))

    def mean(self) -> Real:
        return plain(np.asarray(self.shape) / self.rate)

    def variance(self) -> Real:
        return plain(np.asarray(self.shape) / np.asarray(self.rate) ** 2)

    def cdf(self, x: ArrayLike) -> Real:
        from scipy.special import gammainc

        return plain(gammainc(self.shape, np.maximum(np.asarray(x) * self.rate, 0)))

    def quantile(self, p: ArrayLike) -> Real:
        return plain(gamma_quantile(p, self.shape) / self.rate)


@dataclass(frozen=True, repr=False)
class InverseGamma(Distribution):
    """1/x is Gamma(shape, rate=scale): the belief about a variance."""

    shape: Real
    scale: Real

    def log_prob(self, x: ArrayLike) -> Real:
        x = np.asarray(x, dtype=np.float64)
        inside = x > 0
        safe = np.where(inside, x, 1.0)
        log_density = np.asarray(Gamma(self.shape, self.scale).log_prob(1 / safe)) - 2 * np.log(safe)
        return plain(np.where(inside, log_density, -np.inf))

    def mean(self) -> Real:
        """scale / (shape - 1); infinite for a shape of at most 1."""
        spread = np.asarray(self.shape, dtype=np.float64) - 1
        return plain(np.where(spread > 0, np.asarray(self.scale) / np.where(spread > 0, spread, 1), np.inf))

    def variance(self) -> Real:
        excess = np.asarray(self.shape, dtype=np.float64) - 2
        finite = np.where(excess > 0, excess, 1)
        return plain(np.where(excess > 0, np.asarray(self.scale) ** 2 / ((finite + 1) ** 2 * finite), np.inf))

    def cdf(self, x: ArrayLike) -> Real:
        from scipy.special import gammaincc

        x = np.asarray(x, dtype=np.float64)
        return plain(np.where(x > 0, gammaincc(self.shape, self.scale / np.where(x > 0, x, 1)), 0.0))

    def quantile(self, p: ArrayLike) -> Real:
        from scipy.special import gammainccinv

        with np.errstate(divide="ignore"):
            return plain(np.asarray(self.scale) / gammainccinv(self.shape, np.asarray(p, dtype=np.float64)))


@dataclass(frozen=True, repr=False)
class Normal(Distribution):
    """p(x) = exp(-(x - location)²/(2 sd²)) / √(2π sd²); sd 0 is certainty."""

    location: Real
    sd: Real

    def log_prob(self, x: ArrayLike) -> Real:
        distance, sd = np.subtract(x, self.location), np.asarray(self.sd, dtype=np.float64)
        safe = np.where(sd > 0, sd, 1.0)
        log_density = -0.5 * (distance / safe) ** 2 - np.log(safe) - LOG_2PI / 2
        return plain(np.where(sd > 0, log_density, np.where(distance == 0, np.inf, -np.inf)))

    def mean(self) -> Real:
        return plain(np.broadcast_arrays(self.location, self.sd)[0])

    def variance(self) -> Real:
        return plain(np.broadcast_arrays(self.location, np.asarray(self.sd) ** 2)[1])

    def cdf(self, x: ArrayLike) -> Real:
        from scipy.special import ndtr

        distance, sd = np.subtract(x, self.location), np.asarray(self.sd, dtype=np.float64)
        smooth = ndtr(distance / np.where(sd > 0, sd, 1.0))
        return plain(np.where(sd > 0, smooth, (distance >= 0).astype(float)))

    def quantile(self, p: ArrayLike) -> Real:
        from scipy.special import ndtri

        certain = np.asarray(self.sd) == 0
        spread = np.where(certain, 1.0, self.sd) * ndtri(np.asarray(p, dtype=np.float64))
        return plain(self.location + np.where(certain, 0.0, spread))


@dataclass(frozen=True, repr=False)
class StudentT(Distribution):
    """(x - location)/scale has Student's t distribution: a Gaussian with an uncertain variance."""

    degrees: Real
    location: Real
    scale: Real

    def log_prob(self, x: ArrayLike) -> Real:
        from scipy.special import gammaln

        nu, scale = floats(self.degrees, self.scale)
        z = np.subtract(x, self.location) / scale
        peak = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(np.pi * nu) - np.log(scale)
        return plain(peak - (nu + 1) / 2 * np.log1p(z * z / nu))

    def mean(self) -> Real:
        nu, location, _ = np.broadcast_arrays(np.asarray(self.degrees, dtype=np.float64), self.location, self.scale)
        return plain(np.where(nu > 1, location, np.nan))

    def variance(self) -> Real:
        nu = np.asarray(self.degrees, dtype=np.float64)
        excess = np.where(nu > 2, nu - 2, 1)
        wide = np.where(nu > 2, np.asarray(self.scale) ** 2 * nu / excess, np.inf)
        return plain(np.where(nu > 1, wide + 0.0 * np.asarray(self.location), np.nan))

    def cdf(self, x: ArrayLike) -> Real:
        from scipy.special import stdtr

        return plain(stdtr(self.degrees, np.subtract(x, self.location) / self.scale))

    def quantile(self, p: ArrayLike) -> Real:
        from scipy.special import stdtrit

        p = np.asarray(p, dtype=np.float64)
        inside = (p > 0) & (p < 1)  # at 0 and 1, SciPy returns the wrong infinity
        standard = stdtrit(np.asarray(self.degrees), np.where(inside, p, 0.5))
        return plain(self.location + self.scale * np.where(inside, standard, np.where(p > 0, np.inf, -np.inf)))


@dataclass(frozen=True, repr=False)
class Pareto(Distribution):
    """p(θ) = shape · scaleˢʰᵃᵖᵉ / θˢʰᵃᵖᵉ⁺¹ for θ ≥ scale: the belief about a uniform's upper end."""

    scale: Real
    shape: Real

    def log_prob(self, x: ArrayLike) -> Real:
        scale, shape, x = floats(self.scale, self.shape, x)
        safe = np.maximum(x, scale)
        return plain(np.where(x >= scale, np.log(shape) + shape * np.log(scale / safe) - np.log(safe), -np.inf))

    def mean(self) -> Real:
        excess = np.asarray(self.shape, dtype=np.float64) - 1
        return plain(np.where(excess > 0, self.shape / np.where(excess > 0, excess, 1) * self.scale, np.inf))

    def variance(self) -> Real:
        shape = np.asarray(self.shape, dtype=np.float64)
        finite = np.where(shape > 2, shape, 3)
        spread = np.asarray(self.scale) ** 2 * finite / ((finite - 1) ** 2 * (finite - 2))
        return plain(np.where(shape > 2, spread, np.inf))

    def cdf(self, x: ArrayLike) -> Real:
        return plain(1 - (self.scale / np.maximum(x, self.scale)) ** self.shape)

    def quantile(self, p: ArrayLike) -> Real:
        with np.errstate(divide="ignore"):
            return plain(self.scale * (1 - np.asarray(p, dtype=np.float64)) ** (-1 / np.asarray(self.shape)))


@dataclass(frozen=True, repr=False)
class ParetoMixedUniform(Distribution):
    """Uniform[0, θ] with θ ~ Pareto(m, s): s/((s+1)m) below m, and (s/(s+1)) mˢ/xˢ⁺¹ above."""

    scale: Real
    shape: Real

    def log_prob(self, x: ArrayLike) -> Real:
        m, s, x = floats(self.scale, self.shape, x)
        above = np.maximum(x, m)
        log_density = np.log(s / (s + 1)) - np.log(m) - (s + 1) * np.log(above / m)
        return plain(np.where(x >= 0, log_density, -np.inf))

    def mean(self) -> Real:
        return plain(np.asarray(Pareto(self.scale, self.shape).mean()) / 2)

    def variance(self) -> Real:
        """E[x²] - E[x]², where E[x²] = E[θ²]/3."""
        theta = Pareto(self.scale, self.shape)
        mean, spread = np.asarray(theta.mean()), np.asarray(theta.variance())
        finite = np.isfinite(spread)
        mean, spread = np.where(finite, mean, 0), np.where(finite, spread, 0)
        return plain(np.where(finite, (spread + mean**2) / 3 - mean**2 / 4, np.inf))

    def cdf(self, x: ArrayLike) -> Real:
        m, s, x = floats(self.scale, self.shape, x)
        below = np.clip(x, 0, m) / m * s / (s + 1)
        return plain(np.where(x <= m, below, 1 - (m / np.maximum(x, m)) ** s / (s + 1)))

    def quantile(self, p: ArrayLike) -> Real:
        m, s, p = floats(self.scale, self.shape, p)
        edge = s / (s + 1)
        with np.errstate(divide="ignore"):
            above = m * ((s + 1) * (1 - np.maximum(p, edge))) ** (-1 / s)
        return plain(np.where(p <= edge, m * p / edge, above))


@dataclass(frozen=True, repr=False)
class Lomax(Distribution):
    """An exponential whose rate is Gamma(shape, rate): p(x) = shape · rateˢʰᵃᵖᵉ / (rate + x)ˢʰᵃᵖᵉ⁺¹ on x ≥ 0."""

    shape: Real
    rate: Real

    def log_prob(self, x: ArrayLike) -> Real:
        s, rate, x = floats(self.shape, self.rate, x)
        log_density = np.log(s / rate) - (s + 1) * np.log1p(np.maximum(x, 0) / rate)
        return plain(np.where(x >= 0, log_density, -np.inf))

    def mean(self) -> Real:
        return InverseGamma(self.shape, self.rate).mean()

    def variance(self) -> Real:
        """E[2/λ²] - E[1/λ]²."""
        inverse = InverseGamma(self.shape, self.rate)
        mean, spread = np.asarray(inverse.mean()), np.asarray(inverse.variance())
        finite = np.isfinite(spread)
        return plain(np.where(finite, 2 * np.where(finite, spread, 0) + np.where(finite, mean, 0) ** 2, np.inf))

    def cdf(self, x: ArrayLike) -> Real:
        return plain(-np.expm1(-np.asarray(self.shape) * np.log1p(np.maximum(x, 0) / np.asarray(self.rate))))

    def quantile(self, p: ArrayLike) -> Real:
        with np.errstate(divide="ignore"):
            survival = np.log1p(-np.asarray(p, dtype=np.float64))
        return plain(np.asarray(self.rate) * np.expm1(-survival / np.asarray(self.shape)))


@dataclass(frozen=True, repr=False)
class NegativeBinomial(Distribution):
    """A Poisson count whose rate is Gamma(shape, rate)."""

    shape: Real
    rate: Real

    def log_prob(self, x: ArrayLike) -> Real:
        from scipy.special import gammaln

        s, rate, x = floats(self.shape, self.rate, x)
        whole = (x >= 0) & (x == np.floor(x))
        k = np.where(whole, x, 0)
        log_mass = gammaln(s + k) - gammaln(s) - gammaln(k + 1) - s * np.log1p(1 / rate) - k * np.log1p(rate)
        return plain(np.where(whole, log_mass, -np.inf))

    def mean(self) -> Real:
        return plain(np.asarray(self.shape) / self.rate)

    def variance(self) -> Real:
        rate = np.asarray(self.rate, dtype=np.float64)
        return plain(self.shape / rate * (1 + 1 / rate))

    def cdf(self, x: ArrayLike) -> Real:
        from scipy.special import betainc

        k, rate = np.floor(np.asarray(x, dtype=np.float64)), np.asarray(self.rate, dtype=np.float64)
        return plain(np.where(k < 0, 0.0, betainc(self.shape, np.maximum(k, 0) + 1, rate / (rate + 1))))

    def quantile(self, p: ArrayLike) -> Real:
        """The smallest count whose distribution function reaches p, by bisection."""
        p, low = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(self.mean()) * 0.0)
        low, high = low - 1.0, np.ceil(np.asarray(self.mean())) + np.zeros(p.shape) + 1
        while (short := np.asarray(self.cdf(high)) < np.minimum(p, 1 - 1e-16)).any():
            high = np.where(short, 2 * high, high)
        while (high - low > 1).any():
            middle = np.floor((low + high) / 2)
            reached = np.asarray(self.cdf(middle)) >= np.minimum(p, 1 - 1e-16)
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return plain(np.where(p >= 1, np.inf, high))
