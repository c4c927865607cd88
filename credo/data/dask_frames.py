"""Dask DataFrames: each partition is computed, and read, by the worker that has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from credo.data.batches import Batch
from credo.data.partitions import Partition, RowCounts
from credo.data.sources import Source
from credo.data.tables import check_names, open_table
from credo.engines import Engine
from credo.engines.dask import Computed, Dask, Piece
from credo.errors import DataError, SchemaError

CHANGED = (
    "there are {} rows, but there were {} when they were counted: a frame must have the same rows each time that it is "
    "computed; keep them with frame.persist()"
)


@dataclass(frozen=True, eq=False)
class DaskRows:
    """One partition of a DataFrame: pandas', where it is computed."""

    piece: Piece | Computed
    counted: int | None = None  # how many rows it had when they were counted

    @property
    def home(self) -> Engine:
        return Dask()

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
    check_names([str(label) for label in frame.columns])

    @cache
    def pieces(wanted: tuple[str, ...]) -> list[Piece]:
        chosen = frame[[labels[name] for name in wanted]]
        return [*map(Piece, chosen.to_delayed())]

    fewest = tuple(labels)[:1]
    rows = RowCounts([DaskRows(piece) for piece in pieces(fewest)])

    def files(wanted: Sequence[str]) -> Sequence[Partition]:
        read = pieces(tuple(wanted) or fewest)
        contents = [*map(DaskRows, read)]
        found = rows.numbered([Partition(content, tuple(wanted)) for content in contents])
        known = zip(found, contents, strict=True)
        return [replace(own, content=replace(content, counted=own.rows)) for own, content in known]

    return Source.of_files(tuple(labels), files, home=Dask())
