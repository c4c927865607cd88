"""Any table in, batches out."""

from __future__ import annotations

from credo.data.batches import Batch
from credo.data.cutting import BATCH_ROWS, FIRST_ROWS, HEAVY, LONGEST, STRINGS, batch_rows, recut
from credo.data.sources import PartReader, Source, opened, source

__all__ = [
    "BATCH_ROWS",
    "FIRST_ROWS",
    "HEAVY",
    "LONGEST",
    "STRINGS",
    "Batch",
    "PartReader",
    "Source",
    "batch_rows",
    "opened",
    "recut",
    "source",
]  # fmt: skip
