"""How networks are stored. Their constructors check arrows, states and tables."""

from __future__ import annotations

from credo.storage.field_types import ANYTHING, FLOATS, TEXT, mapping, tuple_of
from credo.storage.stored import Stored

STATES = mapping(TEXT, tuple_of(ANYTHING))
FACTOR = Stored("Factor", "credo.networks.factor:Factor", {"scope": tuple_of(TEXT), "table": FLOATS})

SCHEMAS = (
    FACTOR,
    Stored(
        "Network",
        "credo.networks.network:Network",
        {"parents": mapping(TEXT, tuple_of(TEXT)), "tables": mapping(TEXT, FLOATS), "states": STATES},
        arguments={"parents": "arrows"},
    ),
    Stored(
        "MarkovNetwork",
        "credo.networks.network:MarkovNetwork",
        {"states": STATES, "factors": tuple_of(FACTOR.type)},
    ),
)
