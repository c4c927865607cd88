"""Tuning finds the damping and the idf power of log-odds wherever they are."""

from __future__ import annotations

from typing import Any

import numpy as np

import credo


def corpus(common: int, slope: float, words: int, noise: int, rows: int = 300) -> dict[str, Any]:
    """Common words depend on the class, rare ones don't."""
    rng = np.random.default_rng(0)
    truth, lean, texts = rng.integers(0, 2, rows), rng.normal(size=common) * slope, []
    for label in truth:
        shares = np.exp(lean * (2 * label - 1))
        drawn = rng.choice(common, words, p=shares / shares.sum())
        texts.append(" ".join([*(f"w{i}" for i in drawn), *(f"r{i}" for i in rng.integers(0, 3000, noise))]))
    return {"text": texts, "y": np.where(truth, "a", "b")}


def settings(table: dict[str, Any]) -> tuple[float, float]:
    model = credo.learn(table, target="y", kinds={"text": credo.Text()})
    c, p = model.tuning.odds["text"]
    return c, p


def test_a_power_below_one_half() -> None:
    _, power = settings(corpus(common=40, slope=0.5, words=8, noise=12))
    assert power < 0.5


def test_a_damping_below_2() -> None:
    damping, _ = settings(corpus(common=400, slope=0.15, words=100, noise=0))
    assert damping < 2
