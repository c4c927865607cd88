"""Every distribution against scipy.stats, and its predictive's mass against 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from credo.numerics.categorical import Categorical
from credo.numerics.distributions import (
    Beta,
    Distribution,
    Gamma,
    InverseGamma,
    Lomax,
    NegativeBinomial,
    Normal,
    Pareto,
    ParetoMixedUniform,
    StudentT,
)

PAIRS: list[tuple[Distribution, Any, Any]] = [
    (Beta(2.5, 4.0), stats.beta(2.5, 4.0), np.linspace(0.01, 0.99, 9)),
    (Gamma(2.5, 4.0), stats.gamma(2.5, scale=1 / 4), np.linspace(0.01, 3, 9)),
    (InverseGamma(3.5, 4.0), stats.invgamma(3.5, scale=4), np.linspace(0.1, 9, 9)),
    (Normal(1.0, 2.0), stats.norm(1, 2), np.linspace(-5, 5, 9)),
    (StudentT(5.0, 1.0, 2.0), stats.t(5, 1, 2), np.linspace(-9, 9, 9)),
    (Pareto(2.0, 3.5), stats.pareto(3.5, scale=2), np.linspace(2, 9, 9)),
    (Lomax(3.5, 2.0), stats.lomax(3.5, scale=2), np.linspace(0, 9, 9)),
    (NegativeBinomial(2.5, 0.7), stats.nbinom(2.5, 0.7 / 1.7), np.arange(9.0)),
]
ids = [type(pair[0]).__name__ for pair in PAIRS]


@pytest.mark.parametrize(("ours", "theirs", "x"), PAIRS, ids=ids)
def test_agrees_with_scipy(ours: Distribution, theirs: Any, x: Any) -> None:
    log_density = theirs.logpmf if hasattr(theirs.dist, "logpmf") else theirs.logpdf
    np.testing.assert_allclose(ours.log_prob(x), log_density(x), rtol=1e-10)
    np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-10)
    np.testing.assert_allclose(ours.mean(), theirs.mean(), rtol=1e-10)
    np.testing.assert_allclose(ours.variance(), theirs.var(), rtol=1e-10)
    p = np.array([0.001, 0.1, 0.5, 0.9, 0.999])
    np.testing.assert_allclose(ours.quantile(p), theirs.ppf(p), rtol=1e-9)


@pytest.mark.parametrize(("ours", "theirs", "x"), PAIRS, ids=ids)
def test_draws_follow_the_distribution(ours: Distribution, theirs: Any, x: Any) -> None:  # noqa: ARG001
    draws = ours.sample(20_000, seed=1)
    if not hasattr(theirs.dist, "logpmf"):
        assert stats.kstest(draws, theirs.cdf).pvalue > 1e-4
    assert abs(draws.mean() - theirs.mean()) < 6 * theirs.std() / np.sqrt(20_000)


def test_pareto_mixed_uniform_is_the_mixture_it_says() -> None:
    mixed, theta = ParetoMixedUniform(2.0, 3.5), stats.pareto(3.5, scale=2)
    for x in (0.5, 1.9, 2.5, 7.0):
        expected = theta.expect(lambda t, x=x: (t >= x) / t)
        np.testing.assert_allclose(np.exp(mixed.log_prob(x)), expected, rtol=1e-6)
    np.testing.assert_allclose(mixed.cdf(mixed.quantile([0.1, 0.7, 0.9, 0.99])), [0.1, 0.7, 0.9, 0.99], rtol=1e-12)
    np.testing.assert_allclose(mixed.mean(), theta.mean() / 2, rtol=1e-12)
    np.testing.assert_allclose(mixed.variance(), (theta.var() + theta.mean() ** 2) / 3 - theta.mean() ** 2 / 4)


@pytest.mark.parametrize("ours", [pair[0] for pair in PAIRS] + [ParetoMixedUniform(2.0, 3.5)], ids=[*ids, "mixed"])
def test_the_mass_is_one(ours: Distribution) -> None:
    if isinstance(ours, NegativeBinomial):
        assert abs(np.exp(np.asarray(ours.log_prob(np.arange(500)))).sum() - 1) < 1e-12
        return
    edges = np.asarray(ours.quantile(1 / (1 + np.exp(-np.linspace(-18, 18, 1001)))))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (nodes + 1)
    mass = (np.exp(np.asarray(ours.log_prob(x))) * half * weights).sum()
    np.testing.assert_allclose(mass, 1, atol=1e-6)


def test_certainty_is_a_distribution_too() -> None:
    sure = Normal(3.0, 0.0)
    assert sure.interval() == (3.0, 3.0)
    assert sure.log_prob(3.0) == np.inf
    assert sure.log_prob(3.1) == -np.inf
    assert sure.cdf(2.9) == 0
    only = Beta(4.0, 0.0)
    assert only.interval() == (1.0, 1.0)
    assert only.mean() == 1


def test_highest_density_is_the_shortest_interval() -> None:
    low, high = Beta(2.0, 8.0).highest_density(0.9)
    from scipy.optimize import minimize_scalar

    best = minimize_scalar(
        lambda tail: stats.beta(2, 8).ppf(tail + 0.9) - stats.beta(2, 8).ppf(tail), bounds=(0, 0.1), method="bounded"
    )
    np.testing.assert_allclose(float(high) - float(low), best.fun, rtol=1e-8)
    assert Pareto(2.0, 3.0).highest_density(0.9)[0] == 2.0


def test_a_mapping_of_values() -> None:
    colours = Categorical(("red", "blue"), np.array([0.25, 0.75]))
    assert dict(colours) == {"red": 0.25, "blue": 0.75}
    assert colours.most_probable() == "blue"
    np.testing.assert_allclose(colours.log_prob(["red", "blue"]), np.log([0.25, 0.75]))
    assert 700 < colours.sample(1000, seed=0).count("blue") < 800
    assert Categorical((0, 1), np.array([0.5, 0.5])).interval() == (0.0, 1.0)
