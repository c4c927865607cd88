"""Numeric against the closed forms of conjugate pairs, brute force, and the laws that evidence obeys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import dblquad
from scipy.special import betaln, gammaln

import credo
from credo.errors import CredoError, DataError, EvidenceError, PriorError, SchemaError
from credo.estimation.numeric import Numeric
from credo.numerics.exact import Array

INF = np.inf
RANDOM = np.random.default_rng(7)
MILLION = 10**6


def flat(*theta: Array) -> Array:
    return 0 * theta[0]


def bernoulli(x: Array, p: Array) -> Array:
    return x * np.log(p) + (1 - x) * np.log1p(-p)


def poisson(x: Array, rate: Array) -> Array:
    return np.asarray(x * np.log(rate) - rate - gammaln(x + 1))


def exponential(x: Array, rate: Array) -> Array:
    return np.log(rate) - rate * x


def normal(x: Array, mean: Array) -> Array:
    """Its standard deviation is 2."""
    return np.asarray(-(((x - mean) / 2) ** 2) / 2 - np.log(8 * np.pi) / 2)


def gaussian(x: Array, mean: Array, variance: Array) -> Array:
    return -((x - mean) ** 2) / (2 * variance) - np.log(2 * np.pi * variance) / 2


def uniform(x: Array, end: Array) -> Array:
    return np.where((x >= 0) & (x <= end), -np.log(end), -INF)


def uniform_between(x: Array, low: Array, high: Array) -> Array:
    return np.where((x >= low) & (x <= high), -np.log(high - low), -INF)


def beta_prior(a: float, b: float) -> Callable[[Array], Array]:
    return lambda p: (a - 1) * np.log(p) + (b - 1) * np.log1p(-p)


def gamma_prior(shape: float, rate: float) -> Callable[[Array], Array]:
    return lambda x: (shape - 1) * np.log(x) - rate * x


def coin(a: float = 1, b: float = 1) -> Numeric:
    return Numeric(bernoulli, beta_prior(a, b), support=(0, 1))


def lecture() -> Numeric:
    """x ~ U[0, θ], θ ~ U[0, 10]"""
    return Numeric(uniform, flat, support=(0, 10)).update([2, 4, 7, 8])


def agrees(post: Numeric, exact: Any, log_evidence: float, x: Any, log_predictive: Any) -> None:
    assert post.log_evidence() == pytest.approx(log_evidence, rel=1e-9, abs=1e-7)
    assert post.mean() == pytest.approx(exact.mean(), rel=1e-8)
    assert post.variance() == pytest.approx(exact.var(), rel=1e-7)
    for mass in (0.5, 0.95, 0.999):
        assert post.interval(mass) == pytest.approx(exact.interval(mass), rel=1e-7)
    assert post.predictive().log_prob(x) == pytest.approx(np.asarray(log_predictive), rel=1e-7, abs=1e-7)


# Conjugate pairs


@pytest.mark.parametrize(("ones", "zeros"), [(0, 0), (3, 0), (75, 60), (400_000, 600_000), (1, MILLION - 1)])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.0, 2.0), (0.5, 0.5)])
def test_beta_bernoulli(a: float, b: float, ones: int, zeros: int) -> None:
    after = a + ones, b + zeros
    agrees(
        coin(a, b).update({1: ones, 0: zeros}),
        stats.beta(*after),
        betaln(*after) - betaln(a, b),
        [1, 0],
        np.log(np.array(after) / sum(after)),
    )


@pytest.mark.parametrize("n", [5, MILLION])
@pytest.mark.parametrize("shape", [2.0, 0.001])
def test_gamma_poisson(n: int, shape: float) -> None:
    x = RANDOM.poisson(4.2, n)
    a, b = shape + x.sum(), 0.5 + n
    log_evidence = shape * np.log(0.5) - gammaln(shape) + gammaln(a) - a * np.log(b) - gammaln(x + 1).sum()
    post = Numeric(poisson, gamma_prior(shape, 0.5), support=(0, INF)).update(x)
    counts = np.arange(12)
    agrees(post, stats.gamma(a, scale=1 / b), log_evidence, counts, stats.nbinom.logpmf(counts, a, b / (b + 1)))


@pytest.mark.parametrize("n", [1, 50, MILLION])
def test_gamma_exponential(n: int) -> None:
    x = RANDOM.exponential(0.3, n)
    a, b = 3.0 + n, 0.5 + x.sum()
    log_evidence = 3 * np.log(0.5) - gammaln(3) + gammaln(a) - a * np.log(b)
    post = Numeric(exponential, gamma_prior(3, 0.5), support=(0, INF)).update(x)
    far = np.array([0.0, 0.3, 2, 50])
    agrees(post, stats.gamma(a, scale=1 / b), log_evidence, far, stats.lomax.logpdf(far, a, scale=b))


@pytest.mark.parametrize(("n", "mean"), [(3, 1.0), (1000, 1e4), (MILLION, -300.0)])
def test_normal_mean(n: int, mean: float) -> None:
    x = RANDOM.normal(mean, 2, n)
    precision = 1e-8 + n / 4
    middle = x.sum() / 4 / precision
    scatter = ((x - x.mean()) ** 2).sum()
    log_evidence = stats.norm.logpdf(x.mean(), 0, np.sqrt(1e8 + 4 / n)) - scatter / 8
    log_evidence += np.log(8 * np.pi / n) / 2 - n / 2 * np.log(8 * np.pi)
    post = Numeric(normal, lambda m: -((m / 1e4) ** 2) / 2, support=(-INF, INF)).update(x)
    far = mean + np.array([-60.0, -3, 0, 5, 20])
    predictive = stats.norm.logpdf(far, middle, np.sqrt(4 + 1 / precision))
    agrees(post, stats.norm(middle, precision**-0.5), log_evidence, far, predictive)


@pytest.mark.parametrize("n", [4, 1000, MILLION])
def test_pareto_uniform(n: int) -> None:
    x = RANDOM.uniform(0, 8, n)
    shape, scale = 1.5 + n, max(2.0, x.max())
    log_evidence = np.log(1.5) + 1.5 * np.log(2) - np.log(shape) - shape * np.log(scale)
    post = Numeric(uniform, lambda end: np.where(end >= 2, -2.5 * np.log(end), -INF), support=(0, INF)).update(x)
    far = scale * np.array([0.3, 0.9999, 1 + 1 / n, 1 + 3 / n])
    seen = np.log(shape / (shape + 1)) + shape * np.log(scale) - (shape + 1) * np.log(np.maximum(far, scale))
    agrees(post, stats.pareto(shape, scale=scale), log_evidence, far, seen)


@pytest.mark.parametrize(("n", "mean"), [(6, 3.0), (1000, -300.0)])
@pytest.mark.slow
def test_normal_inverse_gamma(n: int, mean: float) -> None:
    def prior(m: Array, v: Array) -> Array:
        return np.asarray(-(m**2) / (2 * v) - np.log(v) / 2 - 4 * np.log(v) - 2 / v)

    x = RANDOM.normal(mean, 2, n)
    k, a = 1.0 + n, 3 + n / 2
    b = 2 + ((x - x.mean()) ** 2).sum() / 2 + n * x.mean() ** 2 / k / 2
    log_evidence = gammaln(a) - gammaln(3) + 3 * np.log(2) - a * np.log(b) - np.log(k) / 2 - n / 2 * np.log(2 * np.pi)
    post = Numeric(gaussian, prior, support=((-INF, INF), (0, INF))).update(x)
    exact = [stats.t(2 * a, x.sum() / k, np.sqrt(b / a / k)), stats.invgamma(a, scale=b)]
    far = mean + np.array([-5.0, 0, 7])
    predictive = stats.t(2 * a, x.sum() / k, np.sqrt(b * (1 + 1 / k) / a))
    assert post.log_evidence() == pytest.approx(log_evidence, rel=1e-10)
    assert post.mean() == pytest.approx([d.mean() for d in exact], rel=1e-8)
    assert post.variance() == pytest.approx([d.var() for d in exact], rel=1e-7)
    assert post.interval() == pytest.approx(np.array([d.interval(0.95) for d in exact]), rel=1e-7)
    assert post.predictive().log_prob(far) == pytest.approx(predictive.logpdf(far), rel=1e-8)
    if n == 6:
        assert post.predictive().log_prob(mean + 90) == pytest.approx(predictive.logpdf(mean + 90), rel=1e-8)
        assert post.predictive().mean() == pytest.approx(predictive.mean(), rel=1e-7)
        assert post.predictive().variance() == pytest.approx(predictive.var(), rel=1e-7)
        assert post.mode() == pytest.approx([x.sum() / k, b / (a + 1.5)], rel=1e-6)
        assert post.maximum_likelihood() == pytest.approx([x.mean(), x.var()], rel=1e-6)
        assert "2 parameters on [-inf, inf] x [0, inf]; 6 observations; mean " in repr(post)


SAME: list[tuple[Any, Numeric, Any]] = [
    (credo.BetaBernoulli(2, 3), coin(2, 3), [1, 1, 0, 1, 1]),
    (credo.GammaPoisson(2, 0.5), Numeric(poisson, gamma_prior(2, 0.5), (0, INF)), [3, 0, 4]),
    (credo.GammaExponential(2, 0.5), Numeric(exponential, gamma_prior(2, 0.5), (0, INF)), [0.5, 2.25, 1.0]),
    (credo.NormalMean(1, 3, 2), Numeric(normal, lambda m: -(((m - 1) / 3) ** 2) / 2, (-INF, INF)), [4.5, 2.5, 7]),
]


@pytest.mark.parametrize(("family", "blank", "x"), SAME, ids=lambda value: type(value).__name__)
def test_the_same_names_say_the_same(family: Any, blank: Numeric, x: list[float]) -> None:
    """Every question that a conjugate belief answers; evidence may have been discounted, or be weighted."""
    pairs = [
        (family.update(x), blank.update(x)),
        (family.update(x, weight=[0.5] * len(x)), blank.update(x).discount(0.5)),
    ]
    for exact, ours in pairs:
        for name in ("maximum_likelihood", "mode", "mean", "variance", "interval", "highest_density", "log_evidence"):
            ends = 1e-5 if name == "highest_density" else 1e-6
            assert getattr(ours, name)() == pytest.approx(getattr(exact, name)(), rel=ends), name
        for name in ("mean", "variance", "interval"):
            assert getattr(ours.predictive(), name)() == pytest.approx(getattr(exact.predictive(), name)(), rel=1e-6)
    assert pairs[0][1].probability_greater(pairs[1][0]) == pytest.approx(pairs[0][0].probability_greater(pairs[1][0]))


# Jumps, needles, several modes, ends


def test_uniform_of_the_lecture() -> None:
    post = lecture()
    area = (8**-3 - 10**-3) / 3
    assert np.exp(post.log_evidence()) == pytest.approx(area / 10, rel=1e-9)
    assert post.mean() == pytest.approx((8**-2 - 10**-2) / 2 / area, rel=1e-9)
    assert post.maximum_likelihood() == post.mode() == pytest.approx(8, rel=1e-12)
    assert post.highest_density(0.9) == pytest.approx((8, (8**-3 - 0.9 * 3 * area) ** (-1 / 3)), rel=1e-7)
    assert np.exp(post.log_prob([7.99, 9, 10.01])) == pytest.approx([0, 9**-4 / area, 0], rel=1e-9)
    predictive = post.predictive()
    assert np.exp(predictive.log_prob([5, 9, 10.1])) == pytest.approx([0.113422, 0.041245, 0], abs=5e-7)
    assert predictive.log_prob(12.0) == -INF
    assert predictive.mean() == pytest.approx(post.mean() / 2, rel=1e-7)
    assert predictive.interval(0.5)[0] == pytest.approx(0.25 / ((8**-4 - 10**-4) / 4 / area), rel=1e-7)


@pytest.mark.parametrize("support", [(0, 1e4), (-1e9, 1e9), (-INF, INF), (0, INF), (-INF, 2e4)])
def test_a_needle_is_found(support: tuple[float, float]) -> None:
    x = np.array([4321.0, 4321.5])
    post = Numeric(normal, lambda m: -(((m - 4000) / 1000) ** 2) / 2, support).update(x, weight=2e6)
    assert post.mean() == pytest.approx(4321.25, abs=1e-4)
    assert post.variance() == pytest.approx(1e-6, rel=1e-5)


def test_many_different_observations_are_asked_for_at_few_points() -> None:
    asked = 0

    def counted(x: Array, m: Array) -> Array:
        nonlocal asked
        found = normal(x, m)
        asked += found.size
        return found

    post = Numeric(counted, flat, support=(-1e4, 1e4)).update(RANDOM.normal(50, 2, n := 100_000))
    assert post.variance() == pytest.approx(4 / n, rel=1e-6)
    assert asked < 1000 * n  # 585 are asked for; of a million observations 512


def test_both_modes_are_kept() -> None:
    """x ~ N(θ², 2²) doesn't tell θ from -θ."""
    post = Numeric(lambda x, t: normal(x, t * t), flat, support=(-50, 50)).update({24.9: 5e4, 25.1: 5e4})
    assert post.mean() == pytest.approx(0, abs=1e-6)
    assert post.variance() == pytest.approx(25, rel=1e-6)
    assert abs(post.mode()) == pytest.approx(5, rel=1e-6)
    assert (post.sample(1000, seed=1) > 0).mean() == pytest.approx(0.5, abs=0.05)
    low, high = post.highest_density(0.4)
    assert high - low < 0.01


