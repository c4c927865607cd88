"""Averages over structures: drawn without bias, from the rows as they were read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo.errors import EvidenceError
from credo.networks.average import NetworkAverage
from credo.networks.equivalence import numbered
from credo.networks.structure.confidence import arrow_shares

RANDOM = np.random.default_rng(0)
A = RANDOM.choice(["y", "n"], 400)
ROWS = {"a": A.tolist(), "b": np.where(RANDOM.random(400) < 0.8, A, RANDOM.choice(["y", "n"], 400)).tolist()}
WEIGHT = np.where(A == "y", 3.0, 1.0)


@pytest.mark.parametrize("prior", ["orders", "dags"])
@pytest.mark.slow
def test_structures_are_drawn_without_bias(prior: Any) -> None:
    """Of 10 variables and few rows, hardly a graph is drawn twice: those that are kept must not be chosen by name."""
    rows = credo.Network.random(10, 12, concentration=2.0, seed=5).sample(60, seed=1)
    sure = credo.edge_confidence(rows, prior=prior, max_parents=3)
    graphs = sure.sampled_graphs(100)
    assert len(graphs) == 100
    shares = sum(weight * arrow_shares([graph]) for graph, weight in graphs.items())
    error = np.sqrt(sure.arrows * (1 - sure.arrows) * sum(weight**2 for weight in graphs.values()))
    away = (shares - sure.arrows)[error > 0] / error[error > 0]
    assert np.abs(away).max() < 4.5  # of 90 arrows
    assert np.abs((shares - sure.arrows).sum(0)).max() < 0.35  # arrows into one variable


def test_an_average_has_the_drawn_structures() -> None:
    sure = credo.edge_confidence(credo.Network.example("asia").sample(60, seed=1))
    average, graphs = sure.average(structures=15), sure.sampled_graphs(15)
    assert [numbered({name: net.parents[name] for name in sure.variables}) for net in average.networks] == [*graphs]
    np.testing.assert_allclose(average.weights, [*graphs.values()])


def test_all_draws_are_used_where_few_graphs_are_possible() -> None:
    sure = credo.edge_confidence(ROWS)
    assert sure.sampled_graphs(100) == pytest.approx(dict(sure.graphs))


def test_weights_count_in_the_tables() -> None:
    share = WEIGHT[A == "y"].sum() / WEIGHT.sum()
    by_array = credo.edge_confidence(ROWS, weight=WEIGHT).average(prior="ml")
    by_name = credo.Network("a -> b").average({**ROWS, "w": WEIGHT}, weight="w", prior="ml")
    for average in (by_array, by_name):
        assert average.query("a")["y"] == pytest.approx(share)
        assert average.networks[0].n == WEIGHT.sum()


def test_bins_are_those_that_were_read() -> None:
    x = RANDOM.normal(size=300)
    average = credo.edge_confidence({"x": x, "y": x + RANDOM.normal(size=300)}, bins=3).average()
    assert len(average.states["x"]) == 3
    assert [*average.query("x").values()] == pytest.approx([1 / 3] * 3, abs=0.02)


def test_kinds_are_those_that_were_read() -> None:
    rows = {**ROWS, "zip": [10001, 10002, 10003, 10004] * 100, "note": RANDOM.normal(size=400)}
    sure = credo.edge_confidence(rows, kinds={"zip": "category", "note": "ignore"})
    assert sure.average(structures=3).variables == ("a", "b", "zip")


def test_data_are_read_once() -> None:
    """An iterator is enough."""
    table = pa.table(ROWS)
    average = credo.edge_confidence(iter([table.slice(0, 150), table.slice(150)])).average()
    assert all(net.n == 400 for net in average.networks)
    assert credo.Network("a -> b").average(iter([table])).networks[0].n == 400


def test_missing_cells_are_fitted_by_em() -> None:
    holes = {"a": [None, *ROWS["a"][1:]], "b": [*ROWS["b"][:-1], None]}
    average = credo.edge_confidence(holes).average(structures=2)
    assert all(net.n == pytest.approx(400) for net in average.networks)


def test_a_row_that_one_structure_finds_impossible() -> None:
    states = {"A": ["p", "q"], "B": ["u", "v"]}
    one = credo.Network("A -> B", {"A": [1.0, 0.0], "B": [[0.5, 0.5], [0.5, 0.5]]}, states=states)
    two = credo.Network("A -> B", {"A": [0.5, 0.5], "B": [[0.5, 0.5], [0.9, 0.1]]}, states=states)
    average = NetworkAverage((one, two), np.ones(2))
    found = average.predict_proba("B", {"A": ["q", "p", None]})
    for row, given in zip(found, ({"A": "q"}, {"A": "p"}, {}), strict=True):
        np.testing.assert_allclose(row, [*average.query("B", given).values()])
    assert [*average.predict("B", {"A": ["q"]})] == ["u"]
    with pytest.raises(EvidenceError, match="A"):
        NetworkAverage((one, one), np.ones(2)).predict_proba("B", {"A": ["p", "q"]})
