"""Any table in, batches out: Arrow columns, or a dense block of floats that is neither copied nor transposed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, groupby, pairwise
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from credo._kernels.blocks.gaussians import count_beyond
from credo._kernels.data.codes import turn_block
from credo.data import cells
from credo.errors import DataError, SchemaError, counted, suggest
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

ROWS = 60_000  # of a batch: fixed, so that results don't depend on how many workers ran
HEAVY = 2**25  # bytes of a batch from which on it has fewer rows
STRINGS = 8  # times their bytes is what they weigh, as their words do
LONGEST = 2 * HEAVY // STRINGS  # bytes of all texts of a batch, if it isn't one row
TILE = 2000  # rows that are turned at a time: like ROWS no power of two, lanes so far apart share cache lines
FIRST = 1024  # rows that tell how heavy a row is


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table."""

    start: int
    rows: int
    columns: Mapping[str, Any] = field(default_factory=dict)  # Arrow arrays
    block: Array | NDArray[np.int64] | None = None  # (rows, columns)
    block_names: tuple[str, ...] = ()
    taken: NDArray[np.intp] | None = None  # which rows after the start these are, where they don't follow each other
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)  # what was made of the rows, and may be wanted again

    def number(self, row: int) -> int:
        """What a row is called, the table's first being 1."""
        return self.start + 1 + (row if self.taken is None else int(self.taken[row]))

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.columns, *self.block_names)

    def only(self, names: Sequence[str]) -> Batch:
        """Some of the columns."""
        columns = {name: self.columns[name] for name in names if name in self.columns}
        block = set(self.block_names)
        inside = tuple(name for name in names if name in block)
        own = self._block_of(inside) if inside else None
        return Batch(self.start, self.rows, columns, own, inside, self.taken)

    def without(self, name: str) -> Batch:
        """All columns but one."""
        return self.only([other for other in self.names if other != name])

    def take(self, rows: NDArray[np.intp]) -> Batch:
        """Some of the rows."""
        positions = pa.array(rows)
        columns = {name: array.take(positions) for name, array in self.columns.items()}
        block = None if self.block is None else self.block[rows]
        taken = rows if self.taken is None else self.taken[rows]
        return Batch(self.start, len(rows), columns, block, self.block_names, taken)

    def slice(self, offset: int, rows: int) -> Batch:
        """Some rows that follow each other, as a view."""
        rows = max(0, min(rows, self.rows - offset))
        columns = {name: array.slice(offset, rows) for name, array in self.columns.items()}
        block = None if self.block is None else self.block[offset : offset + rows]
        if self.taken is None:
            return Batch(self.start + offset, rows, columns, block, self.block_names)
        return Batch(self.start, rows, columns, block, self.block_names, self.taken[offset : offset + rows])

    def column(self, name: str) -> Any:
        """As an Arrow array."""
        if name in self.columns:
            return cells.entered(self.columns[name], name)
        return pa.array(self._lane(name), from_pandas=True)

    def numbers(self, name: str) -> Array:
        """Floats, NaN where a cell is missing."""
        x = self._raw_numbers(name)
        cells.check_finite(x, name, self.number)
        return x

    def _raw_numbers(self, name: str) -> Array:
        if name in self._block_places:
            return np.asarray(self._block_of((name,))[:, 0], dtype=np.float64)
        if cells.is_moment(self.columns[name].type):
            return np.asarray(cells.days(self.columns[name]).to_numpy(zero_copy_only=False))
        return cells.numbers(self.column(name), name, self.number)

    def matrix(self, names: Sequence[str]) -> Array:
        """(rows, columns) floats; the block itself where those are its columns."""
        x = self.raw_matrix(names)
        if count_beyond(x, cells.LARGEST):
            for j, name in enumerate(names):
                cells.check_finite(x[:, j], name, self.number)
        return x

    def raw_matrix(self, names: Sequence[str]) -> Array:
        """The same, not checked for infinities."""
        parts = [part for _, part in self.tiles(names)]
        return (
            parts[0] if len(parts) == 1 else np.concatenate([np.empty((0 if names else self.rows, len(names))), *parts])
        )

    def tiles(self, names: Sequence[str]) -> Iterator[tuple[int, Array]]:
        """The same, a few rows after others, each time with the place of the first: caches hold so many."""
        if self._in_block(names):
            yield 0, np.asarray(self._block_of(tuple(names)), dtype=np.float64)
        else:
            yield from self._turned(map(self._doubles, names))

    def integer_tiles(self, names: Sequence[str]) -> Callable[[], Iterator[tuple[int, NDArray[np.int64]]]] | None:
        """What gives the same of whole numbers; None if one of the columns holds others, or a cell is missing."""
        if self._in_block(names):
            block = self.integer_block(names)
            return None if block is None else (lambda: iter([(0, block)]))
        columns = [self.columns.get(name) for name in names]
        if any(column is None or not pa.types.is_int64(column.type) or column.null_count for column in columns):
            return None
        lanes = [cells.entered(column, name) for column, name in zip(columns, names, strict=True)]
        return partial(self._turned, lanes)

    def integer_block(self, names: Sequence[str]) -> NDArray[np.int64] | None:
        """(rows, columns), if they lie beside each other and are whole numbers."""
        block = self._block_of(tuple(names)) if self._in_block(names) else None
        return block if block is not None and block.dtype == np.int64 else None

    def _in_block(self, names: Sequence[str]) -> bool:
        return bool(names) and set(names) <= set(self.block_names)

    def _turned(self, columns: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Columns of one type as rows."""
        lanes = list(columns)
        beside = pa.RecordBatch.from_arrays(lanes, names=list(map(str, range(len(lanes)))))
        absent = any(lane.null_count for lane in lanes)
        for start in range(0, self.rows if lanes else 0, TILE):
            yield start, np.asarray(beside.slice(start, TILE).to_tensor(null_to_nan=absent, row_major=True))

    def _doubles(self, name: str) -> Any:
        """A column of numbers as an Arrow array, as it is if it can be."""
        inside = name in self._block_places or cells.is_moment(self.columns[name].type)
        if not inside and pa.types.is_float64((array := self.column(name)).type):
            return array
        return pa.array(self._raw_numbers(name))

    def categories(self, name: str) -> tuple[Codes, Any]:
        """Codes, -1 where a cell is missing, and this batch's levels."""
        column = self.column(name)
        codes, levels = cells.categories(column)
        if cells.holds_floats(column):
            cells.check_distinct(levels, name)
        return codes, levels

    def coded(self, name: str) -> tuple[Codes, Any]:
        """The same, kept: EM asks for them in each of its steps."""
        key = ("codes", name)
        if key not in self.memo:
            self.memo[key] = self.categories(name)
        found: tuple[Codes, Any] = self.memo[key]
        return found

    def integers(self, name: str) -> NDArray[np.int64] | None:
        """The column as it lies in memory, if it holds whole numbers and no cell is missing."""
        if name in self._block_places:
            return self._lane(name) if self.block is not None and self.block.dtype == np.int64 else None
        array = self.column(name)
        return array.to_numpy() if pa.types.is_int64(array.type) and not array.null_count else None

    def missing_share(self, names: Sequence[str]) -> Array:
        """Of each row, the share of these columns whose cells are missing. (rows,)"""
        found = np.zeros(self.rows)
        inside = [name for name in names if name in self._block_places]
        if inside and self.block is not None and self.block.dtype != np.int64:
            found += np.isnan(self._block_of(tuple(inside))).sum(1)
        for name in names:
            if name not in self._block_places and (column := self.column(name)).null_count:
                found += column.is_null().to_numpy(zero_copy_only=False)
        return found / max(len(names), 1)

    def filled(self, names: Iterable[str]) -> Batch:
        """With a column of missing cells for each that isn't there."""
        known = set(self.names)
        absent = {name: pa.nulls(self.rows) for name in names if name not in known}
        return replace(self, columns={**self.columns, **absent}, memo={}) if absent else self

    @cached_property
    def _lanes(self) -> Any:
        """The block, column by column."""
        assert self.block is not None
        lanes = np.empty(self.block.shape[::-1], dtype=self.block.dtype)
        turn_block(self.block, lanes)
        return lanes

    def _lane(self, name: str) -> NDArray[Any]:
        lane: NDArray[Any] = self._lanes[self._block_places[name]]
        return lane

    def _block_of(self, names: tuple[str, ...]) -> Any:
        assert self.block is not None
        if names == self.block_names:
            return self.block
        places = [self._block_places[name] for name in names]
        return self.block[:, places[0] : places[0] + 1] if len(places) == 1 else self.block[:, places]

    @cached_property
    def _block_places(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.block_names)}


