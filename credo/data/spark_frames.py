"""Spark DataFrames: each partition is read where Spark has it, as Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.data import cutting
from credo.data.batches import Batch
from credo.data.frames import made_columns, of_any_rows
from credo.data.partitions import FramePartition, Held, PartStep, TablePartition
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
FEW_COLUMNS = 100  # for fewer columns, the first rows of all are read with one job
TYPES = {pa.types.is_floating: "double", pa.types.is_integer: "long", pa.types.is_boolean: "boolean"}


@dataclass(frozen=True, eq=False)
class SparkRows:
    """One partition of a DataFrame."""

    piece: SparkPiece | Streamed
    counted: int | None = None  # the counted number of rows

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
        """The number of rows of each partition, counted by Spark without Python workers or columns."""
        with explained(frame):
            found = frame.selectExpr("spark_partition_id() as place").groupBy("place").count().toArrow()
        places, counted = (np.asarray(found[name], dtype=np.int64) for name in ("place", "count"))
        known = np.zeros(places.max(initial=-1) + 1, dtype=np.int64)
        known[places] = counted
        return known

    head = Head(names, chosen, rows)

    def any_partition(wanted: Sequence[str]) -> FramePartition:
        return FramePartition(SparkRows(SparkPiece(chosen(tuple(wanted)), 0)), tuple(wanted))

    def files(wanted: Sequence[str]) -> Sequence[Any]:
        return OfFrame(any_partition(wanted), chosen(tuple(wanted)), rows())

    def template(wanted: Sequence[str]) -> Sequence[TablePartition]:
        return [any_partition(wanted)]

    return Source.of_files(names, files, frame=SparkFrame(frame, template, head))


@dataclass(frozen=True, eq=False)
class Head:
    """The first rows, each column of which is read once, since every reading is a Spark job."""

    names: tuple[str, ...]
    chosen: Callable[[tuple[str, ...]], Any]  # those columns
    counted: Callable[[], NDArray[np.int64]]  # rows of each partition
    read: dict[str, Any] = field(default_factory=dict)

    def table(self, wanted: Sequence[str], rows: int | None) -> pa.Table:
        there = next((int(n) for n in self.counted() if n), 0)  # a batch ends with its partition
        size = min(rows or cutting.BATCH_ROWS, there)
        names = wanted or self.names[:1]
        lacking = tuple(name for name in names if name not in self.read or len(self.read[name]) < size)
        if lacking:
            read = self.names if not self.read and len(self.names) <= FEW_COLUMNS else lacking
            with explained():
                found = self.chosen(read).limit(size).toArrow()
            self.read.update(zip(found.column_names, found.columns, strict=True))
        return pa.table({name: self.read[name][:size] for name in names})


@dataclass(frozen=True, eq=False)
class SparkFrame:
    """The frame itself, from which frames with further columns are made."""

    frame: Any
    template: Filing
    head: Head

    @property
    def home(self) -> Engine:
        return Spark()

    def read_as(self, template: Filing | None, /) -> SparkFrame:
        return self if template is None else replace(self, template=template)

    def first(self, wanted: Sequence[str], rows: int | None, /) -> Batch | None:
        (own,) = self.template(wanted)
        found = self.head.table(own.wanted, rows)
        batches = replace(own, content=Held((batch_of(found),))).batches()
        return next(batches, None)

    def with_columns(self, wanted: Sequence[str], job: AddColumns, /) -> Any:
        from pyspark.sql.types import StructType

        (own,) = self.template(wanted)
        schema = StructType([*self.frame.schema.fields])
        new = {name: values for name, values in job.columns.items() if values is not None}
        for name, values in new.items():
            kind = _arrow_type(values)
            schema = schema.add(name, next((own for is_one, own in TYPES.items() if is_one(kind)), "string"))
        with explained():
            return self.frame.mapInArrow(AddedToBatches(job, of_any_rows(own).wanted, own.steps), schema)


@dataclass(frozen=True, eq=False)
class AddedToBatches:
    """The record batches of a partition, with further columns."""

    job: AddColumns
    wanted: tuple[str, ...]
    steps: tuple[PartStep, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        start = 0
        for part in batches if self.job.sequences is None else _as_one(batches):
            found: Iterator[Batch] = iter([batch_of(part.select(list(self.wanted)))])
            for step in self.steps:
                found = step.over(found)
            (batch,) = found
            try:
                columns = made_columns(self.job, iter([replace(batch, start=start)]))
            except CredoError as error:
                raise in_partition(error, partition_number()) from None
            start += part.num_rows
            arrays = dict(zip(part.schema.names, part.columns, strict=True))
            for name, kind in self.job.columns.items():
                values = [each[name] for each in columns]
                arrays[name] = _joined(values, arrays[name].type if kind is None else _arrow_type(kind))
            yield pa.RecordBatch.from_pydict(arrays)


def _as_one(batches: Iterator[Any]) -> Iterator[Any]:
    """All rows of a partition as one table, empty if there are none."""
    whole = [*batches]
    return iter([pa.concat_batches(whole)] if whole else [])


def _joined(values: Sequence[Any], form: Any) -> Any:
    arrays = [each if isinstance(each, pa.Array | pa.ChunkedArray) else pa.array(each, form) for each in values]
    chunks = [chunk for each in arrays for chunk in (each.chunks if isinstance(each, pa.ChunkedArray) else [each])]
    return pa.chunked_array([chunk.cast(form) for chunk in chunks], form).combine_chunks()


def _arrow_type(values: Any) -> Any:
    """The Arrow type of a new column, given values of its kind."""
    found = pa.array(values).type
    return pa.string() if pa.types.is_null(found) else found
