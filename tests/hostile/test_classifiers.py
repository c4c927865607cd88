"""Messy tables, wrong settings and rows that were never seen: a classifier copes, or refuses in a sentence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.errors import DataError, EvidenceError, Notice
from credo.models.classifier import Classifier
from tests.hostile.refusals import read_or_refused, refused
from tests.laws.classifiers import assert_same, bayes, changed, gauss, learned_in_every_form, unheard

NAN, INF = float("nan"), float("inf")
NEVER = "can't forget what was never learned"
TABLE: dict[str, list[Any]] = {
    "sky": ["sun", "rain", "sun", "fog"] * 3,
    "x": [1.5, 2.5, 3.5, 0.5, 1.0, 4.0, 2.0, 2.2, 3.1, 0.1, 1.7, 2.9],
    "y": [3.0, 1.0, 2.0, 8.0, 4.0, 0.5, 5.0, 1.5, 2.5, 6.0, 3.3, 0.7],
    "kind": ["a", "b", "a", "b"] * 3,
}
MODELS: dict[str, Classifier] = {
    "naive Bayes": bayes(),
    "mean": bayes(estimate="mean"),
    "average": bayes(average=True),
    "full": gauss("full"),
    "tied": gauss("tied"),
    "diagonal": gauss("diagonal"),
    "spherical": gauss("spherical"),
}
models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
FITTED = bayes().fit(TABLE, "kind")


def assert_sound(model: Classifier, data: Any, **how: Any) -> None:
    """Probabilities are probabilities, of rows that were learned and without them; reasons and parameters are there."""
    with unheard():
        for shares in (model.predict_proba(data), model.leave_one_out(data, **how).probabilities):
            assert np.isfinite(shares).all()
            np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-9)
        assert np.isfinite(model.log_prob(data)).all()
        assert set(model.predict(data).tolist()) <= set(model.classes)
        assert model.parameters().num_rows > 0
        assert model.sample(3, seed=0).num_rows == 3
        assert repr(model)


# The class


@models
def test_the_target_is_not_there(model: Classifier) -> None:
    assert refused(model.fit, TABLE, "kin").startswith("no column 'kin'; known: sky, x, y, kind. Did you mean 'kind'?")
    assert "name the column that holds the classes" in refused(model.fit, TABLE, None)
    text = refused(model.fit, {"x": TABLE["x"]}, ["a", "b"])
    assert text == "'target' has 2 values, but the table has 12 rows"


@models
@pytest.mark.parametrize("missing", [None, ""], ids=["None", "empty"])
def test_the_target_misses_in_some_rows(model: Classifier, missing: Any) -> None:
    kind = [missing if i in (2, 7) else value for i, value in enumerate(TABLE["kind"])]
    with pytest.warns(Notice, match="2 rows without 'kind' left out"):
        found = model.fit({**TABLE, "kind": kind}, "kind")
    known = {name: [cells[i] for i in range(12) if i not in (2, 7)] for name, cells in TABLE.items()}
    assert_same(found, model.fit(known, "kind"), TABLE)
    assert found.n == 10


@pytest.mark.parametrize("cells", [[None] * 12, [NAN] * 12, [""] * 12], ids=["None", "NaN", "empty"])
def test_the_target_misses_in_all_rows(cells: list[Any]) -> None:
    with unheard():
        assert refused(bayes().fit, {**TABLE, "kind": cells}, "kind").startswith("no row has a class")


def test_a_target_with_fractions() -> None:
    text = refused(bayes().fit, {**TABLE, "kind": [0.5, 1.25] * 6}, "kind")
    assert "column 'kind' holds numbers with fractions" in text
    whole = bayes().fit({**TABLE, "kind": [1.0, 2.0] * 6}, "kind")
    assert whole.classes == (1, 2)


@models
def test_a_single_class(model: Classifier) -> None:
    table = {**TABLE, "kind": ["a"] * 12}
    found = model.fit(table, "kind")
    assert found.classes == ("a",)
    assert_sound(found, table)
    assert (found.predict_proba(TABLE) == 1).all()
    assert "only one class" in refused(found.explain, {"sky": "sun", "x": 1.0, "y": 1.0})
    assert "is the only class" in refused(found.without_class, "a")


@models
def test_a_class_seen_once(model: Classifier) -> None:
    table = {**TABLE, "kind": ["c", *TABLE["kind"][1:]]}
    found = model.fit(table, "kind")
    assert_sound(found, table)
    assert found.predict_proba(table)[0, 2] < 0.6


def test_a_class_seen_once_has_no_most_likely_variance() -> None:
    table = {**TABLE, "kind": ["c", *TABLE["kind"][1:]]}
    assert "variance of column 'x' is 0" in refused(bayes(estimate="ml").fit(table, "kind").predict, table)
    assert "singular covariance" in refused(gauss("full", estimate="ml").fit(table, "kind").predict, table)


def test_a_class_that_is_not_there() -> None:
    assert refused(FITTED.without_class, "aa").startswith("no class 'aa'; known: a, b.")
    assert "no class 'c'" in refused(FITTED.explain, {"sky": "sun", "x": 1.0, "y": 1.0}, of="c")
    assert "loss names a class 'c'" in refused(FITTED.decide, TABLE, loss={"a": {"c": 1}})
    assert "has 'c', which was never learned" in refused(FITTED.leave_one_out, {**TABLE, "kind": ["c"] * 12})


def test_ten_thousand_classes() -> None:
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(10_000), 2)
    table = {"x": kind + 0.1 * rng.normal(size=20_000), "sky": np.array(["sun", "rain"])[kind % 2], "kind": kind}
    rows = {name: cells[:40:2] for name, cells in table.items()}
    names = {"kind": "category"}  # else so many whole numbers are refused, as quantities
    for model in (bayes(strength=1e-6, kinds=names), gauss("tied", strength=1e-9, kinds=names)):
        found = model.fit(table, "kind")
        assert len(found.classes) == 10_000
        shares = found.predict_proba(rows)
        assert shares.shape == (20, 10_000)
        np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-9)
        assert (np.abs(found.predict(rows) - rows["kind"]) <= 2).mean() > 0.8


# Columns


@models
def test_all_cells_of_a_column_are_missing(model: Classifier) -> None:
    table = {**TABLE, "z": [None] * 12}
    with pytest.warns(Notice, match="column 'z' is ignored: every cell is missing"):
        found = model.fit(table, "kind")
    assert_same(found, model.fit(TABLE, "kind"), TABLE)


@models
@pytest.mark.parametrize("kind", ["number", "category", "count", credo.Number("log"), credo.Number("binned")], ids=str)
def test_a_column_of_which_nothing_is_known_says_nothing(model: Classifier, kind: Any) -> None:
    """Whatever kind it is said to have, and whatever a row to come holds there."""
    table = {**TABLE, "z": [None] * 12}
    found, without = changed(model, kinds={"z": kind}).fit(table, "kind"), model.fit(TABLE, "kind")
    assert_sound(found, table)
    np.testing.assert_allclose(found.predict_proba(table), without.predict_proba(TABLE), rtol=1e-12)
    scores = [m.leave_one_out(t).probabilities for m, t in ((found, table), (without, TABLE))]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-9)
    with unheard():
        known = found.predict_proba({**TABLE, "z": [3] * 12})
    np.testing.assert_allclose(known, without.predict_proba(TABLE), rtol=1e-12)
    assert found.sample(3, seed=0)["z"].null_count == 3


def test_counts_of_which_nothing_is_known_are_not_impossible() -> None:
    """Of a class, that is: under maximum likelihood, silence is no rate of 0."""
    table = {"n": [None, None, 3, 4, 2], "x": [1.0, 2.0, 3.0, 2.5, 2.6], "kind": ["a", "a", "b", "b", "b"]}
    found = bayes(estimate="ml", kinds={"n": "count"}).fit(table, "kind").predict_proba({"n": [3], "x": [1.5]})
    assert found[0, 0] > 0


@models
@pytest.mark.parametrize("value", [0.0, 0.1, 7e8, "sun", True], ids=str)
def test_a_column_is_constant(model: Classifier, value: Any) -> None:
    table = {**TABLE, "z": [value] * 12}
    kind = "number" if isinstance(value, float) else "category"
    found, without = changed(model, kinds={"z": kind}).fit(table, "kind"), model.fit(TABLE, "kind")
    assert_sound(found, table)
    if model is not MODELS["spherical"] or kind == "category":  # one σ for all columns: a constant one narrows it
        np.testing.assert_allclose(found.predict_proba(table), without.predict_proba(TABLE), rtol=1e-9)
        with unheard():
            other = found.predict_proba({**TABLE, "z": [3.0 if kind == "number" else None] * 12})
        np.testing.assert_allclose(other, without.predict_proba(TABLE), rtol=1e-9)


@models
def test_all_columns_are_constant(model: Classifier) -> None:
    table = {"x": [2.0] * 6, "y": [0.1] * 6, "sky": ["sun"] * 6, "kind": ["a", "b", "b"] * 2}
    found = changed(model, kinds={"x": "number", "y": "number"}).fit(table, "kind")
    assert_sound(found, table)
    np.testing.assert_allclose(found.predict_proba(table)[0], [3 / 8, 5 / 8], rtol=0.1)


@models
def test_a_column_constant_but_for_one_row(model: Classifier) -> None:
    table = {**TABLE, "z": [1e9] * 11 + [1e9 + 1]}
    assert_sound(changed(model, kinds={"z": "number"}).fit(table, "kind"), table)


@models
def test_columns_that_repeat_each_other(model: Classifier) -> None:
    both = [x + y for x, y in zip(TABLE["x"], TABLE["y"], strict=True)]
    table = {**TABLE, "x2": TABLE["x"], "x3": [2 * x for x in TABLE["x"]], "both": both}
    assert_sound(model.fit(table, "kind"), table)


def test_columns_that_repeat_each_other_have_no_most_likely_covariance() -> None:
    table = {**TABLE, "x2": TABLE["x"]}
    for how in ("full", "tied"):
        assert "singular covariance" in refused(gauss(how, estimate="ml").fit(table, "kind").predict, table)


@models
def test_more_columns_than_rows(model: Classifier) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(12, 60)) + (np.array(TABLE["kind"]) == "a")[:, None]
    found = model.fit(x, target=TABLE["kind"])
    assert_sound(found, x, target=TABLE["kind"])


def test_two_columns_of_one_name() -> None:
    table = pa.table([TABLE["x"], TABLE["y"], TABLE["kind"]], names=["x", "x", "kind"])
    assert "two columns are named 'x'" in refused(bayes().fit, table, "kind")


def test_no_column_to_learn_from() -> None:
    assert "no column besides 'kind'" in refused(bayes().fit, {"kind": ["a", "b"]}, "kind")
    ignored = {"sky": "ignore", "x": "ignore", "y": "ignore"}
    assert "no column to learn from" in refused(bayes(kinds=ignored).fit, TABLE, "kind")
    assert "empty" in refused(bayes().fit, {"x": [], "kind": []}, "kind")
    assert "empty" in refused(gauss("full").fit, [], "kind")


def test_names_of_rows_and_texts_are_left_out_with_a_notice() -> None:
    table = {"id": [f"r{i}" for i in range(60)], "x": np.arange(60.0), "kind": ["a", "b"] * 30}
    with pytest.warns(Notice, match="column 'id' is ignored: all values are different"):
        assert list(bayes().fit(table, "kind").views) == ["x"]


@pytest.mark.slow
def test_a_million_categories() -> None:
    n = 1_000_000
    word = np.arange(n)
    table = {"word": word, "kind": np.array(["a", "b"])[word % 2]}
    model = bayes(kinds={"word": "category"}).fit(table, "kind")
    rows = {"word": [0, 1, n - 1]}
    np.testing.assert_allclose(model.predict_proba(rows), [[2 / 3, 1 / 3], [1 / 3, 2 / 3], [1 / 3, 2 / 3]], rtol=1e-9)
    left = model.forget({"word": [0], "kind": ["a"]})
    with pytest.warns(Notice, match="column 'word': 1 cell with unseen values, ignored"):
        left.predict_proba(rows)
    scores = model.leave_one_out(table).probabilities
    np.testing.assert_allclose(scores[:2], [[0.5, 0.5]] * 2, rtol=1e-5)  # a value that no other row has says nothing


ODD_NAMES = ["(numbers)", "(logarithms)", "(rows)", "(rows without a class)", "(joint 1)", "(joint 11)", "rows", ""]


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("model", [bayes(), gauss("full"), gauss("spherical")], ids=["naive", "full", "spherical"])
def test_columns_may_have_any_name(model: Classifier, name: str) -> None:
    """Even those that version 1 of stored evidence had for its own parts, which were mixed up with such columns."""
    plain = model.fit(TABLE, "kind").predict_proba(TABLE)
    for renamed in ("sky", "x"):
        table = {name if column == renamed else column: cells for column, cells in TABLE.items()}
        np.testing.assert_array_equal(model.fit(table, "kind").predict_proba(table), plain)
    classes = {name if column == "kind" else column: cells for column, cells in TABLE.items()}
    np.testing.assert_array_equal(model.fit(classes, name).predict_proba(TABLE), plain)


# Cells


def test_a_logarithm_of_a_negative_number() -> None:
    logs = bayes(kinds={"x": credo.Number("log")})
    for wrong in (-2.5, 0.0):
        text = refused(logs.fit, {**TABLE, "x": [1.5, wrong, *TABLE["x"][2:]]}, "kind")
        assert text.startswith(f"column 'x' has the value {wrong:g} (row 2), which has no logarithm")
    found = logs.fit(TABLE, "kind")
    with unheard():
        unknown, negative = (found.predict_proba([{"sky": "sun", "y": 1.0, "x": x}]) for x in (None, -1.0))
    np.testing.assert_array_equal(negative, unknown)


def test_counts_that_are_none() -> None:
    counts = bayes(kinds={"n": "count"})
    whole = {**TABLE, "n": [1, 2, 3, 0] * 3}
    for wrong in (-2, 1.5):
        text = refused(counts.fit, {**TABLE, "n": [1, wrong, *whole["n"][2:]]}, "kind")
        assert text == f"column 'n' has the value {wrong:g} (row 2) where a count (0, 1, 2, ...) is needed"
        assert "where a count" in refused(counts.fit(whole, "kind").predict, {**TABLE, "n": [wrong] * 12})


@models
@pytest.mark.parametrize("wrong", [INF, -INF, 1e200])
def test_numbers_that_are_not_finite(model: Classifier, wrong: float) -> None:
    table = {**TABLE, "x": [1.5, wrong, *TABLE["x"][2:]]}
    for call in (lambda: model.fit(table, "kind"), lambda: model.fit(TABLE, "kind").predict(table)):
        assert refused(call).startswith(f"column 'x' has the value {wrong:g} (row 2); numbers must be finite")


@models
@pytest.mark.parametrize("far", [1e10, 1e100, 1e149])
def test_numbers_far_away(model: Classifier, far: float) -> None:
    found = model.fit(TABLE, "kind")
    shares = found.predict_proba({"sky": ["sun"] * 2, "x": [far, -far], "y": [1.0, far]})
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(1), 1)


@models
@pytest.mark.slow
def test_a_number_beside_which_no_digits_of_the_others_are_left(model: Classifier) -> None:
    """Without it, what is left is refused or sound: 10¹⁰⁰ is more than sums of 106 bits can take away again."""
    table: dict[str, list[Any]] = {
        "x": [None, None, 0.0, 0.0],
        "y": [0.0, 3.0, 2.0, 1e100],
        "kind": ["a", "a", "c", "c"],
    }
    found = changed(model, kinds={"x": "number", "y": "number"}).fit(table, "kind")
    last = {name: cells[3:] for name, cells in table.items()}

    def sound(shares: Any) -> None:
        assert np.isfinite(shares).all()
        np.testing.assert_allclose(shares.sum(1), 1)

    sound(found.predict_proba(table))
    read_or_refused(lambda: sound(found.leave_one_out(table).probabilities))
    read_or_refused(lambda: sound(found.forget(last).predict_proba(table)))


@models
def test_strings_in_a_number_column(model: Classifier) -> None:
    text = refused(model.fit(TABLE, "kind").predict, {**TABLE, "x": ["1.5", "tall"] * 6})
    assert text.startswith("column 'x' has the value 'tall' (row 2) where a number is needed")
    spelt = model.fit(TABLE, "kind").predict_proba({**TABLE, "x": list(map(str, TABLE["x"]))})
    np.testing.assert_array_equal(spelt, model.fit(TABLE, "kind").predict_proba(TABLE))
    assert "where a number is needed" in refused(changed(model, kinds={"sky": "number"}).fit, TABLE, "kind")


@models
def test_columns_go_by_name(model: Classifier) -> None:
    found = model.fit(TABLE, "kind")
    turned = {name: TABLE[name] for name in ("y", "kind", "sky", "x")} | {"more": [0] * 12}
    np.testing.assert_array_equal(found.predict_proba(turned), found.predict_proba(TABLE))
    np.testing.assert_allclose(found.update(turned).log_joint(TABLE), found.update(TABLE).log_joint(TABLE), rtol=1e-13)


@models
def test_columns_that_are_not_there_are_missing_cells(model: Classifier) -> None:
    found = model.fit(TABLE, "kind")
    with pytest.warns(Notice, match="no column 'x': its cells count as missing"):
        absent = found.predict_proba({"sky": TABLE["sky"], "y": TABLE["y"]})
    np.testing.assert_array_equal(absent, found.predict_proba({**TABLE, "x": [None] * 12}))
    assert "the table has none of the model's columns" in refused(found.predict_proba, {"z": [1.0]})


@models
def test_no_rows_to_predict(model: Classifier) -> None:
    found = model.fit(TABLE, "kind")
    nothing: dict[str, list[Any]] = {"sky": [], "x": [], "y": []}
    assert found.predict_proba(nothing).shape == (0, 2)
    assert found.predict_log_proba(nothing).shape == (0, 2)
    assert found.log_joint(nothing).shape == (0, 2)
    assert found.log_prob(nothing).shape == found.predict(nothing).shape == found.decide(nothing).shape == (0,)


def test_values_never_seen_say_nothing() -> None:
    rows = {**TABLE, "sky": ["hail", "snow", *TABLE["sky"][2:]]}
    with pytest.warns(Notice, match="column 'sky': 1 cell with unseen values, ignored"):
        FITTED.predict({**TABLE, "sky": ["hail", *TABLE["sky"][1:]]})
    with pytest.warns(Notice, match="column 'sky': 2 cells with unseen values, ignored"):
        found = FITTED.predict_proba(rows)
    np.testing.assert_array_equal(found, FITTED.predict_proba({**TABLE, "sky": [None, None, *TABLE["sky"][2:]]}))


def test_another_type_than_before() -> None:
    assert "column 'sky' is" in refused(FITTED.update, {**TABLE, "sky": [1.5] * 12})
    assert "where a number is needed" in refused(FITTED.update, {**TABLE, "x": ["a"] * 12})
    assert "column 'kind' is" in refused(FITTED.update, {**TABLE, "kind": [1] * 12})
    assert "so far, not in 'sky'" in refused(FITTED.update, TABLE, target="sky")
    with pytest.warns(Notice, match="12 cells with unseen values"):
        FITTED.predict({**TABLE, "sky": [7] * 12})


# Settings


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"estimate": "bayse"}, "no such estimate, 'bayse'; known: bayes, mean, map, ml. Did you mean 'bayes'?"),
        ({"estimate": None}, "no such estimate, None"),
        ({"strength": 0}, "strength must be positive, but is 0"),
        ({"strength": NAN}, "strength must be positive, but is nan"),
        ({"strength": "much"}, "strength must be positive, but is 'much'"),
        ({"smoothing": -1}, "smoothing must be a number of at least 0, but is -1"),
        ({"smoothing": "x"}, "smoothing must be a number of at least 0, but is 'x'"),
        ({"smoothing": None}, "smoothing must be a number of at least 0, but is None"),
        ({"class_smoothing": -0.5}, "class_smoothing must be a number of at least 0, but is -0.5"),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [credo.NaiveBayes, credo.GaussianDiscriminant])
def test_settings_outside_their_domain(make: Callable[..., Classifier], options: dict[str, Any], says: str) -> None:
    assert says in refused(make, **options)


def test_settings_of_one_model() -> None:
    text = refused(credo.GaussianDiscriminant, "ful")
    assert text == "no such covariance, 'ful'; known: full, tied, diagonal, spherical. Did you mean 'full'?"
    assert "m must be a number of at least 0" in refused(credo.NaiveBayes, m=-1)
    assert "Did you mean 'gaussian'?" in refused(credo.Number, "gausian")


def test_the_m_estimates_shares() -> None:
    for wrong in (
        {"sun": 1.0},
        {"sun": -1.0, "rain": 1.0, "fog": 1.0},
        {"sun": NAN, "rain": 0.5, "fog": 0.5},
        {"sun": 2.0, "rain": 0.5, "fog": 0.5},
    ):
        assert "'sky'" in refused(lambda p=wrong: bayes(m=2, p={"sky": p}).fit(TABLE, "kind").predict(TABLE))


@pytest.mark.parametrize(
    "prior",
    [
        {"a": 0.5, "bb": 0.5}, {"a": 1.5, "b": 1.5}, {"a": 1.5, "b": -0.5}, {"a": NAN, "b": 0.5}, {"a": "x", "b": 0.5},
        {"a": 0, "b": 0}, [0.5, 0.5], {},
    ],
    ids=str,
)  # fmt: skip
def test_class_priors_that_are_none(prior: Any) -> None:
    assert "class_prior" in refused(lambda: bayes(class_prior=prior).fit(TABLE, "kind").predict(TABLE))


def test_kinds_that_are_none() -> None:
    text = refused(bayes(kinds={"xx": "number"}).fit, TABLE, "kind")
    assert text == "kinds names a column 'xx' that isn't there; known: sky, x, y, kind. Did you mean 'x'?"
    assert "kinds names a column 'xx'" in refused(bayes(kinds={"xx": credo.Number("log")}).fit, TABLE, "kind")
    assert "Did you mean 'number'?" in refused(bayes(kinds={"x": "numbr"}).fit, TABLE, "kind")
    refused(bayes(kinds=["x"]).fit, TABLE, "kind")


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        ([-1.0] * 12, "a weight must be 0 or more, but that of row 1 is -1"),
        ([NAN] * 12, "a weight must be 0 or more"),
        ([1.0] * 3, "3 weights and 12 rows"),
        ([0.0] * 12, "no row has a class"),
        ("w", "no column 'w'"),
        (["a"] * 12, "weights must be numbers"),
    ],
    ids=str,
)
def test_weights_that_are_none(weight: Any, says: str) -> None:
    assert says in refused(bayes().fit, TABLE, "kind", weight=weight)


@pytest.mark.parametrize(
    "loss",
    [[[1, 2, 3]], 3, [[0, NAN], [1, 0]], [["a", "b"], ["c", "d"]], {"a": {"b": "x"}}, {"a": 3}, {"c": {"a": 1}}],
    ids=str,
)
def test_losses_that_are_none(loss: Any) -> None:
    assert "loss" in refused(FITTED.decide, TABLE, loss)


def test_other_numbers() -> None:
    for reject in (NAN, "x"):
        assert "reject" in refused(FITTED.decide, TABLE, reject=reject)
    for size in (-1, "x", 1.5):
        refused(FITTED.sample, size)
    assert FITTED.sample(0).num_rows == 0
    assert "discount" in refused(FITTED.discount, 2)
    assert "Did you mean 'bits'?" in refused(FITTED.explain, {"sky": "sun", "x": 1.0, "y": 1.0}, unit="bit")
    assert "one row, but the data has 12" in refused(FITTED.explain, TABLE)
    assert "both 'a'" in refused(FITTED.explain, {"sky": "sun", "x": 1.0, "y": 1.0}, "a", "a")
    for folds in (1, 0, -3, 100):
        assert "folds" in refused(FITTED.cross_validate, TABLE, folds)


def test_two_classes_that_a_row_cannot_be_of() -> None:
    """Their odds are no number: an error says so, where NaN would say nothing."""
    table = {"sky": ["sun", "rain", "fog"] * 4, "kind": ["a", "b", "c"] * 4}
    model = bayes(estimate="ml").fit(table, "kind")
    assert model.predict([{"sky": "fog"}]).tolist() == ["c"]
    assert model.explain({"sky": "fog"}, "c", "a").log_odds == INF
    assert "impossible" in refused(model.explain, {"sky": "fog"}, "a", "b")


# What wasn't learned

VERBS: dict[str, Callable[[Classifier], Any]] = {
    "predict": lambda model: model.predict(TABLE),
    "predict_proba": lambda model: model.predict_proba(TABLE),
    "predict_log_proba": lambda model: model.predict_log_proba(TABLE),
    "log_joint": lambda model: model.log_joint(TABLE),
    "log_prob": lambda model: model.log_prob(TABLE),
    "decide": lambda model: model.decide(TABLE),
    "update": lambda model: model.update(TABLE),
    "forget": lambda model: model.forget(TABLE),
    "leave_one_out": lambda model: model.leave_one_out(TABLE),
    "cross_validate": lambda model: model.cross_validate(TABLE),
    "explain": lambda model: model.explain({"sky": "sun", "x": 1.0, "y": 2.0}),
    "sample": lambda model: model.sample(3),
    "without_class": lambda model: model.without_class("a"),
    "parameters": lambda model: model.parameters(),
    "live": lambda model: model.live(),
    "classes": lambda model: model.classes,
    "n_parameters": lambda model: model.n_parameters,
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_model_that_learned_nothing(verb: str) -> None:
    for model in (bayes(), gauss("tied")):
        assert refused(VERBS[verb], model) == "nothing was learned yet: fit(data, target=...) first"


def test_discriminants_that_learned_nothing() -> None:
    full, tied = credo.GaussianDiscriminant(), credo.GaussianDiscriminant("tied")
    for call in (lambda: full.mahalanobis(TABLE), tied.linear_weights):
        assert refused(call) == "nothing was learned yet: fit(data, target=...) first"
    assert "not fitted yet" in repr(credo.GaussianDiscriminant())


@models
def test_a_model_that_forgot_everything(model: Classifier) -> None:
    left = model.fit(TABLE, "kind").forget(TABLE)
    assert (left.n, left.classes) == (0, ())
    for verb in ("predict", "predict_proba", "predict_log_proba", "decide", "explain", "sample", "leave_one_out"):
        refused(VERBS[verb], left)
    assert repr(left)
    assert_same(left.update(TABLE), model.fit(TABLE, "kind"), TABLE)


NEVER_SEEN: dict[str, dict[str, list[Any]]] = {
    "a class": {"sky": ["sun"], "x": [1.5], "y": [3.0], "kind": ["c"]},
    "a value": {"sky": ["hail"], "x": [1.5], "y": [3.0], "kind": ["a"]},
    "a value of another class": {"sky": ["fog"], "x": [1.5], "y": [3.0], "kind": ["a"]},
    "a number out of reach": {"sky": ["sun"], "x": [1e6], "y": [3.0], "kind": ["a"]},
    "more rows than there are": {name: cells * 2 for name, cells in TABLE.items()},
    "rows, and one more": {name: [*cells, cells[0]] for name, cells in TABLE.items()},
    "rows without a class": {"sky": ["sun"], "x": [1.5], "y": [3.0], "kind": [None]},
}


@models
@pytest.mark.parametrize("never", NEVER_SEEN.values(), ids=NEVER_SEEN.keys())
def test_rows_never_seen_are_not_forgotten(model: Classifier, never: dict[str, list[Any]]) -> None:
    found = model.fit(TABLE, "kind")
    before = found.log_joint(TABLE)
    with unheard():
        assert NEVER in refused(found.forget, never)
    np.testing.assert_array_equal(found.log_joint(TABLE), before)
    np.testing.assert_array_equal(model.fit(TABLE, "kind").log_joint(TABLE), before)


@models
def test_a_weight_never_seen_is_not_forgotten(model: Classifier) -> None:
    row = {name: cells[:1] for name, cells in TABLE.items()}
    assert NEVER in refused(model.fit(TABLE, "kind").forget, row, weight=[12.5])
    assert "nothing to forget" in refused(lambda: changed(model.fit(TABLE, "kind"), evidence=None).forget(row))


def test_a_row_with_other_cells_missing_is_not_forgotten() -> None:
    for how in ("full", "tied"):
        found = gauss(how).fit(TABLE, "kind")
        assert NEVER in refused(found.forget, {"sky": ["sun"], "x": [1.5], "y": [None], "kind": ["a"]})


def test_an_iterator_is_read_once() -> None:
    for verb in (FITTED.leave_one_out, FITTED.cross_validate):
        assert "an iterator can be read only once: give a table" in refused(verb, iter([TABLE]))
    stream = iter([TABLE])
    with pytest.warns(Notice, match="column kinds were inferred from the first 12 rows"):
        found = bayes().fit(stream, "kind")
    assert_same(found, FITTED, TABLE)
    assert "read before" in refused(bayes().fit, stream, "kind")


def test_other_rows_than_the_learned() -> None:
    short = {name: cells[:6] for name, cells in TABLE.items()}
    text = "leave-one-out needs the rows that were learned"
    assert text in refused(FITTED.leave_one_out, short)
    assert text in refused(FITTED.leave_one_out, {**TABLE, "kind": ["a"] * 12})
    assert text in refused(gauss("full").fit(TABLE, "kind").leave_one_out, {**TABLE, "x": [1e6] * 12})


def test_models_that_do_not_merge() -> None:
    with pytest.raises(EvidenceError, match="don't merge"):
        FITTED + bayes(smoothing=3).fit(TABLE, "kind")
    with pytest.raises(EvidenceError, match="their covariances differ, full and tied"):
        gauss("full").fit(TABLE, "kind") + gauss("tied").fit(TABLE, "kind")
    with pytest.raises(EvidenceError, match="their targets differ"):
        FITTED + bayes().fit({**TABLE, "kind2": TABLE["kind"]}, "kind2")
    with pytest.raises(DataError):
        FITTED.update([])


# Any table at all

cells = st.none() | st.sampled_from(["u", "v"]) | st.just("")
numbers = st.none() | st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, NAN, 1e9])


@settings(deadline=None, max_examples=30)
@given(
    rows=st.lists(st.tuples(cells, numbers, numbers, st.sampled_from(["a", "b", "c", None])), min_size=1, max_size=8),
    name=st.sampled_from(sorted(MODELS)),
)
def test_any_table_is_learned_or_refused(rows: list[tuple[Any, ...]], name: str) -> None:
    """And what is learned gives probabilities, of all rows and of each left out."""
    table = dict(zip(("s", "x", "y", "kind"), map(list, zip(*rows, strict=True)), strict=True))
    kinds = {"s": "category", "x": "number", "y": "number"}

    def learn() -> None:
        model = changed(MODELS[name], kinds=kinds).fit(table, "kind")
        some = float(len(model.classes) > 1)  # without the only row of the only class, no class is known
        left = model.leave_one_out(table)
        for shares, total in ((model.predict_proba(table), 1.0), (left.probabilities, np.where(left.known, 1.0, some))):
            assert np.isfinite(shares).all()
            np.testing.assert_allclose(shares.sum(1), total, rtol=1e-9)

    read_or_refused(learn)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_numbers_whose_squares_floats_cannot_hold_are_alike(name: str) -> None:
    table = {"x": [None, 0.0, 1.0, 2.0], "y": [0.0, None, 1.14e-159, 0.0], "kind": ["a", "a", "a", "b"]}
    model = changed(MODELS[name], kinds={"x": "number", "y": "number"}).fit(table, "kind")
    found = model.predict_proba(table)
    assert np.isfinite(found).all()
    assert np.isfinite(model.leave_one_out(table).probabilities).all()
    if name != "spherical":  # whose columns are measured by one length
        np.testing.assert_allclose(model.predict_proba({**table, "y": [None] * 4}), found, rtol=1e-12)


# Rows are called what the table calls them


@pytest.mark.parametrize("form", ["number", credo.Number("log"), "count"])
def test_a_bad_cell_behind_rows_without_a_class(form: Any) -> None:
    table = {"x": [1, 2, 3, 4, -1e200, 6], "kind": [None, "a", None, "b", "a", "b"]}
    assert "(row 5)" in refused(bayes(kinds={"x": form}).fit, table, "kind")


def test_a_row_that_others_make_impossible_is_named() -> None:
    """Of its values, one came with the other class alone, and one with its own alone."""
    table = {"x": ["u", "v", "v", "u", "u"], "z": ["s", "s", "t", "s", "t"], "kind": [None, "a", "b", "a", "b"]}
    with unheard():
        model = bayes(estimate="ml").fit(table, "kind")
        for check, lost in ((model.leave_one_out, "itself"), (partial(model.cross_validate, folds=5), "its fold")):
            assert refused(check, table).startswith(f"row 2 is impossible under every class without {lost}")


# What says nothing is told, once, at the caller's line


def test_numbers_without_a_logarithm_are_told() -> None:
    model = bayes(kinds={"x": credo.Number("log")}).fit(TABLE, "kind")
    with pytest.warns(Notice, match="column 'x': 2 cells with numbers that have no logarithm") as told:
        model.predict({**TABLE, "x": [0.0, -1.0, *TABLE["x"][2:]]})
    assert [notice.filename for notice in told] == [__file__]


def test_new_values_are_told_by_columns_together() -> None:
    model = learned_in_every_form(TABLE, "kind")
    with pytest.warns(Notice, match="column 'sky': 1 cell with unseen values, ignored"):
        model.predict([{"sky": "hail", "x": 1.0, "y": 2.0}])


# Settings that speak of nothing


def test_shares_without_rows_to_share() -> None:
    assert "go together" in refused(lambda: bayes(p={"sky": {"sun": 1.0}}))
    wrong = bayes(m=2.0, p={"sk": {"sun": 0.5, "rain": 0.25, "fog": 0.25}})
    assert refused(wrong.fit, TABLE, "kind").startswith("p names 'sk', which isn't a category column; known: sky")


def test_a_class_that_the_prior_knows_nothing_of() -> None:
    model = bayes(class_prior={"a": 0.3, "b": 0.7}).fit(TABLE, "kind")
    later = {**TABLE, "kind": ["c"] * 12}
    assert refused(model.update, later) == "class_prior has no probability for the class 'c'"
    assert "sum to 1" in refused(bayes(class_prior={"a": 0.3, "b": 0.3}).fit, TABLE, "kind")
    with unheard():
        np.testing.assert_array_equal(model.without_class("a").predict_proba(TABLE), np.ones((12, 1)))


# Digits that are gone


@pytest.mark.parametrize("model", [bayes(), gauss("full"), gauss("tied"), gauss("spherical")])
def test_what_drowned_is_not_brought_back(model: Classifier) -> None:
    """Beside 10¹⁷, sums of squares of numbers near 1 lose digits; beside 10¹² they don't."""
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=40), "y": rng.normal(size=40), "kind": np.array(["a", "b"])[np.arange(40) % 2]}
    for size in (1e12, 1e17):
        one = {"x": [size], "y": [1.0], "kind": ["a"]}
        with_it = model.fit(table, "kind").update(one)
        if size > 1e15:
            assert "rounded off digits of the others" in refused(with_it.forget, one)
        else:
            found, fresh = with_it.forget(one), model.fit(table, "kind")
            np.testing.assert_allclose(found.predict_proba(table), fresh.predict_proba(table), atol=1e-6)


