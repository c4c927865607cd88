"""The schemas of all stored classes, by the names that files use and by the places of the classes."""

from __future__ import annotations

from credo.storage.schemas import (
    core,
    estimation,
    families,
    hidden_markov,
    hybrid,
    hypotheses,
    logistic,
    mixtures,
    models,
    networks,
    regression,
    trees,
)
from credo.storage.stored import Stored

ROOMS = (
    core,
    families,
    estimation,
    models,
    hypotheses,
    mixtures,
    hidden_markov,
    networks,
    hybrid,
    regression,
    logistic,
    trees,
)
BY_NAME: dict[str, Stored] = {schema.name: schema for room in ROOMS for schema in room.SCHEMAS}
BY_PLACE: dict[str, Stored] = {schema.place: schema for schema in BY_NAME.values() if schema.place}
