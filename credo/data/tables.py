"""Tables that are in memory already, and iterators of them: each form becomes a Source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, count, islice
from typing import Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from credo.data import BATCH_ROWS, BATCH_TEXT_BYTES, Batch, Source, batch_rows, opened
from credo.data.conversion import array_of
from credo.errors import DataError, SchemaError

Read = Callable[[Sequence[str]], Iterator[Batch]]

NO_DATA = "the data is empty: there are no rows to learn from"
READ_BEFORE = "an iterator can be read only once, and this one was read before: make a new one, or give a table"
NO_ROWS = "the iterator gives no rows: it is empty, or was read before (an iterator can be read only once)"

LENGTH_CELLS, LONG_CHARACTERS = 64, 256  # cells that give the mean length; its least value for long strings
PIECEWISE_CHARACTERS = 2**22  # of long strings: more are converted piece by piece

_begun: WeakSet[Any] = WeakSet()  # iterators whose first rows are consumed


def open_table(data: object) -> Source:
    """The source of a table that isn't a file."""
    for takes, open_form in _FORMS:
        if takes(data):
            return open_form(data)
    shape = f" of {data.ndim} dimensions" if isinstance(data, np.ndarray) else ""
    raise DataError(
        f"can't read a table from {type(data).__name__}{shape}; credo takes a path, a pandas, polars or pyarrow table, "
        "a DuckDB relation, a dict of columns, a list of dicts, an array of 1 or 2 dimensions, or an iterator of these"
    )


def check_names(names: Sequence[str], where: str = "") -> None:
    """Raise an error if two columns have the same name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f"{where}two columns are named {twice!r}; rename one of them")


def batch_of(part: Any) -> Batch:
    """A batch of an Arrow table or record batch."""
    return Batch(0, part.num_rows, dict(zip(part.schema.names, part.columns, strict=True)))


def first_line(error: Exception) -> str:
    """A library's message, without the error's name and the advice that follows."""
    line = (str(error).splitlines() or [type(error).__name__])[0].strip()
    return line.split(" Error: ", 1)[-1].rstrip(".")


def _lazy(names: Sequence[str], rows: int, column: Callable[[int], Any]) -> Source:
    """Columns that become Arrow arrays when they are first read, if ever."""
    check_names(names)
    convert, place = cache(column), {name: j for j, name in enumerate(names)}

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        yield Batch(0, rows, {name: convert(place[name]) for name in wanted})

    return Source(tuple(names), read, rows=rows, near=True)


def _from_arrow(table: Any) -> Source:
    return _lazy(table.schema.names, table.num_rows, table.column)


def _from_stream(data: Any) -> Source:
    """Any object with Arrow's C stream interface: pandas, polars, pyarrow, DuckDB, ..."""
    if isinstance(data, pa.RecordBatchReader):
        return _from_reader(data)
    if "duckdb" in type(data).__module__:
        return _from_relation(data)
    if hasattr(data, "iloc") and data.ndim == 2:  # pandas
        names = [str(name) for name in data.columns]
        if data.shape[1] > data.shape[0] and (data.dtypes == np.float64).all():  # slower column by column
            x = data.to_numpy()
            return _lazy(names, len(data), lambda j: array_of(x[:, j], names[j]))
        return _lazy(names, len(data), lambda j: array_of(data.iloc[:, j], names[j]))
    if hasattr(data, "get_columns"):  # polars
        columns = data.get_columns()
        return _lazy(data.columns, len(data), lambda j: array_of(columns[j], data.columns[j]))
    if hasattr(data, "columns") or hasattr(data, "schema"):
        return _from_arrow(pa.table(data))
    return _from_values(data)


def _from_reader(data: Any) -> Source:
    check_names(data.schema.names)

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        try:
            yield from (batch_of(part.select(list(wanted))) for part in data)
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"the stream of batches failed: {first_line(error)}") from None

    return Source(tuple(data.schema.names), _once(read), once=True)


def _from_relation(data: Any) -> Source:
    """A DuckDB relation is run again for each reading."""
    import duckdb

    try:
        names = tuple(data.columns)
    except duckdb.Error as error:
        raise DataError(f"DuckDB can't run the relation: {first_line(error)}") from None

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        try:
            expressions = [*map(duckdb.ColumnExpression, wanted)] or [duckdb.ConstantExpression(True)]
            with data.select(*expressions).to_arrow_reader(BATCH_ROWS) as parts:
                yield from (batch_of(part.select(range(len(wanted)))) for part in parts)
        except (duckdb.Error, OSError) as error:
            raise DataError(f"DuckDB can't run the relation: {first_line(error)}") from None

    return Source(names, read)


