"""Documents as rows: text files and mail, labelled by their folders."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import pyarrow as pa

from credo.data.batches import Batch
from credo.data.cutting import BATCH_BYTES, BATCH_ROWS, STRING_FACTOR
from credo.data.files import FORMATS, matches
from credo.data.partitions import ReadAnywhere, RowCounts, TablePartition, grouped
from credo.data.queries import opened
from credo.data.sources import Source
from credo.errors import DataError, counted
from credo.notices import Once, tell

Invalid = Literal["replace", "refuse"]
Row = tuple[str, str | None, str]  # the text, the label, the file's path

EML, MBOX = ".eml", (".mbox", "mbox")  # the latter is how Apple names them, in folders whose names end in .mbox
FILE_COLUMN = "file"
TXT, UTF16 = ".txt", (b"\xff\xfe", b"\xfe\xff")
DOCUMENT_BYTES = 2**29  # with three bytes for each invalid one, a document still fits into an Arrow string
HEAD_BYTES = 2**16  # a NUL in these marks a binary file
LABEL_ADVICE = (
    "These are documents: each one's label is the name of its folder, as in mail/spam/1.txt when "
    "'mail/' is read; in a folder of .mbox files only, it is the file's name. (A table ends in .csv, .tsv, "
    ".jsonl, .parquet or .arrow.)"
)


class File(NamedTuple):
    """A file of one document or, if it is an mbox, of several."""

    path: str
    label: str | None = None

    @property
    def ending(self) -> str:
        return _ending(self.path)


def documents(path: str | PathLike[str], *, invalid: Invalid = "replace") -> Source:
    """A folder of text files and mail; or such files, by name or by a pattern: the columns text and, of folders, label.

    Folders in the folder are labels, and all files below one are of that label; in a folder of nothing but several
    .mbox files, each one's name is the label of its messages. Binary files are left out. `invalid` says how to treat
    bytes that aren't UTF-8 text; in mail, which may be written in any charset, they are always replaced.
    """
    if invalid not in get_args(Invalid):
        raise DataError(f"invalid must be 'replace' or 'refuse', but is {invalid!r}")
    name = fsdecode(path)
    if _is_folder(name):
        found = _open_folder(name, invalid)
        if found is None:
            raise DataError(f"there are no documents in {_shown(name)}")
        return found
    return _open_files(name, invalid)


def open_documents(path: str) -> Source | None:
    """A folder of documents, mail, or text files; None if it is something else, or nothing."""
    if _is_folder(path):
        return _open_folder(path, "replace")
    return _open_files(path, "replace") if _ending(path) in (TXT, EML, *MBOX) else None


def _is_folder(path: str) -> bool:
    try:
        return Path(path).expanduser().is_dir()
    except (OSError, RuntimeError):  # the error is raised where files are matched
        return False


def _open_folder(path: str, invalid: Invalid) -> Source | None:
    files, tables = list[File](), list[File]()
    for file in _below(str(Path(path).expanduser())):
        (tables if file.ending in FORMATS else files).append(file)
    if files and tables:
        raise DataError(
            f"{_shown(path)} holds documents and the table {_shown(tables[0].path)}: name the table, or a pattern "
            f"such as '{_shown(path.rstrip('/'))}/*.csv', or keep the documents in a folder of their own"
        )
    labelled = [file for file in _by_mailbox(files) if file.label is not None]
    if labelled and (beside := len(files) - len(labelled)):
        why = "it has no label" if beside == 1 else "they have no label"
        tell(f"{counted(beside, 'file')} beside the folders in {_shown(path)} left out: {why}")
    for label in {file.label or "" for file in labelled}:
        if label.encode(errors="replace").decode() != label:
            raise DataError(f"the name of {str(Path(path, label))!a} isn't UTF-8; rename it")
    return _source(labelled or files, invalid, path) if files else None


def _by_mailbox(files: Sequence[File]) -> Sequence[File]:
    """Labelled by their names, if these are several .mbox files and nothing else."""
    if len(files) < 2 or any(file.label is not None or file.ending != MBOX[0] for file in files):
        return files
    return [file._replace(label=re.sub(r"(?i)\.mbox(\.gz)?$", "", Path(file.path).name)) for file in files]


def _open_files(path: str, invalid: Invalid) -> Source:
    files = [File(str(file)) for file in matches(path)]
    for file in files:
        if file.ending in FORMATS:
            raise DataError(f"{_shown(file.path)} is a table, not a document")
        with _opened(file.path) as stream:
            if not stream.read(1):
                raise DataError(f"{_shown(file.path)} is empty")
    return _source(files, invalid, path)


def _ending(path: str) -> str:
    """The extension, such as .eml of a.eml and of A.EML.gz; the name itself if it has none."""
    name = path.rpartition(os.sep)[2].lower().removesuffix(".gz")
    return "".join(name.rpartition(".")[1:])


def _below(folder: str) -> Iterator[File]:
    """All files but hidden ones, in the order of their paths, each folder once however many links lead to it."""
    seen = set[tuple[int, int]]()
    waiting = _listed(folder, None, seen)
    while waiting:
        entry, label = waiting.pop()
        with _explained(entry.path):
            if entry.is_dir():
                waiting += _listed(entry.path, label or entry.name, seen)
            elif entry.is_file():
                yield File(entry.path, label)
            else:
                raise DataError(f"{_shown(entry.path)} isn't a regular file, or is a broken link: remove it")


def _listed(folder: str, label: str | None, seen: set[tuple[int, int]]) -> list[tuple[os.DirEntry[str], str | None]]:
    """The entries of a folder in reverse order; none if it was visited before."""
    with _explained(folder), os.scandir(folder) as entries:
        status = Path(folder).stat()
        if (status.st_dev, status.st_ino) in seen:
            return []
        seen.add((status.st_dev, status.st_ino))
        visible = (entry for entry in entries if not entry.name.startswith("."))
        return [(entry, label) for entry in sorted(visible, key=lambda entry: entry.name, reverse=True)]


@dataclass(frozen=True, eq=False)
class DocumentFiles(ReadAnywhere):
    """Some files of documents; `path` is the user's name for them."""

    files: Sequence[File]
    invalid: Invalid
    path: str
    notice: Once

    def read(self, wanted: Sequence[str], /) -> Iterator[Batch]:
        odd: list[str] = []
        for rows in _parts(_rows(self.files, self.invalid, odd) if "text" in wanted else _without_texts(self.files)):
            texts, labels, paths = zip(*rows, strict=True)
            columns = {"text": texts, "label": labels, FILE_COLUMN: [_shown(path) for path in paths]}
            yield Batch(0, len(rows), {name: pa.array(columns[name], pa.string()) for name in wanted})
        if odd:
            which = f"{counted(len(odd), 'document')} in {_shown(self.path)}, the first of them {odd[0]}"
            self.notice.tell(f"not UTF-8 text: {which}; bytes that can't be read were replaced")

    def count(self) -> int:
        return sum(1 for _ in _without_texts(self.files))


