"""Notices: warnings about unexpected behaviour, issued once, at the line of the caller."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import local

from credo.errors import Notice, printable

NOTICE_COLUMNS = 3  # listed in a notice about several columns
PASSED_BY = (__package__, "functools")  # a cached property is computed in functools
FIRST_COLUMN = "{column}"  # a placeholder in messages about columns

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


class _Kept(local):
    """The notices of this thread, if recorded."""

    told: list[str] | None = None


_kept = _Kept()

# Each message once in a process, whatever the line; users' own filters come first.
warnings.filterwarnings("once", category=Notice, append=True)


def tell(message: str) -> None:
    """Issue a notice: a warning at the calling line outside this package, unless notices are silenced."""
    if _quiet.get():
        return
    if _kept.told is not None:
        _kept.told.append(printable(message))
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PASSED_BY:
        level, frame = level + 1, frame.f_back
    warnings.warn(printable(message), Notice, stacklevel=level)


class Once:
    """A notice that is issued once, however often the same rows are read. Pickled, it is a new one."""

    told = False

    def tell(self, message: str) -> None:
        if not self.told:
            self.told = True
            tell(message)

    def __reduce__(self) -> tuple[type[Once], tuple[()]]:
        return Once, ()


def tell_of_columns(said: Iterable[tuple[str, str]], state: str = "") -> None:
    """Messages about columns: one notice for all columns with the same message.

    `state` is the columns' state, such as "ignored"; the message is then the reason.

    >>> with warnings.catch_warnings(record=True, action="always") as told:
    ...     tell_of_columns((name, "no cell is known") for name in "abcde")
    >>> str(told[0].message)
    "columns 'a', 'b', 'c' and 2 more: no cell is known"
    """
    columns: dict[str, list[str]] = {}
    for name, what in said:
        columns.setdefault(what, []).append(name)
    for what, names in columns.items():
        are = f" {'is' if len(names) == 1 else 'are'} {state}" if state else ""
        tell(f"{listed(names)}{are}: {what.replace(FIRST_COLUMN, repr(names[0]))}")


def listed(columns: Sequence[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b"])
    ("column 'a'", "columns 'a' and 'b'")
    """
    if len(columns) == 1:
        return f"column {columns[0]!r:.80}"
    most = len(columns) if len(columns) <= NOTICE_COLUMNS else NOTICE_COLUMNS + 1
    shown = [f"{name!r:.80}" for name in columns[: most - 1]]
    last = f"{columns[most - 1]!r:.80}" if most == len(columns) else f"{len(columns) - len(shown)} more"
    return f"columns {', '.join(shown)} and {last}"


@contextmanager
def quietly() -> Iterator[None]:
    """Silence notices inside the block; not those of other threads."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


@contextmanager
def recorded() -> Iterator[list[str]]:
    """Record this thread's notices inside the block instead of issuing warnings.

    >>> with recorded() as told:
    ...     tell("a column is empty")
    >>> told
    ['a column is empty']
    """
    before, _kept.told = _kept.told, []
    try:
        yield _kept.told
    finally:
        _kept.told = before
