"""Files of rows, streamed: .csv .tsv .jsonl .parquet by DuckDB, .arrow by Arrow; the first three also as .gz, .zst."""

from __future__ import annotations

import glob
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from credo.data import partitions
from credo.data.batches import Batch
from credo.data.csv_files import open_csv
from credo.data.cutting import BATCH_ROWS
from credo.data.partitions import Content, ReadAnywhere, RowCounts, TablePartition, grouped
from credo.data.queries import Database, compression, identifier, literal, opened, packing, path_literal, rows_of
from credo.data.sources import Filing, Source
from credo.data.tables import batch_of, check_names, first_line
from credo.errors import CredoError, DataError, SchemaError, suggest

FORMATS = {".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".parquet": "parquet", ".arrow": "arrow"}

OTHER_ADVICE = "read a file of another name with credo.read(path, format='csv')"
ADVICE = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save the sheet as .csv"),
    ".json": "write one JSON object per line, as .jsonl",
}  # for tables in formats that credo doesn't read

Columns = Mapping[Path, tuple[str, ...]]  # of each file


def open_files(path: str | PathLike[str], delimiter: str | None = None, form: str | None = None) -> Source:
    """A file, or all that a pattern such as `logs/*.csv` matches, in the order of their names; or documents.

    A file without a known extension is a .csv if a delimiter is given.
    """
    from credo.data.documents import open_documents

    if form is not None and f".{form}" not in FORMATS:
        raise DataError(f"there is no format {form!r:.60}; {suggest(form, [name[1:] for name in FORMATS])}")
    if form is None and delimiter is None and (found := open_documents(fsdecode(path))) is not None:
        return found
    paths = matches(fsdecode(path))
    if form is not None:
        formats = {FORMATS[f".{form}"]}
        delimiter = "\t" if form == "tsv" and delimiter is None else delimiter
    else:
        formats = {_format(file, "csv" if delimiter else None) for file in paths}
    if len(formats) > 1:
        raise DataError(f"{path} matches files of several formats ({', '.join(sorted(formats))}): name those of one")
    for file in paths:
        _check_whole(file)
    columns: Columns
    form = formats.pop()
    if form == "csv":
        columns, files = open_csv(paths, delimiter)
    else:
        _check_delimiter(delimiter, f"a .{form} file")
        columns, files = _OPEN[form](paths)
    names = columns[paths[0]]
    for file, others in columns.items():
        check_names(others, f"{file}: ")
        if odd := sorted(set(others) ^ set(names)):
            raise SchemaError(f"{file} and {paths[0]} have different columns: {', '.join(odd[:5])}")
    found = Source.of_files(names, files)
    if form != "csv":
        return found
    return replace(found, spelt=lambda words: Source.of_files(names, partial(files, words=words)))


def _check_delimiter(delimiter: str | None, what: str) -> None:
    if delimiter is not None:
        raise DataError(f"a delimiter is for .csv and .tsv files, but this is {what}")


def matches(path: str) -> list[Path]:
    """The files that a name or a pattern matches."""
    try:
        literal_path = Path(path).expanduser()
        if literal_path.is_dir():
            if next(literal_path.iterdir(), None) is None:
                raise DataError(f"{path} is an empty folder")
            raise DataError(f"{path} is a folder; name a file in it, or a pattern such as '{path.rstrip('/')}/*.csv'")
        if literal_path.exists():
            return [literal_path]
        found = sorted(Path(p) for p in glob.glob(str(literal_path), recursive=True))  # noqa: PTH207
        files = [file for file in found if not file.is_dir()]
        if not files:
            raise DataError(f"there is no file {path!r:.300}{_suggested(literal_path)}{_if_text(path)}")
    except CredoError:
        raise
    except PermissionError as error:
        raise DataError(f"{error.filename} can't be read: permission denied") from None
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{path!r:.300} can't be opened: {why}{_if_text(path)}") from None
    return files


def _suggested(path: Path) -> str:
    """A neighbour with a similar name, for the error."""
    from difflib import get_close_matches

    if not path.parent.is_dir():
        return f": there is no folder {str(path.parent)!r}"
    near = get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=1)
    return f". Did you mean {near[0]!r}?" if near else ""


def _if_text(path: str) -> str:
    """A hint if a text was given in place of a path."""
    if len(path.split()) < 2 or "/" in path or re.search(r"\.[a-z0-9]{2,7}$", path):
        return ""
    return '. A string is a path: for one text write ["..."]'


def _format(path: Path, otherwise: str | None = None) -> str:
    name = Path(path.name.lower())
    packed = packing(name) != "none"
    kind = FORMATS.get((name.with_suffix("") if packed else name).suffix, otherwise)
    if kind is None or (packed and kind in ("parquet", "arrow")):
        tables = f"{', '.join(FORMATS)} (and .csv.gz, .tsv.gz, .jsonl.gz, or .zst)"
        readable = f"credo reads {tables}, text (.txt), mail (.eml, .mbox) and folders of documents"
        raise DataError(f"{path}: {readable}; {ADVICE.get(path.suffix.lower(), OTHER_ADVICE)}")
    return kind


