"""The k most probable explanations = all joint states, sorted."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import credo
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
from tests.networks import evidence, joint, markov_networks, networks


def check(net: Network | MarkovNetwork, known: dict[str, Any], names: list[str] | None, k: int) -> None:
    whole = joint(net, known)
    kept = [*(names or net.states)]
    table = whole.sum_out([name for name in whole.scope if name not in kept]).over(tuple(kept)).table
    wanted = np.sort(table[table > 0])[::-1][:k]
    assume(len(wanted))
    found = net.most_probable(names, known, k=k)
    np.testing.assert_allclose([np.exp(each.log_joint) for each in found], wanted, rtol=1e-9)
    assert len({tuple(each.items()) for each in found}) == len(found)  # none twice
    for each in found:
        at = tuple(net.states[name].index(each[name]) for name in kept)
        assert table[at] == pytest.approx(np.exp(each.log_joint), rel=1e-9)
    assert found[0].log_joint == pytest.approx(net.most_probable(names, known).log_joint)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 12))
def test_all_states_in_order(data: st.DataObject, k: int) -> None:
    net = data.draw(st.one_of(networks(most=5), markov_networks()))
    known = data.draw(evidence(net))
    some = data.draw(st.one_of(st.none(), st.lists(st.sampled_from(net.variables), min_size=1, unique=True)))
    check(net, known, some, k)


def test_a_network_of_trees() -> None:
    """More variables than a joint table has: the first of k are in order, and each is its own joint probability."""
    net = Network.random(30, states=(2, 3), max_parents=2, seed=3)
    known = {net.variables[3]: net.states[net.variables[3]][0]}
    found = net.most_probable(given=known, k=20)
    assert len(found) == 20
    assert all(a.log_joint >= b.log_joint for a, b in pairwise(found))
    for each in found:
        assert net.log_probability(each) == pytest.approx(each.log_joint, abs=1e-9)


def test_bad_calls() -> None:
    net = credo.Network.example("asia")
    with pytest.raises(credo.NetworkError, match="k must be a whole number of at least 1"):
        net.most_probable(k=0)
    with pytest.raises(credo.NetworkError, match="aren't found by gibbs"):
        net.most_probable(k=2, method="gibbs")
    with pytest.raises(credo.EvidenceError, match="impossible"):
        net.most_probable(given={"TuberculosisOrCancer": "no", "LungCancer": "yes"}, k=2)
    with pytest.raises(credo.SchemaError, match="no variable 'X'"):
        net.most_probable(["X"], k=2)
    assert len(net.most_probable(["Smoking"], k=5)) == 2
