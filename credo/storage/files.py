"""save and load: one file with a JSON header and arrays. Loading never runs code from a file.

The first line has the word credo, the number of the format, the sha256 of all that follows, and its length in bytes.
Then comes the header: the version of credo that wrote the file, and the model, each object as the schema of its class
says (credo.storage.schemas), each array by its dtype, shape and offset; and digests of updates, if there were any. Then
comes a line that says "arrays", and the arrays: little-endian, in C order, each at a multiple of 64 bytes from there.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from os import PathLike
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, TypeVar, overload

import numpy as np

from credo import __version__
from credo.errors import CredoError, StorageError

FILE_FORMAT = 1
FIRST_LINE_PATTERN = re.compile(rb"credo ([1-9][0-9]*) ([0-9a-f]{64}) (0|[1-9][0-9]*)\n")
FIRST_LINE_BYTES = 128  # first lines are shorter
ARRAYS_LINE = b"arrays\n"  # never a line of JSON

FilePath = str | PathLike[str]
Kind = TypeVar("Kind")


def save(model: object, path: FilePath, updates: Sequence[str] = ()) -> None:
    """Write a belief or a model (or a prior, a schema, a dict of beliefs) to a file, atomically.

    `updates` are digests of added rows, by which `credo update` recognises them.
    """
    from credo.storage.packing import Packer, kind_of, readable

    if not isinstance(path, str | os.PathLike):
        raise StorageError(f"save(model, path): the path is a {type(path).__name__}, not the name of a file")
    writer = Packer()
    try:
        header = {"credo": __version__, "kind": kind_of(model), "model": writer.node(model)}
        header |= {"updates": [*updates]} if updates else {}
        chunks = [f"{readable(header)}\n".encode(), ARRAYS_LINE, *writer.chunks]
    except (ValueError, RecursionError) as error:
        raise StorageError(f"can't save to {path}: {error}") from None
    checksum = hashlib.sha256()
    for chunk in chunks:
        checksum.update(chunk)
    first = f"credo {FILE_FORMAT} {checksum.hexdigest()} {sum(map(len, chunks))}\n"
    with explained("save to", path):
        write_whole(Path(path).expanduser().resolve(), [first.encode(), *chunks])  # a link stays one


@overload
def load(path: FilePath) -> Any: ...


@overload
def load(path: FilePath, kind: Callable[..., Kind]) -> Kind: ...  # type[Kind] would reject abstract classes


def load(path: FilePath, kind: Any = None) -> Any:
    """Read what was saved; every number has the same bits. A model of another kind than the one asked for is refused.

    `credo.load("m.credo", credo.Classifier)` tells readers, editors and type checkers what the file contains.
    """
    model = _loaded(path)
    if kind is not None and not isinstance(model, kind):
        raise StorageError(f"{path} holds a {type(model).__name__}, not a {kind.__name__}")
    return model


def _loaded(path: FilePath) -> Any:
    from credo.storage.packing import Unpacker, kind_of

    with explained("load", path), Path(path).expanduser().open("rb") as file:
        checksum, size = _promised(file, path)
        body = file.read(size)
    if hashlib.sha256(body).hexdigest() != checksum:
        raise StorageError(f"{path} was damaged or tampered with: its contents don't match its checksum")
    cut = body.find(b"\n" + ARRAYS_LINE) + 1
    header = _header(body[:cut], path)
    try:
        with np.errstate(all="ignore"):
            model = Unpacker(memoryview(body)[cut + len(ARRAYS_LINE) :]).value(header["model"])
        match header["model"]:
            case {"class": str(name)}:  # under its name when the file was written
                pass
            case _:
                name = kind_of(model)
        if name != header["kind"]:
            raise ValueError(f"it should be a {header['kind']}, but is a {name}")
    except Exception as error:  # with a forged file, a constructor may raise anything
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise StorageError(f"{path} can't be read by credo {__version__}: {reason}") from None
    return model


def describe(path: FilePath) -> dict[str, Any]:
    """A file's header. The arrays are neither read nor checked."""
    with explained("load", path), Path(path).expanduser().open("rb") as file:
        _promised(file, path)
        header = b"".join(takewhile(lambda line: line != ARRAYS_LINE, file))
    return _header(header, path)


def _header(text: bytes, path: FilePath) -> dict[str, Any]:
    try:
        match json.loads(text.decode()):
            case {"credo": str(), "kind": str(), "model": _} as header:
                return dict(header)
    except (ValueError, RecursionError):
        pass
    raise StorageError(f"{path} was damaged or tampered with: its header can't be read")


def _reader_of(path: FilePath) -> str:
    from credo.formats import is_network

    return ": a network's file is read by credo.Network.read" if is_network(str(path)) else ""


def _promised(file: BinaryIO, path: FilePath) -> tuple[str, int]:
    """The checksum and the size in the first line; the size is checked against the file's."""
    status = os.fstat(file.fileno())
    line = file.readline(FIRST_LINE_BYTES) if stat.S_ISREG(status.st_mode) else b""
    version = re.match(rb"credo ([1-9][0-9]*) ", line)
    if not version:
        raise StorageError(f"{path} is not a credo file{_reader_of(path)}")
    if int(version[1]) > FILE_FORMAT:
        raise StorageError(
            f"{path} was written by a newer version of credo, in format {int(version[1])}; "
            f"credo {__version__} reads format {FILE_FORMAT}: upgrade it"
        )
    found = FIRST_LINE_PATTERN.fullmatch(line)
    if not found:
        fault = "is truncated" if len(line) == status.st_size < FIRST_LINE_BYTES else "was damaged or tampered with"
        raise StorageError(f"{path} {fault}: its first line is incomplete")
    size, there = int(found[3]), status.st_size - len(line)
    if size != there:
        fault = "is truncated" if there < size else "is longer than it was"
        raise StorageError(f"{path} {fault}: {size} bytes should follow its first line, but {there} do")
    return found[2].decode(), size


def write_whole(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write atomically: under a temporary name, which then replaces the file."""
    mode = path.stat().st_mode if path.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        raise ValueError("it is a folder" if stat.S_ISDIR(mode) else "it is a device or a pipe, not a file")
    if mode is not None and not os.access(path, os.W_OK):
        raise ValueError("the file there is write-protected")
    temporary = path.with_name(f".credo-{token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            if mode is not None:
                temporary.chmod(stat.S_IMODE(mode))
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    with suppress(OSError):  # the file is in place even if its folder can't be synced
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def explained(verb: str, path: FilePath) -> Iterator[None]:
    """Turn OS errors of the block into one sentence that names the path."""
    try:
        yield
    except CredoError:  # raised by the code that makes the data
        raise
    except (OSError, ValueError, RuntimeError) as error:  # the latter two: invalid paths, such as ~nobody/x
        folder = Path(path).parent
        reasons = {
            ("save to", errno.ENOENT): f"there is no folder {folder}",
            ("save to", errno.ENOTDIR): f"{folder} is not a folder",
            ("save to", errno.EACCES): f"no permission to write in the folder {folder}",
            ("save to", errno.ENOSPC): "the disk is full",
            ("load", errno.ENOENT): "there is no such file",
            ("load", errno.EISDIR): "it is a folder, not a credo file",
            ("load", errno.EACCES): "no permission to read it",
        }
        reason = reasons.get((verb, getattr(error, "errno", 0))) or getattr(error, "strerror", None) or error
        raise StorageError(f"can't {verb} {path}: {reason}") from None
