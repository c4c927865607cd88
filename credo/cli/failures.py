"""Failures of a run: one sentence on stderr, and an exit code."""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from credo.cli.streams import drop_output, live, remark
from credo.errors import CredoError

BROKEN_PIPE = 128 + signal.SIGPIPE if hasattr(signal, "SIGPIPE") else 1
STOP_SIGNALS = {
    getattr(signal, name): what
    for name, what in {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "terminated"}.items()
    if hasattr(signal, name)
}


class Failure(click.ClickException):
    """An error as one sentence, after the name of the program."""

    def show(self, file: object = None) -> None:  # noqa: ARG002 - click's signature
        remark(f"credo: {self.format_message()}")


class Stops:
    """The signals that stop this run."""

    def __init__(self) -> None:
        self.caught: list[int] = []

    @contextmanager
    def heard(self, to_the_end: bool) -> Iterator[None]:
        """A block in which these signals raise KeyboardInterrupt, so that unfinished work is undone. Ignored signals
        stay ignored.

        If the process ends with the block, later interrupts have their default action: Python would print a traceback.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        asked = {number: own for number, own in before.items() if own not in (signal.SIG_IGN, None)}
        for number in asked:
            signal.signal(number, self._stop)
        try:
            yield
        finally:
            for number, own in asked.items():
                signal.signal(number, signal.SIG_DFL if to_the_end else own)

    def _stop(self, number: int, frame: object) -> None:  # noqa: ARG002 - Python's signature
        self.caught.append(number)
        if len(self.caught) > 1:
            return  # the run is stopping already
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second interrupt ends the process at once
        for console in live:
            console.show_cursor()  # hidden by the progress bar
        raise KeyboardInterrupt

    def end(self) -> click.exceptions.Exit:
        number = self.caught[0] if self.caught else signal.SIGINT
        remark(f"credo: {STOP_SIGNALS[number]}")
        return click.exceptions.Exit(128 + number)


@contextmanager
def in_one_sentence(stops: Stops, said: Callable[[str], str] = str) -> Iterator[None]:
    """Turn all exceptions of the block into click's, which end a run. `said` rewrites the advice in an error."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if stops.caught or isinstance(error, KeyboardInterrupt):  # libraries may raise anything when interrupted
            drop_output()
            raise stops.end() from None
        if isinstance(error, BrokenPipeError):
            drop_output()
            raise click.exceptions.Exit(BROKEN_PIPE) from None
        if isinstance(error, CredoError):
            raise Failure(said(str(error))) from None
        if isinstance(error, MemoryError):
            raise Failure("there isn't enough memory for this") from None
        if isinstance(error, OSError):
            raise _refusal(error) from None
        raise


def _refusal(error: OSError) -> Failure:
    """The sentence for an OSError; if it names no file, standard output couldn't be written."""
    why = error.strerror or str(error)
    if error.filename is not None:
        return Failure(f"{error.filename}: {why}")
    drop_output()
    reasons = {errno.EBADF: "it is closed", errno.ENOSPC: "the device is full"}
    return Failure(f"can't write to standard output: {reasons.get(error.errno or 0, why)}")
