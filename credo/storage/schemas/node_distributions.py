"""How distributions of nodes that aren't tables are stored, and the counts that they are learned from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.storage import field_types as t
from credo.storage.schemas.core import EXACT
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.networks.nodes.configurations import ConfigurationCounts

DISTRIBUTION = t.class_at("credo.networks.nodes.distribution:Distribution")
WEIGHTS = t.mapping(t.ANYTHING, t.NUMBER)
BY_PARENT = t.mapping(t.TEXT, t.ANYTHING)  # a number, a row, or one for each state: constructors check them


def _possible(counts: ConfigurationCounts) -> bool:
    return counts.cells.ndim == 2 and bool(np.isfinite(counts.n.high).all()) and counts.possible()


def _distribution(name: str, module: str, **fields: t.FieldType) -> Stored:
    return Stored(name, f"credo.networks.nodes.{module}:{name}", fields)


SCHEMAS = (
    Stored(
        "ConfigurationCounts",
        "credo.networks.nodes.configurations:ConfigurationCounts",
        {"n": EXACT.type, "cells": t.CODES},
        consistent=_possible,
    ),
    _distribution("NoisyOr", "noisy_or", causes=BY_PARENT, leak=t.ANYTHING, neutral=BY_PARENT),
    _distribution("NoisyAnd", "noisy_and", causes=BY_PARENT, leak=t.ANYTHING, neutral=BY_PARENT),
    _distribution(
        "NoisyMax", "noisy_max", causes=BY_PARENT, leak=t.ANYTHING, neutral=BY_PARENT, order=t.optional(t.VALUES)
    ),
    _distribution("Deterministic", "deterministic", rule=t.either(t.TEXT, t.mapping(t.ANYTHING, t.ANYTHING))),
    _distribution("TreeTable", "tree_table", tree=t.ANYTHING, grown=t.FLAG),
    _distribution("DefaultTable", "default_table", default=t.ANYTHING, exceptions=t.mapping(t.ANYTHING, t.ANYTHING)),
    _distribution("Softmax", "softmax", intercepts=WEIGHTS, weights=BY_PARENT, spread=t.NUMBER),
    _distribution("Logistic", "logistic", intercept=t.optional(t.NUMBER), weights=BY_PARENT, spread=t.NUMBER),
)