def _source(found: Sequence[File], invalid: Invalid, path: str) -> Source:
    files = _readable(found, path)
    names = ("text",) if files[0].label is None else ("text", "label")
    groups = grouped(files, lambda file: Path(file.path).stat().st_size)
    contents = [DocumentFiles(group, invalid, path, Once()) for group in groups]
    counts = None if any(file.ending in MBOX for file in files) else [*map(len, groups)]
    rows = RowCounts(contents, counts)
    return Source.of_files(
        names,
        lambda wanted: rows.numbered([TablePartition(content, tuple(wanted)) for content in contents]),
        rows=counts and len(files),
        unnamed="text",
        advice=LABEL_ADVICE if len(names) == 1 else "",
        plain=True,
        keys=(FILE_COLUMN,),
    )


def _readable(files: Sequence[File], path: str) -> Sequence[File]:
    """The text files; a notice counts binary ones, and it is an error if all are binary."""
    binary = [file.path for file in files if file.ending not in (EML, *MBOX) and _is_binary(_head(file.path))]
    if len(binary) == len(files):
        raise DataError(f"{_shown(binary[0])} is a binary file, not text: remove it")
    if not binary:
        return files
    tell(f"{counted(len(binary), 'binary file')} in {_shown(path)} left out, the first of them {_shown(binary[0])}")
    gone = set(binary)
    return [file for file in files if file.path not in gone]


