"""Exact search and exact probabilities of arrows, beside all directed acyclic graphs of 4 and 5 variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo._kernels.jit import forced
from credo.networks.structure.exact import exact_search
from credo.networks.structure.exact_confidence import FamilySums, OverGraphs, OverOrders
from credo.networks.structure.families import ScoredFamilies
from credo.networks.structure.score import Constraints
from credo.numerics.exact import Array
from tests.dags import Parents, all_dags, empty, has_path, is_acyclic, orders_of


class RandomScore:
    """A score of families that have nothing to do with each other: the hardest case."""

    def __init__(self, n: int, seed: int, spread: float = 5.0) -> None:
        self.variables = tuple("abcdefghijklmnopqrstuvwxyz"[:n])
        self._random = np.random.default_rng(seed)
        self._spread = spread
        self._known: dict[Any, float] = {}

    def family(self, node: int, parents: Sequence[int]) -> float:
        key = node, frozenset(parents)
        if key not in self._known:
            self._known[key] = float(self._random.normal(0.0, self._spread)) - len(key[1])
        return self._known[key]

    def families(self, node: int, candidates: Sequence[Sequence[int]]) -> Array:
        return np.array([self.family(node, parents) for parents in candidates])

    def grown(self, node: int, parents: Sequence[int], others: Sequence[int]) -> Array:
        return self.families(node, [(*parents, other) for other in others])


def total(score: RandomScore, parents: Parents) -> float:
    return sum(score.family(node, own) for node, own in enumerate(parents))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_exact_search_finds_the_best_graph_of_all(n: int) -> None:
    for seed in range(10 if n < 5 else 3):
        score = RandomScore(n, seed)
        found = exact_search(score, Constraints.none(score.variables), empty(n), 0)
        assert is_acyclic(found)
        assert total(score, found) == pytest.approx(max(total(score, dag) for dag in all_dags(n)), abs=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_exact_search_keeps_to_the_constraints(seed: int) -> None:
    random, n = np.random.default_rng(seed), 4
    score = RandomScore(n, seed)
    truth = all_dags(n)[random.integers(len(all_dags(n)))]
    arrows = [(parent, node) for node, own in enumerate(truth) for parent in own]
    required = [arrow for arrow in arrows if random.random() < 0.3]
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b and (a, b) not in required]
    forbidden = [pair for pair in pairs if random.random() < 0.3]
    most = max(int(random.integers(1, 4)), *(sum(child == v for _, child in required) for v in range(n)))
    known = Constraints(score.variables, frozenset(required), frozenset(forbidden), (), most)
    found = exact_search(score, known, known.required_parents, 0)
    assert known.objection(found) is None
    best = max(total(score, dag) for dag in all_dags(n) if known.objection(dag) is None)
    assert total(score, found) == pytest.approx(best, abs=1e-9)


def test_exact_search_follows_tiers() -> None:
    score = RandomScore(5, 3)
    known = Constraints.of(score.variables, tiers=[["c", "a"], ["e"], ["b", "d"]])
    found = exact_search(score, known, empty(5), 0)
    best = max(total(score, dag) for dag in all_dags(5) if known.objection(dag) is None)
    assert known.objection(found) is None
    assert total(score, found) == pytest.approx(best, abs=1e-9)


def enumerated(score: RandomScore, prior: str, known: Constraints) -> tuple[Array, Array]:
    """P(arrow) and P(path), from all graphs one by one."""
    n = len(score.variables)
    graphs = [dag for dag in all_dags(n) if known.objection(dag) is None]
    logs = np.array([total(score, dag) for dag in graphs])
    weights = np.exp(logs - logs.max()) * [orders_of(dag) if prior == "orders" else 1 for dag in graphs]
    weights /= weights.sum()
    arrows, paths = np.zeros((n, n)), np.zeros((n, n))
    for dag, weight in zip(graphs, weights, strict=True):
        for v in range(n):
            arrows[[*dag[v]], v] += weight
            paths[[u for u in range(n) if has_path(dag, u, v)], v] += weight
    return arrows, paths


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["orders", "dags"])
@pytest.mark.parametrize(
    ("n", "seed", "spread"), [(1, 0, 1.0), (2, 0, 1.0), (3, 1, 3.0), (4, 2, 3.0), (4, 3, 300.0), (5, 4, 3.0)]
)
def test_probabilities_are_those_of_all_graphs(prior: str, n: int, seed: int, spread: float) -> None:
    score = RandomScore(n, seed, spread)
    known = Constraints.none(score.variables)
    sums = FamilySums.of(ScoredFamilies.of(score, known, ""))
    over: OverOrders | OverGraphs = OverOrders(sums) if prior == "orders" else OverGraphs(sums)
    arrows, paths = enumerated(score, prior, known)
    np.testing.assert_allclose(over.arrows(), arrows, atol=1e-10)
    np.testing.assert_allclose(over.paths(), paths, atol=1e-10)


@pytest.mark.parametrize("prior", ["orders", "dags"])
def test_probabilities_under_constraints(prior: str) -> None:
    score = RandomScore(4, 7, 2.0)
    known = Constraints.of(
        score.variables, required="a -> c", forbidden="b -> d", tiers=[["a", "b"], ["c", "d"]], max_parents=2
    )
    sums = FamilySums.of(ScoredFamilies.of(score, known, ""))
    over: OverOrders | OverGraphs = OverOrders(sums) if prior == "orders" else OverGraphs(sums)
    arrows, paths = enumerated(score, prior, known)
    np.testing.assert_allclose(over.arrows(), arrows, atol=1e-10)
    np.testing.assert_allclose(over.paths(), paths, atol=1e-10)


def test_graphs_drawn_over_orders_have_their_probabilities() -> None:
    score = RandomScore(4, 5, 1.5)
    over = OverOrders(FamilySums.of(ScoredFamilies.of(score, Constraints.none(score.variables), "")))
    drawn = over.sampled(4000, seed=1)
    shares = np.zeros((4, 4))
    for dag in drawn:
        assert is_acyclic(dag)
        for v, own in enumerate(dag):
            shares[[*own], v] += 1 / len(drawn)
    np.testing.assert_allclose(shares, over.arrows(), atol=0.035)


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_kernels_are_the_same_compiled_or_not(n: int) -> None:
    found = list[tuple[Any, ...]]()
    for choice in ("plain", "compiled"):
        with forced(choice):
            score = RandomScore(n, 11, 4.0)
            known = Constraints.none(score.variables)
            sums = FamilySums.of(ScoredFamilies.of(score, known, ""))
            orders, graphs = OverOrders(sums), OverGraphs(sums)
            parts = [orders.arrows(), orders.paths(), graphs.arrows(), graphs.paths()]
            found.append((exact_search(score, known, empty(n), 0), *parts, orders.sampled(5, 1)))
    assert found[0][0] == found[1][0]
    assert found[0][-1] == found[1][-1]
    for one, two in zip(found[0][1:-1], found[1][1:-1], strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-14)


def test_larger_sums_agree_with_each_other() -> None:
    """Arrows that are sure under both priors; and each variable's families have probability 1 in all."""
    score = RandomScore(9, 13, 300.0)
    known = Constraints(score.variables, max_parents=3)
    sums = FamilySums.of(ScoredFamilies.of(score, known, ""))
    best = exact_search(score, known, empty(9), 0)
    for over in (OverOrders(sums), OverGraphs(sums)):
        arrows, paths = over.arrows(), over.paths()
        assert (arrows <= paths + 1e-9).all()
        assert (paths + paths.T <= 1 + 1e-9).all()
        assert min(arrows[parent, node] for node, own in enumerate(best) for parent in own) > 0.99
        np.testing.assert_allclose(arrows.sum(0), [len(own) for own in best], atol=0.05)
