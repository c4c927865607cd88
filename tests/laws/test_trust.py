"""What probabilities may claim: no more than held-out rows bear out, on noise, few rows, copies and blanks."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import credo
from credo.core.learning import Weights
from credo.data import source
from credo.errors import Notice
from credo.models.explaining import contributions
from credo.models.metrics import Scores
from credo.numerics.exact import Array
from credo.selection.label_noise import noise_rates, with_label_noise
from credo.selection.sample import drawn, encoded
from credo.selection.stacking import HeldOut, cross_fitted
from credo.selection.terms import TermScores, trained
from credo.selection.tuned import missing_share
from credo.selection.tuning import discount_factor
from credo.selection.weighting import relevances

Table = dict[str, Any]
Rng = np.random.Generator


def numbers(x: Array) -> Table:
    return {f"x{j}": x[:, j] for j in range(x.shape[1])}


def words(x: Any) -> Table:
    return {f"c{j}": np.array([f"v{v}" for v in x[:, j]], dtype=object) for j in range(x.shape[1])}


def texts(rng: Rng, rows: int) -> Table:
    vocabulary = np.array([f"word{i}" for i in range(300)])
    return {"text": np.array([" ".join(rng.choice(vocabulary, 12)) for _ in range(rows)], dtype=object)}


def split(columns: Table, rows: int) -> tuple[Table, Table]:
    return {n: c[:rows] for n, c in columns.items()}, {n: c[rows:] for n, c in columns.items()}


def loss(model: Any, columns: Table, truth: Any) -> float:
    found = model.predict_log_proba(columns)
    return -float(np.mean([row[model.classes.index(value)] for row, value in zip(found, truth, strict=True)]))


@pytest.mark.parametrize("kind", ["numbers", "categories", "texts"])
def test_noise_is_worth_the_class_shares(kind: str) -> None:
    """Labels are coin flips: neither the report nor the probabilities see anything in the columns."""
    losses, covered = [], []
    for draw in range(3):
        rng = np.random.default_rng([draw, len(kind)])
        truth = rng.integers(0, 2, 1060)
        columns = {
            "numbers": lambda rng=rng: numbers(rng.normal(size=(1060, 60))),
            "categories": lambda rng=rng: words(rng.integers(0, 4, (1060, 60))),
            "texts": lambda rng=rng: texts(rng, 1060),
        }[kind]()
        old, new = split(columns, 60)
        model = credo.learn(old, target=truth[:60], kinds={"text": credo.Text()} if kind == "texts" else None)
        losses.append(loss(model, new, truth[60:]))
        scores = model.report.scores
        covered.append(abs(scores.log_loss - losses[-1]) < 3 * scores.log_loss_error + 0.02)
    assert np.mean(losses) < 1.05 * np.log(2)
    assert all(covered)


def test_few_rows_that_are_separable_leave_a_doubt() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 2040)
    columns = words((truth[:, None] ^ (rng.random((2040, 15)) < 0.08)).astype(int))
    labels = np.where(rng.random(2040) < 0.03, 1 - truth, truth)
    old, new = split(columns, 40)
    model = credo.learn(old, target=labels[:40])
    found = model.predict_proba(new)[np.arange(2000), labels[40:]]
    assert found.min() > 1e-3
    assert -np.log(found).mean() < 0.25
    assert 0.01 < model.report.scores.log_loss < 0.4


def test_a_category_that_never_varied_within_a_class_is_no_proof() -> None:
    """One column names the class in 44 rows and is shuffled later; twelve others name it three times out of four."""

    def rows(count: int, rng: Rng) -> tuple[Table, Any]:
        truth = np.arange(count) % 4
        seen = np.where(rng.random((count, 12)) < 0.75, truth[:, None], rng.integers(0, 4, (count, 12)))
        return words(np.column_stack([seen, truth])), np.array([f"k{k}" for k in truth])

    losses = []
    for draw in range(2):
        rng = np.random.default_rng(draw)
        columns, truth = rows(44, rng)
        model = credo.learn(columns, target=truth)
        new, later = rows(200, rng)
        losses.append(loss(model, new | {"c12": rng.permutation(new["c12"])}, later))
    assert np.mean(losses) < 0.6


def test_a_class_of_two_rows_takes_no_others_for_certain() -> None:
    rng = np.random.default_rng(5)
    truth = np.array(["a"] * 30 + ["b"] * 30 + ["c"] * 2)
    x = rng.normal(size=(62, 4)) + 3.0 * (truth == "b")[:, None] + 6.0 * (truth == "c")[:, None]
    model = credo.learn(numbers(x), target=truth)
    new = rng.normal(size=(500, 4)) + 3.0 * 1 + 2.5  # rows of b that lie near c
    assert model.predict_proba(numbers(new))[:, 1].min() > 1e-3


@pytest.mark.parametrize("perfect", [10, 100, 1000])
def test_perfect_rows_leave_about_one_in_n(perfect: int) -> None:
    truth = np.arange(perfect) % 2
    rng = np.random.default_rng(6)
    model = credo.learn({"x": 10.0 * truth + rng.normal(size=perfect), "y": truth}, target="y")
    doubt = 1 - model.predict_proba({"x": [0.0, 10.0]}).max(1)
    assert (doubt > 0.3 / (perfect + 2)).all()
    assert (doubt < 4 / (perfect + 2)).all()


@pytest.mark.parametrize("kind", ["many values", "yes and no"])
def test_copies_are_held_out_together(kind: str) -> None:
    """Every row three times is no more certain than every row once, and reported no better."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 2, 1120)
    agreed = truth[:, None] ^ (rng.random((1120, 12)) < 0.35)
    columns = words(agreed + (2 * rng.integers(0, 3, (1120, 12)) if kind == "many values" else 0))
    old, new = split(columns, 120)
    once = credo.learn(old, target=truth[:120])
    thrice = credo.learn({n: np.tile(c, 3) for n, c in old.items()}, target=np.tile(truth[:120], 3))
    assert len(thrice.report.scores.truth) == len(once.report.scores.truth)
    assert thrice.tuning.label_noise == pytest.approx(once.tuning.label_noise, rel=0.5)
    scores = thrice.report.scores
    assert scores.log_loss > 0.9 * once.report.scores.log_loss
    assert abs(loss(thrice, new, truth[120:]) - scores.log_loss) < 3 * scores.log_loss_error