Reading = Callable[[Sequence[str]], Iterator[Batch]]


@dataclass(frozen=True, eq=False)
class Source:
    """A table that is read batch by batch; `once` if it can be read only once."""

    names: tuple[str, ...]
    read: Reading  # parts of any size, in order
    once: bool = False
    rows: int | None = None  # where known beforehand
    near: bool = False  # whether it lies in memory
    unnamed: str = ""  # a column that is called so for want of a name: x of a list, text of documents
    advice: str = ""  # what an error about a column that isn't there says beside
    spelt: Callable[[Collection[str]], Reading] | None = None  # reads those columns as they are written
    plain: bool = False  # whether no cell spells anything that it isn't: texts, or an array of numbers
    keys: tuple[str, ...] = ()  # columns that say which row it is, and are nothing to learn from

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """Only those columns, in order, in batches whose size doesn't depend on how the rows came."""
        self.require(names)
        return recut(self.read(names))

    @classmethod
    def of_batch(cls, batch: Batch) -> Source:
        """A table of one batch."""
        return cls(batch.names, lambda wanted: iter([batch.only(wanted)]), rows=batch.rows, near=True)

    def held(self, most: int = 2**28) -> Source:
        """In memory, if the rows take at most so many bytes, for those who read them several times; else as it is."""
        if self.near or self.once:
            return self
        parts, size = [], 0
        for part in self.read(self.names):
            parts.append(part)
            size += sum(array.nbytes for array in part.columns.values()) + (
                0 if part.block is None else part.block.nbytes
            )
            if size > most:
                return self
        rows = sum(part.rows for part in parts)
        held = replace(self, read=lambda wanted: (part.only(wanted) for part in parts), spelt=None)
        return replace(held, rows=rows, near=True)

    def beside(self, name: str, values: object) -> Source:
        """With one more column, given as an array."""
        array = _only_column({name: values})
        if self.rows is not None and len(array) != self.rows:
            raise DataError(f"{name!r} has {len(array)} values, but the table has {self.rows} rows")

        def read(wanted: Sequence[str]) -> Iterator[Batch]:
            others, start = [other for other in wanted if other != name], 0
            for part in self.read(others):
                own = array.slice(start, part.rows)
                if len(own) < part.rows:
                    raise DataError(f"{name!r} has {len(array)} values, but the table has more rows")
                yield replace(part, columns={**part.columns, name: own}, memo={}) if name in wanted else part
                start += part.rows
            if start < len(array) and others:
                raise DataError(f"{name!r} has {len(array)} values, but the table has {start} rows")

        return replace(self, names=(*self.names, name), read=read, spelt=None)

    def where(self, chosen: NDArray[np.bool_]) -> Source:
        """Some of the rows, by a flag for each."""

        def read(wanted: Sequence[str]) -> Iterator[Batch]:
            start = 0
            for part in self.read(wanted):
                yield part.take(np.flatnonzero(chosen[start : start + part.rows]))
                start += part.rows

        return replace(self, read=read, rows=int(chosen.sum()), spelt=None)

    def renamed(self, new: Mapping[str, str]) -> Source:
        """With columns under other names."""
        old = {name: was for was, name in new.items()}

        def read(wanted: Sequence[str]) -> Iterator[Batch]:
            for part in self.read([old.get(name, name) for name in wanted]):
                columns = {new.get(name, name): array for name, array in part.columns.items()}
                block = tuple(new.get(name, name) for name in part.block_names)
                yield replace(part, columns=columns, block_names=block, memo={})

        return replace(self, names=tuple(new.get(name, name) for name in self.names), read=read, unnamed="", spelt=None)

    def as_words(self, names: Collection[str]) -> Source:
        """With some columns as they are written, if they could be numbers: to those who know them as words they are.

        What was made of the table since it was opened stays as it is.
        """
        return replace(self, read=self.spelt(names), spelt=None) if names and self.spelt is not None else self

    def without(self, name: object) -> Source:
        """All columns but one."""
        return replace(self, names=tuple(other for other in self.names if not isinstance(name, str) or other != name))

    def require(self, names: Iterable[str]) -> None:
        known = {*self.names, *self.keys}
        for name in names:
            if name not in known:
                advice = f" {self.advice}" if self.advice else ""
                raise SchemaError(f"no column {name!r}; {suggest(name, self.names)}{advice}")

    def __repr__(self) -> str:
        """
        >>> source({"x": [1, 2]})
        <a table of 2 rows: x>
        """
        size = "" if self.rows is None else f" of {counted(self.rows, 'row')}"
        names = ", ".join(self.names[:8]) + (f", ... ({len(self.names)} in all)" if len(self.names) > 8 else "")
        return f"<a table{size}: {names}>"


