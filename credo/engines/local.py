"""The local engine: threads over batches."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import Context, ContextVar
from functools import cache
from itertools import chain, islice
from threading import Lock
from typing import Any, TypeVar

from credo.engines.partitions import Partition, Sized, opened, sums
from credo.errors import DataError

Rows = TypeVar("Rows", bound=Sized)
Result = TypeVar("Result")

SCIPY_BLAS = {"scipy.special", "scipy.linalg"}  # modules that load it

progress: ContextVar[Callable[[int], None] | None] = ContextVar("progress", default=None)


class Local:
    """Threads of this process. Partitions are opened one after another, and their batches distributed to threads."""

    shares_memory = True

    def map(self, job: Callable[[Rows], Result], partitions: Iterable[Partition[Rows]], /) -> Iterator[Result]:
        return (result for _, result in _mapped(job, opened(partitions)))

    def reduce(
        self,
        job: Callable[[Rows], Result],
        partitions: Iterable[Partition[Rows]],
        total: Callable[[Sequence[Result]], Result],
        /,
    ) -> Result | None:
        return sums(_mapped(job, opened(partitions)), total)


def workers() -> int:
    """All cores, or CREDO_THREADS."""
    asked = os.environ.get("CREDO_THREADS", "")
    if not asked:
        return os.cpu_count() or 1
    if not asked.isdigit() or int(asked) < 1:
        raise DataError(f"CREDO_THREADS must be a whole number of at least 1, but is {asked!r}")
    return int(asked)


@cache
def _blas(_: bool) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class BlasLimit:
    """Limits BLAS to one thread, as long as any thread of this process is in a block that asks for it.

    The limit is the process's: blocks of two threads that overlap, each restoring what it found, would leave it.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limits: dict[bool, Any] = {}  # by whether SciPy's BLAS is included

    def __enter__(self) -> None:
        with self._lock:
            loaded = not SCIPY_BLAS.isdisjoint(sys.modules)
            if loaded not in self._limits:
                self._limits[loaded] = _blas(loaded).limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside:
                return
            _let_any_thread_limit()
            while self._limits:
                self._limits.popitem()[1].restore_original_limits()
            _let_any_thread_limit()


def _let_any_thread_limit() -> None:
    """To newer versions of threadpoolctl, OpenBLAS belongs to the thread that limited it first: calls of others are
    ignored."""
    import threadpoolctl

    controller = getattr(threadpoolctl, "OpenBLASController", None)
    if (clear := getattr(controller, "clear_controlling_thread", None)) is not None:
        clear(force=True)


_BLAS_LIMIT = BlasLimit()


def one_blas_thread() -> BlasLimit:
    """A block with single-threaded BLAS: its threads would compete with ours. SciPy has a BLAS of its own, which is
    included if it was loaded before the block."""
    return _BLAS_LIMIT


@contextmanager
def small_matrices() -> Iterator[None]:
    """A block, or a function, that solves many small systems by NumPy and SciPy: threads of BLAS would only wait."""
    import scipy.special  # noqa: F401 - loads SciPy's BLAS, so that it is limited, too

    with one_blas_thread():
        yield


def _mapped(job: Callable[[Rows], Result], batches: Generator[tuple[int, Rows]]) -> Iterator[tuple[int, Result]]:
    """job(batch) and the place of its partition, in order, a few batches ahead of the reader."""
    count = workers()
    with closing(batches):  # closes the file or connection behind it at once
        begun = [*islice(batches, 2)]
        every = chain(begun, batches)
        if len(begun) == 1 or count == 1:
            yield from ((place, _in_own_context(job, batch)) for place, batch in every)
        else:
            yield from _in_threads(job, every, count)


def _in_own_context(job: Callable[[Rows], Result], batch: Rows) -> Result:
    """The job in a context of its own, as in a thread: without the caller's settings and progress."""
    with one_blas_thread():
        result = Context().run(job, batch)
    if report := progress.get():
        report(batch.rows)
    return result


def _in_threads(
    job: Callable[[Rows], Result], batches: Iterable[tuple[int, Rows]], count: int
) -> Iterator[tuple[int, Result]]:
    report = progress.get()
    with one_blas_thread(), ThreadPoolExecutor(count) as pool:
        waiting: deque[tuple[int, int, Future[Result]]] = deque()

        def first() -> tuple[int, Result]:
            place, rows, future = waiting.popleft()
            result = future.result()
            if report:
                report(rows)
            return place, result

        try:
            for place, batch in batches:
                waiting.append((place, batch.rows, pool.submit(job, batch)))
                if len(waiting) > count:
                    yield first()
            while waiting:
                yield first()
        finally:
            for _, _, future in waiting:
                future.cancel()
