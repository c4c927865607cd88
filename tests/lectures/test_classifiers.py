"""The worked numbers of the lectures on classifiers: PlayTennis, EnjoySport, smoothing, and Gaussians' boundaries."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import credo
from credo.errors import EvidenceError
from credo.models.classifier import Classifier
from credo.numerics.exact import Array

# Mitchell, Machine Learning, table 3.2
TENNIS = [
    "sunny    hot   high    weak    no",
    "sunny    hot   high    strong  no",
    "overcast hot   high    weak    yes",
    "rain     mild  high    weak    yes",
    "rain     cool  normal  weak    yes",
    "rain     cool  normal  strong  no",
    "overcast cool  normal  strong  yes",
    "sunny    mild  high    weak    no",
    "sunny    cool  normal  weak    yes",
    "rain     mild  normal  weak    yes",
    "sunny    mild  normal  strong  yes",
    "overcast mild  high    strong  yes",
    "overcast hot   normal  weak    yes",
    "rain     mild  high    strong  no",
]
# Mitchell, table 2.1
SPORT = [
    "Sunny Warm Normal Strong Warm Same   yes",
    "Sunny Warm High   Strong Warm Same   yes",
    "Rainy Cold High   Strong Warm Change no",
    "Sunny Warm High   Strong Cool Change yes",
]


def rows_of(lines: list[str], names: str) -> list[dict[str, str]]:
    return [dict(zip(names.split(), line.split(), strict=True)) for line in lines]


PLAY_TENNIS = rows_of(TENNIS, "outlook temperature humidity wind play")
ENJOY_SPORT = rows_of(SPORT, "sky air humidity wind water forecast enjoy")
TODAY = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}


def parameter(model: Classifier, column: str, name: str) -> dict[str, float]:
    """One line of the table of parameters, by class."""
    for line in model.parameters().to_pylist():
        if (line["column"], line["parameter"]) == (column, name):
            return {value: line[str(value)] for value in model.classes}
    raise AssertionError(f"no parameter {name} of {column}")


def shares(model: Classifier, row: dict[str, Any]) -> dict[Any, float]:
    return dict(zip(model.classes, model.predict_proba([row])[0].tolist(), strict=True))


def joint(model: Classifier, row: dict[str, Any]) -> dict[Any, float]:
    return dict(zip(model.classes, np.exp(model.log_joint([row])[0]).tolist(), strict=True))


# PlayTennis


def test_play_tennis_by_maximum_likelihood() -> None:
    model = credo.NaiveBayes(estimate="ml").fit(PLAY_TENNIS, target="play")
    assert model.classes == ("no", "yes")
    assert parameter(model, "play", "P(class)") == pytest.approx({"yes": 9 / 14, "no": 5 / 14}, rel=1e-14)
    assert parameter(model, "wind", "P(strong)") == pytest.approx({"yes": 3 / 9, "no": 3 / 5}, rel=1e-14)
    exact = {
        "yes": Fraction(9, 14) * Fraction(2, 9) * Fraction(3, 9) * Fraction(3, 9) * Fraction(3, 9),
        "no": Fraction(5, 14) * Fraction(3, 5) * Fraction(1, 5) * Fraction(4, 5) * Fraction(3, 5),
    }
    assert joint(model, TODAY) == pytest.approx({value: float(p) for value, p in exact.items()}, rel=1e-13)
    assert {value: round(p, 6) for value, p in joint(model, TODAY).items()} == {"yes": 0.005291, "no": 0.020571}
    assert round(shares(model, TODAY)["no"], 4) == 0.7954
    assert model.predict([TODAY]).tolist() == ["no"]


@pytest.mark.parametrize("estimate", ["mean", "bayes"])
def test_play_tennis_smoothed(estimate: Any) -> None:
    """One row's predictive is its posterior mean: for categories the two estimates are one."""
    model = credo.NaiveBayes(smoothing=1, class_smoothing=1, estimate=estimate).fit(PLAY_TENNIS, target="play")
    exact = {
        "yes": Fraction(10, 16) * Fraction(3, 12) * Fraction(4, 12) * Fraction(4, 11) * Fraction(4, 11),
        "no": Fraction(6, 16) * Fraction(4, 8) * Fraction(2, 8) * Fraction(5, 7) * Fraction(4, 7),
    }
    assert joint(model, TODAY) == pytest.approx({value: float(p) for value, p in exact.items()}, rel=1e-13)
    assert {value: round(p, 6) for value, p in joint(model, TODAY).items()} == {"yes": 0.006887, "no": 0.019133}
    assert round(shares(model, TODAY)["no"], 4) == 0.7353


