"""Any table in, batches out."""

from __future__ import annotations

from credo.data.batches import Batch
from credo.data.cutting import FIRST, HEAVY, LONGEST, ROWS, STRINGS, batch_rows, recut
from credo.data.sources import Reading, Source, opened, source

__all__ = [
    "FIRST", "HEAVY", "LONGEST", "ROWS", "STRINGS",
    "Batch", "Reading", "Source", "batch_rows", "opened", "recut", "source",
]  # fmt: skip
