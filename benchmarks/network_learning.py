"""Learning a network's tables: counting, and an iteration of EM where a fifth of all cells is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.networks import network, peer_of
from benchmarks.timing import Limit, Line, in_turns
from credo.core.em import EStep, added
from credo.engines import Local
from credo.networks.learning import TableEM
from credo.networks.network import Network

COUNTED, SHARED, MISSING = 1_000_000, 10_000, 0.2


def run() -> Iterator[Any]:
    alarm = network("alarm")
    yield _counting(alarm)
    yield _em(alarm)


def _counting(net: Network) -> Line:
    """From a table in memory: Arrow for credo, a data frame for the peer, which reads it into a database of its own."""
    import pyagrum as gum

    table = net.sample(COUNTED, seed=1)
    numbers = {name: np.asarray(table[name].combine_chunks().indices) for name in net.variables}
    frame = pa.table({name: pa.array([f"s{k}" for k in codes]) for name, codes in numbers.items()}).to_pandas()
    peer = peer_of(net)
    ours = partial(net.fit, table)
    ours()

    def theirs() -> Any:
        learner = gum.BNLearner(frame, peer)
        learner.useSmoothingPrior(1)
        return learner.learnParameters(peer.dag())

    return Line("alarm, tables of 1M rows", "pyAgrum", *in_turns(ours, theirs, 1), target=5)


def _em(net: Network) -> Limit:
    """The E-step of all rows and the M-step, in the CPU time of all threads: other work doesn't disturb it."""
    table, random = net.sample(SHARED, seed=1), np.random.default_rng(0)
    holes = {}
    for name in net.variables:
        column = table[name].combine_chunks()
        indices = pa.array(np.asarray(column.indices), mask=random.random(SHARED) < MISSING)
        holes[name] = pa.DictionaryArray.from_arrays(indices, column.dictionary)
    rows = [*net.coded(pa.table(holes))]

    def iterate(start: TableEM) -> TableEM:
        evidence, _ = added(list(Local().map(EStep(start), rows)))
        return start.with_evidence(evidence)

    now = iterate(TableEM(net))
    seconds = min(_cpu_time(lambda: iterate(now)) for _ in range(5))
    return Limit("alarm, an iteration of EM, 10k rows, 20% missing: CPU time", seconds, 0.3, "s")


def _cpu_time(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
