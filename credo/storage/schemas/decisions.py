"""How causal graphs and influence diagrams are stored. Their constructors check arrows, states and numbers."""

from __future__ import annotations

from credo.storage import field_types as t
from credo.storage.stored import Stored

SCHEMAS = (
    Stored(
        "CausalGraph",
        "credo.networks.causes.causal_graph:CausalGraph",
        {"parents": t.NAMES_BY_NAME, "hidden": t.NAMES},
        arguments={"parents": "arrows"},
    ),
    Stored(
        "InfluenceDiagram",
        "credo.networks.decisions.influence_diagram:InfluenceDiagram",
        {
            "parents": t.NAMES_BY_NAME,
            "tables": t.mapping(t.TEXT, t.FLOATS),
            "utilities": t.mapping(t.TEXT, t.FLOATS),
            "states": t.mapping(t.TEXT, t.VALUES),
            "decisions": t.NAMES,
        },
        arguments={"parents": "arrows"},
    ),
)
