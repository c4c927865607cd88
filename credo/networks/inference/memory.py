"""Memory limits from environment variables, read at each use."""

from __future__ import annotations

import os
import re

from credo.errors import DataError

ANSWER_MEMORY, TREES_MEMORY = "CREDO_MEMORY", "CREDO_TREES"
BYTE_SIZE = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([kmgt]?)i?b?\s*", re.IGNORECASE)
BYTE_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def setting(name: str, otherwise: float) -> float:
    """The bytes set by an environment variable, such as 16GB or 500 MB; `otherwise` if it isn't set."""
    value = os.environ.get(name, "")
    if not value:
        return otherwise
    found = BYTE_SIZE.fullmatch(value)
    if found is None or float(found[1]) <= 0:
        raise DataError(f"{name} must be a size such as 500MB or 16GB, but is {value!r:.60}")
    return float(found[1]) * BYTE_UNITS[found[2].lower()]
