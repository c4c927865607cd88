"""BetaBernoulli: the probability of an event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.core.membership import Codes, Membership
from credo.core.statistics import Counts
from credo.families.family import Family
from credo.numerics.categorical import Categorical
from credo.numerics.distributions import Beta, Distribution, Real
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False, repr=False)
class BetaBernoulli(Family):
    """p(x = 1 | θ) = θ, θ ~ Beta(a, b); after n₁ ones and n₀ zeros θ ~ Beta(a + n₁, b + n₀).

    >>> coin = BetaBernoulli(2, 2).update({1: 75, 0: 60})
    >>> coin.posterior
    BetaBernoulli(a=77, b=62)
    >>> coin.maximum_likelihood() == 75 / 135
    True
    """

    a: Real = 1.0
    b: Real = 1.0

    reads = "truth"

    def __post_init__(self) -> None:
        self._require_positive("a", "b")

    def statistics(self, x: Codes, member: Membership) -> Counts:
        """The counts of zeros and ones. x: 0, 1, or -1 for a missing cell"""
        return Counts.of(x, 2, member)

    def posterior(self, statistics: Counts) -> BetaBernoulli:
        n = statistics.n.value
        return BetaBernoulli(self.a + n[..., 1], self.b + n[..., 0])

    def log_evidence(self, statistics: Counts) -> Array:
        """log B(a + n₁, b + n₀) - log B(a, b)."""
        n = statistics.n.value
        return log_evidence(n[..., 1], n[..., 0], self.a, self.b)

    def marginals(self) -> tuple[Distribution, ...]:
        return (Beta(self.a, self.b),)

    def mode(self) -> Array:
        """(a - 1)/(a + b - 2) for a, b > 1; otherwise an end of [0, 1]; NaN if both ends are modes."""
        a, b = np.broadcast_arrays(self.a, self.b)
        inside = (a - 1) / np.where(a + b == 2, 1, a + b - 2)
        at_end = np.where((a <= 1) & (b >= 1), 0.0, np.where((a >= 1) & (b <= 1), 1.0, np.nan))
        flat = (a == 1) & (b == 1)  # every value is a mode: the middle is returned
        return np.where((a > 1) & (b > 1), inside, np.where(flat, 0.5, at_end))

    def maximum_likelihood(self, statistics: Counts) -> Array:
        n = statistics.n.value
        total = n.sum(-1)
        return np.where(total > 0, n[..., 1] / np.where(total > 0, total, 1), np.nan)

    def log_density(self, x: Codes, parameters: Array) -> Array:
        with np.errstate(divide="ignore"):
            table = np.stack([np.log1p(-parameters), np.log(parameters), np.zeros_like(parameters)])
        return table[x]  # code -1, a missing cell, gets the row of zeros

    def log_prior(self, parameters: Array) -> Array:
        return np.asarray(Beta(self.a, self.b).log_prob(parameters))

    def log_predictive(self, x: Codes) -> Array:
        return self.log_density(x, np.atleast_1d(Beta(self.a, self.b).mean()))

    def predictive(self) -> Categorical:
        """P(x = 1) = a/(a + b)."""
        one = np.asarray(Beta(self.a, self.b).mean())
        return Categorical((0, 1), np.stack([1 - one, one], axis=-1))


def log_evidence(ones: Array, zeros: Array, a: Real, b: Real) -> Array:
    """log B(a + n₁, b + n₀)/B(a, b), the log evidence of n₁ ones and n₀ zeros.

    >>> log_evidence(np.array([1.0]), np.array([1.0]), 1, 1).round(4)  # 1/2 · 1/3
    array([-1.7918])
    """
    from scipy.special import betaln

    return np.asarray(betaln(a + ones, b + zeros) - betaln(a, b))