def _check_whole(path: Path) -> None:
    """Raise an error for empty files and damaged compressed ones: DuckDB ignores checksums."""
    try:
        if not path.is_file():
            raise DataError(f"{path} isn't a regular file: save its contents to one")
        str(path).encode()
        with opened(path) as stream:
            size = len(stream.read(1))
            while packing(path) != "none" and stream.read(2**20):
                pass
    except PermissionError:
        raise DataError(f"{path} can't be read: permission denied") from None
    except UnicodeEncodeError:
        raise DataError(f"{str(path)!a}: the file's name isn't UTF-8; rename it") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} can't be unpacked: {error}") from None
    if not size:
        raise DataError(f"{path} is empty")


@dataclass(frozen=True, eq=False)
class JsonRows(ReadAnywhere):
    """JSON lines: an object a line; keys that an object lacks are missing cells."""

    database: Database
    paths: tuple[Path, ...]
    types: Mapping[str, str]

    def read(self, wanted: Sequence[str], /) -> Iterator[Batch]:
        spec = ", ".join(f"{literal(name)}: {literal(self.types[name])}" for name in wanted or [*self.types][:1])
        for path in self.paths:
            yield from _selected(self.database, wanted, _read_json(path, f"columns={{{spec}}}"), path)

    def count(self) -> int:
        objects = (f"read_ndjson_objects({path_literal(path)}, {compression(path)})" for path in self.paths)
        return sum(rows_of(self.database, f"SELECT count(*) FROM {each}", self.paths[0]) for each in objects)


def _open_jsonl(paths: Sequence[Path]) -> tuple[Columns, Filing]:
    database, kinds = Database(), dict[str, set[str]]()
    for path in paths:
        for name, kind in _json_types(database, path).items():
            kinds.setdefault(name, set()).add(kind)
    types = {name: _json_type(each) for name, each in kinds.items()}
    contents = [JsonRows(database, group, types) for group in grouped(paths, _size)]
    return dict.fromkeys(paths, tuple(types)), _filed(contents)


def _selected(database: Database, wanted: Sequence[str], table: str, path: Path) -> Iterator[Batch]:
    """SELECT of those columns; without any, of the number of rows."""
    columns = ", ".join(map(identifier, wanted)) or "true"
    for part in database.run(f"SELECT {columns} FROM {table}", path, len(wanted)):
        yield batch_of(part.select(range(len(wanted))))


def _size(path: Path) -> int:
    return path.stat().st_size


def _filed(contents: Sequence[Content], known: Sequence[int] | None = None) -> Filing:
    rows = RowCounts(contents, known)
    return lambda wanted: rows.numbered([TablePartition(content, tuple(wanted)) for content in contents])


def _read_json(path: Path, options: str) -> str:
    return f"read_json({path_literal(path)}, format='newline_delimited', {compression(path)}, {options})"


def _json_types(database: Database, path: Path) -> dict[str, str]:
    """The keys of all rows, and the types that DuckDB infers for them."""
    with opened(path) as stream:
        start = next((line for line in stream if line.strip()), b"")
    if not start:
        raise DataError(f"{path} has no rows")
    if start.startswith(b"\xef\xbb\xbf"):
        raise DataError(f"{path} begins with a byte order mark: save it as UTF-8 without one")
    found = database.described(_read_json(path, "sample_size=-1, map_inference_threshold=-1"), path)
    names = {name.lower() for name in found}
    if names == {"json"}:
        _check_objects(path)
    if names == {"json"} or any(re.sub(r"_\d+$", "", name) in names - {name} for name in names):
        _check_keys(database, path)
    return found


def _check_objects(path: Path) -> None:
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            if not line.lstrip().startswith(b"{") and not line.isspace():
                shown = line[:40].decode(errors="replace").strip()
                raise DataError(f'{path}, line {number}: {shown!r} isn\'t a JSON object, as {{"column": value}}')


def _check_keys(database: Database, path: Path) -> None:
    """Raise an error for keys that differ only in case (DuckDB would rename one) and for values without a key."""
    objects = f"read_ndjson_objects({path_literal(path)}, {compression(path)})"
    query = f"SELECT DISTINCT unnest(json_keys(json)) AS key FROM {objects} ORDER BY key"
    keys = [key for part in database.run(query, path) for key in part["key"].to_pylist()]
    if not keys or "" in keys:
        raise DataError(f'{path}: every value in a row needs a name, as in {{"column": value}}')
    seen: dict[str, str] = {}
    for key in keys:
        if (other := seen.setdefault(key.lower(), key)) != key:
            raise SchemaError(f"{path}: the columns {other!r} and {key!r} differ only in case; rename one of them")


