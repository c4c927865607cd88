"""Batches of whole sequences: rows of one sequence are consecutive, and no batch ends within one.

A sequence is a run of rows with the same value in a column, or a table of a list of tables. A value that comes again
after others is refused: to gather its rows, all rows would have to be held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from credo import engines
from credo.data import cells, cutting
from credo.data.batches import Batch
from credo.data.cutting import joined
from credo.data.partitions import TablePartition, Unopened
from credo.engines import Partition
from credo.engines.partitions import Engine, Loaded
from credo.engines.remote import SPLIT_SEQUENCE
from credo.errors import DataError

if TYPE_CHECKING:
    from credo.data.sources import Source

NOT_CONSECUTIVE = "sequence {!r:.60} of column {!r} continues in row {}, after other sequences: sort the rows by {!r}"


@dataclass(frozen=True, eq=False)
class SequenceBatch(Loaded):
    """Whole sequences, one after another: sequence i is rows starts[i] to starts[i + 1]."""

    batch: Batch
    starts: NDArray[np.intp]  # (sequences + 1,)

    @property
    def rows(self) -> int:
        return self.batch.rows


class Runs(NamedTuple):
    """Runs of consecutive rows with one value."""

    values: list[Any]
    starts: NDArray[np.intp]  # (runs,)


@dataclass(frozen=True)
class Sequences:
    """How rows become sequences."""

    by: str | None  # a column; None: they are tables of these lengths
    order: str | None = None  # a column that the rows of a sequence are put in order by
    lengths: tuple[int, ...] = ()

    def over(self, batches: Iterator[Batch]) -> Iterator[SequenceBatch]:
        """The same rows, batch by batch; a sequence that continues in the next batch moves there whole."""
        waiting, begun, current, ended = list[Batch](), 0, list[Any](), set[Any]()
        starts = np.empty(0, dtype=np.intp)  # the starts of the sequences in the last waiting batch
        for batch in batches:
            before, (values, starts) = starts, self.runs(batch)
            if current and values[0] != current[0]:
                ended.add(current[0])
                if sum(part.rows for part in waiting) >= cutting.BATCH_ROWS // 2:  # else they are joined
                    yield self._whole(waiting, before)
                    waiting = []
            elif begun:  # rows before the sequence that may continue
                *others, part = waiting
                yield self._whole([*others, part.slice(0, begun)], before[:-1])
                waiting = [part.slice(begun, part.rows - begun)]
            for value, start in zip(values, starts.tolist(), strict=True):
                if value in ended:
                    raise DataError(NOT_CONSECUTIVE.format(value, self.by, batch.number(start), self.by))
                ended |= {value} if start < starts[-1] else set()
            waiting, begun, current = [*waiting, batch], int(starts[-1]), [values[-1]]
            if self._ends_with(batch):
                yield self._whole(waiting, starts)
                waiting, begun, current = [], 0, []
        if waiting:
            yield self._whole(waiting, starts)

    def _ends_with(self, batch: Batch) -> bool:
        """Whether the last sequence is known to end with the batch; a column's value may continue in the next batch."""
        after = batch.start + batch.rows
        return self.by is None and self._next_end(after) == after

    @cached_property
    def _table_ends(self) -> NDArray[np.intp]:
        return np.unique(np.cumsum(self.lengths, dtype=np.intp))

    def _next_end(self, row: int) -> int:
        at = int(np.searchsorted(self._table_ends, row))
        return int(self._table_ends[at]) if at < len(self._table_ends) else -1

    def runs(self, batch: Batch) -> Runs:
        if self.by is None:
            first, last = np.searchsorted(self._table_ends, [batch.start + 1, batch.start + batch.rows])
            inner = self._table_ends[first:last]  # tables that end within the batch
            starts = np.append(0, inner - batch.start)
            return Runs([*range(int(first), int(last) + 1)], starts)
        numbers = batch.integers(self.by)
        if numbers is not None:  # no cell is missing
            starts = _changes(numbers)
            return Runs(numbers[starts].tolist(), starts)
        ends, values = self._encoded_runs(batch)
        codes, levels = values.categories(self.by)
        starts = np.append(0, ends[:-1])
        if (codes < 0).any():
            row = batch.number(int(starts[np.argmin(codes)]))
            raise DataError(f"column {self.by!r} has no value in row {row}: every row must belong to a sequence")
        own = _changes(codes)
        return Runs(levels.take(pa.array(codes[own])).to_pylist(), starts[own])

    def _encoded_runs(self, batch: Batch) -> tuple[NDArray[np.intp], Batch]:
        """The ends of runs of equal cells, and one cell of each: only these few strings are hashed."""
        assert self.by is not None
        array = batch.column(self.by)
        if pa.types.is_dictionary(array.type):
            ends = np.append(_changes(cells.filled(array.indices))[1:], len(array))
            values = array.take(pa.array(ends - 1))
        else:
            encoded = pc.run_end_encode(array)
            ends, values = np.asarray(encoded.run_ends, dtype=np.intp), encoded.values
        return ends, Batch(0, len(values), {self.by: values})

    def _whole(self, parts: Sequence[Batch], starts: NDArray[np.intp]) -> SequenceBatch:
        """The parts as one batch; `starts` are those of the last part's sequences."""
        batch = joined(parts)
        if len(parts) > 1:
            starts = self.runs(batch).starts
        ends = np.append(starts, batch.rows)
        return SequenceBatch(batch if self.order is None else self._in_order(batch, ends), ends)

    def _in_order(self, batch: Batch, ends: NDArray[np.intp]) -> Batch:
        assert self.order is not None
        when = batch.column(self.order)
        if when.null_count:
            row = batch.number(int(np.argmax(when.is_null())))
            raise DataError(f"column {self.order!r} has no value in row {row}: rows can't be put in order by it")
        keys = pa.table({"sequence": np.repeat(np.arange(len(ends) - 1), np.diff(ends)), "when": when})
        places = pc.sort_indices(keys, [("sequence", "ascending"), ("when", "ascending")])
        return batch.take(np.asarray(places, dtype=np.intp))


