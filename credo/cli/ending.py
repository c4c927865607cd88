"""How a run ends that can't go on: one sentence on stderr, and an exit code that says why."""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from credo.cli.streams import drop_output, live, remark
from credo.errors import CredoError

BROKEN_PIPE = 128 + signal.SIGPIPE if hasattr(signal, "SIGPIPE") else 1
STOPS = {
    getattr(signal, name): what
    for name, what in {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "terminated"}.items()
    if hasattr(signal, name)
}


class Failure(click.ClickException):
    """What was wrong, in one sentence, after the name of the program."""

    def show(self, file: Any = None) -> None:  # noqa: ARG002 - click's signature
        remark(f"credo: {self.format_message()}")


class Stops:
    """The signals that asked this run to stop."""

    def __init__(self) -> None:
        self.caught: list[int] = []

    @contextmanager
    def heard(self, to_the_end: bool) -> Iterator[None]:
        """Inside, they raise KeyboardInterrupt, so that what is half done is undone. Ignored ones stay so.

        Where the process ends with the block, an interrupt after it is no news: Python would print a traceback.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in STOPS}
        asked = {number: own for number, own in before.items() if own not in (signal.SIG_IGN, None)}
        for number in asked:
            signal.signal(number, self._stop)
        try:
            yield
        finally:
            for number, own in asked.items():
                signal.signal(number, signal.SIG_DFL if to_the_end else own)

    def _stop(self, number: int, frame: Any) -> None:  # noqa: ARG002 - Python's signature
        self.caught.append(number)
        if len(self.caught) > 1:
            return  # it is being done
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # one who asks twice doesn't want to wait
        for console in live:
            console.show_cursor()  # which a bar hides
        raise KeyboardInterrupt

    def end(self) -> click.exceptions.Exit:
        number = self.caught[0] if self.caught else signal.SIGINT
        remark(f"credo: {STOPS[number]}")
        return click.exceptions.Exit(128 + number)


@contextmanager
def in_one_sentence(stops: Stops, said: Callable[[str], str] = str) -> Iterator[None]:
    """Whatever ends the block early as click's exceptions, which end a run. `said` is how its advice reads here."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if stops.caught or isinstance(error, KeyboardInterrupt):  # whatever a library makes of being stopped
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
    """What the system refuses; where it names no file, it is the output that could not be written."""
    why = error.strerror or str(error)
    if error.filename is not None:
        return Failure(f"{error.filename}: {why}")
    drop_output()
    reasons = {errno.EBADF: "it is closed", errno.ENOSPC: "the device is full"}
    return Failure(f"can't write to standard output: {reasons.get(error.errno or 0, why)}")