@pytest.mark.parametrize("support", [(-INF, INF), (-60, 60), (-50, INF), (-INF, 70)])
@pytest.mark.parametrize("seed", range(5))
def test_mixtures_of_peaks_of_any_width(seed: int, support: tuple[float, float]) -> None:
    """θ ~ Σ w N(m, s²), x ~ N(θ, 2²): the posterior is again a mixture."""
    random = np.random.default_rng(seed)
    w, m, s = random.dirichlet([1.0, 1, 1]), random.uniform(-20, 20, 3), 10 ** random.uniform(-2, 0.5, 3)

    def prior(theta: Array) -> Array:
        parts = np.log(w / s) - ((theta[..., None] - m) / s) ** 2 / 2
        return np.asarray(np.logaddexp.reduce(parts, axis=-1))

    post = Numeric(normal, prior, support).update([m[0] + 1])
    log_share = np.log(w) + stats.norm.logpdf(m[0] + 1, m, np.sqrt(s**2 + 4))
    share = np.exp(log_share - np.logaddexp.reduce(log_share))
    variance = 1 / (1 / s**2 + 1 / 4)
    mean = variance * (m / s**2 + (m[0] + 1) / 4)
    assert post.log_evidence() == pytest.approx(np.logaddexp.reduce(log_share), abs=1e-7)
    assert post.mean() == pytest.approx(share @ mean, rel=1e-7)
    assert post.variance() == pytest.approx(share @ (variance + mean**2) - (share @ mean) ** 2, rel=1e-6)


