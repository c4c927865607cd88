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
    return [
        Limit("5M rows into beliefs of a million groups", fit, 10, "s"),
        Limit("their table, intervals included", shown, 3, "s"),
        Limit("the same rows with an empirical prior", empirical, 20, "s"),
        Limit("`import credo`, in a fresh interpreter", first_call("import credo"), 0.3, "s"),
        Limit("first belief, in a fresh interpreter", first_call(FIRST), 1, "s"),
    ]
