"""Learning arrows beside pyAgrum's hill climbing, both from the same data frame, one thread a side: time, score,
distance to the truth.

Times are CPU time, summed over samples that both sides learn from in turns.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.networks import network
from benchmarks.timing import Least, Line, Ratio, one_thread
from credo.networks.network import Network
from credo.networks.structure.category_scores import BDeuScore, bic
from credo.networks.structure.columns import read_columns
from credo.networks.structure.learn import learn_structure
from credo.networks.structure.score import Parents, total

NETWORKS = tuple(os.environ.get("CREDO_STRUCTURE_NETWORKS", "alarm insurance hailfinder").split())
MANY, FEW = 100_000, 10_000
SAMPLES = {FEW: 10, MANY: int(os.environ.get("CREDO_STRUCTURE_SAMPLES", "2"))}  # pyAgrum takes half a minute for MANY
TIMES = {FEW: 3.0, MANY: 10.0}  # how much faster hill climbing is
SCORES: dict[str, Callable[..., Any]] = {"bic": bic, "bdeu": BDeuScore}


class Found(NamedTuple):
    """What one side learned from one sample."""

    seconds: float
    score: float
    distance: int


def run() -> Iterator[Any]:
    with one_thread():
        for name in NETWORKS:
            yield from _beside(name)
        yield from _quality("bic", MANY, NETWORKS)
        yield from _quality("bdeu", FEW, NETWORKS)


def _beside(name: str) -> Iterator[Any]:
    """Times of all samples, by bic on both sides."""
    for rows, target in TIMES.items():
        what = f"{name}, {rows // 1000}k rows, {SAMPLES[rows]} samples"
        seconds = _seconds(_cases(name, rows, "bic", "hill-climbing"))
        yield Line(f"{what}: hill climbing, CPU time", "pyAgrum", *seconds, target)
    seconds = _seconds(_cases(name, MANY, "bic", "boss"))
    yield Line(f"{what}: the default search, CPU time", "pyAgrum's hill climbing", *seconds, 1)


def _seconds(cases: Sequence[tuple[Found, Found]]) -> tuple[float, float]:
    return sum(ours.seconds for ours, _ in cases), sum(theirs.seconds for _, theirs in cases)


def _quality(score: str, rows: int, names: Sequence[str]) -> Iterator[Any]:
    """The default search's score in every case, and the mean distance of CPDAGs, over all networks and samples."""
    cases = [case for name in names for case in _cases(name, rows, score, "boss")]
    least = min(ours.score - theirs.score for ours, theirs in cases)
    what = f"{rows // 1000}k rows, {len(cases)} cases"
    yield Least(f"{score} above pyAgrum's hill climbing, {what}: the least (nats)", least, 0)
    mean = np.mean([(ours.distance, theirs.distance) for ours, theirs in cases], axis=0)
    yield Ratio(f"mean SHD of CPDAGs by {score}, {what}, against half of pyAgrum's", mean[0], mean[1] / 2)


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


def _cases(name: str, rows: int, score: str, search: str) -> list[tuple[Found, Found]]:
    """Of each sample, what credo's search and what pyAgrum's hill climbing learned."""
    return [(_ours(name, rows, seed, score, search), _theirs(name, rows, seed, score)) for seed in range(SAMPLES[rows])]


@cache
def _ours(name: str, rows: int, seed: int, score: str, search: str) -> Found:
    frame = _frame(name, rows, seed)
    learn_structure(frame[:2000], score, search)  # kernels are compiled
    start = time.process_time()
    found = learn_structure(frame, score, search)
    seconds = time.process_time() - start
    assert isinstance(found, Network)
    return _judged(name, rows, seed, score, found, seconds)


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