def test_a_narrow_stretch_of_what_is_possible() -> None:
    """x ~ U[θ - 1/2, θ + 1/2], seen over 0.999 of its range in a support of 10⁴"""
    post = Numeric(lambda x, t: np.where(np.abs(x - t) <= 0.5, 0.0, -INF), flat, (0, 1e4)).update([7000.0, 7000.999])
    assert post.interval(0.5) == pytest.approx((7000.49925, 7000.49975), abs=1e-9)
    assert np.exp(post.log_evidence()) == pytest.approx(1e-7, rel=1e-6)
    assert post.predictive().mean() == pytest.approx(7000.4995, abs=1e-6)
    for x in ([7000.0, 7001.5], [6000.0]):
        with pytest.raises(EvidenceError, match="impossible"):
            post.update(x).mean()


def test_a_step_inside_the_support() -> None:
    blank = Numeric(normal, lambda t: np.where(t < 3.3, 0.0, np.log(3)), support=(0, 10))
    area = 3.3 + 3 * 6.7
    assert blank.mean() == pytest.approx((3.3**2 / 2 + 3 * (100 - 3.3**2) / 2) / area, rel=1e-7)
    assert blank.interval(0.9)[0] == pytest.approx(0.05 * area, rel=1e-6)


def test_kinks() -> None:
    """The posterior median of Laplace noise: every observation is a kink."""
    x = np.linspace(-1, 2, 31) ** 3
    post = Numeric(lambda x, t: -np.abs(x - t) - np.log(2), flat, (-20, 20)).update(x)
    grid = np.linspace(-2, 3, 200_001)
    density = np.exp(-np.abs(x[:, None] - grid).sum(0) + np.abs(x - np.median(x)).sum())
    assert post.mean() == pytest.approx((grid * density).sum() / density.sum(), rel=1e-6)
    assert post.maximum_likelihood() == pytest.approx(np.median(x), abs=1e-6)


