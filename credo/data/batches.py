"""A batch of rows: Arrow columns, or a dense block of floats that needs no copy."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from credo._kernels.blocks.gaussians import count_beyond
from credo._kernels.data.codes import turn_block
from credo.data import cells
from credo.data.arrow_arrays import number_array, numpy_array
from credo.engines.partitions import Loaded
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

TILE_ROWS = 2000  # transposed at a time; no power of two, like BATCH_ROWS: such strides share cache lines

Encoded = TypeVar("Encoded")
Made = TypeVar("Made", covariant=True)


class Encoding(Hashable, Protocol[Made]):
    """A cacheable transformation of a batch's rows. Equal encodings give equal results."""

    def of(self, batch: Batch) -> Made: ...


class Encodings:
    """The cache of a batch's encodings."""

    def __init__(self) -> None:
        self._found: dict[Encoding[Any], Any] = {}

    def __contains__(self, encoding: Encoding[Any]) -> bool:
        return encoding in self._found

    def of(self, encoding: Encoding[Encoded], batch: Batch) -> Encoded:
        if encoding not in self._found:
            self._found[encoding] = encoding.of(batch)
        found: Encoded = self._found[encoding]
        return found


@dataclass(frozen=True)
class CategoryCodes:
    """A column as codes (-1: missing), and its ordered levels, which mostly equal those of other batches."""

    name: str

    def of(self, batch: Batch) -> tuple[Codes, Any]:
        codes, levels = batch.categories(self.name)
        order = pc.sort_indices(levels)
        places = np.empty(len(order) + 1, dtype=np.int32)
        places[numpy_array(order)], places[-1] = np.arange(len(order), dtype=np.int32), -1
        return places[codes], levels.take(order)


@dataclass(frozen=True, eq=False)
class CodesAmong:
    """A column as codes among given levels (an Arrow array), -1 where a cell is missing or has another value; and the
    number of other values."""

    name: str
    levels: pa.Array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodesAmong) and self.name == other.name and bool(self.levels.equals(other.levels))

    def __hash__(self) -> int:
        return hash((self.name, len(self.levels)))

    def of(self, batch: Batch) -> tuple[Codes, int]:
        return cells.recoded(*batch.encoded(CategoryCodes(self.name)), self.levels)


@dataclass(frozen=True)
class NumberMatrix:
    """Columns as a matrix of floats, NaN where a cell is missing; the block itself if it has just these columns."""

    names: tuple[str, ...]

    def of(self, batch: Batch) -> Array:
        return batch.matrix(self.names)


