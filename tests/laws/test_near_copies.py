"""Copies that a row number or a time tells apart are held out together; other rows are rows like any others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import credo
from credo.data import source
from credo.errors import Notice
from credo.numerics.exact import Array
from credo.selection.near_copies import near_copies

Table = dict[str, Any]


def rows(seed: int, n: int) -> tuple[Table, Array]:
    """Noisy classes, and a function of the same numbers."""
    rng = np.random.default_rng(seed)
    a, b, k = rng.normal(size=n), rng.normal(size=n), rng.choice(list("uvw"), n)
    value = a - b + (k == "u") + rng.normal(size=n) * 1.2
    return {"a": a, "b": b, "k": k, "y": np.where(value > 0.3, "high", np.where(value < -1, "low", "mid"))}, value


def repeated(table: Table, times: int, **others: NDArray[Any]) -> Table:
    order = np.random.default_rng(0).permutation(len(table["y"]) * times)
    return {**others, **{name: np.repeat(cells, times)[order] for name, cells in table.items()}}


def hiders(n: int) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(1)
    times = np.datetime64("2024-01-01T00:00") + rng.permutation(n * 50)[:n].astype("timedelta64[m]")
    return {"number": np.arange(n), "float": rng.normal(size=n), "time": times}


@pytest.mark.parametrize("hider", ["number", "float", "time"])
def test_scores_arent_those_of_copies(hider: str) -> None:
    training, (new, _) = rows(0, 100)[0], rows(1, 2000)
    table = repeated(training, 3, at=hiders(300)[hider])
    with pytest.warns(Notice, match="300 of 300 rows equal others in all cells but those of column 'at'; such copies"):
        model = credo.learn(table, target="y")
    told = model.report.scores.log_loss
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth = model.scores({**new, "at": np.resize(table["at"], 2000)}).log_loss
    assert abs(told - truth) < 2 * model.report.scores.log_loss_error  # it was 0.3, and 1.5 in truth
    assert truth < 0.95


@pytest.mark.parametrize("learn", [credo.learn, credo.NaiveBayes().fit])
def test_tuning_doesnt_rely_on_copies(learn: Any) -> None:
    table, (new, _) = repeated(rows(0, 100)[0], 3, at=hiders(300)["number"]), rows(1, 2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = learn(table, target="y")
    with pytest.warns(Notice, match="such copies are held out together"):
        tuned = first.tune(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert tuned.scores({**new, "at": np.resize(table["at"], 2000)}).log_loss < 0.95  # it was 1.1 or more
    assert tuned.tuning.log_loss > 0.7


def test_rows_without_a_class_hide_no_copies() -> None:
    table = repeated(rows(0, 100)[0], 3, number=np.arange(300.0))
    known = np.arange(300) % 5 > 0
    with pytest.warns(Notice, match="of 240 rows equal others in all cells but those of column 'number'"):
        groups = searched({**table, "y": np.where(known, table["y"], None)})
    labelled = {name: cells[known] for name, cells in table.items()}
    with pytest.warns(Notice, match="of 240 rows equal others"):
        np.testing.assert_array_equal(groups[known], searched(labelled))


def test_a_quantity_is_scored_by_new_rows() -> None:
    table, value = rows(0, 100)
    copied = repeated({**table, "y": value}, 3, number=np.arange(300))
    with pytest.warns(Notice, match="such copies are held out together"):
        model: Any = credo.learn(copied, target="y")
    assert "by groups" in model.report.scores.how


def words(rng: np.random.Generator, n: int) -> list[str]:
    return [" ".join(rng.choice([f"w{i}" for i in range(400)], 8)) for _ in range(n)]


def test_a_document_beside_a_number_of_its_own() -> None:
    rng = np.random.default_rng(2)
    table = {"t": np.array(words(rng, 120), dtype=object), "y": rng.choice(["a", "b"], 120, p=[0.8, 0.2])}
    with pytest.warns(Notice, match="of 360 rows equal others in all cells but those of column 'number'"):
        model = credo.learn(repeated(table, 3, number=np.arange(360)), target="y")
    assert model.report.scores.log_loss > 0.4  # pure noise


def test_repeated_texts_beside_different_cells_get_a_notice() -> None:
    rng = np.random.default_rng(3)
    hours, classes = rng.integers(0, 24, 120), np.repeat(rng.choice(["a", "b"], 60), 2)
    table = {"t": np.repeat(words(rng, 60), 2), "hour": hours, "y": classes}
    with pytest.warns(Notice, match="column 't': 1.. of 1.. rows share their text and class with rows that"):
        credo.learn(table, target="y")


def searched(table: Table, target: str = "y") -> Any:
    return near_copies(source(table), [name for name in table if name != target], target, ())


@pytest.mark.filterwarnings("error")
def test_chance_makes_no_copies() -> None:
    rng, n = np.random.default_rng(4), 1000
    x, k, y = rng.normal(size=n), rng.choice(list("uvw"), n), rng.choice(["a", "b"], n)
    rounded, rare = np.round(rng.normal(size=n), 2), np.where(rng.random(n) < 0.01, "yes", "no")
    assert searched({"x": x, "k": k, "y": np.where(k == "u", "a", "b")}) is None  # y is a function of k
    assert searched({"x": x, "rounded": rounded, "y": y}) is None
    assert searched({"x": x, "rounded": rounded, "k": k, "y": y}) is None
    assert searched({"x": x, "rounded": rounded, "y": rare}) is None
    often, mostly = np.round(0.35 * rng.normal(size=n), 2), np.where(np.arange(n) < 2, "yes", "no")
    empties: list[Any] = [np.where(np.arange(n) < 3, 1.0, np.nan), ["a"] * 4 + [None] * (n - 4)]
    for empty in empties:
        assert searched({"x": x, "often": often, "empty": empty, "y": mostly}) is None  # missing cells agree, too
    assert searched({"x": x, "z": rng.normal(size=n), "y": y}) is None
    assert searched({"k": k, "y": y}) is None
    assert searched(rows(0, n)[0]) is None
    few = repeated(rows(0, n)[0], 1, number=np.arange(n))
    assert searched(few) is None
    many = np.tile([f"v{i}" for i in range(n // 4)], 4)
    assert searched({"x": x, "k": many, "y": many}) is None  # each of many classes has a value of its own


@pytest.mark.filterwarnings("ignore::credo.errors.Notice")
def test_row_identifiers_and_given_groups_change_nothing() -> None:
    table = repeated(rows(0, 60)[0], 2)
    named = {"id": np.array([f"u{i}" for i in range(120)]), **table}
    assert searched(named) is None
    model = credo.learn(named, target="y")
    assert model.report.scores.rows == 60  # copies are one row
    numbered = {"number": np.arange(120), **table}
    given = credo.learn(numbered, target="y", groups=np.arange(120) % 7).report.scores
    assert given.rows == 120
