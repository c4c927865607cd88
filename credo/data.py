"""Any table in, batches out: Arrow columns, or a dense block of floats that is neither copied nor transposed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo import cells
from credo.errors import DataError, SchemaError, suggest
from credo.exact import Array
from credo.membership import Codes

ROWS = 65_536  # of a batch: fixed, so that results don't depend on how many workers ran


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table."""

    start: int
    rows: int
    columns: Mapping[str, Any] = field(default_factory=dict)  # Arrow arrays
    block: Array | None = None  # (rows, columns)
    block_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.columns, *self.block_names)

    def only(self, names: Sequence[str]) -> Batch:
        """Some of the columns."""
        return Batch(self.start, self.rows, {name: self.column(name) for name in names})

    def without(self, name: str) -> Batch:
        """All columns but one."""
        return self.only([other for other in self.names if other != name])

    def take(self, rows: NDArray[np.intp]) -> Batch:
        """Some of the rows."""
        positions = pa.array(rows)
        columns = {name: array.take(positions) for name, array in self.columns.items()}
        return Batch(self.start, len(rows), columns, None if self.block is None else self.block[rows], self.block_names)

    def column(self, name: str) -> Any:
        """As an Arrow array."""
        if name in self.columns:
            return cells.entered(self.columns[name], name)
        assert self.block is not None
        return pa.array(self.block[:, self.block_names.index(name)], from_pandas=True)

    def numbers(self, name: str) -> Array:
        """Floats, NaN where a cell is missing."""
        if self.block is not None and name in self.block_names:
            x = self.block[:, self.block_names.index(name)]
        else:
            x = cells.numbers(self.column(name), name, self.start)
        cells.check_finite(x, name, self.start)
        return x

    def matrix(self, names: Sequence[str]) -> Array:
        """(rows, columns) floats; the block itself where those are its columns."""
        if self.block is not None and tuple(names) == self.block_names:
            for j, name in enumerate(names):
                cells.check_finite(self.block[:, j], name, self.start)
            return self.block
        return np.column_stack([self.numbers(name) for name in names]) if names else np.empty((self.rows, 0))

    def categories(self, name: str) -> tuple[Codes, Any]:
        """Codes, -1 where a cell is missing, and this batch's levels."""
        return cells.categories(self.column(name))


@dataclass(frozen=True, eq=False)
class Source:
    """A table that is read batch by batch; `once` if it can be read only once."""

    names: tuple[str, ...]
    read: Callable[[Sequence[str]], Iterator[Batch]]
    once: bool = False
    rows: int | None = None  # where known beforehand

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """Only those columns, in order."""
        self.require(names)
        return self.read(names)

    def require(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.names:
                raise SchemaError(f"no column {name!r}; {suggest(name, self.names)}")


def source(data: object) -> Source:
    """Any of the forms that credo takes as a table."""
    if isinstance(data, Source):
        return data
    if isinstance(data, str | PathLike):
        from credo.files import open_files

        return open_files(data)
    for takes, opened in _FORMS:
        if takes(data):
            return opened(data)
    raise DataError(
        f"can't read a table from {type(data).__name__}; credo takes a path, a pandas, polars or pyarrow table, "
        "a DuckDB relation, a dict of columns, a list of dicts, an array, or an iterator of these"
    )


def from_arrow(table: Any) -> Source:
    """A pyarrow table, or anything that streams as one (Arrow's C interface)."""
    names = tuple(table.schema.names)
    _check_names(names)

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        return batches_of(table.select(list(wanted)).to_batches(max_chunksize=ROWS))

    return Source(names, read, rows=table.num_rows)


def batches_of(parts: Iterable[Any]) -> Iterator[Batch]:
    """Arrow record batches, cut to size."""
    start = 0
    for part in parts:
        for offset in range(0, part.num_rows, ROWS):
            piece = part.slice(offset, ROWS)
            yield Batch(start, piece.num_rows, dict(zip(piece.schema.names, piece.columns, strict=True)))
            start += piece.num_rows


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"two columns are named {name!r}; rename one of them")


