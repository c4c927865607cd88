"""Dynamic networks beside pgmpy's DBNInference and pyAgrum's unrolled network; CPU time, one thread a side.

pyAgrum and credo answer about the same slices; pgmpy about fewer, as it needs some 100 ms a slice. All give the same
probabilities, which is checked first.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.networks import peer_of
from benchmarks.timing import Limit, Line, one_thread
from credo import DynamicNetwork

SLICES, FEW, MANY = 200, 30, 100_000  # pyAgrum underflows beyond some 300 slices of this network
TIMES, WARM = 3, 50
HIDDEN, SEEN = ("A", "B"), ("X", "Y")
ARROWS = "previous(A) -> A -> X; previous(B) -> B -> Y; A -> B"


def run() -> Iterator[Any]:
    net = _network()
    with one_thread():
        yield from _beside_pyagrum(net)
        yield from _beside_pgmpy(net)
        rows = net.sample(MANY, seed=1).select(SEEN)
        for ask in (net.filter, net.smooth, net.decode):
            yield Limit(f"{MANY:,} slices: {ask.__name__}, all variables", _cpu(partial(ask, rows)), 5, "s")


def _network() -> DynamicNetwork:
    rng = np.random.default_rng(0)
    drawn = {name: rng.dirichlet(np.ones(3), shape) for name, shape in
             {"A": (3,), "B": (3, 3), "X": (3,), "Y": (3,), "first A": (), "first B": (3,)}.items()}  # fmt: skip
    tables, first = {name: drawn[name] for name in "ABXY"}, {"A": drawn["first A"], "B": drawn["first B"]}
    return DynamicNetwork(ARROWS, tables, first, [0, 1, 2])


def _beside_pyagrum(net: DynamicNetwork) -> Iterator[Line]:
    import pyagrum as gum

    gum.setNumberOfThreads(1)
    rows = net.sample(SLICES, seed=0).select(SEEN)
    unrolled = peer_of(net.unrolled(SLICES))
    given = {f"{name}[{t}]": int(code) for name in SEEN for t, code in enumerate(rows[name].to_pylist())}
    asked = [f"{name}[{t}]" for name in HIDDEN for t in range(SLICES)]

    def smoothed() -> Any:
        engine = gum.LazyPropagation(unrolled)
        engine.setEvidence(given)
        engine.makeInference()
        return [engine.posterior(name) for name in asked]

    def filtered() -> Any:
        engine = gum.LazyPropagation(unrolled)
        engine.setEvidence(given)
        engine.addTarget(f"A[{SLICES - 1}]")
        engine.makeInference()
        return engine.posterior(f"A[{SLICES - 1}]")

    np.testing.assert_allclose(net.smooth(rows, "A")[7], smoothed()[7].toarray(), atol=1e-9)
    ours, theirs = _in_turns(lambda: net.smooth(rows, HIDDEN), smoothed)
    yield Line(f"{SLICES} slices: smoothing, two hidden variables", "pyAgrum, unrolled", ours, theirs, 10)
    ours, theirs = _in_turns(lambda: net.filter(rows, "A"), filtered)
    yield Line(f"{SLICES} slices: filtering (pyAgrum: the last slice alone)", "pyAgrum, unrolled", ours, theirs, 10)


def _beside_pgmpy(net: DynamicNetwork) -> Iterator[Line]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.inference import DBNInference
    rows = net.sample(FEW, seed=0).select(SEEN)
    peer = _pgmpy(net)
    given = {(name, t): int(code) for name in SEEN for t, code in enumerate(rows[name].to_pylist())}
    last = [("A", FEW - 1)]

    def smoothed() -> Any:
        return DBNInference(peer).backward_inference([("A", t) for t in range(FEW)], given)

    def filtered() -> Any:
        return DBNInference(peer).forward_inference(last, given)

    np.testing.assert_allclose(net.filter(rows, "A")[-1], filtered()[last[0]].values, atol=1e-6)
    ours, theirs = _in_turns(lambda: net.smooth(rows, "A"), smoothed)
    yield Line(f"{FEW} slices: smoothing, one hidden variable", "pgmpy, DBNInference", ours, theirs, 10)
    ours, theirs = _in_turns(lambda: net.filter(rows, "A"), filtered)
    yield Line(f"{FEW} slices: filtering (pgmpy: the last slice alone)", "pgmpy, DBNInference", ours, theirs, 10)


def _pgmpy(net: DynamicNetwork) -> Any:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DynamicBayesianNetwork

    made = DynamicBayesianNetwork(
        [(("A", 0), ("A", 1)), (("A", 0), ("X", 0)), (("B", 0), ("B", 1)), (("B", 0), ("Y", 0)), (("A", 0), ("B", 0))]
    )

    def cpd(name: str, t: int, table: Any, above: list[tuple[str, int]]) -> Any:
        values = np.moveaxis(table, -1, 0).reshape(3, -1)
        return TabularCPD((name, t), 3, values, above or None, [3] * len(above) or None)

    made.add_cpds(
        cpd("A", 0, net.first["A"], []),
        cpd("A", 1, net.tables["A"], [("A", 0)]),
        cpd("B", 0, net.first["B"], [("A", 0)]),
        cpd("B", 1, net.tables["B"], [("B", 0), ("A", 1)]),
        cpd("X", 0, net.tables["X"], [("A", 0)]),
        cpd("Y", 0, net.tables["Y"], [("B", 0)]),
    )
    made.initialize_initial_state()
    return made


def _cpu(work: Callable[[], Any]) -> float:
    work()  # compiles
    start = time.process_time()
    work()
    return time.process_time() - start


def _in_turns(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """CPU seconds, the best of a few in turns."""
    for _ in range(WARM):
        ours()  # kernels are compiled when that pays
    best = [np.inf, np.inf]
    for _ in range(TIMES):
        for i, work in enumerate((ours, theirs)):
            start = time.process_time()
            work()
            best[i] = min(best[i], time.process_time() - start)
    return float(best[0]), float(best[1])
