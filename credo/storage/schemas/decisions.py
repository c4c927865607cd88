"""How causal graphs and influence diagrams are stored. Their constructors check arrows, states and numbers."""

from __future__ import annotations

from credo.storage.field_types import ANYTHING, FLOATS, TEXT, mapping, tuple_of
from credo.storage.stored import Stored

SCHEMAS = (
    Stored(
        "CausalGraph",
        "credo.networks.causes.causal_graph:CausalGraph",
        {"parents": mapping(TEXT, tuple_of(TEXT)), "hidden": tuple_of(TEXT)},
        arguments={"parents": "arrows"},
    ),
    Stored(
        "InfluenceDiagram",
        "credo.networks.decisions.influence_diagram:InfluenceDiagram",
        {
            "parents": mapping(TEXT, tuple_of(TEXT)),
            "tables": mapping(TEXT, FLOATS),
            "utilities": mapping(TEXT, FLOATS),
            "states": mapping(TEXT, tuple_of(ANYTHING)),
            "decisions": tuple_of(TEXT),
        },
        arguments={"parents": "arrows"},
    ),
)
