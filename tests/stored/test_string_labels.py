"""The labels of version 1, which were strings, and what they are today."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from credo.core.evidence import Part
from credo.core.labels import ROWS, UNGROUPED, UNLABELLED, Label
from credo.core.statistics import Counts
from credo.data.schema import Column, Derived, Schema
from credo.numerics.exact import Exact
from credo.storage.schemas.string_labels import odds_by_axis, with_labels

COUNTS = Counts(Exact.of(np.ones((2, 1))))
WORDS = pa.array(["u", "v"])
COLUMNS = (
    Column("y", "category", WORDS),
    Column("t", "text", WORDS),
    Column("(pairs) t", "text", WORDS),
    Column("d", "date"),
    Column("(hour) d", "category", WORDS),
    Column("(features)", "category", WORDS),
    Column("(logs) w", "category", WORDS),
)


def translated(target: str, *names: str) -> dict[Any, Part]:
    """Parts of a classifier's evidence."""
    columns = (Column(target, "category", WORDS), *COLUMNS[1:])
    parts = {name: Part((target,), COUNTS) for name in ("(rows)", "(rows without a class)", *names)}
    found = with_labels({"schema": Schema(columns), "parts": parts})["parts"]
    assert list(found)[:2] == [ROWS, UNLABELLED]
    return dict(list(found.items())[2:])


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("(numbers)", Label("numbers")),
        ("(logarithms)", Label("logarithms")),
        ("(dates)", Label("dates")),
        ("(together)", Label("one-hot")),
        ("(joint 011)", Label("joint", pattern=(False, True, True))),
        ("t", Label("column", "t")),
        ("(texts) t", Label("texts", "t")),
        ("(documents) t", Label("documents", "t")),
        ("(documents) (pairs) t", Label("documents", "t", "pairs")),
        ("(odds) t", Label("odds", "t")),
        ("(odds) (pairs) t", Label("odds", "t", "pairs")),
        ("(logs) t", Label("logs", "t")),
        ("(hour) d", Label("column", "d", "hour")),
        ("(logs) w", Label("column", "(logs) w")),  # which wasn't refused
        ("(texts) d", Label("column", "(texts) d")),
        ("(weekday) t", Label("column", "(weekday) t")),
    ],
)
def test_every_label_of_a_classifier(name: str, label: Label) -> None:
    assert list(translated("y", name)) == [label]


def test_axes_and_columns() -> None:
    parts = {name: Part(("y",), COUNTS) for name in ("(rows)", "(rows without a class)")}
    parts |= {"(odds) (pairs) t": Part(("(pairs) t", "y"), COUNTS), "(hour) d": Part(("y", "(hour) d"), COUNTS)}
    parts["(together)"] = Part(("y", "(features)", "(features)"), COUNTS)
    found = with_labels({"schema": Schema(COLUMNS), "parts": parts})
    pairs, hours, features = Derived("pairs", "t"), Derived("hour", "d"), Derived("features")
    assert [column.axis for column in found["schema"]] == ["y", "t", pairs, "d", hours, features, "(logs) w"]
    axes = [part.axes for part in found["parts"].values()]
    assert axes == [("y",), ("y",), (pairs, "y"), ("y", hours), ("y", features, features)]


@pytest.mark.parametrize("target", ["(pairs) t", "(features)", "(hour) d"])
def test_a_target_is_a_column_whatever_it_is_called(target: str) -> None:
    schema = Schema((Column(target, "category", WORDS), Column("t", "text", WORDS), Column("d", "date")))
    parts = {name: Part((target,), COUNTS) for name in ("(rows)", "(rows without a class)")}
    found = with_labels({"schema": schema, "parts": {**parts, "t": Part(("t", target), COUNTS)}})
    assert [column.axis for column in found["schema"]] == [target, "t", "d"]
    assert found["parts"][Label("column", "t")].axes == ("t", target)


def test_groups_and_beliefs_have_few_labels_of_their_own() -> None:
    schema = Schema((Column("g", "category", WORDS), Column("(numbers)", "number")))
    part = Part(("g",), COUNTS)
    names = {"(rows)": part, "(rows without a group)": part, "(numbers)": part}
    assert list(with_labels({"schema": schema, "parts": names})["parts"]) == [
        ROWS, UNGROUPED, Label("column", "(numbers)"),
    ]  # fmt: skip
    alone = with_labels({"schema": schema, "parts": {"(rows)": part}})
    assert list(alone["parts"]) == [Label("column", "(rows)")]


@pytest.mark.parametrize("parts", [None, [], {"x": 1}, {1: Part((), COUNTS)}])
def test_other_values_are_left_to_the_checks(parts: Any) -> None:
    values = {"schema": Schema(()), "parts": parts}
    assert with_labels(values) is values


def test_odds_of_a_tuning() -> None:
    found = odds_by_axis({"odds": {"t": (1.0, 2.0), "(pairs) t": (3.0, 4.0)}, "strength": 1.0})
    assert found == {"odds": {"t": (1.0, 2.0), Derived("pairs", "t"): (3.0, 4.0)}, "strength": 1.0}
    assert odds_by_axis({"odds": None}) == {"odds": None}
