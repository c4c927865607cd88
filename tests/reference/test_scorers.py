"""Scorers, which take rows out of arrays, against evidence, from which they are subtracted and which is read again."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import credo
from credo.blocks.joint_gaussians import IncompleteFeatures, JointGaussians
from credo.core.learning import Weights
from credo.core.membership import Hard
from credo.data import source
from credo.families.normal_inverse_wishart import JointParameters
from credo.models.naive_bayes import NaiveBayes
from credo.selection import candidate_forms
from credo.selection import sample as samples
from credo.selection.candidate_forms import with_candidate_forms, with_joint_forms
from credo.selection.candidates import candidates
from credo.selection.lockstep import run_in_lockstep
from credo.selection.sample import Sample, drawn, encoded
from credo.selection.terms import TermScores, TrainedByEvidence, TrainedByScorers, trained

SETTINGS: list[dict[str, float]] = [{}, {"smoothing": 0.1}, {"strength": 10.0}, {"shrinkage": 0.01}]


def mixed(rows: int = 90, copies: bool = False) -> dict[str, Any]:
    """Categories with rare values, numbers of all scales, a constant, dates; cells missing in most columns."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, rows)
    table: dict[str, Any] = {
        "sky": np.array(["sun", "rain", "fog"], dtype=object)[(truth + rng.integers(0, 2, rows)) % 3],
        "rare": np.array([f"v{i}" for i in np.minimum(rng.geometric(0.2, rows), 9)], dtype=object),
        "height": rng.normal(truth, 1.0),
        "income": np.exp(rng.normal(truth, 1.0)) * 1e6,
        "offset": 1e9 + rng.normal(truth, 2.0),
        "rounded": np.round(rng.normal(truth, 2.0)),
        "born": (np.datetime64("2020-01-01") + rng.integers(0, 900, rows) * np.timedelta64(1, "D")),
        "kind": np.array(["a", "b", "c"], dtype=object)[truth],
    }
    for name in ("sky", "rare"):
        table[name][rng.random(rows) < 0.1] = None
    for name in ("height", "rounded"):
        table[name][rng.random(rows) < 0.1] = np.nan
    return {name: np.concatenate([cells, cells]) for name, cells in table.items()} if copies else table


def both_ways(table: dict[str, Any], weight: Any = None, most: int = 1000) -> tuple[Any, Sample, Sample]:
    """A model, and a sample of its rows as they are and with its cells encoded."""
    rows = source(table).held()
    model = with_joint_forms(
        with_candidate_forms(NaiveBayes().fit(table, "kind", weight=weight), rows, weight), rows, weight
    )
    plain = drawn(model, rows, Weights.of(weight), 30).thinned(most)
    return model, plain, encoded(model, plain)


