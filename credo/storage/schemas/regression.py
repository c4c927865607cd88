"""How regressions are stored: what stands for a row, settings, and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.storage.field_types import FLOATS, NUMBER, TEXT, mapping, pair_of, tuple_of
from credo.storage.schemas.core import SCHEMA
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.models.regression.features import Features

PAIRS = tuple_of(pair_of(TEXT))


def _features_hold(features: Features) -> bool:
    """Whether there is a centre for each number and level, and the other fields speak of known columns."""
    from credo.models.regression.features import features_of

    known = set(features.columns)
    width = sum(len(features_of(column)) for column in features.schema)
    named = {name for pair in features.interactions for name in pair} | set(features.missing)
    shares = all(0 <= share <= 1 for share in features.missing.values())
    centred = features.centre.shape == (width,) and bool(np.isfinite(features.centre).all())
    return len(known) == len(features.columns) and named <= known and shares and centred


FEATURES = Stored(
    "Features",
    "credo.models.regression.features:Features",
    {"schema": SCHEMA.type, "centre": FLOATS, "missing": mapping(TEXT, NUMBER), "interactions": PAIRS},
    consistent=_features_hold,
)
SCHEMAS = (FEATURES,)
