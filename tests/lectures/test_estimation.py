"""The worked numbers of the lectures on estimation: coins, temperatures, a uniform's end, smoothing, and four slips."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.families import Family
from credo.numerics.exact import Array

COIN = credo.BetaBernoulli(2, 2)

# °C at noon on seven days of May; the prior says 15 give or take 5, a day scatters by 2 about the month's mean.
TEMPERATURES = [17.2, 18.9, 16.4, 19.5, 18.1, 20.3, 17.6]
MONTH = credo.NormalMean(mean=15, sd=5, noise_sd=2)


# A coin


def test_coin_of_75_heads_and_60_tails() -> None:
    coin = COIN.update({1: 75, 0: 60})
    assert coin.maximum_likelihood() == 75 / 135
    assert coin.posterior == credo.BetaBernoulli(77, 62)
    assert coin.mean() == 77 / 139
    assert coin.mode() == 76 / 137


def test_flips_one_by_one_teach_what_their_counts_teach() -> None:
    flips = [True] * 75 + [False] * 60
    assert COIN.update(flips).posterior == COIN.update({1: 75, 0: 60}).posterior


@pytest.mark.parametrize(
    ("heads", "tails", "likely", "predicted", "most_probable"),
    [(2, 0, 1.0, 4 / 6, 3 / 4), (55, 45, 0.55, 57 / 104, 56 / 102)],
)
def test_table_of_estimates(heads: int, tails: int, likely: float, predicted: float, most_probable: float) -> None:
    coin = COIN.update({1: heads, 0: tails})
    assert coin.maximum_likelihood() == likely
    assert coin.predictive()[1] == pytest.approx(predicted, rel=1e-15)
    assert np.exp(coin.predictive().log_prob(1)) == pytest.approx(predicted, rel=1e-15)
    assert coin.mode() == pytest.approx(most_probable, rel=1e-15)


def test_mode_of_beta_30_20() -> None:
    assert credo.BetaBernoulli(30, 20).belief().mode() == pytest.approx(29 / 48, rel=1e-15)
    assert COIN.update({1: 28, 0: 18}).mode() == pytest.approx(29 / 48, rel=1e-15)


@pytest.mark.parametrize(("a", "b"), [(1.5, 1.5), (2, 5), (30, 20), (1.001, 400)])
def test_mode_is_inside_for_a_and_b_above_1(a: float, b: float) -> None:
    mode = credo.BetaBernoulli(a, b).belief().mode()
    assert 0 < mode < 1
    assert mode == pytest.approx((a - 1) / (a + b - 2), rel=1e-12)


@pytest.mark.parametrize(("a", "b", "end"), [(1, 2, 0.0), (0.5, 2, 0.0), (0.5, 1, 0.0), (2, 1, 1.0), (2, 0.5, 1.0)])
def test_mode_is_at_an_end_otherwise(a: float, b: float, end: float) -> None:
    belief = credo.BetaBernoulli(a, b).belief()
    inside = belief.marginal().log_prob(np.linspace(0.001, 0.999, 999))
    assert belief.mode() == end
    assert np.argmax(inside) == (0 if end == 0 else 998)  # the density rises towards that end


# The mean of a Gaussian whose variance is known


def closed_form(xs: list[float]) -> tuple[float, float]:
    """μₙ = (σ² μ₀ + n σ₀² x̄)/(σ² + n σ₀²), σₙ² = σ² σ₀²/(σ² + n σ₀²)"""
    noise, prior, n = 4.0, 25.0, len(xs)
    return (noise * 15 + prior * sum(xs)) / (noise + n * prior), noise * prior / (noise + n * prior)


@pytest.mark.parametrize("n", [1, 7])
def test_temperature_after_one_day_and_after_seven(n: int) -> None:
    month = MONTH.update(TEMPERATURES[:n])
    mean, variance = closed_form(TEMPERATURES[:n])
    assert month.mean() == pytest.approx(mean, rel=1e-14)
    assert month.mode() == pytest.approx(mean, rel=1e-14)
    assert month.variance() == pytest.approx(variance, rel=1e-14)
    assert month.maximum_likelihood() == pytest.approx(np.mean(TEMPERATURES[:n]), rel=1e-14)
    assert 15 < month.mean() < month.maximum_likelihood()


@pytest.mark.parametrize("n", [1, 7])
def test_predictive_is_wider_than_posterior(n: int) -> None:
    month = MONTH.update(TEMPERATURES[:n])
    tomorrow = month.predictive()
    (low, high), (lowest, highest) = month.interval(), tomorrow.interval()
    assert tomorrow.variance() == pytest.approx(month.variance() + 4, rel=1e-14)
    assert lowest < low < high < highest


def test_each_observation_narrows_the_posterior() -> None:
    variances = [MONTH.belief().variance(), *(MONTH.update(TEMPERATURES[:n]).variance() for n in range(1, 8))]
    assert variances == sorted(variances, reverse=True)
    assert len(set(variances)) == 8


def test_certainty_learns_nothing() -> None:
    sure = credo.NormalMean(mean=15, sd=0, noise_sd=2)
    for xs in ([40.0], TEMPERATURES, [1e6] * 1000):
        after = sure.update(xs)
        assert (after.mean(), after.variance(), after.interval()) == (15, 0, (15, 15))


def test_broad_prior_believes_the_sample_mean() -> None:
    means = [credo.NormalMean(15, sd, 2).update(TEMPERATURES).mean() for sd in (1, 10, 100, 1e4, 1e8)]
    distances = [abs(mean - np.mean(TEMPERATURES)) for mean in means]
    assert distances == sorted(distances, reverse=True)
    assert means[-1] == pytest.approx(np.mean(TEMPERATURES), rel=1e-15)
    assert credo.NormalMean(15, 1e8, 2).update(TEMPERATURES).variance() == pytest.approx(4 / 7, rel=1e-12)


# A uniform distribution's end


def log_uniform(x: Array, theta: Array) -> Array:
    """p(x | θ) = 1/θ on [0, θ]"""
    return np.where((x >= 0) & (x <= theta), -np.log(theta), -np.inf)


def flat(theta: Array) -> Array:
    return np.zeros_like(theta)


@pytest.fixture(scope="module")
def uniform_end() -> credo.Numeric:
    return credo.Numeric(log_uniform, flat, support=(0, 10)).update([2, 4, 7, 8])


def test_posterior_of_a_uniforms_end(uniform_end: credo.Numeric) -> None:
    """p(θ | D) ∝ θ⁻⁴ from the largest observation to 10"""
    area = (8**-3 - 10**-3) / 3
    assert np.exp(uniform_end.log_prob(9.0)) == pytest.approx(9**-4 / area, rel=1e-6)
    assert np.exp(uniform_end.log_prob([7.9, 10.1])) == pytest.approx([0, 0])
    assert uniform_end.maximum_likelihood() == pytest.approx(8, rel=1e-6)
    assert uniform_end.mode() == pytest.approx(8, rel=1e-6)
    assert np.exp(uniform_end.log_evidence()) == pytest.approx(area / 10, rel=1e-6)


def test_predictive_of_a_uniform_isnt_uniform(uniform_end: credo.Numeric) -> None:
    density = np.exp(uniform_end.predictive().log_prob([0.5, 2, 5, 7.9, 9, 9.9, 10.1, 12]))
    assert density[:4] == pytest.approx([0.113422] * 4, abs=5e-7)
    assert density[4] == pytest.approx(0.041245, abs=5e-7)
    assert 0 < density[5] < density[4]
    assert list(density[6:]) == [0, 0]


def test_predictive_of_a_uniform_in_closed_form(uniform_end: credo.Numeric) -> None:
    """∫ θ⁻⁵ dθ / ∫ θ⁻⁴ dθ, from max(x, 8) to 10"""
    x = np.array([1.0, 8, 8.5, 9, 9.99])
    exact = (np.maximum(x, 8) ** -4 - 10.0**-4) / 4 / ((8**-3 - 10**-3) / 3)
    assert np.exp(uniform_end.predictive().log_prob(x)) == pytest.approx(exact, rel=1e-6)


# Maximum likelihood and Bayes

PRIORS: list[tuple[Family, Callable[[int], Any]]] = [
    (credo.BetaBernoulli(2, 2), lambda n: {1: 7 * n, 0: 3 * n}),
    (credo.DirichletCategorical({"a": 4, "b": 1, "c": 1}), lambda n: {"a": n, "b": 5 * n, "c": 4 * n}),
    (credo.GammaPoisson(3, 1), lambda n: {0: 2 * n, 1: 5 * n, 4: 3 * n}),
    (credo.GammaExponential(3, 1), lambda n: {0.5: 4 * n, 2.5: 6 * n}),
    (credo.NormalMean(15, 5, 2), lambda n: {17.0: 6 * n, 19.0: 4 * n}),
    (credo.NormalInverseGamma(15, 1, 3, 1), lambda n: {17.0: 6 * n, 19.0: 4 * n}),
]


def distance(prior: Family, data: Any) -> float:
    belief = prior.update(data)
    likely, expected = belief.maximum_likelihood(), belief.mean()
    if isinstance(likely, dict):
        likely, expected = list(likely.values()), list(expected.values())
    return float(np.max(np.abs(np.subtract(likely, expected))))


@pytest.mark.parametrize(("prior", "data"), PRIORS, ids=lambda p: type(p).__name__ if isinstance(p, Family) else "")
def test_bayes_and_maximum_likelihood_agree_as_n_grows(prior: Family, data: Callable[[int], Any]) -> None:
    apart = [distance(prior, data(n)) for n in (1, 10, 100, 1000, 100_000)]
    assert apart[0] > 0.01
    assert apart == sorted(apart, reverse=True)
    assert apart[-1] < 1e-4 * apart[0]


def test_they_differ_for_small_n() -> None:
    coin = COIN.update([True, True])
    assert coin.maximum_likelihood() == 1  # tails are impossible, after two flips
    assert coin.predictive()[0] == pytest.approx(1 / 3)


# Smoothing

COUNTS = st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any)
WEIGHTS = st.floats(0.01, 100)


@settings(deadline=None)  # the first update loads the kernels
@given(COUNTS, WEIGHTS, st.data())
def test_m_estimate_is_a_posterior_mean(counts: list[int], m: float, data: st.DataObject) -> None:
    """(n_c + m p)/(n + m) under Dirichlet(m p)"""
    shares = np.array(data.draw(st.lists(st.floats(0.1, 1), min_size=len(counts), max_size=len(counts))))
    p = shares / shares.sum()
    believed = credo.DirichletCategorical(dict(enumerate(m * p))).update(dict(enumerate(counts))).mean()
    expected = (np.array(counts) + m * p) / (sum(counts) + m)
    assert list(believed.values()) == pytest.approx(list(expected), rel=1e-12)


@settings(deadline=None)
@given(COUNTS, WEIGHTS)
def test_laplace_smoothing_is_a_posterior_mean(counts: list[int], smoothing: float) -> None:
    """(n_c + l)/(n + l J) under Dirichlet(l)"""
    believed = credo.DirichletCategorical(dict.fromkeys(range(len(counts)), smoothing)).update(dict(enumerate(counts)))
    expected = (np.array(counts) + smoothing) / (sum(counts) + smoothing * len(counts))
    assert list(believed.mean().values()) == pytest.approx(list(expected), rel=1e-12)
    assert [believed.predictive()[c] for c in range(len(counts))] == pytest.approx(list(expected), rel=1e-12)


def test_one_number_smooths_every_value_that_was_seen() -> None:
    believed = credo.DirichletCategorical(1).update(["sunny", "rainy", "sunny", "overcast", "sunny"])
    assert believed.mean() == pytest.approx({"overcast": 2 / 8, "rainy": 2 / 8, "sunny": 4 / 8})


# Slips in the lectures, and the right version


def test_posterior_is_proportional_to_likelihood_times_prior() -> None:
    theta = np.linspace(0.05, 0.95, 19)
    coin = COIN.update({1: 75, 0: 60})
    log_likelihood = 75 * np.log(theta) + 60 * np.log(1 - theta)
    log_prior, log_posterior = COIN.belief().marginal().log_prob(theta), coin.marginal().log_prob(theta)
    assert log_likelihood + log_prior - log_posterior == pytest.approx(np.full(19, coin.log_evidence()), abs=1e-9)
    assert np.ptp(log_posterior + log_prior - log_likelihood) > 1  # the reverse: p(D | θ) ∝ p(θ | D) p(θ)


def test_smoothing_a_yes_no_feature_divides_by_n_plus_2() -> None:
    """3 of 9 yes: (3 + 1)/(9 + 2), both as a category of two values and as a truth; not (3 + 1)/(9 + 1)"""
    wind = {"yes": 3, "no": 6}
    assert credo.DirichletCategorical(1).update(wind).mean()["yes"] == float(Fraction(4, 11))
    assert credo.BetaBernoulli(1, 1).update(wind).mean() == float(Fraction(4, 11))


@pytest.mark.parametrize(("heads", "tails"), [(2, 0), (3, 1), (55, 45)])
def test_uniform_prior_makes_the_mode_equal_maximum_likelihood(heads: int, tails: int) -> None:
    coin = credo.BetaBernoulli(1, 1).update({1: heads, 0: tails})
    assert coin.mode() == pytest.approx(coin.maximum_likelihood(), rel=1e-15)
    assert coin.mean() == pytest.approx((heads + 1) / (heads + tails + 2), rel=1e-15)
    assert abs(coin.mean() - coin.maximum_likelihood()) > 1e-4


def test_covariance_is_a_matrix() -> None:
    """E[(x - μ)(x - μ)′] is (columns, columns); E[(x - μ)′(x - μ)] is a number, its trace"""
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [4.0, 7.0], [5.0, 6.0]])
    likely = credo.NormalInverseWishart(mean=[0, 0], strength=1, degrees=3, scale=1).update(rows).maximum_likelihood()
    away = rows - rows.mean(0)
    assert likely.covariance == pytest.approx(away.T @ away / 4, rel=1e-14)
    assert likely.covariance == pytest.approx(np.cov(rows.T, bias=True), rel=1e-14)
    assert np.mean([x @ x for x in away]) == pytest.approx(np.trace(likely.covariance), rel=1e-14)
