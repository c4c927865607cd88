"""Nodes that aren't tables: a noisy-OR beside the table that it stands for, and beside pyAgrum's; CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.timing import Limit, Line, one_thread
from credo import Network, nodes
from credo._kernels.jit import forced

EXPANDED, MANY, MOST = 20, 50, 100  # causes
TIMES = 5
SHORTEST = 0.02  # seconds that are timed


def run() -> Iterator[Any]:
    with one_thread(), forced("compiled"):  # plain Python, which begins in a new process, is measured by first_use
        small, many, most = (_noisy_or(count) for count in (EXPANDED, MANY, MOST))
        flat = Network(small.parents, dict(small.tables), small.states)
        asked = {"y": "yes"}
        np.testing.assert_allclose(
            [*small.query("c3", asked).values()], [*flat.query("c3", asked).values()], atol=1e-12
        )
        ours, theirs = _in_turns(lambda: many.query("c3", asked), lambda: flat.query("c3", asked))
        yield Line(f"noisy-OR: a query, {MANY} causes", f"as a table, {EXPANDED} causes", ours, theirs, 100)
        ours, theirs = _in_turns(lambda: _first(many, asked), lambda: _first(flat, asked))
        yield Line(f"noisy-OR: a first query, {MANY} causes", f"as a table, {EXPANDED} causes", ours, theirs, 100)
        sizes = [sum(factor.table.size for factor in net.factors) for net in (many, flat)]
        share = 100 * sizes[0] / sizes[1]
        yield Limit(f"noisy-OR: memory of {MANY} causes, of that of the table of {EXPANDED}", share, 1, "%")
        yield Limit(f"noisy-OR: a query, {MOST} causes", 1e3 * _cpu(lambda: most.query("c3", asked)), 5, "ms")
        yield Limit(f"noisy-OR: all marginals, {MOST} causes", 1e3 * _cpu(lambda: most.marginals(asked)), 5, "ms")
        yield Limit(f"noisy-OR: a first query, {MOST} causes", 1e3 * _cpu(lambda: _first(most, asked)), 50, "ms")
        rows = most.sample(20_000, seed=1)
        bare = Network(most.parents, {"y": nodes.NoisyOr()})
        yield Limit(f"noisy-OR: strengths from 20,000 rows, {MOST} causes", _cpu(lambda: bare.fit(rows), 1), 10, "s")
        yield from _beside_pyagrum(small, asked)


def _noisy_or(causes: int) -> Network:
    strengths = {f"c{i}": float(p) for i, p in enumerate(np.random.default_rng(0).random(causes))}
    parents: dict[str, Any] = {**dict.fromkeys(strengths, ()), "y": tuple(strengths)}
    return Network(parents, {**dict.fromkeys(strengths, 0.05), "y": nodes.NoisyOr(strengths, leak=0.01)})


def _first(net: Network, asked: dict[str, str]) -> Any:
    """Of a network that answers for the first time: trees are compiled again."""
    return Network(net.parents, {**net.fixed_tables, **net.distributions}, net.states).query("c3", asked)


def _beside_pyagrum(net: Network, asked: dict[str, str]) -> Iterator[Line]:
    import pyagrum as gum

    gum.setNumberOfThreads(1)
    theirs, given = gum.BayesNet(), net.distributions["y"]
    assert isinstance(given, nodes.NoisyOr)
    for name in given.causes:
        theirs.add(gum.LabelizedVariable(name, name, ["yes", "no"][::-1]))
        theirs.cpt(name).fillWith([0.95, 0.05])
    theirs.addNoisyORNet(gum.LabelizedVariable("y", "y", ["no", "yes"]), given.leak)
    for name, p in given.causes.items():
        theirs.addWeightedArc(name, "y", p)

    def answered() -> Any:
        engine = gum.LazyPropagation(theirs)
        engine.setEvidence({"y": "yes"})
        engine.addTarget("c3")
        engine.makeInference()
        return engine.posterior("c3")

    np.testing.assert_allclose(answered().tolist()[::-1], [*net.query("c3", asked).values()], atol=1e-9)
    ours, peer = _in_turns(lambda: net.query("c3", asked), answered)
    yield Line(f"noisy-OR: a query, {EXPANDED} causes", "pyAgrum", ours, peer, 10)


def _in_turns(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    each = [(_cpu(ours, 1), _cpu(theirs, 1)) for _ in range(TIMES)]
    return min(a for a, _ in each), min(b for _, b in each)


def _cpu(work: Callable[[], Any], times: int = TIMES) -> float:
    """Seconds of one call; of short ones, many are timed together."""
    found = []
    for _ in range(times):
        begun, calls = time.process_time(), 0
        while (took := time.process_time() - begun) < SHORTEST or not calls:
            work()
            calls += 1
        found.append(took / calls)
    return min(found)