def _from_columns(data: Mapping[Any, object]) -> Source:
    names = [str(name) for name in data]
    if len(names) > 1 and all(isinstance(value, str | int | float | None) for value in data.values()):
        raise DataError("a dict holds columns, which are lists of values; a single row is a list of one dict, [row]")
    columns = [_column(values, name) for name, values in zip(names, data.values(), strict=True)]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in zip(names, lengths, strict=True))
        raise DataError(f"the columns have different lengths: {shown}")
    whole = _lazy(names, lengths[0] if lengths else 0, lambda j: array_of(columns[j], names[j]))
    long = {name: values for name, values in zip(names, columns, strict=True) if _are_long(values)}
    return _in_pieces(whole, long) if long else whole


def _from_values(data: object) -> Source:
    """One column."""
    return replace(_from_columns({"x": data}), unnamed="x")


def _are_long(values: object) -> bool:
    """Whether these are many long Python strings, whose copies would take much memory."""
    if not isinstance(values, list | tuple | np.ndarray) or getattr(values, "dtype", np.dtype("O")).kind != "O":
        return False
    mean = np.mean([len(cell) if isinstance(cell, str) else 0 for cell in values[:LENGTH_CELLS]] or [0])
    return bool(mean > LONG_CHARACTERS and len(values) * mean > PIECEWISE_CHARACTERS)


def _in_pieces(whole: Source, long: Mapping[str, Any]) -> Source:
    """The table, whose long strings are converted to Arrow a few rows at a time, at each reading."""
    rows = whole.rows or 0

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        steps = [_rows_of(long[name]) for name in wanted if name in long]
        if not steps:
            yield from whole.read(wanted)
            return
        others, step = next(whole.read([name for name in wanted if name not in long])), min(steps)
        for start in range(0, rows, step):
            part = others.slice(start, min(step, rows - start))
            texts = {name: _texts(long[name][start : start + step], name, start) for name in wanted if name in long}
            yield replace(part, columns={name: texts.get(name, part.columns.get(name)) for name in wanted})

    return replace(whole, read=read)


