"""The local engine: threads over batches, added up in the batches' order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import Context, ContextVar
from functools import cache
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

from credo.errors import DataError


class Sized(Protocol):
    @property
    def rows(self) -> int: ...


Part = TypeVar("Part", bound=Sized)
Result = TypeVar("Result")

FAN_IN = 32  # results that are added in one go: uniting levels once for many parts costs little more than once for two

progress: ContextVar[Callable[[int], None] | None] = ContextVar("progress", default=None)


def workers() -> int:
    """All cores, or as many as CREDO_THREADS says."""
    asked = os.environ.get("CREDO_THREADS", "")
    if not asked:
        return os.cpu_count() or 1
    if not asked.isdigit() or int(asked) < 1:
        raise DataError(f"CREDO_THREADS must be a whole number of at least 1, but is {asked!r}")
    return int(asked)


def reduce(
    summarise: Callable[[Part], Result], batches: Iterable[Part], total: Callable[[Sequence[Result]], Result]
) -> Result | None:
    """total(summarise(batch) for each batch), in the batches' order however many threads there are; None of none."""
    done: list[Result] = []
    for result in mapped(summarise, batches):
        done.append(result)
        if len(done) > FAN_IN:
            done = [total(done)]
    return total(done) if done else None


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Matrix products on one thread: several of ours with several of BLAS's each would wait for one another."""
    found: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return found


def mapped(function: Callable[[Part], Result], batches: Iterable[Part]) -> Iterator[Result]:
    """function of each batch, in order, a few batches ahead of the reader."""
    coming, count = iter(batches), workers()
    begun = [*islice(coming, 2)]
    if len(begun) == 1:
        yield _alone(function, begun[0])
        return
    try:
        yield from _in_threads(function, chain(begun, coming), count)
    finally:
        if isinstance(batches, Generator):
            batches.close()  # a file or a connection behind it is free again at once


def _alone(function: Callable[[Part], Result], batch: Part) -> Result:
    """As a thread would do it: in a context of its own, which neither the caller's settings nor its progress are in."""
    with one_blas_thread():
        result = Context().run(function, batch)
    if report := progress.get():
        report(batch.rows)
    return result


def _in_threads(function: Callable[[Part], Result], batches: Iterable[Part], count: int) -> Iterator[Result]:
    report = progress.get()
    with one_blas_thread(), ThreadPoolExecutor(count) as pool:
        waiting: deque[tuple[int, Future[Result]]] = deque()

        def first() -> Result:
            rows, future = waiting.popleft()
            result = future.result()
            if report:
                report(rows)
            return result

        try:
            for batch in batches:
                waiting.append((batch.rows, pool.submit(function, batch)))
                if len(waiting) > count:
                    yield first()
            while waiting:
                yield first()
        finally:
            for _, future in waiting:
                future.cancel()