def source(data: object) -> Source:
    """Any of the forms that credo takes as a table."""
    if isinstance(data, Source):
        return data
    from credo.data.typed import typed

    found = opened(data)
    return found if found.plain else typed(found)


def opened(data: object) -> Source:
    """The same, with cells as they were written."""
    if isinstance(data, Source):
        return data
    if isinstance(data, str | PathLike):
        from credo.data.files import open_files

        return open_files(data)
    from credo.data.tables import open_table

    return open_table(data)


def _only_column(data: Mapping[str, object]) -> Any:
    (name,) = data
    parts = [part.columns[name] for part in source(data).read([name])]
    return pa.chunked_array([chunk for part in parts for chunk in _chunks(part)]) if len(parts) > 1 else parts[0]


def batch_rows(row_bytes: float) -> int:
    """ROWS, or as many fewer as keep a batch from being heavy.

    >>> batch_rows(8 * 10), batch_rows(8 * 10_000)
    (60000, 234)
    """
    rows = ROWS
    while rows > 1 and rows * row_bytes > HEAVY:
        rows //= 2
    return rows


def recut(parts: Iterable[Batch]) -> Iterator[Batch]:
    """The same rows in batches of one size; a new one begins early only where a column's type changes, or texts get
    long."""
    filled = (part for part in parts if part.rows)
    first = next(filled, None)
    if first is None:
        return
    size, start = batch_rows(_row_bytes(first)), 0
    for _, run in groupby(chain([first], filled), key=_types):
        for piece in _cut(run, size):
            yield replace(piece, start=start, taken=None, memo={})
            start += piece.rows


