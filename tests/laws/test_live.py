"""The laws of live models: rows that come one by one teach what they teach as a table, to the last bit."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.blocks.block import Block
from credo.blocks.categories import Categories
from credo.blocks.counts import CountColumns
from credo.blocks.numbers.binned import Binned
from credo.blocks.numbers.gaussian import Joint
from credo.blocks.numbers.independent import Numbers
from credo.blocks.tally import KeptRows, tally_of
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.membership import Hard
from credo.data import source
from credo.data.schema import Column, Schema
from credo.errors import Notice
from credo.models.classifier import Classifier
from credo.streaming import live as live_module
from credo.streaming.live import Live
from tests.hostile.refusals import refused
from tests.laws.classifiers import (
    CASES,
    KINDS,
    MIXED,
    NUMBERS,
    TARGET,
    Case,
    Table,
    bayes,
    changed,
    gauss,
    pick,
    unheard,
)

Row = dict[str, Any]

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def rows_of(table: Table) -> list[Row]:
    return [{name: cells[i] for name, cells in table.items()} for i in range(len(table[TARGET]))]


def observed(model: Classifier, rows: Sequence[Row], weights: Any = None) -> Live:
    live = model.live()
    for row, weight in zip(rows, np.ones(len(rows)) if weights is None else weights, strict=True):
        live.observe(row, weight)
    return live


def sums(evidence: Evidence) -> dict[Label, list[Any]]:
    """All the bits of it."""
    return {
        name: [pair.tolist() for part in found.statistics.sums for pair in (part.high, part.low)]
        for name, found in sorted(evidence.parts.items())
    }


def assert_same_bits(one: Classifier, other: Classifier) -> None:
    assert one.seen.schema.names == other.seen.schema.names
    assert list(one.seen.schema) == list(other.seen.schema)
    assert sums(one.seen) == sums(other.seen)
    assert one.unlabelled == other.unlabelled


def assert_foresees(live: Live, rows: Iterable[Mapping[str, Any]], accuracy: float = 1e-9) -> None:
    """What it says of rows is what the model says, and the classes come in the model's order."""
    model = live.freeze()
    for row in rows:
        shares = live.predict_proba(row)
        assert tuple(shares) == model.classes
        with unheard():
            (expected,) = model.predict_proba([{**dict.fromkeys(model.views), **row}])
            (named,) = model.predict([{**dict.fromkeys(model.views), **row}])
        np.testing.assert_allclose(list(shares.values()), expected, rtol=0, atol=accuracy)
        assert live.predict(row) == named or np.sort(expected)[-2] > np.sort(expected)[-1] - accuracy


# One by one = as a table


@cases
def test_observed_rows_are_an_update(case: Case) -> None:
    table = case.table(1, 60)
    model = case.fit(pick(table, slice(0, 20)))
    weights = np.random.default_rng(2).choice([1.0, 0.3, 2.5], 40)
    with unheard():
        for some in (None, weights):
            live = observed(model, rows_of(pick(table, slice(20, 60))), some)
            assert_same_bits(live.freeze(), model.update(pick(table, slice(20, 60)), weight=some))
    assert_foresees(live, rows_of(pick(table, slice(0, 5))), max(case.accuracy, 1e-9))


numbers = st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-5, 5), st.just(math.nan))
columns: dict[str, st.SearchStrategy[Any]] = {
    "sky": st.sampled_from(["fog", "rain", "sun", "snow", None, ""]),
    "wet": st.sampled_from([True, False, None]),
    "height": numbers,
    "age": numbers,
    "fare": st.one_of(st.none(), st.floats(1e-3, 1e6)),
    "wait": numbers,
    "visits": st.one_of(st.none(), st.integers(0, 50), st.just(math.nan)),
    TARGET: st.sampled_from(["a", "b", "c", "new", "newer", None]),
}
weighed_rows = st.lists(
    st.tuples(st.fixed_dictionaries({}, optional=columns), st.sampled_from([1.0, 1.0, 0.0, 0.7, 3.0])), max_size=30
)
STARTS = {
    "bayes": CASES["mixed, cells missing"],
    "several forms": Case(bayes(), MIXED, missing=0.15),
    "full": Case(gauss("full"), ("sky", "wet", "height", "age", "fare", "wait", "visits"), missing=0.15),
}


