"""Files of rows, streamed by DuckDB: .csv .tsv .jsonl .parquet .arrow, the first three also as .gz."""

from __future__ import annotations

import csv
import glob
import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from credo.data import ROWS, Batch, Source, batches_of
from credo.errors import DataError, SchemaError

FORMATS = {".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".parquet": "parquet", ".arrow": "arrow"}


def open_files(path: str | PathLike[str]) -> Source:
    """A file, or all that a pattern such as `logs/*.csv` matches, in the order of their names."""
    paths = _matches(fspath(path))
    readers = [_FORMAT_OF[_format(p)](p) for p in paths]
    names = readers[0].names
    for p, reader in zip(paths, readers, strict=True):
        if set(reader.names) != set(names):
            odd = sorted(set(reader.names) ^ set(names))
            raise SchemaError(f"{p} and {paths[0]} have different columns: {', '.join(odd[:5])}")

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        return batches_of(part for reader in readers for part in reader.parts(wanted))

    return Source(names, read)


def _matches(path: str) -> list[Path]:
    literal = Path(path).expanduser()
    try:
        if literal.is_dir():
            next(literal.iterdir(), None)
            raise DataError(f"{path} is a folder; name a file in it, or a pattern such as '{path.rstrip('/')}/*.csv'")
        found = [literal] if literal.exists() else [Path(p) for p in sorted(glob.glob(str(literal)))]  # noqa: PTH207
        if not found:
            near = suggest_file(literal)
            raise DataError(f"there is no file {path!r}{near}")
        for file in found:
            with file.open("rb") as stream:
                if not stream.read(1):
                    raise DataError(f"{file} is empty")
    except PermissionError as error:
        raise DataError(f"{error.filename} can't be read: permission denied") from None
    return found


def suggest_file(path: Path) -> str:
    """A neighbour with a similar name, for the error."""
    from difflib import get_close_matches

    if not path.parent.is_dir():
        return f": there is no folder {str(path.parent)!r}"
    near = get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=1)
    return f". Did you mean {near[0]!r}?" if near else ""


