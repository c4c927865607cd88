"""What tuning is built of, against independent computations: regression, fingerprints, left-out scores, marginals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

import credo
from credo.core.learning import Weights
from credo.core.membership import Hard
from credo.data import Batch, source
from credo.data.fingerprints import cell_prints
from credo.data.fingerprints import fingerprints as of_cells
from credo.families.priors import of_joint_numbers
from credo.models.naive_bayes import NaiveBayes
from credo.numerics.exact import Array
from credo.numerics.logistic import GaussianPrior, LogisticPosterior, modes_of
from credo.selection.candidate_forms import with_candidate_forms, with_joint_forms
from credo.selection.sample import drawn
from credo.selection.terms import ColumnTerm, TermScores, TrainedByEvidence
from credo.selection.weighting import Group, Regression, losses_of_each


def regression(seed: int, bounded: bool, classes: int = 3) -> tuple[LogisticPosterior, Any, Any, Any, GaussianPrior]:
    rng = np.random.default_rng(seed)
    features, offset = rng.normal(size=(80, classes, 4)), rng.normal(size=(80, classes))
    truth, weight = rng.integers(0, classes, 80), rng.gamma(2.0, size=80)
    root = rng.normal(size=(4, 4))
    prior = GaussianPrior(rng.normal(size=4), root @ root.T + np.eye(4), np.full(4, bounded))
    return LogisticPosterior(features, offset, truth, prior), (features, offset), truth, weight, prior


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_mode_is_where_an_optimiser_ends(seed: int, bounded: bool) -> None:
    model, (features, offset), truth, weight, prior = regression(seed, bounded)

    def objective(theta: Array) -> float:
        logits = offset + features @ theta
        own = logits[np.arange(80), truth] - np.logaddexp.reduce(logits, axis=1)
        return -float(weight @ own) + 0.5 * float((theta - prior.mean) @ prior.precision @ (theta - prior.mean))

    limits = [(0.0, None) if bounded else (None, None)] * 4
    best = minimize(objective, np.ones(4), bounds=limits, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9})
    np.testing.assert_allclose(model.mode(weight, tolerance=1e-12), best.x, atol=1e-4)


@pytest.mark.parametrize("size", [2, 6])
def test_fits_of_several_weightings_are_those_of_each(size: int) -> None:
    """Few coefficients are solved for all fits at once, more one after another; rows of weight 0 don't count."""
    rng = np.random.default_rng(size)
    features, offset, truth = rng.normal(size=(90, 3, size)), rng.normal(size=(90, 3)), rng.integers(0, 3, 90)
    prior = GaussianPrior(np.full(size, 0.3), np.eye(size) * 2, np.arange(size) < 2)
    weights = rng.gamma(2.0, size=(5, 90)) * (np.arange(90) % 5 != np.arange(5)[:, None])
    found = LogisticPosterior(features, offset, truth, prior).modes(weights, tolerance=1e-12)
    for k, weight in enumerate(weights):
        rows = weight > 0
        alone = LogisticPosterior(features[rows], offset[rows], truth[rows], prior).mode(weight[rows], tolerance=1e-12)
        np.testing.assert_allclose(found[k], alone, atol=1e-9)
    assert (found[:, :2] >= 0).all()


def test_the_bayes_factor_is_an_integral() -> None:
    rng = np.random.default_rng(0)
    features, truth = rng.normal(size=(60, 2, 1)), rng.integers(0, 2, 60)
    features[np.arange(60), truth] += 0.7
    prior = GaussianPrior(np.array([0.5]), np.array([[2.0]]), np.array([True]))
    model, weight = LogisticPosterior(features, np.zeros((60, 2)), truth, prior), np.ones(60)

    def log_likelihood(theta: float) -> float:
        logits = features[:, :, 0] * theta
        return float((logits[np.arange(60), truth] - np.logaddexp.reduce(logits, axis=1)).sum())

    def density(theta: float) -> float:
        prior_density = np.sqrt(2.0 / (2 * np.pi)) * np.exp(-((theta - 0.5) ** 2))
        return float(np.exp(log_likelihood(theta) - log_likelihood(0.0)) * prior_density)

    mode = model.mode(weight)
    found = log_likelihood(float(mode[0])) - log_likelihood(0.0) + model.log_occam_factors(mode[None], weight[None])[0]
    assert found == pytest.approx(np.log(quad(density, -5, 10)[0]), abs=0.1)