def test_ends_of_the_support() -> None:
    assert coin().update([1, 1]).maximum_likelihood() == coin().update([1, 1]).mode() == 1
    assert coin().update([0, 0]).mode() == 0
    assert Numeric(poisson, gamma_prior(1, 1), (0, INF)).update([0, 0]).maximum_likelihood() == 0
    assert coin().log_prob([0, 1]) == pytest.approx([0, 0], abs=1e-9)
    with pytest.raises(EvidenceError, match="grows towards inf"):
        Numeric(exponential, gamma_prior(1, 1), (0, INF)).update([0.0]).maximum_likelihood()


@pytest.mark.parametrize(("a", "tolerance"), [(0.3, 1e-6), (0.1, 1e-4)])
def test_priors_that_pile_up_at_the_ends(a: float, tolerance: float) -> None:
    for ones in (1, 3000):
        exact = betaln(a + ones, a) - betaln(a, a)
        assert coin(a, a).update({1: ones}).log_evidence() == pytest.approx(exact, abs=tolerance)


def test_moments_that_dont_exist() -> None:
    cauchy = Numeric(normal, lambda m: -np.log1p(m * m), support=(-INF, INF))
    assert np.isnan(cauchy.mean())
    assert cauchy.variance() == INF
    assert cauchy.interval(0.5) == pytest.approx((-1, 1), rel=1e-7)
    pareto = Numeric(uniform, lambda end: np.where(end >= 1, -1.5 * np.log(end), -INF), support=(0, INF))
    assert pareto.mean() == INF


