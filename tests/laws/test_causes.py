"""Effects of interventions: what identification says = the truncated factorisation, on random graphs with hidden
variables."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.networks.causes.c_factors import Hedge, identified
from credo.networks.causes.effect import effect_of, network_effect
from credo.networks.causes.identification import Identification, identify
from credo.networks.network import Network
from tests.dags import random_dag

FRONT_DOOR = Network(
    "U -> X, Y; X -> M -> Y", {"U": 0.5, "X": [0.8, 0.3], "M": [0.9, 0.2], "Y": [[0.8, 0.3], [0.5, 0.1]]}
)


@st.composite
def confounded(draw: st.DrawFn) -> tuple[Network, list[str], str, str]:
    """A network with positive tables, its hidden variables, a cause and an outcome that are observed."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.integers(4, 8))
    dag = random_dag(size, draw(st.sampled_from([0.25, 0.4, 0.6])), random)
    parents = {f"v{i}": tuple(f"v{j}" for j in own) for i, own in enumerate(dag)}
    states = {name: tuple(range(random.integers(2, 4 if size < 6 else 3))) for name in parents}
    tables = {
        name: random.dirichlet(np.ones(len(states[name])), [len(states[each]) for each in own]) * 0.9
        + 0.1 / len(states[name])
        for name, own in parents.items()
    }
    shuffled = [f"v{i}" for i in random.permutation(size)]
    hidden = shuffled[2 : 2 + draw(st.integers(0, (size - 2) // 2 + 1))]
    return Network(parents, tables, states), hidden, shuffled[0], shuffled[1]


def truth(net: Network, cause: str, outcome: str) -> Any:
    return np.array([[*net.do({cause: x}).query(outcome).values()] for x in net.states[cause]])


@settings(max_examples=150, deadline=None)
@given(confounded())
def test_an_estimand_is_the_truncated_factorisation(case: tuple[Network, list[str], str, str]) -> None:
    net, hidden, cause, outcome = case
    graph = credo.CausalGraph(net.parents, hidden)
    found = graph.identify(cause, outcome)
    general = identified(graph.projection, frozenset({cause}), frozenset({outcome}))
    assert bool(found) != isinstance(general, Hedge)  # the general algorithm finds what any adjustment finds
    if isinstance(general, Hedge):
        assert general.inner < general.outer
        assert cause in general.outer - general.inner
        with pytest.raises(credo.NetworkError, match="isn't identifiable"):
            network_effect(net, cause, outcome, hidden, None, 0)
        return
    wanted = truth(net, cause, outcome)
    np.testing.assert_allclose(network_effect(net, cause, outcome, hidden, None, 0).table, wanted, atol=1e-10)
    same = Identification((cause,), (outcome,), "c-components", general)
    np.testing.assert_allclose(effect_of(same, net, None, 0).table, wanted, atol=1e-10)


@settings(max_examples=120, deadline=None)
@given(confounded(), st.integers(0, 5))
def test_effects_among_some(case: tuple[Network, list[str], str, str], pick: int) -> None:
    """P(outcome | do(cause), given), the given being causes or effects of both."""
    net, hidden, cause, outcome = case
    more = [name for name in net.parents if name not in hidden and name not in (cause, outcome)]
    if not more:
        return
    known = {name: net.states[name][pick % len(net.states[name])] for name in (more[pick % len(more)], more[0])}
    found = credo.CausalGraph(net.parents, hidden).identify(cause, outcome, [*known])
    if not found:
        assert found.hedge is not None
        return
    wanted = [[*net.do({cause: x}).query(outcome, known).values()] for x in net.states[cause]]
    np.testing.assert_allclose(net.effect(cause, outcome, given=known, hidden=hidden).table, wanted, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(confounded())
def test_several_causes_and_outcomes(case: tuple[Network, list[str], str, str]) -> None:
    net, hidden, cause, outcome = case
    more = [name for name in net.parents if name not in hidden and name not in (cause, outcome)]
    causes, outcomes = (cause, *more[:1]), (outcome, *more[1:2])
    found = identify(net.parents, hidden, causes, outcomes)
    if not found:
        return
    table = effect_of(found, net, None, 0).table
    at = [dict(zip(causes, each, strict=True)) for each in product(*(net.states[name] for name in causes))]
    wanted = [[*net.do(some).query([*outcomes]).values()] for some in at]
    np.testing.assert_allclose(table, wanted, atol=1e-10)


@settings(max_examples=60, deadline=None)
@given(confounded())
def test_observed_arrows_represent_the_observed_distribution(case: tuple[Network, list[str], str, str]) -> None:
    """P(v | all before it) = P(v | its parents in the observed network)."""
    net, hidden, _, _ = case
    seen = credo.CausalGraph(net.parents, hidden).observed_network()
    order = [*seen.order]
    joint = np.array([*net.query(order).values()]).reshape([len(net.states[name]) for name in order])
    found = np.ones(())
    for i, name in enumerate(order):
        above = seen.parents[name]
        own = np.array([*net.query([*above, name]).values()]).reshape([len(net.states[n]) for n in (*above, name)])
        wide = own / own.sum(-1, keepdims=True)
        axes = [len(net.states[each]) if each in (*above, name) else 1 for each in order[: i + 1]]
        turned = wide.transpose(np.argsort([order.index(each) for each in (*above, name)])).reshape(axes)
        found = found[..., None] * turned
    np.testing.assert_allclose(found, joint, atol=1e-12)


def test_known_graphs() -> None:
    ways = {
        "X -> Y; Z -> X, Y": ("back-door", ("Z",)),
        "X -> M -> Y; X <-> Y": ("front-door", ("M",)),
        "W -> Z -> X -> Y; W <-> X; W <-> Y": ("c-components", ()),  # the napkin
        "Y -> X": ("no causal path", ()),
        "X -> Y": ("back-door", ()),
        "X -> Y; X <-> Y": ("", ()),  # the bow
        "X -> Z -> Y; X <-> Z": ("", ()),
        "Z -> X -> Y; X <-> Y": ("", ()),  # an instrument identifies no effect without more assumptions
        "X -> Y; A -> X; A <-> X; A <-> Y": ("", ()),
        "X -> Y; A -> X; A <-> Y": ("back-door", ("A",)),
        "X -> Y; A <-> X; A <-> Y": ("back-door", ()),  # M-bias: adjusting for A would open a path
    }
    for text, (way, adjustment) in ways.items():
        found = credo.CausalGraph(text).identify("X", "Y")
        assert (found.way, found.adjustment) == (way, adjustment), text
        assert bool(found) == bool(way)
    assert "X, Y" in credo.CausalGraph("X -> Y; X <-> Y").identify("X", "Y").reason


def test_a_named_hidden_variable_is_an_arrow_with_two_heads() -> None:
    named = credo.CausalGraph("U -> X, Y; X -> Y", hidden=["U"])
    assert named.projection == credo.CausalGraph("X -> Y; X <-> Y").projection


def test_intervals_cover_the_effect() -> None:
    """From data of a confounded network, 90% intervals of the back-door and the front-door estimates."""
    back = Network("Z -> X, Y; X -> Y", {"Z": 0.4, "X": [0.7, 0.2], "Y": [[0.9, 0.6], [0.5, 0.2]]})
    for net, hidden in ((back, ()), (FRONT_DOOR, ("U",))):
        graph, wanted, inside = credo.CausalGraph(net.parents, hidden), truth(net, "X", "Y"), 0
        for seed in range(30):
            rows = net.sample(400, seed=seed).drop_columns([*hidden])
            found = graph.effect("X", "Y", rows, draws=200, seed=seed)
            low, high = found.interval("yes", 0.9)["yes"]
            inside += low <= wanted[0, 0] <= high
        assert inside >= 22  # of 30; 27 are expected, and 22 or fewer have a probability of 2%


def test_more_rows_give_the_effect() -> None:
    net = FRONT_DOOR
    rows = net.sample(200_000, seed=1).drop_columns(["U"])
    found = credo.CausalGraph(net.parents, "U").effect("X", "Y", rows, draws=50)
    assert abs(found["yes"]["yes"] - truth(net, "X", "Y")[0, 0]) < 0.01
    assert abs(found.seen[0, 0] - truth(net, "X", "Y")[0, 0]) > 0.05  # what is seen is something else


def test_fitted_networks_know_what_was_hidden() -> None:
    rows = {"X": ["a", "b"] * 20, "Y": ["c", "c", "d", "d"] * 10}
    net = Network("U -> X, Y; X -> Y").fit(rows, hidden={"U": 2}, starts=1)
    with pytest.raises(credo.NetworkError, match="isn't identifiable"):
        net.effect("X", "Y")
    assert net.effect("X", "Y", hidden=()).draws is not None


def test_counterfactuals_beside_large_noisy_nodes() -> None:
    """Their tables are never made."""
    causes = [f"c{i}" for i in range(40)]
    noisy = credo.nodes.NoisyOr(dict.fromkeys(causes, 0.1))
    net = credo.Network(
        {**{name: [] for name in causes}, "X": causes, "N": [], "Y": ["X", "N"]},
        {**dict.fromkeys(causes, 0.05), "X": noisy, "N": 0.1, "Y": credo.nodes.Deterministic("X xor N")},
    )
    assert net.counterfactual("Y", {"X": "yes", "Y": "yes"}, do={"X": "no"})["no"] == pytest.approx(1.0)