def test_a_category_known_in_one_row_only() -> None:
    rng = np.random.default_rng(12)
    table = {"z": rng.normal(size=200), "c": np.array(["u"] + [None] * 199, dtype=object)}
    model = credo.learn(table, target=rng.integers(0, 2, 200), kinds={"c": "category"})
    assert np.isfinite(model.predict_proba(table)).all()


def test_classes_that_no_other_row_shows_count_as_wrong() -> None:
    rng = np.random.default_rng(13)
    truth = np.array([*(["a", "b"] * 30), *(f"only {i}" for i in range(10))])
    model = credo.learn({"x": rng.normal(3.0 * (truth == "a"))}, target=truth)
    assert len(model.report.scores.truth) == 70
    assert "10 of classes that no other row showed" in repr(model.report.scores)
    assert model.report.scores.accuracy < 0.9


def test_classes_of_one_group_cant_be_held_out() -> None:
    x = np.random.default_rng(15).normal(size=30)
    with pytest.warns(Notice, match="each class has the rows of one group only: none can be held out"):
        credo.learn({"x": x, "g": ["u", "v"] * 15, "y": ["a", "b"] * 15}, target="y", groups="g")


def test_constant_columns_are_worth_the_class_shares() -> None:
    """Without warnings, which are errors, of numbers without variance."""
    with pytest.warns(Notice, match="each class has one row"):
        model = credo.learn({"c": [1.0] * 20, "k": ["u"] * 20, "y": ["a", "b"] * 10}, target="y")
    np.testing.assert_allclose(model.predict_proba({"c": [1.0], "k": ["u"]}), 0.5)


def test_units_are_no_matter_to_tuning() -> None:
    rng = np.random.default_rng(14)
    truth = rng.integers(0, 2, 200)
    x = rng.normal(size=(200, 20)) * np.where(truth, 2.0, 1.0)[:, None]
    near, far = (credo.learn(numbers(x * unit), target=truth) for unit in (1.0, 2.0**40))
    assert far.report.scores.log_loss == pytest.approx(near.report.scores.log_loss, abs=0.05)
    assert far.tuning.weights["full"]["(all together)"] > 0.2


