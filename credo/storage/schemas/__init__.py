"""The schemas of all stored classes, by their names in files and by "module:Class"."""

from __future__ import annotations

from credo.storage.schemas import (
    core,
    decisions,
    estimation,
    families,
    hidden_markov,
    hybrid,
    hypotheses,
    logistic,
    mixtures,
    models,
    networks,
    node_distributions,
    regression,
    templates,
    trees,
)
from credo.storage.stored import Stored

ROOMS = (
    core, families, estimation, models, hypotheses, mixtures, hidden_markov, networks, node_distributions, hybrid,
    templates, regression, logistic, trees, decisions,
)  # fmt: skip
BY_NAME: dict[str, Stored] = {schema.name: schema for room in ROOMS for schema in room.SCHEMAS}
BY_PLACE: dict[str, Stored] = {schema.place: schema for schema in BY_NAME.values() if schema.place}
