"""What tuning and credo.learn promise: exact verbs stay exact, reasons add up, and the choice is made by the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import credo
from credo.errors import CredoError, DataError, EvidenceError, Notice
from credo.models.classifier import Classifier
from credo.selection.candidates import EVERY_TERM, ONE_WEIGHT, TIED
from credo.selection.discriminative import LOGISTIC
from credo.selection.nested_validation import CLASS_SHARES
from credo.selection.significance import clear_gain
from tests.laws.classifiers import learned_in_every_form

Table = dict[str, Any]
EVERY = {ONE_WEIGHT, TIED, EVERY_TERM, LOGISTIC, CLASS_SHARES}


def messy(seed: int, rows: int) -> Table:
    """Three classes; a category, a skewed number, two numbers that say the same; cells missing."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, rows)
    height = rng.normal(truth, 1.0)
    table: Table = {
        "sky": np.array(["sun", "rain", "fog"], dtype=object)[(truth + rng.integers(0, 2, rows)) % 3],
        "fare": np.exp(rng.normal(truth, 1.2)),
        "height": height,
        "again": height + 0.01 * rng.normal(size=rows),
        "kind": np.array(["a", "b", "c"], dtype=object)[truth],
    }
    table["sky"][rng.random(rows) < 0.1] = None
    table["height"][rng.random(rows) < 0.1] = np.nan
    return table


def pick(table: Mapping[str, Any], rows: Any) -> Table:
    return {name: cells[rows] for name, cells in table.items()}


@pytest.fixture(scope="module")
def table() -> Table:
    return messy(3, 90)


@pytest.fixture(
    scope="module",
    params=["auto", "naive-bayes", "gaussian", "every view", "tuned naive Bayes", "tuned tied", "tuned full"],
)
def model(request: pytest.FixtureRequest, table: Table) -> Classifier:
    if request.param == "tuned naive Bayes":
        return credo.NaiveBayes().fit(table, "kind").tune(table)
    if request.param.startswith("tuned"):
        return credo.GaussianDiscriminant(request.param.split()[1]).fit(table, "kind").tune(table)
    if request.param == "every view":
        return learned_in_every_form(table, "kind")
    found: Classifier = credo.learn(table, target="kind", model=request.param)
    return found


@pytest.mark.slow
def test_leaving_a_row_out_is_forgetting_it(model: Classifier, table: Table) -> None:
    scores = model.leave_one_out(table)
    for i in range(0, 90, 9):
        one = pick(table, slice(i, i + 1))
        np.testing.assert_allclose(scores.probabilities[i : i + 1], model.forget(one).predict_proba(one), atol=1e-9)


def test_forgotten_and_learned_again(model: Classifier, table: Table) -> None:
    some = pick(table, slice(0, 30))
    again = model.forget(some).update(some)
    np.testing.assert_allclose(again.predict_proba(table), model.predict_proba(table), atol=1e-12)


def test_prior_and_weights_are_the_log_odds(model: Classifier, table: Table) -> None:
    for i in range(5):
        row = {name: cells[i] for name, cells in table.items() if name != "kind"}
        reasons = model.explain(row, of="a", against="c")
        (log_shares,) = model.predict_log_proba([row])
        assert reasons.log_odds == pytest.approx(log_shares[0] - log_shares[2], abs=1e-9)
        assert set(reasons.weights) - {"allowance for label noise"} == {"sky", "fare", "height", "again"}


def test_tuning_is_apart_from_the_evidence(model: Classifier, table: Table) -> None:
    assert model.tuning is not None
    assert "older" not in repr(model)
    later = model.update(pick(table, slice(0, 10)))
    assert later.tuning == model.tuning
    assert "older than the evidence" in repr(later)


def test_log_joint_knows_no_tuning(table: Table) -> None:
    plain = credo.NaiveBayes().fit(table, "kind")
    tuned = plain.tune(table)
    np.testing.assert_array_equal(tuned.log_joint(table), plain.log_joint(table))
    np.testing.assert_array_equal(tuned.log_prob(table), plain.log_prob(table))
    assert not np.allclose(tuned.predict_proba(table), plain.predict_proba(table))


