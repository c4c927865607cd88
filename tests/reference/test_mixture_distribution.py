"""Mixture distributions against SciPy and numerical integration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from credo.numerics.distributions import NegativeBinomial, Normal, StudentT
from credo.numerics.mixture_distribution import MixtureDistribution, Poisson

SHARES = np.array([0.5, 0.2, 0.3])
STUDENTS = StudentT(np.array([3.0, 5.0, 9.0]), np.array([-2.0, 0.0, 4.0]), np.array([1.0, 0.5, 2.0]))
NUMBERS = MixtureDistribution(SHARES, STUDENTS)
COUNTS = MixtureDistribution(SHARES, NegativeBinomial(np.array([2.0, 5.0, 1.0]), np.array([1.0, 0.5, 0.1])), whole=True)


def test_numbers_are_the_parts_weighed() -> None:
    x = np.linspace(-10, 10, 7)
    parts = [stats.t(nu, loc, scale) for nu, loc, scale in ((3, -2, 1), (5, 0, 0.5), (9, 4, 2))]
    density = sum(share * part.pdf(x) for share, part in zip(SHARES, parts, strict=True))
    np.testing.assert_allclose(np.exp(NUMBERS.log_prob(x)), density, rtol=1e-12)
    assert NUMBERS.mean() == pytest.approx(sum(s * part.mean() for s, part in zip(SHARES, parts, strict=True)))
    second = sum(s * (part.var() + part.mean() ** 2) for s, part in zip(SHARES, parts, strict=True))
    assert NUMBERS.variance() == pytest.approx(second - float(NUMBERS.mean()) ** 2)
    for p in (0.01, 0.3, 0.5, 0.99):
        assert NUMBERS.cdf(NUMBERS.quantile(p)) == pytest.approx(p, abs=1e-10)
    drawn = NUMBERS.sample(20_000, seed=0)
    assert np.mean(drawn <= 0.0) == pytest.approx(NUMBERS.cdf(0.0), abs=0.02)


def test_counts_have_the_smallest_that_reaches() -> None:
    k = np.arange(2000)
    reached = np.cumsum(np.exp(COUNTS.log_prob(k)))
    assert reached[-1] == pytest.approx(1.0, abs=1e-6)
    for p in (0.0, 0.05, 0.5, 0.9, 0.999):
        assert COUNTS.quantile(p) == np.searchsorted(reached, p - 1e-12)


def test_a_part_without_a_share_says_nothing() -> None:
    one = MixtureDistribution(np.array([1.0, 0.0]), Normal(np.array([0.0, np.nan]), np.array([1.0, 1.0])))
    assert one.mean() == 0.0
    assert one.quantile(0.5) == pytest.approx(0.0, abs=1e-12)


def test_poisson_is_scipys() -> None:
    x = np.array([0.0, 1.0, 7.0, 2.5, -1.0])
    own = Poisson(3.2)
    np.testing.assert_allclose(np.exp(own.log_prob(x)), [*stats.poisson(3.2).pmf([0, 1, 7]), 0.0, 0.0], rtol=1e-12)
    np.testing.assert_allclose(own.cdf([2.0, 2.7, -1.0]), [*stats.poisson(3.2).cdf([2, 2]), 0.0], rtol=1e-12)
    assert (own.mean(), own.variance(), own.quantile(0.5)) == (3.2, 3.2, 3.0)