def _from_stream(data: Any) -> Source:
    """pandas, polars, pyarrow, DuckDB: a DuckDB relation is run anew for each reading."""
    module = type(data).__module__
    if isinstance(data, pa.RecordBatchReader):
        names = tuple(data.schema.names)
        return Source(names, lambda wanted: batches_of(part.select(list(wanted)) for part in data), once=True)
    try:
        if module.startswith("pandas") and hasattr(data, "columns"):
            _check_names([str(name) for name in data.columns])
            return from_arrow(pa.Table.from_pandas(data, preserve_index=False))
        if "duckdb" in module:
            names = tuple(data.columns)
            return Source(names, lambda wanted: batches_of(data.select(*wanted).to_arrow_reader(ROWS)))
        if pa.types.is_struct(getattr(getattr(data, "dtype", None), "pyarrow_dtype", pa.null())):
            raise DataError("a column of structs isn't a table; unnest it first")
        if hasattr(data, "columns") or hasattr(data, "schema"):
            return from_arrow(pa.table(data))
        return from_arrow(pa.table({"x": pa.chunked_array(data)}))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError(f"this table has a column of mixed types: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error.args[0] if error.args else error).splitlines()[0]


def _array(values: Any, name: str) -> Any:
    """A Python sequence, or any kind of array, as an Arrow array."""
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if isinstance(values, np.ndarray) and values.ndim > 1:
            raise DataError(f"column {name!r} has {values.ndim} dimensions; a column has one")
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        mixed = sorted({type(value).__name__ for value in values if value is not None})
        raise DataError(f"column {name!r} mixes {' and '.join(mixed)}; a column holds values of one type") from None
    except TypeError:
        raise DataError(f"column {name!r} is {values!r}, not a list of values") from None


def _from_columns(data: Mapping[str, Any]) -> Source:
    arrays = {str(name): _array(values, str(name)) for name, values in data.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"the columns have different lengths: {', '.join(f'{k} {v}' for k, v in lengths.items())}")
    return from_arrow(pa.table(arrays))


def _from_rows(data: Sequence[Mapping[str, Any]]) -> Source:
    names = list(dict.fromkeys(name for row in data for name in row))
    return _from_columns({name: [row.get(name) for row in data] for name in names})


def _from_block(data: Any) -> Source:
    """A 2-D array of numbers: columns x0, x1, ...; float64 in C order is used as it lies in memory."""
    names = tuple(f"x{j}" for j in range(data.shape[1]))
    if data.dtype.kind not in "fiub":
        return _from_columns({name: data[:, j].tolist() for j, name in enumerate(names)})

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        for start in range(0, data.shape[0], ROWS):
            part = data[start : start + ROWS]
            block = part.toarray() if hasattr(part, "toarray") else part
            block = np.ascontiguousarray(block, dtype=np.float64)
            if list(wanted) != list(names):
                columns = {name: pa.array(block[:, names.index(name)], from_pandas=True) for name in wanted}
                yield Batch(start, len(block), columns)
            else:
                yield Batch(start, len(block), block=block, block_names=names)

    return Source(names, read, rows=data.shape[0])


def _from_list(data: Sequence[Any]) -> Source:
    if not len(data):
        raise DataError("the data is empty: there are no rows to learn from")
    if all(isinstance(row, Mapping) for row in data):
        return _from_rows(data)
    if all(isinstance(row, list | tuple) for row in data):
        widths = {len(row) for row in data}
        if len(widths) > 1:
            raise DataError(f"the rows have different lengths: {min(widths)} to {max(widths)}")
        return _from_columns({f"x{j}": [row[j] for row in data] for j in range(widths.pop())})
    return _from_columns({"x": data})


def _from_iterator(data: Iterator[Any]) -> Source:
    """Tables one after another, or single rows as dicts: read once, never held whole."""
    first = next(data, None)
    if first is None:
        raise DataError("the data is empty: there are no rows to learn from")
    parts = chain([first], data)
    if isinstance(first, Mapping) and not any(_is_column(value) for value in first.values()):
        tables: Iterator[Any] = iter(lambda: list(islice(parts, ROWS)), [])
    else:
        tables = parts
    opened = map(source, tables)
    head = next(opened)

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        start = 0
        for part in chain([head], opened):
            for batch in part.batches(wanted):
                yield Batch(start, batch.rows, batch.columns, batch.block, batch.block_names)
                start += batch.rows

    return Source(head.names, read, once=True)


def _is_column(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


_FORMS: list[tuple[Callable[[Any], bool], Callable[[Any], Source]]] = [
    (lambda data: hasattr(data, "__arrow_c_stream__"), _from_stream),
    (lambda data: isinstance(data, pa.Array), lambda data: from_arrow(pa.table({"x": data}))),
    (lambda data: isinstance(data, pa.RecordBatch), lambda data: from_arrow(pa.Table.from_batches([data]))),
    (lambda data: isinstance(data, Mapping), _from_columns),
    (lambda data: isinstance(data, np.ndarray) and data.ndim == 1, lambda data: _from_columns({"x": data})),
    (lambda data: isinstance(data, np.ndarray) and data.ndim == 2, _from_block),
    (lambda data: hasattr(data, "tocsr"), lambda data: _from_block(data.tocsr())),
    (lambda data: isinstance(data, list | tuple | range), _from_list),
    (lambda data: hasattr(data, "__next__"), _from_iterator),
]
