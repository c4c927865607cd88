"""The candidates of a search, and their posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credo.families.normal_inverse_wishart import Covariance


@dataclass(frozen=True)
class Choice:
    """A number of components and a covariance, and the approximate evidence of all rows (or of a sample)."""

    components: int
    covariance: Covariance
    log_evidence: float
    log_likelihood: float
    whole: bool = True  # of all rows


def posterior_of_components(choices: Sequence[Choice]) -> dict[int, float]:
    """P(components | rows) over the numbers that all rows were tried with, each with its best covariance, under a
    uniform prior.

    >>> tried = [Choice(2, "full", -10.0, -8.0), Choice(2, "tied", -11.0, -9.0), Choice(1, "full", -12.0, -11.0)]
    >>> {k: round(p, 3) for k, p in posterior_of_components(tried).items()}
    {1: 0.119, 2: 0.881}
    """
    best: dict[int, float] = {}
    for choice in choices:
        if choice.whole:
            best[choice.components] = max(best.get(choice.components, -np.inf), choice.log_evidence)
    numbers = sorted(best)
    logs = np.array([best[k] for k in numbers])
    shares = np.exp(logs - np.logaddexp.reduce(logs))
    return dict(zip(numbers, shares.tolist(), strict=True))
