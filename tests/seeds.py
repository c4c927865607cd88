"""Where random tests begin: always at the same place, but for `make fuzz`, which begins elsewhere each time.

CREDO_FUZZ says how many times as many examples are tried, CREDO_SEED (which `make fuzz` prints) where it begins.
"""

from __future__ import annotations

import os

FUZZ, SEED = "CREDO_FUZZ", "CREDO_SEED"


def effort() -> int:
    """How many times as many examples as `make test` tries: 0 where nothing is random."""
    return int(os.environ.get(FUZZ, "0"))


def examples(few: int) -> int:
    return few * max(effort(), 1)


def base_seed() -> int:
    return int(os.environ.get(SEED, "0"))
