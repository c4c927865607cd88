"""The Spark engine: each partition becomes one small row, made by Spark's Python workers; sums are added there, too.

Rows go to the workers as Arrow record batches (`mapInArrow`): no pandas is involved.
"""

from __future__ import annotations

import gc
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from credo.engines.partitions import FAN_IN, SHARDS, OfFrame, Partition, run_total
from credo.engines.remote import (
    NO_RESULT,
    SPLIT_SEQUENCE,
    Done,
    Remote,
    Task,
    added_runs,
    in_partition,
    joined,
    of_pairs,
    watched,
)
from credo.engines.sending import Placeholder, packed, unpacked
from credo.errors import CredoError, DataError, EngineError

RESULT_SCHEMA = "place long, shard long, blob binary"  # of the result of one or several partitions
WINDOW_PARTITIONS = 8 * FAN_IN  # partitions of files per Spark job
FEW_SUMS = 2 * FAN_IN  # at most this many sums are added by the driver


class SparkPiece(Placeholder):
    """A partition of a DataFrame, which can be read only where Spark has it."""

    def __init__(self, frame: Any, place: int) -> None:
        self.frame, self.place = frame, place

    def at(self, place: int) -> SparkPiece:
        return SparkPiece(self.frame, place)

    def batches(self) -> Iterator[Any]:
        raise DataError(
            "the rows of a Spark frame can't be read here: bring a few of them with frame.limit(n).toArrow()"
        )


class Streamed:
    """A piece on a Spark worker: record batches, to be read once."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches

    def at(self, place: int) -> Streamed:  # noqa: ARG002 - it is there
        return self

    def batches(self) -> Iterator[Any]:
        return self._batches


@dataclass(frozen=True, eq=False)
class Failed:
    """A deterministic error, for which Spark needn't retry."""

    error: CredoError


Found = dict[tuple[int, int], Done | Failed]  # by place and shard


