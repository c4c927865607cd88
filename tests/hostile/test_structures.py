"""Graphs, searches and confidences that can't be: one clear error each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo.errors import EvidenceError, NetworkError, Notice, SchemaError
from credo.networks.mixed_graph import MixedGraph
from credo.networks.network import Network
from tests.hostile.refusals import refused

RAIN = Network("Rain -> Wet", {"Rain": 0.3, "Wet": {"yes": 1.0, "no": 0.0}})
COINS: dict[str, list[Any]] = {"a": ["h", "t"] * 10, "b": ["h", "h", "t", "t"] * 5, "c": ["t", "h", "h", "h"] * 5}
NUMBERS = {"x": np.arange(20.0) % 7, "y": np.arange(20.0) % 3}


@pytest.mark.parametrize(
    ("variables", "arrows", "edges", "says"),
    [
        (("A", "A"), (), (), "each variable once"),
        (("A", "B"), [("A", "C")], (), "'C', which isn't there"),
        (("A", "B"), [("A", "B"), ("B", "A")], (), "no more"),
        (("A", "B"), [("A", "B")], [("A", "B")], "no more"),
        (("A",), [("A", "A")], (), "two different variables"),
    ],
)
def test_what_makes_no_graph(variables: Any, arrows: Any, edges: Any, says: str) -> None:
    with pytest.raises(NetworkError, match=says):
        MixedGraph(variables, frozenset(arrows), frozenset(edges))


def test_graphs_that_cant_be_compared() -> None:
    other = Network("Rain -> Wat")
    for call in (RAIN.shd, RAIN.compare, RAIN.equivalent, RAIN.divergence):
        assert "only one of the two graphs has 'Wa" in refused(call, other)
    assert 'of="cpdag" or of="dag"' in refused(RAIN.shd, RAIN, of="pdag")
    assert "no tables" in refused(Network("Rain -> Wet").divergence, RAIN)
    assert "no tables" in refused(RAIN.divergence, Network("Rain -> Wet"))
    assert "no variable 'Wt'" in refused(RAIN.cpdag().mark, "Rain", "Wt")


def test_separators_of_nothing() -> None:
    assert "named twice" in refused(RAIN.minimal_separator, "Rain", "Rain")
    assert "no variable 'Wt'" in refused(RAIN.minimal_separator, "Rain", "Wt")
    assert RAIN.minimal_separator("Rain", "Wet") is None


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"variables": 0}, "at least one variable"),
        ({"variables": True}, "at least one variable"),
        ({"variables": "abc"}, "a number or a list of names"),
        ({"variables": []}, "a number or a list of names"),
        ({"variables": ["a", "a"]}, "different names"),
        ({"variables": 4, "arrows": 7}, "room for 0 to 6 arrows, not for 7"),
        ({"variables": 4, "arrows": -1}, "room for 0 to 6 arrows"),
        ({"variables": 4, "arrows": 1.5}, "room for 0 to 6 arrows"),
        ({"variables": 4, "max_parents": -1}, "max_parents must be"),
        ({"variables": 4, "states": 0}, "of at least 1"),
        ({"variables": 4, "states": (3, 2)}, "of at least 1"),
        ({"variables": 4, "concentration": 0.0}, "concentration must be"),
        ({"variables": 4, "seed": -1}, "seed must be"),
    ],
)
def test_random_networks_that_cant_be(how: dict[str, Any], says: str) -> None:
    assert says in refused(Network.random, **how)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"method": "exactly"}, "no method 'exactly'"),
        ({"prior": "uniform"}, "no prior 'uniform'"),
        ({"score": "bdue"}, "no score 'bdue'"),
        ({"score": "bge"}, "is a category"),
        ({"search": "boos", "method": "bootstrap"}, "no search 'boos'"),
        ({"required": "a -> z"}, "'z', which isn't a column"),
        ({"required": "a -> b -> a"}, "cycle"),
        ({"required": "a -> b", "forbidden": "a -> b"}, "both required and forbidden"),
        ({"max_parents": -1}, "max_parents must be"),
        ({"required": "a, b -> c", "max_parents": 1}, "2 required parents"),
        ({"method": "bootstrap", "replicates": 0}, "replicates must be a whole number of at least 2"),
        ({"method": "mcmc", "chains": 0}, "chains must be"),
        ({"method": "mcmc", "sweeps": 2.5}, "sweeps must be"),
        ({"method": "mcmc", "prior": "dags"}, "chains run over orders"),
        ({"equivalent": 0.0}, "equivalent sample size must be"),
        ({"seed": "one"}, "seed must be"),
        ({"weight": "d"}, "'d'"),
        ({"bins": 1}, "bins must be"),
    ],
)
def test_confidences_that_cant_be(how: dict[str, Any], says: str) -> None:
    assert says in refused(credo.edge_confidence, COINS, **how)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, ""),
        ({"a": []}, ""),
        ({"a": ["x", "y"], "b": [1.0, float("inf")]}, "'b'"),
        (5, "can't read a table"),
        ("no such file.csv", "no file"),
    ],
)
def test_tables_that_have_no_arrows(data: Any, says: str) -> None:
    assert says in refused(credo.edge_confidence, data)


def test_one_column_and_constant_columns_have_no_arrows() -> None:
    assert len(credo.edge_confidence({"a": ["x", "y", "x"]})) == 0
    sure = credo.edge_confidence({"a": ["x", "y", "x"] * 9, "b": ["x"] * 27})
    assert 0 <= sure["a", "b"] <= 1
    five = {"x": [1.0, 2.0, 3.5], "y": [5.5, 5.5, 5.5]}
    assert "constant" in refused(credo.edge_confidence, five, kinds={"x": "number", "y": "number"})
    with pytest.warns(credo.Notice, match="column 'a' is ignored"):
        assert len(credo.edge_confidence({"a": [None, None], "b": ["x", "y"]})) == 0


def test_more_variables_than_rows() -> None:
    random = np.random.default_rng(0)
    data = {f"v{i}": random.integers(0, 2, 5).astype(str) for i in range(9)}
    sure = credo.edge_confidence(data)
    assert np.isfinite(sure.arrows).all()
    assert (sure.arrows <= 1).all()


@pytest.mark.parametrize("search", ["exact", "ges", "chow-liu", "pc"])
def test_searches_on_tables_with_little_in_them(search: str) -> None:
    assert credo.learn_structure({"a": ["x", "y", "x"]}, search=search).parents == {"a": ()}
    constant = credo.learn_structure({"a": ["x", "y", "x"] * 9, "b": ["x"] * 27}, search=search)
    assert constant.graph().arrows == frozenset()
    few = {f"v{i}": ["x", "y"] for i in range(6)}
    with pytest.warns(Notice, match="due to chance"):
        assert isinstance(credo.learn_structure(few, search=search), Network)


@pytest.mark.parametrize("search", ["exact", "ges", "chow-liu", "pc"])
def test_options_of_searches_are_known(search: str) -> None:
    assert f"search={search!r} has no option 'alhpa'" in refused(credo.learn_structure, COINS, search=search, alhpa=1)


def test_what_pc_refuses() -> None:
    assert "alpha must be between 0 and 1" in refused(credo.learn_structure, COINS, search="pc", alpha=2)
    both = {**NUMBERS, "a": COINS["a"]}
    assert "bins=5" in refused(credo.learn_structure, both, search="pc")
    assert "has no use for a score" in refused(credo.edge_confidence, COINS, "mcmc", search="pc")


def test_too_many_variables_for_exact_answers() -> None:
    random = np.random.default_rng(0)
    data = {f"v{i}": random.integers(0, 2, 30).astype(str) for i in range(70)}
    assert "not 70" in refused(credo.learn_structure, data, search="exact")
    assert "not 70" in refused(credo.edge_confidence, data, "exact")
    assert 'use prior="orders"' in refused(credo.edge_confidence, data, prior="dags")


def test_averages_that_cant_be() -> None:
    sure = credo.edge_confidence(COINS)
    for wrong in (0, 2.5, "x", True):
        assert "structures must be a whole number of at least 1" in refused(sure.average, structures=wrong)
    average = sure.average(structures=3)
    assert "cut numbers in bins" in refused(credo.edge_confidence(NUMBERS).average)
    with pytest.raises(SchemaError):
        average.query("d")
    impossible = {"Rain": "no", "Wet": "yes"}
    with pytest.raises(EvidenceError, match="Wet"):
        credo.networks.average.NetworkAverage((RAIN,), np.ones(1)).query("Rain", impossible)


def test_scores_of_arrows_need_complete_rows() -> None:
    net = Network("a -> b")
    assert {*net.score(COINS)} == {"a", "b"}
    assert "'a' is missing in row 2" in refused(net.score, {"a": ["h", None, "t"], "b": ["h", "t", "t"]})
    assert "no column 'b'" in refused(net.score, {"a": ["h", "t"]})
    assert "no score 'bid'" in refused(net.score, COINS, "bid")
