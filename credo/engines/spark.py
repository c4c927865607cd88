"""The Spark engine: each partition becomes one small row, made by Spark's Python workers; sums are added there, too.

Rows go to the workers as Arrow record batches (`mapInArrow`): no pandas is involved.
"""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from credo.engines.partitions import FAN_IN, OfFrame, Partition, Sized, run_total
from credo.engines.remote import NOTHING, Done, Remote, Task, added_runs, in_partition, joined, of_pairs, watched
from credo.engines.sending import Piece, packed, unpacked
from credo.errors import CredoError, DataError, EngineError

Rows = TypeVar("Rows", bound=Sized)
Result = TypeVar("Result")

SCHEMA = "place long, blob binary"  # of what a partition, or several of them, become
WINDOW = 8 * FAN_IN  # partitions of files that are one job of Spark
FEW = 2 * FAN_IN  # sums that the driver adds
FAILED_TASK = re.compile(r"Task (\d+) in stage \S+ failed")  # a task's number is that of its partition
SPLIT = (
    "a sequence goes on in the next partition of the Spark frame: keep each in one, as in "
    "frame.repartition(sequence).sortWithinPartitions(sequence, order)"
)


class SparkPiece(Piece):
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
    """What a piece is where Spark has it: record batches, to be read once."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches

    def at(self, place: int) -> Streamed:  # noqa: ARG002 - it is there
        return self

    def batches(self) -> Iterator[Any]:
        return self._batches


@dataclass(frozen=True, eq=False)
class Failed:
    """An error that would be the same each time: Spark needs not try again."""

    error: CredoError


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
            yield from self._collected(self._mapped(task, window), len(window))

    def reduce(
        self,
        job: Callable[[Rows], Result],
        partitions: Iterable[Partition[Rows]],
        total: Callable[[Sequence[Result]], Result],
        /,
    ) -> Result | None:
        """By the same tree as anywhere, on the workers, until few sums are left for the driver."""
        task, sums = Task(job, total), list[Any]()

        def done() -> Iterator[Done]:
            for window in self._windows(partitions):
                whole = self._total(task, window)
                sums.append(whole.results[0])
                yield whole
                yield from repeat(NOTHING, len(window) - 1)  # each partition of a window is done with it

        for _ in watched(done(), partitions):
            pass
        found: Result | None = of_pairs(sums, total)
        return found

    def _windows(self, partitions: Iterable[Partition[Any]]) -> Iterator[Sequence[Partition[Any]]]:
        """What is one job of Spark: all of a frame, or some of the partitions that are sent."""
        if isinstance(partitions, Sequence) and partitions and partitions[0].home is not None:
            yield partitions
            return
        rest = iter(partitions)
        while window := [*islice(rest, WINDOW if isinstance(partitions, Sequence) else FAN_IN)]:
            yield window

    def _mapped(self, task: Task, window: Sequence[Partition[Any]]) -> Any:
        """A DataFrame of one row a partition: its number, and what was found there."""
        if isinstance(window, OfFrame):
            leaves = FrameLeaves(pickle.dumps(task), packed(window.template)[0], window.starts, window.counts)
            with explained():
                return window.frame.mapInArrow(leaves, SCHEMA)
        frame, blobs = None, dict[int, tuple[int, bytes]]()
        for number, partition in enumerate(window):
            blob, pieces = packed(partition)
            if len(pieces) > 1:
                raise DataError(SPLIT)
            place = number
            if pieces and isinstance(piece := pieces[0], SparkPiece):
                frame, place = piece.frame, piece.place
            blobs[place] = number, blob
        if frame is None:
            frame = self.session.range(0, len(window), 1, len(window))
        with explained():
            return frame.mapInArrow(Leaves(pickle.dumps(task), blobs), SCHEMA)

    def _total(self, task: Task, window: Sequence[Partition[Any]]) -> Done:
        found, left, sent = self._mapped(task, window), len(window), pickle.dumps(task)
        runs = True
        with explained():
            while left > FEW:
                found = found.selectExpr(f"place div {FAN_IN} as node", "place", "blob").groupBy("node")
                found = found.applyInArrow(_adding(sent, runs), SCHEMA)
                left, runs = -(-left // FAN_IN), False
        parts = self._collected(found, left)
        assert task.total is not None
        results = [done.results[0] for done in parts]
        if runs:
            results = [run_total(results[at : at + FAN_IN], task.total) for at in range(0, left, FAN_IN)]
        return joined([of_pairs(results, task.total)], parts)

    def _collected(self, mapped: Any, count: int) -> list[Done]:
        with explained():
            table = mapped.toArrow()
        found = dict(zip(table["place"].to_pylist(), map(pickle.loads, table["blob"].to_pylist()), strict=True))
        for place in sorted(found):
            if isinstance(found[place], Failed):
                raise found[place].error
        return [found.get(place, NOTHING) for place in range(count)]


@contextmanager
def explained() -> Iterator[None]:
    """Errors of Spark in one sentence. Its warning about pandas is left out, since none is used."""
    from pyspark.errors import PySparkException

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            yield
    except PySparkException as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = next((line for line in reversed(lines) if _is_error(line)), lines[0] if lines else "it failed")
        task = FAILED_TASK.search(str(error))
        where = f"partition {int(task[1]) + 1} can't be computed" if task else "Spark can't do the work"
        raise EngineError(f"{where}: {said:.300}") from error


def _is_error(line: str) -> bool:
    """Whether a line of a traceback says what went wrong."""
    name, colon, _ = line.partition(": ")
    return bool(colon) and name.replace(".", "").isidentifier() and name.endswith(("Error", "Exception"))


def row_of(place: int, found: object) -> Any:
    return pa.record_batch(
        {"place": pa.array([place], pa.int64()), "blob": pa.array([pickle.dumps(found)], pa.binary())}
    )


@dataclass(frozen=True, eq=False)
class Leaves:
    """What Spark's workers do with a partition: the task, whose result is a row."""

    task: bytes
    blobs: dict[int, tuple[int, bytes]]  # by the partition's place in Spark's frame: its number, and what it is

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        if (place := partition_number()) in self.blobs:
            number, blob = self.blobs[place]
            yield done_row(self.task, number, place, lambda: unpacked(blob, [Streamed(batches)]))
        for _ in batches:  # Spark starts another worker in place of one that left rows unread
            pass


