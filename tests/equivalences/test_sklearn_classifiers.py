"""scikit-learn's classifiers, with settings that mean the same, give the same posteriors.

Settings that match: credo's estimate="ml" of numbers divides by n, as GaussianNB without its floor on variances, LDA
and QDA do (in older releases QDA, and LDA by "svd", divided by less); its posterior means of categories under
Dirichlet(l) are CategoricalNB's and BernoulliNB's with alpha = l, whose P(class) isn't smoothed. MultinomialNB reads
words' counts by the row: it is compared with text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

import credo
from credo.models.classifier import Classifier

N = 400
RNG = np.random.default_rng(0)
KIND = RNG.choice(["ash", "birch", "cedar"], N, p=[0.5, 0.3, 0.2])
PLACE = np.searchsorted(["ash", "birch", "cedar"], KIND)
MIX = np.array([[1.0, 0.5, 0.0, 0.2], [0.0, 1.0, 0.7, 0.0], [0.0, 0.0, 1.0, -0.4], [0.0, 0.0, 0.0, 1.0]])
NUMBERS = PLACE[:, None] * [1.0, -0.5, 0.3, 0.0] + RNG.normal(size=(N, 4)) @ MIX * (1 + 0.5 * PLACE[:, None])
NEW = RNG.normal(0.5, 2, (100, 4))
WEIGHT = RNG.integers(1, 5, N).astype(float)


def codes(rng: np.random.Generator, place: Any) -> Any:
    """Columns of 2, 3 and 5 values, of which all occur."""
    found = [(place * rng.integers(0, 2, len(place)) + rng.integers(0, size, len(place))) % size for size in (2, 3, 5)]
    return np.column_stack(found)


CODES, NEW_CODES = codes(RNG, PLACE), codes(RNG, RNG.integers(0, 3, 100))
TRUTHS, NEW_TRUTHS = RNG.random((N, 5)) < 0.2 + 0.2 * PLACE[:, None], RNG.random((100, 5)) < 0.5
CATEGORIES = {f"x{j}": "category" for j in range(5)}


def assert_same_posteriors(model: Classifier, reference: Any, rows: Any) -> None:
    assert list(model.classes) == list(reference.classes_)
    np.testing.assert_allclose(model.predict_proba(rows), reference.predict_proba(rows), rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.predict_log_proba(rows), reference.predict_log_proba(rows), rtol=1e-8, atol=1e-8)
    assert model.predict(rows).tolist() == reference.predict(rows).tolist()


# Naive Bayes


def test_gaussian_naive_bayes() -> None:
    model = credo.NaiveBayes(estimate="ml", class_smoothing=0).fit(NUMBERS, target=KIND)
    assert_same_posteriors(model, GaussianNB(var_smoothing=0).fit(NUMBERS, KIND), NEW)
    by_name = credo.GaussianDiscriminant("diagonal", estimate="ml").fit(NUMBERS, target=KIND)
    assert_same_posteriors(by_name, GaussianNB(var_smoothing=0).fit(NUMBERS, KIND), NEW)


def test_gaussian_naive_bayes_with_weights_and_priors() -> None:
    weighted = credo.NaiveBayes(estimate="ml").fit(NUMBERS, target=KIND, weight=WEIGHT)
    assert_same_posteriors(weighted, GaussianNB(var_smoothing=0).fit(NUMBERS, KIND, WEIGHT), NEW)
    prior = {"ash": 0.2, "birch": 0.2, "cedar": 0.6}
    given = credo.NaiveBayes(estimate="ml", class_prior=prior).fit(NUMBERS, target=KIND)
    assert_same_posteriors(given, GaussianNB(priors=[0.2, 0.2, 0.6], var_smoothing=0).fit(NUMBERS, KIND), NEW)


def test_gaussian_naive_bayes_in_parts() -> None:
    """scikit-learn's partial_fit keeps estimates; without its floor, they are still nearly those of all rows."""
    reference = GaussianNB(var_smoothing=0)
    model = credo.NaiveBayes(estimate="ml").fit(NUMBERS[:150], target=KIND[:150])
    reference.partial_fit(NUMBERS[:150], KIND[:150], classes=["ash", "birch", "cedar"])
    for start in (150, 250, 350):
        rows = slice(start, start + 100)
        model = model.update(NUMBERS[rows], target=KIND[rows])
        reference.partial_fit(NUMBERS[rows], KIND[rows])
    assert_same_posteriors(model, reference, NEW)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 1.0, 10.0])
@pytest.mark.parametrize("estimate", ["mean", "bayes"])
def test_categorical_naive_bayes(alpha: float, estimate: Any) -> None:
    kinds = {"x1": "category", "x2": "category"}
    model = credo.NaiveBayes(smoothing=alpha, class_smoothing=0, estimate=estimate, kinds=kinds)
    reference = CategoricalNB(alpha=alpha, min_categories=[2, 3, 5])
    assert_same_posteriors(model.fit(CODES, target=KIND), reference.fit(CODES, KIND), NEW_CODES)
    weighted = model.fit(CODES, target=KIND, weight=WEIGHT)
    assert_same_posteriors(weighted, reference.fit(CODES, KIND, WEIGHT), NEW_CODES)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 3.0])
