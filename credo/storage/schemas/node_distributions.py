"""How distributions of nodes that aren't tables are stored, and the counts that they are learned from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.storage.field_types import ANYTHING, CODES, TEXT, class_at, mapping, optional, tuple_of
from credo.storage.schemas.core import EXACT
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.networks.nodes.configurations import ConfigurationCounts

DISTRIBUTION = class_at("credo.networks.nodes.distribution:Distribution")
CAUSES = mapping(TEXT, ANYTHING)  # a strength, a row, or one for each state; the network's constructor checks them


def _possible(counts: ConfigurationCounts) -> bool:
    return counts.cells.ndim == 2 and bool(np.isfinite(counts.n.high).all()) and counts.possible()


def _noisy(name: str, module: str, **more: object) -> Stored:
    fields = {"causes": CAUSES, "leak": ANYTHING, **more}
    return Stored(name, f"credo.networks.nodes.{module}:{name}", fields)  # type: ignore[arg-type]


SCHEMAS = (
    Stored(
        "ConfigurationCounts",
        "credo.networks.nodes.configurations:ConfigurationCounts",
        {"n": EXACT.type, "cells": CODES},
        consistent=_possible,
    ),
    _noisy("NoisyOr", "noisy_or"),
    _noisy("NoisyAnd", "noisy_and"),
    _noisy("NoisyMax", "noisy_max", order=optional(tuple_of(ANYTHING))),
)
