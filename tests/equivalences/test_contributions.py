"""How much a column matters = how far the log-odds move when its cells are hidden, one column after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo.models.explaining import contributions
from credo.notices import quietly


def table(rows: int = 60) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    own = rng.integers(0, 3, rows)
    columns: dict[str, Any] = {name: rng.normal(own, 2.0) for name in ("length", "width", "height")}
    columns["width"][::7] = np.nan
    columns["colour"] = np.array(["red", "green", "blue"])[(own + rng.integers(0, 2, rows)) % 3]
    columns["note"] = [" ".join(f"word{v}" for v in rng.integers(0, 9, 8) + 3 * k) for k in own]
    return {**columns, "y": np.array(["a", "b", "c"])[own]}


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (credo.NaiveBayes(), ["length", "width", "colour", "note"]),
        (credo.NaiveBayes(estimate="ml"), ["length", "colour"]),  # with zeros: what is impossible becomes possible
        (credo.GaussianDiscriminant(), ["length", "width", "height"]),
        (credo.GaussianDiscriminant(covariance="tied"), ["length", "width", "colour"]),
    ],
    ids=["naive Bayes", "zeros", "full", "tied"],
)
def test_hiding_a_column(model: Any, names: list[str]) -> None:
    data = {name: column for name, column in table().items() if name in [*names, "y"]}
    with quietly():
        fitted = model.fit(data, target="y")
        found = contributions(fitted, data, 1000)
        whole = fitted.log_joint(data)
        first, second = np.argsort(-whole, axis=1)[:, :2].T
        for name in names:
            hidden = {**data, name: np.full(60, np.nan) if data[name][0].__class__ is np.float64 else [None] * 60}
            with np.errstate(invalid="ignore"):
                apart = whole - fitted.log_joint(hidden)
            rows = np.arange(60)
            expected = np.abs(apart[rows, first] - apart[rows, second]).mean()
            np.testing.assert_allclose(found[name], expected, rtol=1e-9, atol=1e-12)
