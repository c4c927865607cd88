"""Bad calls of networks with numbers: one sentence each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo import HybridNetwork
from credo.networks.nodes import LogisticOfNumbers, Normal
from tests.hostile.refusals import refused

NET = HybridNetwork(
    "Flu -> Fever -> Pulse",
    {"Flu": 0.1, "Fever": Normal({"yes": 39.0, "no": 36.8}, sd=0.5), "Pulse": Normal(-200, 5, {"Fever": 8.0})},
)

NODES: dict[str, tuple[str, dict[str, Any], str]] = {
    "an sd of 0": ("x", {"x": Normal(0, 0)}, "above 0"),
    "a negative sd": ("A -> x", {"A": 0.1, "x": Normal(0, {"yes": 1, "no": -1})}, "above 0"),
    "a mean that is NaN": ("x", {"x": Normal(float("nan"))}, "must be a number"),
    "a weight that is NaN": ("x -> y", {"x": Normal(), "y": Normal(0, 1, {"x": float("nan")})}, "must be a number"),
    "an infinite weight": ("x -> y", {"x": Normal(), "y": Normal(0, 1, {"x": float("inf")})}, "must be a number"),
    "a mean in words": ("x", {"x": Normal("high")}, "must be a number"),  # type: ignore[arg-type]
    "no weight of a parent": ("x -> y", {"x": Normal(), "y": Normal()}, "no weight"),
    "a weight of no parent": ("x -> y", {"x": Normal(), "y": Normal(0, 1, {"x": 1.0, "z": 2.0})}, "a number parent"),
    "weights that are a list": ("x -> y", {"x": Normal(), "y": Normal(0, 1, [2.0])}, "weights"),  # type: ignore[arg-type]
    "states of no parent": ("x", {"x": Normal({"yes": 1, "no": 2})}, "no category"),
    "an unknown state": ("A -> x", {"A": 0.1, "x": Normal({"yes": 1, "maybe": 2})}, "maybe"),
    "a state without a mean": ("A -> x", {"A": 0.1, "x": Normal({"yes": 1})}, "A=no"),
    "keys of the wrong length": ("A, B -> x", {"A": 0.1, "B": 0.2, "x": Normal({"yes": 1})}, "by values of A, B"),
    "a category below a number": ("x -> A", {"x": Normal(), "A": {"yes": 0.1}}, "LogisticOfNumbers"),
    "a logistic node without weights": ("x -> A", {"x": Normal(), "A": LogisticOfNumbers(1.0)}, "no weights"),
    "a node for nobody": ("x", {"x": Normal(), "z": Normal()}, "isn't there"),
    "a missing node": ("x -> y", {"x": Normal()}, "no node"),
    "an unknown parent": ("x", {"x": Normal(0, 1, {"y": 1.0})}, "a number parent"),
    "a cycle": ("x -> y -> x", {"x": Normal(), "y": Normal()}, "cycle"),
}


@pytest.mark.parametrize(("arrows", "nodes", "said"), NODES.values(), ids=NODES)
def test_nodes(arrows: str, nodes: dict[str, Any], said: str) -> None:
    assert said in refused(HybridNetwork, arrows, nodes)


def test_networks() -> None:
    assert "at least one variable" in refused(HybridNetwork, {})
    assert "unknown parent" in refused(HybridNetwork, {"x": ["y"]}, {"x": Normal()})
    assert "must be {name" in refused(HybridNetwork, "x", [Normal()])
    assert "a number" in refused(HybridNetwork, "x", {"x": Normal()}, {"x": ["a", "b"]})
    three = {"x": Normal(), "s": LogisticOfNumbers(1.0, {"x": 1.0})}
    assert "more than two states" in refused(HybridNetwork, "x -> s", three, {"s": ["a", "b", "c"]})
    other = {"x": Normal(), "s": LogisticOfNumbers({"d": 1.0}, {"a": {"x": 1.0}})}
    assert "'d'" in refused(HybridNetwork, "x -> s", other, {"s": ["a", "b", "c"]})
    assert "no nodes" in refused(HybridNetwork("x -> y").query, "x")


GIVEN: dict[str, tuple[Any, str]] = {
    "an empty interval": ({"Fever": (40, 39)}, "empty"),
    "an interval of a point": ({"Fever": (39, 39)}, "empty"),
    "an infinite number": ({"Fever": float("inf")}, "finite"),
    "a word for a number": ({"Fever": "high"}, "is a number"),
    "a boolean": ({"Fever": True}, "is a number"),
    "an end that is a word": ({"Fever": ("low", 3)}, "ends"),
    "an end that is NaN": ({"Fever": (float("nan"), 3)}, "ends"),
    "an unknown name": ({"Fewer": 39.0}, "Fever"),
    "an unknown state": ({"Flu": "maybe"}, "maybe"),
    "no mapping": ([("Fever", 39)], "evidence must be"),
}


@pytest.mark.parametrize(("given", "said"), GIVEN.values(), ids=GIVEN)
def test_evidence(given: Any, said: str) -> None:
    for call in (NET.marginals, NET.log_probability, lambda given: NET.query("Pulse", given)):
        assert said in refused(call, given)


def test_evidence_that_is_missing_is_none() -> None:
    assert NET.query("Flu", {"Fever": None, "Pulse": float("nan")}) == NET.query("Flu")
    assert NET.query("Flu", {"Fever": (None, None)}) == NET.query("Flu")


def test_queries() -> None:
    assert "Fever" in refused(NET.query, "Fevr")
    assert "one after the other" in refused(NET.query, ["Flu", "Fever"])
    assert "each once" in refused(NET.query, [])
    assert "likelihood-weighting" in refused(NET.query, "Flu", method="gibbs")
    assert "no method" in refused(NET.query, "Flu", method="magic")
    assert "probability 0" in refused(NET.probability, {"Fever": 39.0})
    assert "nothing to explain" in refused(NET.explain, "Flu", {"Flu": "yes"})
    assert "interval" in refused(NET.explain, "Fever", {"Flu": "yes"})
    assert "is a number" in refused(NET.predict_proba, "Fever", {"Flu": ["yes"]})
    assert "a number" in refused(NET.do, {"Fever": (38, 39)})
    assert "one state" in refused(NET.do, {"Flu": ["yes", "no"]})
    assert "at least 0" in refused(NET.sample, -1)
    assert "a seed must be" in refused(NET.sample, 1, seed="x")
    assert NET.sample(3).num_rows == 3  # without a seed
    assert NET.log_probability({"Fever": 1e6}) < -1e10


def test_learning() -> None:
    table = {"A": ["u", "v", "u", "v"] * 5, "x": np.arange(20.0), "y": np.sin(np.arange(20.0))}
    assert "need complete rows" in refused(HybridNetwork("x -> A").fit, {**table, "x": [None, *range(19)]})
    logistic = HybridNetwork("x -> A").fit(table)
    assert "fit again" in refused(logistic.update, table)
    assert "fit again" in refused(logistic.forget, table)
    assert "fit again" in refused(logistic.leave_one_out, table)
    assert "only the most probable weights" in refused(logistic.belief, "A")
    assert "a hidden category is fitted by EM with hidden=" in refused(HybridNetwork("A -> z; A -> x").fit, table)
    assert "constant" in refused(HybridNetwork("A -> x").fit, {**table, "x": [3.0] * 20}, kinds={"x": "number"})
    assert "positive" in refused(HybridNetwork("A -> x").fit, table, prior=-1)
    assert "above 0" in refused(HybridNetwork("A -> x").fit, table, prior={"x": -1})
    assert "isn't a node" in refused(HybridNetwork("A -> x").fit, table, prior={"z": 1})
    assert "LinearGaussian" in refused(HybridNetwork("A -> x").fit, table, prior={"x": credo.BDeu(1)})
    assert "finite" in refused(HybridNetwork("A -> x").fit, {**table, "x": [1.0, np.inf] * 10})
    assert "isn't a variable" in refused(HybridNetwork("A -> x").fit, table, kinds={"z": "number"})
    with pytest.warns(credo.Notice, match="every cell"):
        assert "every cell" in refused(HybridNetwork("A -> x").fit, {**table, "x": [None] * 20}, kinds={"x": "number"})
    assert "fixed" in refused(NET.update, table)
    assert "fixed" in refused(NET.belief, "Fever")
    net = HybridNetwork("A -> x; x -> y").fit(table)
    assert "no column is a variable" in refused(net.update, {"B": ["u"]})
    assert "the data is empty" in refused(net.update, {"A": [], "x": [], "y": []})
    assert "only complete rows are added up" in refused(net.forget, {"A": ["u"], "x": [None], "y": [0.1]})
    with pytest.warns(credo.Notice, match="'y': no such column, so missing in all these rows"):
        assert net.update({"A": ["u"], "x": [1.0]}).n == pytest.approx(21)
    assert net.update({"A": [None], "x": [None], "y": [None]}).n == pytest.approx(21)
    assert "category parent" in refused(net.belief, "x")
    assert "isn't one" in refused(net.belief, "y", {"A": "u"})
    assert "arrows differ" in refused(net.__add__, HybridNetwork("A -> x; A -> y").fit(table))
    assert "never learned" in refused(net.forget, {"A": ["w"], "x": [1.0], "y": [0.1]})
    assert "rows that were learned" in refused(net.leave_one_out, {name: own[:5] for name, own in table.items()})


def test_a_network_of_tables_says_what_to_use() -> None:
    table = {"A": ["u", "v"] * 10, "x": np.linspace(0, 1, 20)}
    assert "credo.HybridNetwork" in refused(credo.Network("A -> x").fit, table)


CONTENT = {
    "nodes": ["a", "b"],
    "arcs": [["a", "b"]],
    "cpds": {
        "a": {"coefficients": {"(Intercept)": [1.0]}, "variance": [2.0], "parents": []},
        "b": {"coefficients": {"(Intercept)": [0.5], "a": [3.0]}, "variance": [0.5], "parents": ["a"]},
    },
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The file's content with another value at a place such as cpds/b/variance."""
    content: dict[str, Any] = json.loads(json.dumps(CONTENT))
    *way, last = path.split("/")
    at = content
    for each in way:
        at = at[each]
    at[last] = value
    return content


