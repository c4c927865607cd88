"""Engines run jobs over partitions of a table and give the results in the partitions' order. The default is Local.

A job is a picklable function of one batch; a partition is picklable too, and is opened where the job runs. So engines
may run them in threads, in other processes, or on other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

from credo.engines.local import Local
from credo.engines.partitions import Partition, Sized, opened, sums

__all__ = ["Engine", "Local", "Partition", "Serial", "current", "using"]

Rows = TypeVar("Rows", bound=Sized)
Result = TypeVar("Result")


class Engine(Protocol):
    """What runs jobs. Results don't depend on which engine does, nor on how many workers it has."""

    def map(self, job: Callable[[Rows], Result], partitions: Iterable[Partition[Rows]], /) -> Iterator[Result]:
        """job(batch) for each batch of each partition, in their order."""
        ...

    def reduce(
        self,
        job: Callable[[Rows], Result],
        partitions: Iterable[Partition[Rows]],
        total: Callable[[Sequence[Result]], Result],
        /,
    ) -> Result | None:
        """The sum of these, first within each partition, then over partitions (see `added`); None of no batches."""
        ...


class Serial:
    """One batch after another, without threads: for a few small ones, to which starting threads would be the work."""

    def map(self, job: Callable[[Rows], Result], partitions: Iterable[Partition[Rows]], /) -> Iterator[Result]:
        return (job(batch) for _, batch in opened(partitions))

    def reduce(
        self,
        job: Callable[[Rows], Result],
        partitions: Iterable[Partition[Rows]],
        total: Callable[[Sequence[Result]], Result],
        /,
    ) -> Result | None:
        return sums(((place, job(batch)) for place, batch in opened(partitions)), total)


_engine: ContextVar[Engine | None] = ContextVar("engine", default=None)


def current() -> Engine:
    """The engine that jobs run on."""
    return _engine.get() or Local()


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Run jobs on another engine, inside a with block."""
    token = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(token)
