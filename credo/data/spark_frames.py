"""Spark DataFrames: each partition is read where Spark has it, as Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.data import cutting
from credo.data.batches import Batch
from credo.data.frames import of_any_rows
from credo.data.partitions import FramePartition, Held, Partition, PartStep
from credo.data.sources import AddColumns, Filing, Source
from credo.data.tables import batch_of, check_names
from credo.engines import Engine
from credo.engines.partitions import OfFrame
from credo.engines.remote import in_partition
from credo.engines.spark import Spark, SparkPiece, Streamed, explained, partition_number
from credo.errors import CredoError, DataError

CHANGED = (
    "there are {} rows, but there were {} when they were counted: a frame must have the same rows, in the same order, "
    "each time that it is computed; keep them with frame.cache()"
)
TYPES = {"f": "double", "i": "bigint", "b": "boolean"}


@dataclass(frozen=True, eq=False)
class SparkRows:
    """One partition of a DataFrame."""

    piece: SparkPiece | Streamed
    counted: int | None = None  # how many rows it had when they were counted

    @property
    def home(self) -> Engine:
        return Spark()

    def at(self, place: int, rows: int | None, /) -> SparkRows:
        return SparkRows(self.piece.at(place), rows)

    def read(self, wanted: Sequence[str], /) -> Iterator[Batch]:
        rows = 0
        for part in self.piece.batches():
            rows += part.num_rows
            if self.counted is not None and rows > self.counted:
                break
            yield batch_of(part.select(list(wanted)))
        if self.counted is not None and rows != self.counted:
            more = "more" if rows > self.counted else str(rows)
            raise DataError(CHANGED.format(more, self.counted))

    def count(self) -> int:
        return sum(part.num_rows for part in self.piece.batches())


def open_frame(frame: Any) -> Source:
    """A DataFrame."""
    if not hasattr(frame, "mapInArrow"):
        raise DataError(f"can't read a table from Spark's {type(frame).__name__}; credo takes a DataFrame")
    names = tuple(frame.columns)
    check_names([name.lower() for name in names], "Spark doesn't tell upper from lower case, and ")

    @cache
    def chosen(wanted: tuple[str, ...]) -> Any:
        return frame.select(*(f"`{name.replace('`', '``')}`" for name in wanted or names[:1]))

    @cache
    def rows() -> NDArray[np.int64]:
        """Of each partition."""
        with explained(chosen(names[:1])):
            found = chosen(names[:1]).mapInArrow(count_rows, "place long, counted long").toArrow()
        places, counted = (np.asarray(found[name], dtype=np.int64) for name in ("place", "counted"))
        known = np.zeros(places.max(initial=-1) + 1, dtype=np.int64)
        known[places] = counted
        return known

    def any_partition(wanted: Sequence[str]) -> FramePartition:
        return FramePartition(SparkRows(SparkPiece(chosen(tuple(wanted)), 0)), tuple(wanted))

    def files(wanted: Sequence[str]) -> Sequence[Any]:
        return OfFrame(any_partition(wanted), chosen(tuple(wanted)), rows())

    def template(wanted: Sequence[str]) -> Sequence[Partition]:
        return [any_partition(wanted)]

    return Source.of_files(names, files, frame=SparkFrame(frame, template, chosen, rows))


def count_rows(batches: Iterator[Any]) -> Iterator[Any]:
    """What Spark's workers do to count them."""
    counted = sum(part.num_rows for part in batches)
    yield pa.record_batch({"place": pa.array([partition_number()], pa.int64()), "counted": pa.array([counted])})


@dataclass(frozen=True, eq=False)
class SparkFrame:
    """The frame itself, for what is made of it."""

    frame: Any
    template: Filing
    chosen: Callable[[tuple[str, ...]], Any]  # those columns
    rows: Callable[[], NDArray[np.int64]]  # of each partition

    @property
    def home(self) -> Engine:
        return Spark()

    def read_as(self, template: Filing | None, /) -> SparkFrame:
        return self if template is None else replace(self, template=template)

    def first(self, wanted: Sequence[str], rows: int | None, /) -> Batch | None:
        (own,) = self.template(wanted)
        there = next((int(n) for n in self.rows() if n), 0)  # a batch ends with its partition
        with explained():
            found = self.chosen(own.wanted).limit(min(rows or cutting.BATCH_ROWS, there)).toArrow()
        batches = replace(own, content=Held((batch_of(found),))).batches()
        return next(batches, None)

    def with_columns(self, wanted: Sequence[str], job: AddColumns, /) -> Any:
        from pyspark.sql.types import StructType

        (own,) = self.template(wanted)
        schema = StructType([*self.frame.schema.fields])
        new = {name: values for name, values in job.columns.items() if values is not None}
        for name, values in new.items():
            schema = schema.add(name, TYPES.get(values.dtype.kind, "string"))
        with explained():
            return self.frame.mapInArrow(Added(job, of_any_rows(own).wanted, own.steps), schema)


@dataclass(frozen=True, eq=False)
class Added:
    """The record batches of a partition, with further columns."""

    job: AddColumns
    wanted: tuple[str, ...]
    steps: tuple[PartStep, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        start = 0
        for part in batches:
            found: Iterator[Batch] = iter([batch_of(part.select(list(self.wanted)))])
            for step in self.steps:
                found = step.over(found)
            (batch,) = found
            try:
                columns = self.job(replace(batch, start=start))
            except CredoError as error:
                raise in_partition(error, partition_number()) from None
            start += part.num_rows
            arrays = dict(zip(part.schema.names, part.columns, strict=True))
            for name, values in columns.items():
                arrays[name] = _of_type(values, arrays[name].type) if name in arrays else pa.array(values)
            yield pa.RecordBatch.from_pydict(arrays)


def _of_type(values: Any, form: Any) -> Any:
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return whole.cast(form)