@dataclass(frozen=True, eq=False)
class Inside:
    """The position of rows in a larger batch, whose encodings they can reuse."""

    whole: Batch
    rows: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Batch(Loaded):
    """Some rows of a table."""

    start: int
    rows: int
    columns: Mapping[str, Any] = field(default_factory=dict)  # Arrow arrays
    block: Array | NDArray[np.int64] | None = None  # (rows, columns)
    block_names: tuple[str, ...] = ()
    taken: NDArray[np.intp] | None = None  # offsets of the rows from the start, if they aren't consecutive
    weight: Array | None = None  # (rows,) if weights were given as an array
    encodings: Encodings = field(default_factory=Encodings, repr=False)
    inside: Inside | None = field(default=None, repr=False)

    def number(self, row: int) -> int:
        """The number of a row in the table, counted from 1."""
        return self.start + 1 + (row if self.taken is None else int(self.taken[row]))

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.columns, *self.block_names)

    def only(self, names: Sequence[str]) -> Batch:
        """The batch with only these columns."""
        columns = {name: self.columns[name] for name in names if name in self.columns}
        block = set(self.block_names)
        inside = tuple(name for name in names if name in block)
        own = self._block_of(inside) if inside else None
        return Batch(self.start, self.rows, columns, own, inside, self.taken, self.weight)

    def without(self, name: str) -> Batch:
        """All columns but one."""
        return self.only([other for other in self.names if other != name])

    def take(self, rows: NDArray[np.intp]) -> Batch:
        """Some of the rows; the batch itself (with its cached encodings) if these are all, in order."""
        if len(rows) == self.rows and np.array_equal(rows, np.arange(self.rows)):
            return self
        positions = number_array(rows)
        columns = {name: array.take(positions) for name, array in self.columns.items()}
        block = None if self.block is None else self.block[rows]
        taken = rows if self.taken is None else self.taken[rows]
        weight = None if self.weight is None else self.weight[rows]
        return Batch(self.start, len(rows), columns, block, self.block_names, taken, weight)

    def part(self, rows: NDArray[np.intp]) -> Batch:
        """Some of the rows, for callers that read many such parts: slow encodings are made once, on the whole batch."""
        return replace(self.take(rows), inside=Inside(self, rows))

    def slice(self, offset: int, rows: int) -> Batch:
        """Consecutive rows, as a view; the batch itself, if these are all."""
        rows = max(0, min(rows, self.rows - offset))
        if rows == self.rows:
            return self
        columns = {name: array.slice(offset, rows) for name, array in self.columns.items()}
        block = None if self.block is None else self.block[offset : offset + rows]
        weight = None if self.weight is None else self.weight[offset : offset + rows]
        if self.taken is None:
            return Batch(self.start + offset, rows, columns, block, self.block_names, None, weight)
        taken = self.taken[offset : offset + rows]
        return Batch(self.start, rows, columns, block, self.block_names, taken, weight)

    def with_columns(self, columns: Mapping[str, object]) -> Batch:
        """The batch with columns added or replaced."""
        return replace(self, columns={**self.columns, **columns}, encodings=Encodings(), inside=None)

    def encoded(self, encoding: Encoding[Encoded]) -> Encoded:
        """A cached encoding of the rows, shared by several blocks or by all steps of EM."""
        return self.encodings.of(encoding, self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without encodings; a slice without the rest of its array."""
        block = None if self.block is None else np.ascontiguousarray(self.block)
        own = self.start, self.rows, packed(self.columns), block, self.block_names, self.taken, self.weight
        return _unpickled, own

    def column(self, name: str) -> pa.Array:
        """A column as an Arrow array."""
        if name in self.columns:
            return cells.entered(self.columns[name], name)
        return pa.array(self._lane(name), from_pandas=True)

    def numbers(self, name: str) -> Array:
        """A column as floats, NaN where a cell is missing."""
        x = self._raw_numbers(name)
        cells.check_finite(x, name, self.number)
        return x

    def _raw_numbers(self, name: str) -> Array:
        if name in self._block_places:
            return np.asarray(self._block_of((name,))[:, 0], dtype=np.float64)
        if cells.is_moment(self.columns[name].type):
            return numpy_array(cells.days(self.columns[name]))
        return cells.numbers(self.column(name), name, self.number)

    def matrix(self, names: Sequence[str]) -> Array:
        """Columns as a matrix of floats (rows, columns); the block itself if those are its columns."""
        x = self.raw_matrix(names)
        if count_beyond(x, cells.LARGEST_NUMBER):
            for j, name in enumerate(names):
                cells.check_finite(x[:, j], name, self.number)
        return x

    def raw_matrix(self, names: Sequence[str]) -> Array:
        """`matrix`, without the check for infinities."""
        if self._in_block(names):
            return np.asarray(self._block_of(tuple(names)), dtype=np.float64)
        if not names or not self.rows:
            return np.empty((self.rows, len(names)))
        ((_, whole),) = self._turned(map(self._doubles, names), self.rows)
        return np.asarray(whole)

    def tiles(self, names: Sequence[str]) -> Iterator[tuple[int, Array]]:
        """The rows of `matrix` in tiles that fit the cache, each with the position of its first row."""
        if self._in_block(names):
            yield 0, np.asarray(self._block_of(tuple(names)), dtype=np.float64)
        else:
            yield from self._turned(map(self._doubles, names))

    def lanes(self, names: Sequence[str], out: Array) -> None:
        """`matrix` transposed, written to out (columns, rows)."""
        if self._in_block(names):
            turn_block(self._block_of(tuple(names)), out)
            return
        for lane, name in zip(out, names, strict=True):
            lane[:] = numpy_array(self._doubles(name))

    def integer_tiles(self, names: Sequence[str]) -> Callable[[], Iterator[tuple[int, NDArray[np.int64]]]] | None:
        """A function that gives tiles of integers; None unless all columns hold integers without missing cells."""
        if self._in_block(names):
            block = self.integer_block(names)
            return None if block is None else (lambda: iter([(0, block)]))
        columns = [self.columns.get(name) for name in names]
        if any(column is None or not pa.types.is_int64(column.type) or column.null_count for column in columns):
            return None
        lanes = [cells.entered(column, name) for column, name in zip(columns, names, strict=True)]
        return partial(self._turned, lanes)

    def integer_block(self, names: Sequence[str]) -> NDArray[np.int64] | None:
        """(rows, columns), if the columns are adjacent in memory and hold integers."""
        block = self._block_of(tuple(names)) if self._in_block(names) else None
        return block if block is not None and block.dtype == np.int64 else None

    def _in_block(self, names: Sequence[str]) -> bool:
        return bool(names) and set(names) <= set(self.block_names)

    def _turned(self, columns: Iterable[Any], size: int = TILE_ROWS) -> Iterator[tuple[int, Any]]:
        """Tiles of columns of one type, transposed a few rows at a time."""
        lanes = list(columns)
        beside = pa.RecordBatch.from_arrays(lanes, names=list(map(str, range(len(lanes)))))
        absent = any(lane.null_count for lane in lanes)
        for start in range(0, self.rows if lanes else 0, size):
            yield start, np.asarray(beside.slice(start, size).to_tensor(null_to_nan=absent, row_major=True))

    def _doubles(self, name: str) -> pa.Array:
        """A column of numbers as an Arrow array of doubles, without a copy where possible."""
        inside = name in self._block_places or cells.is_moment(self.columns[name].type)
        if not inside and pa.types.is_float64((array := self.column(name)).type):
            return array
        return pa.array(self._raw_numbers(name))

    def categories(self, name: str) -> tuple[Codes, Any]:
        """A column's codes (-1: missing), and this batch's levels."""
        column = self.column(name)
        codes, levels = cells.categories(column)
        if cells.holds_floats(column):
            cells.check_distinct(levels, name)
        return codes, levels

    def codes_among(self, name: str, levels: pa.Array) -> tuple[Codes, int]:
        """A column's codes among these levels, -1 where a cell is missing or has another value; and the number of other
        values.

        Strings, and numbers that EM has already encoded, are cached.
        """
        array = self.column(name)
        words = pa.types.is_string(array.type) or pa.types.is_dictionary(array.type)
        if (not words or cells.holds_floats(array)) and CategoryCodes(name) not in self.encodings:
            return cells.codes_among(array, levels)
        return self.encoded(CodesAmong(name, levels))

    def integers(self, name: str) -> NDArray[np.int64] | None:
        """A column's integers without a copy, if no cell is missing."""
        if name in self._block_places:
            return self._lane(name) if self.block is not None and self.block.dtype == np.int64 else None
        array = self.column(name)
        return numpy_array(array) if pa.types.is_int64(array.type) and not array.null_count else None

    def missing_share(self, names: Sequence[str]) -> Array:
        """The share of missing cells among these columns, for each row. (rows,)"""
        found = np.zeros(self.rows)
        inside = [name for name in names if name in self._block_places]
        if inside and self.block is not None and self.block.dtype != np.int64:
            found += np.isnan(self._block_of(tuple(inside))).sum(1)
        for name in names:
            if name not in self._block_places and (column := self.column(name)).null_count:
                found += numpy_array(column.is_null())
        return found / max(len(names), 1)

    def filled(self, names: Iterable[str]) -> Batch:
        """The batch with a column of missing cells for each name that it lacks."""
        known = set(self.names)
        absent = {name: pa.nulls(self.rows) for name in names if name not in known}
        return self.with_columns(absent) if absent else self

    @cached_property
    def _lanes(self) -> Any:
        """The columns of the block."""
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


def packed(columns: Mapping[str, object]) -> bytes:
    """Arrow columns as bytes; a slice without the rest of its buffers."""
    if not columns:
        return b""
    stream = pa.BufferOutputStream()
    arrays = [cells.in_one(array) if isinstance(array, pa.ChunkedArray) else array for array in columns.values()]
    part = pa.RecordBatch.from_arrays(arrays, names=list(columns))
    with pa.ipc.new_stream(stream, part.schema) as writer:
        writer.write_batch(part)
    found: bytes = stream.getvalue().to_pybytes()
    return found


def unpacked(content: bytes) -> dict[str, Any]:
    """
    >>> unpacked(packed({"x": pa.array([1, 2, 3])[1:]}))["x"].to_pylist()
    [2, 3]
    """
    if not content:
        return {}
    with pa.ipc.open_stream(content) as reader:
        part = reader.read_next_batch()
    return dict(zip(part.schema.names, part.columns, strict=True))


def _unpickled(start: int, rows: int, columns: bytes, *rest: Any) -> Batch:
    return Batch(start, rows, unpacked(columns), *rest)