@pytest.mark.filterwarnings("error::credo.errors.Notice")
def test_models_of_other_targets_are_refused_before_a_notice() -> None:
    """What merging would have dropped is of no interest if there is nothing to merge."""
    a = [1.0, 1.2, 0.9, 3.1, 2.9, 3.0] * 5
    one = credo.learn({"a": a, "y": ["p", "p", "p", "q", "q", "q"] * 5}, "y")
    two = credo.learn({"a": a, "b": ["u", "u", "u", "v", "v", "v"] * 5}, "b", model="naive-bayes")
    with pytest.raises(CredoError, match="their targets differ"):
        _ = one + two


def test_tunings_merge_only_where_they_are_the_same(table: Table) -> None:
    first, second = pick(table, slice(0, 45)), pick(table, slice(45, 90))
    kinds = {name: credo.Number("gaussian") for name in ("fare", "height", "again")}
    one = credo.NaiveBayes(kinds=kinds).fit(first, "kind").tune(first)
    other = credo.NaiveBayes(kinds=kinds).fit(second, "kind").tune(second)
    assert (one + one).tuning == one.tuning
    with pytest.warns(Notice, match="tuned differently"):
        both = one + other
    assert both.tuning is None
    np.testing.assert_array_equal(
        both.log_joint(table), credo.NaiveBayes(kinds=kinds).fit(table, "kind").log_joint(table)
    )


def test_columns_that_repeat_each_other_are_weighed_down() -> None:
    """Ten copies of a column make naive Bayes ten times as sure as it may be; tuned, it isn't."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    x = rng.normal(truth, 1.0)
    table = {f"x{j}": x for j in range(10)} | {"y": truth}
    plain = credo.NaiveBayes().fit(table, "y")
    tuned = plain.tune(table)
    once = credo.NaiveBayes().fit({"x0": x, "y": truth}, "y")
    assert plain.leave_one_out(table).log_loss > 1.5
    assert tuned.tuning is not None
    assert tuned.tuning.log_loss == pytest.approx(once.leave_one_out({"x0": x, "y": truth}).log_loss, abs=0.02)
    assert tuned.leave_one_out(table).ece < 0.08 < plain.leave_one_out(table).ece


@pytest.mark.parametrize(
    ("form", "draw"), [("log", np.exp), ("gaussian", lambda z: z), ("binned", lambda z: np.abs(z) ** 0.25)]
)
def test_a_number_is_read_as_it_is_distributed(form: str, draw: Any) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 3000)
    x = draw(rng.normal(truth * (2.0 if form != "binned" else 0.0), 1 + 2.0 * (truth if form == "binned" else 0)))
    tuned = credo.NaiveBayes().fit({"x": x, "y": truth}, "y").tune({"x": x, "y": truth})
    assert tuned.tuning is not None
    assert tuned.tuning.forms["x"][0] in ((form,) if form != "binned" else ("binned", "coarse"))


def test_a_form_that_was_asked_for_stays(table: Table) -> None:
    tuned = credo.NaiveBayes(kinds={"fare": credo.Number("gaussian")}).fit(table, "kind").tune(table)
    assert tuned.tuning is not None
    assert tuned.tuning.forms["fare"] == ("gaussian",)


def test_the_report_says_what_was_tried(table: Table) -> None:
    report = credo.learn(table, target="kind").report
    losses = [each.log_loss for each in report.tried]
    assert {each.name for each in report.tried} == EVERY
    assert losses == sorted(losses)
    assert all(each.name in report.why for each in report.tried if each.share > 0.1)
    assert report.scores.log_loss < next(each.log_loss for each in report.tried if each.name == CLASS_SHARES)
    assert "nested 10-fold, 90 rows" in repr(report.scores)
    assert report.rows == 90
    assert {column.name: column.kind for column in report.columns}["sky"] == "category"
    assert report.columns[2].missing == pytest.approx(np.isnan(table["height"]).mean())
    assert report.important[0].weight >= report.important[-1].weight >= 0


def test_what_columns_say_together_is_found() -> None:
    """Neither column says anything by itself; together they say all: a full covariance sees it."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 500)
    a = rng.normal(size=500)
    table = {"a": a, "b": a * np.where(truth, 1, -1) + 0.2 * rng.normal(size=500), "y": truth}
    model = credo.learn(table, target="y")
    assert model.tuning.weights["full"]["(all together)"] > 0.3
    assert model.report.scores.accuracy > 0.85
    assert all(each.accuracy < 0.65 for each in model.report.tried if each.name in (ONE_WEIGHT, CLASS_SHARES))