# Numbers that are very large, and tables that are very small


def test_whole_numbers_beyond_all_digits() -> None:
    huge = {"x": [k * 1e17 for k in range(20)], "y": ["a"] * 10 + ["b"] * 10}
    assert credo.learn(huge, target="y").predict(huge).tolist() == huge["y"]
    ids = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 40).repeat(2)
    kinds = ["a", "b"] * 40
    model = bayes(kinds={"id": "category"}).fit({"id": ids}, kinds)
    assert model.predict({"id": ids}).shape == (80,)


SMALL = """
import sys, warnings, numpy as np, credo
from credo.errors import Notice
warnings.simplefilter("ignore", Notice)
tables = [
    {"x": [0.1, 0.3, 0.3, 0.3], "y": list("aabb")},
    {"x": [0.1, 0.2, 0.3, 1e9, 0.5, 0.4], "y": list("ababab")},
    {"x": [1.0, 2.0, 3.0, 5.0], "y": list("abab")},
]
for table in tables:
    for model in (credo.NaiveBayes(), credo.NaiveBayes(estimate="mean"), credo.GaussianDiscriminant("full")):
        found = model.fit(table, target="y")
        assert np.isfinite(found.leave_one_out(table).log_loss)
        assert np.isfinite(found.tune(table).predict_proba(table)).all()
weighed = credo.NaiveBayes().fit(tables[2], target="y", weight=[0.25] * 4)
assert np.isfinite(weighed.leave_one_out(tables[2], weight=[0.25] * 4).log_loss)
print("numba" in sys.modules)
"""


def test_small_tables_before_anything_is_compiled() -> None:
    """In a process of its own, where kernels are plain Python; no warning, and no error of another kind."""
    command = [sys.executable, "-W", "error", "-c", SMALL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.strip() == "False"
