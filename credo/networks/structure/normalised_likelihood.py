"""The normalised maximum likelihood of a multinomial: its regret."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from credo.numerics.exact import Array

MOST_RECURRENCE_STATES = 2000  # states up to which the recurrence is used
MOST_SUMMED_ROWS = 100_000  # rows up to which C(n, 2) is summed; above, its asymptotic series is exact enough


class Regret:
    """log C(n, k) = log Σ over all counts of n rows in k states, of their maximum likelihood. (Kontkanen and
    Myllymäki 2007: C(n, k + 2) = C(n, k + 1) + n/k · C(n, k); beyond, Szpankowski and Weinberger's approximation)

    >>> round(Regret(2)(2), 6)  # log of 1 + 1 + 2 · 1/2 · 1/2
    0.916291
    """

    def __init__(self, n: float) -> None:
        self.n = n
        self._known = [-np.inf, 0.0, self._of_two_states()]  # for 0, 1 and 2 states

    def __call__(self, states: float) -> float:
        if self.n <= 0:
            return 0.0
        if states > MOST_RECURRENCE_STATES:
            return self._approximate(states)
        known = self._known
        while len(known) <= states:
            k = len(known) - 2
            known.append(float(np.logaddexp(known[-1], np.log(self.n / k) + known[-2])))
        return known[int(states)]

    def of(self, states: Array) -> Array:
        return np.array([self(each) for each in states])

    def _of_two_states(self) -> float:
        n = round(self.n)
        if n > MOST_SUMMED_ROWS:
            return float(np.log(np.sqrt(np.pi * n / 2) + 2 / 3 + np.sqrt(np.pi / (2 * n)) / 12 - 4 / (135 * n)))
        first = np.arange(n + 1.0)
        rest = n - first
        ways = gammaln(n + 1) - gammaln(first + 1) - gammaln(rest + 1)
        return float(logsumexp(ways + xlogy(first, first / max(n, 1)) + xlogy(rest, rest / max(n, 1))))

    def _approximate(self, states: float) -> float:
        share = states / self.n
        c = 0.5 + 0.5 * np.sqrt(1 + 4 / share)
        return float(self.n * (np.log(share) + (share + 2) * np.log(c) - 1 / c) - 0.5 * np.log(c + 2 / share))