def test_a_class_without_a_prior_leaves_finite_weights() -> None:
    rng = np.random.default_rng(15)
    table = {"x": rng.normal(size=40), "y": ["a", "b"] * 20}
    tuned = credo.NaiveBayes(class_prior={"a": 0.0, "b": 1.0}).fit(table, "y").tune(table)
    assert tuned.tuning is not None
    assert all(np.isfinite(weight) for own in tuned.tuning.weights.values() for weight in own.values())
    with pytest.raises(credo.errors.DataError, match="at least two different rows"):
        credo.NaiveBayes().fit(table, "y").tune({"x": [1.0], "y": ["a"]})
    with pytest.raises(credo.errors.DataError, match="no rows"):
        credo.NaiveBayes().fit(table, "y").adapt({"x": np.zeros(0)})


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_blank_cells_cost_no_more_than_all_that_is_known(share: float) -> None:
    """Three in a row decide: no column tells anything alone."""
    rng = np.random.default_rng(8)
    board = rng.integers(0, 3, (900, 9))
    rows = np.stack([(board[:, i : i + 3] == 1).all(1) for i in (0, 3, 6)])
    truth = np.array(["no", "yes"])[rows.any(0).astype(int)]
    columns = words(board)
    old, new = split(columns, 600)
    model = credo.learn(old, target=truth[:600])
    blank = {name: np.where(rng.random(300) < share, None, cells) for name, cells in new.items()}
    n = np.array([(truth[:600] == value).mean() for value in model.classes])
    shares = -np.log([n[model.classes.index(value)] for value in truth[600:]]).mean()
    assert loss(model, blank, truth[600:]) < 1.05 * shares


def test_figures_that_hold_the_tuning_fixed_say_so() -> None:
    rng = np.random.default_rng(9)
    table = {"x": rng.normal(size=60), "y": rng.integers(0, 2, 60)}
    model = credo.learn(table, target="y")
    assert repr(model.report.scores).startswith("nested 10-fold, 60 rows")
    assert repr(model.leave_one_out(table)).startswith("leave-one-out, tuning held fixed")
    assert repr(model.cross_validate(table, 5)).startswith("5-fold, tuning held fixed")
    assert repr(credo.NaiveBayes().fit(table, "y").leave_one_out(table)).startswith("leave-one-out, 60 rows")


def test_label_noise_is_a_mixture() -> None:
    rng = np.random.default_rng(10)
    log_joint, log_prior = np.log(rng.dirichlet(np.ones(3), 5)), np.log([0.5, 0.3, 0.2])
    rates = noise_rates(0.1, np.array([100.0, 50.0, 1.0]))
    assert rates.tolist() == [0.1, 0.1, 0.25]
    found = np.exp(with_label_noise(log_joint, log_prior, rates))
    told = np.exp(log_joint) * (1 - rates)
    told /= told.sum(1, keepdims=True)
    noise = rates * np.exp(log_prior)
    np.testing.assert_allclose(found, (1 - noise.sum()) * told + noise, rtol=1e-12)
    np.testing.assert_allclose(np.exp(with_label_noise(log_prior[None], log_prior, rates)), [np.exp(log_prior)])


def discounting(rows: int = 240) -> tuple[Any, Table]:
    """A tuned model that discounts rows with missing cells, and its table; one row has a value that no other has."""
    rng = np.random.default_rng(16)
    truth = rng.integers(0, 2, rows)
    columns = words(truth[:, None] ^ (rng.random((rows, 6)) < 0.25))
    columns["c0"][7] = "alone"
    table = {**columns, "x": rng.normal(truth), "y": np.array(["no", "yes"])[truth]}
    model = credo.learn(table, target="y", model="naive-bayes")
    return replace(model, tuning=replace(model.tuning, discount=1.5)), table


def test_an_unseen_value_counts_as_missing() -> None:
    model, table = discounting()
    new = {name: cells[:20] for name, cells in table.items() if name != "y"}
    unseen, missing = ({**new, "c1": np.full(20, value, dtype=object)} for value in ("never", None))
    with pytest.warns(credo.errors.Notice, match="unseen"):
        found = model.predict_proba(unseen)
    np.testing.assert_allclose(found, model.predict_proba(missing), rtol=1e-12)
    assert np.abs(found - model.predict_proba(new)).max() > 0.01


