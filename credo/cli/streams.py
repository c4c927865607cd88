"""Output: results to stdout, remarks to stderr, both without control characters."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING

from credo.errors import printable

if TYPE_CHECKING:
    from rich.console import Console

live: list[Console] = []  # the console of the current progress bar, if any


def echo(text: str) -> None:
    """Print a line of the result."""
    sys.stdout.write(f"{printable(text)}\n")
    sys.stdout.flush()


def echo_done(text: str) -> None:
    """Print a line about completed work: the run has succeeded, even if standard output can't be written."""
    try:
        echo(text)
    except (OSError, ValueError):
        drop_output()
        remark(text)


def remark(text: str) -> None:
    """Print a line on stderr, above the progress bar if there is one. The run goes on if stderr can't be written."""
    with suppress(OSError, ValueError):  # a full device, a stream that was closed
        if live:
            from rich.text import Text

            live[-1].print(Text(printable(text)))
        elif sys.stderr is not None:
            sys.stderr.write(f"{_in_lines(printable(text))}\n")
            sys.stderr.flush()


def _in_lines(text: str) -> str:
    """The text wrapped between words for a terminal."""
    if not sys.stderr.isatty():
        return text
    width = max(20, get_terminal_size().columns - 1)
    lines = (wrap(line, width, break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    return "\n".join("\n".join(parts) for parts in lines)


def open_streams() -> None:
    """Replace streams that were closed (`>&-`) before the run: writing to stdout fails, stderr is lost.

    Otherwise the next file that is opened would get their descriptors, and output would end in it.
    """
    if sys.stdout is None:
        _fill(1, os.O_RDONLY)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - a descriptor
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode shows "?" instead
    if sys.stderr is None:
        _fill(2, os.O_WRONLY)
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def _fill(descriptor: int, mode: int) -> None:
    nowhere = os.open(os.devnull, mode)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def drop_output() -> None:
    """The reader is gone (as in `credo ... | head`): Python must not raise again when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):  # a stream without a descriptor, as in tests
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
