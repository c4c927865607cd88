"""Mixtures of distributions of a number; and Poisson counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.distributions import Distribution, Real, Seed, plain
from credo.numerics.exact import Array


@dataclass(frozen=True, repr=False)
class Poisson(Distribution):
    """P(x) = exp(-rate) rateˣ/x!"""

    rate: Real

    def log_prob(self, x: ArrayLike) -> Real:
        from scipy.special import gammaln, xlogy

        x = np.asarray(x, dtype=np.float64)
        whole = (x >= 0) & (x == np.floor(x))
        k = np.where(whole, x, 0.0)
        return plain(np.where(whole, xlogy(k, self.rate) - self.rate - gammaln(k + 1), -np.inf))

    def mean(self) -> Real:
        return plain(self.rate)

    def variance(self) -> Real:
        return plain(self.rate)

    def cdf(self, x: ArrayLike) -> Real:
        from scipy.special import pdtr

        k = np.floor(np.asarray(x, dtype=np.float64))
        return plain(np.where(k < 0, 0.0, pdtr(np.maximum(k, 0.0), self.rate)))

    def quantile(self, p: ArrayLike) -> Real:
        """The smallest count whose distribution function reaches p."""
        from scipy.stats import poisson

        return plain(poisson.ppf(p, self.rate))


@dataclass(frozen=True, repr=False)
class MixtureDistribution(Distribution):
    """p(x) = Σ shareₖ pₖ(x); `each` has parameters over k. `whole`: x is a count.

    >>> from credo.numerics.distributions import Normal
    >>> two = MixtureDistribution(np.array([0.5, 0.5]), Normal(np.array([-1.0, 1.0]), np.array([0.1, 0.1])))
    >>> two.mean(), round(two.variance(), 4), round(two.quantile(0.25), 4)
    (0.0, 1.01, -1.0)
    """

    shares: Array  # (k,)
    each: Distribution
    whole: bool = False

    def log_prob(self, x: ArrayLike) -> Real:
        with np.errstate(divide="ignore"):
            joint = np.log(self.shares) + self.each.log_prob(np.asarray(x, dtype=np.float64)[..., None])
        return plain(np.logaddexp.reduce(joint, axis=-1))

    def mean(self) -> Real:
        return plain(self._averaged(self.each.mean()))

    def variance(self) -> Real:
        """E[variance] + Var[mean] over the components."""
        means = np.asarray(self.each.mean())
        return plain(self._averaged(self.each.variance()) + self._averaged((means - self.mean()) ** 2))

    def cdf(self, x: ArrayLike) -> Real:
        return plain(self._averaged(self.each.cdf(np.asarray(x, dtype=np.float64)[..., None])))

    def quantile(self, p: ArrayLike) -> Real:
        """The quantile, by bisection between the smallest and the largest quantile of the components."""
        p = np.asarray(p, dtype=np.float64)
        ends = np.asarray(self.each.quantile(p[..., None]))[..., self.shares > 0]
        low, high = ends.min(-1), ends.max(-1)
        if self.whole:
            low = low - 1.0
        for _ in range(200):
            middle = np.floor((low + high) / 2) if self.whole else (low + high) / 2
            if not ((middle > low) & (middle < high)).any():
                break
            reached = np.asarray(self.cdf(middle)) >= p
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return plain(np.maximum(high, 0.0) if self.whole else high)

    def __repr__(self) -> str:
        kind = type(self.each).__name__
        return f"MixtureDistribution({len(self.shares)} components, mean {float(self.mean()):.6g}, {kind})"

    def sample(self, size: int, seed: Seed = None) -> Array:
        rng = np.random.default_rng(seed)
        drawn = self.each.sample(size, rng)
        return np.asarray(drawn[np.arange(size), rng.choice(len(self.shares), size, p=self.shares)])

    def _averaged(self, values: Real) -> Array:
        used = self.shares > 0
        return np.asarray(np.asarray(values)[..., used] @ self.shares[used])
