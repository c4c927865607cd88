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
from credo.networks.structure.exact import exact_search
from credo.networks.structure.ges import greedy_equivalence_search
from credo.networks.structure.score import Constraints, total
from credo.numerics.exact import Array
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


@pytest.mark.parametrize("search", [greedy_equivalence_search, chow_liu_search])
def test_searches_that_know_no_directions_refuse_constraints(search: object) -> None:
    score = GaussianScore(np.eye(3))
    with pytest.raises(NetworkError, match="required and forbidden"):
        search(score, Constraints.of(score.variables, required=[("v0", "v1")]), empty(3), 0)  # type: ignore[operator]


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
    found = spanning_tree(weights, root=n - 1)
    edges = [(a, b) for b, own in enumerate(found) for a in own]
    assert len(edges) == n - 1
    assert found[n - 1] == ()
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
