"""Engines whose workers are other processes: the tasks sent to them, and their results."""

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

Watch = Callable[[int, int | None], None]  # called with the number of finished partitions, and their total if known

partition_progress: ContextVar[Watch | None] = ContextVar("partition_progress", default=None)


SPLIT_SEQUENCE = (
    "a sequence continues in the next partition of the frame: keep each in one, as with Dask's frame.shuffle(sequence) "
    "or Spark's frame.repartition(sequence).sortWithinPartitions(sequence, order)"
)


class Done(NamedTuple):
    """The workers' results for one or several partitions."""

    results: list[Any]  # of each batch; or only their sum, None without batches
    rows: int
    notices: list[str]  # given on the workers
    partitions: int = 1  # the number of partitions


NO_RESULT = Done([None], 0, [])  # the result of a partition without rows


def joined(results: list[Any], parts: Sequence[Done]) -> Done:
    """The results, with the rows and the distinct notices of all parts."""
    notices = [*dict.fromkeys(notice for done in parts for notice in done.notices)]
    return Done(results, sum(done.rows for done in parts), notices, sum(done.partitions for done in parts))


@dataclass(frozen=True, eq=False)
class Task:
    """A job over all batches of a partition: the results of each, or with `total` their sum."""

    job: Callable[[Any], Any]
    total: Callable[[Sequence[Any]], Any] | None = None
    split: Split | None = None  # splits a partition's sum into shards

    def __call__(self, partition: Partition[Any]) -> Done:
        """Run by the worker."""
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
    """An engine whose tasks run elsewhere, one per partition."""

    shares_memory = False

    @abstractmethod
    def run(self, task: Task, partitions: Iterable[Partition[Any]]) -> Iterator[Done]:
        """task(partition) for each partition, in order; task and partitions are picklable."""

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
        """The sum, by the same tree as on every engine."""
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
        """The sum in shards, added separately: no worker holds all keys."""
        return [shard for shard in self.summed(Task(job, total, split), partitions) if shard is not None]

    def summed(self, task: Task, partitions: Iterable[Partition[Any]]) -> list[Any]:
        """The sum over partitions, or those of the shards that the task is split into. Subclasses let the workers add;
        here the driver adds all keys at once."""
        assert task.total is not None
        done = watched(self.run(replace(task, split=None), partitions), partitions)
        return [added((each.results[0] for each in done), task.total)]


def watched(done: Iterable[Done], partitions: Iterable[Partition[Any]]) -> Iterator[Done]:
    """The results in order; notices and progress are reported as they arrive."""
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
    """The sum of sums over equal numbers of partitions (except the last)."""
    return tree(sums, lambda one: one[0], lambda pair: pair_total(pair, total), fan_in=1)


def in_partition(error: CredoError, place: int) -> CredoError:
    """The same error, naming the partition."""
    return type(error)(f"{error} (partition {place + 1})") if len(error.args) == 1 else error