def test_bernoulli_naive_bayes(alpha: float) -> None:
    model = credo.NaiveBayes(smoothing=alpha, class_smoothing=0, kinds=CATEGORIES)
    reference = BernoulliNB(alpha=alpha)
    assert_same_posteriors(model.fit(TRUTHS, target=KIND), reference.fit(TRUTHS, KIND), NEW_TRUTHS)
    weighted = model.fit(TRUTHS, target=KIND, weight=WEIGHT)
    assert_same_posteriors(weighted, reference.fit(TRUTHS, KIND, WEIGHT), NEW_TRUTHS)


def test_bernoulli_naive_bayes_of_classes_that_are_as_probable() -> None:
    even = {"ash": 1 / 3, "birch": 1 / 3, "cedar": 1 / 3}
    model = credo.NaiveBayes(class_prior=even, kinds=CATEGORIES).fit(TRUTHS, target=KIND)
    assert_same_posteriors(model, BernoulliNB(alpha=1.0, fit_prior=False).fit(TRUTHS, KIND), NEW_TRUTHS)


def test_kinds_multiply() -> None:
    """Numbers and categories in one model: the product of scikit-learn's two, with the prior counted once."""
    table = {f"n{j}": NUMBERS[:, j] for j in range(4)} | {f"c{j}": CODES[:, j] for j in range(3)}
    new = {f"n{j}": NEW[:, j] for j in range(4)} | {f"c{j}": NEW_CODES[:, j] for j in range(3)}
    numbers = GaussianNB(var_smoothing=0).fit(NUMBERS, KIND)
    words = CategoricalNB(alpha=1e-10, force_alpha=True, min_categories=[2, 3, 5]).fit(CODES, KIND)
    log_joint = numbers.predict_joint_log_proba(NEW) + words.predict_joint_log_proba(NEW_CODES)
    log_joint -= np.log(numbers.class_prior_)
    model = credo.NaiveBayes(estimate="ml", kinds={f"c{j}": "category" for j in range(3)}).fit(table, target=KIND)
    np.testing.assert_allclose(model.log_joint(new), log_joint, rtol=1e-8)


# Discriminants


@pytest.mark.parametrize("solver", ["lsqr", "svd"])
def test_linear_discriminant_analysis(solver: str) -> None:
    model = credo.GaussianDiscriminant("tied", estimate="ml").fit(NUMBERS, target=KIND)
    assert_same_posteriors(model, LinearDiscriminantAnalysis(solver=solver).fit(NUMBERS, KIND), NEW)


def test_linear_discriminant_analysis_with_given_priors() -> None:
    """By "svd": by "lsqr" scikit-learn weighs the classes' covariances by the given priors, not by their rows."""
    even = {"ash": 1 / 3, "birch": 1 / 3, "cedar": 1 / 3}
    model = credo.GaussianDiscriminant("tied", estimate="ml", class_prior=even).fit(NUMBERS, target=KIND)
    reference = LinearDiscriminantAnalysis(solver="svd", priors=[1 / 3] * 3).fit(NUMBERS, KIND)
    assert_same_posteriors(model, reference, NEW)


def test_linear_weights() -> None:
    two = KIND != "cedar"
    found = credo.GaussianDiscriminant("tied", estimate="ml").fit(NUMBERS[two], target=KIND[two]).linear_weights()
    reference = LinearDiscriminantAnalysis(solver="lsqr").fit(NUMBERS[two], KIND[two])
    np.testing.assert_allclose(found.weights, reference.coef_[0], rtol=1e-8)
    np.testing.assert_allclose(found.intercept, reference.intercept_[0], rtol=1e-8)


def test_quadratic_discriminant_analysis() -> None:
    model = credo.GaussianDiscriminant("full", estimate="ml").fit(NUMBERS, target=KIND)
    assert_same_posteriors(model, QuadraticDiscriminantAnalysis().fit(NUMBERS, KIND), NEW)


def test_rows_twice_are_rows_of_weight_two() -> None:
    """scikit-learn's discriminants take no weights; its rows can be repeated."""
    often = np.repeat(np.arange(N), WEIGHT.astype(int))
    for how, reference in (("full", QuadraticDiscriminantAnalysis()), ("tied", LinearDiscriminantAnalysis("lsqr"))):
        model = credo.GaussianDiscriminant(how, estimate="ml")  # type: ignore[arg-type]
        weighted = model.fit(NUMBERS, target=KIND, weight=WEIGHT)
        assert_same_posteriors(weighted, reference.fit(NUMBERS[often], KIND[often]), NEW)
