"""Interventions: variables set regardless of their parents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import EvidenceError
from credo.networks.hybrid.findings import number_or_interval
from credo.networks.hybrid.number_node import NumberNode
from credo.networks.inference.findings import Findings

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork


def after_intervention(net: HybridNetwork, values: Mapping[str, Any]) -> HybridNetwork:
    """The network without the arrows into the variables that are set. A number that is set counts as known, and has no
    density."""
    from credo.networks.hybrid.network import HybridNetwork

    net._check_nodes()
    parents, nodes, done = dict(net.parents), dict(net.nodes), dict(net.done)
    for name, value in values.items():
        parents[net._known(name)] = ()
        if name in net.numbers:
            read = number_or_interval(name, value)
            if not isinstance(read, float):
                raise EvidenceError(f"do sets {name!r} to a number, but {value!r:.60} is none")
            nodes[name] = NumberNode(name, (), (), np.array(read), np.zeros(0), np.array(1.0))
            done[name] = read
        else:
            nodes[name] = _chances(net, name, value)
    return HybridNetwork(parents, nodes, net.states).after_setting(done)


def _chances(net: HybridNetwork, name: str, value: object) -> Any:
    """A table row with probability 1 for a state, or the given probabilities."""
    from credo.networks.tables import SUM_TOLERANCE

    found = Findings.of(net.category_index, {name: value})
    v = [*net.states].index(name)
    if found.codes[v] >= 0:
        return np.eye(len(net.states[name]))[found.codes[v]]
    places = net.category_index.places
    chances = np.exp(found.log_scale) * found.weights[places[v] : places[v + 1]]
    if not isinstance(value, Mapping) or abs(chances.sum() - 1.0) > SUM_TOLERANCE:
        raise EvidenceError(f"do sets {name!r} to one state, or to states with probabilities that sum to 1")
    return chances
