"""NA, n/a, ? and the like among numbers and dates are missing cells; missing= names others, in all columns."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import credo
from credo import NaiveBayes, Schema
from credo.data import source
from credo.errors import DataError, Notice

TOKENS = ["NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "-", "?", ".", "#N/A", " ", " NA ", "--", "<NA>"]


def numbers(data: Any, name: str = "x") -> list[float | None]:
    found = np.concatenate([batch.numbers(name) for batch in source(data).batches([name])])
    return [None if np.isnan(x) else float(x) for x in found]


def in_all_forms(words: list[str], folder: Path) -> Iterator[Any]:
    """Strings, as each form of data has them."""
    keyed = [{"k": i, "x": word} for i, word in enumerate(words)]
    (folder / "a.csv").write_text("k,x\n" + "".join(f"{row['k']},{row['x']}\n" for row in keyed))
    (folder / "a.tsv").write_text("k\tx\n" + "".join(f"{row['k']}\t{row['x']}\n" for row in keyed))
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in keyed))
    pq.write_table(pa.Table.from_pylist(keyed), folder / "a.parquet")
    yield from (folder / f"a.{ending}" for ending in ("csv", "tsv", "jsonl", "parquet"))
    columns = {"k": list(range(len(words))), "x": words}
    yield from (columns, keyed, pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns))
    yield {"x": np.array(words)}
    yield duckdb.connect().from_arrow(pa.table(columns))
    yield iter([columns])


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_among_numbers_are_missing(token: str, tmp_path: Path) -> None:
    words = ["1.5", token, "-2", "3e2"]
    path = tmp_path / "b.csv"
    path.write_text("x\n" + "".join(f'"{word}"\n' for word in words))
    for data in in_all_forms(words, tmp_path) if token in ("NA", "?") else (path, {"x": words}):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert numbers(data) == [1.5, None, -2.0, 300.0]
        if token.strip().lower() not in ("", "nan"):  # which are how a missing number is written
            assert "1 cell read as missing" in str(told[0].message)


@pytest.mark.filterwarnings("ignore::credo.errors.Notice")
def test_whole_numbers_stay_whole(tmp_path: Path) -> None:
    for data in in_all_forms(["1", "NA", "2", "3"], tmp_path):
        (batch,) = source(data).batches(["x"])
        assert batch.column("x").to_pylist() == [1, None, 2, 3]
        assert pa.types.is_int64(batch.column("x").type)


def test_json_numbers_and_objects_of_several_types(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"x": 1}\n{"x": "NA"}\n{"x": 2.5}\n{"x": null}\n')
    mixed: list[Any] = [1, "NA", 2.5, None]
    for data in (path, {"x": mixed}, [{"x": cell} for cell in mixed], pd.DataFrame({"x": mixed}), mixed):
        with pytest.warns(Notice, match=r"1 cell read as missing: 'NA' \(1\) among the numbers of column 'x'"):
            assert numbers(data) == [1.0, None, 2.5, None]


def test_one_notice_counts_cells_and_names_tokens_and_columns(tmp_path: Path) -> None:
    rows = 1000
    words = ["NA" if i % 10 == 0 else "?" if i % 100 == 1 else f"{i}" for i in range(rows)]
    columns = {f"c{j}": words for j in range(7)}
    path = tmp_path / "a.csv"
    pd.DataFrame({**columns, "y": ["a", "b"] * (rows // 2)}).to_csv(path, index=False)
    for data in (path, {**columns, "y": ["a", "b"] * (rows // 2)}):
        with pytest.warns(Notice) as told:
            NaiveBayes().fit(data, target="y")
        (notice,) = told
        assert str(notice.message) == (
            "770 cells read as missing: 'NA' (700), '?' (70) among the numbers of columns 'c0', 'c1', 'c2', 'c3', "
            "'c4', ... (7 in all)"
        )


@pytest.mark.filterwarnings("ignore::credo.errors.Notice")
def test_a_late_token_in_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    rows = 130_000
    path.write_text("x,y\n" + "".join(f"{i % 50},a\n" for i in range(rows)) + "NA,b\n?,b\n7.5,b\n")
    assert Schema.infer(path)["x"].kind == "number"
    found = numbers(path)
    assert found[rows:] == [None, None, 7.5]
    assert found[49] == 49


@pytest.mark.filterwarnings("ignore::credo.errors.Notice")
def test_tokens_in_targets_groups_and_weights(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("g,y,x,w\n1,0,2.5,1\n1,1,3.5,NA\n2,NA,4,1\nNA,1,5,2\n")
    model = NaiveBayes(kinds={"g": "category"}).fit(path, target="y")
    assert model.classes == (0, 1)
    assert model.unlabelled == 1
    by = credo.estimate(path, "x", by="g", prior=credo.NormalMean(0, 1, 1))
    assert by.groups.to_pylist() == [1, 2]
    assert by.ungrouped == 1
    by_array = NaiveBayes().fit({"x": [1.0, 2.0, 3.0]}, target=["0", "NA", "1"])
    assert by_array.classes == (0, 1)


def test_words_are_left_alone(tmp_path: Path) -> None:
    long = ["1", "2", "12345678901234567890"]
    for words in (["y", "n", "?", "y"], ["NA", "01", "1", "2"], ["None", "Attached", "-"], long):
        for data in in_all_forms(words, tmp_path):
            if not hasattr(data, "__next__"):
                assert set(Schema.infer(data)["x"].values) == set(words)
    assert Schema.infer({"x": ["1", "2", "3"]})["x"].kind == "category"  # somebody made them strings
    categorical = pd.DataFrame({"x": pd.Categorical(["1", "?", "2"])})
    assert Schema.infer(categorical)["x"].values == ("1", "2", "?")


@pytest.mark.filterwarnings("ignore::credo.errors.Notice")
def test_a_known_number_stays_one() -> None:
    """Of a model, later tables may hold nothing but tokens, or strings."""
    learned = {"x": [1.0, 1.2, 3.1, 2.9], "y": ["a", "a", "b", "b"]}
    model = NaiveBayes().fit(learned, target="y")
    absent = model.predict_proba({"x": [None]})
    for cell in ("NA", "?", "  ", None):
        np.testing.assert_array_equal(model.predict_proba({"x": [cell]}), absent)
        np.testing.assert_array_equal(model.predict_proba([{"x": cell}]), absent)
        live = model.live()
        np.testing.assert_array_equal([*live.predict_proba({"x": cell}).values()], absent[0])
        live.observe({"x": cell, "y": "a"})
        more = model.update({"x": [cell], "y": ["a"]})
        assert live.freeze().seen == more.seen or live.freeze().class_weights.tolist() == more.class_weights.tolist()
        assert more.forget({"x": [None], "y": ["a"]}).predict_proba({"x": [1.0]}).tolist() == (
            model.predict_proba({"x": [1.0]}).tolist()
        )
    np.testing.assert_array_equal(model.predict_proba({"x": ["1.5"]}), model.predict_proba({"x": [1.5]}))
    nothing = model.predict({"x": [None]})[0]
    assert model.predict(iter([{"x": [1.0]}, {"x": ["NA", "3"]}])).tolist() == ["a", nothing, "b"]


def test_a_question_mark_that_is_a_value_stays_one_at_prediction() -> None:
    model = NaiveBayes().fit({"v": ["y", "?", "n", "?"], "c": ["r", "d", "r", "d"]}, target="c")
    assert model.predict({"v": ["?"]}).tolist() == ["d"]
    assert model.predict_proba({"v": ["?"]}).tolist() != model.predict_proba({"v": [None]}).tolist()


# missing=


def test_missing_in_all_forms(tmp_path: Path) -> None:
    for data in in_all_forms(["1.5", "unknown", "-999", "4"], tmp_path):
        table = credo.read(data, missing=["unknown", -999])
        assert numbers(table) == [1.5, None, None, 4.0]
    for data in in_all_forms(["y", "?", "n", "y"], tmp_path):
        table = credo.read(data, missing=["?"])
        (batch,) = table.batches(["x"])
        assert batch.column("x").to_pylist() == ["y", None, "n", "y"]
    categorical = credo.read(pd.DataFrame({"x": pd.Categorical(["y", "?", "n"])}), missing=["?"])
    assert Schema.infer(categorical)["x"].values == ("n", "y")
    block = credo.read(np.array([[1, -999], [3, 4]]), missing=[-999])
    assert numbers(block, "x1") == [None, 4.0]
    assert numbers(credo.read([1.0, -1.0, 2.0], missing=["-1"])) == [1.0, None, 2.0]


def test_missing_among_objects_of_several_types() -> None:
    mixed: list[Any] = [1, "gone", 2.5, None]
    rows, frame = [{"x": cell} for cell in mixed], pd.DataFrame({"x": mixed})
    for data in ({"x": mixed}, rows, frame, mixed, iter([{"x": mixed}])):
        assert numbers(credo.read(data, missing=["gone"])) == [1.0, None, 2.5, None]
    with pytest.raises(DataError, match="a column holds values of one type"):
        numbers({"x": mixed})


def test_what_is_missing_changes_no_other_column() -> None:
    table = credo.read({"zip": ["8001", "8002", "8001"], "x": ["1", "none given", "3"]}, missing=["none given"])
    assert Schema.infer(table)["zip"].values == ("8001", "8002")
    assert numbers(table) == [1.0, None, 3.0]


def test_the_same_as_empty_cells_for_every_verb() -> None:
    rng = np.random.default_rng(0)
    x, sky = rng.normal(size=300).round(3), rng.choice(["sun", "rain"], 300)
    y = np.where(x + (sky == "sun") > 0.5, "yes", "no")
    lost = rng.random(300) < 0.2
    dotted = {"x": np.where(lost, -999, x), "sky": np.where(lost, "unknown", sky), "y": y}
    known = [None if gone else value for gone, value in zip(lost, sky, strict=True)]
    empty = {"x": np.where(lost, np.nan, x), "sky": known, "y": y}
    table = credo.read(dotted, missing=["unknown", -999])
    for learn in (lambda data: NaiveBayes().fit(data, target="y"), lambda data: credo.learn(data, target="y")):
        one, two = learn(table), learn(empty)
        np.testing.assert_array_equal(one.predict_proba(table), two.predict_proba(empty))
        np.testing.assert_array_equal(one.update(table).forget(table).predict_proba(table), two.predict_proba(empty))
    assert credo.estimate(table, "x", by="sky").table().equals(credo.estimate(empty, "x", by="sky").table())


def test_what_missing_must_be() -> None:
    with pytest.raises(DataError, match=r"missing must be a list of values, as \['unknown', -999\], but is 'NA'"):
        credo.read({"x": [1]}, missing="NA")
    with pytest.raises(DataError, match="a delimiter and a format are for files"):
        credo.read({"x": [1]}, delimiter=";")
    with pytest.raises(DataError, match="a delimiter is one character"):
        credo.read("a.csv", delimiter="||")


# Nothing but tokens


@pytest.mark.filterwarnings("ignore::credo.errors.Notice")
def test_a_table_of_nothing_but_tokens(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,z,y\nNA,?,a\nNA,?,b\nNA,?,a\n")
    assert Schema.infer(path)["x"].values == ("NA",)  # nobody can tell what they are
    assert NaiveBayes().fit(path, target="y").predict({"x": ["NA"]}).tolist() == ["a"]
    with pytest.raises(DataError, match="no row has a class"):
        NaiveBayes().fit(credo.read(path, missing=["a", "b"]), target="y")
    with pytest.raises(credo.CredoError, match="all of them are ignored"):
        NaiveBayes().fit(credo.read(path, missing=["NA", "?"]), target="y")
    assert credo.estimate(path, "x", prior=credo.NormalMean(0, 1, 1)).n == 0


# What a model knows as words


def test_words_stay_words_in_later_tables(tmp_path: Path) -> None:
    """Whatever else a table would take them for, were it alone."""
    learned, later = tmp_path / "learned.csv", tmp_path / "later.csv"
    learned.write_text("v,zip,y\n1.10,01234,a\n1.9.2,90210,b\n?,01234,b\nNA,90210,a\n1.10,01234,a\n")
    model = NaiveBayes().fit(learned, target="y")
    later.write_text("v,zip,y\n1.10,90210,a\nNA,90210,b\n")
    expected = model.predict_proba({"v": ["1.10", "NA"], "zip": ["90210", "90210"]})
    np.testing.assert_array_equal(model.predict_proba(later), expected)
    np.testing.assert_array_equal(model.predict_proba(pd.read_csv(later, dtype=str, keep_default_na=False)), expected)
    more = model.update(later)
    assert dict(zip(more.seen.schema["v"].values, [0] * 4, strict=True)).keys() == {"1.10", "1.9.2", "?", "NA"}
    np.testing.assert_array_equal(more.forget(later).predict_proba(later), expected)
    assert model.leave_one_out(learned).n == 5


def test_a_word_among_whole_numbers_hides_no_other_cell() -> None:
    model = NaiveBayes(kinds={"k": "category"}).fit({"k": [1, 2, 3, 1], "y": ["a", "b", "b", "a"]}, target="y")
    with pytest.warns(Notice, match="1 cell with unseen values, ignored"):
        found = model.predict_proba({"k": ["1", "2", "x"]})
    np.testing.assert_array_equal(found[:2], model.predict_proba({"k": [1, 2]}))


@pytest.mark.parametrize(
    "learn",
    [
        Schema.infer,
        lambda rows: NaiveBayes().fit(rows, target="y"),
        lambda rows: credo.learn(rows, target="y"),
        lambda rows: credo.estimate(rows, "x"),
    ],
)
def test_few_words_among_numbers_are_told(learn: Any) -> None:
    cells = [f"{i}.5" for i in range(40)]
    rows = {"x": [*cells, "unknown", "not given"], "y": ["a", "b"] * 21}
    with pytest.warns(Notice, match="column 'x' is a category: all values are numbers but") as told:
        learn(rows)
    advice = "if missing cells are meant, use credo.read(data, missing=['unknown', 'not given'])"
    assert any(str(each.message).endswith(advice) for each in told)
    assert Schema.infer(credo.read(rows, missing=["unknown", "not given"])).kinds["x"] == "number"


@pytest.mark.parametrize(
    "cells",
    [
        [*map(str, range(10)), "unknown"],  # few values
        [*map(str, range(40)), *"abcdef"],  # codes
        ["yes", "no"],
    ],
)
def test_other_categories_get_no_notice(cells: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Schema.infer({"x": cells * 2}).kinds["x"] == "category"
        assert Schema.infer({"x": [*map(str, range(40)), "a"] * 2}, kinds={"x": "category"}).kinds["x"] == "category"


def test_blanks_among_numbers_and_dates_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,when\n1.5,2024-05-01\n \t, \n2.5,2024-05-03\n3.5,2024-05-04\n")
    with pytest.warns(Notice, match="2 cells read as missing: .* among the numbers and dates of columns .x., .when.$"):
        assert {column.name: column.kind for column in Schema.infer(path)} == {"x": "number", "when": "date"}
    with pytest.warns(Notice, match="1 cell read as missing"):
        assert Schema.infer({"x": ["1", "2", "  ", "4"]})["x"].kind == "number"
