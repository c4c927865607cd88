"""Threads write what they find where its rows belong; other engines hand it over: the same arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo import engines
from credo.data import BATCH_ROWS, source

ROWS = 2 * BATCH_ROWS + 7


def model() -> credo.NaiveBayes:
    rng = np.random.default_rng(0)
    return credo.NaiveBayes().fit({"x": rng.normal(size=90), "y": rng.normal(size=90), "k": ["a", "b", "c"] * 30}, "k")


@pytest.mark.parametrize("verb", ["predict_proba", "predict_log_proba", "predict", "log_joint"])
def test_threads_and_one_after_another(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDO_THREADS", "3")
    x = np.random.default_rng(1).normal(size=(ROWS, 2))
    table = {"x": x[:, 0], "y": x[:, 1]}
    found = getattr(model(), verb)(table)
    with engines.using(engines.Serial()):
        expected = getattr(model(), verb)(table)
    np.testing.assert_array_equal(found, expected)


def test_some_rows_of_a_table_and_none() -> None:
    x = np.random.default_rng(2).normal(size=(50, 2))
    chosen = x[:, 0] > 0
    some = source({"x": x[:, 0], "y": x[:, 1]}).where(chosen)
    expected: Any = model().predict_proba({"x": x[chosen, 0], "y": x[chosen, 1]})
    np.testing.assert_array_equal(model().predict_proba(some), expected)
    assert model().predict_proba({"x": np.empty(0), "y": np.empty(0)}).shape == (0, 3)
