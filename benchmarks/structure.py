"""Learning arrows beside pyAgrum's hill climbing, both from the same data frame: time, score, distance to the truth.
And beside causal-learn's PC and GES, where it is installed.

Times are CPU time of all threads: other work on the machine disturbs it less. OMP_NUM_THREADS=1 and CREDO_THREADS=1
give each side one thread: pyAgrum's threads otherwise wait for each other in loops, which counts as CPU time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.networks import network
from benchmarks.timing import Least, Limit, Line, Ratio
from credo.networks.mixed_graph import MixedGraph
from credo.networks.network import Network
from credo.networks.structure.category_scores import BDeu, bic
from credo.networks.structure.columns import read_columns
from credo.networks.structure.learn import learn_structure
from credo.networks.structure.score import Parents, total

NETWORKS = tuple(os.environ.get("CREDO_STRUCTURE_NETWORKS", "alarm insurance hailfinder").split())
SAMPLES = int(os.environ.get("CREDO_STRUCTURE_SAMPLES", "3"))
MANY, FEW = 100_000, 10_000
TIMES = {MANY: 10.0, FEW: 3.0}  # how much faster hill climbing is
SCORES: dict[str, Callable[..., Any]] = {"bic": bic, "bdeu": BDeu}
VARIABLES, ARROWS = 1000, 1500


class Found(NamedTuple):
    """What one side learned from one sample."""

    seconds: float
    score: float
    distance: int


def run() -> Iterator[Any]:
    yield from _linear()
    yield from _large()
    for name in NETWORKS:
        yield from _beside(name)
    yield from _quality()
    yield from _causal_learn("child", FEW // 2)


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


def _beside(name: str) -> Iterator[Any]:
    """Time of the first sample, by bic on both sides."""
    for rows, target in TIMES.items():
        seconds = _ours(name, rows, 0, "bic", "hill-climbing").seconds, _theirs(name, rows, 0, "bic").seconds
        yield Line(f"{name}, {rows // 1000}k rows: hill climbing, CPU time", "pyAgrum", *seconds, target)
    seconds = _ours(name, MANY, 0, "bic", "boss").seconds, _theirs(name, MANY, 0, "bic").seconds
    yield Line(f"{name}, 100k rows: the default search, CPU time", "pyAgrum's hill climbing", *seconds, 1)


def _quality() -> Iterator[Any]:
    """The default search's score in every case, and the mean distance of CPDAGs, over all networks and samples."""
    for score in SCORES:
        names, samples = (NETWORKS, SAMPLES) if score == "bic" else (NETWORKS[:2], 1)  # pyAgrum takes minutes
        cases = [(name, seed) for name in names for seed in range(samples)]
        ours = [_ours(name, MANY, seed, score, "boss") for name, seed in cases]
        theirs = [_theirs(name, MANY, seed, score) for name, seed in cases]
        least = min(one.score - other.score for one, other in zip(ours, theirs, strict=True))
        yield Least(f"{score} above pyAgrum's hill climbing, the least of {len(cases)} cases (nats)", least, 0)
        mean = [float(np.mean([each.distance for each in side])) for side in (ours, theirs)]
        yield Ratio(f"mean SHD of CPDAGs by {score}, 100k rows, against half of pyAgrum's", mean[0], mean[1] / 2)


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
    what = f"{VARIABLES} variables, {ARROWS} arrows, {FEW // 1000}k rows"
    yield Limit(f"{what}: the default search, CPU time", time.process_time() - start, 300, "s")
    truth, guess = _edges(net), _edges(found)
    yield Least(f"{what}: precision of the CPDAG's edges", len(truth & guess) / len(guess), 0.9)
    yield Least(f"{what}: recall of the CPDAG's edges", len(truth & guess) / len(truth), 0.9)


def _edges(net: Network) -> set[tuple[str, str]]:
    """Of the CPDAG; an edge without a direction counts both ways."""
    graph = net.cpdag()
    return {*graph.arrows} | {pair for a, b in graph.edges for pair in ((a, b), (b, a))}


# Both sides


@cache
def _frame(name: str, rows: int, seed: int) -> Any:
    """States as text, since pyAgrum refuses some of their names."""
    table = network(name).sample(rows, seed=seed + 1)
    numbers = {each: np.asarray(table[each].combine_chunks().indices) for each in table.column_names}
    texts = {each: np.array([f"s{k}" for k in range(int(codes.max()) + 1)])[codes] for each, codes in numbers.items()}
    return pa.table(texts).to_pandas()


@cache
def _measured(name: str, rows: int, seed: int, score: str) -> Any:
    return SCORES[score](read_columns(_frame(name, rows, seed)).coded())


def _judged(name: str, rows: int, seed: int, score: str, found: Network, seconds: float) -> Found:
    number = {each: i for i, each in enumerate(found.variables)}
    measured = _measured(name, rows, seed, score)
    assert measured.variables == found.variables
    parents: Parents = tuple(tuple(number[parent] for parent in above) for above in found.parents.values())
    return Found(seconds, total(measured, parents), found.shd(network(name)))


@cache
def _ours(name: str, rows: int, seed: int, score: str, search: str) -> Found:
    frame = _frame(name, rows, seed)
    learn_structure(frame[:2000], score, search)  # kernels are compiled
    start = time.process_time()
    found = learn_structure(frame, score, search)
    return _judged(name, rows, seed, score, found, time.process_time() - start)


@cache
def _theirs(name: str, rows: int, seed: int, score: str) -> Found:
    import pyagrum as gum

    frame = _frame(name, rows, seed)
    start = time.process_time()
    learner = gum.BNLearner(frame)
    learner.setNumberOfThreads(1)  # CPU time would count threads that wait for each other in loops
    learner.useGreedyHillClimbing()
    if score == "bic":
        learner.useScoreBIC()
        learner.useNoPrior()
    else:
        learner.useScoreBDeu()
    dag = learner.learnDAG()
    seconds = time.process_time() - start
    names = [*frame.columns]
    found = Network({each: [names[p] for p in dag.parents(i)] for i, each in enumerate(names)})
    return _judged(name, rows, seed, score, found, seconds)
