"""Locks: one process at a time reads a file, changes it and writes it back.

The lock is the system's own (flock; on Windows, a locked byte), so it ends with the process that holds it, and no lock
is ever stale. A second file beside the first carries it, since saving replaces the first, which Windows refuses while
that is open. A process removes the lock file when it is done; one that locks a removed file tries again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from credo.errors import StorageError
from credo.notices import tell
from credo.storage.files import FilePath, explained

LOCK_SECONDS = 60.0  # that another process may hold the lock
SOON, POLL = 2.0, 0.05  # seconds before a notice about waiting, and between attempts
NO_LOCKS_ERRORS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}

if sys.platform == "win32":
    import msvcrt

    def _try(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

    HELD = {errno.EACCES, errno.EDEADLK}
else:
    import fcntl

    def _try(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    HELD = {errno.EWOULDBLOCK, errno.EAGAIN}


@contextmanager
def changing(path: FilePath) -> Iterator[None]:
    """Hold the file's lock; an error after a minute of waiting for another process."""
    with explained("save to", path):
        beside = _lock_path(Path(path).expanduser().resolve())
        file = _locked(beside, path)
    try:
        yield
    finally:
        if sys.platform == "win32":  # an open file can't be removed there: it stays while others wait
            os.close(file)
            with suppress(OSError):
                beside.unlink()
        else:
            with suppress(OSError):
                beside.unlink()
            os.close(file)


def _lock_path(path: Path) -> Path:
    """The file that carries the lock, named by a digest: a longer name may be too long for the system."""
    name = hashlib.sha256(path.name.casefold().encode(errors="surrogateescape")).hexdigest()[:16]
    return path.with_name(f".credo-{name}.lock")


def _locked(beside: Path, path: FilePath) -> int:
    start, told = time.monotonic(), False
    while (file := _attempt(beside, path)) is None:
        waited = time.monotonic() - start
        if waited > LOCK_SECONDS:
            raise StorageError(
                f"can't change {path}: another process has been changing it for {LOCK_SECONDS:g} seconds. "
                "Nothing was changed; try again when it is done"
            )
        if waited > SOON and not told:
            told = True
            tell(f"waiting for another process that is changing {path}")
        time.sleep(POLL)
    return file


def _attempt(beside: Path, path: FilePath) -> int | None:
    """The open, locked file; None while another process holds the lock."""
    try:
        file = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:  # read-only, so that another user's file can be locked, too
        if not beside.exists():
            raise
        file = os.open(beside, os.O_RDONLY)
    try:
        _try(file)
        if not os.path.samestat(os.fstat(file), beside.stat()):
            raise FileNotFoundError
    except OSError as error:
        if error.errno in NO_LOCKS_ERRORS:
            tell(f"the folder of {path} doesn't support locks: run one command at a time on this file")
            return file
        os.close(file)
        if error.errno in HELD or isinstance(error, FileNotFoundError):
            return None
        raise
    except BaseException:
        os.close(file)
        raise
    return file
