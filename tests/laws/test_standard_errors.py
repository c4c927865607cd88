"""Standard errors of held-out figures: rows that teach the models by which others are judged add to chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo.models.metrics import Scores, fold_ratio, variance_of_mean

LABELS = np.array(["no", "yes"])


def noise(rng: np.random.Generator, rows: int, columns: int) -> dict[str, Any]:
    """Classes, as many of each, of which no column knows anything."""
    cells = rng.choice(np.array(["a", "b"]), (rows, columns))
    return {**{f"c{j}": cells[:, j] for j in range(columns)}, "y": LABELS[rng.permutation(rows) % 2]}


@pytest.mark.parametrize("folds", [5, 10, 30])
def test_errors_of_cross_validation_are_as_large_as_chance(folds: int) -> None:
    """On noise, two rows that are equal by chance are each predicted better by the other, so that chance counts twice.

    A classifier that says little: log-odds of y = ±1 are ε x · Σ y x over the rows of other folds. The variance of its
    mean loss is twice what rows by themselves would have; the error covers that.
    """
    rng, rows, draws = np.random.default_rng(30), 30, 4000
    x, y = rng.normal(size=(draws, rows, 8)), rng.choice([-1.0, 1.0], (draws, rows))
    fold = np.arange(rows) % folds
    alike = np.einsum("drk,dsk->drs", x, x) * (fold[:, None] != fold)
    losses = np.logaddexp(0.0, -1e-3 * y * np.einsum("drs,ds->dr", alike, y))
    chance = losses.mean(1).var()
    by_rows = np.mean([variance_of_mean(each, np.ones(rows)) for each in losses])
    assert chance == pytest.approx(2 * by_rows, rel=0.08)
    assert 0.95 * chance < (1 + fold_ratio(folds)) * by_rows < 1.25 * chance


def test_a_given_model_has_no_chance_but_that_of_new_rows() -> None:
    table = noise(np.random.default_rng(31), 60, 3)
    found = credo.NaiveBayes().fit(table, "y").scores(noise(np.random.default_rng(32), 50, 3))
    assert found.held_out_ratio == 0
    assert found.log_loss_error == pytest.approx(np.std(found.of_truth, ddof=1) / np.sqrt(50), rel=1e-12)


def test_every_way_to_hold_rows_out_knows_its_training_rows() -> None:
    rng = np.random.default_rng(33)
    table = {"x": rng.normal(size=60), "z": rng.normal(size=60), "y": LABELS[rng.permutation(60) % 2]}
    numbers = {"x": table["x"], "y": table["z"]}
    fitted = [credo.NaiveBayes().fit(table, "y"), credo.LogisticRegression().fit(table, "y")]
    tree, line = credo.DecisionTree().fit(table, "y"), credo.LinearRegression().fit(numbers, "y")
    both = credo.average(fitted, table)
    for model in (*fitted, tree, both):
        assert model.cross_validate(table, folds=5).held_out_ratio == 1.25
    for each in (*fitted, both):
        assert each.leave_one_out(table).held_out_ratio == pytest.approx(60 / 59)
    assert line.cross_validate(numbers, folds=5).held_out_ratio == 1.25
    assert line.leave_one_out(numbers).held_out_ratio == pytest.approx(60 / 59)
    assert credo.LinearRegression(noise="student").cross_validate(numbers, folds=5, target="y").held_out_ratio == 1.25
    assert credo.learn(numbers, "y", model="linear").report.scores.held_out_ratio == fold_ratio(10)
    assert credo.learn(table, "y").report.scores.held_out_ratio == pytest.approx(fold_ratio(10))


def test_differences_of_held_out_figures_count_training_rows_too() -> None:
    rng = np.random.default_rng(34)
    given = [np.log(rng.dirichlet([1.0, 1.0], 40)) for _ in range(2)]
    truth = rng.integers(0, 2, 40)
    one, two = (Scores(("no", "yes"), each, truth, np.ones(40)) for each in given)
    held = [Scores(("no", "yes"), each, truth, np.ones(40), held_out_ratio=3.0) for each in given]
    mean, error = one.log_loss_difference(two)
    assert held[0].log_loss_difference(held[1]) == pytest.approx((mean, 2 * error))
