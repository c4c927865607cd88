"""Events joined by or, and, not = sums over the joint distribution."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.networks.network import EXAMPLES, Network
from tests.networks import joint, networks
from tests.test_cli import ran

Case = dict[str, Any]  # a state of each variable
Told = tuple[str, Callable[[Case], bool]]  # the text of an event, and whether it happens


@st.composite
def told(draw: st.DrawFn, net: Network, depth: int = 3) -> Told:
    kind = draw(st.sampled_from(["term", "or", "and", "not"])) if depth else "term"
    if kind == "not":
        text, holds = draw(told(net, depth - 1))
        return f"not ({text})", lambda case: not holds(case)
    if kind in ("or", "and"):
        parts = draw(st.lists(told(net, depth - 1), min_size=2, max_size=3))
        how = any if kind == "or" else all
        return f" {kind} ".join(f"({text})" for text, _ in parts), lambda case: how(holds(case) for _, holds in parts)
    name = draw(st.sampled_from(net.variables))
    some = draw(st.lists(st.sampled_from(net.states[name]), min_size=1, unique=True))
    if len(some) > 1:
        return f"{name} in {{{', '.join(some)}}}", lambda case: case[name] in some
    sign = draw(st.sampled_from(["=", "!="]))
    return f"{name}{sign}{some[0]}", lambda case: (case[name] == some[0]) == (sign == "=")


def chance(net: Network, holds: Callable[[Case], bool]) -> float:
    whole = joint(net, {})
    cases = product(*(net.states[name] for name in whole.scope))
    flags = [holds(dict(zip(whole.scope, states, strict=True))) for states in cases]
    return float(whole.table.reshape(-1) @ np.array(flags))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_probabilities_of_events(data: st.DataObject) -> None:
    net = data.draw(networks(most=4))
    (text, holds), (known, is_known) = data.draw(told(net)), data.draw(told(net))
    assert credo.ask(net, f"P(({text}))") == pytest.approx(chance(net, holds), abs=1e-12)
    below = chance(net, is_known)
    question = f"P({text} | {known})"
    if below == 0:
        with pytest.raises(credo.CredoError, match=r"impossible|no possible value"):
            credo.ask(net, question)
        return
    both = chance(net, lambda case: holds(case) and is_known(case))
    assert credo.ask(net, question) == pytest.approx(both / below, abs=1e-9)
    name = net.variables[0]
    found = credo.ask(net, f"P({name}, ({text}) | ({known}))")
    assert {*found} == {*net.states[name]}
    assert sum(found.values()) == pytest.approx(both / below, abs=1e-9)


def test_what_is_given_must_be_possible_even_if_the_event_is_not() -> None:
    net = credo.Network("a -> b", {"a": [1.0], "b": [[0.25, 0.75]]}, states={"a": ["u"], "b": ["v", "w"]})
    with pytest.raises(credo.CredoError, match="impossible"):
        credo.ask(net, "P(a!=u | not (a=u))")
    assert credo.ask(net, "P(a!=u | not (b=w))") == 0.0
    assert credo.ask(net, "P(b, a!=u | not (b=w))") == {"v": 0.0, "w": 0.0}


def test_and_binds_more_than_or() -> None:
    net = credo.Network.example("storm")
    one = credo.ask(net, "P(Storm=yes or Thunder=yes and Campfire=yes)")
    assert one == credo.ask(net, "P(Storm=yes or (Thunder=yes and Campfire=yes))")
    assert one != credo.ask(net, "P((Storm=yes or Thunder=yes) and Campfire=yes)")
    inclusion = ["P(Storm=yes", "P(Thunder=yes", "P(Storm=yes, Thunder=yes)"]
    a, b, both = (credo.ask(net, text if text.endswith(")") else f"{text})") for text in inclusion)
    assert credo.ask(net, "P(Storm=yes or Thunder=yes)") == pytest.approx(a + b - both)
    assert credo.ask(net, "P(Storm=yes or Thunder=yes, Campfire=no | do(Lightning=no))") == pytest.approx(
        sum(
            p
            for (storm, thunder, fire), p in net.do({"Lightning": "no"}).query(["Storm", "Thunder", "Campfire"]).items()
            if fire == "no" and "yes" in (storm, thunder)
        )
    )


def test_one_of_very_many() -> None:
    """P(any of 60) = 1 - P(none): no joint table of them is made."""
    names = [f"x{i}" for i in range(60)]
    net = Network({"cause": (), **dict.fromkeys(names, ("cause",))}, {"cause": 0.5} | {n: [0.1, 0.01] for n in names})
    any_of = " or ".join(f"{name}=yes" for name in names)
    assert credo.ask(net, f"P({any_of})") == pytest.approx(1 - 0.5 * (0.9**60 + 0.99**60))
    assert credo.ask(net, f"P({any_of}, cause=yes)") == pytest.approx(0.5 * (1 - 0.9**60))
    assert credo.ask(net, f"P({any_of} or x0=no)") == 1.0


def test_names_that_are_keywords() -> None:
    net = Network("not -> or; or -> and", {"not": 0.3, "or": [0.6, 0.2], "and": [0.5, 0.1]})
    assert credo.ask(net, "P(not=yes)") == pytest.approx(0.3)
    assert credo.ask(net, "P(not in {yes, no} and or=yes)") == pytest.approx(0.3 * 0.6 + 0.7 * 0.2)
    assert credo.ask(net, "P(not not=yes or or=yes)") == pytest.approx(0.7 + 0.3 * 0.6)
    assert credo.ask(net, "P(or | not=yes)")["yes"] == pytest.approx(0.6)


def test_estimates_have_standard_errors() -> None:
    net = credo.Network.example("storm")
    question = "P(ForestFire=yes or Campfire=yes | Thunder=yes or Storm=yes)"
    exact, found = credo.ask(net, question), credo.ask(net, question, method="likelihood-weighting", seed=1)
    assert abs(found - exact) < 5 * found.standard_error < 0.05


BAD = {
    "P(Storm or Thunder=yes)": "give a value of Storm",
    "P(Storm=yes or)": "expected a name",
    "P((Storm=yes or Thunder=yes)": "expected",
    "P(Storm=yes or Thunder={yes: 1})": "expected a value",
    "P(Storm=yes | Thunder={yes: 1, no: 0.5} or Campfire=yes)": "likelihoods can't be joined",
    "E(Storm=yes or Thunder=yes)": "E takes no conditions joined",
    "argmax P(Storm | Thunder=yes or Campfire=yes)": "argmax takes no conditions joined",
    "P(Storm=yes or Thnder=yes)": "no variable 'Thnder'",
    "P(Storm=yes or Thunder=perhaps)": "no value 'perhaps'",
    "P(" + "(" * 60 + "Storm=yes" + ")" * 60 + ")": "nested more than 50 deep",
    "P(" + "not " * 60 + "Storm=yes)": "nested more than 50 deep",
}


@pytest.mark.parametrize("question", BAD)
def test_bad_questions(question: str) -> None:
    with pytest.raises(credo.QuestionError, match=BAD[question]):
        credo.ask(credo.Network.example("storm"), question)


def test_on_the_command_line() -> None:
    said = ran("ask", str(EXAMPLES / "storm.bif"), "P(ForestFire=yes or Campfire=yes | Storm=yes)")
    assert "0.433" in said


def test_other_models_refuse() -> None:
    belief = credo.BetaBernoulli(1, 1).update([1, 0])
    with pytest.raises(credo.QuestionError, match="are for networks of categories, not for a Belief"):
        credo.ask(belief, "P(theta > 0.5 or theta < 0.1)")
