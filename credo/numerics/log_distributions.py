"""Distributions on an unbounded line, in logarithms: neither tail underflows, however small the parameters are.

A Beta(a, b) with b below 0.01 has most of its mass nearer to 1 than floats reach. Its logit t is unbounded, and
P(θ < θ(t)) and P(θ > θ(t)) are kept as logarithms. Rates and upper bounds of uniforms are transformed by their
logarithm, numbers by asinh, whose tails are logarithmic, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.distributions import Beta, Distribution, Gamma, InverseGamma, Normal, Pareto, StudentT
from credo.numerics.exact import Array

LARGEST_EXPONENT = 690.0  # exp(±690) are normal floats
ZERO_EXPONENT = 750.0  # exp(-750) is 0
Feature = tuple[float, float]  # the place and the width of a bend


class Unbounded(ABC):
    """A distribution of t, an increasing function of a number."""

    @abstractmethod
    def log_density(self, t: Array) -> Array:
        """log p(t), up to a constant."""

    @abstractmethod
    def log_tails(self, t: Array) -> tuple[Array, Array]:
        """log P(below t) and log P(above t)."""

    @property
    @abstractmethod
    def features(self) -> tuple[Feature, ...]:
        """Places near which the density or the tails bend."""

    @property
    def reach(self) -> tuple[float, float]:
        """The range outside which the density is negligible."""
        return -np.inf, np.inf

    @abstractmethod
    def x(self, t: Array) -> Array:
        """The number at t, as a float."""


@dataclass(frozen=True)
class Logit(Unbounded):
    """Beta(a, b) by t = log θ/(1 - θ): p(t) ∝ σ(t)ᵃ σ(-t)ᵇ, highest at log a/b."""

    a: float
    b: float

    @property
    def mode(self) -> float:
        return float(np.log(self.a) - np.log(self.b))

    def log_density(self, t: Array) -> Array:
        u, share = t - self.mode, self.a / (self.a + self.b)
        return -self.a * _log_mixed(1 - share, share, -u) - self.b * _log_mixed(share, 1 - share, u)

    def log_tails(self, t: Array) -> tuple[Array, Array]:
        left = _log_beta(self.a, self.b, np.minimum(t, 0.0))
        right = _log_beta(self.b, self.a, np.minimum(-t, 0.0))
        return np.where(t <= 0, left[0], right[1]), np.where(t <= 0, left[1], right[0])

    @property
    def _sd(self) -> float:
        return float(np.sqrt(1 / self.a + 1 / self.b))

    @property
    def features(self) -> tuple[Feature, ...]:
        return (self.mode, min(self._sd, 1.0)), (0.0, 1.0)

    @property
    def reach(self) -> tuple[float, float]:
        wide = 40 * self._sd
        return self.mode - wide - ZERO_EXPONENT / self.a, self.mode + wide + ZERO_EXPONENT / self.b

    def x(self, t: Array) -> Array:
        from scipy.special import expit

        return np.asarray(expit(t))


@dataclass(frozen=True)
class LogGamma(Unbounded):
    """Gamma(shape, rate) by its logarithm: p(t) ∝ exp(-shape (eᵘ - 1 - u)), u = t - log shape/rate."""

    shape: float
    rate: float

    @property
    def mode(self) -> float:
        return float(np.log(self.shape) - np.log(self.rate))

    def log_density(self, t: Array) -> Array:
        u = t - self.mode
        with np.errstate(over="ignore"):
            return -self.shape * (np.expm1(u) - u)

    def log_tails(self, t: Array) -> tuple[Array, Array]:
        from scipy.special import gammainc, gammaincc, gammaln

        z = t + np.log(self.rate)
        inside = np.exp(np.clip(z, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        tail = self.shape * z - gammaln(self.shape + 1)  # where exp(-eᶻ) is 1
        with np.errstate(divide="ignore"):
            below = np.where(z < -LARGEST_EXPONENT, tail, np.log(gammainc(self.shape, inside)))
            above = np.where(z < -LARGEST_EXPONENT, _log_rest(below), np.log(gammaincc(self.shape, inside)))
        return below, above

    @property
    def features(self) -> tuple[Feature, ...]:
        return (self.mode, min(1 / np.sqrt(self.shape), 1.0)), (-float(np.log(self.rate)), 1.0)

    @property
    def reach(self) -> tuple[float, float]:
        wide = 40 / np.sqrt(self.shape)
        end = np.log1p(ZERO_EXPONENT / self.shape) + min(wide, 10.0)
        return self.mode - min(wide, 40.0) - ZERO_EXPONENT / self.shape, self.mode + float(end)

    def x(self, t: Array) -> Array:
        return _exp(t)


@dataclass(frozen=True)
class LogInverseGamma(Unbounded):
    """InverseGamma(shape, scale) by its logarithm: minus that of a Gamma(shape, rate=scale)."""

    inverse: LogGamma

    def log_density(self, t: Array) -> Array:
        return self.inverse.log_density(-t)

    def log_tails(self, t: Array) -> tuple[Array, Array]:
        below, above = self.inverse.log_tails(-t)
        return above, below

    @property
    def features(self) -> tuple[Feature, ...]:
        return tuple((-place, width) for place, width in self.inverse.features)

    @property
    def reach(self) -> tuple[float, float]:
        low, high = self.inverse.reach
        return -high, -low

    def x(self, t: Array) -> Array:
        return _exp(t)


@dataclass(frozen=True)
class LogPareto(Unbounded):
    """Pareto(scale, shape) by its logarithm: an exponential that starts at log scale."""

    scale: float
    shape: float

    @property
    def edge(self) -> float:
        return float(np.log(self.scale))

    def log_density(self, t: Array) -> Array:
        return np.where(t >= self.edge, -self.shape * (t - self.edge), -np.inf)

    def log_tails(self, t: Array) -> tuple[Array, Array]:
        above = -self.shape * np.maximum(t - self.edge, 0.0)
        return _log_rest(above), above

    @property
    def features(self) -> tuple[Feature, ...]:
        return ((self.edge, min(1 / self.shape, 1.0)),)

    @property
    def reach(self) -> tuple[float, float]:
        return self.edge, self.edge + ZERO_EXPONENT / self.shape

    def x(self, t: Array) -> Array:
        return _exp(t)


@dataclass(frozen=True)
class LogBeta(Unbounded):
    """Beta(a, b) by its logarithm t < 0, to compare with numbers above 1: only its tails are defined."""

    logit: Logit

    def log_density(self, t: Array) -> Array:
        raise NotImplementedError

    def log_tails(self, t: Array) -> tuple[Array, Array]:
        inside = np.minimum(t, -1e-300)
        below, above = self.logit.log_tails(inside - np.log(-np.expm1(inside)))
        return np.where(t < 0, below, 0.0), np.where(t < 0, above, -np.inf)

    @property
    def features(self) -> tuple[Feature, ...]:
        (mode, width), _ = self.logit.features
        at = -float(np.logaddexp(0.0, -mode))
        return (at, width * float(-np.expm1(at))), (0.0, 1e-17)

    def x(self, t: Array) -> Array:
        return _exp(t)


@dataclass(frozen=True)
class AsinhStudent(Unbounded):
    """Student's t, or a normal without degrees of freedom, by t = asinh((x - centre)/unit)."""

    degrees: float | None
    location: float
    scale: float
    centre: float
    unit: float

    def _log_size(self, t: Array) -> tuple[Array, Array]:
        """z = (x - location)/scale, and log |z|, which is finite even where z overflows."""
        inside = np.clip(t, -LARGEST_EXPONENT, LARGEST_EXPONENT)
        with np.errstate(over="ignore", divide="ignore"):
            z = (self.centre - self.location) / self.scale + np.sinh(inside) * (self.unit / self.scale)
            far = np.abs(t) + np.log(self.unit / self.scale) - np.log(2)
            return z, np.where(np.abs(t) < LARGEST_EXPONENT, np.log(np.abs(z)), far)

    def log_density(self, t: Array) -> Array:
        z, size = self._log_size(t)
        stretch = np.abs(t) + np.log1p(np.exp(-2 * np.abs(t)))  # log cosh t
        with np.errstate(over="ignore"):
            if self.degrees is None:
                return np.asarray(stretch - z**2 / 2)
            fall = np.logaddexp(0.0, 2 * size - np.log(self.degrees))
            return np.asarray(stretch - (self.degrees + 1) / 2 * fall)

    def log_tails(self, t: Array) -> tuple[Array, Array]:
        from scipy.special import log_ndtr

        z, size = self._log_size(t)
        if self.degrees is None:
            return np.asarray(log_ndtr(z)), np.asarray(log_ndtr(-z))
        outer = Logit(self.degrees / 2, 0.5).log_tails(np.log(self.degrees) - 2 * size)[0] - np.log(2)
        inner = _log_rest(outer)
        return np.where(z < 0, outer, inner), np.where(z < 0, inner, outer)

    @property
    def features(self) -> tuple[Feature, ...]:
        at = float(np.arcsinh((self.location - self.centre) / self.unit))
        return (
            (at, min(self.scale / (self.unit * float(np.cosh(np.clip(at, -LARGEST_EXPONENT, LARGEST_EXPONENT)))), 1.0)),
        )

    @property
    def reach(self) -> tuple[float, float]:
        """The range of the distribution that defines centre and unit."""
        if self.degrees is None:
            return -float(np.arcsinh(40.0)), float(np.arcsinh(40.0))
        end = 5 + ZERO_EXPONENT / self.degrees + max(np.log(self.degrees) / 2, 0.0)
        end = float(np.arcsinh(100.0)) if self.degrees > 1e6 else end
        return -end, end

    def x(self, t: Array) -> Array:
        return self.centre + self.unit * np.sinh(np.clip(t, -LARGEST_EXPONENT, LARGEST_EXPONENT))


