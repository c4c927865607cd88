"""Amounts with the sign of a currency, or %, are numbers; names with such a sign are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo import Notice, Schema
from credo.data.spelling import Spelling


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["12 €", "13 €", None], [12, 13, np.nan]),
        (["$5", "-$3.5", "$ 7"], [5, -3.5, 7]),
        (["45%", "3.5 %", "-1%"], [45, 3.5, -1]),
        (["1,5 €", "2,25 €", "3 €"], [1.5, 2.25, 3]),
        (["£1e3", "+£2", "£.5"], [1000, 2, 0.5]),
        (["¥5", "n/a", "¥6"], [5, np.nan, 6]),
        (["1.234,50 €", "12,50 €", "7 €"], [1234.5, 12.5, 7]),
        (["1.234.567 €", "1.234 €", "7 €"], [1234567, 1234, 7]),
        (["$1,234.50", "$3", "-$12,000"], [1234.5, 3, -12000]),
    ],
)
def test_amounts_are_numbers(cells: list[Any], numbers: list[float], tmp_path: Path) -> None:
    rows = {"price": cells, "y": [1.0, 2.0, 4.0]}
    lines = [f"{price or ''}\t{y}\n" for price, y in zip(*rows.values(), strict=True)]
    (tmp_path / "rows.tsv").write_text("price\ty\n" + "".join(lines))
    for data in (rows, tmp_path / "rows.tsv"):
        with pytest.warns(Notice) as told:
            found = credo.LinearRegression(ridge=1.0).fit(data, target="y").predict(rows)
        assert any("column 'price': read as numbers, without" in str(each.message) for each in told)
        plain = {"price": numbers, "y": rows["y"]}
        expected = credo.LinearRegression(ridge=1.0).fit(plain, target="y").predict(plain)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "cells",
    [
        ["5 €", "6 $", "7 €"],  # of different currencies
        ["5 €", "6", "7"],  # of one, and of none
        ["50%", "a%", "b%"],
        ["$", "$", "%"],
        ["5 %%", "6 %%", "7 %%"],
        ["1.5 €", "2,5 €", "3 €"],
    ],
)
def test_other_cells_with_signs_are_names(cells: list[str]) -> None:
    assert Schema.infer({"price": cells})["price"].kind == "category"


def test_thousands_with_a_sign_are_asked_about() -> None:
    with pytest.warns(Notice, match="cells such as '1,234' are read as words"):
        assert Schema.infer({"price": ["€ 1,234", "€ 5,678", "€ 7"]})["price"].kind == "category"


def test_parts_of_a_table_may_not_differ() -> None:
    one, other = (Spelling.of(pa.array([f"5 {sign}", f"6 {sign}"])) for sign in "€$")
    assert (one + one).kind == "whole"
    assert (one + other).kind == "words"
    assert (one + Spelling()).sign == (Spelling() + one).sign == "€"


@pytest.mark.filterwarnings("ignore::credo.Notice")
def test_parts_that_come_once_may_not_differ() -> None:
    parts = [{"price": ["$5", "$6", "$7"], "y": [1.0, 2.0, 3.0]}, {"price": ["5 €", "6 €"], "y": [2.0, 3.0]}]
    with pytest.raises(credo.DataError, match="the value '5 €'"):
        credo.LinearRegression().fit(iter(parts), target="y")


def test_a_dot_that_may_part_thousands_is_no_decimal() -> None:
    with pytest.warns(Notice, match="cells such as '1,234' are read as words"):
        assert Schema.infer({"price": ["1.234 €", "999 €", "5 €"]})["price"].kind == "category"
    with pytest.warns(Notice, match="without €"):
        assert Schema.infer({"price": ["1.234 €", "9.5 €", "5 €"]})["price"].kind == "number"


@pytest.mark.parametrize("sign", ["", " €"])
@pytest.mark.parametrize(
    "cells", [["1.234", "12,50", "3"], ["1,234", "2.5", "3"], ["1,234", "1.234", "1"], ["12.345.678", "1.234.567", "5"]]
)
def test_what_cells_are_does_not_depend_on_parts(cells: list[str], sign: str) -> None:
    """However a column is cut into parts, the cells of all of them tell how commas and dots are meant."""
    parts = [Spelling.of(pa.array([cell + sign])) for cell in cells]
    whole = Spelling.of(pa.array([cell + sign for cell in cells]))
    assert sum(parts[1:], parts[0]) == whole