def _cut(parts: Iterable[Batch], size: int) -> Iterator[Batch]:
    waiting: list[Batch] = []
    rows = weight = 0
    for part in parts:
        waiting.append(part)
        rows += part.rows
        weight += sum(array.nbytes for array in _texts(part))
        if rows >= size or weight > LONGEST:
            whole = _joined(waiting)
            ends = _ends(whole, size)
            yield from (whole.slice(start, end - start) for start, end in pairwise([0, *ends]))
            done = ends[-1] if ends else 0
            waiting, rows = [whole.slice(done, rows - done)] if done < rows else [], rows - done
            weight = sum(array.nbytes for each in waiting for array in _texts(each))
    if waiting:
        yield _joined(waiting)


def _ends(batch: Batch, size: int) -> list[int]:
    """Where batches of so many rows end, or of fewer where their texts would be longer than LONGEST in all; only those
    that no further row can belong to. What they are doesn't depend on where this batch ends."""
    texts = [pc.binary_length(array).fill_null(0) for array in _texts(batch)]
    if not texts:
        return list(range(size, batch.rows + 1, size))
    reached = np.cumsum(sum(np.asarray(lengths, dtype=np.int64) for lengths in texts))
    start, ends = 0, list[int]()
    while True:
        before = reached[start - 1] if start else 0
        end = min(start + size, max(start + 1, int(np.searchsorted(reached, before + LONGEST, side="right"))))
        if end > batch.rows or (end == batch.rows and end < start + size):
            return ends
        ends.append(start := end)


def _texts(batch: Batch) -> list[Any]:
    """Columns of strings, as those whose length Arrow tells."""
    found = []
    for array in batch.columns.values():
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            found.append(array)
        elif pa.types.is_string_view(array.type):
            found.append(array.cast(pa.large_string()))
    return found


def _joined(parts: Sequence[Batch]) -> Batch:
    first = parts[0]
    if len(parts) == 1:
        return first
    columns = {
        name: pa.chunked_array([chunk for part in parts for chunk in _chunks(part.columns[name])])
        for name in first.columns
    }
    block = None if first.block is None else np.concatenate([part.block for part in parts if part.block is not None])
    return Batch(first.start, sum(part.rows for part in parts), columns, block, first.block_names)


def _chunks(array: Any) -> list[Any]:
    return array.chunks if isinstance(array, pa.ChunkedArray) else [array]


def _types(batch: Batch) -> tuple[object, ...]:
    return (*batch.block_names, *((name, array.type) for name, array in batch.columns.items()))


def _row_bytes(batch: Batch) -> float:
    """What a row weighs, by the first ones; a dictionary weighs nothing, as batches share it."""
    head = batch.slice(0, FIRST)
    total = 0 if head.block is None else head.block.nbytes
    for array in head.columns.values():
        if pa.types.is_dictionary(array.type):
            total += sum(chunk.indices.nbytes for chunk in _chunks(array))
        else:  # a slice of views would count what lies behind all of them
            array = array.cast(pa.string()) if pa.types.is_string_view(array.type) else array
            total += array.nbytes * (STRINGS if not pa.types.is_primitive(array.type) else 1)
    return total / head.rows