@pytest.mark.slow
def test_two_ends_of_a_uniform() -> None:
    """x ~ U[a, b]: jumps in both parameters, and a prior on the triangle a < b."""
    post = Numeric(uniform_between, lambda a, b: np.where(a < b, 0.0, -INF), ((0, 10), (0, 10))).update([3, 4, 6])

    def integral(power: int, low: float, of_a: int = 0, of_b: int = 0) -> float:
        return float(dblquad(lambda b, a: a**of_a * b**of_b * (b - a) ** -power, 0, low, 6, 10)[0])

    whole = integral(3, 3)
    assert np.exp(post.log_evidence()) == pytest.approx(whole / 50, rel=1e-7)
    means = [integral(3, 3, of_a=1) / whole, integral(3, 3, of_b=1) / whole]
    assert post.mean() == pytest.approx(means, rel=1e-7)
    assert np.exp(post.predictive().log_prob([5, 2, 11])) == pytest.approx(
        [integral(4, 3) / whole, integral(4, 2) / whole, 0], rel=1e-7
    )
    assert post.maximum_likelihood() == pytest.approx([3, 6], rel=1e-9)
    draws = post.sample(4000, seed=3)
    assert (draws[:, 0] <= 3).all()
    assert (draws[:, 1] >= 6).all()
    assert draws.mean(0) == pytest.approx(means, abs=0.08)


