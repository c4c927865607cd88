"""DuckDB queries over one file: their results as a stream, and their errors in one sentence."""

from __future__ import annotations

import csv
import glob
import gzip
import json
import os
import re
from collections.abc import Iterator
from functools import cache, cached_property
from io import BufferedReader, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credo.data import batch_rows
from credo.errors import DataError

if TYPE_CHECKING:
    import duckdb

FETCHED_ROWS = 2048  # at a time, if cells may be long texts
NUMBER_TYPES = {"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
LINE_BYTES = 2**24  # bytes of a line of text


class Database:
    """A private DuckDB database, shared neither with other threads nor with the parent of a forked process.

    Unpickled in another process, it is a new one there.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _database, ()

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        from credo.engines.local import workers

        return duckdb.connect(config={"threads": workers()})

    def run(self, query: str, path: Path, columns: int = 1) -> Iterator[Any]:
        """The record batches of a query, streamed."""
        import duckdb

        try:
            with self._connection.cursor() as connection:
                connection.execute("SET enable_progress_bar = false")  # notebooks would show one
                found = connection.sql(query)
                light = all(str(kind) in NUMBER_TYPES for kind in found.types)
                rows = batch_rows(8 * columns)
                yield from found.to_arrow_reader(rows if light else min(FETCHED_ROWS, rows))
        except (duckdb.InterruptException, RuntimeError) as error:  # DuckDB's form of Ctrl-C
            if "interrupt" not in str(error).lower():
                raise
            raise KeyboardInterrupt from None
        except (duckdb.Error, OSError) as error:  # Arrow's error comes after the first batch
            raise DataError(explained(path, str(error))) from None

    def described(self, function: str, path: Path) -> dict[str, str]:
        """The columns of a table function, and their types."""
        found = [part.to_pydict() for part in self.run(f"DESCRIBE SELECT * FROM {function}", path)]
        return {
            name: kind for part in found for name, kind in zip(part["column_name"], part["column_type"], strict=True)
        }


def _database() -> Database:
    return _database_of(os.getpid())


@cache
def _database_of(process: int) -> Database:  # noqa: ARG001 - a fork has one of its own
    return Database()


def rows_of(database: Database, query: str, path: Path) -> int:
    """The result of a query that counts rows."""
    return sum(int(part.column(0)[0].as_py()) for part in database.run(query, path))


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def path_literal(path: Path) -> str:
    """A file's path as an SQL literal, with the characters of patterns escaped."""
    return literal(glob.escape(str(path)))


def packing(path: Path) -> str:
    """The compression of a file, by its name, as DuckDB calls it."""
    return COMPRESSIONS.get(path.suffix.lower(), "none")


def compression(path: Path) -> str:
    return f"compression={literal(packing(path))}"


def opened(path: Path) -> Any:
    """The file's bytes, unpacked."""
    if packing(path) == "gzip":
        return gzip.open(path)
    if packing(path) == "zstd":
        return BufferedReader(_unpacked(path))
    return path.open("rb")


def _unpacked(path: Path) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(path), compression="zstd")


def opened_text(path: Path, errors: str = "strict") -> Any:
    return TextIOWrapper(opened(path), encoding="utf-8-sig", errors=errors, newline="")


def not_utf8(path: Path) -> str:
    """The error for a text that isn't UTF-8, with the line."""
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return f"{path}, line {number} isn't UTF-8 text: save the file as UTF-8"
    return f"{path} isn't UTF-8 text: save it as UTF-8"


def explained(path: Path, text: str) -> str:
    """DuckDB's error in one sentence."""
    if "not utf-8" in text or "invalid UTF-8" in text:
        return not_utf8(path)
    if found := re.search(r"CSV Error on Line: (\d+)", text):
        return f"{path}, line {_line_of(path, int(found[1]))}: {_csv_fault(text)}"
    if "CSV Parser state machine" in text:
        return f"{path} ends its lines in several ways: save it with one kind of line end"
    if found := re.search(r"Malformed JSON .* in line (\d+)", text):
        return _json_fault(path, int(found[1]))
    line = text.splitlines()[0].split(" Error: ", 1)[-1].rstrip(". ")
    return f"{path} can't be read: {line}"


def _csv_fault(text: str) -> str:
    if found := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text):
        return f"{found[2]} fields, but the header has {found[1]}"
    if "unterminated quote" in text:
        return 'a quote is opened and not closed (within quotes, a quote is written twice: "")'
    if "Maximum line size" in text:
        return f"it is longer than {LINE_BYTES // 2**20} MB"
    return text.splitlines()[-1].strip()


def _line_of(path: Path, record: int) -> int:
    """The line in which a record begins: cells may span lines."""
    limit = csv.field_size_limit(LINE_BYTES)
    try:
        with opened_text(path, "replace") as stream:
            rows = csv.reader(stream)
            next(islice(rows, record - 1, record - 1), None)
            return int(rows.line_num) + 1
    except csv.Error:
        return record
    finally:
        csv.field_size_limit(limit)


def _json_fault(path: Path, number: int) -> str:
    """The error with the right line: DuckDB counts lines from 1 or from 2."""
    with opened(path) as stream:
        for at, line in enumerate(islice(stream, max(number - 2, 0), number), max(number - 1, 1)):
            try:
                json.loads(line)
            except ValueError as error:
                return f"{path}, line {at} isn't JSON: {error}"
    return f"{path} isn't JSON near line {number}: a .jsonl file holds an object a line"
