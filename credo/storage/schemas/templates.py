"""How templates are stored: arrows, states, and tables that are given or follow from prior and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.storage import field_types as t
from credo.storage.schemas.core import EVIDENCE
from credo.storage.schemas.networks import PRIORS, STATES, with_learned
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.core.evidence import Evidence
    from credo.networks.network import Network
    from credo.networks.templates.dynamic_network import DynamicNetwork
    from credo.networks.templates.plate_network import PlateNetwork


def _counts_hold(network: Network, evidence: Evidence) -> bool:
    """Whether the evidence has the counts of the network's tables; their totals may differ."""
    from credo.core.statistics import Counts

    labels = {node.label: (node, network.tables[name].shape) for name, node in network.nodes.items()}
    if evidence.parts.keys() != labels.keys() or {*evidence.schema.names} != {*network.parents}:
        return False
    return all(
        type(part.statistics) is Counts
        and part.axes == labels[label][0].axes
        and part.statistics.n.shape == labels[label][1]
        for label, part in evidence.parts.items()
    )


def _slices_hold(net: DynamicNetwork) -> bool:
    return net.evidence is None or _counts_hold(net.two_slices, net.evidence)


def _plates_hold(net: PlateNetwork) -> bool:
    return net.evidence is None or _counts_hold(net.template, net.evidence)


LEARNED = {
    "states": STATES,
    "prior": t.optional(PRIORS.type),
    "evidence": t.optional(EVIDENCE.type),
    "history": t.NUMBERS,
}
TABLES = t.mapping(t.TEXT, t.FLOATS)  # fixed ones; others are derived from prior and evidence
SCHEMAS = (
    Stored(
        "DynamicNetwork",
        "credo.networks.templates.dynamic_network:DynamicNetwork",
        {
            "parents": t.NAMES_BY_NAME,
            "tables": TABLES,
            "first": TABLES,
            **LEARNED,
            "sequence": t.optional(t.TEXT),
            "order": t.optional(t.TEXT),
        },
        attributes={"tables": "fixed_tables", "first": "fixed_first"},
        arguments={"parents": "arrows", "tables": "tables", "first": "first"},
        learned=("evidence", "history"),
        with_learned=with_learned,
        consistent=_slices_hold,
    ),
    Stored(
        "PlateNetwork",
        "credo.networks.templates.plate_network:PlateNetwork",
        {"parents": t.NAMES_BY_NAME, "keys": t.mapping(t.TEXT, t.TEXT), "tables": TABLES, **LEARNED},
        attributes={"tables": "fixed_tables"},
        arguments={"parents": "arrows", "tables": "tables"},
        learned=("evidence", "history"),
        with_learned=with_learned,
        consistent=_plates_hold,
    ),
)
