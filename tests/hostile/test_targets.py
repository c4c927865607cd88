"""Targets that aren't classes: quantities, dates and names of rows are refused before anything is counted."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import credo
from credo.errors import DataError, Notice, SchemaError
from credo.models.naive_bayes import NaiveBayes


def table(target: Any) -> dict[str, Any]:
    return {"x": np.random.default_rng(0).normal(size=len(target)), "y": target}


def prices(rows: int) -> Any:
    return np.random.default_rng(1).integers(1000, 1_000_000, rows)


@pytest.mark.parametrize("learn", [partial(credo.learn, model="naive-bayes"), NaiveBayes().fit])
def test_prices_are_no_classes(learn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NaiveBayes, "summarise", lambda *_: pytest.fail("counted before it was refused"))
    with pytest.raises(DataError) as caught:
        learn(table(prices(20_000)), target="y")
    text = str(caught.value)
    assert "too many to be classes (at most 20, or one for 10 rows" in text
    assert "cut it into bins" in text
    assert "credo.LinearRegression" in text
    assert "kinds" not in text  # there are more of them than any classes may be
    with pytest.raises(DataError, match=r"use kinds=\{'y': 'category'\}"):
        learn(table(prices(2000)), target="y")


def test_in_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    rows = "".join(f"{i % 7},{price}\n" for i, price in enumerate(prices(2000)))
    path.write_text(f"x,price\n{rows}")
    with pytest.raises(DataError, match=r"column 'price' has 1,99\d different numbers in 2,000 rows"):
        credo.learn(str(path), target="price", model="naive-bayes")
    with pytest.warns(credo.Notice, match="predicted as a quantity"):  # unless it is left to learn what to do
        assert isinstance(credo.learn(str(path), target="price"), credo.LinearRegression)


@pytest.mark.parametrize(
    "target",
    [
        [float(price) if i % 5 else None for i, price in enumerate(prices(500))],
        [str(price) for price in prices(500)],
        [f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in range(500)],
        [f"user{i}" for i in range(10_001)],
    ],
)
def test_other_quantities_and_names(target: list[Any]) -> None:
    with pytest.raises(DataError, match="too many to be classes"):
        NaiveBayes().fit(table(target), target="y")
    with pytest.raises(DataError, match="too many to be classes"):
        NaiveBayes().fit({"x": np.arange(float(len(target)))}, target=target)


@pytest.mark.parametrize(
    "days", [pd.date_range("2024-01-01", periods=90), [f"2024-01-{i + 1:02}" for i in range(30)] * 3]
)
def test_dates_as_a_target_are_to_become_numbers(days: Any) -> None:
    for learn in (credo.learn, NaiveBayes().fit, credo.LinearRegression().fit):
        with pytest.raises(DataError, match="To predict a date, write it as a number"):
            learn({"x": np.arange(90.0), "y": days}, target="y")


def test_what_may_be_classes_all_the_same() -> None:
    thirty = np.arange(600) % 30
    with pytest.warns(Notice, match="column 'y' has 30 different numbers, each of which becomes a class. To predict"):
        assert len(NaiveBayes().fit(table(thirty), target="y").classes) == 30
    assert len(NaiveBayes(kinds={"y": "category"}).fit(table(thirty), target="y").classes) == 30
    assert len(NaiveBayes().fit(table(np.arange(300) % 20), target="y").classes) == 20
    assert len(NaiveBayes(kinds={"y": "category"}).fit(table(prices(90)), target="y").classes) == 90
    words = [f"kind {i % 80}" for i in range(400)]
    assert len(NaiveBayes().fit(table(words), target="y").classes) == 80
    with pytest.warns(Notice, match="column 'y' has 150 different values in 400 rows: each becomes a class"):
        NaiveBayes().fit(table([f"kind {i % 150}" for i in range(400)]), target="y")


def test_kinds_may_say_nothing_else_of_the_target() -> None:
    with pytest.raises(SchemaError, match="kinds has 'number' for 'y', which holds the classes"):
        NaiveBayes(kinds={"y": "number"}).fit(table([0, 1, 2]), target="y")


def test_an_iterator_is_stopped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.models.targets.MOST_CLASSES", 100)
    parts = (table(prices(500)) for _ in range(3))
    with pytest.warns(Notice, match="the first"), pytest.raises(DataError, match="too many to be classes"):
        NaiveBayes().fit(parts, target="y")


def test_a_missing_code_among_the_classes_is_told() -> None:
    """R writes NA: as a class of its own, it would be predicted and scored."""
    rows = {"a": [1.0, 2.0, 3.0, 4.0] * 10, "y": ["yes", "no", "NA", "no"] * 10}
    with pytest.warns(credo.Notice, match=r"'NA' is a class of column 'y'; .* credo.read\(data, missing=\['NA'\]\)"):
        credo.learn(rows, "y")
    with pytest.warns(credo.Notice, match="10 rows without 'y' left out"):
        assert credo.learn(credo.read(rows, missing=["NA"]), "y").classes == ("no", "yes")
    with warnings.catch_warnings():
        warnings.simplefilter("error", credo.Notice)
        credo.learn(rows | {"y": ["yes", "none"] * 20}, "y")  # an answer