@cache
def started(name: str) -> Classifier:
    model = STARTS[name].fit(STARTS[name].table(3, 25))
    if name != "several forms":
        return model
    views = {**model.views, "height": ("gaussian", "binned"), "fare": ("log", "gaussian", "binned")}
    return changed(model, views=views, evidence=None).update(STARTS[name].table(3, 25))


@pytest.mark.parametrize("name", STARTS)
@settings(max_examples=40, deadline=None)
@given(weighed=weighed_rows)
def test_any_rows_are_an_update(name: str, weighed: list[tuple[Row, float]]) -> None:
    model = started(name)
    live, kept = model.live(), [(row, weight) for row, weight in weighed if weight]
    with unheard():  # that a row has no class
        for row, weight in weighed:
            live.observe(row, weight)
    if not kept:
        assert live.freeze() is model
        return
    rows = [{**dict.fromkeys((*model.views, TARGET)), **row} for row, _ in kept]
    with unheard():
        assert_same_bits(live.freeze(), model.update(rows, weight=np.array([weight for _, weight in kept])))
    if name == "bayes":
        assert_foresees(live, [row for row, _ in kept[:3]])


@pytest.mark.parametrize("name", ["mixed, cells missing", "full, cells missing", "spherical"])
def test_a_thousand_rows_are_one_update(name: str) -> None:
    case = CASES[name]
    table = case.table(4, 1030)
    model, rest = case.fit(pick(table, slice(0, 30))), pick(table, slice(30, 1030))
    assert_same_bits(observed(model, rows_of(rest)).freeze(), model.update(rest))


@pytest.mark.parametrize("name", ["mixed, cells missing", "full, cells missing"])
def test_long_streams_are_cut_into_batches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "BATCH_ROWS", 7)
    case = CASES[name]
    table = case.table(5, 60)
    model, rest = case.fit(pick(table, slice(0, 10))), pick(table, slice(10, 60))
    live, whole = observed(model, rows_of(rest)), model.update(rest)
    assert_foresees(live, rows_of(pick(table, slice(0, 3))), max(case.accuracy, 1e-9))
    with unheard():
        np.testing.assert_allclose(
            live.freeze().log_joint(table), whole.log_joint(table), atol=max(case.accuracy, 1e-12)
        )
    assert live.freeze().classes == whole.classes


@pytest.mark.parametrize("name", ["mixed, cells missing", "full", "spherical"])
def test_a_model_that_forgot_all_can_learn_again(name: str) -> None:
    table = CASES[name].table(14, 20)
    with unheard():
        model = CASES[name].fit(table).forget(table)
        assert model.classes == ()
        assert_same_bits(observed(model, rows_of(table)).freeze(), model.update(table))


def test_a_tuned_model_stays_tuned() -> None:
    table = CASES["bayes"].table(6, 60)
    with unheard():
        model = CASES["bayes"].fit(table).tune(table)
        live = observed(model, rows_of(pick(table, slice(0, 5))))
        assert_same_bits(live.freeze(), model.update(pick(table, slice(0, 5))))
    assert live.freeze().tuning == model.tuning
    assert_foresees(live, rows_of(pick(table, slice(0, 3))))


def test_looking_in_between_changes_nothing() -> None:
    table = CASES["mixed, cells missing"].table(7, 40)
    model = CASES["mixed, cells missing"].fit(pick(table, slice(0, 20)))
    live = model.live()
    for row in rows_of(pick(table, slice(20, 40))):
        live.predict_proba(row)
        live.observe(row)
        live.freeze()
    assert_same_bits(live.freeze(), model.update(pick(table, slice(20, 40))))


def test_nothing_that_was_frozen_changes() -> None:
    table = CASES["mixed, cells missing"].table(8, 40)
    model = CASES["mixed, cells missing"].fit(pick(table, slice(0, 20)))
    before, live = sums(model.seen), model.live()
    assert live.freeze() is model
    for row in rows_of(pick(table, slice(20, 30))):
        live.observe(row)
    middle = live.freeze()
    kept = sums(middle.seen)
    assert live.freeze() is middle
    for row in rows_of(pick(table, slice(30, 40))):
        live.observe({**row, TARGET: "new", "sky": "hail"})
    assert live.freeze().classes == (*model.classes, "new")
    assert (sums(model.seen), sums(middle.seen)) == (before, kept)


# Slim tallies = the default one, which keeps the rows

