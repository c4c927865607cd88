"""Nodes that aren't tables, given badly: one sentence each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from credo import nodes
from credo.errors import CredoError, DataError, EvidenceError, NetworkError, SizeError
from credo.networks.network import Network
from tests.laws.test_node_distributions import GENIE

PARENTS: dict[str, Any] = {"A": (), "B": (), "Y": ("A", "B")}
NOISY = nodes.NoisyOr({"A": 0.5, "B": 0.5})


def made(child: Any, **states: Any) -> Network:
    own = {"A": ("yes", "no"), "B": ("yes", "no"), "Y": ("yes", "no")} | states
    tables = {name: [1 / len(own[name])] * len(own[name]) for name in "AB"}
    return Network(PARENTS, {**tables, "Y": child}, own)


@pytest.mark.parametrize(
    ("child", "sentence"),
    [
        (nodes.NoisyOr({"A": 0.5, "B": 0.5}, leak=1.5), "the leak of 'Y' must be a probability, between 0 and 1"),
        (nodes.NoisyOr({"A": 0.5, "B": 0.5}, leak=-0.1), "the leak of 'Y' must be a probability"),
        (nodes.NoisyOr({"A": 0.5, "B": 0.5}, leak="much"), "the leak of 'Y' must be a probability, but is 'much'"),
        (nodes.NoisyOr({"A": 0.5, "B": 0.5, "C": 0.5}), "'Y' has a strength for 'C', which isn't a parent of it"),
        (nodes.NoisyOr({"A": 0.5}), "'Y' has no strength for its parent 'B'"),
        (nodes.NoisyOr({"A": 0.5, "B": 2}), "the strength of B=yes in 'Y' must be a probability"),
        (nodes.NoisyOr({"A": 0.5, "B": float("nan")}), "the strength of B=yes in 'Y' must be a probability"),
        (nodes.NoisyOr({"A": 0.5, "B": {"maybe": 0.5}}), "'Y' names the state B=maybe"),
        (nodes.NoisyOr({"A": 0.5, "B": {"no": 0.5}}), "the state without effect"),
        (nodes.NoisyOr({"A": 0.5, "B": 0.5}, neutral={"C": "no"}), "'Y' has a neutral state for 'C'"),
        (nodes.NoisyMax({"A": [0.5, 0.6], "B": [0.5, 0.5]}), "must be probabilities that sum to 1"),
        (nodes.NoisyMax({"A": [0.5], "B": [0.5, 0.5]}), "must have 2 numbers, but has 1"),
        (nodes.NoisyMax({"A": [0.5, 0.5], "B": [0.5, 0.5]}, order=("yes",)), "the order of 'Y' must have each state"),
        (nodes.NoisyMax({"A": [0.5, 0.5], "B": [0.5, 0.5]}, leak=np.array([0.9, 0.9])), "must be probabilities"),
        (nodes.Normal({"yes": 1.0, "no": 2.0}), "'Y' is a Normal, about numbers, .* use HybridNetwork"),
        (nodes.Deterministic("A and C"), "names 'C', which isn't a parent"),
        (nodes.Deterministic("A and"), "can't be read"),
        (nodes.Deterministic("A + B"), "has a part that can't be read: A \\+ B"),
        (nodes.Deterministic("A"), "doesn't depend on its parent 'B'"),
        (nodes.Deterministic("at_least(3, A, B)"), "doesn't depend on its parent 'A'"),
        (nodes.Deterministic("A == yes or B"), "compares 'A' with yes: states stand in quotes"),
        (nodes.Deterministic("A in [yes] or B"), "states stand in quotes"),
        (nodes.Deterministic("A and B == 'maybe'"), "'Y' names the state B=maybe"),
        (nodes.Deterministic("A and B > 'no'"), "can compare states by"),
        (nodes.Deterministic("at_least(A, B)"), "should have at_least\\(a whole number"),
        (nodes.Deterministic("sum(A, B)"), "calls 'sum', which isn't one of"),
        (nodes.Deterministic("__import__('os') or A or B"), "calls '__import__'"),
        (nodes.Deterministic("count(A, B)"), "counts to"),
        (nodes.Deterministic("count(A) and B"), "has count\\(A\\), which is no truth value, inside another part"),
        (nodes.Deterministic("not max(A, B)"), "has max\\(A, B\\), which is no truth value"),
        (nodes.Deterministic("at_least(1, count(A), B)"), "has count\\(A\\), which is no truth value"),
        (nodes.Deterministic(lambda a, b: "perhaps"), "gives 'perhaps', no state of it"),  # noqa: ARG005
        (nodes.Deterministic(lambda a, b: None), "gives None, no state of it"),  # noqa: ARG005
        (nodes.Deterministic(lambda a, b: 1 / 0), "the function of 'Y' fails for A=yes, B=yes: division by zero"),  # noqa: ARG005
        (nodes.Deterministic({("yes", "yes"): "yes"}), "has no case for A=yes, B=no"),
        (nodes.Deterministic({"yes": "yes"}), "must name a state of each parent"),
        (nodes.DefaultTable(0.1, {("yes", None): 0.2, ("yes", "no"): 0.3}), "is never reached"),
        (nodes.TreeTable({"C": {"yes": 0.5, "no": 0.5}}), "'Y' has a branch for 'C', which isn't a parent"),
        (nodes.TreeTable({"A": {"yes": 0.5}}), "has no branch for A=no"),
        (nodes.TreeTable({"A": {"yes": 0.5, "maybe": 0.5}}), "'Y' names the state A=maybe"),
        (nodes.TreeTable({"A": {"yes": 0.5, "no": 1.5}}), "must be a probability, but is 1.5"),
        (nodes.TreeTable({"A": {"yes": {"A": {"yes": 0.5, "no": 0.5}}, "no": 0.1}}), "asks for 'A' twice"),
        (nodes.TreeTable({"A": {("yes", "no"): 0.5, "no": 0.5}}), "two branches for A=no"),
        (nodes.DefaultTable(0.5, {("yes",): 0.5}), "must name a state of each of A, B"),
        (nodes.DefaultTable(0.5, {("yes", "maybe"): 0.5}), "'Y' names the state B=maybe"),
        (nodes.DefaultTable(7, {("yes", "no"): 0.5}), "by default must be a probability"),
        (nodes.Logistic(0.0, {"C": 1.0}), "'Y' has a weight for 'C', which isn't a parent"),
        (nodes.Logistic(0.0, {"A": "much"}), "the weight of A=yes in 'Y' must be a number"),
        (nodes.Logistic(float("inf"), {"A": 1.0}), "the intercept of 'Y' must be a number"),
        (nodes.Softmax({"maybe": 1.0}), "'Y' names the state Y=maybe"),
        (nodes.Softmax({"yes": 1.0}, {"A": 2.0}), "must be {own state: {its state: number}}"),
    ],
)  # fmt: skip
def test_one_sentence(child: Any, sentence: str) -> None:
    with pytest.raises(NetworkError, match=sentence) as caught:
        made(child)
    assert len(str(caught.value)) < 250
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "arguments", "sentence"),
    [
        (nodes.NoisyOr, (0.5,), "the causes of a noisy-OR are {parent: strength}, not 0.5"),
        (nodes.NoisyOr, ({"A": 0.5}, 0.0, "no"), "neutral must be"),
        (nodes.DefaultTable, (0.5, [0.5]), "exceptions must be"),
        (nodes.Deterministic, (3,), "a rule must be text, a function or a mapping"),
        (nodes.Logistic, (0.0, [1.0]), "the weights of a Logistic"),
        (nodes.Logistic, (0.0, {}, 0.0), "the spread of weights must be above 0"),
        (nodes.Softmax, ([1.0],), "the intercepts of a Softmax"),
    ],
)
def test_parts_of_the_wrong_type(kind: Any, arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(NetworkError, match=sentence):
        kind(*arguments)


def test_states_that_a_kind_cannot_have() -> None:
    with pytest.raises(NetworkError, match="'Y' is a noisy-OR of 3 states, not 2: use a NoisyMax"):
        made(NOISY, Y=("a", "b", "c"))
    with pytest.raises(NetworkError, match="'Y' is a Logistic of 3 states, not 2: use a Softmax"):
        made(nodes.Logistic(0.0), Y=("a", "b", "c"))
    with pytest.raises(NetworkError, match="must have a strength for each of B=low, high"):
        made(NOISY, B=("low", "high", "none"))
    with pytest.raises(NetworkError, match="must have a weight for states of 'B'"):
        made(nodes.Logistic(0.0, {"B": 1.0}), B=("low", "high", "none"))
    with pytest.raises(NetworkError, match="is true or false, but it has 3 states"):
        made(nodes.Deterministic("A and B"), Y=("a", "b", "c"))


def test_a_node_without_parents() -> None:
    for child in (nodes.NoisyOr({"B": 0.5}), nodes.TreeTable(0.5), nodes.DefaultTable(0.5), nodes.Deterministic("A")):
        with pytest.raises(NetworkError, match=r"'A' is a .*has no parents: give it a table"):
            Network("A -> B", {"A": child, "B": [0.5, 0.5]})


def test_some_parameters_alone() -> None:
    with pytest.raises(NetworkError, match="'Y' is a NoisyOr without parameters, and others have theirs"):
        made(nodes.NoisyOr())
    with pytest.raises(NetworkError, match="'A' has no table; give one for each name"):
        Network(PARENTS, {"Y": NOISY})
    with pytest.raises(NetworkError, match="arrows but no tables"):
        Network(PARENTS, {"Y": nodes.NoisyOr()}).query("Y")
    with pytest.raises(NetworkError, match="only tables can be tied"):
        Network(PARENTS, {"Y": nodes.NoisyOr()}, tied={"Y": "step"})
    with pytest.raises(EvidenceError, match="tables are fixed"):
        made(NOISY).update({"A": ["yes"], "B": ["no"], "Y": ["no"]})


def test_rules_are_read_as_they_are_meant() -> None:
    for rule in ("A xor not B", "not A xor B", "xor(A, B, True)", "A and B or not (A or B)"):
        assert made(nodes.Deterministic(rule)).tables["Y"][..., 0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    odd = Network({"my a": (), "Y": ("my a",)}, {"my a": 0.5, "Y": nodes.Deterministic("not `my a`")})
    assert odd.query("Y", {"my a": "yes"})["no"] == 1.0
    for rule in ("A xor (B or B)", "(A) xor(B)", "A xor xor(B, False)"):
        assert made(nodes.Deterministic(rule)).tables["Y"][..., 0].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    quoted = made(nodes.Deterministic("A == 'this xor that' or B == 'no'"), A=("this xor that", "`other`"))
    assert quoted.tables["Y"][..., 0].tolist() == [[1.0, 1.0], [0.0, 1.0]]


def test_a_function_of_many_parents_remembers_what_matters() -> None:
    """Counts of 12 parents, not their 4096 configurations."""
    names = tuple(f"c{i}" for i in range(12))
    half = nodes.Deterministic(lambda *x: x.count("yes") >= 6)
    net = Network({**dict.fromkeys(names, ()), "y": names}, {**dict.fromkeys(names, 0.5), "y": half})
    assert net.query("y")["yes"] == pytest.approx(0.5 + 924 / 2**13)


def test_too_many_parents() -> None:
    names = tuple(f"c{i}" for i in range(70))
    parents: dict[str, Any] = {**dict.fromkeys(names, ()), "y": names}
    roots = dict.fromkeys(names, 0.5)
    with pytest.raises(NetworkError, match="'y' has 70 parents: more than 60 can't have a table"):
        Network(parents)
    with pytest.raises(SizeError, match="too many to call it: give a rule"):
        Network(parents, {**roots, "y": nodes.Deterministic(lambda *x: "yes")})  # noqa: ARG005
    logistic = Network(parents, {**roots, "y": nodes.Logistic(0.0, dict.fromkeys(names, 0.1))})
    with pytest.raises(SizeError, match="log-odds that are linear in 70 parents have no smaller factors"):
        logistic.query("y", method="exact")
    with pytest.raises(NetworkError, match="use method='likelihood-weighting'"):
        logistic.query("y", method="loopy")
    with pytest.raises(SizeError, match="no smaller factors"):
        logistic.predict_proba("y", {"c0": ["yes"]})
    sorted_ = " or ".join(f"({a} xor {b})" for a, b in zip(names[:35], names[35:], strict=True))
    with pytest.raises(SizeError, match="must remember more than 1024 cases of the parents read"):
        Network(parents, {**roots, "y": nodes.Deterministic(sorted_)})


def test_rows_that_contradict_a_rule() -> None:
    net = Network(PARENTS, {"Y": nodes.Deterministic("A and B")})
    with pytest.raises(EvidenceError, match="a row has Y=yes, where its rule says no"):
        net.fit({"A": ["yes", "no"], "B": ["yes", "yes"], "Y": ["yes", "yes"]})
    with pytest.raises(DataError, match="column 'A' has the value 'perhaps', which isn't a state"):
        net.fit({"A": ["perhaps"], "B": ["yes"], "Y": ["yes"]})


@pytest.mark.parametrize(
    ("strengths", "parameters", "sentence"),
    [
        ("0 1 0 1", "0.5 0.3 0.2", "a noisy-MAX of 2 parents, must have 15 parameters, but has 3"),
        ("0 1 0 1", "0.5 0.3 0.9 0 0 1 0.1 0.2 0.7 0 0 1 0 0 1", "isn't made of probabilities that sum to 1"),
        ("0 0 0 1", "0.5 0.3 0.2 0 0 1 0.1 0.2 0.7 0 0 1 0 0 1", "must have the states of each parent once"),
        ("0 1", "0.5 0.3 0.2 0 0 1 0.1 0.2 0.7 0 0 1 0 0 1", "must have the states of each parent once"),
        ("0 1 0 1", "0.5 0.3 0.2 0 1 0 0.1 0.2 0.7 0 0 1 0 0 1", "the weakest state of a parent of 'N' has an effect"),
        ("0 1 0 1", "0.5 much 0.2", "expected numbers in this parameters"),
    ],
)
def test_files_with_bad_noisy_nodes(strengths: str, parameters: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "n.xdsl").write_text(GENIE.format(strengths=strengths, parameters=parameters))
    with pytest.raises(CredoError, match=sentence):
        Network.read(tmp_path / "n.xdsl")