def test_leave_one_out_discounts_what_a_refit_would() -> None:
    model, table = discounting()
    found = np.exp(model.leave_one_out(table).log_probabilities)
    for i in (6, 7, 8):
        row = {name: cells[i : i + 1] for name, cells in table.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", credo.errors.Notice)
            np.testing.assert_allclose(found[i], model.forget(row).predict_proba(row)[0], rtol=1e-6)


def test_contributions_know_the_discount() -> None:
    model, table = discounting()
    table = {**table, "c2": np.where(np.arange(len(table["y"])) % 3 == 0, None, table["c2"])}
    sizes = contributions(model, table, rows=1000)
    (batch,) = credo.data.source(table).batches([*model.views])
    whole = model._log_joint(batch)[0]
    rows, (first, second) = np.arange(batch.rows), np.argsort(-whole, axis=1).T
    for name in model.views:
        share = discount_factor(missing_share(model, batch, model.tuning.used), model.tuning.discount)[:, None]
        plain = replace(model, tuning=replace(model.tuning, discount=0.0, label_noise=0.0))
        said = plain._log_joint(batch.without(name))[0] - plain.terms.log_prior
        rates = noise_rates(model.tuning.label_noise, model.class_weights)
        without = with_label_noise(model.terms.log_prior + share * said, model.terms.log_prior, rates)
        apart = whole - without
        moved = np.abs(apart[rows, first] - apart[rows, second]).mean()
        assert sizes[name] == pytest.approx(moved, rel=1e-9), name


def test_the_nested_figure_includes_the_discount() -> None:
    """Candidates that are as sure of rows with missing cells as of whole ones, and half as often right there."""
    rng = np.random.default_rng(17)
    n = 400
    truth, fold = rng.integers(0, 2, n), np.arange(n) % 4
    missing = np.where(np.arange(n) % 2, 0.5, 0.0)
    right = rng.random(n) < np.where(missing > 0, 0.6, 0.97)
    log_odds = 3.0 * np.where(right, 1, -1)[:, None] * np.eye(2)[truth]
    rows = TermScores((), np.zeros((n, 2, 0)), np.full((n, 2), -np.log(2)), truth.astype(np.int32), np.ones(n))
    whole = HeldOut(HeldOut.of(["a"], log_odds[:, :, None], rows, missing, 0).rows, missing, fold)
    n_class = np.full(2, n / 2)
    found = cross_fitted(whole, whole.take(missing > 0), n_class)
    nobody = cross_fitted(whole, whole.take(missing < 0), n_class)
    losses = [-np.mean(each[np.arange(n), truth][missing > 0]) for each in (found, nobody)]
    assert losses[0] < losses[1] - 0.05
    own = missing == 0
    np.testing.assert_array_equal(found[own], nobody[own])


@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_many_columns_of_noise_are_not_believed(kind: str) -> None:
    for draw in range(3):
        rng = np.random.default_rng([18, draw])
        truth = rng.integers(0, 2, 1030)
        numeric = kind == "numbers"
        columns = numbers(rng.normal(size=(1030, 300))) if numeric else words(rng.integers(0, 4, (1030, 300)))
        old, new = split(columns, 30)
        share = (np.bincount(truth[:30], minlength=2) + 1) / 32
        model = credo.learn(old, target=truth[:30])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", credo.errors.Notice)  # 30 rows don't show every value
            assert loss(model, new, truth[30:]) < 1.05 * -np.log(share[truth[30:]]).mean()


def test_relevance_needs_more_than_chance() -> None:
    rng = np.random.default_rng(19)
    chance = {f"x{j}": float(value) for j, value in enumerate(rng.normal(-1.0, 1.2, 200))}
    assert max(relevances(chance, {}).values()) < 0.2
    assert relevances({**chance, "y": 25.0}, {})["y"] > 0.99
    assert relevances({"x": 3.0}, {"x": 3.0})["x"] == pytest.approx(relevances({"x": 0.0}, {})["x"])
    assert relevances({"x": 0.0}, {})["x"] == pytest.approx(0.25)  # half of it that none depends, half of what is left


def test_shuffled_classes_keep_rows_and_class_weights() -> None:
    _, table = discounting()
    base = credo.NaiveBayes().fit(table, "y")
    sample = encoded(base, drawn(base, source(table), Weights(), 10))
    whole = trained(base, sample)
    other = whole.shuffled(sample, salt=1)
    assert other is not None
    np.testing.assert_array_equal(other.class_weights, whole.class_weights)
    own, shuffled = (each.log_bayes_factors(base.views, base.settings) for each in (whole, other))
    assert own.keys() == shuffled.keys()
    assert max(shuffled.values()) < min(own.values())
    assert other.without(sample, np.zeros(sample.rows, dtype=bool)).class_weights.sum() == whole.class_weights.sum()


def test_cross_validation_keeps_copies_in_one_fold() -> None:
    """Repeating every row three times, or a third of them five times, gives the same scores."""
    rng = np.random.default_rng(20)
    truth = rng.integers(0, 2, 150)
    columns = words((truth[:, None] ^ (rng.random((150, 12)) < 0.4)) + 2 * rng.integers(0, 4, (150, 12)))
    table = {**columns, "y": truth}
    once = credo.NaiveBayes().fit(table, "y").cross_validate(table).log_loss
    for rows in (np.tile(np.arange(150), 3), np.r_[np.arange(150), np.repeat(np.arange(50), 4)]):
        copied = {name: cells[rows] for name, cells in table.items()}
        found = credo.NaiveBayes().fit(copied, "y").cross_validate(copied, folds=10)
        assert found.log_loss > 0.9 * once
        assert len(found.truth) == len(rows)


def test_rows_that_are_alike_by_chance_lie_in_any_fold() -> None:
    """Four kinds of rows: held out together, none of a kind would be left to learn from."""
    rng = np.random.default_rng(21)
    cells = rng.integers(0, 2, (200, 2))
    table = {**words(cells), "y": (cells.sum(1) > 0).astype(int)}
    assert credo.NaiveBayes().fit(table, "y").cross_validate(table).log_loss < 0.3


def dependent(rng: Rng, rows: int) -> tuple[Table, Any]:
    """A ticket says what its price, deck and port are; ages are known of half the rows; the class hardly depends."""
    ticket = rng.integers(0, 12, rows)
    cells = np.stack([ticket, ticket // 2, ticket // 3, rng.integers(0, 2, rows) * rng.integers(1, 9, rows)], axis=1)
    return words(cells), np.where(rng.random(rows) < 0.3, rng.integers(0, 2, rows), ticket % 2)


def test_rows_alike_since_columns_depend_on_each_other_are_no_copies() -> None:
    columns, truth = dependent(np.random.default_rng(22), 300)
    table = {**columns, "y": truth}
    prints = drawn(credo.NaiveBayes().fit(table, "y"), source(table), Weights(), 10).prints
    assert len(np.unique(prints)) < 130
    assert len(prints) > 270  # 118 if columns were held to be independent given the class


def test_copies_are_found_among_columns_that_depend_on_each_other() -> None:
    rng = np.random.default_rng(23)
    columns, truth = dependent(rng, 300)
    columns["x"] = rng.integers(0, 60, 300).astype(float)
    rows = np.r_[np.arange(300), np.repeat(np.arange(60), 4)]
    table = {**{name: cells[rows] for name, cells in columns.items()}, "y": truth[rows]}
    model = credo.NaiveBayes(kinds={"x": "number"}).fit(table, "y")
    assert drawn(model, source(table), Weights(), 10).rows <= 310


def test_rare_levels_of_a_column_that_matters_are_shrunk() -> None:
    """Two levels tell the class; twenty others, of about four rows each, are coin flips: 0.79 nats at smoothing 1."""
    losses = []
    for draw in range(4):
        rng = np.random.default_rng([24, draw])
        truth, rare = rng.integers(0, 2, 9080), rng.random(9080) < 0.075
        told = np.where(rng.random(9080) < 0.1, 1 - truth, truth)
        levels = np.where(rare, 2 + np.cumsum(rare) % 20, told)
        old, new = split(words(levels[:, None]), 1080)
        model = credo.learn(old, target=truth[:1080])
        kept = rare[1080:]
        losses.append(loss(model, {"c0": new["c0"][kept]}, truth[1080:][kept]))
    assert np.mean(losses) < 1.05 * np.log(2)


def test_an_explanation_marks_unseen_values() -> None:
    model, table = discounting()
    row = {name: cells[:1] for name, cells in table.items() if name != "y"} | {"c1": ["never"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", credo.errors.Notice)
        found = model.explain(row)
    assert found.unseen == {"c1"}
    assert "c1 = never (unseen value, ignored)" in repr(found)
    assert found.table()["value"].to_pylist().count("never (unseen value, ignored)") == 1
    assert not model.explain({**row, "c1": table["c1"][:1]}).unseen


@pytest.mark.parametrize(
    ("classes", "rows", "apart", "draws"),
    [
        (2, 60, 1.5, 8),
        (20, 120, 0.0, 4),
        pytest.param(20, 120, 1.5, 8, marks=pytest.mark.slow),
        pytest.param(200, 700, 0.0, 4, marks=pytest.mark.slow),
    ],
)
def test_reported_is_true_for_any_number_of_classes(classes: int, rows: int, apart: float, draws: int) -> None:
    """New rows don't have the class shares of the training rows: if classes were spread evenly over folds, the report
    would be too good by up to (K - 1)/n."""
    far = []
    for draw in range(draws):
        rng = np.random.default_rng([25, classes, draw])
        shares, means = rng.dirichlet(np.full(classes, 5.0)), apart * rng.normal(size=(classes, 3))
        codes = rng.choice(classes, rows + 8000, p=shares)
        truth = np.array([f"k{k}" for k in codes])
        old, new = split(numbers(means[codes] + rng.normal(size=(len(codes), 3))), rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", credo.errors.Notice)  # classes are many, and a few cells are far away
            model = credo.learn(old, target=truth[:rows])
            known = np.isin(truth[rows:], model.classes)
            true = loss(model, {name: cells[known] for name, cells in new.items()}, truth[rows:][known])
        scores = model.report.scores
        far.append((scores.log_loss - true) / scores.log_loss_error)
    assert np.abs(far).max() < 2
    assert abs(np.mean(far)) < 1


def test_rows_that_were_all_predicted_well_leave_an_error() -> None:
    """The probabilities imply that one row in a hundred will be wrong: none of 50 was, by chance."""
    p = np.tile(np.log([0.99, 0.01]), (50, 1))
    scores = Scores(("no", "yes"), p, np.zeros(50, dtype=np.intp), np.ones(50))
    assert scores.log_loss_error == pytest.approx(np.sqrt(0.99 * 0.01) * np.log(99) / 7)
    wrong = replace(scores, truth=np.r_[np.ones(5, dtype=np.intp), np.zeros(45, dtype=np.intp)])
    assert wrong.log_loss_error == pytest.approx(np.std(wrong.of_truth, ddof=1) / np.sqrt(50))


def telling(rng: Rng, rows: int) -> tuple[Table, Any]:
    truth = np.sort(rng.integers(0, 2, rows))
    return {"a": truth + rng.normal(size=rows), "b": truth + rng.normal(size=rows)}, truth


@pytest.mark.parametrize("kind", ["noise", "sorted"])
def test_numbers_far_outside_the_learned_range_are_ignored(kind: str) -> None:
    """1.9 nats on noise a thousand deviations away, 2.8 on row numbers of a sorted table, if they were read."""
    rng = np.random.default_rng(26)
    (old, known), (new, truth) = telling(rng, 300), telling(rng, 2000)
    old["n"] = rng.normal(size=300) if kind == "noise" else np.arange(300) + 0.5
    new["n"] = 1000 + (rng.normal(size=2000) if kind == "noise" else np.arange(2000) + 0.5)
    model = credo.learn(old, target=known)
    with pytest.warns(credo.errors.Notice, match="2,?000 cells with numbers far outside the learned range, ignored"):
        found = loss(model, new, truth)
    assert found == loss(model, {**new, "n": np.full(2000, np.nan)}, truth)
    assert found < (0.6 if kind == "noise" else 1.0)
    edge = {"a": [0.0], "b": [0.0], "n": [1.49 * old["n"].max() - 0.49 * old["n"].min()]}
    assert (model.predict_proba(edge) != model.predict_proba({**edge, "n": [np.nan]})).any()
    row = {name: cells[:1] for name, cells in new.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", credo.errors.Notice)
        (shares,) = model.predict_proba(row)
        said, prior = model.explain(row), model.explain({**row, "n": [np.nan]})
        live = model.live().predict_proba({name: cells[0] for name, cells in row.items()})
    assert said.log_odds == pytest.approx(prior.log_odds)
    assert live == pytest.approx(dict(zip(model.classes, shares.tolist(), strict=True)))
    later = model.update(new, target=truth)
    assert np.isfinite(later.predict_proba(new)).all()  # learned since: no notice


def test_ranges_are_stored(tmp_path: Any) -> None:
    old, known = telling(np.random.default_rng(27), 100)
    model = credo.learn(old, target=known)
    credo.save(model, tmp_path / "m.credo")
    assert credo.load(tmp_path / "m.credo").tuning.ranges == model.tuning.ranges
    assert model.tuning.ranges["a"] == (old["a"].min(), old["a"].max())
