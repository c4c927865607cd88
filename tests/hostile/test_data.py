"""Tables in memory that aren't what they should be: the error names the column, the value, the row and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo import Schema
from credo._kernels.jit import forced
from credo.data import source
from tests.hostile.refusals import read_or_refused, refused
from tests.work import lines_run

NORMAL = credo.NormalMean(0, 10, 1)
COIN = credo.BetaBernoulli(1, 1)
COUNT = credo.GammaPoisson(1, 1)


# Forms


WRONG = [7, None, b"x\n1\n", object(), np.zeros((2, 2, 2)), np.float64(3), {1, 2}]


@pytest.mark.parametrize("data", WRONG, ids=lambda data: type(data).__name__)
def test_what_isnt_a_table(data: Any) -> None:
    text = refused(credo.estimate, data, "x")
    assert "can't read a table from" in text
    assert "credo takes a path, a pandas, polars or pyarrow table, a DuckDB relation, a dict of columns" in text


EMPTY = [[], (), {}, {"x": []}, pd.DataFrame({"x": []}), np.empty((0, 2)), pa.table({"x": []}), iter([])]


@pytest.mark.parametrize("data", EMPTY, ids=lambda data: type(data).__name__)
def test_nothing_in_it(data: Any) -> None:
    text = refused(Schema.infer, data)
    assert "empty" in text or "there are no rows" in text


def test_columns_that_arent() -> None:
    assert refused(credo.estimate, {"x": 5}, "x") == "column 'x' is 5, not a list of values"
    assert refused(credo.estimate, {"x": "abc"}, "x") == "column 'x' is 'abc', not a list of values"
    assert refused(credo.estimate, {"x": {1: 2}}, "x") == "column 'x' is {1: 2}, not a list of values"
    assert "column 'x' has 2 dimensions; a column has one" in refused(credo.estimate, {"x": np.ones((2, 2))}, "x")
    assert "different lengths: x 2, y 3" in refused(credo.estimate, {"x": [1, 2], "y": [1, 2, 3]}, "x")
    assert "the rows have different lengths: 1 to 2" in refused(credo.estimate, [(1, 2), (3,)], "x0")
    assert "complex numbers" in refused(credo.estimate, np.ones((3, 2), dtype=complex), "x0")
    assert "complex numbers" in refused(credo.estimate, scipy.sparse.csr_array(np.ones((3, 2), dtype=complex)), "x0")
    assert "column 'x' holds complex" in refused(credo.estimate, {"x": np.ones(3, dtype=complex)}, "x")
    assert "column 'x' holds object values that credo can't read" in refused(credo.estimate, {"x": [object()]}, "x")
    assert "column 'x', row 1: '\\ud800' isn't text" in refused(credo.estimate, {"x": ["\ud800"]}, "x")
    assert f"column 'x' has the whole number {2**70} (row 1)" in refused(credo.estimate, {"x": [2**70]}, "x")


def test_two_columns_of_one_name() -> None:
    twice = "two columns are named 'x'; rename one of them"
    assert refused(credo.estimate, pd.DataFrame([[1, 2]], columns=["x", "x"]), "x") == twice
    assert refused(credo.estimate, pa.Table.from_arrays([[1], [2]], names=["x", "x"]), "x") == twice
    assert refused(credo.estimate, pa.record_batch([[1], [2]], names=["x", "x"]), "x") == twice
    assert refused(credo.estimate, pa.Table.from_arrays([[1], [2]], names=["x", "x"]).to_reader(), "x") == twice
    assert refused(credo.estimate, {1: [1], "1": [2]}, "1") == "two columns are named '1'; rename one of them"
    assert refused(credo.estimate, [{1: 1, "1": 2}], "1") == "two columns are named '1'; rename one of them"


def test_a_column_that_isnt_there() -> None:
    data = {"price": [1.5], "prize": [2.5], "colour": ["red"]}
    text = refused(credo.estimate, data, "pric")
    assert text == "no column 'pric'; known: price, prize, colour. Did you mean 'price'?"
    assert "no column 'color'" in refused(credo.estimate, data, "price", by="color")
    assert "Did you mean 'colour'?" in refused(credo.estimate, data, "price", by="color")
    assert "no column 'weight'" in refused(credo.estimate, data, "price", weight="weight")
    assert "no column 'x'" in refused(credo.estimate, iter([{"x": [1]}, {"y": [1]}]), "x", prior=NORMAL)
    assert "no column 'x'" in refused(credo.estimate, iter([pd.DataFrame({"y": [1]})]), "x", prior=NORMAL)
    wide = {f"column {j}": [1] for j in range(5000)}
    assert "... (5000 in all)" in refused(credo.estimate, wide, "column -1")


def test_a_row_with_a_new_column_late() -> None:
    rows = ({"x": 1.5} if i < 70_000 else {"x": 1.5, "y": 2} for i in range(70_001))
    text = refused(credo.estimate, rows, "x", prior=NORMAL)
    assert "row 70001 has a column 'y' that none of the first 60000 rows has" in text
    absent = ({"x": 1.5, "y": 2} if i < 70_000 else {"y": 2} for i in range(140_000))
    assert credo.estimate(absent, "x", prior=NORMAL).n == 70_000  # a key that isn't there is a missing cell


# Cells


def test_a_word_among_numbers() -> None:
    data = {"y": [1, 2, 3, 4], "x": [1.5, None, "gone", 2]}
    for table in (data, pd.DataFrame(data)):
        text = refused(credo.estimate, table, "x")
        assert "column 'x' has the value 'gone' (row 3), str where those before it are number" in text
        assert "a column holds values of one type. If it means a missing cell, use None" in text
        assert credo.estimate(table, "y").n == 4  # who doesn't use the column isn't troubled by it


@pytest.mark.parametrize(
    ("values", "odd", "row"),
    [
        ([1, "a"], "'a'", 2),
        (["a", None, 1.5], "1.5", 3),
        ([True, 1], "1", 2),
        ([None, [1], 2], "2", 3),
        ([{"a": 1}, "b"], "'b'", 2),
    ],
)
def test_the_odd_cell_is_named(values: list[Any], odd: str, row: int) -> None:
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    for form in ({"x": values}, {"x": cells}, [{"x": value} for value in values], pd.DataFrame({"x": cells})):
        assert f"column 'x' has the value {odd} (row {row})" in refused(credo.estimate, form, "x")


def test_nested_cells_are_refused_only_where_used() -> None:
    data = {"x": [1.5, 2.5], "list": [[1], [2]], "struct": [{"a": 1}, {"a": 2}]}
    for form in (data, pd.DataFrame(data), pl.DataFrame(data), pa.table(data), duckdb.from_arrow(pa.table(data))):
        assert credo.estimate(form, "x").n == 2
        for column in ("list", "struct"):
            text = refused(credo.estimate, form, column)
            assert f"column '{column}' holds " in text
            assert "credo reads numbers, booleans, dates and strings: make it one of these, or leave it out" in text


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.period_range("2024", periods=3, freq="M")),
        pd.Series(pd.interval_range(0, 3)),
        pd.Series(pd.to_timedelta([1, 2, 3])),
        pa.array([b"\xff", b"a", b"b"]),
        pa.array([b"0" * 16] * 3, pa.binary(16)),
        pa.array([None] * 3, pa.month_day_nano_interval()),
        np.zeros(3, dtype=[("a", int), ("b", float)]),
    ],
    ids=lambda column: str(getattr(column, "type", getattr(column, "dtype", ""))),
)
def test_other_cells_are_refused_only_where_used(column: Any) -> None:
    data = {"x": [1.5, 2.5, 3.5], "other": column}
    assert credo.estimate(data, "x").n == 3
    assert "column 'other' holds " in refused(credo.estimate, data, "other")
    assert "column 'other' holds " in refused(credo.estimate, data, "x", by="other", prior=NORMAL)


def test_a_relation_that_fails() -> None:
    failing = duckdb.sql("SELECT (CASE WHEN i > 3 THEN 'a' ELSE '1' END)::INT AS x FROM range(9) t(i)")
    assert refused(credo.estimate, failing, "x").startswith("DuckDB can't run the relation: Could not convert")
    connection = duckdb.connect()
    relation = connection.sql("SELECT 1.5 AS x")
    connection.close()
    assert "DuckDB can't run the relation: Connection has already been closed" in refused(credo.estimate, relation, "x")


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), 1e151, -1e200])
def test_numbers_without_end(value: float) -> None:
    for form in (
        [1.5, value, 2.5],
        np.array([1.5, value, 2.5]),
        np.array([[1.5], [value], [2.5]]),
        {"x": [1.5, value, 2.5]},
        pd.DataFrame({"x": [1.5, value, 2.5]}),
        [str(cell) for cell in (1.5, value, 2.5)],
    ):
        name = "x0" if isinstance(form, np.ndarray) and form.ndim == 2 else "x"
        for column in (name, [name]):
            text = refused(credo.estimate, form, column, prior=NORMAL)
            assert f"column '{name}' has the value {value:g} (row 2); numbers must be finite and below 1e+150" in text
            assert "Leave the cell empty if it is unknown" in text


def test_numbers_without_end_in_a_matrix() -> None:
    x = np.ones((100_000, 3))
    x[70_000, 1] = np.inf
    prior = credo.NormalInverseWishart(np.zeros(3), 1, 5, np.eye(3))
    assert "column 'x1' has the value inf (row 70001)" in refused(prior.update, x)


def test_counts() -> None:
    assert "column 'x' has the value -1 (row 2) where a count (0, 1, 2, ...) is needed" in refused(
        COUNT.update, [3, -1]
    )
    assert "column 'x' has the value 0.5 (row 1) where a count" in refused(COUNT.update, [0.5, 1])
    text = refused(credo.estimate, {"x": [-1, 2, 5]}, "x", kinds={"x": "count"})
    assert "column 'x' has the value -1 (row 1) where a count" in text
    exponential = credo.GammaExponential(1, 1)
    assert "the value -0.5 (row 2) where a number of at least 0" in refused(exponential.update, [1, -0.5])


def test_truths() -> None:
    text = refused(COIN.update, ["yes", "no", "maybe"])
    assert "column 'x' has the value 'maybe' (row 3) where yes or no is needed (true/false, yes/no, 1/0)" in text
    assert "success=" in text
    assert "has the value 2 (row 2)" in refused(COIN.update, [1, 2])
    assert "has the value 0.5 (row 1)" in refused(COIN.update, [0.5, 1.0])


# Weights


@pytest.mark.parametrize(("weight", "shown"), [(-1, "-1"), (float("nan"), "nan"), (float("inf"), "inf")])
def test_weights_out_of_bounds(weight: float, shown: str) -> None:
    text = refused(NORMAL.update, [1.5, 2.5, 3.5], weight=[1, weight, 1])
    assert f"a weight must be 0 or more, but that of row 2 is {shown}" in text
    data = {"x": [1.5, 2.5], "w": [1, weight]}
    refused(credo.estimate, data, "x", weight="w", prior=NORMAL)


@pytest.mark.parametrize("weight", [[1], [1, 2, 3], [[1, 2]], [], "ab", ["a", "b"]], ids=repr)
def test_weights_that_dont_fit(weight: Any) -> None:
    refused(NORMAL.update, [1.5, 2.5], weight=weight)


# Read once


def numbers() -> Iterator[dict[str, list[float]]]:
    yield {"x": [1.5, 2.5]}
    yield {"x": [3.5]}


def test_an_iterator_is_read_once() -> None:
    again = "an iterator can be read only once, and this one was read before: make a new one, or give a table"
    data = numbers()
    assert NORMAL.update(data).n == 3
    assert refused(NORMAL.update, data) == again
    data = numbers()
    refused(credo.estimate, data, "y", prior=NORMAL)
    assert refused(credo.estimate, data, "x", prior=NORMAL) == again  # its first rows are gone
    opened = source(numbers())
    assert NORMAL.update(opened).n == 3
    assert refused(NORMAL.update, opened) == again
    reader = pa.table({"x": [1.5]}).to_reader()
    assert NORMAL.update(reader).n == 1
    assert "was read before (an iterator can be read only once)" in refused(NORMAL.update, reader)
    spent = iter([[1.5], [2.5]])
    assert NORMAL.update(spent).n == 2
    assert "was read before (an iterator can be read only once)" in refused(NORMAL.update, spent)


def test_an_iterator_cant_tell_its_kinds() -> None:
    text = refused(credo.estimate, numbers(), "x")
    assert "an iterator can be read only once, and inferring kinds would consume it: give a prior" in text
    assert "an iterator can be read only once" in refused(Schema.infer, pa.table({"x": [1]}).to_reader())
    assert "an iterator can be read only once" in refused(NORMAL.belief().cross_validate, numbers())


def test_an_iterator_of_other_things() -> None:
    assert "can't read a table from int" in refused(NORMAL.update, iter([1, 2]))
    assert "column 'x' has the value 'b' (row 2)" in refused(NORMAL.update, iter([{"x": 1.5}, {"x": "b"}]))


# Many


@pytest.mark.slow
def test_a_million_groups() -> None:
    n = 1_000_000
    names = pa.array(np.arange(n)).cast(pa.string())
    data = pa.table({"g": names, "x": np.arange(n) % 7.0, "y": names})
    beliefs = credo.estimate(data, "x", by="g", prior=NORMAL)
    assert len(beliefs) == n
    assert beliefs["123456"].n == 1
    assert credo.DirichletCategorical(1).update(data.select(["y"])).n == n
    assert credo.estimate(data, "y", kinds={"y": "category"}).n == n
    assert "looks like names of rows" in refused(credo.estimate, data, "y")
    assert "has no value 'nobody'" in refused(beliefs.__getitem__, "nobody")


def test_work_does_not_grow_with_the_groups() -> None:
    """What Python does is the same for few groups and for many: the rest is in arrays."""

    def estimated(n: int) -> Any:
        return credo.estimate({"g": np.arange(n), "x": np.arange(n) % 7.0}, "x", by="g", prior=NORMAL)

    estimated(10)  # what is made once
    with forced("compiled"):  # a kernel that runs as plain Python has as many lines as rows
        few, many = (lines_run(lambda n=n: estimated(n)) for n in (1_000, 20_000))  # type: ignore[misc]
    assert many < 1.1 * few + 100


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("abc", "0", "-1", "1.5", " "):
        monkeypatch.setenv("CREDO_THREADS", value)
        text = refused(credo.estimate, {"x": [1.5]}, "x")
        assert text == f"CREDO_THREADS must be a whole number of at least 1, but is {value!r}"


def test_groups_that_are_what_is_estimated() -> None:
    text = refused(credo.estimate, {"x": [1, 2]}, "x", by="x")
    assert text == "column 'x' can't be both the groups and what is estimated in them"


# Whatever else there may be

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3)
VALUES = (
    SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.text(max_size=2), SCALARS, max_size=2) | st.dates()
)


@given(st.lists(VALUES, max_size=5), st.lists(VALUES, max_size=5))
@settings(deadline=None, max_examples=200)
def test_any_values_are_read_or_refused(x: list[Any], g: list[Any]) -> None:
    read_or_refused(credo.estimate, {"x": x, "g": g[: len(x)]}, "x", by="g")
    read_or_refused(Schema.infer, x)
    for prior in (NORMAL, COIN, COUNT, credo.DirichletCategorical(1), credo.ParetoUniform(1, 1)):
        read_or_refused(prior.update, x)


@given(VALUES)
@settings(deadline=None, max_examples=100)
def test_any_group_is_found_or_refused(name: Any) -> None:
    for groups in (["a", "b"], [1, 2], [1.5, 2.5], [True, False]):
        beliefs = credo.estimate({"g": groups, "x": [1.5, 2.5]}, "x", by="g", prior=NORMAL)
        read_or_refused(beliefs.__getitem__, name)


# Arguments in the wrong place


ROWS = {"a": [1.0, 2.0, 3.0, 4.0], "y": ["p", "q", "p", "q"]}
MISSPELT = "NaiveBays"
MIXED_UP: Any = ("P(theta)", COIN)
SETTINGS: Any = ({"a": [0.5] * 1000},)
MISTAKES: dict[str, tuple[Any, str]] = {
    "a row where a table is needed": (
        lambda: credo.NaiveBayes().fit(ROWS, "y").predict({"a": 1.0, "y": "p"}), "a single row is a list of one dict",
    ),
    "no rows to predict": (lambda: credo.NaiveBayes().fit(ROWS, "y").predict([]), "the data is empty"),
    "only the target": (
        lambda: credo.NaiveBayes().fit(ROWS, "y").predict({"y": ["p"]}), "its only column is the target, 'y'",
    ),
    "the path first": (lambda: credo.save(*MIXED_UP), "save(model, path): the path is a BetaBernoulli"),
    "the question first": (lambda: credo.ask(*MIXED_UP), "the model comes first: ask(model, question)"),
    "no beliefs": (lambda: credo.bayes_factor(1, 2), "compares two beliefs or models, but one is 1"),
    "data as a setting": (lambda: credo.NaiveBayes(*SETTINGS), "must be a number of at least 0"),
    "a feature asked for": (
        lambda: credo.ask(credo.LinearRegression().fit({"a": [1.0, 2, 3], "b": [1.0, 2, 4]}, "b"), "P(a | b=2)"),
        "a is a feature: ask about b, given features",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_arguments_in_the_wrong_place(name: str) -> None:
    call, expected = MISTAKES[name]
    assert expected in refused(call)


def test_a_misspelt_name_is_suggested() -> None:
    """Python's own suggestion needs the error's name and object."""
    with pytest.raises(AttributeError) as caught:
        getattr(credo, MISSPELT)
    assert (caught.value.name, caught.value.obj) == (MISSPELT, credo)
