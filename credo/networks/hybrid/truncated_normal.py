"""Gaussians with interval evidence: truncated moments, masses, and the distribution of numbers that depend on them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.distributions import LOG_2PI, Distribution, Real, Seed, plain
from credo.numerics.exact import Array

BISECTIONS = 200  # more than the bits of a float
NO_MASS_BEYOND = 40.0  # standard deviations (or e-folds of the tail): beyond, the mass is 0 in floats
NARROW_INTERVAL = 3.0  # e-folds of the density across an interval: below, the moments' closed forms lose digits
TINY_MASS = 1e-6  # of an interval: below, differences of probabilities lose digits
QUADRATURE_NODES = 32  # of the Gauss-Legendre rule
STEP_WIDTH = 8.0  # standard deviations around a step that are integrated separately


def log_mass(low: Array, high: Array) -> Array:
    """log P(low < z < high) of a standard normal z, also far in its tails.

    >>> float(np.exp(log_mass(np.array(-1.0), np.array(1.0))).round(6))
    0.682689
    """
    from scipy.special import log_ndtr

    flip = low > 0  # by symmetry, both ends are then in the left tail, which keeps its precision
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    upper, lower = log_ndtr(b), log_ndtr(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = upper + np.log1p(-np.exp(np.minimum(lower - upper, 0.0)))
    return np.asarray(np.where(lower >= upper, -np.inf, found))


def truncated_moments(mean: Array, variance: Array, low: float, high: float) -> tuple[Array, Array, Array]:
    """log P(low < x < high), and the mean and variance of x inside, of x ~ N(mean, variance).

    E = μ + σ(φ(α) - φ(β))/Z, V = σ²(1 + (αφ(α) - βφ(β))/Z - ((φ(α) - φ(β))/Z)²)
    """
    sd = np.sqrt(variance)
    a, b = (low - mean) / sd, (high - mean) / sd
    log_z = log_mass(a, b)
    with np.errstate(invalid="ignore"):
        at_a, at_b = (np.where(np.isinf(e), 0.0, np.exp(-0.5 * e**2 - LOG_2PI / 2 - log_z)) for e in (a, b))
        ends = np.where(np.isinf(a), 0.0, a * at_a) - np.where(np.isinf(b), 0.0, b * at_b)
        shift, scaled = _moments_of_narrow(a, b, at_a - at_b, 1.0 + ends - (at_a - at_b) ** 2)
    inside = np.clip(mean + sd * shift, low, high)
    spread = variance * np.clip(scaled, 0.0, None)
    possible = np.isfinite(log_z)
    return log_z, np.where(possible, inside, mean), np.where(possible, spread, variance)


def _moments_of_narrow(a: Array, b: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    """Mean and variance of a standard normal inside (a, b): the given values or, for a narrow interval about m,
    Gauss-Legendre quadrature with φ(m + t) ∝ exp(-mt - t²/2)."""
    middle, width = (a + b) / 2, b - a
    narrow = width * np.maximum(np.abs(middle), 1.0) < NARROW_INTERVAL
    if not narrow.any():
        return mean, variance
    m, half = np.where(narrow, middle, 0.0)[..., None], np.where(narrow, width / 2, 1.0)[..., None]
    nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE_NODES)
    t = half * nodes
    share = weights * np.exp(-m * t - t**2 / 2)
    share /= share.sum(-1, keepdims=True)
    shift = (share * t).sum(-1)
    spread = (share * (t - shift[..., None]) ** 2).sum(-1)
    return np.where(narrow, middle + shift, mean), np.where(narrow, spread, variance)


def truncated_draws(mean: Array, sd: Array, low: float, high: float, random: np.random.Generator) -> Array:
    """Draws from N(mean, sd²) inside an interval, by inversion in the nearer tail."""
    from scipy.special import log_ndtr, ndtri_exp

    a, b = (low - mean) / sd, (high - mean) / sd
    flip = a > 0
    left, right = np.where(flip, -b, a), np.where(flip, -a, b)
    u = random.random(np.shape(mean))
    with np.errstate(divide="ignore"):
        log_p = np.logaddexp(np.log(u) + log_ndtr(right), np.log1p(-u) + log_ndtr(left))
    z = np.clip(ndtri_exp(log_p), left, right)
    return np.asarray(mean + sd * np.where(flip, -z, z))


def both_below(h: Array, k: Array, correlation: Array) -> Array:
    """P(x < h, y < k) of standard normals with that correlation, by Owen's T. (Owen 1956)

    >>> float(both_below(np.array(0.0), np.array(0.0), np.array(0.5)).round(6))  # 1/4 + asin(½)/2π
    0.333333
    """
    from scipy.special import ndtr, owens_t

    h, k, rho = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (h, k, correlation)))
    end_h = np.clip(h, -NO_MASS_BEYOND, NO_MASS_BEYOND) + 0.0  # no -0.0: 1/0 has a sign
    end_k = np.clip(k, -NO_MASS_BEYOND, NO_MASS_BEYOND) + 0.0
    away = np.sqrt(1.0 - rho**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope_h, slope_k = (end_k / end_h - rho) / away, (end_h / end_k - rho) / away
    middle = (end_h == 0) & (end_k == 0)
    slope_h, slope_k = (np.where(middle, (1 - rho) / away, each) for each in (slope_h, slope_k))
    apart = (end_h * end_k < 0) | ((end_h * end_k == 0) & (end_h + end_k < 0))
    found = 0.5 * (ndtr(end_h) + ndtr(end_k)) - owens_t(end_h, slope_h) - owens_t(end_k, slope_k) - 0.5 * apart
    return np.asarray(np.clip(found, 0.0, 1.0))


@dataclass(frozen=True, repr=False)
class NormalGivenInterval(Distribution):
    """y | low < x < high, where x ~ N(centre, spread) and y = location + slope (x - centre) + N(0, residual).

    With slope 1 and residual 0, y is x: a truncated normal.
    """

    location: Array
    residual: Array
    slope: Array
    centre: Array
    spread: Array
    low: float
    high: float

    def _ends(self) -> tuple[Array, Array]:
        sd = np.sqrt(self.spread)
        return np.asarray((self.low - self.centre) / sd), np.asarray((self.high - self.centre) / sd)

    def _total(self) -> Array:
        return np.asarray(self.residual + self.slope**2 * self.spread)

    def log_prob(self, x: ArrayLike) -> Real:
        y, (a, b) = np.asarray(x, dtype=np.float64), self._ends()
        total = self._total()
        own = -0.5 * ((y - self.location) ** 2 / total + np.log(total) + LOG_2PI)
        gain = self.slope * self.spread / total
        centre = self.centre + gain * (y - self.location)
        left = self.spread * self.residual / total
        sd = np.sqrt(np.where(left > 0, left, 1.0))
        inside = np.where((centre > self.low) & (centre < self.high), 0.0, -np.inf)
        with np.errstate(invalid="ignore"):
            chance = np.where(left > 0, log_mass((self.low - centre) / sd, (self.high - centre) / sd), inside)
        return plain(own + chance - log_mass(a, b))

    def _moments(self) -> tuple[Array, Array]:
        _, mean, variance = truncated_moments(np.asarray(self.centre), np.asarray(self.spread), self.low, self.high)
        return mean, variance

    def mean(self) -> Real:
        return plain(self.location + self.slope * (self._moments()[0] - self.centre))

    def variance(self) -> Real:
        return plain(self.residual + self.slope**2 * self._moments()[1])

    def cdf(self, x: ArrayLike) -> Real:
        y, (a, b) = np.asarray(x, dtype=np.float64), self._ends()
        total = self._total()
        z = (y - self.location) / np.sqrt(total)
        rho = np.clip(self.slope * np.sqrt(self.spread / total), -1.0, 1.0)
        both = np.abs(rho) == 1.0
        safe = np.where(both, 0.0, rho)
        log_all = log_mass(a, b)
        tiny = np.exp(log_all) < TINY_MASS
        found = (both_below(z, b, safe) - both_below(z, a, safe)) / np.where(tiny, 1.0, np.exp(log_all))
        if (tiny & ~both).any():
            found = np.where(tiny & ~both, self._integrated_cdf(y), found)
        turned = np.where(rho > 0, z, -z)  # if y is x up to its units
        below = np.exp(log_mass(a, np.clip(turned, a, b)) - log_all)
        return plain(np.clip(np.where(both, np.where(rho > 0, below, 1 - below), found), 0.0, 1.0))

    def _integrated_cdf(self, y: Array) -> Array:
        """∫ p(x | inside) P(y' < y | x) dx by Gauss-Legendre quadrature, split around the x at which E[y' | x] = y: a
        step if there is little noise."""
        from scipy.special import ndtr

        (a, b), scale = self._ends(), self.slope * np.sqrt(self.spread)
        log_all, turned = log_mass(a, b), a + b < 0  # by symmetry, the near end of a tail is the lower one
        start, end = np.where(turned, -b, a), np.where(turned, -a, b)
        end, scale = np.minimum(end, start + NO_MASS_BEYOND / np.maximum(start, 1.0)), np.where(turned, -scale, scale)
        noise = np.sqrt(np.where(self.residual > 0, self.residual, 1.0))
        nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE_NODES)
        slope = np.where(scale == 0, 1.0, scale)  # with slope 0, y doesn't depend on x: any cuts will do
        cuts = [np.clip((y - self.location + k * noise) / slope, start, end) for k in (-STEP_WIDTH, 0.0, STEP_WIDTH)]
        found = np.zeros(cuts[0].shape)
        ends = (np.broadcast_to(each, found.shape) for each in (start, end))
        for low, high in pairwise(np.sort([*ends, *cuts], axis=0)):
            half = np.asarray((high - low) / 2)
            x = low[..., None] + half[..., None] * (1 + nodes)
            density = np.exp(-0.5 * x**2 - LOG_2PI / 2 - log_all[..., None])
            away = (y - self.location)[..., None] - scale[..., None] * x
            found = found + half * ((density * ndtr(away / noise[..., None])) @ weights)
        return found

    def quantile(self, p: ArrayLike) -> Real:
        """The quantile, by bisection."""
        p = np.asarray(p, dtype=np.float64)
        centre, reach = np.asarray(self.mean()), NO_MASS_BEYOND * np.sqrt(self._total())
        low, high = (np.broadcast_to(centre + s * reach, np.broadcast_shapes(p.shape, reach.shape)) for s in (-1, 1))
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            if not ((middle > low) & (middle < high)).any():
                break
            reached = np.asarray(self.cdf(middle)) >= p
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return plain(high)

    def sample(self, size: int, seed: Seed = None) -> Array:
        random = np.random.default_rng(seed)
        shape = (size, *np.shape(self.location))
        centre, sd = (np.broadcast_to(each, shape) for each in (self.centre, np.sqrt(self.spread)))
        x = truncated_draws(centre, sd, self.low, self.high, random)
        noise = np.sqrt(self.residual) * random.standard_normal(shape)
        return np.asarray(self.location + self.slope * (x - centre) + noise)
