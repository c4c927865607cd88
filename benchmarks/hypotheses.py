"""Hypothesis spaces: a million hypotheses in a second, version spaces that can't be listed, models side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import credo
from benchmarks.timing import Limit

HYPOTHESES, TIMES = 1_000_000, 3
ROWS, ATTRIBUTES = 100_000, 30


def run() -> list[Limit]:
    rng = np.random.default_rng(0)
    space = credo.Hypotheses(np.arange(HYPOTHESES))
    likelihood = rng.random(HYPOTHESES)
    votes = np.arange(HYPOTHESES) % 3 == 0
    names = {f"h{i}": 1 / HYPOTHESES for i in range(HYPOTHESES)}

    def in_arrays() -> None:
        after = credo.Hypotheses(space.hypotheses).update(likelihood)
        after.most_probable()
        after.classify(votes)

    def by_name() -> None:
        credo.Hypotheses(names).update(names).most_probable()

    table = {f"a{j}": np.array(["x", "y", "z"])[rng.integers(0, 3, ROWS)] for j in range(ATTRIBUTES)}
    table["liked"] = (table["a0"] == "x") & (table["a1"] == "y")
    concepts = credo.Concepts({name: ["x", "y", "z"] for name in table if name != "liked"}, target="liked")
    learned = concepts.update(table)
    figures = {
        "1M hypotheses in an array: prior, update, MAP, Bayes-optimal vote": (in_arrays, 1),
        "1M hypotheses by name: prior, update, MAP": (by_name, 2),
        f"{ROWS:,} rows x {ATTRIBUTES} attributes: version space": (lambda: concepts.update(table), 5),
        f"{ROWS:,} votes of that version space": (lambda: learned.predict_proba(table), 5),
    }
    return [Limit(f"{what}, CPU time", _seconds(work), limit, "s") for what, (work, limit) in figures.items()]


def _seconds(work: Callable[[], Any]) -> float:
    """The best of a few."""
    found = []
    for _ in range(TIMES):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)