def test_a_ridge() -> None:
    """Only a + b is known well: the two are almost perfectly correlated."""
    prior = Numeric(lambda x, a, b: normal(x, a + b), lambda a, b: -(a * a + b * b) / 2, ((-INF, INF), (-INF, INF)))
    post = prior.update([1.0], weight=10_000)
    well = 2 / (1 + 2 * 2500)  # the variance of a + b
    assert post.mean() == pytest.approx([2500 / 5001] * 2, rel=1e-7)
    assert post.variance() == pytest.approx([(2 + well) / 4] * 2, rel=1e-7)
    a, b = post.sample(5000, seed=0).T
    assert np.var(a - b) == pytest.approx(2, rel=0.1)
    assert abs(np.mean(a + b) - 5000 / 5001) < 0.05


def test_two_parameters_that_go_together() -> None:
    sd, correlation = np.array([0.9987, 0.2598]), 0.9436

    def prior(a: Array, b: Array) -> Array:
        u, v = (a + 4.9226) / sd[0], (b - 7.9988) / sd[1]
        return np.asarray(-(u * u - 2 * correlation * u * v + v * v) / 2 / (1 - correlation**2))

    blank = Numeric(lambda x, a, b: normal(x, a + b), prior, ((-INF, INF), (-INF, INF)))
    assert blank.mean() == pytest.approx([-4.9226, 7.9988], rel=1e-8)
    assert blank.variance() == pytest.approx(sd**2, rel=1e-8)


# Predictives


def test_which_values_an_observation_can_take() -> None:
    rate = Numeric(poisson, gamma_prior(1, 1), (0, INF))
    assert coin().update([1, 1, 1]).predictive().support == range(2)
    assert coin().predictive().support == range(2)
    assert rate.update([3, 5]).predictive().support[0] == 0
    assert rate.update([3, 5]).predictive().interval() == stats.nbinom.interval(0.95, 9, 0.75)
    geometric = Numeric(lambda x, p: np.log(p) + (x - 1) * np.log1p(-p), beta_prior(4, 1), (0, 1))
    assert geometric.update([2, 3]).predictive().support[0] == 1
    assert Numeric(normal, gamma_prior(1, 1), (0, INF)).update([1.5]).predictive().support == (-INF, INF)
    assert Numeric(exponential, gamma_prior(1, 1), (0, INF)).update([1, 2]).predictive().support == (0, INF)
    unit = Numeric(lambda x, a: np.log(a) + (a - 1) * np.log(x) + 0 * np.log1p(-x), gamma_prior(2, 1), (0, INF))
    assert unit.update([0.5, 0.25]).predictive().support == (0, 1)


def test_the_values_may_be_said() -> None:
    whole = Numeric(normal, gamma_prior(1, 1), (0, INF), observations=(-INF, INF)).update([170, 180])
    assert whole.predictive().support == (-INF, INF)
    assert coin().predictive().log_prob(1) == pytest.approx(np.log(0.5))
    with pytest.raises(EvidenceError, match="observations=range"):
        Numeric(bernoulli, flat, (0, 1), observations=range(3)).predictive().mean()
    with pytest.raises(EvidenceError, match="normalised"):
        Numeric(lambda x, m: -((x - m) ** 2), lambda m: -m * m, (-INF, INF)).update([0.5]).predictive().mean()


def test_tails_of_a_predictive() -> None:
    """A Lomax with shape 3 barely has a variance."""
    post = Numeric(exponential, gamma_prior(1, 1), (0, INF)).update([0.5, 1.2])
    exact = stats.lomax(3, scale=2.7)
    assert post.predictive().mean() == pytest.approx(exact.mean(), rel=1e-7)
    assert post.predictive().variance() == pytest.approx(exact.var(), rel=1e-5)
    assert post.predictive().log_prob([1e3, 1e6]) == pytest.approx(exact.logpdf([1e3, 1e6]), rel=1e-9)