def test_weights_are_rows_repeated(table: Table) -> None:
    """To what tuning's sample allows: the same forms and evidence, and nearly the same weights."""
    kinds = {name: credo.Number("gaussian") for name in ("fare", "height", "again")}
    twice = {name: np.concatenate([cells, cells]) for name, cells in table.items()}
    weighed = credo.NaiveBayes(kinds=kinds).fit(table, "kind", weight=np.full(90, 2.0))
    doubled = credo.NaiveBayes(kinds=kinds).fit(twice, "kind")
    np.testing.assert_allclose(weighed.log_joint(table), doubled.log_joint(table), rtol=1e-12)
    assert weighed.tune(table, weight=np.full(90, 2.0)).tuning is not None


COUNTED = {"x": ["a", "a", "b", "b"], "y": ["n", "p", "n", "p"]}
TIMES = np.array([50, 451, 400, 100])


def test_a_table_of_counts_is_its_rows_repeated() -> None:
    """451 rows that are the same by chance are 451 observations, however the table is written."""
    counted = credo.learn(COUNTED, target="y", weight=TIMES)
    repeated = credo.learn({name: np.repeat(cells, TIMES) for name, cells in COUNTED.items()}, target="y")
    new = {"x": ["a", "b"]}
    np.testing.assert_allclose(counted.predict_proba(new)[:, 1], [451 / 501, 100 / 500], atol=0.003)
    np.testing.assert_allclose(counted.predict_proba(new), repeated.predict_proba(new), rtol=1e-12)
    assert counted.report.scores.log_loss == pytest.approx(repeated.report.scores.log_loss, rel=1e-12)
    assert counted.report.scores.log_loss_error == pytest.approx(repeated.report.scores.log_loss_error, rel=1e-12)


def test_counts_beyond_a_sample_are_drawn_in_proportion() -> None:
    model = credo.learn(COUNTED, target="y", weight=TIMES * 10**6)
    np.testing.assert_allclose(model.predict_proba({"x": ["a", "b"]})[:, 1], [451 / 501, 100 / 500], atol=0.003)
    assert 1_000 <= len(model.report.scores.truth) <= 20_000  # held out of those that were drawn


@pytest.mark.parametrize("size", [3, 1500])
def test_a_weight_is_no_reason_for_certainty(table: Table, size: int) -> None:
    """A row of numbers that comes three times is one observation with two copies, however the table is written."""
    weighed = credo.learn(table, target="kind", weight=np.full(90, size)).report.scores
    assert weighed.log_loss_error > 0.7 * credo.learn(table, target="kind").report.scores.log_loss_error
    if size == 3:
        repeated = credo.learn({name: np.repeat(cells, 3) for name, cells in table.items()}, target="kind")
        assert weighed.log_loss == pytest.approx(repeated.report.scores.log_loss, rel=1e-9)


def test_weights_shift_classes_whatever_their_size() -> None:
    """Weights that make both classes equally heavy are heard, and their unit doesn't matter much."""
    rng = np.random.default_rng(0)
    rare = rng.random(300) < 0.1
    table = {"x": rng.normal(rare, 1.0), "y": np.where(rare, "rare", "common")}
    weight = np.where(rare, 1 / rare.mean(), 1 / (~rare).mean())
    for unit in (1.0, 0.1, 7.3):
        shares = credo.learn(table, target="y", weight=unit * weight).predict_proba(table)
        assert np.average(shares[:, 1], weights=weight) == pytest.approx(0.5, abs=0.05)


