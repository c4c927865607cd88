"""What kind a column is, by rule; and schemas of different parts, which unite or say why they don't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo import Schema
from credo.data import cells
from credo.data.profile import PYTHON_COUNTED, Profile
from credo.data.schema import Column
from credo.errors import Notice, SchemaError


def kind_of(values: Any, **kinds: str) -> str:
    return Schema.infer({"x": values}, kinds or None)["x"].kind


def different(pattern: str, n: int) -> list[str]:
    return [pattern.format(i) for i in range(n)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False, None], "category"),
        (["a", "b"], "category"),
        ([0, 1, 1], "category"),
        ([5, 9, 5, 9], "category"),
        ([7, 7], "category"),
        ([0.0, 1.0, None], "category"),  # integers, had there been no missing cell
        ([0, 1, 2], "number"),
        ([0.5, 1.5], "number"),
        ([-0.0, 0.0, 1.0], "category"),
        (different("{}", 50), "category"),
        ([*different("user{}", 51), "user0"], "category"),
        (different("the {} time that we met", 51), "text"),
        (different("two words {}", 3), "text"),
        (["New York", "Los Angeles"] * 30, "category"),
        (different("2024-01-05 10:00:{}", 20), "category"),  # a date and a time aren't words
        ([2**60 + i for i in range(60)], "number"),
    ],
)
def test_kinds_are_inferred(values: list[Any], kind: str) -> None:
    assert kind_of(values) == kind
    assert kind_of(pd.Series(values)) == kind
    assert kind_of(pl.Series(values)) == kind


def test_names_of_rows_are_ignored_with_a_notice() -> None:
    with pytest.warns(Notice, match="column 'x' is ignored: all values are different.*kinds={'x': 'category'}"):
        assert kind_of(different("user{}", 51)) == "ignore"
    with pytest.warns(Notice, match="every cell is missing"):
        assert kind_of([None, None]) == "ignore"
    with pytest.warns(Notice, match="the type is list"):
        assert kind_of([[1], [2, 3]]) == "ignore"
    assert kind_of(different("user{}", 51), x="category") == "category"
    assert kind_of([None, None], x="ignore") == "ignore"


def test_kinds_override() -> None:
    assert kind_of([1, 2, 3], x="count") == "count"
    assert kind_of([1, 2, 3], x="text") == "text"
    assert kind_of(["1", "2", "3"], x="number") == "number"
    assert Schema.infer({"x": [3.0, 1.0, 2.0]}, {"x": "category"})["x"].values == (1, 2, 3)
    with pytest.raises(SchemaError, match="kinds names a column 'z' that isn't there; known: x"):
        kind_of([1], z="number")
    with pytest.raises(SchemaError, match=r"no such kind; known: category, .*Did you mean 'number'"):
        kind_of([1], x="numbers")


def test_a_schema_is_shown() -> None:
    schema = Schema.infer({"sky": ["sunny", "rainy"], "n": [1, 2], "t": [1.5, 2.5]}, {"n": "count"})
    assert repr(schema) == "sky: category (rainy, sunny)\nn: count\nt: number"
    assert repr(Schema.infer({"x": list("abcdefg")})) == "x: category (a, b, c, d, e, ... (7 levels))"


def test_words_stay_words_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text("zip,yes,t,id,spaced,long\n01234,yes,true,7, 1,12345678901234567890\n90210,no,false,8, 2,1\n")
    schema = Schema.infer(path)
    assert schema["zip"].values == ("01234", "90210")
    assert schema["yes"].values == ("no", "yes")
    assert schema["t"].values == ("false", "true")
    assert schema["id"].values == (7, 8)
    assert schema["spaced"].values == (1, 2)
    assert schema["long"].values == ("1", "12345678901234567890")
    posterior: Any = credo.estimate(path, "yes").posterior
    assert (posterior.a, posterior.b) == (2, 2)


def test_a_late_word_makes_words_of_all_numbers(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("x,y\n" + "1,1\n" * 100_000 + "007,1.5\n")
    schema = Schema.infer(path)
    assert schema["x"].values == ("007", "1")
    assert schema["y"].kind == "number"


def test_parts_of_a_profile_add() -> None:
    words = pa.array([*different("user{}", 60), *different("user{}", 3), None])
    parts = [Profile.of(words.slice(at, 16)) for at in range(0, len(words), 16)]
    whole, total = Profile.of(words), Profile.total(parts)
    assert (total.rows, total.missing, total.words, total.longest) == (64, 1, 63, 1)
    assert sorted(total.values.to_pylist()) == sorted(whole.values.to_pylist())
    assert total.kind == whole.kind == "category"
    numbers = Profile.total([Profile.of(pa.array(part)) for part in ([1.0, 2.0], [0.5, None], [7])])
    assert (numbers.kind, numbers.missing) == ("number", 1)
    assert (min(numbers.values.to_pylist()), max(numbers.values.to_pylist())) == (0.5, 7)


@given(st.text(st.sampled_from("aZ09.-_\t\n\x0b\x0c\r\x1c é²中")))
def test_words_are_counted_as_by_arrow(value: str) -> None:
    few, many = Profile.of(pa.array([value])), Profile.of(pa.array([value, *map(str, range(PYTHON_COUNTED))]))
    assert few.longest == many.longest


def test_a_profile_of_long_texts_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.profile.VALUE_BYTES", 10_000)
    texts = different("some words and a number {}", 1000)
    parts = [Profile.of(pa.array(texts[at : at + 100])) for at in range(0, 1000, 100)]
    assert max(part.values.nbytes for part in parts) <= 10_000 / 32
    total = Profile.total([Profile.total(parts[:3]), *parts[3:]])
    assert (total.kind, total.rows, total.words) == ("text", 1000, 5000)
    with pytest.warns(Notice, match="column 'x': not all values are listed"):
        Schema.infer({"x": texts}, {"x": "category"})


# Schemas unite

LEVELS: dict[str, st.SearchStrategy[list[Any]]] = {
    "sky": st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True),
    "n": st.lists(st.integers(0, 4), unique=True),
    "h": st.lists(st.sampled_from([0.5, 1.0, 2.5]), unique=True) | st.lists(st.integers(0, 4), unique=True),
}


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    columns = [Column("t", "number")] if draw(st.booleans()) else []
    for name in draw(st.lists(st.sampled_from(sorted(LEVELS)), unique=True)):
        values = draw(LEVELS[name])
        levels = pa.array(values, None if values else pa.string())
        unlisted = not values and draw(st.booleans())
        columns.append(Column(name, "category", None if unlisted else levels, draw(st.integers(0, len(values)))))
    return Schema(tuple(columns))


def unordered(schema: Schema) -> dict[str, Any]:
    """What a schema says, but for the order of columns and levels."""
    return {c.name: (c.kind, frozenset(c.values), frozenset(c.values[: c.declared])) for c in schema}


@given(schemas(), schemas(), schemas())
@settings(deadline=None)
def test_union_laws(a: Schema, b: Schema, c: Schema) -> None:
    assert a | a == a
    assert unordered(a | b) == unordered(b | a)
    assert (a | b) | c == a | (b | c)
    assert (a | b) | b == a | b
    for column in a:
        assert set(column.values) <= set((a | b)[column.name].values)


def test_parts_that_disagree_raise() -> None:
    words = Schema.infer({"x": ["a", "b"]})
    with pytest.raises(SchemaError, match="column 'x' is number in one part of the data and category in another; give"):
        Schema.infer({"x": [1.5, 2.5, 3.5]}) | words
    with pytest.raises(SchemaError, match=r"'x' is int64 in one part .* string in another; .*kinds={'x': \.\.\.}"):
        Schema.infer({"x": [1, 2]}) | words
    one, other = (
        credo.estimate({"g": groups, "x": [1.5, 2.5]}, "x", by="g", prior=credo.NormalMean(0, 1, 1))
        for groups in ([1, 2], ["a", "b"])
    )
    with pytest.raises(SchemaError, match="column 'g' is int64 in one part of the data and string in another"):
        one.merge(other)


PRIORS = {
    "x": credo.NormalInverseGamma(0, 1, 1, 1),
    "n": credo.GammaPoisson(1, 1),
    "sky": credo.DirichletCategorical(1),
}
ROWS_OF_PARTS = st.lists(
    st.fixed_dictionaries(
        {
            "g": st.sampled_from(["a", "b", "c", None]),
            "x": st.floats(-100, 100, width=16) | st.none(),
            "n": st.integers(0, 9) | st.none(),
            "sky": st.sampled_from(["sun", "rain", "fog", None]),
        }
    ),
    min_size=1,
    max_size=8,
)


@given(st.lists(ROWS_OF_PARTS, min_size=1, max_size=4), st.sampled_from(sorted(PRIORS)))
@settings(deadline=None, max_examples=50)
def test_merging_parts_equals_the_whole(parts: list[list[dict[str, Any]]], column: str) -> None:
    def believe(rows: list[dict[str, Any]]) -> Any:
        return credo.estimate(rows, column, by="g", prior=PRIORS[column])

    whole = believe([row for part in parts for row in part])
    merged = believe(parts[0]).merge(*(believe(part) for part in parts[1:]))
    assert unordered(merged.evidence.schema) == unordered(whole.evidence.schema)
    assert merged.groups.to_pylist() == whole.groups.to_pylist()
    for mine, its in zip(merged.statistics.sums, whole.statistics.sums, strict=True):
        assert np.array_equal(mine.value, its.value)


@pytest.mark.parametrize(("low", "high"), [(0, 5), (-7, 3), (0, 10**6), (2**62, 2**62 + 4)])
def test_integers_are_coded_alike_near_and_far(low: int, high: int) -> None:
    x = np.random.default_rng(0).integers(low, high, 500)
    codes, levels = cells.categories(pa.array(x))
    np.testing.assert_array_equal(np.asarray(levels)[codes], x)
    assert sorted(levels.to_pylist()) == sorted(set(x.tolist()))


# Texts that are repeated, and categories of several words


def sentences(n: int, words: int, seed: int = 0) -> list[str]:
    """Different sentences of so many words."""
    rng = np.random.default_rng(seed)
    vocabulary = np.array([f"{a}{b}{c}" for a in "bdfgklm" for b in "aeiou" for c in "nrst"])
    return [f"{' '.join(rng.choice(vocabulary, words))} w{i}" for i in range(n)]


@pytest.mark.parametrize("words", [6, 12, 25])
@pytest.mark.parametrize("times", [2, 5, 10])
def test_repeated_sentences_are_text(words: int, times: int) -> None:
    assert kind_of(sentences(200, words) * times) == "text"


def test_some_repeated_messages_leave_the_others_text() -> None:
    messages = sentences(500, 10)
    assert kind_of(messages[:150] * 5 + messages[150:]) == "text"
    assert kind_of(["ok"] * 3000 + messages) == "text"
    half = sentences(30_000, 20)
    assert kind_of(half + half) == "text"  # repeated in another batch


@pytest.mark.parametrize(
    "levels",
    [
        ["New York City", "Salt Lake City", "Los Angeles", "Boston"],
        ["United States of America", "Trinidad and Tobago", "France", "Papua New Guinea", "Peru"],
        [f"I {how} with this statement as it stands" for how in ("agree", "disagree", "rather agree", "never mind")],
        [f"Ward number {i} of the hospital" for i in range(60)],
    ],
)
@pytest.mark.parametrize("times", [40, 300])
def test_categories_of_several_words_stay_categories(levels: list[str], times: int) -> None:
    assert kind_of(levels * times) == "category"