def same(found: TermScores, expected: TermScores) -> None:
    ordered = found.of(expected.terms)
    np.testing.assert_allclose(ordered.log_likelihood, expected.log_likelihood, rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(ordered.log_prior, expected.log_prior, atol=1e-12)
    assert ordered.truth.tolist() == expected.truth.tolist()
    assert ordered.weight.tolist() == expected.weight.tolist()


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("copies", [False, True])
def test_folds_are_scored_as_their_evidence_has_it(settings: dict[str, float], copies: bool) -> None:
    model, plain, coded = both_ways(mixed(copies=copies))
    own = replace(model.settings, **settings)
    gone = plain.folds(5, 0) == 2
    slow = TrainedByEvidence(model).without(plain, gone)
    fast = trained(model, coded).without(coded, gone)
    assert isinstance(fast, TrainedByScorers)
    np.testing.assert_allclose(fast.class_weights, slow.class_weights)
    same(fast.held_out(coded.take(gone), model.views, own), slow.held_out(plain.take(gone), model.views, own))
    same(fast.left_out(coded.take(~gone), model.views, own), slow.left_out(plain.take(~gone), model.views, own))
    factors, expected = (each.log_bayes_factors(model.views, own) for each in (fast, slow))
    assert factors == pytest.approx(expected, rel=1e-9, abs=1e-7)


def test_a_sample_of_the_rows_is_taken_out_of_all_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the evidence has more rows than the sample, it can't be built from the sample's other rows."""
    monkeypatch.setattr(samples, "SAMPLE_ROWS", 40)
    model, plain, coded = both_ways(mixed(120))
    assert plain.rows < model.n
    gone = plain.folds(4, 0) == 1
    slow, fast = TrainedByEvidence(model).without(plain, gone), trained(model, coded).without(coded, gone)
    same(
        fast.held_out(coded.take(gone), model.views, model.settings),
        slow.held_out(plain.take(gone), model.views, model.settings),
    )


def test_scorers_that_read_the_same_cells_share_them_and_their_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_forms, "PAIR_ROWS", 0)
    model, _, coded = both_ways(mixed())
    assert coded.encoded is not None
    forms, cells = [form for form, _ in coded.encoded.scorers], coded.encoded.cells
    which = dict(zip(forms, coded.encoded.which, strict=True))
    for one, other in (("tied", "full"), ("binned", "coarse"), ("one-dependence", "pairwise")):
        assert which[one] == which[other]
    assert len(set(which.values())) == len(coded.encoded.arrays) == len(forms) - 3
    gone, own = coded.folds(5, 0) == 2, coded.member(len(model.classes))
    fast = trained(model, coded).without(coded, gone)
    assert isinstance(fast, TrainedByScorers)
    for (_, found), (_, whole), read in zip(fast.scorers, coded.encoded.scorers, cells, strict=True):
        places = np.arange(len(found.names))
        alone = whole.without(read, own, gone).each(read[gone], places)
        np.testing.assert_allclose(found.each(read[gone], places), alone, rtol=1e-9)


@pytest.mark.parametrize("names", [["height"], ["sky"], ["height", "sky"]])
def test_few_columns_have_the_terms_of_many(names: list[str]) -> None:
    """A single column that is read run_in_lockstep with no other has the term of columns that are."""
    model, plain, coded = both_ways({name: mixed()[name] for name in [*names, "kind"]})
    gone = plain.folds(5, 0) == 1
    slow, fast = TrainedByEvidence(model).without(plain, gone), trained(model, coded).without(coded, gone)
    expected = slow.held_out(plain.take(gone), model.views, model.settings)
    found = fast.held_out(coded.take(gone), model.views, model.settings)
    assert set(found.terms) == set(expected.terms)
    same(found, expected)


@pytest.mark.parametrize("copies", [False, True])
def test_pairs_of_categories_are_scored_as_their_evidence_has_it(copies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_forms, "PAIR_ROWS", 0)
    model, plain, coded = both_ways({name: mixed(copies=copies)[name] for name in ("sky", "rare", "kind")})
    assert {"one-dependence", "k-dependence"} <= set(model.views["sky"])
    gone = plain.folds(5, 0) == 1
    slow, fast = TrainedByEvidence(model).without(plain, gone), trained(model, coded).without(coded, gone)
    for settings in (model.settings, replace(model.settings, backoff=1.0)):
        for rows, way in ((gone, "held_out"), (~gone, "left_out")):
            found = getattr(fast, way)(coded.take(rows), model.views, settings)
            same(found, getattr(slow, way)(plain.take(rows), model.views, settings))


def test_numbers_are_cut_again_where_a_fold_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a model of the other rows would cut them, if numbers are few."""
    monkeypatch.setattr(candidate_forms, "PAIR_ROWS", 0)
    table = {name: mixed(300)[name] for name in ("sky", "rounded", "kind")} | {
        "deep": np.round(2 * mixed(300)["height"])
    }
    model, plain, coded = both_ways(table)
    cut = set()
    for k in range(12):
        gone = plain.folds(2, k // 2) == k % 2
        found = trained(model, coded).without(coded, gone).held_out(coded.take(gone), model.views, model.settings)
        (term,) = [term for term in found.terms if term.form == "one-dependence"]
        rest, held = (
            {name: np.concatenate([part.column(name) for part in plain.take(rows).parts]) for name in table}
            for rows in (~gone, gone)
        )
        other = credo.OneDependence().fit(rest, "kind", weight=plain.take(~gone).mass)
        cut.add(tuple(other.cuts.items()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", credo.Notice)
            expected = other.log_joint(held) - other.terms.log_prior
        np.testing.assert_allclose(found.of([term]).log_likelihood[:, :, 0], expected, rtol=0, atol=1e-9)
    assert len(cut) > 1, "folds differ"


def test_a_constant_column_says_nothing_without_a_fold() -> None:
    model, _, coded = both_ways(mixed() | {"constant": np.full(90, 0.1)})
    fast = trained(model, coded).without(coded, coded.folds(5, 0) == 0)
    found = fast.held_out(coded, {"constant": ("gaussian", "log")}, model.settings)
    assert not found.log_likelihood.any()


def test_blanked_cells_are_missing() -> None:
    model, plain, coded = both_ways(mixed())
    gone, names = plain.folds(5, 0) == 0, ["sky", "height", "income", "born"]
    slow, fast = TrainedByEvidence(model).without(plain, gone), trained(model, coded).without(coded, gone)
    blanked, expected = coded.take(gone).blanked(names, 0), plain.take(gone).blanked(names, 0)
    same(fast.held_out(blanked, model.views, model.settings), slow.held_out(expected, model.views, model.settings))
    every = list(model.views)
    shares = fast.missing_shares(blanked, every)
    np.testing.assert_allclose(shares, slow.missing_shares(expected, every))
    assert shares.max() > 0.3


def test_candidates_are_the_same_either_way() -> None:
    model, plain, coded = both_ways(mixed(150))
    slow, fast = run_in_lockstep(
        [candidates(TrainedByEvidence(model), plain), candidates(trained(model, coded), coded)]
    )
    assert fast.forms == slow.forms
    assert fast.settings == slow.settings
    for name, weighting in slow.weightings.items():
        own = dict(zip(fast.weightings[name].terms, fast.weightings[name].weights, strict=True))
        assert own == pytest.approx(dict(zip(weighting.terms, weighting.weights, strict=True)), abs=1e-6)
        np.testing.assert_allclose(fast.weightings[name].biases, weighting.biases, atol=1e-6)


def test_an_outlier_leaves_nothing_behind() -> None:
    """Numbers that were drowned out by one that is taken away have their digits again."""
    table = mixed()
    table["height"][7] = 1e12
    model, plain, coded = both_ways(table)
    gone = plain.folds(5, 0) == plain.folds(5, 0)[7]
    slow, fast = TrainedByEvidence(model).without(plain, gone), trained(model, coded).without(coded, gone)
    same(
        fast.left_out(coded.take(~gone), model.views, model.settings),
        slow.left_out(plain.take(~gone), model.views, model.settings),
    )


def test_fractional_weights_and_texts_go_by_evidence() -> None:
    table = mixed(60)
    model, _, coded = both_ways(table, np.full(60, 0.1))
    assert coded.encoded is None
    assert isinstance(trained(model, coded), TrainedByEvidence)
    texts = {"text": ["see you at lunch", "win a prize now"] * 6, "kind": ["p", "q"] * 6}
    reader = credo.NaiveBayes(kinds={"text": credo.Text()}).fit(texts, "kind")
    assert encoded(reader, drawn(reader, source(texts), Weights.of(None), 2)).encoded is None


@pytest.mark.parametrize("tied", [False, True])
def test_missing_features_are_marginalised_from_either_side(tied: bool) -> None:
    """Few missing features are taken out of the precision, few known ones out of the scale; alone or by pattern."""
    rng = np.random.default_rng(1)
    classes, d, rows = 3, 9, 60
    root = rng.normal(size=(classes, d, d))
    scale = np.matmul(root, root.swapaxes(1, 2)) + np.eye(d)
    scale = np.repeat(scale[:1], classes, axis=0) if tied else scale
    n = np.array([20.0, 25.0, 15.0])
    degrees = np.full(classes, d + 1 + 70.0) if tied else d + 1 + n
    belief = JointParameters(rng.normal(size=(classes, d)), n + 1, degrees, scale)
    gaussians, own = JointGaussians(belief, d, tied), Hard.of(np.arange(rows) % classes, classes)
    z = rng.normal(size=(rows, d))
    z[:40][rng.random((40, d)) < rng.random((40, 1))] = np.nan
    z[40:, [2, 5]] = np.nan
    z[0] = np.nan
    reached = np.zeros(rows, dtype=bool)
    for places, distances in gaussians.parts(IncompleteFeatures(z), own):
        for i, row in enumerate(np.arange(rows)[places]):
            seen = np.flatnonzero(~np.isnan(z[row]))
            exact = gaussians.over(seen).distances(z[row : row + 1, seen], own.take(np.array([row])))
            np.testing.assert_allclose(distances.squared[i], exact.squared[0], rtol=1e-9)
            determinant = np.broadcast_to(distances.log_determinant, distances.squared.shape)[i]
            np.testing.assert_allclose(determinant, np.broadcast_to(exact.log_determinant[0], classes), rtol=1e-9)
            assert np.broadcast_to(distances.d, (len(distances.squared), 1))[i, 0] == len(seen)
            if tied:
                assert distances.along is not None
                assert exact.along is not None
                np.testing.assert_allclose(distances.along[i], exact.along[0], rtol=1e-8, atol=1e-9)
            reached[row] = True
    assert reached.tolist() == (~np.isnan(z).all(1)).tolist()


@pytest.mark.parametrize("form", ["tied", "full"])
def test_hiding_a_column_is_reading_the_others(form: str) -> None:
    table = mixed(50)
    model, plain, _ = both_ways(table)
    likelihood = dict(model.terms_of(model.views, model.settings).likelihoods)[form]
    batch = plain.parts[0]
    cells, said = likelihood.read(batch), np.zeros((50, 3))
    likelihood.add(cells, said)
    for name, gone in likelihood.hidden(cells, said).items():
        out = np.zeros((50, 3))
        likelihood.add(likelihood.read(batch.without(name).filled([name])), out)
        np.testing.assert_allclose(gone, said - out, atol=1e-8)