@dataclass(frozen=True)
class ByDistributionFunction(Unbounded):
    """Any distribution on another's line: by its distribution function at the numbers of that line."""

    law: Distribution
    by: Unbounded

    def log_density(self, t: Array) -> Array:
        raise NotImplementedError

    def log_tails(self, t: Array) -> tuple[Array, Array]:
        reached = np.clip(np.asarray(self.law.cdf(self.by.x(t))), 0.0, 1.0)
        with np.errstate(divide="ignore"):
            return np.log(reached), np.log1p(-reached)

    @property
    def features(self) -> tuple[Feature, ...]:
        return ()

    def x(self, t: Array) -> Array:
        return self.by.x(t)


def unbounded(a: Distribution, b: Distribution) -> tuple[Unbounded, Unbounded] | None:
    """Both distributions on a line that suits the first; None if it suits the second better, or none is known."""
    if isinstance(a, Beta) and isinstance(b, Beta):
        return Logit(float(a.a), float(a.b)), Logit(float(b.a), float(b.b))
    if isinstance(a, Normal | StudentT) and isinstance(b, Normal | StudentT):
        centre, unit = float(a.location), _scale(a)
        return _number(a, centre, unit), _number(b, centre, unit)
    own, other = _logarithm(a), _logarithm(b)
    if own is not None and isinstance(b, Beta):
        return own, LogBeta(Logit(float(b.a), float(b.b)))
    if own is None and other is None and isinstance(a, Beta):
        own = Logit(float(a.a), float(a.b))
    if own is None and isinstance(a, Normal | StudentT) and not isinstance(b, Beta | Gamma | InverseGamma | Pareto):
        own = _number(a, float(a.location), _scale(a))
    return None if own is None else (own, other or ByDistributionFunction(b, own))


