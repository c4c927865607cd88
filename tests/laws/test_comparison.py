"""P(A > B) of two independent parameters, small and large."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import credo
from credo.estimation.comparison import probability_greater
from credo.numerics.distributions import Beta, Distribution, Gamma, InverseGamma, Normal, Pareto, StudentT

SIZES = (1e-4, 1e-2, 1.0, 7.3, 1e6)
PAIRS = list(product(SIZES, repeat=2))


@pytest.mark.parametrize("kind", [Beta, Gamma, InverseGamma, Pareto, lambda a, b: StudentT(a, 3.0, b), Normal])
def test_the_same_belief_is_as_probably_greater_as_smaller(kind: type[Distribution]) -> None:
    for a, b in PAIRS:
        law = kind(a, b)  # type: ignore[call-arg]
        assert probability_greater(law, law) == pytest.approx(0.5, abs=1e-8), law


def test_one_of_two_is_greater() -> None:
    rng = np.random.default_rng(0)
    for _ in range(6):
        a, b, c, d = 10 ** rng.uniform(-4, 6, 4)
        laws = [Beta(a, b), Beta(c, d), Gamma(b, c), Pareto(a, d), StudentT(a, 1.0, b), Normal(0.5, c)]
        for one, other in zip(laws, [*laws[1:], laws[0]], strict=True):
            both = probability_greater(one, other) + probability_greater(other, one)
            assert both == pytest.approx(1, abs=1e-8), (one, other)


def test_closed_forms() -> None:
    from scipy.special import betainc, ndtr

    rng = np.random.default_rng(1)
    for _ in range(20):
        a, b, c, d = 10 ** rng.uniform(-4, 6, 4)
        gammas = probability_greater(Gamma(a, b), Gamma(c, d))
        assert gammas == pytest.approx(betainc(c, a, d / (b + d)), abs=1e-9)
        normals = probability_greater(Normal(1.0, a), Normal(0.0, c))
        assert normals == pytest.approx(ndtr(1 / np.hypot(a, c)), rel=1e-9)
        low, high = min(a, c), max(a, c)
        above = probability_greater(Pareto(low, b), Pareto(high, d))
        assert above == pytest.approx((low / high) ** b * d / (b + d), abs=1e-9)
        # Beta(a, 1) and Beta(c, 1) are powers of uniform numbers.
        assert probability_greater(Beta(a, 1.0), Beta(c, 1.0)) == pytest.approx(a / (a + c), abs=1e-9)


def test_draws_of_small_parameters() -> None:
    """By logits, log G(a) - log G(b): the shares themselves are 0 or 1 in floats."""
    rng, size = np.random.default_rng(2), 100_000

    def log_gamma(shape: float) -> np.ndarray:
        return np.log(rng.gamma(shape + 1, size=size)) + np.log(rng.random(size)) / shape

    for _ in range(6):
        a, b, c, d = 10 ** rng.uniform(-4, 1, 4)
        drawn = (log_gamma(a) - log_gamma(b) > log_gamma(c) - log_gamma(d)).mean()
        found = probability_greater(Beta(a, b), Beta(c, d))
        assert abs(drawn - found) < 5 * np.sqrt(found * (1 - found) / size) + 1e-5


def test_polarised_groups() -> None:
    """7 of 7 and 3 of 3, where the prior expects shares of nearly 0 or 1, are hardly different."""
    prior = credo.BetaBernoulli(1e-3, 1e-3)
    seven, three = prior.update({1: 7, 0: 0}), prior.update({1: 3, 0: 0})
    assert seven.probability_greater(three) == pytest.approx(0.5005, abs=1e-4)
    nothing = credo.BetaBernoulli(1, 0.01).belief()
    assert nothing.probability_greater(nothing) == pytest.approx(0.5, abs=1e-12)


def test_probabilities_that_underflow_on_one_side() -> None:
    assert probability_greater(Beta(1e6, 1.0), Beta(1.0, 1e6)) == 1
    assert 0 < probability_greater(Normal(0.0, 1.0), Normal(30.0, 1.0)) < 1e-90


def test_the_sum_of_whole_numbers_is_the_integral() -> None:
    """A parameter that is off by 1e-9 is no whole number, and changes nothing else."""
    rng = np.random.default_rng(1)
    for most in (2, 20, 1000):
        for _ in range(6):
            a, b, c, d = (float(each) for each in rng.integers(1, most + 1, 4))
            summed = probability_greater(Beta(a, b), Beta(c, d))
            assert summed == pytest.approx(probability_greater(Beta(a + 1e-9, b), Beta(c, d)), rel=1e-6, abs=1e-300)
            assert summed + probability_greater(Beta(c, d), Beta(a, b)) == pytest.approx(1, abs=1e-12)
    assert probability_greater(Beta(2.0, 1.0), Beta(1.0, 2.0)) == pytest.approx(5 / 6, abs=1e-15)
