"""How networks of categories and numbers are stored: fixed nodes, or prior and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.storage.field_types import ANYTHING, FLOATS, NUMBER, TEXT, either, mapping, optional, tuple_of
from credo.storage.schemas.core import EVIDENCE
from credo.storage.schemas.families import LINEAR_GAUSSIAN
from credo.storage.schemas.networks import PRIORS
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.hybrid.number_node import LogisticNode, NumberNode

NAMES = tuple_of(TEXT)
LINE_PRIOR = optional(either(NUMBER, LINEAR_GAUSSIAN.type))


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
    {"name": TEXT, "categories": NAMES, "numbers": NAMES, "intercept": FLOATS, "weights": FLOATS, "variance": FLOATS},
    consistent=_number_node_holds,
)
LOGISTIC_NODE = Stored(
    "LogisticNode",
    "credo.networks.hybrid.number_node:LogisticNode",
    {"name": TEXT, "categories": NAMES, "numbers": NAMES, "intercept": FLOATS, "weights": FLOATS},
    consistent=_logistic_node_holds,
)
HYBRID_PRIORS = Stored(
    "HybridPriors",
    "credo.networks.hybrid.line_priors:HybridPriors",
    {"tables": PRIORS.type, "default": LINE_PRIOR, "lines": mapping(TEXT, LINE_PRIOR)},
)
SCHEMAS = (
    NUMBER_NODE,
    LOGISTIC_NODE,
    HYBRID_PRIORS,
    Stored(
        "HybridNetwork",
        "credo.networks.hybrid.network:HybridNetwork",
        {
            "parents": mapping(TEXT, NAMES),
            "nodes": mapping(TEXT, either(FLOATS, NUMBER_NODE.type, LOGISTIC_NODE.type)),  # that are fixed
            "states": mapping(TEXT, tuple_of(ANYTHING)),  # of fixed nodes; others follow from the evidence
            "prior": optional(HYBRID_PRIORS.type),
            "evidence": optional(EVIDENCE.type),
            "history": tuple_of(NUMBER),  # of EM's objective
            "done": mapping(TEXT, NUMBER),  # numbers that an intervention set
        },
        attributes={"nodes": "fixed_nodes", "states": "fixed_states"},
        arguments={"parents": "arrows", "nodes": "nodes", "states": "states"},
        consistent=_hybrid_holds,
    ),
)
