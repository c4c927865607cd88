"""Notices: what was done and may not have been expected, told at the line that asked for it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from credo.errors import Notice

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


def tell(message: str) -> None:
    """A warning of the line outside this package that led here, unless nobody wants to hear it."""
    if _quiet.get():
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, Notice, stacklevel=level)


@contextmanager
def quietly() -> Iterator[None]:
    """Nothing is told inside; other threads' notices are."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)
