"""Logistic regression against scikit-learn at equal penalties, and its evidence against quadrature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression as Reference

import credo
from credo.models.regression.laplace import laplace_evidence
from credo.numerics.exact import Array
from credo.numerics.softmax import MANY_PRODUCTS, FeatureRows, SumLikelihood
from credo.numerics.softmax_modes import WeightPrior, fit_logistic, newton_mode, settled
from tests.laws.classifiers import unheard
from tests.laws.test_logistic import WORDS


def numbers(rows: int, columns: int, classes: int, seed: int = 0) -> tuple[Array, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    logits = x @ rng.normal(size=(columns, classes)) + rng.gumbel(size=(rows, classes))
    return x * np.geomspace(0.2, 3, columns) + 5, np.array([f"c{k}" for k in logits.argmax(1)])


def texts(rows: int, classes: int, seed: int = 0) -> tuple[list[str], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    share = rng.dirichlet(np.full(len(WORDS), 0.5), classes)
    return [" ".join(rng.choice(WORDS, 6, p=share[k])) for k in y], np.array([f"c{k}" for k in y])


@pytest.mark.parametrize("method", ["newton", "lbfgs"])
@pytest.mark.parametrize("penalty", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("classes", [2, 4])
def test_numbers_have_the_weights_of_scikit_learn(classes: int, penalty: float, method: Any) -> None:
    x, y = numbers(300, 5, classes)
    model = credo.LogisticRegression(strength=penalty, scaled=False, estimate="map", method=method).fit(x, target=y)
    peer = Reference(C=1 / penalty, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(x, y)
    tolerance = 1e-6 if method == "newton" else 1e-5  # L-BFGS ends when rounding hides what steps gain
    np.testing.assert_allclose(model.seen.mode[1:].T, peer.coef_, atol=tolerance)
    np.testing.assert_allclose(model.predict_proba(x), peer.predict_proba(x), atol=tolerance)


@pytest.mark.parametrize("classes", [2, 4])
def test_texts_have_the_weights_of_scikit_learn(classes: int) -> None:
    documents, y = texts(200, classes)
    kinds = {"text": credo.Text(ngrams=2, min_count=2)}
    untaught = credo.LogisticRegression(strength=0.1, estimate="map", kinds=kinds)
    model = untaught.fit({"text": documents, "y": y}, target="y")
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    z = vectorizer.fit_transform(documents)
    peer = Reference(C=10, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(z, y)
    words = model.encoding.texts[0].words.to_pylist()
    assert sorted(words) == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_allclose(model.seen.mode[1:][np.argsort(words)].T, peer.coef_, atol=1e-6)
    new, _ = texts(50, classes, seed=1)
    np.testing.assert_allclose(model.predict_proba(new), peer.predict_proba(vectorizer.transform(new)), atol=1e-6)


@pytest.mark.parametrize("classes", [2, 4])
def test_very_many_weights_too(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By conjugate gradients, which find the mode where covariances aren't kept."""
    monkeypatch.setattr("credo.models.regression.logistic_fitting.WIDEST", 3)
    x, y = numbers(300, 5, classes)
    model = credo.LogisticRegression(strength=1.0, scaled=False).fit(x, target=y)
    peer = Reference(C=1, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(x, y)
    np.testing.assert_allclose(model.seen.mode[1:].T, peer.coef_, atol=1e-6)
    assert not model.integrates
    with pytest.raises(credo.EvidenceError, match="cross_validate"):
        model.leave_one_out(x, target=y)
    with pytest.raises(credo.SizeError, match="held-out rows"):
        credo.LogisticRegression(strength="evidence").fit(x, target=y)
    assert np.isfinite(model.update(x, target=y).seen.mode).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_the_gradient_rule_reaches_the_same_weights(classes: int) -> None:
    x, y = numbers(150, 2, classes)
    exact = credo.LogisticRegression(strength=1.0, estimate="map").fit(x, target=y)
    steps = credo.LogisticRegression(strength=1.0, estimate="map", method="gradient").fit(x, target=y)
    np.testing.assert_allclose(steps.seen.mode, exact.seen.mode, atol=2e-4)
    assert (np.diff(steps.history) >= -1e-9).all()
    assert len(steps.history) > len(exact.history)


def test_the_function_on_arrays() -> None:
    x, y = numbers(300, 4, 4)
    names, codes = np.unique(y, return_inverse=True)
    peer = Reference(C=2, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(x, y)
    found = fit_logistic(x, codes, len(names), strength=0.5)
    np.testing.assert_allclose(found[1:].T, peer.coef_, atol=1e-6)
    sparse = fit_logistic(csr_array(x), codes, len(names), strength=0.5, start=found, weight=np.ones(300))
    np.testing.assert_allclose(sparse, found, atol=1e-5)


# The evidence


def log_evidence_by_quadrature(z: Array, truth: Array, strength: float) -> float:
    """Σ over a grid of the intercept and the weights, under a uniform prior on the share in an average row."""
    axes = [np.linspace(-4, 4, 65)] * (1 + z.shape[1])
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))
    logits = grid[:, :1] + grid[:, 1:] @ z.T
    log_likelihood = -np.logaddexp(0, -np.where(truth, logits, -logits)).sum(1)
    b, w = grid[:, 0], grid[:, 1:]
    log_prior = -np.logaddexp(0, -b) - np.logaddexp(0, b)
    log_prior += (0.5 * np.log(strength / (2 * np.pi)) - 0.5 * strength * w**2).sum(1)
    return float(np.logaddexp.reduce(log_likelihood + log_prior) + len(axes) * np.log(axes[0][1] - axes[0][0]))