def _rows_of(values: Sequence[object]) -> int:
    """The number of rows that fit into a batch."""
    lengths = [len(cell) if isinstance(cell, str) else 0 for cell in values[:LENGTH_CELLS]]
    return max(1, int(BATCH_TEXT_BYTES // 8 // np.mean(lengths)))


def _texts(values: object, name: str, start: int) -> pa.Array:
    found = array_of(values, name, start, pa.system_memory_pool())  # Arrow's pool would keep freed memory
    return found.cast(pa.string()) if pa.types.is_null(found.type) else found


def _column(values: Any, name: str) -> Any:
    if isinstance(values, str | bytes | Mapping | set | frozenset) or not hasattr(values, "__iter__"):
        raise DataError(f"column {name!r} is {values!r:.60}, not a list of values")
    if getattr(values, "ndim", 1) != 1:
        raise DataError(f"column {name!r} has {values.ndim} dimensions; a column has one")
    return values if hasattr(values, "__len__") else list(values)


def _from_list(data: Sequence[Any]) -> Source:
    if not len(data):
        raise DataError("the data is empty: there are no rows")
    if all(map(_is_table, data)):
        return _from_blocks(data) if _are_blocks(data) else _from_tables([*map(opened, data)])
    if all(isinstance(row, Mapping) for row in data):
        return _from_rows(data, list(dict.fromkeys(name for row in data for name in row)))
    if all(isinstance(row, list | tuple) for row in data):
        widths = {len(row) for row in data}
        if len(widths) > 1:
            raise DataError(f"the rows have different lengths: {min(widths)} to {max(widths)}")
        return _from_columns({f"x{j}": [row[j] for row in data] for j in range(widths.pop())})
    return _from_values(data)


def _is_table(data: object) -> bool:
    if isinstance(data, Mapping):
        return bool(data) and all(map(_is_column, data.values()))
    return getattr(data, "ndim", 2) == 2 and hasattr(data, "shape") and not isinstance(data, str)


def _are_blocks(data: Sequence[Any]) -> bool:
    """Whether all tables are arrays of floats with the same number of columns."""
    plain = all(type(each) is np.ndarray and each.dtype == np.float64 for each in data)
    return plain and len({each.shape[1] for each in data}) == 1


def _from_blocks(data: Sequence[Any]) -> Source:
    """As `_from_tables`, but without opening each: sequences may be many and short."""
    lengths, first = [len(each) for each in data], _from_block(data[0])
    edges = np.cumsum([0, *lengths])
    size, rows = batch_rows(8 * len(first.names)), int(edges[-1])
    place = {name: j for j, name in enumerate(first.names)}

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        chosen = slice(None) if tuple(wanted) == first.names else [place[name] for name in wanted]
        for start in range(0, rows, size):
            end = min(start + size, rows)
            a, b = np.searchsorted(edges, [start, end - 1], side="right") - 1
            parts = [data[i][max(start - edges[i], 0) : end - edges[i]] for i in range(a, b + 1)]
            part = np.concatenate(parts)[:, chosen]
            yield Batch(0, len(part), {}, np.ascontiguousarray(part), tuple(wanted))

    return replace(first, read=read, rows=rows, lengths=tuple(lengths))


def _from_tables(tables: Sequence[Source]) -> Source:
    """A list of tables, concatenated."""
    names = tables[0].names
    for number, other in enumerate(tables, 1):
        if odd := sorted({*other.names} ^ {*names}):
            raise SchemaError(f"table {number} and the first have different columns: {', '.join(odd[:5])}")
    lengths = tuple(sum(part.rows for part in table.read([])) if table.rows is None else table.rows for table in tables)

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        return (part for table in tables for part in table.read(wanted))

    return Source(names, read, rows=sum(lengths), near=True, lengths=lengths)


def _from_rows(rows: Sequence[Mapping[Any, object]], names: Sequence[object], start: int = 0) -> Source:
    """Dicts; a key that a row doesn't have is a missing cell."""
    shown = [str(name) for name in names]
    return _lazy(shown, len(rows), lambda j: array_of([row.get(names[j]) for row in rows], shown[j], start))


def _from_block(data: Any) -> Source:
    """A 2-D array of numbers: columns x0, x1, ...; float64 and int64 in C order are used as they lie in memory."""
    names = tuple(f"x{j}" for j in range(data.shape[1]))
    place = {name: j for j, name in enumerate(names)}
    if data.dtype.kind == "c":
        raise DataError("the array holds complex numbers; credo reads real ones")
    if data.dtype.kind not in "fiub":
        return _from_columns({name: data[:, j].tolist() for j, name in enumerate(names)})
    size = batch_rows(8 * len(names))

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        chosen = slice(None) if tuple(wanted) == names else [place[name] for name in wanted]
        for start in range(0, data.shape[0], size):
            part = data[start : start + size][:, chosen]
            part = part.toarray() if hasattr(part, "toarray") else part
            if isinstance(part, np.ma.MaskedArray):
                part = np.ma.filled(part.astype(np.float64), np.nan)
            kept: Any = np.int64 if np.can_cast(part.dtype, np.int64) else np.float64
            yield Batch(0, len(part), {}, np.ascontiguousarray(part, dtype=kept), tuple(wanted))

    return Source(names, read, rows=data.shape[0], near=True, plain=True)


def _from_iterator(data: Iterator[Any]) -> Source:
    """Tables one after another, or single rows as dicts: read once, never held whole."""
    _begin(data)
    first = next(data, None)
    if first is None:
        raise DataError(NO_ROWS)
    parts = chain([first], data)
    rowwise = isinstance(first, Mapping) and not any(_is_column(value) for value in first.values())
    tables = _row_tables(parts) if rowwise else map(opened, parts)
    head = next(tables)

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        for part in chain([head], tables):
            part.require(wanted)
            yield from part.read(wanted)

    return Source(head.names, _once(read), once=True, unnamed=head.unnamed)


def _row_tables(rows: Iterator[Mapping[Any, object]]) -> Iterator[Source]:
    """Tables of rows, with the columns of the first rows."""
    names: list[Any] = []
    for start in count(0, BATCH_ROWS):
        chunk = list(islice(rows, BATCH_ROWS))
        if not chunk:
            return
        found = list(dict.fromkeys(name for row in chunk for name in row))
        names = names or found
        if new := [name for name in found if name not in names]:
            row = next(row for row, cells in enumerate(chunk, start + 1) if new[0] in cells)
            raise SchemaError(f"row {row} has a column {new[0]!r} that none of the first {BATCH_ROWS} rows has")
        yield _from_rows(chunk, names, start)


def _is_column(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def _begin(data: object) -> None:
    """Mark an iterator as begun: its rows are consumed, and a second use would silently miss them."""
    try:
        if data in _begun:
            raise DataError(READ_BEFORE)
        _begun.add(data)
    except TypeError:  # some can't be weakly referenced
        return


def _once(read: Read) -> Read:
    """The reader, with an error at a second reading."""
    unread = iter([True])

    def reading(wanted: Sequence[str]) -> Iterator[Batch]:
        if not next(unread, False):
            raise DataError(READ_BEFORE)
        rows = 0
        for batch in read(wanted):
            rows += batch.rows
            yield batch
        if not rows:
            raise DataError(NO_ROWS)

    return reading


_FORMS: list[tuple[Callable[[Any], bool], Callable[[Any], Source]]] = [
    (lambda data: hasattr(data, "__arrow_c_stream__"), _from_stream),
    (lambda data: isinstance(data, pa.Array), _from_values),
    (lambda data: isinstance(data, pa.RecordBatch), lambda data: _from_arrow(pa.Table.from_batches([data]))),
    (lambda data: isinstance(data, Mapping), _from_columns),
    (lambda data: isinstance(data, np.ndarray) and data.ndim == 1, _from_values),
    (lambda data: isinstance(data, np.ndarray) and data.ndim == 2, _from_block),
    (lambda data: hasattr(data, "tocsr") and data.ndim == 2, lambda data: _from_block(data.tocsr())),
    (lambda data: isinstance(data, list | tuple | range), _from_list),
    (lambda data: hasattr(data, "__next__"), _from_iterator),
]
