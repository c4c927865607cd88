"""How both sides are measured: in one run, in turns, the best of a few; memory in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread on both sides, and no warnings."""
    from threadpoolctl import threadpool_limits

    before = os.environ.get("CREDO_THREADS")
    os.environ["CREDO_THREADS"] = "1"
    try:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            yield
    finally:
        os.environ.pop("CREDO_THREADS")
        if before is not None:
            os.environ["CREDO_THREADS"] = before


@dataclass(frozen=True)
class Line:
    """One row of RESULTS.md: ours against theirs; a ratio above 1 means that credo is faster."""

    what: str
    peer: str
    ours: float
    theirs: float
    target: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    @property
    def kept(self) -> bool:
        return self.ratio >= self.target

    def __str__(self) -> str:
        kept = "yes" if self.kept else "**no**"
        peer = f"{self.peer}: {_shown(self.theirs)}"
        return f"| {self.what} | {_shown(self.ours)} | {peer} | {self.ratio:.2f} | {self.target:.2g} | {kept} |"


@dataclass(frozen=True)
class Limit:
    """A figure that must stay below a limit."""

    what: str
    value: float
    limit: float
    unit: str

    @property
    def kept(self) -> bool:
        return self.value <= self.limit

    def __str__(self) -> str:
        kept = "yes" if self.kept else "**no**"
        return f"| {self.what} | {self.value:.3g} {self.unit} | | | at most {self.limit:g} {self.unit} | {kept} |"


@dataclass(frozen=True)
class Least:
    """A figure that must reach a limit."""

    what: str
    value: float
    limit: float

    @property
    def kept(self) -> bool:
        return self.value >= self.limit

    def __str__(self) -> str:
        kept = "yes" if self.kept else "**no**"
        return f"| {self.what} | {self.value:.4f} | | | at least {self.limit:g} | {kept} |"


@dataclass(frozen=True)
class Ratio:
    """A figure that must be less than a peer's."""

    what: str
    ours: float
    theirs: float

    @property
    def kept(self) -> bool:
        return self.ours < self.theirs

    def __str__(self) -> str:
        kept = "yes" if self.kept else "**no**"
        return f"| {self.what} | {self.ours:.3g} | {self.theirs:.3g} | | less | {kept} |"


def _shown(seconds: float) -> str:
    """A time, in its unit."""
    if seconds >= 0.1:
        return f"{seconds:.3f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def in_turns(ours: Callable[[], Any], theirs: Callable[[], Any], times: int = 3) -> tuple[float, float]:
    """The best of a few runs of each, taken in turns so that a noisy moment hits both."""
    best = [float("inf"), float("inf")]
    for _ in range(times):
        for i, run in enumerate((ours, theirs)):
            start = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - start)
    return best[0], best[1]


def first_call(code: str) -> float:
    """Seconds that a fresh interpreter takes for some code, imports included."""
    import subprocess
    import sys

    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def peak_megabytes(work: Callable[..., object], *args: object) -> float:
    """The largest resident size of a fresh process that does the work."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return float(pool.apply(_peak, (work, args)))


def _peak(work: Callable[..., object], args: tuple[object, ...]) -> float:
    work(*args)
    return _peak_now()  # not ru_maxrss, which begins at the peak of the process that started this one


def peak_above(work: Callable[[Callable[[], None]], None]) -> float:
    """Megabytes by which a fresh process grows at most from where the work calls its argument."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return float(pool.apply(_growth, (work,)))


def _growth(work: Callable[[Callable[[], None]], None]) -> float:
    start = 0.0

    def measure() -> None:
        nonlocal start
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins again here
        start = _peak_now()

    work(measure)
    return _peak_now() - start


def _peak_now() -> float:
    """The resident size at its peak, in megabytes (Linux)."""
    status = Path("/proc/self/status").read_text()
    return float(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024