class Spark(Remote):
    """The Python workers of a Spark session: that one, or the active one."""

    def __init__(self, session: Any = None) -> None:
        self._given = session

    @property
    def session(self) -> Any:
        """A SparkSession."""
        found = self._given or SparkSession.getActiveSession()
        if found is None:
            raise EngineError("there is no Spark session: start one, SparkSession.builder.getOrCreate()")
        return found

    def run(self, task: Task, partitions: Iterable[Partition[Any]]) -> Iterator[Done]:
        for window in self._windows(partitions):
            yield from _in_order(self._table(self._mapped(task, window), _frame_of(window)), len(window))

    def summed(self, task: Task, partitions: Iterable[Partition[Any]]) -> list[Any]:
        """The sum, computed by the workers until few sums are left for the driver."""
        assert task.total is not None
        sums: list[list[Any]] = [[] for _ in range(1 if task.split is None else SHARDS)]

        def done() -> Iterator[Done]:
            for window in self._windows(partitions):
                whole = self._total(task, window, len(sums))
                for own, result in zip(sums, whole.results, strict=True):
                    own.append(result)
                yield whole._replace(partitions=len(window))

        for _ in watched(done(), partitions):
            pass
        return [of_pairs(own, task.total) for own in sums]

    def _windows(self, partitions: Iterable[Partition[Any]]) -> Iterator[Sequence[Partition[Any]]]:
        """The partitions of each Spark job: a whole frame, or some of the sent partitions."""
        if isinstance(partitions, Sequence) and partitions and partitions[0].home is not None:
            yield partitions
            return
        rest = iter(partitions)
        while window := [*islice(rest, WINDOW_PARTITIONS if isinstance(partitions, Sequence) else FAN_IN)]:
            yield window

    def _mapped(self, task: Task, window: Sequence[Partition[Any]]) -> Any:
        """A DataFrame with a row per partition: its number and its result."""
        if isinstance(window, OfFrame):
            leaves = FrameLeaves(pickle.dumps(task), packed(window.template)[0], window.starts, window.counts)
            with explained():
                return window.frame.mapInArrow(leaves, RESULT_SCHEMA)
        frame, blobs = None, dict[int, tuple[int, bytes]]()
        for number, partition in enumerate(window):
            blob, pieces = packed(partition)
            if len(pieces) > 1:
                raise DataError(SPLIT_SEQUENCE)
            place = number
            if pieces and isinstance(piece := pieces[0], SparkPiece):
                frame, place = piece.frame, piece.place
            blobs[place] = number, blob
        if frame is None:
            frame = self.session.range(0, len(window), 1, len(window))
        with explained():
            return frame.mapInArrow(Leaves(pickle.dumps(task), blobs), RESULT_SCHEMA)

    def _total(self, task: Task, window: Sequence[Partition[Any]], shards: int) -> Done:
        found, left, sent = self._mapped(task, window), len(window), pickle.dumps(task)
        runs = True
        with explained():
            while left > FEW_SUMS:
                found = found.selectExpr(f"place div {FAN_IN} as node", "shard", "place", "blob")
                found = found.groupBy("node", "shard").applyInArrow(_adding(sent, runs), RESULT_SCHEMA)
                left, runs = -(-left // FAN_IN), False
        table, sums = self._table(found, _frame_of(window)), []
        assert task.total is not None
        for shard in range(shards):
            results = [done.results[0] for done in _in_order(table, left, shard)]
            if runs:
                results = [run_total(results[at : at + FAN_IN], task.total) for at in range(0, left, FAN_IN)]
            sums.append(of_pairs(results, task.total))
        return joined(sums, _in_order(table, left))

    def _table(self, mapped: Any, frame: Any) -> Found:
        """The results by place and shard; or the error of the first partition with one."""
        with explained(frame):
            table = mapped.toArrow()
        keys = zip(table["place"].to_pylist(), table["shard"].to_pylist(), strict=True)
        found: Found = dict(zip(keys, map(pickle.loads, table["blob"].to_pylist()), strict=True))
        for key in sorted(found):
            if isinstance(failed := found[key], Failed):
                raise failed.error
        return found


def _frame_of(window: Sequence[Partition[Any]]) -> Any:
    return window.frame if isinstance(window, OfFrame) else None


def _in_order(found: Found, count: int, shard: int = 0) -> list[Any]:
    return [found.get((place, shard), NO_RESULT) for place in range(count)]


@contextmanager
def explained(frame: Any = None) -> Iterator[None]:
    """Turn Spark's errors into one sentence, which names the partition that can't be computed, if any. Its warning
    about pandas is suppressed, since pandas isn't used."""
    from pyspark.errors import PySparkException

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            yield
    except PySparkException as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = next((line for line in reversed(lines) if _is_error(line)), lines[0] if lines else "it failed")
        place = None if frame is None else _not_computed(frame)
        where = "Spark can't do the work" if place is None else f"partition {place + 1} can't be computed"
        raise EngineError(f"{where}: {said:.300}") from error


def _not_computed(frame: Any) -> int | None:
    """The first partition of a frame that can't be computed: Spark's own errors don't name it. None if all can, or if
    they can't be computed one by one, as those of Spark Connect."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        rows = frame.rdd
        count = rows.getNumPartitions()
    except PySparkException:
        return None

    def fails(start: int, end: int) -> bool:
        try:
            rows.context.runJob(rows, _count, range(start, end))
        except (PySparkException, Py4JError):
            return True
        return False

    return first_failing(fails, count)


def first_failing(fails: Callable[[int, int], bool], count: int) -> int | None:
    """The first of `count` items that fails, by bisection; `fails` tells whether a range contains one.

    >>> first_failing(lambda start, end: start <= 5 < end, 9), first_failing(lambda start, end: False, 9)
    (5, None)
    """
    if not count or not fails(0, count):
        return None
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(low, middle) else (middle, high)
    return low


def _count(rows: Iterator[Any]) -> list[int]:
    return [sum(1 for _ in rows)]


def _is_error(line: str) -> bool:
    """Whether a line of a traceback says what went wrong."""
    name, colon, _ = line.partition(": ")
    return bool(colon) and name.replace(".", "").isidentifier() and name.endswith(("Error", "Exception"))


def rows_of(place: int, found: Sequence[object], shard: int = 0) -> Any:
    """A row for each shard, from the first one given."""
    blobs = [*map(pickle.dumps, found)]
    shards = range(shard, shard + len(blobs))
    columns = {"place": pa.array([place] * len(blobs), pa.int64()), "shard": pa.array(shards, pa.int64())}
    return pa.record_batch({**columns, "blob": pa.array(blobs, pa.binary())})


@dataclass(frozen=True, eq=False)
class Leaves:
    """The work of a Spark worker on a partition: the task, whose result becomes a row."""

    task: bytes
    blobs: dict[int, tuple[int, bytes]]  # by the partition's place in Spark's frame: its number and the partition

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        if (place := partition_number()) in self.blobs:
            number, blob = self.blobs[place]
            yield done_rows(self.task, number, place, lambda: unpacked(blob, [Streamed(batches)]))
        for _ in batches:  # read all rows: Spark would replace a worker that left some unread
            pass


@dataclass(frozen=True, eq=False)
class FrameLeaves:
    """The same for a frame's own partitions, from one template."""

    task: bytes
    template: bytes
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        if (place := partition_number()) < len(self.counts):
            yield done_rows(self.task, place, place, lambda: self._partition(place, batches))
        for _ in batches:
            pass

    def _partition(self, place: int, batches: Iterator[Any]) -> Any:
        start, rows = int(self.starts[place]), int(self.counts[place])
        return unpacked(self.template, [Streamed(batches)]).at(place, start, rows)


def partition_number() -> int:
    """The number of the worker's current partition."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


@cache
def spare_modules() -> None:
    """Once a worker: Spark's collect garbage after each task, and looking through all that was imported takes longer
    than a small task."""
    gc.collect()
    gc.freeze()


def done_rows(task: bytes, number: int, place: int, partition: Callable[[], Partition[Any]]) -> Any:
    own: Task = pickle.loads(task)
    try:
        done = own(partition())
    except CredoError as error:
        return rows_of(number, [Failed(in_partition(error, place))])
    finally:
        spare_modules()
    if own.split is None:
        return rows_of(number, [done])
    whole, nothing = done.results[0], done._replace(rows=0, notices=[])
    shards = [None if whole is None else own.split(whole, shard) for shard in range(SHARDS)]
    return rows_of(number, [(nothing if k else done)._replace(results=[each]) for k, each in enumerate(shards)])


def _adding(task: bytes, runs: bool) -> Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]:
    """Add the results of 32 partitions, or 32 sums, on a worker, by the tree of `added`.

    This is a function because Spark reads its annotations, and would count `self` of a callable object.
    """

    def added_up(key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
        parts = [*map(pickle.loads, rows.sort_by("place")["blob"].to_pylist())]
        found = next((part for part in parts if isinstance(part, Failed)), None) or added_runs(
            parts, pickle.loads(task).total, runs
        )
        place, shard = (each.as_py() for each in key)
        return pa.Table.from_batches([rows_of(place, [found], shard)])

    return added_up