def test_copies_with_fractions_of_weights_are_left_out_together() -> None:
    """0.1 + 0.1 + 0.1 is not 0.3: what was learned row by row must not be less than what is left out at once."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(40, 2)), 3, axis=0)
    table = {"a": x[:, 0], "b": x[:, 1], "y": np.where(x[:, 0] > 0, "r", "c")}
    assert len(credo.learn(table, target="y", weight=np.full(120, 0.1)).report.scores.truth) == 40


def test_the_order_of_rows_does_not_mislead_tuning() -> None:
    """Of many rows a sample is scored; classes that come in turns must all be in it."""
    rng = np.random.default_rng(5)
    truth = np.arange(42_000) % 3
    table = {"x": rng.normal(truth, 1.0), "y": truth}
    best = credo.learn(table, target="y")
    (_, _, counts) = np.unique(best.report.scores.truth, return_index=True, return_counts=True)
    assert counts.min() > 0.25 * counts.sum()
    shares = best.predict_proba(table)
    loss = -np.log(shares[np.arange(42_000), truth]).mean()
    assert loss == pytest.approx(best.report.scores.log_loss, abs=0.02)


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_rows_are_counted_whatever_they_weigh(table: Table, size: float) -> None:
    report = credo.learn(table, target="kind", weight=np.full(90, size)).report
    assert len(report.scores.truth) == 90


def test_learned_models_merge(table: Table) -> None:
    """However differently they were tuned: their sum is naive Bayes, as fitted to all rows."""
    first = learned_in_every_form(pick(table, slice(0, 45)), "kind")
    second = credo.learn(pick(table, slice(45, 90)), target="kind", model="naive-bayes")
    with pytest.warns(Notice, match="tuned differently"):
        both = first + second
    np.testing.assert_array_equal(both.log_joint(table), credo.NaiveBayes().fit(table, "kind").log_joint(table))


@pytest.mark.slow
def test_models_that_keep_other_sums_do_not_merge(table: Table) -> None:
    first = credo.learn(pick(table, slice(0, 45)), target="kind", model="gaussian")
    second = credo.learn(pick(table, slice(45, 90)), target="kind", model="naive-bayes")
    with pytest.raises(EvidenceError, match="GaussianDiscriminant and a NaiveBayes store different statistics"):
        first + second


def test_a_logarithm_that_tuning_chose_stands_in_no_ones_way() -> None:
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 2, 500)
    table = {"x": np.exp(rng.normal(truth, 1.0)), "y": truth}
    tuned = credo.NaiveBayes().fit(table, "y").tune(table)
    assert tuned.tuning is not None
    assert tuned.tuning.forms["x"] == ("log",)
    later = tuned.update({"x": [0.0, -1.0], "y": [0, 1]})
    assert later.n == 502
    with pytest.warns(Notice, match="column 'x': 1 cell with numbers that have no logarithm"):
        np.testing.assert_array_equal(later.predict_proba({"x": [0.0]}), later.predict_proba({"x": [None]}))
    again = later.forget({"x": [0.0, -1.0], "y": [0, 1]})
    np.testing.assert_array_equal(again.predict_proba(table), tuned.predict_proba(table))


def test_what_was_tuned_can_be_had_as_it_was_fitted() -> None:
    """Tuning reads another column in the form that was asked for of one: that one's evidence stays its own."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    table = {"fare": np.exp(rng.normal(truth, 1)), "age": np.exp(rng.normal(truth, 1)), "y": truth}
    fitted = credo.NaiveBayes(kinds={"fare": credo.Number("log")}).fit(table, "y")
    tuned = fitted.tune(table)
    assert tuned.views["age"] == ("gaussian", "log")
    np.testing.assert_array_equal(tuned.untuned().log_joint(table), fitted.log_joint(table))
    np.testing.assert_array_equal(tuned.log_joint(table), fitted.log_joint(table))


def test_what_is_read_jointly_is_tuned_again(table: Table) -> None:
    model = learned_in_every_form(table, "kind")
    again: Any = model.tune(table)
    whole = credo.learn(table, target="kind")
    assert again.tuning == whole.tuning
    assert again.report.scores.log_loss == whole.report.scores.log_loss


def test_columns_whose_names_and_values_look_alike() -> None:
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 2, 400)
    one = np.array(["b=c", "x"], dtype=object)[(truth + (rng.random(400) < 0.2)) % 2]
    other = np.array(["c", "y"], dtype=object)[rng.integers(0, 2, 400)]
    odd = credo.learn({"a": one, "a=b": other, "y": truth}, target="y")
    plain = credo.learn({"a": one, "z": other, "y": truth}, target="y")
    assert odd.report.scores.log_loss == pytest.approx(plain.report.scores.log_loss, abs=1e-9)


@pytest.mark.slow
def test_many_classes() -> None:
    rng = np.random.default_rng(8)
    truth = np.tile(np.arange(300), 3)
    name = np.array([f"v{value}" for value in truth], dtype=object)
    kinds = {"name": "category", "y": "category"}  # else so many whole numbers are refused, as quantities
    best = credo.learn({"x": rng.normal(size=900), "name": name, "y": truth}, target="y", kinds=kinds)
    assert best.predict({"x": [0.0, None], "name": ["v5", "v277"]}).tolist() == [5, 277]
    assert {each.name for each in best.report.tried} == EVERY - {TIED, LOGISTIC}