def _logarithm(law: Distribution) -> Unbounded | None:
    if isinstance(law, Gamma):
        return LogGamma(float(law.shape), float(law.rate))
    if isinstance(law, InverseGamma):
        return LogInverseGamma(LogGamma(float(law.shape), float(law.scale)))
    return LogPareto(float(law.scale), float(law.shape)) if isinstance(law, Pareto) else None


def _number(law: Normal | StudentT, centre: float, unit: float) -> AsinhStudent:
    degrees = float(law.degrees) if isinstance(law, StudentT) else None
    return AsinhStudent(degrees, float(law.location), _scale(law), centre, unit)


def _scale(law: Normal | StudentT) -> float:
    return float(law.scale if isinstance(law, StudentT) else law.sd)


def _log_mixed(share: float, rest: float, u: Array) -> Array:
    """log(rest + share eᵘ), where share + rest = 1."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        near = np.log1p(share * np.expm1(u))
        far = np.logaddexp(np.log(rest), np.log(share) + u)
    return np.where(np.abs(u) < 1, near, far)


def _log_beta(a: float, b: float, t: Array) -> tuple[Array, Array]:
    """log I_x(a, b) and log 1 - I_x(a, b) at logit x = t ≤ 0."""
    from scipy.special import betainc, betaincc, betaln, expit

    x = expit(np.maximum(t, -LARGEST_EXPONENT))
    tail = a * t - np.log(a) - betaln(a, b)  # where (1 - x)ᵇ is 1
    with np.errstate(divide="ignore"):
        below = np.where(t < -LARGEST_EXPONENT, tail, np.log(betainc(a, b, x)))
        return below, np.where(t < -LARGEST_EXPONENT, _log_rest(below), np.log(betaincc(a, b, x)))


def _log_rest(log_p: ArrayLike) -> Array:
    """log(1 - p), given log p."""
    log_p = np.minimum(log_p, 0.0)
    with np.errstate(divide="ignore"):
        near = np.log(-np.expm1(log_p))
        return np.where(log_p > -1, near, np.log1p(-np.exp(log_p)))


def _exp(t: Array) -> Array:
    return np.exp(np.clip(t, -LARGEST_EXPONENT, LARGEST_EXPONENT))
