"""Learning arrows of many rows and many variables: CPU time, and edges found. And beside causal-learn's PC and GES,
where it is installed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.networks import network
from benchmarks.timing import Least, Limit, Line, Ratio
from credo.networks.mixed_graph import MixedGraph
from credo.networks.network import Network
from credo.networks.structure.learn import learn_structure

MANY, FEW = 100_000, 10_000
VARIABLES, ARROWS = 1000, 1500


def run() -> Iterator[Any]:
    yield from _linear()
    yield from _large()
    yield from _causal_learn("child", FEW // 2)


def _linear() -> Iterator[Any]:
    """The cost of more rows."""
    learn_structure(network("alarm").sample(2000, seed=1), "bic", "hill-climbing")  # kernels are compiled
    seconds = {}
    for rows in (MANY, 10 * MANY):
        table = network("alarm").sample(rows, seed=1)
        start = time.process_time()
        learn_structure(table, "bic", "hill-climbing")
        seconds[rows] = time.process_time() - start
    times = seconds[10 * MANY] / seconds[MANY]
    yield Limit("alarm, hill climbing: ten times the rows take so many times the CPU time", times, 12, "times")


def _large() -> Iterator[Any]:
    net = Network.random(VARIABLES, arrows=ARROWS, states=(2, 4), concentration=0.5, seed=1)
    table = net.sample(FEW, seed=1)
    kinds = dict.fromkeys(net.variables, "category")  # its states are whole numbers
    start = time.process_time()
    found = learn_structure(table, kinds=kinds)
    assert isinstance(found, Network)
    what = f"{VARIABLES} variables, {ARROWS} arrows, {FEW // 1000}k rows"
    yield Limit(f"{what}: the default search, CPU time", time.process_time() - start, 300, "s")
    truth, guess = _edges(net), _edges(found)
    yield Least(f"{what}: precision of the CPDAG's edges", len(truth & guess) / len(guess), 0.9)
    yield Least(f"{what}: recall of the CPDAG's edges", len(truth & guess) / len(truth), 0.9)


def _edges(net: Network) -> set[tuple[str, str]]:
    """Of the CPDAG; an edge without a direction counts both ways."""
    graph = net.cpdag()
    return {*graph.arrows} | {pair for a, b in graph.edges for pair in ((a, b), (b, a))}


def _causal_learn(name: str, rows: int) -> Iterator[Any]:
    """The same algorithms, by the same kind of test and the same score; codes on their side, a table on ours."""
    if find_spec("causallearn") is None:
        yield "| structure beside causal-learn | - | skipped: causal-learn isn't installed | | | |"
        return
    from causallearn.search.ConstraintBased.PC import pc
    from causallearn.search.ScoreBased.GES import ges

    net, table = network(name), network(name).sample(rows, seed=1)
    names = table.column_names
    codes = np.stack([np.asarray(table[each].combine_chunks().indices) for each in names], axis=1).astype(int)
    peers: dict[str, Callable[[], Any]] = {
        "pc": lambda: pc(codes, 0.01, "gsq", show_progress=False).G,
        "ges": lambda: ges(codes, score_func="local_score_BDeu")["G"],
    }
    for search, theirs in peers.items():
        learn_structure(table.slice(0, 500), "bdeu", search)  # kernels are compiled
        start = time.process_time()
        found = learn_structure(table, "bdeu", search)
        between = time.process_time()
        marks = theirs().graph
        seconds = between - start, time.process_time() - between
        what = f"{name}, {rows // 1000}k rows: {search}"
        yield Line(f"{what}, CPU time", "causal-learn", *seconds, 1)
        distances = found.shd(net), _mixed(names, marks).shd(net.cpdag())
        yield Ratio(f"{what}: SHD of CPDAGs, at most 1 more", float(distances[0]), distances[1] + 1.5)


def _mixed(names: Sequence[str], marks: Any) -> MixedGraph:
    """causal-learn's matrix: -1 at the tail of an edge, 1 at its head."""
    pairs = [(a, b) for a in range(len(names)) for b in range(len(names))]
    arrows = frozenset((names[a], names[b]) for a, b in pairs if marks[b, a] == 1 and marks[a, b] == -1)
    edges = frozenset((names[a], names[b]) for a, b in pairs if a < b and marks[b, a] == -1 and marks[a, b] == -1)
    return MixedGraph(tuple(names), arrows, edges)
