"""How sure arrows are: the object, its pictures and tables, and the average over structures."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from credo.errors import NetworkError, SchemaError, SizeError
from credo.networks.average import NetworkAverage
from credo.networks.network import Network
from credo.networks.structure.bootstrap import bootstrap
from credo.networks.structure.category_scores import BDeuScore
from credo.networks.structure.climbing import hill_climbing
from credo.networks.structure.confidence import EdgeConfidence, arrow_shares, path_shares
from credo.networks.structure.counting import CodedTable
from credo.networks.structure.edge_confidence import (
    bootstrap_confidence,
    confidence_of,
    edge_confidence,
    exact_confidence,
)
from credo.networks.structure.exact_confidence import count_orders
from credo.networks.structure.score import Constraints, Parents
from credo.numerics.exact import Array
from tests.dags import all_dags, empty, orders_of
from tests.laws.test_exact_structure import RandomScore, enumerated

SPRINKLER = Network.example("sprinkler")


def coded(net: Network, rows: int, weight: Array | None = None) -> CodedTable:
    table = net.sample(rows, seed=1)
    codes = np.array([[net.states[v].index(x) for x in table[v].to_pylist()] for v in net.variables], dtype=np.uint8)
    return CodedTable(net.variables, codes, tuple(len(net.states[v]) for v in net.variables), weight)


@pytest.fixture(scope="module")
def sure() -> EdgeConfidence:
    return edge_confidence(SPRINKLER.sample(400, seed=1))


def test_a_mapping_from_arrows_to_probabilities(sure: EdgeConfidence) -> None:
    names = SPRINKLER.variables
    assert len(sure) == len([*sure]) == 12
    for a, b in sure:
        assert 0 <= sure[a, b] <= sure.path(a, b) + 1e-12 <= 1 + 1e-9
        assert sure.edge(a, b) == pytest.approx(sure[a, b] + sure[b, a])
    rows = sure.table().to_pylist()
    assert [row["arrow"] for row in rows] == sorted((row["arrow"] for row in rows), reverse=True)
    assert all(row["arrow"] == sure[row["parent"], row["child"]] for row in rows)
    assert all(row["arrow"] >= 0.5 for row in sure.table(0.5).to_pylist())
    truth = SPRINKLER.cpdag()
    found = sure.graph()
    assert {frozenset(pair) for pair in (*found.arrows, *found.edges)} == {
        frozenset(pair) for pair in (*truth.arrows, *truth.edges)
    }
    assert repr(sure).startswith("Exact posterior probabilities, with a uniform prior over orders\n")
    assert len(sure.plot().axes) == 1
    with pytest.raises(SchemaError, match=r"no variable 'Rian'.*Did you mean 'Rain'"):
        _ = sure["Rian", names[0]]
    with pytest.raises(SchemaError, match="an arrow is a pair"):
        _ = sure["Rain"]  # type: ignore[index]


@pytest.mark.parametrize("prior", ["orders", "dags"])
def test_probabilities_of_data_are_those_of_all_graphs(prior: str) -> None:
    score = BDeuScore(coded(Network.random(4, 4, seed=2), 60))
    known = Constraints.none(score.variables)
    found = exact_confidence(score, known, prior)  # type: ignore[arg-type]
    arrows, paths = enumerated(score, prior, known)  # type: ignore[arg-type]
    np.testing.assert_allclose(found.arrows, arrows, atol=1e-10)
    np.testing.assert_allclose(found.paths, paths, atol=1e-10)


@pytest.mark.parametrize("prior", ["orders", "dags"])
def test_drawn_graphs_stand_for_all(prior: str) -> None:
    score = RandomScore(4, 6, 1.5)
    found = exact_confidence(score, Constraints.none(score.variables), prior)  # type: ignore[arg-type]
    assert sum(found.graphs.values()) == pytest.approx(1.0)
    arrows, paths = np.zeros((4, 4)), np.zeros((4, 4))
    for graph, weight in found.graphs.items():
        arrows += weight * arrow_shares([graph])
        paths += weight * path_shares([graph], arrow_shares([graph]))
    np.testing.assert_allclose(arrows, found.arrows, atol=0.08)
    np.testing.assert_allclose(paths, found.paths, atol=0.08)


def test_orders_are_counted() -> None:
    for dag in all_dags(4):
        assert count_orders(dag) == orders_of(dag)


def test_paths_of_many_variables_come_from_drawn_graphs() -> None:
    score = RandomScore(15, 3, 1.0)
    found = exact_confidence(score, Constraints(score.variables, max_parents=1))
    assert found.paths_drawn == 1000
    np.testing.assert_allclose(arrow_shares(found.drawn), found.arrows, atol=0.08)
    assert "paths from 1,000 drawn graphs" in repr(found)


@pytest.mark.slow
def test_chains_where_there_are_many_variables() -> None:
    net = Network.random(24, 24, concentration=0.5, seed=5)
    score = BDeuScore(coded(net, 1500))
    found = confidence_of(score, Constraints.none(score.variables), hill_climbing)
    assert found.method == "mcmc"
    assert found.convergence is not None
    joined = [found.edge(a, b) for a, b in net.graph().arrows]
    assert np.mean(joined) > 0.7
    assert "chains over orders" in repr(found)
    with pytest.raises(SizeError, match="up to 22 variables, not 24"):
        confidence_of(score, Constraints.none(score.variables), hill_climbing, method="exact")
    with pytest.raises(SizeError, match='up to 13 variables, not 24: use prior="orders"'):
        confidence_of(score, Constraints.none(score.variables), hill_climbing, prior="dags")


def test_a_bootstrap_counts_how_often_a_search_finds_an_arrow() -> None:
    table = coded(SPRINKLER, 400)

    def found_in(weight: Array, seed: int) -> Parents:
        score = BDeuScore(CodedTable(table.variables, table.codes, table.sizes, weight))
        return hill_climbing(score, known, empty(4), seed)

    known = Constraints.none(table.variables)
    found = bootstrap_confidence(found_in, np.ones(400), known, replicates=20, seed=1)
    assert found.method == "bootstrap"
    assert found["Rain", "WetGrass"] + found["WetGrass", "Rain"] > 0.9
    again = bootstrap(found_in, np.ones(400), known, 20, 1)
    np.testing.assert_array_equal(found.arrows, arrow_shares(again))
    assert "in searches on 20 bootstrap samples" in repr(found)
    with pytest.raises(NetworkError, match="replicates must be a whole number of at least 2"):
        bootstrap_confidence(found_in, np.ones(400), known, replicates=1)


# Averages


def test_an_average_is_the_mixture_of_joint_distributions(sure: EdgeConfidence) -> None:
    average = sure.average(structures=5)
    assert len(average) == 5
    names, states = average.variables, average.states

    def joint(row: dict[str, str]) -> float:
        each = [np.exp(net.log_probability(row)) for net in average.networks]
        return float(average.weights @ np.array(each))

    every = [dict(zip(names, values, strict=True)) for values in product(*(states[name] for name in names))]
    p = np.array([joint(row) for row in every])
    assert p.sum() == pytest.approx(1.0)
    given = {"Rain": "yes"}
    having = np.array([row["Rain"] == "yes" for row in every])
    for state in states["WetGrass"]:
        both = np.array([row["WetGrass"] == state for row in every]) & having
        assert average.query("WetGrass", given)[state] == pytest.approx(p[both].sum() / p[having].sum())
        assert average.marginals(given)["WetGrass"][state] == pytest.approx(p[both].sum() / p[having].sum())
        assert average.probability({"WetGrass": state}, given) == pytest.approx(p[both].sum() / p[having].sum())
    assert average.log_probability(given) == pytest.approx(np.log(p[having].sum()))
    np.testing.assert_allclose(average.log_prob(every), np.log(p))
    rows = [{**row, "WetGrass": None} for row in every[:4]]
    found = average.predict_proba("WetGrass", rows)
    for row, own in zip(rows, found, strict=True):
        each = [joint({**row, "WetGrass": state}) for state in states["WetGrass"]]
        np.testing.assert_allclose(own, np.array(each) / sum(each))
    assert [*average.predict("WetGrass", rows)] == [states["WetGrass"][k] for k in found.argmax(1)]
    drawn = average.sample(3000, seed=4)
    share = drawn["Rain"].to_pylist().count("yes") / 3000
    assert share == pytest.approx(average.query("Rain")["yes"], abs=0.03)


def test_an_average_of_one_is_that_network() -> None:
    average = NetworkAverage((SPRINKLER,), np.ones(1))
    assert average.query("Rain", {"WetGrass": "yes"}) == SPRINKLER.query("Rain", {"WetGrass": "yes"})


def test_an_average_needs_networks_alike() -> None:
    with pytest.raises(NetworkError, match="the same variables and states"):
        NetworkAverage((SPRINKLER, Network.example("storm")), np.ones(2))
    with pytest.raises(NetworkError, match="a weight for each"):
        NetworkAverage((SPRINKLER,), np.zeros(1))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"method": "exakt"}, "no method 'exakt'.*Did you mean 'exact'"),
        ({"prior": "graphs"}, "no prior 'graphs'"),
        ({"method": "mcmc", "prior": "dags"}, "chains run over orders"),
        ({"method": "mcmc", "chains": 1}, "chains must be a whole number of at least 2"),
        ({"method": "mcmc", "sweeps": 0}, "sweeps must be"),
    ],
)
def test_what_is_no_way(how: dict[str, str], says: str) -> None:
    score = RandomScore(3, 0)
    with pytest.raises(NetworkError, match=says):
        confidence_of(score, Constraints.none(score.variables), lambda *_: empty(3), **how)  # type: ignore[arg-type]