@dataclass(frozen=True, eq=False)
class FrameLeaves:
    """The same of a frame's own partitions: one stands for all."""

    task: bytes
    template: bytes
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        if (place := partition_number()) < len(self.counts):
            yield done_row(self.task, place, place, lambda: self._partition(place, batches))
        for _ in batches:
            pass

    def _partition(self, place: int, batches: Iterator[Any]) -> Any:
        start, rows = int(self.starts[place]), int(self.counts[place])
        return unpacked(self.template, [Streamed(batches)]).at(place, start, rows)


def partition_number() -> int:
    """Of the partition that a worker of Spark is at."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def done_row(task: bytes, number: int, place: int, partition: Callable[[], Partition[Any]]) -> Any:
    try:
        found: Done | Failed = pickle.loads(task)(partition())
    except CredoError as error:
        found = Failed(in_partition(error, place))
    return row_of(number, found)


def _adding(task: bytes, runs: bool) -> Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]:
    """What Spark's workers do with the results of 32 partitions, or with 32 sums: add them by the tree of `added`.

    A function, whose annotations Spark reads: of an object that can be called it would count `self` as an argument.
    """

    def added_up(key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
        parts = [*map(pickle.loads, rows.sort_by("place")["blob"].to_pylist())]
        found = next((part for part in parts if isinstance(part, Failed)), None) or added_runs(
            parts, pickle.loads(task).total, runs
        )
        return pa.Table.from_batches([row_of(key[0].as_py(), found)])

    return added_up