def _head(path: str) -> bytes:
    """The beginning of a file, by system calls, which are faster than streams for many small files."""
    if path.lower().endswith(".gz"):
        with _opened(path) as stream:
            return bytes(stream.read(HEAD_BYTES))
    with _explained(path):
        number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            return os.read(number, HEAD_BYTES)
        finally:
            os.close(number)


def _is_binary(head: bytes) -> bool:
    return b"\0" in head and head[:2] not in UTF16


def _parts(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Documents in groups of one batch each."""
    part, size = list[Row](), 0
    for row in rows:
        part.append(row)
        size += len(row[0])
        if STRING_FACTOR * size >= BATCH_BYTES or len(part) == BATCH_ROWS:
            yield part
            part, size = [], 0
    if part:
        yield part


def _rows(files: Sequence[File], invalid: Invalid, odd: list[str]) -> Iterator[Row]:
    """The text, the label and the file of each document; `odd` collects those in which bytes were replaced."""
    from credo.data.mail import message_text

    for file in files:
        if file.ending in MBOX:
            yield from ((message_text(message), file.label, file.path) for message in _messages(file.path))
        elif file.ending == EML:
            yield message_text(_content(file.path)), file.label, file.path
        else:
            yield _plain_text(file.path, invalid, odd), file.label, file.path


def _without_texts(files: Sequence[File]) -> Iterator[Row]:
    """Labels and paths alone, for which no file is opened."""
    for file in files:
        yield from (("", file.label, file.path) for _ in (_messages(file.path) if file.ending in MBOX else (None,)))


def _messages(path: str) -> Iterator[bytes]:
    from credo.data.mail import messages

    with _opened(path) as stream:
        yield from messages(stream, _shown(path), DOCUMENT_BYTES)


def _content(path: str) -> bytes:
    with _opened(path) as stream:
        content: bytes = stream.read(HEAD_BYTES)
        if len(content) == HEAD_BYTES:  # most documents are short: a large buffer would cost time
            content += stream.read(DOCUMENT_BYTES + 1 - HEAD_BYTES)
    if len(content) > DOCUMENT_BYTES:
        raise DataError(f"{_shown(path)} is larger than {DOCUMENT_BYTES // 2**20} MB, the most that a document may be")
    return content


def _plain_text(path: str, invalid: Invalid, odd: list[str]) -> str:
    content = _content(path)
    if _is_binary(content[:HEAD_BYTES]):
        raise DataError(f"{_shown(path)} is a binary file, not text: remove it")
    name, code = ("UTF-16", "utf-16") if content[:2] in UTF16 else ("UTF-8", "utf-8")
    try:
        text = content.decode(code)
    except UnicodeDecodeError as error:
        if invalid == "refuse":
            raise DataError(
                f"{_shown(path)} isn't {name} text, from byte {error.start} on: save it as UTF-8, or use "
                "invalid='replace'"
            ) from None
        odd.append(_shown(path))
        text = content.decode(code, "replace")
    return text.removeprefix("\ufeff")


def _shown(path: str) -> str:
    """A path for an error message: one line, whatever the file's name."""
    return path if path.isprintable() else ascii(path)


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    with _explained(path):
        place = Path(path)
        if not place.is_file() and place.exists():  # opening a pipe would wait for a writer
            raise DataError(f"{_shown(path)} isn't a regular file: save its contents to one")
        with opened(place) as stream:
            yield stream


@contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{_shown(path)} no longer exists: it was removed meanwhile") from None
    except PermissionError:
        raise DataError(f"{_shown(path)} can't be read: permission denied") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{_shown(path)} can't be read: {getattr(error, 'strerror', None) or error}") from None
