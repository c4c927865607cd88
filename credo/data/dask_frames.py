"""Dask DataFrames: each partition is computed, and read, by the worker that has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.data.batches import Batch
from credo.data.frames import made_columns, of_any_rows
from credo.data.partitions import FramePartition, PartStep, TablePartition
from credo.data.sources import AddColumns, Filing, Source, first_of
from credo.data.tables import check_names, open_table
from credo.engines import Engine
from credo.engines.dask import Dask, DaskPiece, DaskPieces
from credo.engines.dask_trees import Computed
from credo.engines.partitions import Loaded, OfFrame
from credo.engines.remote import in_partition
from credo.errors import CredoError, DataError, SchemaError

CHANGED = (
    "there are {} rows, but there were {} when they were counted: a frame must have the same rows each time that it is "
    "computed; keep them with frame.persist()"
)


@dataclass(frozen=True, eq=False)
class DaskRows:
    """One partition of a DataFrame, a pandas DataFrame once computed."""

    piece: DaskPieces | DaskPiece | Computed
    counted: int | None = None  # the counted number of rows

    @property
    def home(self) -> Engine:
        return Dask()

    def at(self, place: int, rows: int | None, /) -> DaskRows:
        return DaskRows(self.piece.at(place), rows)

    def read(self, wanted: Sequence[str], /) -> Iterator[Batch]:
        frame = self.piece.rows
        if self.counted is not None and len(frame) != self.counted:
            raise DataError(CHANGED.format(len(frame), self.counted))
        names = {str(name) for name in frame.columns}
        for name in wanted:
            if name not in names:
                raise SchemaError(f"there is no column {name!r}, which other partitions of the Dask frame have")
        yield from open_table(frame).read(wanted)

    def count(self) -> int:
        return len(self.piece.rows)


def open_frame(frame: Any) -> Source:
    """A DataFrame, or a Series as a table of one column."""
    if not hasattr(frame, "npartitions") or not hasattr(frame, "to_delayed"):
        raise DataError(f"can't read a table from Dask's {type(frame).__name__}; credo takes a DataFrame or a Series")
    frame = frame.to_frame() if getattr(frame, "ndim", 2) == 1 else frame
    labels = {str(label): label for label in frame.columns}
    fewest = tuple(labels)[:1]
    check_names([str(label) for label in frame.columns])

    @cache
    def chosen(wanted: tuple[str, ...]) -> Any:
        return frame[[labels[name] for name in wanted or fewest]]

    @cache
    def any_partition(wanted: tuple[str, ...]) -> FramePartition:
        return FramePartition(DaskRows(DaskPieces(chosen(wanted))), wanted)

    @cache
    def counts() -> NDArray[np.int64]:
        own, none = chosen(fewest), np.zeros(frame.npartitions, dtype=np.int64)
        each = OfFrame(Uncounted(DaskRows(DaskPieces(own))), own, none)
        found: NDArray[np.int64] | None = Dask().reduce(CountRows(), each, np.concatenate)
        assert found is not None
        return found

    def files(wanted: Sequence[str]) -> Sequence[Any]:
        own = any_partition(tuple(wanted))
        if frame.npartitions == 1:  # it needn't be counted
            return [own.at(0, 0, None)]
        return OfFrame(own, chosen(tuple(wanted)), counts())

    def template(wanted: Sequence[str]) -> Sequence[TablePartition]:
        return [any_partition(tuple(wanted))]

    return Source.of_files(tuple(labels), files, frame=DaskFrame(frame, template))


@dataclass(frozen=True, eq=False)
class Uncounted(Loaded):
    """A partition's rows, before they are counted."""

    content: DaskRows
    rows: int = 0  # none are read yet

    @property
    def home(self) -> Engine:
        return self.content.home

    def at(self, place: int, start: int, rows: int | None, /) -> Uncounted:  # noqa: ARG002 - they aren't known
        return Uncounted(self.content.at(place, None))


@dataclass(frozen=True)
class CountRows:
    """The number of rows of a partition."""

    def __call__(self, own: Uncounted) -> NDArray[np.int64]:
        return np.array([own.content.count()])


@dataclass(frozen=True, eq=False)
class DaskFrame:
    """The frame itself, from which frames with further columns are made."""

    frame: Any
    template: Filing

    @property
    def home(self) -> Engine:
        return Dask()

    def read_as(self, template: Filing | None, /) -> DaskFrame:
        return self if template is None else replace(self, template=template)

    def first(self, wanted: Sequence[str], rows: int | None, /) -> Batch | None:
        (own,) = self.template(wanted)
        assert isinstance(own, FramePartition)
        return first_of((own.at(i, 0, None) for i in range(self.frame.npartitions)), rows)

    def with_columns(self, wanted: Sequence[str], job: AddColumns, /) -> Any:
        (own,) = self.template(wanted)
        new = {name: values for name, values in job.columns.items() if values is not None}
        meta = self.frame._meta.assign(**{name: _series(values[:0], values) for name, values in new.items()})
        added = AddedToFrame(job, of_any_rows(own).wanted, own.steps)
        return self.frame.map_partitions(added, meta=meta, enforce_metadata=False)


@dataclass(frozen=True, eq=False)
class AddedToFrame:
    """A pandas partition with further columns."""

    job: AddColumns
    wanted: tuple[str, ...]
    steps: tuple[PartStep, ...]

    def __call__(self, frame: Any, partition_info: Any = None) -> Any:
        own = TablePartition(DaskRows(Computed(frame)), self.wanted, steps=self.steps)
        try:
            found = made_columns(self.job, own.batches())
        except CredoError as error:
            raise (in_partition(error, partition_info["number"]) if partition_info else error) from None
        columns = {}
        for name, kind in self.job.columns.items() if found else ():
            if kind is None:
                columns[name] = _of_type([each[name] for each in found], frame[name])
            else:
                columns[name] = _series(np.concatenate([each[name] for each in found]), kind, frame.index)
        if not found:
            none = {name: kind[:0] for name, kind in self.job.columns.items() if kind is not None}
            columns = {name: _series(kind, kind, frame.index) for name, kind in none.items()}
        return frame.assign(**columns)


def _of_type(parts: Sequence[Any], before: Any) -> Any:
    """Arrow arrays as a column of the original type."""
    import pandas as pd

    values = [cell for part in parts for cell in part.to_pylist()]
    return pd.Series(values, index=before.index, dtype=before.dtype)


def _series(values: Any, kind: Any, index: Any = None) -> Any:
    """A series of the values, with the dtype of `kind`; strings are Arrow's, as in Dask."""
    import pandas as pd

    words = kind.dtype == object and all(isinstance(value, str) for value in kind)
    return pd.Series(values, index=index, dtype=pd.StringDtype("pyarrow") if words else kind.dtype)
