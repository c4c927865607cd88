"""A column may have any name: none of them is taken for a part of the evidence."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.core.labels import Label
from credo.data.schema import Column, Derived
from tests.laws.classifiers import unheard
from tests.laws.test_storage import through

Table = dict[str, Any]
NUMBER, WORD, TEXT, DATE, CLASS = "height", "sky", "note", "day", "kind"
# What parts of the evidence were called when their labels were strings, of these columns and of others.
NAMES = [
    "(rows)", "(rows without a class)", "(numbers)", "(dates)", "(features)", "allowance for label noise",
    "(pairs) note", "(texts) note", "(documents) (pairs) note", "(hour) day", "rows",
]  # fmt: skip


def table(rows: int = 40) -> Table:
    rng = np.random.default_rng(3)
    second = rng.random(rows) < 0.5
    words = np.array(["win", "prize", "now", "home", "late", "see"])
    start = datetime(2024, 1, 1)
    return {
        NUMBER: (rng.normal(size=rows) + second).round(3).tolist(),
        WORD: np.where(rng.random(rows) < 0.3 + 0.4 * second, "sun", "rain").tolist(),
        TEXT: [" ".join(rng.choice(words[:4] if one else words[2:], 5)) for one in second],
        DATE: [start + timedelta(int(i), hours=int(h)) for i, h in zip(rng.permutation(rows), 9 * second, strict=True)],
        CLASS: np.where(second, "b", "a").tolist(),
    }  # fmt: skip


ROWS = table()
KINDS = {WORD: "category", TEXT: credo.Text(), DATE: "date", NUMBER: "number"}


def renamed(old: str, new: str) -> Table:
    return {new if name == old else name: cells for name, cells in ROWS.items()}


def learned(old: str, new: str, tuned: bool) -> Any:
    kinds = {new if name == old else name: kind for name, kind in KINDS.items()}
    rows = renamed(old, new)
    target = new if old == CLASS else CLASS
    model = credo.NaiveBayes(kinds=kinds).fit(rows, target)
    return model.tune(rows) if tuned else model


@pytest.fixture(scope="module")
def expected() -> dict[bool, Any]:
    with unheard():
        return {tuned: learned(CLASS, CLASS, tuned).predict_proba(ROWS) for tuned in (False, True)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("old", [NUMBER, WORD, TEXT, DATE, CLASS])
def test_a_name_changes_no_answer(old: str, name: str, expected: dict[bool, Any], tmp_path: Path) -> None:
    rows = renamed(old, name)
    with unheard():
        model = learned(old, name, tuned=False)
        np.testing.assert_array_equal(model.predict_proba(rows), expected[False])
        more = through(model, tmp_path / "m.credo").update(rows)
        np.testing.assert_allclose(more.forget(rows).predict_proba(rows), expected[False], rtol=1e-9)
        assert set(model.explain({key: cells[0] for key, cells in rows.items()}).weights) == {*rows} - {model.target}


@pytest.mark.parametrize(
    ("old", "name"),
    [
        (WORD, "(pairs) note"),
        (NUMBER, "(hour) day"),
        (WORD, "allowance for label noise"),
        (TEXT, "(pairs) note"),
        (CLASS, "(odds) note"),
    ],
)
@pytest.mark.slow
def test_nor_does_it_where_texts_and_dates_are_read_in_several_forms(
    old: str, name: str, expected: dict[bool, Any], tmp_path: Path
) -> None:
    rows = renamed(old, name)
    with unheard():
        model = through(learned(old, name, tuned=True), tmp_path / "m.credo")
        np.testing.assert_allclose(model.predict_proba(rows), expected[True], rtol=1e-9)
        reasons = model.explain({key: cells[0] for key, cells in rows.items()})
    assert reasons.log_odds == pytest.approx(np.log(reasons.probability / (1 - reasons.probability)), abs=1e-9)
    assert {*model.tuning.used} <= {*reasons.weights}
    apart = [key for key in reasons.weights if key not in reasons.values]
    assert [key.rstrip("_") for key in apart] == ["allowance for label noise"] * len(apart)


@pytest.mark.parametrize("name", ["(rows)", "(rows without a group)", "x", "column"])
@pytest.mark.parametrize("by", [None, "sky", "(rows without a group)", "(rows)"])
def test_estimates_of_columns_with_any_name(name: str, by: str | None, tmp_path: Path) -> None:
    if by == name:
        return
    rows = {name: ROWS[NUMBER], "other": ROWS[NUMBER], **({by: ROWS[WORD]} if by else {})}
    alone = through(credo.estimate(rows, name, by=by), tmp_path / "b.credo")
    both = credo.estimate(rows, [name, "other"], by=by)

    def figures(found: Any) -> Any:
        """The reference prior of a single group has no evidence."""
        return found.log_evidence() if by else np.array(found.interval()).ravel().tolist()

    assert figures(alone) == figures(both[name]) == figures(both["other"])
    assert figures(alone.update(rows).forget(rows)) == pytest.approx(figures(alone), rel=1e-12)


labels = st.builds(
    Label,
    st.sampled_from(["rows", "column", "documents", "joint"]),
    st.text(max_size=3),
    st.sampled_from(["", "pairs", "hour"]),
    st.lists(st.booleans(), max_size=3).map(tuple),
)


@settings(max_examples=50)
@given(st.lists(labels))
def test_labels_are_ordered_and_hashed_by_their_fields(some: list[Label]) -> None:
    assert [tuple(label) for label in sorted(some)] == sorted(tuple(label) for label in some)
    assert len(set(some)) == len({tuple(label) for label in some})


def test_a_column_and_what_is_derived_from_it_are_two_axes() -> None:
    words, pairs = Column("note", "text"), Column("note", "text", derived="pairs")
    assert (words.axis, pairs.axis) == ("note", Derived("pairs", "note"))
    assert words != pairs
    assert (credo.Schema((words,)) | credo.Schema((pairs,))).names == ("note", "note")
