"""Decimal commas: numbers where the whole column says so, which is told; words where nobody can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import credo
from credo.data import source
from credo.errors import Notice


def column(table: Any, name: str = "x") -> list[Any]:
    return [cell for batch in source(table).batches([name]) for cell in batch.column(name).to_pylist()]


def test_a_column_of_decimal_commas_is_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x;y\n3,14;a\n2;b\n-0,5;a\n1,234;b\n")
    with pytest.warns(Notice, match="^column 'x': read as numbers with decimal commas$"):
        assert column(str(path)) == [3.14, 2.0, -0.5, 1.234]
    with pytest.warns(Notice, match="decimal commas"):
        assert credo.estimate(str(path), "x").n == 4


def test_rows_that_are_read_once() -> None:
    parts = iter([{"x": ["3,5", "4"]}, {"x": ["0,25"]}])
    with pytest.warns(Notice, match="decimal commas"):
        assert column(parts) == [3.5, 4.0, 0.25]


def test_tokens_among_them_are_missing() -> None:
    with pytest.warns(Notice) as told:
        assert column({"x": ["3,5", "n/a", "2,25"]}) == [3.5, None, 2.25]
    assert len(told) == 2


def test_dots_or_commas_may_part_thousands() -> None:
    with pytest.warns(Notice, match="decimal commas"):
        assert column({"x": ["1.234,5", "0,25", "12.000"]}) == [1234.5, 0.25, 12000.0]
    with pytest.warns(Notice, match="^column 'x': read as numbers, without the commas$"):
        assert column({"x": ["1,234.5", "0.25", "12,000", "1,234,567"]}) == [1234.5, 0.25, 12000.0, 1234567.0]


@pytest.mark.parametrize("cells", [["12.345.678", "9.123.456"], ["1.234", "2.345"]])
def test_names_with_dots_stay_words(cells: list[str]) -> None:
    assert column({"x": cells}) == cells


def test_what_may_be_thousands_stays_words() -> None:
    with pytest.warns(Notice, match="column 'x': cells such as '1,234' are read as words: write 1234"):
        assert column({"x": ["1,234", "12,500", "7"]}) == ["1,234", "12,500", "7"]


@pytest.mark.parametrize("cells", [["3,5", "red"], ["1,2,3", "4,5"], ["3.5", "3,5"], ["01,5", "2,5"]])
def test_other_cells_make_words_of_it(cells: list[str]) -> None:
    assert column({"x": cells}) == cells


def test_a_category_may_be_asked_for() -> None:
    table = {"x": ["3,5", "2,5"] * 10, "y": ["a", "b"] * 10}
    with pytest.warns(Notice, match="decimal commas"):
        model = credo.NaiveBayes(kinds={"x": "category"}).fit(table, "y")
    assert model.predict({"x": [3.5]}).tolist() == ["a"]
