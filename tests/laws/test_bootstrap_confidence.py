"""The bootstrap of arrows: directions, weights and missing cells; and what holds for every method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo import engines
from credo.networks.equivalence import are_equivalent
from credo.networks.structure.bootstrap import resampled
from credo.networks.structure.constraints import Constraints
from credo.networks.structure.edge_confidence import SearchAgain, completed_task
from credo.networks.structure.essential_graph import essential_graph, random_members
from credo.networks.structure.learn import task_of
from tests.dags import all_dags
from tests.processes import Processes

RANDOM = np.random.default_rng(0)


def noisy(column: list[str], share: float = 0.9) -> list[str]:
    return [x if RANDOM.random() < share else "yn"[RANDOM.integers(2)] for x in column]


A, C = (RANDOM.choice(["y", "n"], 300).tolist() for _ in range(2))
PAIRS = {"a": A, "b": noisy(A), "c": C, "d": noisy(C)}
NUMBERS = {f"v{i:02d}": RANDOM.normal(size=80) for i in range(22)}


def test_essential_graphs_under_constraints_are_those_of_all_members() -> None:
    """An edge is directed if all equivalent graphs that the constraints allow agree on it; members are drawn of all."""
    random, dags, cases = np.random.default_rng(0), all_dags(4), 0
    for _ in range(200):
        dag = dags[random.integers(len(dags))]
        arrows = [(p, v) for v, own in enumerate(dag) for p in own]
        others = [(a, b) for a in range(4) for b in range(4) if a != b and (a, b) not in arrows]
        required = frozenset(each for each in arrows if random.random() < 0.3)
        known = Constraints(tuple("abcd"), required, frozenset(each for each in others if random.random() < 0.2))
        members = {each for each in dags if are_equivalent(dag, each) and known.objection(each) is None}
        members = {tuple(tuple(sorted(own)) for own in each) for each in members}
        found = essential_graph(dag, known)
        for a, b in arrows:
            assert (a in found.parents[b]) == all(a in each[b] for each in members)
        drawn = {*random_members(dag, known, 60, random)}
        assert drawn <= members
        if len(members) <= 3:
            assert drawn == members
        cases += len(members) > 1
    assert cases > 20


@pytest.mark.parametrize(
    ("how", "data"),
    [
        ({"method": "bootstrap", "replicates": 5}, PAIRS),
        ({"method": "bootstrap", "replicates": 5, "required": "c -> d"}, PAIRS),
        ({"method": "exact"}, PAIRS),
        ({"method": "exact", "prior": "dags"}, PAIRS),
        ({"method": "exact", "max_parents": 1}, {name: NUMBERS[name] for name in [*NUMBERS][:15]}),
        ({"method": "mcmc", "sweeps": 8, "max_parents": 1}, NUMBERS),
    ],
)
@pytest.mark.filterwarnings("ignore::credo.Notice")
def test_an_arrow_is_a_path(how: Any, data: Any) -> None:
    sure = credo.edge_confidence(data, **how)
    assert (sure.arrows <= sure.paths).all()
    assert (sure.paths <= 1).all()


def test_a_constraint_directs_only_the_edges_that_it_is_about() -> None:
    sure = credo.edge_confidence(PAIRS, "bootstrap", replicates=30, required="c -> d")
    assert sure["c", "d"] == sure.path("c", "d") == 1.0
    assert 0.35 < sure["a", "b"] < 0.65
    assert sure.edge("a", "b") == pytest.approx(1.0)
    assert sure.path("a", "b") == pytest.approx(sure["a", "b"], abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"method": "bootstrap", "replicates": 4}, {"method": "mcmc", "sweeps": 40}])
@pytest.mark.filterwarnings("ignore::credo.Notice")
def test_engines_run_replicates_and_chains_alike(how: Any) -> None:
    """Jobs are pickled on their way to processes, and give the same there."""
    here = credo.edge_confidence(PAIRS, **how)
    with engines.using(engines.Serial()):
        serial = credo.edge_confidence(PAIRS, **how)
    with Processes() as processes, engines.using(processes):
        there = credo.edge_confidence(PAIRS, **how)
    for other in (serial, there):
        np.testing.assert_array_equal(other.arrows, here.arrows)
        np.testing.assert_array_equal(other.paths, here.paths)


def test_small_weights_draw_rows_all_the_same() -> None:
    whole = credo.edge_confidence(PAIRS, "bootstrap", replicates=3)
    small = credo.edge_confidence(PAIRS, "bootstrap", replicates=3, weight=np.full(300, 0.5))
    assert small.edge("a", "b") == whole.edge("a", "b") == 1.0
    random = np.random.default_rng(0)
    for weight in (np.full(40, 0.001), np.arange(1.0, 5.0), np.array([0.0, 0.5])):
        drawn = resampled(weight, random)
        assert drawn.sum() == pytest.approx(weight.sum())
        assert (drawn[weight == 0] == 0).all()
    times = np.array([resampled(np.array([3.0, 1.0]), random) for _ in range(2000)])
    np.testing.assert_allclose(times.mean(0), [3.0, 1.0], atol=0.1)
    assert (times == np.round(times)).all()  # copies of rows are rows


def test_rows_with_missing_cells_are_drawn_with_all_their_completions() -> None:
    holes = {**PAIRS, "b": [None if i % 3 == 0 else x for i, x in enumerate(PAIRS["b"])]}
    task = task_of(holes, "bdeu")
    again = SearchAgain.of(task, completed_task(task))
    np.testing.assert_allclose(np.bincount(again.row, again.share), np.ones(300))
    assert len(again.row) == 200 + 5 * 100
    sure = credo.edge_confidence(holes, "bootstrap", replicates=3)
    assert sure.edge("a", "b") == 1.0