def _changes(values: NDArray[Any]) -> NDArray[np.intp]:
    """Where runs of equal values start."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1]))


class Ends(NamedTuple):
    """A partition's sequences, in order; and how many of its rows are in the first."""

    values: list[Any]
    head: int
    rows: int


@dataclass(frozen=True)
class FindEnds:
    """The job that lists a partition's sequences, which may continue in other partitions, and the rows of the first."""

    sequences: Sequences

    def __call__(self, unopened: Unopened[TablePartition]) -> Ends:
        values, head, rows = list[Any](), 0, 0
        for batch in unopened.what.batches():
            found, starts = self.sequences.runs(batch)
            for value, length in zip(found, np.diff(np.append(starts, batch.rows)).tolist(), strict=True):
                values += [] if values[-1:] == [value] else [value]
                head += length if len(values) == 1 else 0
            rows += batch.rows
        return Ends(values, head, rows)


@dataclass(frozen=True, eq=False)
class SequencePartition:
    """A partition without the end of a sequence that began before it, and with the ends of its own sequences."""

    partition: TablePartition
    skipped: int
    more: tuple[tuple[TablePartition, int], ...]  # partitions after it, and how many of their first rows belong here
    sequences: Sequences

    @property
    def home(self) -> Engine | None:
        return self.partition.home

    def batches(self) -> Iterator[SequenceBatch]:
        own = _rows(self.partition.batches(), self.skipped, None)
        ends = (_rows(partition.batches(), 0, rows) for partition, rows in self.more)
        return self.sequences.over(chain(own, *ends))


def _rows(batches: Iterable[Batch], start: int, stop: int | None) -> Iterator[Batch]:
    at = 0
    for batch in batches:
        first = max(start - at, 0)
        last = batch.rows if stop is None else min(stop - at, batch.rows)
        if first < last:
            yield batch.slice(first, last - first)
        at += batch.rows
        if stop is not None and at >= stop:
            return


def partitions_of(
    table: Source, names: Sequence[str], by: str | None, order: str | None
) -> Iterable[Partition[SequenceBatch]]:
    """The engine's work units: batches of whole sequences, or partitions of files that split no sequence."""
    if by is None and not table.lengths:
        raise DataError("name the column that identifies sequences, by=..., or give a list of tables")
    sequences = Sequences(by, order, () if by is not None else table.lengths)
    wanted = list(dict.fromkeys([*names, *(name for name in (by, order) if name is not None)]))
    if table.files is None or by is None:
        return sequences.over(table.batches(wanted))
    table.require(wanted)
    found = table.files(wanted)
    if len(found) == 1:
        return [SequencePartition(found[0], 0, (), sequences)]
    only = replace(sequences, order=None)
    ends = [*engines.map(FindEnds(only), [*map(Unopened, table.files([by]))])]
    _check_apart(ends, found, by)
    return [
        SequencePartition(own, _begun(ends, i), _continued(ends, found, i), sequences)
        for i, own in enumerate(found)
        if ends[i].rows > _begun(ends, i)
    ]


def whole_sequences(table: Source, by: str) -> Sequences:
    """The sequences of a DataFrame, partition by partition: a sequence in two of them is an error."""
    found = partitions_of(table, [by], by, None)
    assert isinstance(found, Sequence)
    if any(own.more for own in found if isinstance(own, SequencePartition)):
        raise DataError(SPLIT_SEQUENCE)
    return Sequences(by)


def _begun(ends: Sequence[Ends], i: int) -> int:
    """The number of a partition's first rows that belong to a sequence begun before."""
    before = next((own.values[-1] for own in reversed(ends[:i]) if own.values), None)
    return ends[i].head if ends[i].values and i and ends[i].values[0] == before else 0


def _continued(ends: Sequence[Ends], found: Sequence[TablePartition], i: int) -> tuple[tuple[TablePartition, int], ...]:
    more: list[tuple[TablePartition, int]] = []
    for j in range(i + 1, len(found)):
        if begun := _begun(ends, j):
            more.append((found[j], begun))
        if ends[j].rows > begun:
            break
    return tuple(more)


def _check_apart(ends: Sequence[Ends], found: Sequence[TablePartition], by: str) -> None:
    """Raise an error for a sequence with rows in two partitions that aren't neighbours."""
    seen = dict[Any, int]()
    for i, own in enumerate(ends):
        for value in own.values[1 if _begun(ends, i) else 0 :]:
            if value in seen:
                raise DataError(NOT_CONSECUTIVE.format(value, by, f"{found[i].start + 1} or later", by))
            seen[value] = i
