"""How networks are stored. Their constructors check arrows, states and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from credo.errors import NetworkError
from credo.storage import field_types as t
from credo.storage.schemas.core import EVIDENCE
from credo.storage.schemas.node_distributions import DISTRIBUTION
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.networks.network import Network

STATES = t.mapping(t.TEXT, t.VALUES)
FACTOR = Stored("Factor", "credo.networks.factor:Factor", {"scope": t.NAMES, "table": t.FLOATS})
BIN = Stored("Bin", "credo.networks.bins:Bin", {"name": t.TEXT, "low": t.NUMBER, "high": t.NUMBER})
BDEU = Stored("BDeu", "credo.networks.table_priors:BDeu", {"sample_size": t.NUMBER})
TABLE_PRIOR = t.optional(t.either(t.class_at("credo.families.dirichlet:DirichletCategorical"), BDEU.type))
PRIORS = Stored(
    "TablePriors",
    "credo.networks.table_priors:TablePriors",
    {"default": TABLE_PRIOR, "by_label": t.mapping(t.TEXT, TABLE_PRIOR)},
)


def with_learned(made: Any, evidence: Any, history: Sequence[float]) -> Any:
    """A network with tables derived from evidence, if there is some."""
    if evidence is None:
        if history:
            raise NetworkError("there is a history of EM, but no evidence")
        return made
    if made.tables:
        raise NetworkError("tables are either given, and fixed, or derived from evidence: not both")
    return made.with_evidence(evidence, tuple(history))


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
            "parents": t.NAMES_BY_NAME,
            "tables": t.mapping(t.TEXT, t.FLOATS),  # fixed ones; others are derived from prior and evidence
            "states": STATES,
            "tied": t.mapping(t.TEXT, t.TEXT),
            "prior": t.optional(PRIORS.type),
            "evidence": t.optional(EVIDENCE.type),
            "history": t.NUMBERS,  # the history of EM's objective
            "forms": t.mapping(t.TEXT, DISTRIBUTION),  # distributions that aren't tables
        },
        attributes={"tables": "fixed_tables", "forms": "fixed_distributions"},
        arguments={"parents": "arrows", "tables": "tables", "forms": "tables"},
        learned=("evidence", "history"),
        with_learned=with_learned,
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
        {"states": STATES, "factors": t.tuple_of(FACTOR.type)},
    ),
)
