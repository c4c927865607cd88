"""Chains over orders beside exact sums over orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo._kernels.jit import forced
from credo.networks.structure.exact_confidence import FamilySums, OverOrders
from credo.networks.structure.families import ScoredFamilies
from credo.networks.structure.order_mcmc import CandidateTables, r_hat, sample_orders
from credo.networks.structure.score import Constraints
from tests.dags import empty, has_path
from tests.laws.test_exact_structure import RandomScore


@pytest.mark.parametrize("n", [2, 6])
def test_chains_have_the_probabilities_of_the_sums(n: int) -> None:
    score = RandomScore(n, 1, 1.5)
    known = Constraints(score.variables, max_parents=3)
    over = OverOrders(FamilySums.of(ScoredFamilies.of(score, known, "")))
    found = sample_orders(score, known, empty(n), seed=0, sweeps=1500, graphs=2000)
    np.testing.assert_allclose(found.arrows, over.arrows(), atol=0.03)
    paths = np.array([[np.mean([has_path(dag, u, v) for dag in found.graphs]) for v in range(n)] for u in range(n)])
    np.testing.assert_allclose(paths, over.paths(), atol=0.05)
    assert found.convergence.reached
    assert len(found.graphs) == 2000


def test_chains_keep_to_the_constraints() -> None:
    score = RandomScore(7, 2, 3.0)
    known = Constraints.of(
        score.variables, required="a -> c; c -> g", forbidden="b -> d", tiers=[[*"abc"], [*"defg"]], max_parents=2
    )
    over = OverOrders(FamilySums.of(ScoredFamilies.of(score, known, "")))
    found = sample_orders(score, known, known.required_parents, seed=3, sweeps=2000, graphs=200)
    assert all(known.objection(dag) is None for dag in found.graphs)
    np.testing.assert_allclose(found.arrows, over.arrows(), atol=0.05)


def test_the_same_seed_gives_the_same_chains_compiled_or_not() -> None:
    score = RandomScore(5, 4, 2.0)
    known = Constraints.none(score.variables)
    with forced("plain"):
        one = sample_orders(score, known, empty(5), seed=7, sweeps=40, graphs=20)
    with forced("compiled"):
        two = sample_orders(score, known, empty(5), seed=7, sweeps=40, graphs=20)
    np.testing.assert_array_equal(one.arrows, two.arrows)
    assert one.graphs == two.graphs


def test_candidates_are_few_where_variables_are_many() -> None:
    score = RandomScore(26, 5, 1.0)
    start = (*(() if v == 0 else (v - 1,) for v in range(26)),)
    tables = CandidateTables.of(score, Constraints.none(score.variables), start)
    assert tables.candidates.shape == (26, 12)
    assert all(v - 1 in tables.candidates[v] and v + 1 in tables.candidates[v] for v in range(1, 25))


def test_chains_that_disagree_are_told_apart() -> None:
    random = np.random.default_rng(0)
    alike = random.normal(size=(4, 400))
    assert r_hat(alike) < 1.02
    assert r_hat(alike + np.arange(4)[:, None]) > 1.3
    assert r_hat(np.zeros((2, 10))) == 1.0
    assert np.isnan(r_hat(np.zeros((2, 2))))


def six_causes() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    x = {f"x{i}": random.normal(size=300) for i in range(6)}
    return {**x, "y": sum(x.values()) + 0.5 * random.normal(size=300), "z": random.normal(size=300)}


def test_as_many_parents_as_the_search_finds() -> None:
    """Six parents: of four at a time, each chain would find others."""
    rows = six_causes()
    constraints: Any = {"tiers": [[name for name in rows if name != "y"], ["y"]]}
    sure = credo.edge_confidence(rows, "mcmc", chains=2, sweeps=400, **constraints)
    exact = credo.edge_confidence(rows, "exact", **constraints)
    assert all(sure[f"x{i}", "y"] > 0.99 for i in range(6))
    np.testing.assert_allclose(sure.arrows, exact.arrows, atol=0.1)


def test_a_limit_that_matters_is_told() -> None:
    rows = six_causes()
    tiers = [[name for name in rows if name != "y"], ["y"]]
    no_search = lambda score, constraints, start, seed: start  # noqa: E731, ARG005
    with pytest.warns(credo.Notice, match=r"up to 4 parents.*column 'y' often reaches that limit: try max_parents=6"):
        credo.edge_confidence(rows, "mcmc", chains=2, sweeps=20, tiers=tiers, search=no_search)


def test_no_parents_at_all() -> None:
    score = RandomScore(4, 1, 1.5)
    found = sample_orders(score, Constraints(score.variables, max_parents=0), empty(4), seed=0, sweeps=8, graphs=8)
    assert not found.arrows.any()
    assert {*found.graphs} == {empty(4)}
