"""Comparing beliefs: which parameter is greater, and which prior foresaw the data better."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions import Distribution
from credo.errors import EvidenceError

NODES = 1500  # of the trapezoid rule, which is at its best on smooth integrands that fade at both ends


def probability_greater(a: Distribution, b: Distribution) -> float:
    """P(A > B) = E[F_B(A)] = ∫ F_B(Q_A(Φ(z))) φ(z) dz, A being the narrower of the two.

    >>> from credo.distributions import Normal
    >>> round(probability_greater(Normal(1.0, 3.0), Normal(0.0, 4.0)), 6)  # Φ(1/5)
    0.57926
    """
    from scipy.special import ndtr

    if _spread(a) == _spread(b) == 0:
        return float(np.asarray(a.mean()) > np.asarray(b.mean()))
    if _spread(a) > _spread(b):
        return 1 - probability_greater(b, a)
    z = np.linspace(-9, 9, NODES)
    weight = np.exp(-(z**2) / 2)
    below = np.asarray(b.cdf(a.quantile(ndtr(z))))
    return float(below @ weight / weight.sum())


def _spread(distribution: Distribution) -> float:
    low, high = distribution.interval(0.5)
    return float(high) - float(low)


def bayes_factor(a: Any, b: Any) -> float:
    """p(observations | a) / p(observations | b), of two beliefs that have seen the same: above 1 speaks for a.

    >>> from credo import BetaBernoulli
    >>> flips = {1: 2, 0: 0}
    >>> round(bayes_factor(BetaBernoulli(1, 1).update(flips), BetaBernoulli(2, 2).update(flips)), 6)  # (1/3)/(3/10)
    1.111111
    """
    if a.n != b.n:
        raise EvidenceError(
            f"a Bayes factor compares beliefs about the same observations, but {a.n:g} and {b.n:g} were seen"
        )
    with np.errstate(over="ignore"):
        return float(np.exp(a.log_evidence() - b.log_evidence()))