def fingerprints(batch: Batch, names: list[str]) -> Any:
    return of_cells(cell_prints(batch, names))


def test_fingerprints_are_of_values() -> None:
    rows = {"a": ["x", "y", "x", None], "b": [1.0, 2.0, 1.0, np.nan], "c": [True, False, True, None]}
    batch = next(iter(source(rows).batches(["a", "b", "c"])))
    found = fingerprints(batch, ["a", "b", "c"])
    assert found[0] == found[2]
    assert len(set(found.tolist())) == 3
    again = Batch(0, 2, {"a": pa.array(["y", "x"]), "b": pa.array([2, 1]), "c": pa.array([0, 1])})
    assert fingerprints(again, ["a", "b", "c"]).tolist() == [found[1], found[0]]
    assert fingerprints(batch, ["a", "b"]).tolist() != fingerprints(batch, ["b", "a"]).tolist()
    negative = Batch(0, 2, {"z": pa.array([0.0, -0.0])})
    assert len(set(fingerprints(negative, ["z"]).tolist())) == 1


def messy(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, rows)
    table: dict[str, Any] = {
        "sky": np.array(["sun", "rain", "fog"], dtype=object)[(truth + rng.integers(0, 2, rows)) % 3],
        "height": rng.normal(truth, 1.0),
        "again": rng.normal(truth, 2.0),
        "kind": np.array(["a", "b", "c"], dtype=object)[truth],
    }
    table["sky"][rng.random(rows) < 0.1] = None
    table["height"][rng.random(rows) < 0.1] = np.nan
    return table


def wide(table: dict[str, Any], weight: Any = None) -> Any:
    rows = source(table).held()
    return with_joint_forms(
        with_candidate_forms(NaiveBayes().fit(table, "kind", weight=weight), rows, weight), rows, weight
    )


def test_copies_are_one_row_of_their_weight() -> None:
    table = messy(50)
    twice = {name: np.concatenate([cells, cells[::-1]]) for name, cells in table.items()}
    model = wide(twice)
    sample = drawn(model, source(twice), Weights.of(None), 10)
    assert sample.rows == 50
    assert (sample.weight == 1).all()
    assert (sample.mass == 2).all()
    shuffled = {name: cells[np.random.default_rng(0).permutation(100)] for name, cells in twice.items()}
    other = drawn(model, source(shuffled), Weights.of(None), 10)
    assert dict(zip(sample.prints.tolist(), sample.folds(5, 0).tolist(), strict=True)) == dict(
        zip(other.prints.tolist(), other.folds(5, 0).tolist(), strict=True)
    )
    whole = TrainedByEvidence(model).without(sample, sample.folds(5, 0) == 0)
    assert whole.class_weights.sum() == 2 * (sample.folds(5, 0) != 0).sum()


def test_rows_that_are_the_same_by_chance_are_no_copies() -> None:
    rng = np.random.default_rng(0)
    few = {"a": rng.choice(["x", "y"], 200), "b": rng.choice(["u", "v", "w"], 200), "kind": rng.choice(["p", "q"], 200)}
    sample = drawn(credo.NaiveBayes().fit(few, "kind"), source(few), Weights.of(None), 2)
    assert sample.rows == 200
    texts = {"text": ["see you at lunch today", "win a prize now"] * 5, "kind": ["p", "q"] * 5}
    model = credo.NaiveBayes(kinds={"text": credo.Text()}).fit(texts, "kind")
    assert drawn(model, source(texts), Weights.of(None), 2).rows == 2