FILES = {
    "a negative variance": (changed("cpds/b/variance", [-1.0]), "above 0"),
    "a variance in words": (changed("cpds/b/variance", ["wide"]), "must be a number"),
    "two variances": (changed("cpds/b/variance", [1.0, 2.0]), "must be a number"),
    "a coefficient too few": (changed("cpds/b/coefficients", {"(Intercept)": [0.5]}), "coefficients"),
    "a node without an entry": (changed("nodes", ["a", "b", "c"]), "no entry"),
    "an arrow too many": (changed("arcs", [["a", "b"], ["b", "a"]]), "arrow"),
    "arrows that are no pairs": (changed("arcs", ["ab"]), "pairs"),
    "nodes that are no names": (changed("nodes", [1]), "names"),
    "a parent that isn't there": (
        changed("cpds/a", {"coefficients": {"(Intercept)": [0], "z": [1]}, "variance": [1], "parents": ["z"]}),
        "unknown parent",
    ),
}


@pytest.mark.parametrize(("content", "said"), FILES.values(), ids=FILES)
def test_files(content: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    path.write_text(json.dumps(content))
    assert said in refused(credo.HybridNetwork.read, path)


def test_a_file_that_is_right(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    path.write_text(json.dumps(CONTENT))
    net = credo.HybridNetwork.read(path)
    assert net.query("b").mean() == pytest.approx(3.5)
    assert net.query("b").variance() == pytest.approx(18.5)
    assert "holds a HybridNetwork, not a Network" in refused(credo.Network.read, path)
    assert "of numbers alone" in refused(NET.write, path)
    assert ".json" in refused(NET.write, tmp_path / "net.bif")


QUESTIONS = {
    "P(Fever = 39)": "probability 0",
    "P(Fever > Pulse)": "compares Fever with a number",
    "P(Flu | Fever=high)": "is a number",
    "P(Flu | Fever > 40, Fever < 39)": "no possible value",
    "P(Flu | Fevr > 40)": "Fever",
    "P(Flu=maybe)": "maybe",
    "P(Fever, Flu=yes)": "after the bar",
    "E(Flu)": "must be numbers",
    "P(Flu | do(Fever=39), do(Fever=40))": "twice",
    "E(Fever > 39)": "after the bar",
}


@pytest.mark.parametrize(("question", "said"), QUESTIONS.items())
def test_questions(question: str, said: str) -> None:
    assert said in refused(credo.ask, NET, question)


def test_a_number_too_far_away_for_floats_is_impossible() -> None:
    """Its square overflows, and nobody is bothered with that."""
    net = HybridNetwork("A -> x", {"A": 0.5, "x": credo.nodes.Normal({"yes": 1.0, "no": 2.0}, sd=1.0)})
    assert "impossible" in refused(net.query, "A", {"x": 1e200})
    assert net.log_probability({"x": 1e200}) == -np.inf
    assert "must be finite and below 1e+150" in refused(net.log_prob, {"A": ["yes"], "x": [1e200]})
