"""How networks of categories and numbers are stored: fixed nodes, or prior and evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import NetworkError
from credo.storage import field_types as t
from credo.storage.schemas.core import EVIDENCE
from credo.storage.schemas.families import LINEAR_GAUSSIAN
from credo.storage.schemas.networks import PRIORS
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.hybrid.number_node import LogisticNode, NumberNode

LINE_PRIOR = t.optional(t.either(t.NUMBER, LINEAR_GAUSSIAN.type))


def _number_node_holds(node: NumberNode) -> bool:
    """Whether arrays have one shape, numbers are finite, and variances positive."""
    shape = node.intercept.shape
    shaped = node.weights.shape == (*shape, len(node.numbers)) and node.variance.shape == shape
    finite = all(np.isfinite(each).all() for each in (node.intercept, node.weights, node.variance))
    return shaped and len(shape) == len(node.categories) and finite and bool((node.variance > 0).all())


def _logistic_node_holds(node: LogisticNode) -> bool:
    shape = node.intercept.shape
    finite = bool(np.isfinite(node.intercept).all() and np.isfinite(node.weights).all())
    return len(shape) == len(node.categories) + 1 and node.weights.shape == (*shape, len(node.numbers)) and finite


def _with_learned(
    net: HybridNetwork, fixed_nodes: Mapping[str, Any], fixed_states: Mapping[str, Any], evidence: Any,
    history: Sequence[float], done: Mapping[str, float],
) -> HybridNetwork:  # fmt: skip
    """The network with fixed nodes, or with nodes derived from evidence (except logistic ones, which have none)."""
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.hybrid.number_node import LogisticNode

    if evidence is None:
        if history:
            raise NetworkError("there is a history of EM, but no evidence")
        return HybridNetwork(net.parents, fixed_nodes, fixed_states, net.prior).after_setting(done)
    if done or not all(isinstance(node, LogisticNode) for node in fixed_nodes.values()):
        raise NetworkError("nodes are either given, and fixed, or derived from evidence: not both")
    return HybridNetwork.of_evidence(net.parents, net.prior, evidence, fixed_nodes, history)


def _hybrid_holds(net: HybridNetwork) -> bool:
    """Whether nodes fit the states of their parents, and the evidence is that of the nodes."""
    from credo.networks.hybrid.learning import is_evidence_of

    sizes = {name: len(states) for name, states in net.states.items()}
    for node in net.numbers.values():
        if node.intercept.shape != tuple(sizes[name] for name in node.categories):
            return False
    for name, logistic in net.logistic.items():
        if logistic.intercept.shape != (*(sizes[each] for each in logistic.categories), sizes[name]):
            return False
    if not all(name in net.numbers for name in net.done):
        return False
    return net.evidence is None or is_evidence_of(net, net.evidence)


NUMBER_NODE = Stored(
    "NumberNode",
    "credo.networks.hybrid.number_node:NumberNode",
    {
        "name": t.TEXT,
        "categories": t.NAMES,
        "numbers": t.NAMES,
        "intercept": t.FLOATS,
        "weights": t.FLOATS,
        "variance": t.FLOATS,
    },
    consistent=_number_node_holds,
)
LOGISTIC_NODE = Stored(
    "LogisticNode",
    "credo.networks.hybrid.number_node:LogisticNode",
    {"name": t.TEXT, "categories": t.NAMES, "numbers": t.NAMES, "intercept": t.FLOATS, "weights": t.FLOATS},
    consistent=_logistic_node_holds,
)
HYBRID_PRIORS = Stored(
    "HybridPriors",
    "credo.networks.hybrid.line_priors:HybridPriors",
    {"tables": PRIORS.type, "default": LINE_PRIOR, "lines": t.mapping(t.TEXT, LINE_PRIOR)},
)
SCHEMAS = (
    NUMBER_NODE,
    LOGISTIC_NODE,
    HYBRID_PRIORS,
    Stored(
        "HybridNetwork",
        "credo.networks.hybrid.network:HybridNetwork",
        {
            "parents": t.NAMES_BY_NAME,
            "nodes": t.mapping(t.TEXT, t.either(t.FLOATS, NUMBER_NODE.type, LOGISTIC_NODE.type)),  # fixed nodes
            "states": t.mapping(t.TEXT, t.VALUES),  # of fixed nodes; others are derived from evidence
            "prior": t.optional(HYBRID_PRIORS.type),
            "evidence": t.optional(EVIDENCE.type),
            "history": t.NUMBERS,  # the history of EM's objective
            "done": t.mapping(t.TEXT, t.NUMBER),  # numbers set by interventions
        },
        attributes={"nodes": "fixed_nodes", "states": "fixed_states"},
        arguments={"parents": "arrows"},
        learned=("nodes", "states", "evidence", "history", "done"),
        with_learned=_with_learned,
        consistent=_hybrid_holds,
    ),
)
