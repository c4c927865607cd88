"""Results in files, each written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

from credo.errors import DataError, StorageError

MODEL = ".credo"
ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow", MODEL)


def check(path: str) -> None:
    """Refuse what can't be written: found out before the work, not after it."""
    place = Path(path)
    if place.suffix.lower() not in ENDINGS:
        raise DataError(f"can't write {path}: the name must end in one of {', '.join(ENDINGS)}")
    if not place.expanduser().parent.is_dir():
        raise StorageError(f"can't write {path}: there is no folder {place.parent}")


def write(model: object, table: Any, path: str) -> None:
    """The model as a credo file, or its table in the form that the name's ending says."""
    from credo.storage import explained, save, write_whole

    ending = Path(path).suffix.lower()
    if ending == MODEL:
        save(model, path)
        return
    with explained("save to", path):
        write_whole(Path(path).expanduser().resolve(), [_WRITERS[ending](table)])


def _csv(table: Any, delimiter: str = ",") -> memoryview:
    import pyarrow as pa
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(delimiter=delimiter, quoting_style="needed"))
    return memoryview(sink.getvalue())


def _parquet(table: Any) -> memoryview:
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return memoryview(sink.getvalue())


def _arrow(table: Any) -> memoryview:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def _jsonl(table: Any) -> bytes:
    rows = (
        {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in row.items()}
        for batch in table.to_batches(max_chunksize=65_536)
        for row in batch.to_pylist()
    )
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


_WRITERS: dict[str, Callable[[Any], bytes | memoryview]] = {
    ".csv": _csv,
    ".tsv": lambda table: _csv(table, "\t"),
    ".jsonl": _jsonl,
    ".parquet": _parquet,
    ".arrow": _arrow,
}
