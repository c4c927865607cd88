"""Searches with an oracle: where the score or the tests know the truth, the truth's CPDAG comes back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.errors import NetworkError
from credo.networks.equivalence import cpdag_of
from credo.networks.structure.chow_liu import chow_liu_search, conditional_information, spanning_tree
from credo.networks.structure.climbing import hill_climbing
from credo.networks.structure.exact import exact_search
from credo.networks.structure.ges import greedy_equivalence_search
from credo.networks.structure.score import Constraints, total
from credo.numerics.exact import Array
from credo.numerics.spanning_tree import maximum_branching
from tests.dags import Parents, all_dags, dags, empty, random_dag


class GaussianScore:
    """BIC of a linear-Gaussian network with known covariance, as if that came from n rows."""

    def __init__(self, covariance: Array, n: float = 1e9) -> None:
        self.variables = tuple(f"v{i}" for i in range(len(covariance)))
        self.covariance, self.n = covariance, n

    def family(self, node: int, parents: Sequence[int]) -> float:
        own = sorted(parents)
        c = self.covariance
        rest = (
            c[node, node] - c[node, own] @ np.linalg.solve(c[np.ix_(own, own)], c[own, node]) if own else c[node, node]
        )
        return float(-0.5 * self.n * np.log(rest) - 0.5 * np.log(self.n) * (len(own) + 2))

    def families(self, node: int, candidates: Sequence[Sequence[int]]) -> Array:
        return np.array([self.family(node, parents) for parents in candidates])

    def grown(self, node: int, parents: Sequence[int], others: Sequence[int]) -> Array:
        return self.families(node, [(*parents, other) for other in others])

    @classmethod
    def of(cls, dag: Parents, seed: int) -> GaussianScore:
        random, n = np.random.default_rng(seed), len(dag)
        weights = np.zeros((n, n))
        for node, own in enumerate(dag):
            weights[node, [*own]] = random.uniform(0.5, 1.5, len(own)) * random.choice([-1, 1], len(own))
        mixing = np.linalg.inv(np.eye(n) - weights)
        return cls(mixing @ np.diag(random.uniform(0.8, 1.2, n)) @ mixing.T)


@settings(max_examples=40)
@given(dags(least=2, most=8), st.integers(0, 2**32))
def test_greedy_equivalence_search_finds_the_class_of_the_truth(dag: Parents, seed: int) -> None:
    score = GaussianScore.of(dag, seed)
    found = greedy_equivalence_search(score, Constraints.none(score.variables), empty(len(dag)), 0)
    assert cpdag_of(found).named(score.variables) == cpdag_of(dag).named(score.variables)


def test_greedy_equivalence_search_of_many_variables() -> None:
    dag = random_dag(40, 0.06, np.random.default_rng(4))
    score = GaussianScore.of(dag, 4)
    found = greedy_equivalence_search(score, Constraints.none(score.variables), empty(40), 0)
    assert cpdag_of(found).named(score.variables) == cpdag_of(dag).named(score.variables)
    few = greedy_equivalence_search(score, Constraints(score.variables, max_parents=1), empty(40), 0)
    assert max(map(len, few)) <= 1


def constraints_of(dag: Parents, seed: int) -> Constraints:
    """What a truth allows: some of its arrows, some that it doesn't have."""
    random, n = np.random.default_rng(seed), len(dag)
    arrows = [(a, b) for b, own in enumerate(dag) for a in own]
    others = [(a, b) for a in range(n) for b in range(n) if a != b and (a, b) not in arrows]
    required = frozenset(arrow for arrow in arrows if random.random() < 0.3)
    return Constraints(
        tuple(f"v{i}" for i in range(n)), required, frozenset(arrow for arrow in others if random.random() < 0.3)
    )


@settings(max_examples=40)
@given(dags(least=2, most=6), st.integers(0, 2**32))
def test_greedy_equivalence_search_keeps_to_constraints_and_gains(dag: Parents, seed: int) -> None:
    """No change of one arrow gains; the score is that of some graph between the start and the best there is."""
    score, known = GaussianScore.of(dag, seed), constraints_of(dag, seed)
    found = greedy_equivalence_search(score, known, known.required_parents, 0)
    assert known.objection(found) is None
    assert hill_climbing(score, known, found) == found
    best = exact_search(score, known, known.required_parents, 0)
    assert total(score, known.required_parents) - 1e-6 <= total(score, found) <= total(score, best) + 1e-6


def test_greedy_equivalence_search_finds_most_truths_with_what_is_known_of_them() -> None:
    """Constraints cut classes in pieces, so that not every truth is found; nearly every one is."""
    random, missed = np.random.default_rng(0), 0
    for seed in range(60):
        dag = random_dag(int(random.integers(3, 7)), 0.4, random)
        score, known = GaussianScore.of(dag, seed), constraints_of(dag, seed)
        found = greedy_equivalence_search(score, known, known.required_parents, 0)
        missed += total(score, found) < total(score, dag) - 1e-6
    assert missed <= 3


