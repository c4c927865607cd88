"""Sameness claims among Gaussian beliefs, and against ordinary least squares and scikit-learn."""

from __future__ import annotations

import numpy as np

from credo.core.membership import Hard
from credo.families import LinearGaussian, NormalInverseGamma, NormalInverseWishart, NormalMean

RNG = np.random.default_rng(0)
X = RNG.normal([1, 2], [1, 3], (50, 2))
CODES = RNG.integers(0, 3, 50).astype(np.int32)


def test_one_column_of_an_inverse_wishart_is_an_inverse_gamma() -> None:
    """InverseWishart(ν, Λ) of one column is InverseGamma(ν/2, Λ/2)."""
    joint = NormalInverseWishart([0.5], 2, 3, 4).update(X[:, :1])
    single = NormalInverseGamma(0.5, 2, 1.5, 2).update(X[:, 0])
    np.testing.assert_allclose(joint.log_evidence(), single.log_evidence(), rtol=1e-12)
    np.testing.assert_allclose(joint.mode().covariance[0, 0], single.mode().variance, rtol=1e-12)
    np.testing.assert_allclose(joint.predictive().log_prob([[2.0]]), single.predictive().log_prob(2.0), rtol=1e-12)


def test_diagonal_is_a_normal_inverse_gamma_for_each_column() -> None:
    joint = NormalInverseWishart([0, 1], 2, 3, np.diag([4.0, 6.0]), "diagonal")
    statistics = joint.statistics(X, Hard.of(CODES, 3))
    each = [NormalInverseGamma(m, 2, 1.5, s) for m, s in ((0, 2), (1, 3))]
    parts = [one.statistics(X[:, j], Hard.of(CODES, 3)) for j, one in enumerate(each)]
    evidence = sum(one.log_evidence(part) for one, part in zip(each, parts, strict=True))
    np.testing.assert_allclose(joint.log_evidence(statistics), evidence, rtol=1e-12)
    predictive = sum(
        one.posterior(part).log_predictive(X[:5, j]) for j, (one, part) in enumerate(zip(each, parts, strict=True))
    )
    np.testing.assert_allclose(joint.posterior(statistics).log_predictive(X[:5]), predictive, rtol=1e-12)


def test_spherical_is_one_variance_for_all_cells() -> None:
    """With means known to be 0 (an endless strength), all cells are one column's."""
    joint = NormalInverseWishart([0, 0], 1e12, 3, 4, "spherical")
    statistics = joint.statistics(X, Hard.of(CODES, 3))
    single = NormalInverseGamma(0, 1e12, 1.5, 2).update(X.ravel())
    variance = joint.posterior(statistics).mean().covariance[0, 0, 0]
    np.testing.assert_allclose(variance, single.mean().variance, rtol=1e-6)


def test_tied_with_one_group_is_full() -> None:
    full, tied = (NormalInverseWishart([0, 1], 2, 4, 3, use) for use in ("full", "tied"))
    statistics = full.statistics(X, Hard.whole(len(X)))
    np.testing.assert_allclose(tied.log_evidence(statistics), full.log_evidence(statistics)[0], rtol=1e-12)
    np.testing.assert_allclose(
        tied.posterior(statistics).log_predictive(X), full.posterior(statistics).log_predictive(X), rtol=1e-12
    )


def test_tied_is_the_pooled_within_group_covariance() -> None:
    """With a weak prior, tied equals linear discriminant analysis."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    faint = NormalInverseWishart([0, 0], 1e-9, 1 + 1e-9, 1e-9, "tied")
    statistics = faint.statistics(X, Hard.of(CODES, 3))
    reference = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(X, CODES)
    np.testing.assert_allclose(faint.maximum_likelihood(statistics).covariance[0], reference.covariance_, rtol=1e-8)
    np.testing.assert_allclose(faint.maximum_likelihood(statistics).mean, reference.means_, rtol=1e-10)


def test_an_intercept_alone_is_a_normal_inverse_gamma() -> None:
    """A regression on nothing: precision κ on the intercept is strength κ."""
    y = X[:, 0]
    line = LinearGaussian([0.5], [[2.0]], 1.5, 3).update({"y": y}, target="y")
    single = NormalInverseGamma(0.5, 2, 1.5, 3).update(y)
    np.testing.assert_allclose(line.log_evidence(), single.log_evidence(), rtol=1e-12)
    np.testing.assert_allclose(line.mean().weights, single.mean().mean, rtol=1e-12)


def test_a_broad_prior_gives_least_squares_even_far_from_nought() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(1e6, 1, (200, 2))
    y = 3 + x @ [2.0, -1.0] + rng.normal(size=200)
    line = LinearGaussian(0, 1e-20).update({"a": x[:, 0], "b": x[:, 1], "y": y}, target="y")
    centred = np.column_stack([np.ones(200), x - x.mean(0)])
    reference = np.linalg.lstsq(centred, y - y.mean())[0]
    np.testing.assert_allclose(line.mean().weights[1:], reference[1:], rtol=1e-7)


def test_known_noise_is_the_limit_of_a_sure_variance() -> None:
    """InverseGamma(a, aσ²) with a → ∞ knows the variance σ²."""
    y = X[:, 0]
    known = NormalMean(0.5, 2.0, 1.5).update(y)
    sure = NormalInverseGamma(0.5, (1.5 / 2.0) ** 2, 1e8, 1e8 * 1.5**2).update(y)
    np.testing.assert_allclose(known.mean(), sure.mean().mean, rtol=1e-10)
    np.testing.assert_allclose(known.log_evidence(), sure.log_evidence(), rtol=1e-5)


def test_ridge_regression_is_the_posterior_mean() -> None:
    from sklearn.linear_model import Ridge

    y = X[:, 1] * 2 + RNG.normal(size=50)
    features = np.column_stack([X[:, 0], X[:, 1]])
    precision = np.diag([1e-12, 3.0, 3.0])
    line = LinearGaussian([0, 0, 0], precision).update({"a": X[:, 0], "b": X[:, 1], "y": y}, target="y")
    reference = Ridge(alpha=3.0).fit(features, y)
    np.testing.assert_allclose(line.mean().weights[1:], reference.coef_, rtol=1e-8)
    np.testing.assert_allclose(line.mean().weights[0], reference.intercept_, rtol=1e-8)
