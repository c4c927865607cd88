"""Reading and writing text files, with compression and encodings; invalid bytes are clear errors."""

from __future__ import annotations

import gzip
import re
import zlib
from os import PathLike
from pathlib import Path

from credo.errors import NetworkError, SizeError
from credo.networks.inference.sizes import available, size_text
from credo.storage.files import explained, write_whole

FilePath = str | PathLike[str]

MOST_TEXT_BYTES = 2**30  # larger texts are taken for decompression bombs
MEMORY_PER_BYTE = 20  # bytes of memory per byte of text while it is read: numbers are Python objects in lists
PACKED = ".gz"
DECLARED_ENCODING = re.compile(
    rb"\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})"
)  # in the first line of an XML file
ENCODINGS = {"utf-8": "utf-8", "us-ascii": "utf-8", "iso-8859-1": "latin-1", "windows-1252": "cp1252"}


def read_text(path: FilePath) -> str:
    """The text of a file, of at most MOST_TEXT_BYTES; decompressed if its name ends in .gz."""
    with explained("load", path):
        file = Path(path).expanduser()
        if file.exists() and not file.is_file():  # reading a pipe could block forever
            raise NetworkError(f"can't load {path}: it is a folder or a device, not a file")
        packed = file.name.lower().endswith(PACKED)
        if not packed and file.exists():
            _check_size(file.stat().st_size, path)
        data = _unpacked(file, path) if packed else _some(file)
    if len(data) > MOST_TEXT_BYTES:
        raise NetworkError(f"{path} holds more than {MOST_TEXT_BYTES} bytes of text, the limit")
    _check_size(len(data), path)
    return _decoded(data, path)


def write_text(text: str, path: FilePath) -> None:
    """Write a file atomically, compressed if its name ends in .gz."""
    data = text.encode()
    with explained("save to", path):
        file = Path(path).expanduser().resolve()
        write_whole(file, [gzip.compress(data, mtime=0) if file.name.lower().endswith(PACKED) else data])


def _check_size(size: int, path: FilePath) -> None:
    """Refuse a file that doesn't fit into memory: numbers take more in Python than in the file."""
    need, have = MEMORY_PER_BYTE * size, available()
    if need > have:
        raise SizeError(
            f"{path} holds {size_text(size)} of text, which takes about {size_text(need)} to read; "
            f"{size_text(have)} may be used; CREDO_MEMORY sets the limit"
        )


def _some(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(MOST_TEXT_BYTES + 1)


def _unpacked(file: Path, path: FilePath) -> bytes:
    try:
        with file.open("rb") as packed, gzip.open(packed) as opened:
            return opened.read(MOST_TEXT_BYTES + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise NetworkError(f"{path} isn't a valid gzip file: {error}") from None


def _decoded(data: bytes, path: FilePath) -> str:
    try:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16")
        declared = DECLARED_ENCODING.match(data[:300])
        encoding = declared[1].decode().lower() if declared else "utf-8"
        if encoding not in ENCODINGS:
            raise NetworkError(f"{path} is in {encoding}, which isn't read; known: {', '.join(ENCODINGS)}")
        return data.decode(ENCODINGS[encoding]).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NetworkError(
            f"{path}, line {line}: byte {data[error.start]:#04x} isn't {error.encoding}; convert the file to UTF-8"
        ) from None