@pytest.mark.parametrize("strength", [0.3, 2.0])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.slow
def test_the_evidence_is_near_the_integral(columns: int, strength: float) -> None:
    x, y = numbers(120, columns, 2)
    z = (x - x.mean(0)) / x.std(0)
    model = credo.LogisticRegression(strength=strength).fit(x, target=y)
    assert abs(model.log_evidence - log_evidence_by_quadrature(z, y == "c1", strength)) < 0.05


def test_the_strength_has_the_greatest_evidence() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 10))
    y = np.where(x @ rng.normal(0, 0.5, 10) + rng.logistic(size=200) > 0, "yes", "no")
    best = credo.LogisticRegression(strength="evidence").fit(x, target=y)
    found = best.strengths[""]
    for factor in (0.5, 0.8, 1.25, 2.0):
        other = credo.LogisticRegression(strength=found * factor).fit(x, target=y)
        assert other.log_evidence < best.log_evidence + 0.02  # the weak prior on the strength moves it a little
    assert 1 < found < 12  # weights of variance 1/4


def test_two_and_more_classes_agree_on_the_evidence() -> None:
    """Of two classes with a column each, w₂ - w₁ has half the strength."""
    x, y = numbers(100, 2, 2)
    model = credo.LogisticRegression(strength=1.0, estimate="map").fit(x, target=y)
    codes = (y == "c1").astype(np.int32)
    z, scale = x - x.mean(0), x.std(0)
    rows, precision = FeatureRows(z, None, codes, np.ones(100)), np.zeros((3, 2))
    precision[1:] = 2.0 * scale[:, None] ** 2  # the difference then has precision 1
    prior = WeightPrior(np.zeros((3, 2)), precision)
    mode = newton_mode(lambda theta, how: SumLikelihood(theta, how)(rows), prior, np.zeros((3, 2)))
    assert mode.curvature is not None
    whole = settled(prior.added_to(mode.curvature), 2)
    found = laplace_evidence(mode.log_likelihood, mode.coefficients, prior, whole, flat_intercept=True)
    np.testing.assert_allclose(mode.coefficients[:, 1] - mode.coefficients[:, 0], model.seen.mode[:, 0], atol=1e-6)
    assert np.isclose(found, model.log_evidence)


def test_held_out_rows_choose_a_sensible_strength() -> None:
    documents, y = texts(120, 2)
    with unheard():
        model = credo.LogisticRegression().fit({"text": documents, "y": y}, target="y")
        found = model.cross_validate({"text": documents, "y": y}, 3)
        strong = credo.LogisticRegression(strength=1e3).fit({"text": documents, "y": y}, target="y")
    assert model.strengths["text"] < 10
    assert found.log_loss < strong.cross_validate({"text": documents, "y": y}, 3).log_loss


def test_many_rows_have_the_curvature_of_a_plain_product() -> None:
    rng = np.random.default_rng(0)
    x, values, centre = rng.normal(2.0, 3.0, (5003, 30)), rng.uniform(-1.0, 1.0, 5003), rng.normal(size=30)
    rows = FeatureRows(x, None, np.zeros(5003, np.int32), np.ones(5003), centre=centre)
    assert len(x) * 31**2 >= MANY_PRODUCTS
    z = np.column_stack([np.ones(len(x)), x - centre])
    np.testing.assert_allclose(rows.cross(values), (z * values[:, None]).T @ z, rtol=1e-11, atol=1e-8)


def test_sums_over_parts_of_rows_are_those_of_all() -> None:
    rng = np.random.default_rng(1)
    x, codes = rng.normal(size=(9000, 60)), rng.integers(0, 3, 9000).astype(np.int32)
    rows, theta = FeatureRows(x, None, codes, rng.uniform(0.5, 2.0, 9000)), rng.normal(size=(61, 3)) / 8
    assert len(rows.parts()) > 2
    found, halves = SumLikelihood(theta)(rows), [SumLikelihood(theta)(rows.take(np.arange(k, 9000, 2))) for k in (0, 1)]
    assert found.value == pytest.approx(sum(half.value for half in halves), rel=1e-12)
    np.testing.assert_allclose(found.gradient, sum(half.gradient for half in halves), atol=1e-9)


@pytest.mark.slow
def test_very_many_rows_have_the_weights_of_scikit_learn() -> None:
    x, y = numbers(100_000, 5, 2)
    model = credo.LogisticRegression(strength=1.0, scaled=False, estimate="map").fit(x, target=y)
    peer = Reference(C=1.0, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(x, y)
    np.testing.assert_allclose(model.seen.mode[1:].T, peer.coef_, atol=1e-4)  # a hundredth of a standard deviation
    likelihood = np.log(peer.predict_proba(x)[np.arange(len(y)), (y == "c1") * 1]).sum()
    assert model.log_likelihood == pytest.approx(likelihood, abs=0.01)
