"""CSV files: types are inferred by rules over all rows of all files, not guessed from a sample."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from credo import engines
from credo.data.batches import Batch
from credo.data.cutting import ROW_SIZE_ROWS
from credo.data.partitions import ReadAnywhere, RowCounts, TablePartition, grouped
from credo.data.queries import (
    LINE_BYTES,
    Database,
    compression,
    literal,
    not_utf8,
    opened,
    opened_text,
    path_literal,
    rows_of,
)  # fmt: skip
from credo.data.spelling import NUMBER, WHOLE_NUMBER
from credo.errors import DataError
from credo.notices import tell

SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?\n')  # the first line, as Excel has it
DELIMITER_ROWS = 100  # rows that determine the delimiter
DELIMITER_BYTES = 2**16  # bytes that determine whether a file is text, and its delimiter

COLUMN_TYPES = ("BIGINT", "DOUBLE", "VARCHAR")


@dataclass(frozen=True)
class CsvFile:
    """A CSV file: its column names and its dialect."""

    path: Path
    delimiter: str
    names: tuple[str, ...]
    filled: bool  # whether rows follow the header
    quote: str = '"'  # empty if quotes are ordinary characters
    skipped: int = 0  # lines before the header

    def table(self, types: Mapping[str, str]) -> str:
        """The table function for DuckDB, with columns c0, c1, ... because DuckDB's names ignore case."""
        columns = (f"'c{j}': '{types.get(name, 'VARCHAR')}'" for j, name in enumerate(self.names))
        return (
            f"read_csv({path_literal(self.path)}, auto_detect=false, header=true, skip={self.skipped}, "
            f"delim={literal(self.delimiter)}, quote={literal(self.quote)}, escape={literal(self.quote)}, "
            f"strict_mode=true, max_line_size={LINE_BYTES}, buffer_size={2 * LINE_BYTES}, "
            f"{compression(self.path)}, columns={{{', '.join(columns)}}})"
        )

    def batches(
        self, database: Database, wanted: Sequence[str], types: Mapping[str, str], limit: str = ""
    ) -> Iterator[Batch]:
        columns = ", ".join(f"c{self.names.index(name)}" for name in wanted) or "true"
        query = f"SELECT {columns} FROM {self.table(types)} {limit}"
        for part in database.run(query, self.path, len(wanted)):
            yield Batch(0, part.num_rows, dict(zip(wanted, part.columns, strict=bool(wanted))))


@dataclass(frozen=True, eq=False)
class CsvRows(ReadAnywhere):
    """The rows of some files, with columns of these types; the others are strings."""

    database: Database
    files: tuple[CsvFile, ...]
    types: Mapping[str, str] = field(default_factory=dict)
    limit: str = ""

    def read(self, wanted: Sequence[str], /) -> Iterator[Batch]:
        for file in self.files:
            yield from file.batches(self.database, wanted, self.types, self.limit)

    def count(self) -> int:
        queries = ((f"SELECT count(*), count(c0) FROM {file.table({})}", file.path) for file in self.files)
        return sum(rows_of(self.database, *each) for each in queries)


def open_csv(paths: Sequence[Path], delimiter: str | None = None) -> tuple[dict[Path, tuple[str, ...]], Any]:
    """The columns of each file, and a function that gives partitions with some of the columns, some of them as
    strings."""
    database = Database()
    files = [_with_quotes(database, _opened(path, delimiter)) for path in paths]
    if not any(file.filled for file in files):
        raise DataError(f"{paths[0]} has a header, but no rows")
    contents = [CsvRows(database, group) for group in grouped(files, lambda file: file.path.stat().st_size)]
    rows, types = RowCounts(contents), dict[str, str]()

    def partitions(wanted: Sequence[str], words: Collection[str] = ()) -> Sequence[TablePartition]:
        types.update(_types(contents, [name for name in wanted if name not in types and name not in words]))
        own = {name: types[name] for name in wanted if name not in words}
        return rows.numbered([TablePartition(replace(content, types=own), tuple(wanted)) for content in contents])

    return {file.path: file.names for file in files}, partitions


