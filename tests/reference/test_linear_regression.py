"""Linear regression against least squares, statsmodels, quadrature and enumeration."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import betaln
from scipy.stats import norm

import credo
from credo.core.membership import Hard
from credo.core.moments import CrossMoments
from credo.data import source
from credo.families.linear_gaussian import LinearGaussian
from credo.models.regression import variable_selection
from credo.models.regression.ridge import RidgeEvidence
from tests.laws.classifiers import unheard

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) * [1.0, 5.0, 0.1] + [0.0, 100.0, 3.0]
Y = 7 + X @ [1.0, -2.0, 30.0] + RNG.normal(size=80)
DESIGN = np.column_stack([np.ones(80), X])
Q = 1e-9


def encoded(model: credo.LinearRegression, data: object) -> Any:
    table = source(data)
    (batch,) = table.batches(table.names)
    return model.fitted.basis.features.encode(batch)


def test_maximum_likelihood_is_least_squares() -> None:
    """The hypothesis under which Gaussian noise makes the data most probable, whatever the prior."""
    expected, squares, *_ = np.linalg.lstsq(DESIGN, Y)
    for model in (credo.LinearRegression(), credo.LinearRegression(ridge=0), credo.LinearRegression(0, 1, 1, 1)):
        found = model.fit(X, target=Y).maximum_likelihood()
        np.testing.assert_allclose(found.weights, expected, rtol=1e-8)
        np.testing.assert_allclose(found.variance, squares[0] / 80, rtol=1e-9)
    np.testing.assert_allclose(
        credo.LinearRegression(ridge=0).fit(X, target=Y).predict(X), DESIGN @ expected, rtol=1e-10
    )


def test_no_other_line_is_more_probable() -> None:
    best = credo.LinearRegression().fit(X, target=Y).maximum_likelihood()

    def log_likelihood(weights: Any, variance: float) -> float:
        return float(norm.logpdf(Y, DESIGN @ weights, np.sqrt(variance)).sum())

    top = log_likelihood(best.weights, best.variance)
    for j in range(4):
        for step in (-1e-3, 1e-3):
            assert log_likelihood(best.weights + step * np.eye(4)[j], best.variance) < top
    assert log_likelihood(best.weights, best.variance * 1.001) < top
    assert log_likelihood(best.weights, best.variance * 0.999) < top


def test_least_squares_of_categories_and_missing_cells() -> None:
    """Predictions as by least squares of indicators, the missing numbers at the mean."""
    city = np.array(["a", "b", "c"])[RNG.integers(0, 3, 80)]
    lost = np.arange(80) % 7 == 0
    data = {"x": [None if gone else x for x, gone in zip(X[:, 0], lost, strict=True)], "city": city.tolist()}
    filled = np.where(lost, X[~lost, 0].mean(), X[:, 0])
    design = np.column_stack([filled, lost, city == "a", city == "b", city == "c"])
    expected = design @ np.linalg.lstsq(design, Y)[0]
    model = credo.LinearRegression(ridge=0).fit(data, target=Y)
    np.testing.assert_allclose(model.predict(data), expected, rtol=1e-9)


def test_interactions_are_products() -> None:
    data = {"u": X[:, 0], "v": X[:, 1]}
    design = np.column_stack([np.ones(80), X[:, 0], X[:, 1], X[:, 0] * X[:, 1]])
    model = credo.LinearRegression(ridge=0, interactions=[("u", "v")]).fit(data, target=Y)
    np.testing.assert_allclose(model.predict(data), design @ np.linalg.lstsq(design, Y)[0], rtol=1e-8)
    assert (
        credo.LinearRegression(interactions="all").fit(data, target=Y).parameters()["term"].to_pylist()[-1] == "u × v"
    )


def test_squares_are_a_parabola() -> None:
    """Far from 0, where squares and products of raw numbers cancel, as about their means."""
    u, v = X[:, 0], X[:, 1]
    design = np.column_stack([np.ones(80), u, v, u**2, v**2, u * v])
    expected = design @ np.linalg.lstsq(design, Y)[0]
    for away in (0.0, 1e3, 1e6):
        data = {"u": u + away, "v": v}
        model = credo.LinearRegression(ridge=0, interactions="quadratic").fit(data, target=Y)
        np.testing.assert_allclose(model.predict(data), expected, rtol=1e-4)
        assert {"u²", "v²", "u × v"} < {*model.parameters()["term"].to_pylist()}
    lost = {"u": np.where(np.arange(80) % 7 == 0, np.nan, u), "v": v}
    known = ~np.isnan(lost["u"])
    mean = lost["u"][known].mean()
    centred = np.where(known, lost["u"] - mean, 0.0)
    design = np.column_stack([np.ones(80), centred, ~known, v, centred**2])
    model = credo.LinearRegression(ridge=0, interactions=[("u", "u")]).fit(lost, target=Y)
    np.testing.assert_allclose(model.predict(lost), design @ np.linalg.lstsq(design, Y)[0], rtol=1e-7)
    why = model.explain({"u": 2.0, "v": 0.5})
    assert {*why.columns} == {("u",), ("v",)}  # a square belongs to its number
    np.testing.assert_allclose(why.prediction, model.predict({"u": [2.0], "v": [0.5]})[0])


def test_flat_priors_are_statsmodels() -> None:
    """Credible intervals under flat priors are confidence intervals; so are those of predictions."""
    sm = pytest.importorskip("statsmodels.api")
    reference = sm.OLS(Y, DESIGN).fit()
    model = credo.LinearRegression(ridge=0).fit(X, target=Y)
    low, high = model.interval().weights
    np.testing.assert_allclose(np.column_stack([low, high]), reference.conf_int(), rtol=1e-7)
    np.testing.assert_allclose(model.mean().weights, reference.params, rtol=1e-8)
    ahead = reference.get_prediction(DESIGN[:5]).summary_frame(alpha=0.1)
    low, high = model.intervals(X[:5], 0.9)
    np.testing.assert_allclose(low, ahead["obs_ci_lower"], rtol=1e-8)
    np.testing.assert_allclose(high, ahead["obs_ci_upper"], rtol=1e-8)
    found = model.scores(X, target=Y)
    np.testing.assert_allclose(found.r2, reference.rsquared, rtol=1e-9)
    weighted = sm.WLS(Y, DESIGN, weights=np.arange(1, 81)).fit()
    again = credo.LinearRegression(ridge=0).fit(X, target=Y, weight=np.arange(1, 81))
    np.testing.assert_allclose(again.mean().weights, weighted.params, rtol=1e-8)


def test_a_ridge_is_scikit_learns() -> None:
    """λ on standardised features."""
    from sklearn.linear_model import Ridge

    scaled = (X - X.mean(0)) / X.std(0)
    for strength in (0.1, 10.0):
        reference = Ridge(alpha=strength).fit(scaled, Y)
        model = credo.LinearRegression(ridge=strength).fit(X, target=Y)
        np.testing.assert_allclose(model.predict(X), reference.predict(scaled), rtol=1e-10)


def test_a_given_prior_is_the_closed_form() -> None:
    precision, mean = np.diag([0.5, 1.0, 2.0, 3.0]) + 0.1, np.array([1.0, 0.0, 1.0, -1.0])
    after = precision + DESIGN.T @ DESIGN
    expected = np.linalg.solve(after, precision @ mean + DESIGN.T @ Y)
    away = expected - mean
    scale = 2.0 + ((Y - DESIGN @ expected) ** 2).sum() / 2 + away @ precision @ away / 2
    model = credo.LinearRegression(mean, precision, 1.5, 2.0).fit(X, target=Y)
    np.testing.assert_allclose(model.mean().weights, expected, rtol=1e-6)
    np.testing.assert_allclose(model.mean().variance, scale / (1.5 + 40 - 1), rtol=1e-6)
    covariance = scale / (1.5 + 40 - 1) * np.linalg.inv(after)
    np.testing.assert_allclose(model.variance().weights, np.diagonal(covariance), rtol=1e-4)


@pytest.mark.slow
def test_a_proper_evidence_is_an_integral() -> None:
    """∫∫ p(y | w, σ²) p(w | σ²) p(σ²) of one weight, by quadrature."""
    y = np.array([0.5, 1.5, 1.0])
    found = credo.LinearRegression([0.3], [[2.0]], 1.5, 1.0).update({"y": y}, target="y").log_evidence()

    def density(w: float, variance: float) -> float:
        prior = norm.pdf(w, 0.3, np.sqrt(variance / 2)) * np.exp(-1.0 / variance) * variance**-2.5 / 0.886226925452758
        return float(norm.pdf(y, w, np.sqrt(variance)).prod() * prior)

    whole, _ = dblquad(
        density, 0, np.inf, lambda v: 0.3 - 12 * v**0.5 - 3, lambda v: 0.3 + 12 * v**0.5 + 3, epsabs=Q, epsrel=1e-6
    )
    np.testing.assert_allclose(np.exp(found), whole, rtol=1e-5)


def test_the_evidence_under_flat_priors_is_an_integral() -> None:
    """∫∫∫ p(y | a, w, σ²) p(w | σ²) da dw dσ²/σ²: a and w in closed form, σ² by quadrature."""
    x, y, ridge = np.array([-1.0, 0.0, 0.5, 2.0]), np.array([0.2, 0.1, 1.0, 1.7]), 0.7
    sums = CrossMoments.of(np.column_stack([x, y]), Hard.whole(4))
    prior = LinearGaussian(0.0, np.diag([0.0, ridge]), -0.5, 1e-280)
    found = float(prior.log_evidence(sums[0]))

    def density(variance: float) -> float:
        flat = 1e7  # the variance of a prior on the intercept, whose density is 1/√(2π·1e7) about 0
        covariance = variance * (np.eye(4) + np.outer(x, x) / ridge) + flat
        _, determinant = np.linalg.slogdet(2 * np.pi * covariance)
        log = -0.5 * (determinant + y @ np.linalg.solve(covariance, y)) + 0.5 * np.log(2 * np.pi * flat)
        return float(np.exp(log) / variance)

    whole, _ = quad(density, 0, np.inf, limit=200)
    np.testing.assert_allclose(np.exp(found), whole, rtol=1e-5)


def test_the_ridge_has_the_highest_evidence() -> None:
    """The eigenvalues' formula is the family's, up to a constant; and nothing near the best is better."""
    model = credo.LinearRegression().fit(X, target=Y + 5 * RNG.normal(size=80))
    best = model.fitted.ridge
    assert best is not None
    strengths = np.array([0.01, 0.5, 1.0, 20.0, best])
    by_formula = RidgeEvidence.of(model.fitted.statistics).at(strengths)
    data = {"evidence": model.evidence, "target": model.target, "readings": model.readings}
    from credo.core.records import with_fields

    exact = [with_fields(credo.LinearRegression(ridge=float(s)), **data).log_evidence() for s in strengths]
    np.testing.assert_allclose(by_formula - by_formula[0], np.array(exact) - exact[0], rtol=1e-8, atol=1e-8)
    ridge = RidgeEvidence.of(model.fitted.statistics)
    grid = np.exp(np.linspace(np.log(best) - 8, np.log(best) + 8, 4001))
    assert (ridge.at(grid) + ridge.log_prior(grid)).argmax() == 2000


def test_the_prior_of_the_ridge_makes_the_share_explained_uniform() -> None:
    """∫ over the strengths at which the features explain at most a share r of the variance is r."""
    ridge = RidgeEvidence(10.0, np.array([7.0, 23.0]), np.zeros(2), 1.0)
    for share in (0.1, 0.5, 0.8):
        least = 3.0 * (1 - share) / share  # s = 3/λ, r = s/(1 + s)
        below, _ = quad(lambda log: float(np.exp(ridge.log_prior(np.exp(np.array([log])))[0])), np.log(least), 50.0)
        np.testing.assert_allclose(below, share, rtol=1e-8)


def test_inclusion_probabilities_are_sums_over_subsets() -> None:
    """By brute force, over all subsets of four columns, one of them a category."""
    city = np.array(["a", "b", "c"])[RNG.integers(0, 3, 80)]
    y = X[:, 0] + 2 * (city == "b") + RNG.normal(size=80)
    data = {"u": X[:, 0], "v": X[:, 1], "w": X[:, 2], "city": city.tolist()}
    model = credo.LinearRegression(select=True).fit(data, target=y)
    z = encoded(credo.LinearRegression(ridge=1.0).fit(data, target=y), data)
    z = z / np.concatenate([z[:, :3].std(0), [np.sqrt(0.5)] * 3])
    own = {"u": [0], "v": [1], "w": [2], "city": [3, 4, 5]}
    away, logs = y - y.mean(), dict[tuple[str, ...], float]()
    for size in range(5):
        for subset in combinations(own, size):
            at = [i for name in subset for i in own[name]]
            covariance = np.eye(80) + z[:, at] @ z[:, at].T
            _, determinant = np.linalg.slogdet(covariance)
            residual = away @ np.linalg.solve(covariance, away)
            logs[subset] = -determinant / 2 - 79 / 2 * np.log(residual) + betaln(1 + size, 5 - size)
    shares = np.exp(np.array([*logs.values()]) - max(logs.values()))
    shares /= shares.sum()
    found = model.inclusion()
    for name in own:
        expected = sum(share for share, subset in zip(shares, logs, strict=True) if name in subset)
        np.testing.assert_allclose(found[name], expected, rtol=1e-6)
    kept = {source for i in model.fitted.basis.kept for source in model.fitted.basis.features.sources[i]}
    best, _ = max(logs.items(), key=lambda pair: pair[1])
    assert kept == set(best)
    assert {"u", "city"} <= kept


def test_a_walk_through_subsets_finds_what_enumeration_does(monkeypatch: pytest.MonkeyPatch) -> None:
    z = RNG.normal(size=(100, 8))
    y = z[:, 0] - 0.4 * z[:, 3] + 0.2 * z[:, 5] + RNG.normal(size=100)
    exact = credo.LinearRegression(select=True).fit(z, target=y)
    monkeypatch.setattr(variable_selection, "MOST_ENUMERATED", 4)
    monkeypatch.setattr(variable_selection, "CHAIN_STEPS", 6000)
    walked = credo.LinearRegression(select=True).fit(z, target=y)
    assert walked.fitted.inclusion is not None
    assert not walked.fitted.inclusion.exact
    for name, chance in exact.inclusion().items():
        assert abs(walked.inclusion()[name] - chance) < 0.05
    np.testing.assert_array_equal(walked.fitted.basis.kept, exact.fitted.basis.kept)


def test_selection_leaves_out_noise_and_keeps_heredity() -> None:
    z = RNG.normal(size=(200, 4))
    data = {name: z[:, j] for j, name in enumerate("abcd")}
    y = z[:, 0] * z[:, 1] * 2 + RNG.normal(size=200)
    model = credo.LinearRegression(select=True, interactions="all").fit(data, target=y)
    kept = {model.fitted.basis.features.sources[i] for i in model.fitted.basis.kept}
    assert kept == {("a",), ("b",), ("a", "b")}
    assert model.inclusion()["a × b"] > 0.99
    assert model.inclusion()["d"] < 0.2


@pytest.mark.slow
def test_predictive_intervals_hold_their_share() -> None:
    """Over many small tables, whose weights are drawn from one distribution."""
    inside, means = list[bool](), list[bool]()
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x, w = rng.normal(size=(16, 4)), rng.normal(size=4)
        y = x @ w + rng.normal(size=16)
        model = credo.LinearRegression().fit(x[:15], target=y[:15])
        low, high = model.intervals(x[15:], 0.8)
        inside.append(low[0] <= y[15] <= high[0])
        low, high = model.interval(0.8).weights
        means += ((low[1:] <= w) & (w <= high[1:])).tolist()
    assert 0.74 < np.mean(inside) < 0.86
    assert 0.70 < np.mean(means) < 0.86


@pytest.mark.parametrize("ridge", ["evidence", 1e-12])
def test_subsets_that_fit_exactly(ridge: Any) -> None:
    """Rounding may leave a negative sum of squares."""
    for weights in ([1.0, -2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 3.0]):
        used = {f"x{j}" for j, weight in enumerate(weights) if weight}
        with unheard():
            found = credo.LinearRegression(select=True, ridge=ridge).fit(X, target=X @ weights).inclusion()
        assert {name for name in found if found[name] > 0.5} == used


def test_student_noise_is_the_most_probable_line() -> None:
    """EM ends where an optimiser of the same objective does."""
    from scipy.optimize import minimize
    from scipy.stats import t as student

    rng = np.random.default_rng(5)
    x = rng.normal(size=80)
    y = x + 0.3 * rng.standard_t(2, size=80)
    model = credo.LinearRegression(ridge=0, noise="student").fit({"x": x}, target=y)

    def cost(theta: Any) -> float:
        a, w, log_variance, log_degrees = theta
        law = student(np.exp(np.clip(log_degrees, 0.0, np.log(100))), a + w * x, np.exp(log_variance / 2))
        return float(-law.logpdf(y).sum() + log_variance)  # p(σ²) ∝ 1/σ²

    found = minimize(
        cost, [0.0, 1.0, -2.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 8000}
    )
    assert model.robust is not None
    np.testing.assert_allclose(model.mode().weights, found.x[:2], atol=1e-4)
    np.testing.assert_allclose(np.log(model.mode().variance), found.x[2], atol=1e-3)
    np.testing.assert_allclose(np.log(model.robust.degrees), found.x[3], atol=1e-2)


def test_fast_sums_are_the_sums() -> None:
    """Many rows take another kernel: the same moments, to the last bits."""
    x = np.random.default_rng(1).normal(1e6, 1.0, size=(20_000, 20))
    found = CrossMoments.of(x, Hard.whole(len(x)))
    plain = CrossMoments.of(x, Hard.whole(len(x), np.where(np.arange(len(x)) < 0, 2.0, 1.0)))
    centred = x - x.mean(0)
    np.testing.assert_allclose(found.scatter[0], centred.T @ centred, rtol=1e-9, atol=1e-6)
    np.testing.assert_array_equal(found.second.high, plain.second.high)