def test_samples() -> None:
    post = coin().update({1: 30, 0: 10})
    assert post.sample(20_000, seed=2).mean() == pytest.approx(post.mean(), abs=0.003)
    assert list(post.sample(5, seed=4)) == list(post.sample(5, seed=4)) != list(post.sample(5, seed=5))
    assert stats.kstest(post.sample(2000, seed=6), stats.beta(31, 11).cdf).pvalue > 0.01
    assert set(post.predictive().sample(100, seed=0)) == {0.0, 1.0}
    assert lecture().predictive().sample(20_000, seed=2).mean() == pytest.approx(lecture().mean() / 2, abs=0.06)


def test_probability_greater() -> None:
    a, b = coin().update({1: 75, 0: 60}), coin().update({1: 60, 0: 75})
    exact = credo.BetaBernoulli(1, 1).update({1: 75, 0: 60})
    assert a.probability_greater(b) + b.probability_greater(a) == pytest.approx(1)
    assert a.probability_greater(b) == pytest.approx(exact.probability_greater(b), rel=1e-9)
    assert lecture().probability_greater(lecture()) == pytest.approx(0.5)


# Laws of evidence

FLIPS = st.lists(st.sampled_from([0.0, 1.0, np.nan]), max_size=8)


@settings(max_examples=15, deadline=None)
@given(FLIPS, FLIPS)
def test_parts_make_the_whole(a: list[float], b: list[float]) -> None:
    blank = coin(2, 2)
    whole = blank.update(a + b)
    for other in (blank.update(a).update(b), blank.update(b).update(a), blank.update(b) + blank.update(a)):
        assert (other.values == whole.values).all()
        assert (other.weights == whole.weights).all()
        assert other.log_evidence() == whole.log_evidence()
    left = whole.forget(b)
    assert (left.values == blank.update(a).values).all()
    assert (left.weights == blank.update(a).weights).all()
    assert whole.discount(0.5).update(a, weight=0.5).update(b, weight=0.5).n == whole.n
    assert blank.update(a, weight=2).log_evidence() == blank.update(a + a).log_evidence()


def test_chain_rule() -> None:
    post = lecture()
    assert post.update([9]).log_evidence() == pytest.approx(post.log_evidence() + float(post.predictive().log_prob(9)))


def test_nothing_changes_in_place() -> None:
    post = lecture()
    with pytest.raises(EvidenceError, match="can't forget 7 with weight 2: its weight is 1"):
        post.forget([7, 7])
    with pytest.raises(EvidenceError, match="can't forget 3 with weight 1: its weight is 0"):
        post.forget([2, 3])
    with pytest.raises(EvidenceError, match=r"its weight is 0\.5"):
        post.discount(0.5).forget([8])
    assert post.n == 4
    assert post.forget({2: 1, 4: 1, 7: 1, 8: 1}).n == 0
    assert post.update([]).n == post.update(np.nan).n == 4


# Errors, one clear sentence each