def _json_type(kinds: set[str]) -> str:
    """One type for all files. Dates, and values of several types, stay strings."""
    kinds = kinds - {'"NULL"'}
    if len(kinds) == 1:
        (kind,) = kinds
        return kind if kind in ("BIGINT", "UBIGINT", "DOUBLE", "BOOLEAN") or kind[-1] in ")]" else "VARCHAR"
    return "DOUBLE" if kinds == {"BIGINT", "DOUBLE"} else "VARCHAR"


class RowRange(NamedTuple):
    """Consecutive rows of a Parquet file."""

    path: Path
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class ParquetRows(ReadAnywhere):
    """Ranges of rows: DuckDB opens only their row groups."""

    database: Database
    ranges: tuple[RowRange, ...]

    def read(self, wanted: Sequence[str], /) -> Iterator[Batch]:
        for path, start, stop in self.ranges:
            table = f"read_parquet({path_literal(path)}, file_row_number=true)"
            rows = f"WHERE file_row_number >= {start} AND file_row_number < {stop}"
            yield from _selected(self.database, wanted, f"{table} {rows}", path)

    def count(self) -> int:
        return sum(stop - start for _, start, stop in self.ranges)


def _open_parquet(paths: Sequence[Path]) -> tuple[Columns, Filing]:
    facts = {path: _parquet_facts(path) for path in paths}
    size, ends = sum(each.size for each in facts.values()), np.cumsum([0, *(each.rows for each in facts.values())])
    step = BATCH_ROWS * max(
        1, partitions.PARTITION_BYTES * int(ends[-1]) // max(size, 1) // BATCH_ROWS
    )  # a multiple of the batch size
    database, contents = Database(), list[ParquetRows]()
    for start in range(0, max(int(ends[-1]), 1), step):
        own = np.clip([start, start + step], ends[:-1, None], ends[1:, None]) - ends[:-1, None]  # (files, 2)
        ranges = (RowRange(path, *map(int, each)) for path, each in zip(paths, own, strict=True) if each[0] < each[1])
        contents.append(ParquetRows(database, tuple(ranges)))
    return {path: each.names for path, each in facts.items()}, _filed(contents, [each.count() for each in contents])


class ParquetFacts(NamedTuple):
    names: tuple[str, ...]
    rows: int
    size: int  # bytes, unpacked


def _parquet_facts(path: Path) -> ParquetFacts:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = pq.read_metadata(path)
        names = tuple(about.schema.to_arrow_schema().names)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise DataError(f"{path} isn't a valid Parquet file: {first_line(error)}") from None
    check_names([name.lower() for name in names], f"{path}: DuckDB doesn't distinguish upper and lower case, and ")
    groups = map(about.row_group, range(about.num_row_groups))
    return ParquetFacts(names, about.num_rows, sum(group.total_byte_size for group in groups))


class ArrowPart(NamedTuple):
    """Some record batches of a file, or all that it has."""

    path: Path
    chosen: slice = slice(None)
    size: int = 0  # bytes


@dataclass(frozen=True, eq=False)
class ArrowRows(ReadAnywhere):
    """Record batches of Arrow files or streams."""

    parts: tuple[ArrowPart, ...]

    def read(self, wanted: Sequence[str], /) -> Iterator[Batch]:
        for path, chosen, _ in self.parts:
            with _mapped(path) as table:
                stored = hasattr(table, "get_batch")
                for part in map(table.get_batch, range(table.num_record_batches)[chosen]) if stored else table:
                    found = part.select(list(wanted))
                    found.validate(full=True)  # an unvalidated damaged file would crash the process
                    yield batch_of(found)

    def count(self) -> int:
        return sum(part.rows for part in self.read(()))


def _open_arrow(paths: Sequence[Path]) -> tuple[Columns, Filing]:
    columns, parts = dict[Path, tuple[str, ...]](), list[ArrowPart]()
    for path in paths:
        with _mapped(path) as table:
            columns[path], size = tuple(table.schema.names), _size(path)
            large = size > partitions.PARTITION_BYTES and hasattr(table, "get_batch")
            count = max(1, table.num_record_batches) if large else 1
        each = [slice(i, i + 1) for i in range(count)] if count > 1 else [slice(None)]
        parts += [ArrowPart(path, chosen, size // count) for chosen in each]
    return columns, _filed([ArrowRows(group) for group in grouped(parts, lambda part: part.size)])


@contextmanager
def _mapped(path: Path) -> Iterator[Any]:
    """An Arrow file or stream, mapped into memory."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as stream:
            in_file = stream.read(6) == b"ARROW1"
            stream.seek(0)
            yield pa.ipc.open_file(stream) if in_file else pa.ipc.open_stream(stream)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise DataError(f"{path} isn't a valid Arrow file: {first_line(error)}") from None


_OPEN: dict[str, Callable[[Sequence[Path]], tuple[Columns, Filing]]] = {
    "jsonl": _open_jsonl,
    "parquet": _open_parquet,
    "arrow": _open_arrow,
}
