"""A network by description length and by evidence: its arrows, its tables, and the rows given them."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.description import DescriptionLength, arrow_bits, bits, parameter_bits
from credo.errors import EvidenceError
from credo.families import dirichlet
from credo.networks.table_priors import dirichlet_of
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.network import Network
    from credo.networks.templates.dynamic_network import DynamicNetwork

BITS_PER_PARAMETER = "½ log₂ n each"


def network_length(network: Network, data: object) -> DescriptionLength:
    """A two-part code: the parents of each node, ½ log₂ n for each free parameter of the tables, −log₂ P(row) of the
    rows.

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
    return _two_parts(arrow_bits(above, len(above) - 1), above, free, log_prob, len(log_prob))


def hybrid_length(network: HybridNetwork, data: object) -> DescriptionLength:
    """The same for linear-Gaussian nodes: an intercept, the weights and a variance for each state of the category
    parents. Densities are coded; the precision of the cells, the same for all networks, would come on top."""
    log_prob, above = network._log_prob_here(data), network.parents
    free = sum(_free_of_table(table) for table in network.tables.values())
    free += sum(node.intercept.size + node.weights.size + node.variance.size for node in network.numbers.values())
    for node in network.logistic.values():
        states = node.intercept.shape[-1]
        free += (node.intercept.size + node.weights.size) * (states - 1) // states
    return _two_parts(arrow_bits(above, len(above) - 1), above, free, log_prob, len(log_prob))


def slices_length(network: DynamicNetwork, data: object, rows: int) -> DescriptionLength:
    """The same for sequences: parents may be in the previous slice, and first slices have their own tables."""
    above = network.parents
    free = sum(_free_of_table(table) for table in (*network.tables.values(), *network.first.values()))
    return _two_parts(arrow_bits(above, 2 * len(above) - 1), above, free, network.log_prob(data), rows)


def _free_of_table(table: Array) -> int:
    """The number of free parameters of a table whose rows sum to 1."""
    return int(table.size - table.size // table.shape[-1])


def _two_parts(
    structure: float, columns: Iterable[object], free: int, log_prob: Array, rows: int
) -> DescriptionLength:  # fmt: skip
    coded = f"columns {', '.join(sorted(map(str, columns)))}"
    return DescriptionLength(
        coded, structure, parameter_bits(free, rows), bits(float(np.sum(log_prob))), rows, BITS_PER_PARAMETER
    )


def tables_evidence(network: Network) -> float:
    """log p(rows | arrows), tables integrated out: a Dirichlet evidence for each row of each table."""
    if network.evidence is None or network.prior is None:
        raise EvidenceError("a network whose tables are given has no evidence: fit it to rows")
    if network.history:
        raise EvidenceError("tables learned by EM have no evidence in closed form: compare by 'mdl' or 'loo'")
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