def test_greedy_equivalence_search_in_tiers() -> None:
    """Of a chain that leads back in time, what is left of its arrows."""
    score = GaussianScore.of(((), (0,), (1,)), 1)
    known = Constraints.of(score.variables, tiers=[["v2"], ["v0", "v1"]])
    found = greedy_equivalence_search(score, known, empty(3), 0)
    assert found[2] == ()
    assert 2 in found[1]
    few = Constraints(score.variables, max_parents=0)
    assert greedy_equivalence_search(score, few, empty(3), 0) == empty(3)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_tree_that_constraints_allow(seed: int) -> None:
    """= the best of all forests, whether or not the gains of an arrow and of its reverse are the same."""
    random = np.random.default_rng(seed)
    mixing, tilt = random.normal(size=(2, 4, 4))
    score = GaussianScore(mixing @ mixing.T + np.eye(4), 30.0)
    tilted = Tilted(score, tilt if seed % 2 else np.zeros((4, 4)))
    forest = next(dag for dag in random.permutation(np.array(all_dags(4), dtype=object)) if max(map(len, dag)) == 1)
    known = constraints_of(tuple(tuple(own) for own in forest), seed)
    found = chow_liu_search(tilted, known, empty(4), 0)
    allowed = [dag for dag in all_dags(4) if max(map(len, dag)) <= 1 and known.objection(dag) is None]
    assert known.objection(found) is None
    assert total(tilted, found) == pytest.approx(max(total(tilted, dag) for dag in allowed), abs=1e-9)


class Tilted(GaussianScore):
    """A score that tells the directions of arrows apart."""

    def __init__(self, score: GaussianScore, tilt: Array) -> None:
        super().__init__(score.covariance, score.n)
        self.tilt = tilt

    def family(self, node: int, parents: Sequence[int]) -> float:
        return super().family(node, parents) + float(self.tilt[[*parents], node].sum())


def test_a_tree_has_one_parent_each() -> None:
    score = GaussianScore(np.eye(3))
    known = Constraints.of(score.variables, required=[("v0", "v2"), ("v1", "v2")])
    with pytest.raises(NetworkError, match="'v2' can't have both required parents 'v0' and 'v1'"):
        chow_liu_search(score, known, empty(3), 0)


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_branchings_are_the_heaviest(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    weights, roots = random.normal(size=(n, n)), random.normal(size=n)
    found = maximum_branching(weights, roots)

    def weight(parents: Sequence[int]) -> float:
        return float(sum(roots[v] if p < 0 else weights[p, v] for v, p in enumerate(parents)))

    forests = [[own[0] if own else -1 for own in dag] for dag in all_dags(n) if max(map(len, dag)) <= 1]
    assert weight(found.tolist()) == pytest.approx(max(map(weight, forests)))


def test_a_branching_of_many_nodes() -> None:
    """Against the spanning tree, where both directions weigh the same."""
    weights = np.random.default_rng(0).random((60, 60))
    weights = weights + weights.T
    branching, tree = maximum_branching(weights, np.zeros(60)), spanning_tree(weights)
    assert sum(p >= 0 for p in branching) == 59
    own = sum(weights[p, v] for v, p in enumerate(branching) if p >= 0)
    assert own == pytest.approx(sum(weights[p[0], v] for v, p in enumerate(tree) if p))


@pytest.mark.parametrize("seed", range(5))
def test_the_best_tree_is_the_best_of_all_with_one_parent_each(seed: int) -> None:
    random = np.random.default_rng(seed)
    mixing = random.normal(size=(5, 5))
    score = GaussianScore(mixing @ mixing.T + np.eye(5), 30.0)
    found = chow_liu_search(score, Constraints.none(score.variables), empty(5), 0)
    best = max(total(score, dag) for dag in all_dags(5) if max(map(len, dag)) <= 1)
    assert total(score, found) == pytest.approx(best, abs=1e-9)
    same = exact_search(score, Constraints(score.variables, max_parents=1), empty(5), 0)
    assert total(score, same) == pytest.approx(best, abs=1e-9)


def test_a_forest_where_nothing_is_gained() -> None:
    score = GaussianScore(np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]), 100.0)
    assert chow_liu_search(score, Constraints.none(score.variables), empty(3), 0) == ((), (0,), ())


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_spanning_trees_are_the_heaviest(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    weights = random.normal(size=(n, n))
    weights = weights + weights.T
    found = spanning_tree(weights)
    edges = [(a, b) for b, own in enumerate(found) for a in own]
    assert len(edges) == n - 1
    assert found[0] == ()
    pairs = [*combinations(range(n), 2)]
    best = max(sum(weights[a, b] for a, b in some) for some in combinations(pairs, n - 1) if _joined(some, n))
    assert sum(weights[a, b] for a, b in edges) == pytest.approx(best)


def _joined(edges: Sequence[tuple[int, int]], n: int) -> bool:
    group = [*range(n)]
    for a, b in edges:
        group = [group[a] if each == group[b] else each for each in group]
    return len(set(group)) == 1


def test_the_weights_of_a_tree_given_a_class() -> None:
    mixing = np.random.default_rng(1).normal(size=(4, 4))
    score = GaussianScore(mixing @ mixing.T, 50.0)
    found = conditional_information(score, 2, [0, 1, 3])
    assert found[0, 2] == pytest.approx(score.family(3, (0, 2)) - score.family(3, (2,)))
    np.testing.assert_allclose(found, found.T)
