"""How distributions of nodes that aren't tables are stored, and the counts that they are learned from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.storage.field_types import (
    ANYTHING,
    CODES,
    FLAG,
    NUMBER,
    TEXT,
    FieldType,
    class_at,
    either,
    mapping,
    optional,
    tuple_of,
)
from credo.storage.schemas.core import EXACT
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.networks.nodes.configurations import ConfigurationCounts

DISTRIBUTION = class_at("credo.networks.nodes.distribution:Distribution")
WEIGHTS = mapping(ANYTHING, NUMBER)
CAUSES = mapping(TEXT, ANYTHING)  # a strength, a row, or one for each state; the network's constructor checks them


def _possible(counts: ConfigurationCounts) -> bool:
    return counts.cells.ndim == 2 and bool(np.isfinite(counts.n.high).all()) and counts.possible()


def _distribution(name: str, module: str, **fields: FieldType) -> Stored:
    return Stored(name, f"credo.networks.nodes.{module}:{name}", fields)


SCHEMAS = (
    Stored(
        "ConfigurationCounts",
        "credo.networks.nodes.configurations:ConfigurationCounts",
        {"n": EXACT.type, "cells": CODES},
        consistent=_possible,
    ),
    _distribution("NoisyOr", "noisy_or", causes=CAUSES, leak=ANYTHING, neutral=CAUSES),
    _distribution("NoisyAnd", "noisy_and", causes=CAUSES, leak=ANYTHING, neutral=CAUSES),
    _distribution(
        "NoisyMax", "noisy_max", causes=CAUSES, leak=ANYTHING, neutral=CAUSES, order=optional(tuple_of(ANYTHING))
    ),
    _distribution("Deterministic", "deterministic", rule=either(TEXT, mapping(ANYTHING, ANYTHING))),
    _distribution("TreeTable", "tree_table", tree=ANYTHING, grown=FLAG),
    _distribution("DefaultTable", "default_table", default=ANYTHING, exceptions=mapping(ANYTHING, ANYTHING)),
    _distribution("Softmax", "softmax", intercepts=WEIGHTS, weights=mapping(TEXT, ANYTHING), spread=NUMBER),
    _distribution("Logistic", "logistic", intercept=optional(NUMBER), weights=mapping(TEXT, ANYTHING), spread=NUMBER),
)