def test_play_tennis_with_the_mode_of_beta_2_2() -> None:
    """The mode under Dirichlet(2) is the mean under Dirichlet(1)."""
    mode = credo.NaiveBayes(smoothing=2, estimate="map").fit(PLAY_TENNIS, target="play")
    mean = credo.NaiveBayes(smoothing=1, estimate="mean").fit(PLAY_TENNIS, target="play")
    np.testing.assert_allclose(mode.log_joint([TODAY]), mean.log_joint([TODAY]), rtol=1e-13)


def test_reasons_for_staying_at_home() -> None:
    found = credo.NaiveBayes(estimate="ml").fit(PLAY_TENNIS, target="play").explain(TODAY)
    assert (found.of, found.against) == ("no", "yes")
    assert found.prior == pytest.approx(np.log(5 / 9))
    assert found.weights["wind"] == pytest.approx(np.log((3 / 5) / (3 / 9)))
    assert found.weights["outlook"] == pytest.approx(np.log((3 / 5) / (2 / 9)))
    assert found.log_odds == pytest.approx(np.log(0.020571 / 0.005291), abs=1e-4)


# EnjoySport


def test_enjoy_sport() -> None:
    model = credo.NaiveBayes(smoothing=1, class_smoothing=1, estimate="mean").fit(ENJOY_SPORT, target="enjoy")
    (row,) = rows_of(["Sunny Warm Normal Strong Cool Change"], "sky air humidity wind water forecast")
    exact = {
        "yes": Fraction(4, 6) * Fraction(4, 5) ** 2 * Fraction(2, 5) * Fraction(4, 4) * Fraction(2, 5) ** 2,
        "no": Fraction(2, 6) * Fraction(1, 3) ** 2 * Fraction(1, 3) * Fraction(2, 2) * Fraction(1, 3) * Fraction(2, 3),
    }
    assert joint(model, row) == pytest.approx({value: float(p) for value, p in exact.items()}, rel=1e-13)
    assert shares(model, row)["yes"] == pytest.approx(float(exact["yes"] / sum(exact.values())), rel=1e-13)
    assert round(shares(model, row)["yes"], 4) == 0.9087


def test_a_row_that_no_class_allows() -> None:
    """Maximum likelihood takes what it never saw for impossible; the error says which cells."""
    (row,) = rows_of(["Rainy Cold Normal Strong Cool Change"], "sky air humidity wind water forecast")
    model = credo.NaiveBayes(estimate="ml").fit(ENJOY_SPORT, target="enjoy")
    assert np.isneginf(model.log_joint([row])).all()
    for verb in (model.predict, model.predict_proba, model.predict_log_proba, model.decide):
        with pytest.raises(EvidenceError) as caught:
            verb([ENJOY_SPORT[0], row])
        text = str(caught.value)
        assert text.startswith("row 2 is impossible under every class: ")
        for cell in ("sky='Rainy' (never with yes)", "air='Cold' (never with yes)"):
            assert cell in text
        for cell in ("humidity='Normal' (never with no)", "water='Cool' (never with no)"):
            assert cell in text
        assert "wind" not in text
        assert "forecast" not in text
    with pytest.raises(EvidenceError, match="impossible under every class"):
        model.explain(row)
    for estimate in ("mean", "bayes"):
        possible = credo.NaiveBayes(estimate=estimate).fit(ENJOY_SPORT, target="enjoy")
        assert possible.predict_proba([row]).min() > 0


# Smoothing


def test_laplace_is_the_mean_of_beta_1_1() -> None:
    table = {"heads": ["yes"] * 7 + ["no"] * 2 + ["yes"] * 1 + ["no"] * 4, "coin": ["a"] * 9 + ["b"] * 5}
    model = credo.NaiveBayes(smoothing=1, estimate="mean").fit(table, target="coin")
    found = parameter(model, "heads", "P(yes)")
    assert found == pytest.approx({"a": 8 / 11, "b": 2 / 7}, rel=1e-14)
    for coin in ("a", "b"):
        flips = [heads == "yes" for heads, name in zip(table["heads"], table["coin"], strict=True) if name == coin]
        assert found[coin] == pytest.approx(credo.BetaBernoulli(1, 1).update(flips).mean(), rel=1e-14)


@pytest.mark.parametrize(("smoothing", "n", "j"), [(0.5, 9, 3), (1.0, 9, 3), (10.0, 9, 3)])
def test_smoothed_shares(smoothing: float, n: int, j: int) -> None:
    """(n_c + l)/(n + l J)"""
    model = credo.NaiveBayes(smoothing=smoothing, estimate="mean").fit(PLAY_TENNIS, target="play")
    for value, count in (("sunny", 2), ("overcast", 4), ("rain", 3)):
        expected = (count + smoothing) / (n + smoothing * j)
        assert parameter(model, "outlook", f"P({value})")["yes"] == pytest.approx(expected, rel=1e-13)