BLOCKS: list[Block] = [
    Categories(("sky", "wet")),
    CountColumns(("visits",)),
    Numbers(("height", "age")),
    Numbers(("fare",), logs=True),
    Binned(("wait", "height")),
    Joint(NUMBERS, "full"),
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_every_tally_says_what_the_block_says(block: Block) -> None:
    table = Case(bayes(), tuple(KINDS), missing=0.2).table(9, 50)
    (batch,) = source(table).batches(list(table))
    codes, levels = batch.categories(TARGET)
    classes, weight = Column(TARGET, "category", levels), np.random.default_rng(9).choice([1.0, 0.3], 50)
    found = block.summarise(batch, Hard(codes, len(levels), weight), TARGET)
    whole = Evidence(Schema((classes,)) | found.schema, found.parts)
    for tally in (tally_of(block, whole, TARGET), KeptRows(block, TARGET)):
        for i, row in enumerate(rows_of(table)):
            tally.read(row, i)
            tally.add(int(codes[i]), float(weight[i]))
        twice = Evidence.total([whole, tally.evidence(classes)])
        assert list(twice.schema) == list(whole.schema)
        same = sums(twice) == sums(Evidence.total([whole, whole]))
        assert same or isinstance(tally, KeptRows)
        for name, part in twice.parts.items():  # the default adds up rows in several batches: the last bits may differ
            for one, other in zip(part.statistics.sums, whole.parts[name].statistics.sums, strict=True):
                np.testing.assert_allclose(one.value, 2 * other.value, rtol=1e-15)


# What is foreseen


@pytest.mark.parametrize("weights", [[1.0, 2.0], [1.0, 0.4]], ids=["whole", "fractions"])
@pytest.mark.parametrize("shift", [0.0, 1e9], ids=["near 0", "near 1e9"])
def test_sums_alone_foresee_what_the_model_does(shift: float, weights: list[float]) -> None:
    rng = np.random.default_rng(10)
    table = {
        "x": rng.normal(shift, 1, 60),
        "y": rng.exponential(3, 60),
        "n": rng.poisson(4, 60),
        "b": rng.normal(0, 1, 60),
    }
    kinds = {"y": credo.Number("log"), "n": "count", "b": credo.Number("binned")}
    model = credo.NaiveBayes(smoothing=0.5, class_smoothing=2, strength=2, kinds=kinds).fit(
        {**table, "c": rng.choice(["u", "v", "w"], 60), "z": rng.choice([0, 1, 7], 60)}, target="z"
    )
    live = model.live()
    for i in range(16):
        row = {"x": rng.normal(shift + i / 9, 2), "y": rng.exponential(), "n": int(rng.poisson(2)), "c": "w"}
        row["b"] = rng.choice([rng.normal(), 0.25, -9.0])
        assert_foresees(live, [row, {"x": row["x"]}, {"c": "never seen", "b": 1e9}, {}, {"n": 3, "y": -1.0, "c": None}])
        live.observe({**row, "z": int(rng.choice([0, 1, 8]))}, weight=float(rng.choice(weights)))


def test_naive_bayes_foresees_without_a_frozen_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Except for Bernoulli words, where absent words count, and words cut by their counts."""
    columns = tuple(name for name in KINDS if name not in ("memo", "pairs"))
    table = Case(bayes(), columns).table(13)
    live = Case(bayes(), columns).fit(table).live()
    monkeypatch.setattr(Live, "freeze", lambda _: pytest.fail("it was frozen"))
    for row in rows_of(table):
        live.observe({**row, TARGET: "new"})
        assert sum(live.predict_proba(row).values()) == pytest.approx(1)


def test_values_in_other_guises() -> None:
    rows = [
        {"day": "2024-05-01", "code": 1, "on": True, "y": "a"},
        {"day": "2024-05-02", "code": 5, "on": False, "y": "b"},
    ]
    model = credo.NaiveBayes(kinds={"code": "category"}).fit(rows, target="y")
    live = model.live()
    guises: list[Row] = [
        {"day": datetime.date(2024, 5, 1), "code": 1.0, "on": np.True_, "y": np.str_("a")},
        {"day": pd.Timestamp("2024-05-02"), "code": np.int64(5), "on": False, "y": b"b"},
        {"day": b"2024-05-02", "code": Decimal("5"), "on": None, "y": "a"},
        {"day": pd.NaT, "code": pd.NA, "on": np.float32("nan"), "y": "a"},
        {"day": "2024-05-03", "code": 2.5, "on": True, "y": "b"},
    ]
    expected = model
    for row in [*guises, *guises]:
        live.observe(row)
        with unheard():
            expected = expected.update([row])
    assert list(live.freeze().seen.schema) == list(expected.seen.schema)
    np.testing.assert_array_equal(live.freeze().log_joint(rows), expected.log_joint(rows))
    assert_foresees(live, [*guises, {"code": "5"}, {"code": True}, {"on": 1}, {"on": "no"}, {"day": 7}])


def test_numbers_in_other_guises() -> None:
    model = credo.NaiveBayes().fit({"x": [0.5, 1.5, 4.0], "y": ["a", "b", "a"]}, target="y")
    live = model.live()
    expected = model
    for x in (3, True, "2.5", " 7 ", Decimal("1.25"), np.float32(0.1), np.int8(3), None, "", pd.NA, b"1e3"):
        live.observe({"x": x, "y": "a"})
        with unheard():
            expected = expected.update([{"x": x, "y": "a"}])
        assert_foresees(live, [{"x": x}])
    np.testing.assert_allclose(live.freeze().log_joint({"x": [1.0]}), expected.log_joint({"x": [1.0]}), rtol=1e-14)


def test_columns_may_have_names_that_are_no_strings() -> None:
    rows = [{0: 1.0, 1: "u", "y": "a"}, {0: 2.0, 1: "v", "y": "b"}, {0: 4.0, 1: "v", "y": "b"}]
    model = credo.NaiveBayes().fit(rows, target="y")
    assert_same_bits(observed(model, rows).freeze(), model.update(rows))  # type: ignore[arg-type]
    assert model.live().predict_proba({0: 1.0}) == model.live().predict_proba({"0": 1.0})  # type: ignore[dict-item]


def test_ties_fall_as_in_the_model() -> None:
    model = credo.NaiveBayes().fit({"x": ["u", "u"], "y": ["m", "z"]}, target="y")
    live = observed(model, [{"x": "u", "y": "a"}])
    assert list(live.predict_proba({})) == ["a", "m", "z"]
    assert live.predict({}) == live.freeze().predict([{"x": "u"}])[0] == "a"


def test_a_class_that_is_impossible_under_every_value() -> None:
    model = credo.NaiveBayes(smoothing=0).fit({"x": ["u", "v"], "w": ["s", "t"], "y": ["a", "b"]}, target="y")
    live = observed(model, [{"x": "u", "y": "a"}])
    assert live.predict_proba({"x": "u"})["a"] == 1.0
    assert "impossible" in refused(live.predict_proba, {"x": "u", "w": "t"})


# Refusals: a row is learned whole, or not at all

WRONG: dict[str, tuple[Row, str]] = {
    "a word": ({"height": "tall"}, "'height'.*'tall'"),
    "infinite": ({"age": math.inf}, "'age'.*inf"),
    "too large": ({"height": 1e200}, "'height'.*1e[+]200"),
    "larger still": ({"height": 10**400}, "'height'"),
    "a list": ({"height": [1.0]}, "'height'"),
    "no logarithm": ({"fare": -1.0}, "'fare'.*-1"),
    "half a visit": ({"visits": 1.5}, "'visits'.*1.5"),
    "a bin of words": ({"wait": "long"}, "'wait'.*'long'"),
    "a number for a word": ({"sky": 3}, "'sky'"),
    "a list of words": ({"sky": ["sun"]}, "'sky'"),
    "1 for true": ({"wet": 1}, "'wet'"),
    "a class of numbers": ({TARGET: 3}, "'kind'"),
    "a class of fractions": ({TARGET: 2.5}, "'kind'.*2.5"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_row_changes_nothing(wrong: str) -> None:
    table = CASES["mixed, cells missing"].table(11, 30)
    model = CASES["mixed, cells missing"].fit(table)
    live = model.live()
    (cells, message), good = WRONG[wrong], rows_of(table)[0]
    for _ in range(2):
        text = refused(live.observe, {**good, "sky": "hail", "wait": 1e5, TARGET: "new", **cells})
        assert re.search(message, text), text
        assert live.freeze() is model
    live.observe(good)
    assert_same_bits(live.freeze(), model.update([good]))
    if wrong in ("a word", "infinite", "half a visit", "a list", "a list of words"):
        assert re.search(message, refused(live.predict_proba, cells))


def test_errors_name_the_row_of_the_stream() -> None:
    model = credo.NaiveBayes().fit({"x": [0.5, 1.5], "y": ["a", "b"]}, target="y")
    live = observed(model, [{"x": 1.0, "y": "a"}] * 4)
    assert "(row 5)" in refused(live.observe, {"x": "one", "y": "a"})


def test_booleans_are_no_numbers_among_categories() -> None:
    model = credo.NaiveBayes().fit({"x": [0, 1, 1], "y": [0, 1, 1]}, target="y")
    live = model.live()
    assert "'x'" in refused(live.observe, {"x": True, "y": 1})
    assert "'y'" in refused(live.observe, {"x": 1, "y": True})
    assert live.freeze() is model


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf, "heavy", None])
def test_a_weight_is_a_number_of_at_least_0(weight: Any) -> None:
    model = CASES["bayes"].fit(CASES["bayes"].table(12))
    live = model.live()
    assert "weight" in refused(live.observe, {TARGET: "a"}, weight)
    live.observe({TARGET: "a", "height": "of no interest"}, 0.0)
    assert live.freeze() is model


def test_a_row_is_a_dict() -> None:
    live = CASES["bayes"].fit(CASES["bayes"].table(12)).live()
    assert "dict" in refused(live.observe, ["a", 1.0])
    assert "dict" in refused(live.predict_proba, "a")


@pytest.mark.parametrize("tune", [False, True])
def test_a_column_may_be_missing_but_not_misspelt(tune: bool) -> None:
    texts = ["free prize", "win a prize", "at home", "home for lunch"]
    table = {"text": texts, "n": [3.0, 2.5, 1.0, 0.5], "y": ["a", "a", "b", "b"]}
    model = credo.NaiveBayes(kinds={"text": credo.Text()}).fit(table, "y")
    live = (model.tune(table) if tune else model).live()
    for row in ({"txt": "free"}, {"txt": "free", "n": 1.0}, {"text": "free", "N": 1.0}):
        said = refused(live.predict_proba, row)
        assert re.search(r"^no column '(txt|N)' is known \(row 1\), and '(text|n)' isn't there; known: ", said)
        assert "isn't there" in refused(live.observe, {**row, "y": "a"})
    assert "Did you mean 'text'?" in refused(live.predict_proba, {"txt": "free", "n": 1.0})
    assert "and 'y' isn't there" in refused(live.observe, {"text": "free", "n": 1.0, "yy": "a"})
    assert live.freeze().n == 4
    for row in ({"text": "free"}, {}, {"n": 1.0, "y": "a"}, {"text": "free", "n": 1.0, "y": "b", "id": 7}):
        assert sum(live.predict_proba(row).values()) == pytest.approx(1)
        with unheard():
            live.observe(row)
    assert live.freeze().n == 6


def test_rows_without_a_class_are_noticed_once() -> None:
    live = credo.NaiveBayes().fit({"x": ["a", "b"], "y": ["u", "v"]}, "y").live()
    with pytest.warns(Notice, match="row 1 has no 'y': such rows are counted, but not learned from"):
        live.observe({"x": "a"})
    live.observe({"x": "a", "y": None})  # a second notice would be an error
    assert (live.freeze().n, live.freeze().unlabelled) == (2, 2)


@pytest.mark.parametrize("scale", [1e-126, 1e-140, 1e-155])
def test_the_faintest_numbers_are_alike_to_both(scale: float) -> None:
    drawn = np.random.default_rng(0).normal(size=40) + 3 * (np.arange(40) % 2)
    model = credo.NaiveBayes(kinds={"x": "number"}).fit({"x": scale * drawn, "y": ["a", "b"] * 20}, "y")
    found = model.live().predict_proba({"x": 3 * scale})
    assert list(found.values()) == pytest.approx(model.predict_proba({"x": [3 * scale]})[0].tolist(), rel=1e-9)
    assert found["b"] == (0.5 if scale < 1e-145 else pytest.approx(0.9927, abs=1e-3))


def test_a_model_that_learned_nothing_has_no_twin() -> None:
    assert "fit" in refused(credo.NaiveBayes().live)
