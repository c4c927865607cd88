"""Data in any tabular form, read as batches of typed columns."""

from __future__ import annotations

from credo.data.batches import Batch
from credo.data.cutting import BATCH_BYTES, BATCH_ROWS, BATCH_TEXT_BYTES, batch_rows, recut
from credo.data.sources import PartReader, Source, opened, source

__all__ = [
    "BATCH_BYTES",
    "BATCH_ROWS",
    "BATCH_TEXT_BYTES",
    "Batch",
    "PartReader",
    "Source",
    "batch_rows",
    "opened",
    "recut",
    "source",
]  # fmt: skip
