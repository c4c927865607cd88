"""Rows that are nearly equal, such as noisy copies and edited documents, are held out together; chance makes none."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import credo
from credo.data import source
from credo.errors import Notice
from credo.selection.similar_rows import similar_rows

Table = dict[str, Any]
Array = Any  # of numbers or words
WORDS = np.array([f"w{i:03d}" for i in range(600)])


def measured(seed: int, n: int) -> Table:
    """Two classes that six numbers tell apart a little."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 6)) + 0.5 * (np.arange(6) < 3) * y[:, None]
    return {**{f"x{j}": x[:, j] for j in range(6)}, "y": np.where(y, "b", "a")}


def noisy(table: Table, times: int, noise: float) -> Table:
    """Every row several times, its numbers with a little noise."""
    rng = np.random.default_rng(9)
    copied = {name: np.repeat(cells, times) for name, cells in table.items()}
    return {
        name: own if own.dtype.kind == "U" else own + noise * rng.normal(size=len(own)) for name, own in copied.items()
    }


def documents(rng: np.random.Generator, classes: Array) -> list[list[str]]:
    usual = np.random.default_rng(3).dirichlet(np.full(600, 0.3))
    other = 0.8 * usual + 0.2 * np.random.default_rng(4).dirichlet(np.full(600, 0.1))
    return [rng.choice(WORDS, rng.integers(12, 30), p=other if own else usual).tolist() for own in classes]


def edited(own: list[list[str]], rng: np.random.Generator) -> Array:
    """The documents, each with a word replaced by one that no other has."""
    found = []
    for words in own:
        at = rng.integers(len(words))
        found.append(" ".join([*words[:at], f"new{rng.integers(10**9)}", *words[at + 1 :]]))
    return np.array(found, dtype=object)


def edited_versions(rng: np.random.Generator, n: int) -> Table:
    """Three edited versions of each of n documents."""
    y = rng.integers(0, 2, n)
    own = documents(rng, y)
    return {"t": np.concatenate([edited(own, rng) for _ in range(3)]), "y": np.tile(np.where(y, "b", "a"), 3)}


def true_log_loss(model: Any, new: Table) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(model.scores(new).log_loss)


@pytest.mark.parametrize("noise", [1e-9, 1e-2])
def test_noisy_copies_are_held_out_together(noise: float) -> None:
    with pytest.warns(Notice, match="rows are nearly copies of others, by the numbers of columns 'x0', 'x1'"):
        model = credo.learn(noisy(measured(0, 80), 3, noise), target="y")
    scores = model.report.scores
    assert "by groups" in scores.how
    truth = true_log_loss(model, measured(1, 2000))
    assert truth < 0.75  # it was 1.2 to 1.8, and reported as 0.1
    assert abs(scores.log_loss - truth) < 2 * scores.log_loss_error


def test_edited_documents_are_held_out_together() -> None:
    rng = np.random.default_rng(5)
    rows = edited_versions(rng, 80)
    with pytest.warns(Notice, match="rows are nearly copies of others, by the words of column 't'"):
        model = credo.learn(rows, target="y")
    new = rng.integers(0, 2, 1500)
    texts = np.array([" ".join(each) for each in documents(rng, new)], dtype=object)
    truth = true_log_loss(model, {"t": texts, "y": np.where(new, "b", "a")})
    assert truth < 0.75  # it was above 1, and reported as 0.01
    assert abs(model.report.scores.log_loss - truth) < 2 * model.report.scores.log_loss_error


@pytest.mark.filterwarnings("error")
def test_replies_that_quote_are_no_copies() -> None:
    """A third of the documents repeat another one, and say as much themselves."""
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 300)
    own = documents(rng, y)
    replies = [own[i] + own[(i + 1) % 300] if i % 3 == 0 else own[i] for i in range(300)]
    assert groups({"t": np.array([" ".join(each) for each in replies], dtype=object), "y": y.astype(str)}) is None


