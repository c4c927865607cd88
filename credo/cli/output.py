"""Results in files, written atomically and batch by batch: a table may be larger than memory."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credo.cli.progress import shown_progress
from credo.cli.streams import remark
from credo.errors import DataError, StorageError

if TYPE_CHECKING:
    import pyarrow as pa

MODEL, PAGE = ".credo", ".html"
TABLE_ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow")
OUTPUT_ENDINGS = (*TABLE_ENDINGS, MODEL)
PICTURE_ENDINGS = (".png", ".svg", ".pdf")


def check(path: str, endings: tuple[str, ...] = OUTPUT_ENDINGS) -> None:
    """Raise an error for an output that can't be written, before the work starts."""
    place = Path(path)
    if place.suffix.lower() not in endings:
        known = f"one of {', '.join(endings)}" if len(endings) > 1 else endings[0]
        raise DataError(f"can't write {path}: the name must end in {known}")
    if not place.expanduser().parent.is_dir():
        raise StorageError(f"can't write {path}: there is no folder {place.parent}")


def check_outputs(model: str | None, page: str | None, picture: str | None) -> None:
    """Check all outputs that were requested."""
    for path, endings in ((model, (MODEL,)), (page, (PAGE,)), (picture, PICTURE_ENDINGS)):
        if path:
            check(path, endings)


def check_apart(path: str, data: str) -> None:
    """Raise an error if the output is the input file."""
    place, source = Path(path).expanduser(), Path(data).expanduser()
    if place.exists() and source.exists() and place.samefile(source):
        raise StorageError(f"can't write {path}: it is the input file; give another name")


def write(model: object, table: object, path: str) -> None:
    """The model as a .credo file, or its table in the format of the name's ending."""
    from credo.storage.files import save

    if Path(path).suffix.lower() == MODEL:
        save(model, path)
    else:
        write_tables([table], path)


def write_tables(tables: Iterable[object], path: str) -> None:
    """Write a stream of Arrow tables in the format of the name's ending."""
    from credo.storage.files import explained, write_whole

    with explained("save to", path):
        write_whole(Path(path).expanduser().resolve(), encoded(tables, Path(path).suffix.lower()))


def put(tables: Generator[Any], output: str | None, data: str, task: str) -> None:
    """Write tables to a file; without one, show the first rows on a terminal, or write all rows as CSV to a pipe."""
    if output:
        with shown_progress(task):
            write_tables(tables, output)
        remark(f"wrote {output}")
    elif sys.stdout.isatty():
        from credo.models.frame_columns import PREDICTED
        from credo.present.tables import head_content
        from credo.present.terminal import show

        with closing(tables):
            show(head_content(next(tables), data, PREDICTED))
    else:
        for part in encoded(tables, ".csv"):
            sys.stdout.buffer.write(part)


def write_folder(model: str, data: object, path: str, how: tuple[str | None, bool, str | None]) -> None:
    """Write predictions to a new folder of Parquet files; workers write one for each partition."""
    from credo.cli.saved import classifier_for
    from credo.storage.files import explained
    from credo.streaming.predictions import write_predictions

    target, proba, class_prior = how
    if target is not None:
        raise StorageError(f"{model}: a folder is for classifiers; write a file, such as {path.rstrip('/')}.parquet")
    place = Path(path).expanduser().resolve()
    with explained("save to", path), shown_progress("predicting"):
        write_predictions(classifier_for(model, class_prior), data, place, proba)
    remark(f"wrote {path}")


def encoded(tables: Iterable[object], ending: str) -> Iterator[bytes]:
    """The bytes of a file, streamed; all tables have the columns of the first."""
    return _ENCODERS[ending](_plain(table, nested=ending in (".parquet", ".arrow", ".jsonl")) for table in tables)


def _plain(table: Any, nested: bool) -> pa.Table:
    """The table in types of the format; lists and structs become JSON if the format has none."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        kind, column = field.type, table.column(i)
        if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
            column = column.cast(pa.string() if pa.types.is_string_view(kind) else pa.binary())
        elif pa.types.is_nested(kind) and not nested:
            cells = (None if cell is None else _json(cell) for cell in column.to_pylist())
            column = pa.array(cells, pa.string())
        else:
            continue
        table = table.set_column(i, field.name, column)
    return table


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _csv(tables: Iterator[object], delimiter: str = ",") -> Iterator[bytes]:
    from pyarrow import csv

    for i, table in enumerate(tables):
        out = io.BytesIO()
        csv.write_csv(table, out, csv.WriteOptions(delimiter=delimiter, quoting_style="needed", include_header=i == 0))
        yield out.getvalue()


def _jsonl(tables: Iterator[Any]) -> Iterator[bytes]:
    for table in tables:
        rows = (
            {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in row.items()}
            for row in table.to_pylist()
        )
        yield "".join(f"{_json(row)}\n" for row in rows).encode()


def _parquet(tables: Iterator[object]) -> Iterator[bytes]:
    from pyarrow import parquet

    return _through(parquet.ParquetWriter, tables)


def _arrow(tables: Iterator[object]) -> Iterator[bytes]:
    import pyarrow as pa

    return _through(pa.ipc.new_file, tables)


def _through(writer_to: Callable[[Any, Any], Any], tables: Iterator[Any]) -> Iterator[bytes]:
    """The bytes of a pyarrow writer, table by table."""
    import pyarrow as pa

    first = next(tables)
    sink = _Pending()
    with writer_to(pa.PythonFile(sink, "w"), first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(_of_types(table, first.schema))
            yield sink.taken()
    yield sink.taken()


class _Pending(io.RawIOBase):
    """A file-like buffer that keeps what was written until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._parts.append(bytes(data))
        self._size += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        return self._size

    def taken(self) -> bytes:
        found, self._parts = b"".join(self._parts), []
        return found


def _of_types(table: Any, wanted: Any) -> pa.Table:
    """A table cast to the first one's types; its file may have had others."""
    import pyarrow as pa

    if table.schema.equals(wanted):
        return table
    try:
        return table.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        types = {name: (wanted.field(name).type, table.schema.field(name).type) for name in wanted.names}
        name, (one, other) = next((name, pair) for name, pair in types.items() if pair[0] != pair[1])
        raise DataError(
            f"column {name!r} is {one} in one part of the data and {other} in another: cast one of them, or write .csv"
        ) from None


_ENCODERS: dict[str, Callable[[Iterator[Any]], Iterator[bytes]]] = {
    ".csv": _csv,
    ".tsv": lambda tables: _csv(tables, "\t"),
    ".jsonl": _jsonl,
    ".parquet": _parquet,
    ".arrow": _arrow,
}