def _format(path: Path) -> str:
    suffixes = [s.lower() for s in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    kind = FORMATS.get((suffixes[:-1] if zipped else suffixes)[-1:][0] if len(suffixes) > zipped else "")
    if kind is None or (zipped and kind in ("parquet", "arrow")):
        raise DataError(f"{path}: credo reads {', '.join(FORMATS)} (and .csv.gz, .tsv.gz, .jsonl.gz)")
    return kind


@dataclass(frozen=True)
class _Query:
    """A file behind a DuckDB table function."""

    path: Path
    function: str
    names: tuple[str, ...]

    def parts(self, wanted: Sequence[str]) -> Iterator[Any]:
        columns = ", ".join(_identifier(name) for name in wanted) or "1"
        yield from _run(f"SELECT {columns} FROM {self.function}", self.path)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _run(query: str, path: Path) -> Iterator[Any]:
    """The record batches of a query, as they come."""
    import duckdb

    from credo.engines.local import workers

    with duckdb.connect(config={"threads": workers()}) as connection:
        try:
            yield from connection.sql(query).to_arrow_reader(ROWS)
        except duckdb.Error as error:
            raise DataError(_explained(path, error)) from None


def _explained(path: Path, error: Exception) -> str:
    """One sentence for what DuckDB says in a paragraph."""
    if _format(path) == "csv" and (fault := _ragged(path)):
        return fault
    text = str(error)
    if "utf-8" in text.lower() or "unicode" in text.lower():
        return f"{path} isn't UTF-8 text: save it as UTF-8"
    return f"{path} can't be read: {text.splitlines()[0]}"


def _text(path: Path) -> Any:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    return opener(path, "rt", encoding="utf-8-sig", newline="")


def _ragged(path: Path) -> str | None:
    """The first row that has more or fewer fields than the header."""
    try:
        with _text(path) as stream:
            rows = csv.reader(stream, delimiter=_delimiter(path))
            header = next(rows)
            for row in rows:
                if row and len(row) != len(header):
                    return f"{path}, line {rows.line_num}: {len(row)} fields, but the header has {len(header)}"
    except UnicodeDecodeError:
        return f"{path} isn't UTF-8 text: save it as UTF-8"
    except csv.Error as error:
        return f"{path} isn't a well-formed CSV file: {error}"
    return None


def _delimiter(path: Path) -> str:
    """A tab for .tsv; otherwise whichever of , ; tab | the header has most of."""
    if ".tsv" in path.suffixes:
        return "\t"
    with _text(path) as stream:
        header = stream.readline()
    return max(",;\t|", key=header.count)


def _open_csv(path: Path) -> _Query:
    try:
        with _text(path) as stream:
            head = stream.read(65_536)
        if "\0" in head:
            raise DataError(f"{path} is a binary file, not text")
        delimiter = _delimiter(path)
        rows = csv.reader(head.splitlines(keepends=True), delimiter=delimiter)
        header = next(rows, [])
        if next(rows, None) is None:
            raise DataError(f"{path} has a header, but no rows")
    except UnicodeDecodeError:
        raise DataError(f"{path} isn't UTF-8 text (or is a binary file): save it as UTF-8") from None
    except (OSError, EOFError) as error:
        raise DataError(f"{path} can't be unpacked: {error}") from None
    names = tuple(name.strip() or f"column{j}" for j, name in enumerate(header))
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"{path}: two columns are named {name!r}; rename one of them")
    # BOOLEAN and dates aren't guessed: yes/no stay the words that they are. Types come from all rows, not a sample.
    function = (
        f"read_csv({_literal(glob.escape(str(path)))}, delim={_literal(delimiter)}, header=true, "
        f"names=[{', '.join(map(_literal, names))}], quote='\"', escape='\"', comment='', strict_mode=true, "
        "sample_size=-1, auto_type_candidates=['BIGINT', 'DOUBLE', 'VARCHAR'])"
    )
    return _Query(path, function, names)


def _open_described(path: Path, function: str) -> _Query:
    names = tuple(
        name for part in _run(f"DESCRIBE SELECT * FROM {function}", path) for name in part.column(0).to_pylist()
    )
    return _Query(path, function, names)


def _open_jsonl(path: Path) -> _Query:
    options = "format='newline_delimited', sample_size=-1, map_inference_threshold=-1"
    return _open_described(path, f"read_json({_literal(glob.escape(str(path)))}, {options})")


def _open_parquet(path: Path) -> _Query:
    return _open_described(path, f"read_parquet({_literal(glob.escape(str(path)))})")


@dataclass(frozen=True)
class _Arrow:
    """An Arrow IPC file or stream, mapped into memory."""

    path: Path
    names: tuple[str, ...]

    def parts(self, wanted: Sequence[str]) -> Iterator[Any]:
        for part in _arrow_batches(self.path):
            yield part.select(list(wanted))


def _arrow_batches(path: Path) -> Iterator[Any]:
    import pyarrow as pa

    with pa.memory_map(str(path)) as stream:
        try:
            opened = pa.ipc.open_file(stream)
            yield from (opened.get_batch(i) for i in range(opened.num_record_batches))
        except pa.ArrowInvalid:
            stream.seek(0)
            yield from pa.ipc.open_stream(stream)


def _open_arrow(path: Path) -> _Arrow:
    import pyarrow as pa

    try:
        first = next(_arrow_batches(path), None)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path} isn't an Arrow file: {error}") from None
    if first is None:
        raise DataError(f"{path} has no rows")
    return _Arrow(path, tuple(first.schema.names))


_FORMAT_OF: dict[str, Callable[[Path], _Query | _Arrow]] = {
    "csv": _open_csv,
    "jsonl": _open_jsonl,
    "parquet": _open_parquet,
    "arrow": _open_arrow,
}