def test_options_of_a_text_make_no_difference() -> None:
    rows = edited_versions(np.random.default_rng(5), 40)
    with pytest.warns(Notice, match="rows are nearly copies of others, by the words of column 't'"):
        assert (similar_rows(source(rows), ["t"], "y", {"t": credo.Text(ngrams=2)}, False) == groups(rows)).all()


def test_a_quantity_measured_again_is_no_new_row() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(40, 5))
    table = {**{f"x{j}": x[:, j] for j in range(5)}, "y": x[:, 0] + rng.normal(size=40)}
    with pytest.warns(Notice, match="rows are nearly copies of others"):
        model: Any = credo.learn(noisy(table, 4, 1e-6), target="y")
    assert "by groups" in model.report.scores.how


def groups(table: Table, **kinds: str) -> Any:
    return similar_rows(source(table), [name for name in table if name != "y"], "y", kinds, quantity=False)


def with_classes(columns: Array, y: Array) -> Table:
    return {**{f"x{j}": column for j, column in enumerate(columns.T)}, "y": np.asarray(y).astype(str)}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [40, 200, 1000])
def test_chance_makes_no_near_copies(n: int) -> None:
    rng = np.random.default_rng(n)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 5))
    assert groups(with_classes(x, y)) is None
    assert groups(with_classes(rng.standard_cauchy((n, 5)), y)) is None
    assert groups(with_classes(np.where(rng.random((n, 5)) < 0.5, 0.0, np.exp(x)), y)) is None  # half of them zeros
    assert groups(with_classes(np.where(rng.random((n, 5)) < 0.4, np.nan, x), y)) is None
    assert groups(with_classes(rng.poisson(8.0, (n, 6)).astype(float), y)) is None
    assert groups(with_classes(np.round(x, 1), y)) is None
    assert groups(with_classes(x[:, :1] @ rng.normal(size=(1, 30)) + 0.1 * rng.normal(size=(n, 30)), y)) is None
    assert groups(with_classes(np.cumsum(x, axis=0), y)) is None  # neighbours in time
    assert groups({"x": x[:, 0], "y": y.astype(str)}) is None
    texts = np.array([" ".join(each) for each in documents(rng, y)], dtype=object)
    assert groups({"t": texts, "y": y.astype(str)}) is None
    few = np.array([" ".join(rng.choice(WORDS[:25], 15)) for _ in range(n)], dtype=object)
    assert groups({"t": few, "y": y.astype(str)}) is None


@pytest.mark.filterwarnings("error")
def test_what_rows_of_a_class_have_in_common_makes_no_copies() -> None:
    """Few rows of many narrow classes, and documents of few forms, to which new ones belong, too."""
    rng = np.random.default_rng(7)
    y = np.repeat(np.arange(100), 3)
    assert groups(with_classes(rng.normal(size=(100, 5))[y] + 0.01 * rng.normal(size=(300, 5)), y)) is None
    forms = [" ".join(rng.choice(WORDS, 10)) for _ in range(8)]
    lines = np.array([f"{forms[k]} {rng.integers(10**6)}" for k in rng.integers(0, 8, 300)], dtype=object)
    assert groups({"t": lines, "y": rng.integers(0, 2, 300).astype(str)}) is None


def test_units_are_no_matter() -> None:
    table = noisy(measured(2, 40), 3, 1e-4)
    other = {name: own if name == "y" else np.exp(3 * own) for name, own in table.items()}
    with pytest.warns(Notice):
        found, by_other_units = groups(table), groups(other)
    assert len({*zip(found, by_other_units, strict=True)}) == len({*found}) == len({*by_other_units})


@pytest.mark.filterwarnings("error")
def test_equal_rows_are_copies_as_before() -> None:
    assert groups(noisy(measured(3, 80), 3, 0.0)) is None
    model = credo.learn(noisy(measured(3, 80), 3, 0.0), target="y")
    assert model.report.scores.rows == 80


@pytest.mark.filterwarnings("error")
def test_given_groups_change_nothing() -> None:
    table = noisy(measured(4, 30), 2, 1e-6)
    assert credo.learn(table, target="y", groups=np.arange(60)).report.scores.rows == 60
