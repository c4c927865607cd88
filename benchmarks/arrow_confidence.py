"""Probabilities of arrows, and the searches ges and pc beside pgmpy's, in CPU time of all threads."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.networks import network
from benchmarks.timing import Least, Limit, Line
from credo.networks.network import Network
from credo.networks.structure.edge_confidence import edge_confidence
from credo.networks.structure.learn import learn_structure

ROWS = 5000
EXACT, SEARCHED = 20, 25  # variables


def run() -> Iterator[Any]:
    yield from _exact()
    yield from _chains()
    yield from _beside()


def _seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def _exact() -> Iterator[Any]:
    """All sums over orders of 20 variables; the best graph of 25, with up to three parents."""
    net = Network.random(EXACT, 25, states=(2, 3), max_parents=3, concentration=0.5, seed=1)
    table = net.sample(ROWS, seed=1)
    seconds, sure = _seconds(lambda: edge_confidence(table, "exact", max_parents=3))
    yield Limit(f"exact probabilities of arrows, {EXACT} variables, {ROWS} rows, CPU time", seconds, 60, "s")
    joined = [sure.edge(a, b) for a, b in net.graph().arrows]
    yield Least("mean probability of the edges behind the rows", sum(joined) / len(joined), 0.8)
    net = Network.random(SEARCHED, 32, states=(2, 3), max_parents=3, concentration=0.5, seed=2)
    table = net.sample(ROWS, seed=2)
    seconds, _ = _seconds(lambda: learn_structure(table, search="exact", max_parents=3))
    yield Limit(f"exact search, {SEARCHED} variables, {ROWS} rows, CPU time", seconds, 60, "s")


def _chains() -> Iterator[Any]:
    table = network("alarm").sample(2 * ROWS, seed=1)
    seconds, sure = _seconds(lambda: edge_confidence(table, "mcmc"))
    yield Limit("chains over orders, alarm, 10k rows, CPU time", seconds, 60, "s")
    yield Limit("R-hat of these chains", sure.convergence.r_hat, 1.1, "")
    yield Limit("largest difference between chains in P(arrow)", sure.convergence.largest_difference, 0.1, "")


def _beside() -> Iterator[Any]:
    """asia from the same data frame; pgmpy's searches of alarm take minutes."""
    from pgmpy.estimators import GES, PC

    frame = network("asia").sample(ROWS, seed=1).to_pandas().astype(str).astype("category")
    warnings.simplefilter("ignore", FutureWarning)  # of pgmpy, about itself
    for name, theirs in (
        ("ges", lambda: GES(frame).estimate(scoring_method="bic-d")),
        ("pc", lambda: PC(frame).estimate(variant="stable", ci_test="chi_square", show_progress=False)),
    ):
        ours = min(_seconds(lambda name=name: learn_structure(frame, "auto", name))[0] for _ in range(3))  # type: ignore[misc]
        yield Line(f"asia, {ROWS} rows: search {name}, CPU time", "pgmpy", ours, _seconds(theirs)[0], 3)
