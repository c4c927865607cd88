"""Rows that come again and again in a table of few values are rows like any others, whatever depends on what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo.data import source
from credo.data.fingerprints import cell_prints, fingerprints
from credo.models.repeated_rows import Repeats
from credo.numerics.exact import Array


def probabilities(columns: int) -> tuple[Array, Any]:
    rng = np.random.default_rng(0)
    x = rng.choice(["p", "q"], 2000)
    y = np.where(rng.random(2000) < np.where(x == "p", 0.9, 0.2), "a", "b")
    names = [f"x{i}" for i in range(columns)]
    model = credo.learn({**dict.fromkeys(names, x), "y": y}, target="y")
    return model.predict_proba({name: ["p", "q"] for name in names})[:, 0], model


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_a_column_twice_changes_nothing(columns: int) -> None:
    found, model = probabilities(columns)
    np.testing.assert_allclose(found, [0.9, 0.2], atol=0.03)
    assert model.report is not None
    assert model.report.scores.log_loss == pytest.approx(0.42, abs=0.02)


def test_round_counts_are_no_copies() -> None:
    rows = {"x": ["p"] * 500 + ["q"] * 500, "y": ["a"] * 450 + ["b"] * 50 + ["a"] * 100 + ["b"] * 400}
    model = credo.learn(rows, target="y")
    np.testing.assert_allclose(model.predict_proba({"x": ["p", "q"]})[:, 0], [0.9, 0.2], atol=0.01)


def test_a_whole_table_three_times_is_copies() -> None:
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 3, (60, 8)).astype(str)
    table = {f"c{j}": np.repeat(cells[:, j], 3).tolist() for j in range(8)}
    (batch,) = source(table).batches([*table])
    prints = cell_prints(batch, [*table])
    found = Repeats.of(fingerprints(prints), np.zeros(180, dtype=np.int32), prints, np.zeros(8, dtype=bool))
    assert (found.left == 1).all()


def test_a_sample_of_many_rows_has_some_of_each() -> None:
    """More rows than tuning looks at, of twelve different ones."""
    rng = np.random.default_rng(0)
    x, z = rng.choice(["p", "q", "r"], 40_000), rng.choice(["u", "v"], 40_000)
    truth = {"p": 0.9, "q": 0.2, "r": 0.5}
    y = np.where(rng.random(40_000) < np.vectorize(truth.get)(x), "a", "b")
    model = credo.learn({"x": x, "z": z, "y": y}, target="y")
    found = model.predict_proba({"x": [*truth, *truth], "z": ["u"] * 3 + ["v"] * 3})[:, 0]
    np.testing.assert_allclose(found, [*truth.values()] * 2, atol=0.04)


def test_few_cells_tell_what_they_tell() -> None:
    """Rows of two columns, of which one is known: blanked rows, by which it is tuned, are of all kinds."""
    rng = np.random.default_rng(2)
    sex, ticket = rng.choice(["f", "m"], 1200), rng.choice(["1", "2", "3"], 1200)
    chance = np.where(sex == "f", 0.75, 0.2) + np.where(ticket == "1", 0.1, -0.05)
    rows = {"sex": sex, "ticket": ticket, "survived": np.where(rng.random(1200) < chance, "yes", "no")}
    model = credo.learn(rows, target="survived")
    found = model.predict_proba({"sex": ["f", "m"], "ticket": [None, None]})[:, 1]
    expected = [(rows["survived"][sex == each] == "yes").mean() for each in ("f", "m")]
    np.testing.assert_allclose(found, expected, atol=0.06)
