"""How networks are stored. Their constructors check arrows, states and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.storage.field_types import ANYTHING, FLOATS, NUMBER, TEXT, class_at, either, mapping, optional, tuple_of
from credo.storage.schemas.core import EVIDENCE
from credo.storage.schemas.node_distributions import DISTRIBUTION
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.networks.network import Network

STATES = mapping(TEXT, tuple_of(ANYTHING))
FACTOR = Stored("Factor", "credo.networks.factor:Factor", {"scope": tuple_of(TEXT), "table": FLOATS})
BIN = Stored("Bin", "credo.networks.bins:Bin", {"name": TEXT, "low": NUMBER, "high": NUMBER})
BDEU = Stored("BDeu", "credo.networks.table_priors:BDeu", {"sample_size": NUMBER})
TABLE_PRIOR = optional(either(class_at("credo.families.dirichlet:DirichletCategorical"), BDEU.type))
PRIORS = Stored(
    "TablePriors",
    "credo.networks.table_priors:TablePriors",
    {"default": TABLE_PRIOR, "by_label": mapping(TEXT, TABLE_PRIOR)},
)


def _learned_tables(network: Network) -> bool:
    """Whether the evidence is that of the network's nodes."""
    if network.evidence is None:
        return True
    from credo.networks.learning import is_evidence_of

    return is_evidence_of(network, network.evidence)


SCHEMAS = (
    FACTOR,
    BIN,
    BDEU,
    PRIORS,
    Stored(
        "Network",
        "credo.networks.network:Network",
        {
            "parents": mapping(TEXT, tuple_of(TEXT)),
            "tables": mapping(TEXT, FLOATS),  # that are fixed; others follow from prior and evidence
            "states": STATES,
            "tied": mapping(TEXT, TEXT),
            "prior": optional(PRIORS.type),
            "evidence": optional(EVIDENCE.type),
            "history": tuple_of(NUMBER),  # of EM's objective
            "forms": mapping(TEXT, DISTRIBUTION),  # of distributions that aren't tables; with parameters that are fixed
        },
        attributes={"tables": "fixed_tables", "forms": "fixed_distributions"},
        arguments={"parents": "arrows", "tables": "tables", "forms": "distributions"},
        upgrades=(
            lambda values: {**values, "tied": {}, "prior": None, "evidence": None},
            lambda values: {**values, "history": ()},
            lambda values: {**values, "forms": {}},
        ),
        consistent=_learned_tables,
    ),
    Stored(
        "MarkovNetwork",
        "credo.networks.markov_network:MarkovNetwork",
        {"states": STATES, "factors": tuple_of(FACTOR.type)},
    ),
)