@pytest.mark.parametrize("winner", ["tied", "full"])
def test_a_discriminant_wins_where_numbers_covary(winner: str) -> None:
    """And is what was tuned, with all that it can do."""
    rng = np.random.default_rng(9)
    truth = rng.integers(0, 2, 3000)
    x = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 3000)
    x = x + truth[:, None] * [1.0, 0.0] if winner == "tied" else x * np.where(truth[:, None], [1, -1], [1, 1])
    table = {"a": x[:, 0], "b": x[:, 1], "y": truth}
    best = credo.learn(table, target="y", model="gaussian")
    plain = best.plain
    assert isinstance(plain, credo.GaussianDiscriminant)
    assert plain.covariance == winner
    assert plain.mahalanobis(table).shape == (3000, 2)
    loss = -np.log(best.predict_proba(table)[np.arange(3000), truth]).mean()
    assert loss == pytest.approx(best.report.scores.log_loss, abs=2 * best.report.scores.log_loss_error)
    bayes = credo.learn(table, target="y", model="naive-bayes")
    assert best.report.scores.log_loss < 0.8 * bayes.report.scores.log_loss


def test_columns_that_are_noise_are_left_out() -> None:
    """Of forty columns that are noise, few rows make as many appear to say something."""
    rng = np.random.default_rng(10)
    truth = np.arange(40) % 2
    table: Table = {f"x{j}": np.array(["u", "v"])[rng.integers(0, 2, 40)] for j in range(40)}
    table |= {"z": np.array(["u", "v"])[(truth + (rng.random(40) < 0.1)) % 2], "y": truth}
    best = credo.learn(table, target="y", model="naive-bayes")
    weights = best.tuning.weights["category"]
    assert weights["z"] == max(weights.values())
    assert np.median(list(weights.values())) < 0.2 * weights["z"]
    assert best.report.scores.log_loss < 0.4


def test_a_gaussian_of_no_numbers_is_refused() -> None:
    rows = {"x": ["u", "v", "u", "v"], "y": ["a", "b", "a", "a"]}
    with pytest.raises(DataError, match="needs number columns"):
        credo.learn(rows, target="y", model="gaussian")


@pytest.mark.slow
def test_a_new_tuning_has_no_old_report(table: Table) -> None:
    assert credo.learn(table, target="kind", model="gaussian").tune(table).report is None


def test_four_rows_are_enough_to_try() -> None:
    rows = {"x": [0.0, 1.0, 5.0, 6.0], "y": ["a", "a", "b", "b"]}
    assert credo.learn(rows, target="y").predict({"x": [0.5, 5.5]}).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "how", "says"),
    [
        ({"x": [1.0, 2.0, 3.0], "y": ["a", "a", "a"]}, {}, "one class only, 'a'"),
        ({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "a"]}, {"model": "naive"}, "Did you mean 'naive-bayes'"),
        ([{"x": 1.0, "y": "a"}, {"x": 2.0, "y": "b"}], {"once": True}, "several times"),
        ({"x": [1.0, 2.0, 3.0], "z": ["a", "b", "a"]}, {}, "no column 'y'"),
    ],
)
def test_what_cannot_be_learned_from(data: Any, how: Any, says: str) -> None:
    how = dict(how)
    data = iter(data) if how.pop("once", False) else data
    with pytest.raises(CredoError, match=says):
        credo.learn(data, target="y", **how)


def test_few_heavy_rows_are_few() -> None:
    """Noise is rarely taken for a gain, however unequal the weights of rows are."""
    rng = np.random.default_rng(0)
    weight = np.where(np.arange(1000) < 20, 100.0, 0.01)
    taken = [clear_gain(rng.normal(size=1000), weight, 2.0) for _ in range(400)]
    assert np.mean(taken) < 0.08


@pytest.mark.parametrize("n", [2, 7, 30])
@pytest.mark.filterwarnings("ignore::credo.errors.Notice")
def test_rows_that_cant_be_held_out_have_no_scores(n: int) -> None:
    """Each class has one row: all rows are errors, each once, and no candidate is compared."""
    x = np.random.default_rng(n).normal(size=n)
    model = credo.learn({"x": x, "y": [f"c{i}" for i in range(n)]}, target="y")
    scores = model.report.scores
    assert (scores.rows, scores.unknown, scores.accuracy) == (n, n, 0.0)
    assert np.isnan(scores.log_loss)
    assert scores.confusion.sum() == n
    assert model.report.tried == ()
    assert "no row could be held out" in model.report.why
    assert "no row could be held out whose class other rows have" in model.report._repr_html_()
