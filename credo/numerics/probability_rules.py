"""The rules of probability, with checks: inconsistent probabilities are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import DataError

SUM_ROUNDING = 1e-9  # by which sums of probabilities may be off

Cases = Sequence[float] | Mapping[Any, float]


def product_rule(a: float, b_given_a: float) -> float:
    """P(A and B) = P(A) P(B | A).

    >>> product_rule(0.5, 0.25)
    0.125
    """
    return _probability(a, "P(A)") * _probability(b_given_a, "P(B | A)")


def sum_rule(a: float, b: float, both: float) -> float:
    """P(A or B) = P(A) + P(B) - P(A and B).

    >>> sum_rule(0.5, 0.5, 0.25)
    0.75
    """
    _probability(a, "P(A)"), _probability(b, "P(B)"), _probability(both, "P(A and B)")
    if both > min(a, b) + SUM_ROUNDING:
        raise DataError(f"P(A and B) = {both:g} is above P(A) = {a:g} or P(B) = {b:g}: that can't be")
    if a + b - both > 1 + SUM_ROUNDING:
        raise DataError(f"P(A) + P(B) - P(A and B) = {a + b - both:g} is above 1, which is impossible")
    return a + b - both


def total_probability(given: Cases, cases: Cases) -> float:
    """P(B) = Σ P(B | Aᵢ) P(Aᵢ) over exclusive and exhaustive cases Aᵢ, given in the same order or by name.

    >>> round(total_probability([0.98, 0.03], [0.008, 0.992]), 4)
    0.0376
    """
    if isinstance(given, Mapping) and isinstance(cases, Mapping) and given.keys() == cases.keys():
        given, cases = [given[name] for name in cases], [*cases.values()]
    if isinstance(given, Mapping) or isinstance(cases, Mapping):
        raise DataError("P(B | A) and P(A) must have the same names, or both be numbers in one order")
    if len(given) != len(cases):
        raise DataError(f"there must be a P(B | A) for each case: {len(given)} are given, for {len(cases)} cases")
    if abs(sum(_probability(each, "P(A)") for each in cases) - 1) > 1e-6:
        raise DataError(f"the probabilities of the cases must sum to 1, but sum to {sum(cases):.6g}")
    return sum(_probability(b, "P(B | A)") * a for b, a in zip(given, cases, strict=True))


def bayes_rule(prior: float, likelihood: float, otherwise: float) -> float:
    """P(A | B) = P(B | A) P(A) / (P(B | A) P(A) + P(B | not A) P(not A)).

    >>> round(bayes_rule(0.008, likelihood=0.98, otherwise=0.03), 4)
    0.2085
    """
    total = total_probability([likelihood, otherwise], [prior, 1 - _probability(prior, "P(A)")])
    if total == 0:
        raise DataError("P(B) = 0: what is impossible can't be observed")
    return likelihood * prior / total


def _probability(p: object, what: str) -> float:
    if not isinstance(p, (float, int, np.number)) or not 0 <= p <= 1:
        raise DataError(f"{what} must be a number between 0 and 1, but is {p!r:.60}")
    return float(p)
