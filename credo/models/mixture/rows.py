"""The rows that every step of EM reads, and a sample of them, on which starts are tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from credo import engines
from credo.core.learning import Weight, Weights
from credo.data import Batch, Source
from credo.data.cutting import joined
from credo.data.partitions import Opened
from credo.engines import Partition
from credo.errors import DataError

SAMPLED_ROWS = 10_000  # rows for trying starts and numbers of components
READ_ONCE = (
    "EM reads the rows in each step, and an iterator can be read only once: give a table, or a file, which may "
    "be larger than memory"
)


@dataclass(frozen=True, eq=False)
class Rows:
    """The table for EM: partitions in memory, with their cached encodings, or read again in each step."""

    opened: Sequence[Opened[Batch]] | None
    table: Source
    names: tuple[str, ...]
    weights: Weights
    size: int

    @classmethod
    def of(cls, table: Source, names: Sequence[str], weight: Weight) -> Rows:
        if table.once:
            raise DataError(READ_ONCE)
        table, weights = table.held(), Weights.of(weight)
        kept = [Opened(tuple(own.batches())) for own in weights.partitions(table, names)] if table.near else None
        rows = table.rows or table.count(names[0])
        if not rows:
            raise DataError("the data is empty: there are no rows to learn from")
        return cls(kept, table, tuple(names), weights, rows)

    def __call__(self) -> Iterable[Partition[Batch]]:
        return self.weights.partitions(self.table, self.names) if self.opened is None else self.opened

    def sample(self, seed: int, most: int = SAMPLED_ROWS) -> Batch:
        """A random sample of at most about that many rows; all rows if there are no more."""
        share = min(1.0, most / self.size)
        parts = [part for part in engines.map(Sampled(share, seed), self()) if part.rows]
        if not parts:
            raise DataError("the data is empty: there are no rows to learn from")
        return joined(parts)


@dataclass(frozen=True)
class Sampled:
    """Some of a batch's rows, each with the same probability; chosen by the seed and the batch's first row."""

    share: float
    seed: int

    def __call__(self, batch: Batch) -> Batch:
        if self.share >= 1.0:
            return batch
        drawn = np.random.default_rng([self.seed, batch.start]).random(batch.rows)
        return batch.take(np.flatnonzero(drawn < self.share))
