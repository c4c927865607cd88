"""Engines run jobs over partitions of a table and give the results in the partitions' order. The default is Local.

A job is a picklable function of one batch; a partition is picklable too, and is opened where the job runs. So engines
may run them in threads, in other processes, or on other machines. Rows that an engine holds itself (the partitions of a
Dask or Spark DataFrame) are worked on there, whatever the current engine is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from credo.engines.local import Local
from credo.engines.partitions import Engine, Partition, Sized, Split, opened, sums
from credo.errors import EngineError

if TYPE_CHECKING:
    from credo.engines.dask import Dask as Dask
    from credo.engines.spark import Spark as Spark

__all__ = ["Dask", "Engine", "Local", "Partition", "Serial", "Spark", "current", "map", "reduce", "using"]

Rows = TypeVar("Rows", bound=Sized)
Result = TypeVar("Result")

_LAZY = {"Dask": "credo.engines.dask", "Spark": "credo.engines.spark"}  # engines that need optional packages


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        try:
            return getattr(import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            raise EngineError(
                f"the {name} engine needs a package that isn't installed, {error.name}: "
                f"pip install 'credo-bayes[{name.lower()}]'"
            ) from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Serial:
    """One batch after another, without threads: for a few small batches, for which starting threads would dominate."""

    shares_memory = True

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
    """The engine that jobs run on, unless their rows are held by another one."""
    return _engine.get() or Local()


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Run jobs on another engine, inside a with block."""
    token = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(token)


def at_home(partitions: Iterable[Partition[Any]]) -> Engine:
    """The engine that holds these partitions, or the current one."""
    first = (
        partitions[0] if isinstance(partitions, Sequence) and partitions else None
    )  # an iterator holds local batches
    return (first and first.home) or current()


def map(job: Callable[[Rows], Result], partitions: Iterable[Partition[Rows]]) -> Iterator[Result]:  # noqa: A001
    """job(batch) for each batch of each partition, in order, on the engine that holds them."""
    return at_home(partitions).map(job, partitions)


def reduce(
    job: Callable[[Rows], Result],
    partitions: Iterable[Partition[Rows]],
    total: Callable[[Sequence[Result]], Result],
) -> Result | None:
    """The sum of job(batch) by a fixed tree, on the engine that holds the partitions; None without batches."""
    return at_home(partitions).reduce(job, partitions, total)


def reduce_by_key(
    job: Callable[[Rows], Result],
    partitions: Iterable[Partition[Rows]],
    total: Callable[[Sequence[Result]], Result],
    split: Split,
) -> Result | None:
    """The same sum for results with many keys: workers add shards of keys, which are joined here."""
    from credo.engines.remote import Remote

    engine = at_home(partitions)
    if not isinstance(engine, Remote):
        return engine.reduce(job, partitions, total)
    shards = engine.reduce_by_key(job, partitions, total, split)
    return total(shards) if shards else None