ERRORS: dict[str, tuple[Callable[[], Any], type[CredoError], str]] = {
    "impossible data": (lambda: lecture().update([11]).mean(), EvidenceError, "impossible"),
    "impossible data, likelihood": (lambda: lecture().update([11]).maximum_likelihood(), EvidenceError, "impossible"),
    "no data": (lambda: coin().maximum_likelihood(), EvidenceError, "no observations yet"),
    "NaN": (lambda: Numeric(lambda x, t: np.log(t - 5) + x, flat, (0, 10)).update(1).mean(), DataError, "is nan"),
    "infinite": (lambda: Numeric(lambda x, t: x + t + INF, flat, (0, 10)).update(1).mean(), DataError, "is inf"),
    "shape": (lambda: Numeric(lambda x, t: (x + t)[:0], flat, (0, 1)).update(1).mean(), DataError, "must broadcast"),
    "scalars only": (
        lambda: Numeric(lambda x, t: float(x + t), flat, (0, 1)).update(1).mean(),
        DataError,
        "must broadcast",
    ),
    "prior NaN": (lambda: Numeric(bernoulli, lambda t: np.log(t - 0.5), (0, 1)).mean(), PriorError, "log_prior"),
    "prior nothing": (lambda: Numeric(bernoulli, lambda t: t - INF, (0, 1)).mean(), PriorError, "excludes them all"),
    "improper, flat": (lambda: Numeric(normal, flat, (-INF, INF)).mean(), PriorError, "improper"),
    "improper, 1/θ": (lambda: Numeric(poisson, lambda t: -np.log(t), (0, INF)).mean(), PriorError, "improper"),
    "improper, an end": (lambda: Numeric(normal, lambda t: -np.log(t - 1), (1, 3)).mean(), PriorError, "improper"),
    "improper, two": (
        lambda: Numeric(gaussian, lambda m, v: 0 * m - v, ((-INF, INF), (0, INF))).mean(),
        PriorError,
        "improper",
    ),
    "support turned": (lambda: Numeric(bernoulli, flat, (1, 0)), PriorError, "low below high"),
    "support of three": (lambda: Numeric(bernoulli, flat, (0, 1, 2)), PriorError, "low below high"),
    "support of words": (lambda: Numeric(bernoulli, flat, "ab"), PriorError, "low below high"),
    "infinite x": (lambda: coin().update([0, INF]), DataError, r"the value inf \(row 2\)"),
    "words": (lambda: coin().update(["heads"]), DataError, "where a number is needed"),
    "rows": (lambda: coin().update([[0, 1]]), SchemaError, "has 2 columns"),
    "negative weight": (lambda: coin().update([0, 1], [1, -1]), DataError, "that of row 2 is -1"),
    "negative count": (lambda: coin().update({1: -2}), DataError, "that of row 1 is -2"),
    "too few weights": (lambda: coin().update([0, 1, 1], [1, 2]), DataError, "2 weights and 3 rows"),
    "counts and weights": (lambda: coin().update({1: 2}, [1]), DataError, "counts are weights already"),
    "discount": (lambda: coin().discount(1.5), EvidenceError, "at most 1"),
    "mass": (lambda: coin().interval(1.5), DataError, "between 0 and 1"),
    "another prior": (lambda: coin() + coin(2, 2), PriorError, "same log_likelihood"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, words = ERRORS[name]
    with pytest.raises(kind, match=words):
        call()


# How it is shown


def test_repr() -> None:
    assert repr(lecture()) == ("Numeric(1 parameter on [0, 10]; 4 observations; mean 8.85, 95% interval [8.03, 9.92])")
    assert "improper" in repr(Numeric(normal, flat, (-INF, INF)))
    assert "<td>8.852</td>" in lecture()._repr_html_()


@pytest.mark.parametrize("post", [lecture(), coin().update({1: 5, 0: 3})], ids=["density", "counts"])
def test_plot(post: Numeric) -> None:
    parameter, following = post.plot().axes
    assert [line.get_label() for line in parameter.lines] == ["posterior", "prior", "likelihood (scaled)"]
    assert following.has_data()


def test_tables_are_read_like_anywhere_else() -> None:
    whole = coin().update([1, 0, 1, 1])
    for data, weight in (({"x": [1, 0, 1, 1]}, None), ({"x": [1, 0], "w": [3, 1]}, "w"), (iter([{"x": 1}] * 3), None)):
        assert coin().update(data, weight).n == (4 if weight or isinstance(data, dict) else 3)
    assert coin().update({"x": [1, 0], "w": [3, 1]}, "w").mean() == whole.mean()
    fresh = coin()
    assert fresh.update([1]).merge(fresh.update([0, 1]), fresh.update([1])).mean() == whole.mean()
    assert 0 < whole.probability_greater(0.5) < 1
