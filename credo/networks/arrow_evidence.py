"""The evidence for each arrow of a learned network, from the network's own counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.errors import EvidenceError
from credo.families import dirichlet
from credo.networks.table_priors import BDeu, dirichlet_of
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.network import Network


def arrow_evidence(network: Network) -> dict[tuple[str, str], float]:
    """The logarithm of the Bayes factor of each arrow (parent, child): log p(rows | parents) − log p(rows | all parents
    but one), tables integrated out under BDeu(1). Counts without a parent are sums of those with it: no rows are read.

    >>> from credo import Network
    >>> rain = Network("Rain -> Wet").fit({"Rain": ["yes", "no"] * 20, "Wet": ["yes", "no"] * 20})
    >>> {arrow: round(factor, 1) for arrow, factor in arrow_evidence(rain).items()}
    {('Rain', 'Wet'): 26.9}
    """
    if network.evidence is None:
        raise EvidenceError("a network whose tables are given has no evidence about its arrows: fit it to rows")
    found: dict[tuple[str, str], float] = {}
    for name, node in network.nodes.items():
        if name in network.forms:  # the counts of such a distribution don't give the table without an arrow
            continue
        counts = network.evidence[node.label].n.value
        with_all = _log_evidence(counts, name)
        for axis, parent in enumerate(node.parents):
            found[parent, name] = with_all - _log_evidence(counts.sum(axis), name)
    return found


def _log_evidence(counts: Array, name: str) -> float:
    """log p(rows) of one table, integrated over the table."""
    concentration = dirichlet_of(BDeu(1.0), counts.shape, name).concentration
    return float(np.sum(dirichlet.log_evidence(counts, concentration)))
