"""Engines whose workers are other processes, here or elsewhere: what is sent there, and what comes back."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from credo.engines.local import one_blas_thread, progress
from credo.engines.partitions import Partition, Sized, added, subtotal
from credo.errors import Notice
from credo.notices import tell

Rows = TypeVar("Rows", bound=Sized)
Result = TypeVar("Result")


class Done(NamedTuple):
    """What a worker found in a partition."""

    results: list[Any]
    rows: int
    notices: list[str]  # that were told there


@dataclass(frozen=True, eq=False)
class Task:
    """A job over all batches of a partition: the results of each, or with `total` their sum."""

    job: Callable[[Any], Any]
    total: Callable[[Sequence[Any]], Any] | None = None

    def __call__(self, partition: Partition[Any]) -> Done:
        """To be called by the worker, which runs one task at a time."""
        rows = 0

        def results() -> Iterator[Any]:
            nonlocal rows
            for batch in partition.batches():
                yield self.job(batch)
                rows += batch.rows

        with warnings.catch_warnings(record=True, action="always", category=Notice) as told, one_blas_thread():
            found = [*results()] if self.total is None else subtotal(results(), self.total)
        return Done(found, rows, [str(each.message) for each in told])


class Remote(ABC):
    """An engine that has tasks done elsewhere, a partition each."""

    @abstractmethod
    def run(self, task: Task, partitions: Iterable[Partition[Any]]) -> Iterator[Done]:
        """task(partition) for each, in their order; task and partitions are picklable."""

    def map(self, job: Callable[[Rows], Result], partitions: Iterable[Partition[Rows]], /) -> Iterator[Result]:
        return (result for done in self._done(Task(job), partitions) for result in done.results)

    def reduce(
        self,
        job: Callable[[Rows], Result],
        partitions: Iterable[Partition[Rows]],
        total: Callable[[Sequence[Result]], Result],
        /,
    ) -> Result | None:
        return added((sum_ for done in self._done(Task(job, total), partitions) for sum_ in done.results), total)

    def _done(self, task: Task, partitions: Iterable[Partition[Any]]) -> Iterator[Done]:
        report = progress.get()
        for done in self.run(task, partitions):
            for notice in done.notices:
                tell(notice)
            if report:
                report(done.rows)
            yield done
