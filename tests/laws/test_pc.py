"""PC: with an oracle of d-separation, the CPDAG of the truth; tests of independence beside their definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import credo
from credo.errors import NetworkError
from credo.networks.equivalence import cpdag_of
from credo.networks.graph import connected
from credo.networks.mixed_graph import MixedGraph
from credo.networks.structure.independence import CategoryTest, CorrelationTest, IndependenceTest
from credo.networks.structure.pc import acyclic, oriented, pc_parents, skeleton
from credo.networks.structure.score import Constraints
from tests.dags import Parents, dags, is_acyclic, random_dag


class Oracle:
    """Knows which variables are d-separated."""

    def __init__(self, dag: Parents) -> None:
        self.variables = tuple(f"v{i}" for i in range(len(dag)))
        self.above = dict(enumerate(dag))

    def p_value(self, a: int, b: int, given: Sequence[int]) -> float:
        return float(b not in connected([a], given, self.above))


def pc(test: IndependenceTest, constraints: Constraints | None = None, alpha: float = 0.01) -> MixedGraph:
    """A CPDAG: edges between variables that no set of neighbours makes independent at the level alpha."""
    known = constraints or Constraints.none(test.variables)
    near, separations = skeleton(test, known, alpha)
    return oriented(near, separations, known).named(test.variables)


@settings(max_examples=150)
@given(dags(least=2, most=9))
def test_an_oracle_gives_the_cpdag(dag: Parents) -> None:
    test = Oracle(dag)
    assert pc(test) == cpdag_of(dag).named(test.variables)
    found = pc_parents(test, Constraints.none(test.variables))
    assert cpdag_of(found).named(test.variables) == cpdag_of(dag).named(test.variables)


@given(dags(least=3, most=7), st.integers(0, 2**32))
def test_what_is_known_directs_edges(dag: Parents, seed: int) -> None:
    """Required arrows and tiers that are true: each is kept, and no other adjacency comes."""
    random = np.random.default_rng(seed)
    arrows = [(p, v) for v, own in enumerate(dag) for p in own]
    required = frozenset(arrow for arrow in arrows if random.random() < 0.4)
    test = Oracle(dag)
    known = Constraints(test.variables, required)
    graph = pc(test, known)
    names = test.variables
    assert {(names[a], names[b]) for a, b in required} <= graph.arrows
    skeleton = {frozenset((names[a], names[b])) for a, b in arrows}
    assert {frozenset(pair) for pair in (*graph.arrows, *graph.edges)} == skeleton
    assert graph.arrows <= {(names[a], names[b]) for a, b in arrows}
    assert known.objection(pc_parents(test, known)) is None


class Noise:
    """Tests that contradict each other."""

    def __init__(self, n: int, seed: int) -> None:
        self.variables = tuple(f"v{i}" for i in range(n))
        self._seed = seed

    def p_value(self, a: int, b: int, given: Sequence[int]) -> float:
        key = [self._seed, min(a, b), max(a, b), *sorted(given)]
        return float(np.random.default_rng(key).random() ** 5)


@given(st.integers(2, 7), st.integers(0, 2**32))
def test_contradictory_tests_still_give_a_graph(n: int, seed: int) -> None:
    test = Noise(n, seed)
    known = Constraints.of(test.variables, required=[("v0", "v1")])
    found = pc_parents(test, known, alpha=0.2)
    assert is_acyclic(found)
    assert 0 in found[1]


@given(dags(least=2, most=7))
def test_a_graph_is_made_acyclic_with_its_adjacencies(dag: Parents) -> None:
    graph = cpdag_of(dag)
    found = acyclic(graph)
    assert is_acyclic(found)
    assert {frozenset((a, b)) for b, own in enumerate(found) for a in own} == {
        frozenset((a, b)) for b, own in enumerate(dag) for a in own
    }


def test_g_squared_is_that_of_scipy() -> None:
    random = np.random.default_rng(0)
    a, z = random.integers(0, 3, 500), random.integers(0, 2, 500)
    b = (a + random.integers(0, 3, 500) * (z + 1)) % 4
    test = CategoryTest(("a", "b", "z"), np.stack([a, b, z]), (3, 4, 2))
    table = np.zeros((3, 4))
    np.add.at(table, (a, b), 1)
    expected = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert test.p_value(0, 1, ()) == pytest.approx(expected.pvalue, rel=1e-9)
    g, freedom = 0.0, 0
    for state in (0, 1):
        table = np.zeros((3, 4))
        np.add.at(table, (a[z == state], b[z == state]), 1)
        part = stats.chi2_contingency(table[:, table.sum(0) > 0], correction=False, lambda_="log-likelihood")
        g, freedom = g + part.statistic, freedom + part.dof
    assert test.p_value(0, 1, (2,)) == pytest.approx(stats.chi2.sf(g, freedom), rel=1e-9)


def test_missing_cells_are_left_out_test_by_test() -> None:
    random = np.random.default_rng(1)
    codes = random.integers(0, 2, (3, 300))
    holes = codes.copy()
    holes[0, :50] = -1
    holes[2, 250:] = -1
    full = CategoryTest(("a", "b", "z"), codes[:, 50:], (2, 2, 2))
    part = CategoryTest(("a", "b", "z"), holes, (2, 2, 2))
    assert part.p_value(0, 1, ()) == pytest.approx(full.p_value(0, 1, ()))
    x = random.normal(size=(3, 300))
    gaps = x.copy()
    gaps[0, :50] = np.nan
    gaps[2, 250:] = np.nan
    middle = CorrelationTest(("a", "b", "z"), x[:, 50:250])
    assert CorrelationTest(("a", "b", "z"), gaps).p_value(0, 1, (2,)) == pytest.approx(middle.p_value(0, 1, (2,)))


def test_weights_count_as_rows() -> None:
    random = np.random.default_rng(2)
    codes, twice = random.integers(0, 3, (3, 100)), random.integers(1, 4, 100)
    weighed = CategoryTest(("a", "b", "z"), codes, (3, 3, 3), twice.astype(float))
    repeated = CategoryTest(("a", "b", "z"), codes.repeat(twice, 1), (3, 3, 3))
    assert weighed.p_value(0, 1, (2,)) == pytest.approx(repeated.p_value(0, 1, (2,)))
    x = random.normal(size=(3, 100))
    one = CorrelationTest(("a", "b", "z"), x, twice.astype(float))
    two = CorrelationTest(("a", "b", "z"), x.repeat(twice, 1))
    assert one.p_value(0, 1, (2,)) == pytest.approx(two.p_value(0, 1, (2,)))


def test_partial_correlations_are_those_of_residuals() -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(4, 200))
    x[0] += x[2] - x[3]
    x[1] += 0.2 * x[0] + x[2]
    given = np.stack([np.ones(200), x[2], x[3]]).T
    rest = [each - given @ np.linalg.lstsq(given, each, rcond=None)[0] for each in x[:2]]
    r = float(np.corrcoef(*rest)[0, 1])
    expected = 2 * stats.norm.sf(abs(np.sqrt(200 - 2 - 3) * np.arctanh(r)))
    assert CorrelationTest(tuple("abcd"), x).p_value(0, 1, (2, 3)) == pytest.approx(expected, rel=1e-8)


def test_constant_and_empty_columns_are_independent_of_all() -> None:
    x = np.random.default_rng(4).normal(size=(3, 50))
    x[1] = 2.0
    assert CorrelationTest(tuple("abc"), x).p_value(0, 1, (2,)) == 1.0
    x[1] = np.nan
    assert CorrelationTest(tuple("abc"), x).p_value(0, 1, ()) == 1.0
    codes = np.array([[0, 1, 0, 1], [-1, -1, -1, -1], [0, 0, 0, 0]])
    test = CategoryTest(tuple("abc"), codes, (2, 0, 1))
    assert test.p_value(0, 1, ()) == test.p_value(0, 2, ()) == 1.0


def test_a_limit_of_parents_leaves_the_strongest() -> None:
    random = np.random.default_rng(0)
    p, q, r = random.normal(size=(3, 800))
    table = {"p": p, "q": q, "r": r, "y": p + 2 * q + 3 * r + random.normal(size=800)}
    for most, expected in ((3, {"p", "q", "r"}), (2, {"q", "r"}), (1, {"r"}), (0, set())):
        assert {*credo.learn_structure(table, search="pc", max_parents=most).parents["y"]} == expected
    kept = credo.learn_structure(table, search="pc", max_parents=1, required="p -> y")
    assert kept.parents["y"] == ("p",)


def test_rows_of_a_gaussian_network_give_its_cpdag() -> None:
    random = np.random.default_rng(8)
    dag = random_dag(12, 0.15, random)
    x = np.zeros((12, 20_000))
    for v in sorted(range(12), key=lambda v: _depth(dag, v)):
        x[v] = random.normal(size=20_000) + sum(0.8 * x[p] for p in dag[v])
    names = tuple(f"v{i}" for i in range(12))
    assert pc(CorrelationTest(names, x), alpha=1e-4) == cpdag_of(dag).named(names)


def _depth(dag: Parents, v: int) -> int:
    return 1 + max((_depth(dag, p) for p in dag[v]), default=0)


def test_a_level_that_is_none_is_refused() -> None:
    with pytest.raises(NetworkError, match="alpha must be between 0 and 1"):
        pc(Oracle(((), (0,))), alpha=0.0)