def test_the_m_estimate() -> None:
    """(n_c + m p)/(n + m), p being 1/J where it isn't said."""
    model = credo.NaiveBayes(m=6, p={"wind": {"strong": 0.25, "weak": 0.75}}, estimate="mean")
    model = model.fit(PLAY_TENNIS, target="play")
    assert parameter(model, "wind", "P(strong)")["yes"] == pytest.approx((3 + 6 * 0.25) / (9 + 6), rel=1e-14)
    assert parameter(model, "wind", "P(strong)")["no"] == pytest.approx((3 + 6 * 0.25) / (5 + 6), rel=1e-14)
    assert parameter(model, "outlook", "P(overcast)")["no"] == pytest.approx((0 + 6 / 3) / (5 + 6), rel=1e-14)
    laplace = credo.NaiveBayes(m=2, estimate="mean").fit(PLAY_TENNIS, target="play")
    assert parameter(laplace, "humidity", "P(high)")["yes"] == pytest.approx((3 + 1) / (9 + 2), rel=1e-14)


# How many numbers


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_parameters_of_boolean_features(n: int) -> None:
    """2n + 1, where a table of all combinations would need 2(2^n - 1) beside the class's share."""
    rng = np.random.default_rng(n)
    table = {f"x{j}": rng.permutation([True, False] * 20) for j in range(n)} | {"y": [True, False] * 20}
    model = credo.NaiveBayes().fit(table, target="y")
    assert model.n_parameters == 2 * n + 1
    unrestricted = 2 * (2**n - 1)
    assert n < 3 or unrestricted > 2 * n


def test_parameters_of_gaussians() -> None:
    """Means and covariances of 3 columns and 2 classes, and one share."""
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=30), "b": rng.normal(size=30), "c": rng.normal(size=30), "y": ["p", "q"] * 15}
    found = {
        how: credo.GaussianDiscriminant(how).fit(table, target="y").n_parameters
        for how in ("full", "tied", "diagonal", "spherical")
    }
    assert found == {"full": 1 + 6 + 12, "tied": 1 + 6 + 6, "diagonal": 1 + 6 + 6, "spherical": 1 + 6 + 1}


# Gaussians and their boundaries