def test_categories_left_out_for_tuning_are_left_out() -> None:
    table, weight = messy(60), np.random.default_rng(1).integers(1, 4, 60).astype(float)
    model = wide(table, weight)
    sample = drawn(model, source(table), Weights.of(weight), 10)
    scores = TrainedByEvidence(model).left_out(sample, model.views, model.settings).of([ColumnTerm("category", "sky")])
    likelihood = dict(model.terms_of(model.views, model.settings).likelihoods)["category"]
    (piece,) = sample.pieces(3)
    out = np.zeros((60, 3))
    likelihood.add_left_out(likelihood.read(piece.batch), piece.own, out)
    np.testing.assert_allclose(scores.log_likelihood[:, :, 0], out, atol=1e-12)


@pytest.mark.parametrize("form", ["tied", "full"])
def test_gaussians_left_out_keep_their_prior(form: str) -> None:
    """Sherman and Morrison's formula against a posterior from the other rows and the same prior."""
    table = {name: cells for name, cells in messy(40).items() if name != "sky"}
    table["height"] = np.nan_to_num(table["height"])
    model = wide(table)
    sample = drawn(model, source(table), Weights.of(None), 10)
    (piece,) = sample.pieces(3)
    (likelihood,) = (each for own, each in model.terms_of(model.views, model.settings).likelihoods if own == form)
    found = likelihood.each_nearly_left_out(likelihood.read(piece.batch), piece.own)[:, :, 0]
    z = likelihood.read(piece.batch) - likelihood.summary.centre
    place, pooled = likelihood.summary.everyone
    n, scatter = likelihood.summary.n, likelihood.summary.scatter
    variance = (np.diagonal(scatter, axis1=1, axis2=2).sum(0) + pooled) / (n.sum() + 1)
    for i in range(0, 40, 7):
        rest = np.arange(40) != i
        codes = piece.own.codes[rest]
        means = np.stack([z[rest][codes == k].mean(0) for k in range(3)])
        scatters = np.stack([(z[rest][codes == k] - means[k]).T @ (z[rest][codes == k] - means[k]) for k in range(3)])
        counts = np.bincount(codes, minlength=3).astype(float)
        belief = of_joint_numbers(place, variance, 1.0, 4.0).posterior(counts, means, scatters, form == "tied")
        left = _log_density(belief, z[i], form == "tied")
        np.testing.assert_allclose(found[i] - found[i].mean(), left - left.mean(), atol=1e-9)


def _log_density(belief: Any, z: Array, tied: bool) -> Array:
    """Up to what classes share: a normal of the posterior mean of Σ, or Student's t."""
    from scipy.stats import multivariate_normal, multivariate_t

    d = len(z)
    if tied:
        covariance = belief.scale[0] / (belief.degrees[0] - d - 1)
        return np.array([multivariate_normal.logpdf(z, mean, covariance) for mean in belief.mean])
    freedom = belief.degrees - d + 1
    shapes = belief.scale * ((1 + 1 / belief.strength) / freedom)[:, None, None]
    each = zip(belief.mean, shapes, freedom, strict=True)
    return np.array([multivariate_t.logpdf(z, mean, shape, df) for mean, shape, df in each])


def test_missing_cells_are_integrated_out() -> None:
    table = {name: cells for name, cells in messy(60).items() if name != "sky"}
    table["height"] = np.nan_to_num(table["height"])
    model = wide(table)
    likelihoods = dict(model.terms_of(model.views, model.settings).likelihoods)
    full = likelihoods["full"]

    def density(height: float, again: float, k: int) -> float:
        out = np.zeros((1, 3))
        full.add(np.array([[height, again]]), out)
        return float(np.exp(out[0, k]))

    out = np.zeros((1, 3))
    full.add(np.array([[np.nan, 0.7]]), out)
    for k in range(3):
        whole, _ = quad(density, -np.inf, np.inf, args=(0.7, k))
        assert np.exp(out[0, k]) == pytest.approx(whole, rel=1e-6)
    tied = likelihoods["tied"]
    covariance = tied.belief.scale[0, 1, 1] / (tied.belief.degrees[0] - 3)
    alone = np.zeros((1, 3))
    tied.add(np.array([[np.nan, 0.7]]), alone)
    away = 0.7 - tied.summary.centre[1] - tied.belief.mean[:, 1]
    normal = -0.5 * away**2 / covariance
    np.testing.assert_allclose(alone[0] - alone[0].mean(), normal - normal.mean(), atol=1e-10)


