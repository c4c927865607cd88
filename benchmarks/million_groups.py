"""A million groups: beliefs, intervals, an empirical prior, and what a newcomer's first call costs."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

import credo
from benchmarks.timing import Limit, first_call

ROWS, GROUPS = 5_000_000, 1_000_000
FIRST = "import credo; credo.BetaBernoulli(2, 2).update([1, 0]).interval()"


def run() -> list[Limit]:
    rng = np.random.default_rng(0)
    group = rng.integers(0, GROUPS, ROWS)
    hit = rng.random(ROWS) < rng.beta(2, 20, GROUPS)[group]
    table = pa.table({"ad": group, "converted": hit})
    seconds = [time.perf_counter()]
    beliefs = credo.estimate(table, "converted", by="ad", prior=credo.BetaBernoulli(1, 1))
    seconds.append(time.perf_counter())
    beliefs.table()
    seconds.append(time.perf_counter())
    credo.estimate(table, "converted", by="ad", prior="empirical").mean()
    seconds.append(time.perf_counter())
    fit, shown, empirical = np.diff(seconds)
    wide = _many_values()
    return [
        Limit("5M rows into beliefs of a million groups", fit, 10, "s"),
        Limit("their table, intervals included", shown, 3, "s"),
        Limit("the same rows with an empirical prior", empirical, 20, "s"),
        Limit("100,000 rows of 5,000 values into beliefs of 20,000 groups", wide["estimate"], 3, "s"),
        Limit("their table, a row for each group and value seen", wide["table"], 5, "s"),
        Limit("their cross-validation in five folds", wide["cross_validate"], 5, "s"),
        Limit("an empirical prior over the 5,000 values", wide["empirical"], 10, "s"),
        Limit("`import credo`, in a fresh interpreter", first_call("import credo"), 0.3, "s"),
        Limit("first belief, in a fresh interpreter", first_call(FIRST), 1, "s"),
    ]


def _many_values() -> dict[str, float]:
    """Seconds, of a category with so many values that a table of all groups and values would take 1.6 GB."""
    rng, rows = np.random.default_rng(0), 100_000
    group, value = (np.char.add("v", rng.integers(0, n, rows).astype(str)) for n in (20_000, 5_000))
    table = pa.table({"user": pa.array(group), "bought": pa.array(value)})
    kinds = {"bought": "category"}
    seconds = [time.perf_counter()]
    beliefs = credo.estimate(table, "bought", by="user", kinds=kinds)
    seconds.append(time.perf_counter())
    beliefs.table()
    seconds.append(time.perf_counter())
    beliefs.cross_validate(table, 5)
    seconds.append(time.perf_counter())
    credo.estimate(table, "bought", by="user", kinds=kinds, prior="empirical").log_evidence()
    seconds.append(time.perf_counter())
    return dict(zip(("estimate", "table", "cross_validate", "empirical"), np.diff(seconds).tolist(), strict=True))
