"""How much work something is, on any machine: lines of Python that run, and a guard against what never ends."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDLESS = 120  # seconds of the processor, a hundred times what the slowest guarded test takes


def lines_run(call: Callable[[], Any]) -> int:
    """How many lines of Python run in a call: the same each time, however fast the machine is."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG001
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@contextmanager
def guarded() -> Iterator[None]:
    """What takes the square of a long input's length fails instead of running for hours.

    Not a measure of speed: the limit is of processor time, which other processes don't use up, and generous.
    """

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise AssertionError(f"still at work after {ENDLESS} s of processor time: is it quadratic?")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, ENDLESS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
