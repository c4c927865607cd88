"""Distributed DataFrames, recognised by their type's module name, so that nothing is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from credo.data.batches import Batch
from credo.data.partitions import EachRow, TablePartition
from credo.data.sources import AddColumns, Source
from credo.errors import DataError

OPENERS = {"dask.dataframe": "credo.data.dask_frames", "pyspark.sql": "credo.data.spark_frames"}


def open_frame(data: object) -> Source | None:
    """A Dask or Spark DataFrame, whose rows stay where they are; None if it is neither."""
    module = type(data).__module__
    for package, opener in OPENERS.items():
        if module == package or module.startswith(f"{package}."):
            found: Source = import_module(opener).open_frame(data)
            return found
    return None


def with_columns(table: Source, wanted: Sequence[str], job: AddColumns) -> Any:
    """The frame with further columns, computed lazily from the wanted ones."""
    assert table.frame is not None
    return table.frame.with_columns(wanted, job)


def made_columns(job: AddColumns, batches: Iterator[Batch]) -> list[Mapping[str, Any]]:
    """A job's new columns for a partition's rows, in parts."""
    parts: Iterator[Any] = batches if job.sequences is None else job.sequences.over(batches)
    return [job(part) for part in parts]


def of_any_rows(partition: TablePartition) -> TablePartition:
    """The partition as a template for all of a frame; an error if a step has a value for each row."""
    if any(isinstance(step, EachRow) for step in partition.steps):
        raise DataError("an array can't be a column of a distributed frame: make it a column of the frame")
    return partition
