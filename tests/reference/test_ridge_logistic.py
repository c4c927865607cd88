"""Ridge logistic regression of several fits at once, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from credo.numerics.ridge_logistic import DenseMatrix, FeatureMatrix, HorizontalStack, RidgeLogistic, SparseMatrix

sklearn = pytest.importorskip("sklearn.linear_model")


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("penalty", [0.1, 10.0])
@pytest.mark.parametrize("kind", ["dense", "sparse", "both"])
def test_fits_of_folds_are_those_of_scikit_learn(classes: int, penalty: float, kind: str) -> None:
    rng = np.random.default_rng(classes)
    x = rng.normal(size=(200, 6))
    x[:, 1] += x[:, 0]  # nearly collinear
    truth = (x @ rng.normal(size=(6, classes)) + rng.gumbel(size=(200, classes))).argmax(1)
    features: FeatureMatrix = {
        "dense": DenseMatrix(x), "sparse": SparseMatrix(csr_matrix(x)),
        "both": HorizontalStack((DenseMatrix(x[:, :2]), SparseMatrix(csr_matrix(x[:, 2:])))),
    }[kind]  # fmt: skip
    weights = np.ones((3, 200))
    weights[0, :40], weights[1, 40:80] = 0.0, 0.0
    problem = RidgeLogistic(features, truth, classes)
    found = problem.fitted(weights, penalty, problem.start(weights), tolerance=1e-12)
    for f, weight in enumerate(weights):
        peer = sklearn.LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=5000)
        peer.fit(x[weight > 0], truth[weight > 0])
        assert found.weights[f] == pytest.approx(peer.coef_, abs=2e-4)
        shift = found.biases[f] - peer.intercept_
        assert shift - shift.mean() * (classes > 2) == pytest.approx(np.zeros(len(shift)), abs=2e-4)


def test_separable_rows_have_finite_weights() -> None:
    x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    problem = RidgeLogistic(DenseMatrix(x), np.array([0, 0, 1, 1]), 2)
    weights = np.ones((1, 4))
    found = problem.fitted(weights, 1e-3, problem.start(weights))
    assert np.isfinite(found.weights).all()
    assert found.weights[0, 0, 0] > 1


def test_features_agree_on_their_sums() -> None:
    rng = np.random.default_rng(0)
    x, w, v = rng.normal(size=(5, 3)), rng.normal(size=(2, 3)), rng.normal(size=(2, 5))
    for features in (
        DenseMatrix(x),
        SparseMatrix(csr_matrix(x)),
        HorizontalStack((DenseMatrix(x[:, :1]), DenseMatrix(x[:, 1:]))),
    ):
        assert features.products(w) == pytest.approx(w @ x.T)
        assert features.sums(v) == pytest.approx(v @ x)
        assert features.squares() == pytest.approx((x**2).sum(0))
        assert (features.rows, features.width) == (5, 3)
        assert features.take(np.array([1, 3])).rows == 2
