"""Tables as sequences: the column that identifies sequences, the order of rows, and the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.core.learning import RowWeights, Weight, Weights
from credo.data import Batch, Source
from credo.data.batches import Encodings
from credo.data.cutting import joined
from credo.data.partitions import Opened
from credo.data.sequences import SequenceBatch, Sequences
from credo.errors import DataError, counted
from credo.notices import tell

SAMPLED_ROWS, SAMPLED_RUNS = 20_000, 10  # rows sampled for starts, and the number of runs of rows


@dataclass(frozen=True, eq=False)
class SequenceTable:
    """The columns `names` of a table, as sequences: runs of one value of `by`, tables of a list, or all rows."""

    table: Source
    names: tuple[str, ...]
    by: str | None = None
    order: str | None = None

    def __post_init__(self) -> None:
        self.table.require([name for name in (*self.names, self.by, self.order) if name is not None])

    def partitions(self) -> Iterable[Any]:
        """The engine's work units: batches of whole sequences."""
        if self.by is None and not self.table.lengths:
            if self.table.home is not None:
                raise DataError(
                    "all rows would be one sequence, which can't be distributed to workers: say which column tells "
                    "sequences apart, sequence=..."
                )
            wanted = dict.fromkeys([*self.names, *([self.order] if self.order else [])])
            return Sequences(None, self.order).over(self.table.batches([*wanted]))
        return self.table.sequences(self.names, by=self.by, order=self.order)

    def reader(self, numbers: Sequence[str] = ()) -> Callable[[], Iterable[Any]]:
        """The reader for EM's steps. Batches in memory are made once, with number columns in one block, the kernels'
        form."""
        self.table.check_rereadable("EM reads the data several times")
        held = replace(self, table=self.table.held())
        if not held.table.near:
            found = held.partitions()  # the ends of sequences are found once
            return (lambda: found) if isinstance(found, Sequence) else held.partitions
        opened = [Opened(tuple(_prepared(own.batches(), numbers))) for own in held.partitions()]
        return lambda: opened

    def lengths(self) -> NDArray[np.intp]:
        found = [*engines.map(Lengths(), self.partitions())]
        return np.concatenate(found) if found else np.zeros(0, dtype=np.intp)

    def weighted(self, weight: Weight) -> tuple[SequenceTable, RowWeights]:
        """The table with weights: a column, or an array with one per sequence or per row."""
        weights = Weights.of(weight)
        if weights.column is not None:
            names = tuple(dict.fromkeys([*self.names, weights.column]))
            return replace(self, names=names), weights.of_a_row
        if weights.values is None:
            return self, weights.of_a_row
        lengths = self.lengths()
        rows = weights.values
        if len(rows) == len(lengths):
            rows = np.repeat(rows, lengths)
        elif len(rows) != lengths.sum():
            raise DataError(
                f"there must be a weight for each of the {counted(len(lengths), 'sequence')}, or for each of the "
                f"{counted(int(lengths.sum()), 'row')}, but there are {len(rows)}"
            )
        return replace(self, table=self.table.weighted(rows)), weights.of_a_row

    def tell_empty(self) -> None:
        """A notice about empty tables in a list."""
        if empty := sum(length == 0 for length in self.table.lengths):
            tell(f"{counted(empty, 'sequence')} without rows left out")


@dataclass(frozen=True)
class Lengths:
    """The length of each sequence of a batch."""

    def __call__(self, batch: SequenceBatch) -> NDArray[np.intp]:
        return np.diff(batch.starts)


def _beside_each_other(batch: Batch, numbers: Sequence[str]) -> Batch:
    own = tuple(name for name in numbers if name in batch.columns)
    if not own or batch.block is not None:
        return batch
    rest = {name: column for name, column in batch.columns.items() if name not in own}
    return replace(batch, columns=rest, block=batch.matrix(own), block_names=own, encodings=Encodings())


def _prepared(batches: Iterable[SequenceBatch], numbers: Sequence[str]) -> Iterator[SequenceBatch]:
    return (replace(each, batch=_beside_each_other(each.batch, numbers)) for each in batches)


def sampled(reader: Callable[[], Iterable[Any]]) -> SequenceBatch:
    """Some runs of rows, from all over the data, as if they were sequences."""
    places = [*engines.map(Place(), reader())]
    if not places:
        raise DataError("the data is empty: there are no rows to learn from")
    if sum(length for _, length in places) <= SAMPLED_ROWS:
        chosen, each, pieces = {start for start, _ in places}, SAMPLED_ROWS, 1
    else:
        chosen = {places[int(i)][0] for i in np.linspace(0, len(places) - 1, SAMPLED_RUNS).astype(int)}
        each, pieces = SAMPLED_ROWS // len(chosen), -(-SAMPLED_RUNS // len(chosen))
    found = engines.map(RunsOfBatch(frozenset(chosen), each, pieces), reader())
    return _joined([batch for batch in found if batch is not None])


@dataclass(frozen=True)
class Place:
    """The start of a batch in the table, and its number of rows."""

    def __call__(self, batch: SequenceBatch) -> tuple[int, int]:
        return batch.batch.start, batch.rows


@dataclass(frozen=True)
class RunsOfBatch:
    """Runs of rows of a batch, if its start is among the given ones; otherwise nothing."""

    starts: frozenset[int]
    rows: int
    pieces: int

    def __call__(self, batch: SequenceBatch) -> SequenceBatch | None:
        return _pieces(batch, self.rows, self.pieces) if batch.batch.start in self.starts else None


def _pieces(batch: SequenceBatch, rows: int, pieces: int) -> SequenceBatch:
    if batch.rows <= rows:
        return batch
    size = rows // pieces
    places = np.linspace(0, batch.rows - size, pieces).astype(np.intp)
    wanted = np.unique((places[:, None] + np.arange(size)).ravel())
    begins = np.isin(wanted, batch.starts[:-1]) | np.append(True, np.diff(wanted) > 1)
    return SequenceBatch(batch.batch.take(wanted), np.append(np.flatnonzero(begins), len(wanted)))


def _joined(batches: Sequence[SequenceBatch]) -> SequenceBatch:
    if len(batches) == 1:
        return batches[0]
    edges = np.cumsum([0, *(batch.rows for batch in batches)])
    starts = [batch.starts[:-1] + edge for batch, edge in zip(batches, edges, strict=False)]
    return SequenceBatch(joined([batch.batch for batch in batches]), np.append(np.concatenate(starts), edges[-1]))
