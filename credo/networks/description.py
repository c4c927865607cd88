"""A network by description length and by evidence: its arrows, its tables, and the rows given them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.description import DescriptionLength, arrow_bits, bits, parameter_bits
from credo.errors import EvidenceError
from credo.families import dirichlet
from credo.networks.table_priors import dirichlet_of

if TYPE_CHECKING:
    from credo.networks.network import Network

HALF = "½ log₂ n each"


def network_length(network: Network, data: object) -> DescriptionLength:
    """A two-part code: the parents of each node, ½ log₂ n for each free number of the tables, −log₂ P(row) of the rows.

    It applies to tables from counting, EM or a file.
    """
    log_prob = network._log_prob_here(data)
    sizes = {name: len(states) for name, states in network.states.items()}
    above = {name: tuple(network.parents[name]) for name in network.variables}
    tables = {node.label: (name, above[name]) for name, node in network.nodes.items()}  # tied nodes share one
    free = 0
    for name, own in tables.values():
        node: Any = network.nodes[name]
        free += node.free_numbers if name in network.forms else (sizes[name] - 1) * prod(sizes[each] for each in own)
    return DescriptionLength(
        coded=f"columns {', '.join(sorted(map(str, above)))}",
        structure=arrow_bits(above, len(above) - 1),
        parameters=parameter_bits(free, len(log_prob)),
        data=bits(float(np.sum(log_prob))),
        n=len(log_prob),
        how=HALF,
    )


def tables_evidence(network: Network) -> float:
    """log p(rows | arrows), tables integrated out: a Dirichlet evidence for each row of each table."""
    if network.evidence is None or network.prior is None:
        raise EvidenceError("a network whose tables are given has no evidence: fit it to rows")
    if network.history:
        raise EvidenceError("tables that were learned by EM have no evidence in closed form: compare by 'mdl' or 'loo'")
    for name in network.forms:
        raise EvidenceError(f"the distribution of {name!r} has no evidence in closed form: compare by 'mdl' or 'loo'")
    total = 0.0
    for label in dict.fromkeys(node.label for node in network.nodes.values()):
        prior, statistics = network.prior[label.name], network.evidence[label]
        if prior is None:
            raise EvidenceError(f"{label.name!r} was learned without a prior, and so has no evidence")
        concentration = dirichlet_of(prior, statistics.n.shape, label.name).concentration
        total += float(np.sum(dirichlet.log_evidence(statistics.n.value, concentration)))
    return total