@pytest.mark.parametrize("form", ["tied", "full"])
def test_rows_with_cells_of_their_own_missing_are_as_those_of_one_pattern(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gaussians are cut to a pattern for each of its rows at once, or row by row."""
    from credo.blocks import joint_gaussians

    table = messy(80)
    model = wide(table)
    likelihood = dict(model.terms_of(model.views, model.settings).likelihoods)[form]
    (piece,) = drawn(model, source(table), Weights.of(None), 10).pieces(3)
    cells = likelihood.read(piece.batch)
    cells[3] = np.nan
    found = []
    for few in (0, 1000):
        monkeypatch.setattr(joint_gaussians, "PATTERN_ROWS", few)
        out = np.zeros((80, 3))
        likelihood.add(cells, out)
        left = likelihood.each_nearly_left_out(cells, piece.own)[:, :, 0]
        found.append([out - out.mean(1, keepdims=True), left - left.mean(1, keepdims=True)])
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)
    assert not found[0][0][3].any()


def test_each_term_adds_to_the_whole() -> None:
    table = messy(40)
    model = wide(table)
    batch = next(iter(source(table).batches(["sky", "height", "again", "kind"])))
    for _, likelihood in model.terms_of(model.views, model.settings).likelihoods:
        cells, whole = likelihood.read(batch), np.zeros((40, 3))
        likelihood.add(cells, whole)
        each = likelihood.each(cells, (40, 3)).sum(2)
        np.testing.assert_allclose(each - each.mean(1, keepdims=True), whole - whole.mean(1, keepdims=True), atol=1e-9)


def test_hard_rows_stay_as_they_are() -> None:
    """A sample holds a row's class and weight."""
    table = messy(30)
    model = credo.NaiveBayes().fit(table, "kind")
    sample = drawn(model, source(table), Weights.of(None), 3)
    (piece,) = sample.pieces(3)
    assert isinstance(piece.own, Hard)
    assert [model.classes[k] for k in piece.own.codes] == piece.batch.column("kind").to_pylist()


@pytest.mark.parametrize("classes", [2, 4])
def test_regressions_are_fitted_together_as_alone(classes: int) -> None:
    """Of other rows, with other coefficients and priors, some at their bounds, from another start."""
    rng, own = np.random.default_rng(classes), []
    for rows, size in ((60, 3), (55, 3), (50, 2), (300, 7), (290, 6)):
        features = rng.normal(size=(rows, classes, size))
        features[:, :, 0] *= -1e-3
        prior = GaussianPrior(rng.normal(size=size), np.diag(rng.uniform(0.5, 2, size)), rng.random(size) < 0.6)
        truth = rng.integers(0, classes, rows)
        features[np.arange(rows), truth] += 0.3
        regression = LogisticPosterior(features, rng.normal(size=(rows, classes)), truth, prior)
        own.append((regression, rng.uniform(0.0, 2.0, rows), rng.normal(size=size) if size == 6 else None))
    regressions, weights, starts = zip(*own, strict=True)
    found = modes_of(regressions, weights, starts, 1e-12)
    for theta, regression, weight, start in zip(found, regressions, weights, starts, strict=True):
        np.testing.assert_allclose(theta, regression.mode(weight, start, 1e-12), rtol=1e-6, atol=1e-9)


def test_terms_are_weighed_each_by_itself() -> None:
    rng = np.random.default_rng(3)
    terms = tuple(ColumnTerm("words", name) for name in "abc")
    scores = TermScores(
        terms,
        rng.normal(size=(80, 3, 3)),
        rng.normal(size=(80, 3)),
        rng.integers(0, 3, 80, np.int32),
        rng.uniform(0.5, 2.0, 80),
    )
    found = losses_of_each(scores)
    for j, term in enumerate(terms):
        alone = Regression(scores.only([j]), [Group((term,), np.ones(1))]).losses()
        np.testing.assert_allclose(found[j], alone, rtol=1e-6)