def _opened(path: Path, delimiter: str | None) -> CsvFile:
    with opened(path) as stream:
        start = stream.read(DELIMITER_BYTES)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{path} is UTF-16 text: save it as UTF-8")
    if b"\0" in start:
        raise DataError(f"{path} is a binary file, not text")
    head = start.decode("utf-8-sig", "replace")
    told = SEPARATOR_LINE.match(head)
    delimiter = delimiter or (
        told[1] if told else "\t" if _is_tsv(path) else _delimiter(head, len(start) == DELIMITER_BYTES)
    )
    try:
        with opened_text(path) as stream:
            if told:
                stream.readline()
            header = next(csv.reader(stream, delimiter=delimiter), [])
            filled = any(not line.isspace() for line in stream)
    except UnicodeDecodeError:
        raise DataError(not_utf8(path)) from None
    except csv.Error as error:
        raise DataError(f"{path}: the header can't be read: {error}") from None
    if not any(name.strip() for name in header):
        which = "line after sep=" if told else "first line"
        raise DataError(f"{path}: the {which} is empty; it must hold the names of the columns")
    return CsvFile(path, delimiter, _named(header), filled, skipped=int(told is not None))


def _named(header: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() or f"column{j}" for j, name in enumerate(header))


def _is_tsv(path: Path) -> bool:
    return ".tsv" in path.name.lower()


def _with_quotes(database: Database, file: CsvFile) -> CsvFile:
    """The file with quoting on or off. In a .tsv it is off, unless all fields that need quotes have them.

    It is off if quotes are unbalanced, or if pairing them would join lines that each have all fields.
    """
    if not _is_tsv(file.path) or not _has_quotes(file.path):
        return file
    with opened_text(file.path, "replace") as stream:
        for _ in range(file.skipped):
            stream.readline()
        header = next(csv.reader(stream, delimiter=file.delimiter, quoting=csv.QUOTE_NONE))
    plain = replace(file, names=_named(header), quote="")
    quoted_rows, plain_rows = _count(database, file), _count(database, plain)
    if plain_rows < 0 or (quoted_rows >= 0 and (quoted_rows >= plain_rows or len(plain.names) == 1)):
        return file
    tell(f"{file.path}: unbalanced quotes are read as ordinary characters")
    return replace(plain, filled=plain_rows > 0)


def _has_quotes(path: Path) -> bool:
    with opened(path) as stream:
        return any(b'"' in chunk for chunk in iter(lambda: stream.read(2**20), b""))


def _count(database: Database, file: CsvFile) -> int:
    """The number of rows; -1 if the file can't be read that way."""
    ends = f"count(c0) + count(c{len(file.names) - 1})"  # so that DuckDB splits the lines into fields
    try:
        return rows_of(database, f"SELECT count(*), {ends} FROM {file.table({})}", file.path)
    except DataError:
        return -1


def _delimiter(head: str, cut: bool) -> str:
    """Whichever of , ; tab | cuts the header and the first rows into the same number of fields, the most if several do.

    Where none does, the one that cuts most rows so. `cut`: the last line isn't whole.
    """

    def fields(delimiter: str) -> tuple[float, int]:
        rows = csv.reader(StringIO(head, newline=""), delimiter=delimiter)
        try:
            sizes = [len(row) for row in islice(rows, DELIMITER_ROWS) if row]
        except csv.Error:  # a field too long for it
            return 0.0, 0
        sizes = sizes[:-1] if cut and len(sizes) < DELIMITER_ROWS else sizes
        width = sizes[0] if sizes else 0
        alike = sum(size == width for size in sizes[1:]) / max(len(sizes) - 1, 1)
        return (alike if len(sizes) > 1 else 1.0, width) if width > 1 else (0.0, 0)

    return max(",;\t|", key=fields)


def _types(contents: Sequence[CsvRows], names: Sequence[str]) -> dict[str, str]:
    """BIGINT, DOUBLE or VARCHAR: the narrowest that every cell of a column can be read as without loss."""
    narrowest = dict.fromkeys(names, 0)
    for limit in (f"LIMIT {ROW_SIZE_ROWS}", ""):  # the first rows settle most columns of strings
        undecided = tuple(name for name in names if COLUMN_TYPES[narrowest[name]] != "VARCHAR")
        rows = [TablePartition(replace(content, limit=limit), undecided) for content in contents if undecided]
        for found in engines.map(Narrowest(), rows):
            narrowest |= {name: max(narrowest[name], place) for name, place in found.items()}
    return {name: COLUMN_TYPES[place] for name, place in narrowest.items()}


@dataclass(frozen=True)
class Narrowest:
    """For each column, the position in TYPES of the first type that all its cells can be read as."""

    def __call__(self, batch: Batch) -> dict[str, int]:
        return {name: _place(batch.column(name)) for name in batch.names}


def _place(array: object) -> int:
    for place, spelling in enumerate((WHOLE_NUMBER, NUMBER)):
        if pc.all(pc.match_substring_regex(array, spelling)).as_py() is not False:
            return place
    return 2