RNG = np.random.default_rng(7)
SIZE = 120
FIRST = RNG.multivariate_normal([0, 0], [[1.0, 0.6], [0.6, 2.0]], SIZE)
SECOND = RNG.multivariate_normal([3, 1], [[2.0, -0.5], [-0.5, 0.5]], SIZE // 2)
POINTS: dict[str, Any] = {
    "u": np.concatenate([FIRST[:, 0], SECOND[:, 0]]),
    "v": np.concatenate([FIRST[:, 1], SECOND[:, 1]]),
    "y": ["first"] * SIZE + ["second"] * (SIZE // 2),
}
POINT_ESTIMATES = ("ml", "map", "mean")


def gauss(covariance: Any, estimate: Any, **options: Any) -> credo.GaussianDiscriminant:
    return credo.GaussianDiscriminant(covariance, estimate=estimate, **options).fit(POINTS, target="y")


def log_odds(model: Classifier, points: Any) -> Array:
    """Of the second class."""
    u, v = np.atleast_2d(points).T
    log_share = model.predict_log_proba({"u": u, "v": v})
    return np.asarray(log_share[:, 1] - log_share[:, 0])


def crossing(decide: Callable[[Any], Array], start: Any, end: Any) -> Array:
    """Where the line from start to end meets the boundary, by bisection."""
    low, high = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    assert decide(low)[0] < 0 < decide(high)[0]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if decide(middle)[0] < 0 else (low, middle)
    return low


def bend(model: Classifier) -> float:
    """How far three points of the boundary are from lying on a line: their triangle's area, by a side squared."""
    first, second, third = (crossing(lambda x: log_odds(model, x), (-1, v), (9, v)) for v in (-2.0, 1.0, 4.0))
    a, b = second - first, third - first
    return abs(float(a[0] * b[1] - a[1] * b[0])) / float(b @ b)


@pytest.mark.parametrize("estimate", POINT_ESTIMATES)
def test_tied_has_a_linear_boundary(estimate: str) -> None:
    model = gauss("tied", estimate)
    assert bend(model) < 1e-10
    along = log_odds(model, np.column_stack([np.linspace(-5, 5, 11), np.linspace(3, -4, 11)]))
    np.testing.assert_allclose(np.diff(along, 2), 0, atol=1e-10)


def test_integrating_bends_it_a_little() -> None:
    """A Student-t's boundary isn't linear: of classes with different numbers of rows."""
    assert 1e-6 < bend(gauss("tied", "bayes")) < 0.05


@pytest.mark.parametrize("estimate", POINT_ESTIMATES)
def test_full_has_a_quadratic_boundary(estimate: str) -> None:
    model = gauss("full", estimate)
    assert bend(model) > 0.01
    along = log_odds(model, np.column_stack([np.linspace(-5, 5, 11), np.linspace(3, -4, 11)]))
    second = np.diff(along, 2)
    assert np.abs(second).min() > 0.1
    np.testing.assert_allclose(second, second[0], rtol=1e-8)  # of a quadratic, these are all the same


@pytest.mark.parametrize("estimate", POINT_ESTIMATES)
def test_spherical_at_equal_priors_is_the_nearest_mean(estimate: str) -> None:
    model = gauss("spherical", estimate, class_prior={"first": 0.5, "second": 0.5})
    means = np.array([[parameter(model, name, "mean")[value] for name in ("u", "v")] for value in ("first", "second")])
    rng = np.random.default_rng(1)
    points = rng.normal(1, 3, (200, 2))
    nearest = np.linalg.norm(points[:, None] - means, axis=2).argmin(1)
    assert model.predict({"u": points[:, 0], "v": points[:, 1]}).tolist() == np.array(model.classes)[nearest].tolist()
    away = np.array([means[1, 1] - means[0, 1], means[0, 0] - means[1, 0]])
    on_it = means.mean(0) + np.linspace(-3, 3, 7)[:, None] * away  # as far from the one as from the other
    np.testing.assert_allclose(log_odds(model, on_it), 0, atol=1e-11)
    distance = model.mahalanobis({"u": on_it[:, 0], "v": on_it[:, 1]})
    np.testing.assert_allclose(distance[:, 0], distance[:, 1], rtol=1e-12)


@pytest.mark.parametrize("estimate", [*POINT_ESTIMATES, "bayes"])
def test_diagonal_is_gaussian_naive_bayes(estimate: Any) -> None:
    naive = credo.NaiveBayes(estimate=estimate).fit(POINTS, target="y")
    np.testing.assert_allclose(gauss("diagonal", estimate).log_joint(POINTS), naive.log_joint(POINTS), rtol=1e-13)


@pytest.mark.parametrize("estimate", POINT_ESTIMATES)
@pytest.mark.parametrize("options", [{}, {"class_prior": {"first": 0.9, "second": 0.1}}], ids=["seen", "given"])
def test_linear_weights_are_the_models_own_posterior(estimate: str, options: dict[str, Any]) -> None:
    model = gauss("tied", estimate, **options)
    weights, intercept, columns = model.linear_weights()
    assert columns == ("u", "v")
    x = np.column_stack([POINTS["u"], POINTS["v"]])
    share = 1 / (1 + np.exp(-(x @ weights + intercept)))
    np.testing.assert_allclose(share, model.predict_proba(POINTS)[:, 1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(x @ weights + intercept, log_odds(model, x), rtol=1e-10, atol=1e-10)


def test_linear_weights_by_hand() -> None:
    """w = Σ⁻¹(μ₁ - μ₀), intercept = log P₁/P₀ - ½(μ₁ + μ₀)′w"""
    found = gauss("tied", "ml").linear_weights()
    means = [FIRST.mean(0), SECOND.mean(0)]
    scatter = sum((rows - rows.mean(0)).T @ (rows - rows.mean(0)) for rows in (FIRST, SECOND))
    w = np.linalg.solve(scatter / (1.5 * SIZE), means[1] - means[0])
    np.testing.assert_allclose(found.weights, w, rtol=1e-10)
    np.testing.assert_allclose(found.intercept, np.log(0.5) - (means[0] + means[1]) @ w / 2, rtol=1e-10)


def test_linear_weights_are_of_two_classes_and_a_tied_covariance() -> None:
    with pytest.raises(EvidenceError, match="two classes and a tied covariance"):
        gauss("full", "ml").linear_weights()
    three = {**POINTS, "y": ["a", "b", "c"] * (SIZE // 2)}
    with pytest.raises(EvidenceError, match="two classes and a tied covariance"):
        credo.GaussianDiscriminant("tied").fit(three, target="y").linear_weights()


# The log-density, with -½ log|Σ| (the lecture's log|Σ⁻¹| there is a slip, and so is Σ = σ₂I for σ²I)


def test_the_log_density_of_a_full_gaussian() -> None:
    model, x = gauss("full", "ml"), np.column_stack([POINTS["u"], POINTS["v"]])
    found = model.log_joint(POINTS)
    for k, rows in enumerate((FIRST, SECOND)):
        law = multivariate_normal(rows.mean(0), np.cov(rows.T, bias=True))
        np.testing.assert_allclose(found[:, k], law.logpdf(x) + np.log(len(rows) / len(x)), rtol=1e-10)
    sizes = [np.log(np.linalg.det(np.cov(rows.T, bias=True))) for rows in (FIRST, SECOND)]
    means = np.array([rows.mean(0) for rows in (FIRST, SECOND)])
    at_means = model.log_joint({"u": means[:, 0], "v": means[:, 1]})
    peaks = np.diag(at_means) - np.log([2 / 3, 1 / 3])
    np.testing.assert_allclose(peaks, -0.5 * np.array(sizes) - np.log(2 * np.pi), rtol=1e-10)


def test_the_log_density_of_a_tied_gaussian() -> None:
    found, x = gauss("tied", "ml").log_joint(POINTS), np.column_stack([POINTS["u"], POINTS["v"]])
    within = np.concatenate([rows - rows.mean(0) for rows in (FIRST, SECOND)])
    for k, rows in enumerate((FIRST, SECOND)):
        law = multivariate_normal(rows.mean(0), within.T @ within / len(within))
        np.testing.assert_allclose(found[:, k], law.logpdf(x) + np.log(len(rows) / len(x)), rtol=1e-10)


def test_the_log_density_of_a_spherical_gaussian() -> None:
    """σ² is the mean square of all columns' deviations from the classes' means."""
    model, x = gauss("spherical", "ml"), np.column_stack([POINTS["u"], POINTS["v"]])
    within = np.concatenate([rows - rows.mean(0) for rows in (FIRST, SECOND)])
    for k, rows in enumerate((FIRST, SECOND)):
        law = multivariate_normal(rows.mean(0), np.eye(2) * (within**2).mean())
        expected = law.logpdf(x) + np.log(len(rows) / len(x))
        np.testing.assert_allclose(model.log_joint(POINTS)[:, k], expected, rtol=1e-10)


def test_the_log_density_of_a_diagonal_gaussian() -> None:
    model = gauss("diagonal", "ml")
    for k, rows in enumerate((FIRST, SECOND)):
        each = [norm(rows[:, j].mean(), rows[:, j].std()).logpdf(POINTS[name]) for j, name in enumerate("uv")]
        expected = sum(each) + np.log(len(rows) / (1.5 * SIZE))
        np.testing.assert_allclose(model.log_joint(POINTS)[:, k], expected, rtol=1e-10)


def test_mahalanobis_distances() -> None:
    model = gauss("full", "ml")
    found = model.mahalanobis(POINTS)
    x = np.column_stack([POINTS["u"], POINTS["v"]])
    for k, rows in enumerate((FIRST, SECOND)):
        away = x - rows.mean(0)
        squared = np.einsum("ij,ij->i", away @ np.linalg.inv(np.cov(rows.T, bias=True)), away)
        np.testing.assert_allclose(found[:, k], np.sqrt(squared), rtol=1e-9)
    apart = gauss("diagonal", "ml").mahalanobis({**POINTS, "v": [None, *POINTS["v"][1:]]})
    for k, rows in enumerate((FIRST, SECOND)):
        scaled = (x - rows.mean(0)) / rows.std(0)
        scaled[0, 1] = 0.0  # what isn't known isn't far
        np.testing.assert_allclose(apart[:, k], np.sqrt((scaled**2).sum(1)), rtol=1e-9)


def test_a_log_gaussian_is_a_gaussian_of_logarithms() -> None:
    """And its density is that of the number itself: p(x) = p(log x)/x."""
    rng = np.random.default_rng(3)
    fare = np.exp(rng.normal(2, 1, 50))
    kind = ["p", "q"] * 25
    logs = credo.NaiveBayes(kinds={"fare": credo.Number("log")}).fit({"fare": fare, "y": kind}, target="y")
    plain = credo.NaiveBayes().fit({"fare": np.log(fare), "y": kind}, target="y")
    found, expected = logs.log_joint({"fare": fare}), plain.log_joint({"fare": np.log(fare)})
    np.testing.assert_allclose(found, expected - np.log(fare)[:, None], rtol=1e-12)
    np.testing.assert_allclose(logs.predict_proba({"fare": fare}), plain.predict_proba({"fare": np.log(fare)}))
