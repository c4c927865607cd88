"""Engines whose workers are other processes, here or elsewhere: what is sent there, and what comes back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from credo.engines.local import one_blas_thread, progress
from credo.engines.partitions import Partition, Sized, Split, added, pair_total, run_total, subtotal, tree
from credo.errors import CredoError
from credo.notices import recorded, tell

Rows = TypeVar("Rows", bound=Sized)
Result = TypeVar("Result")

Watch = Callable[[int, int | None], None]  # is told how many partitions of a pass are done, and of how many, if known

partition_progress: ContextVar[Watch | None] = ContextVar("partition_progress", default=None)


SPLIT_SEQUENCE = (
    "a sequence continues in the next partition of the frame: keep each in one, as with Dask's frame.shuffle(sequence) "
    "or Spark's frame.repartition(sequence).sortWithinPartitions(sequence, order)"
)


class Done(NamedTuple):
    """What workers found in a partition, or in several."""

    results: list[Any]  # of each batch; or their sum alone, which is None of no batches
    rows: int
    notices: list[str]  # that were told there
    partitions: int = 1  # of which these are


NOTHING = Done([None], 0, [])  # of a partition without rows


def joined(results: list[Any], parts: Sequence[Done]) -> Done:
    """Those results; and the rows and notices of the parts that they come of, equal notices as one."""
    notices = [*dict.fromkeys(notice for done in parts for notice in done.notices)]
    return Done(results, sum(done.rows for done in parts), notices, sum(done.partitions for done in parts))


@dataclass(frozen=True, eq=False)
class Task:
    """A job over all batches of a partition: the results of each, or with `total` their sum."""

    job: Callable[[Any], Any]
    total: Callable[[Sequence[Any]], Any] | None = None
    split: Split | None = None  # what the sum is taken apart by, after the worker is done with a partition

    def __call__(self, partition: Partition[Any]) -> Done:
        """To be called by the worker."""
        rows = 0

        def results() -> Iterator[Any]:
            nonlocal rows
            for batch in partition.batches():
                yield self.job(batch)
                rows += batch.rows

        with recorded() as told, one_blas_thread():
            found = [*results()] if self.total is None else [subtotal(results(), self.total)]
        return Done(found, rows, told)


class Remote(ABC):
    """An engine that has tasks done elsewhere, a partition each."""

    shares_memory = False

    @abstractmethod
    def run(self, task: Task, partitions: Iterable[Partition[Any]]) -> Iterator[Done]:
        """task(partition) for each, in their order; task and partitions are picklable."""

    def map(self, job: Callable[[Rows], Result], partitions: Iterable[Partition[Rows]], /) -> Iterator[Result]:
        done = watched(self.run(Task(job), partitions), partitions)
        return (result for each in done for result in each.results)

    def reduce(
        self,
        job: Callable[[Rows], Result],
        partitions: Iterable[Partition[Rows]],
        total: Callable[[Sequence[Result]], Result],
        /,
    ) -> Result | None:
        """By the same tree as anywhere."""
        whole: Result | None = self.summed(Task(job, total), partitions)[0]
        return whole

    def reduce_by_key(
        self,
        job: Callable[[Rows], Result],
        partitions: Iterable[Partition[Rows]],
        total: Callable[[Sequence[Result]], Result],
        split: Split,
        /,
    ) -> list[Result]:
        """The sum in shards, each added up by itself: no worker need hold all keys."""
        return [shard for shard in self.summed(Task(job, total, split), partitions) if shard is not None]

    def summed(self, task: Task, partitions: Iterable[Partition[Any]]) -> list[Any]:
        """The sum over partitions, or those of the shards that the task is split into. Engines of many workers have
        them add; here the driver does, all keys at once."""
        assert task.total is not None
        done = watched(self.run(replace(task, split=None), partitions), partitions)
        return [added((each.results[0] for each in done), task.total)]


def watched(done: Iterable[Done], partitions: Iterable[Partition[Any]]) -> Iterator[Done]:
    """What comes back, in order; notices are told, and progress is reported, as it comes."""
    report, watch = progress.get(), partition_progress.get()
    count = len(partitions) if isinstance(partitions, Sequence) else None
    number = 0
    for each in done:
        number += each.partitions
        for notice in each.notices:
            tell(notice)
        if report:
            report(each.rows)
        if watch:
            watch(number, count)
        yield each


def added_runs(parts: Sequence[Done], total: Callable[[Sequence[Any]], Any], runs: bool) -> Done:
    """The sum of up to 32 partitions, or of up to 32 such sums, by the tree of `added`."""
    results = [part.results[0] for part in parts]
    return joined([run_total(results, total) if runs else of_pairs(results, total)], parts)


def of_pairs(sums: Sequence[Any], total: Callable[[Sequence[Any]], Any]) -> Any:
    """The sum of sums of equal numbers of partitions, but for the last."""
    return tree(sums, lambda one: one[0], lambda pair: pair_total(pair, total), fan_in=1)


def in_partition(error: CredoError, place: int) -> CredoError:
    """The same error, which says in which partition it was found."""
    return type(error)(f"{error} (partition {place + 1})") if len(error.args) == 1 else error
