"""Counterfactuals = abduction, action and prediction, case by case."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.networks.network import Network


@st.composite
def functional(draw: st.DrawFn) -> Network:
    """Random roots; the others are functions of their parents, but for one that may be random."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = [f"v{i}" for i in range(draw(st.integers(3, 6)))]
    parents = {name: tuple(x for x in names[:i] if random.random() < 0.5) for i, name in enumerate(names)}
    states = {name: tuple(range(int(random.integers(2, 4)))) for name in names}
    tables = {}
    for name, own in parents.items():
        shape = [len(states[each]) for each in own]
        if own:
            tables[name] = np.eye(len(states[name]))[random.integers(len(states[name]), size=shape)]
        else:
            tables[name] = random.dirichlet(np.ones(len(states[name])))
    return Network(parents, tables, states)


def by_cases(net: Network, name: str, known: dict[str, Any], do: dict[str, Any]) -> dict[Any, float]:
    """The posterior of the roots; for each of their states, the functions with the intervention."""
    roots = [each for each in net.order if not net.parents[each]]
    found = dict.fromkeys(net.states[name], 0.0)
    for states in product(*(net.states[root] for root in roots)):
        case = dict(zip(roots, states, strict=True))
        for each in net.order:
            if net.parents[each]:
                row = tuple(net.states[p].index(case[p]) for p in net.parents[each])
                case[each] = net.states[each][int(net.tables[each][row].argmax())]
        if any(case[each] != value for each, value in known.items()):
            continue
        weight = np.prod([net.tables[r][net.states[r].index(case[r])] for r in roots])
        other = {root: case[root] for root in roots} | do
        for each in net.order:
            if each not in other:
                row = tuple(net.states[p].index(other[p]) for p in net.parents[each])
                other[each] = net.states[each][int(net.tables[each][row].argmax())]
        found[other[name]] += float(weight)
    total = sum(found.values())
    return {state: p / total for state, p in found.items()} if total else {}


@settings(max_examples=80, deadline=None)
@given(functional(), st.integers(0, 2**32))
def test_all_cases(net: Network, seed: int) -> None:
    random = np.random.default_rng(seed)
    some = [str(each) for each in random.permutation(net.variables)]
    case = net.sample(1, seed=seed).to_pylist()[0]
    known = {name: case[name] for name in some[: int(random.integers(0, 4))]}
    do = {some[-1]: net.states[some[-1]][int(random.integers(len(net.states[some[-1]])))]}
    for name in net.variables:
        wanted = by_cases(net, name, known, do)
        assert net.counterfactual(name, known, do) == pytest.approx(wanted, abs=1e-9)


def test_the_firing_squad() -> None:
    """Pearl's: the prisoner is dead; had rifleman A not shot, he would be dead all the same."""
    squad = Network(
        "Order -> Captain -> A, B; Nervous -> A; A, B -> Death",
        {
            "Order": 0.7, "Nervous": 0.1, "Captain": [1.0, 0.0], "B": [1.0, 0.0],
            "A": [[1.0, 1.0], [1.0, 0.0]], "Death": [[1.0, 1.0], [1.0, 0.0]],
        },
    )  # fmt: skip
    found = squad.counterfactual("Death", {"Death": "yes"}, {"A": "no"})
    assert found["yes"] == pytest.approx(0.7 / (0.7 + 0.3 * 0.1))
    assert squad.counterfactual("Death", {"A": "no"}, {"A": "yes"})["yes"] == 1.0
    assert squad.counterfactual("Order", {"Death": "yes"}, {"A": "no"})["yes"] == pytest.approx(0.7 / 0.73)
    assert squad.counterfactual(["Death", "B"], {"Death": "yes"}, {"A": "no"})["no", "no"] == pytest.approx(0.03 / 0.73)


def test_nothing_known_is_an_intervention() -> None:
    net = Network("U -> X, Y; X -> Y", {"U": 0.3, "X": [1.0, 0.0], "Y": [[1.0, 0.0], [0.0, 1.0]]})
    assert net.counterfactual("Y", {}, {"X": "yes"}) == pytest.approx(net.do({"X": "yes"}).query("Y"))


def test_bad_calls() -> None:
    net = credo.Network.example("storm")
    with pytest.raises(credo.NetworkError, match="'Thunder' isn't a function of its parents"):
        net.counterfactual("Thunder", {"Lightning": "yes"}, {"Lightning": "no"})
    with pytest.raises(credo.SchemaError, match="needs what is done"):
        net.counterfactual("Thunder", {}, {})
    with pytest.raises(credo.SchemaError, match="no variable 'X'"):
        net.counterfactual("Thunder", {}, {"X": "no"})
    with pytest.raises(credo.SchemaError, match=r"known: Storm, [^*]*Did you mean 'ForestFire'"):
        net.counterfactual("ForestFre", {}, {"ForestFire": "no"})
    with pytest.raises(credo.EvidenceError, match="'ForestFire' has no state 'nope'"):
        net.counterfactual("Storm", {}, {"ForestFire": "nope"})
    assert net.counterfactual("Storm", {"Thunder": "yes"}, {"ForestFire": "no"}) == pytest.approx(
        net.query("Storm", {"Thunder": "yes"})
    )
