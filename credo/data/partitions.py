"""Partitions of data, opened where the work runs, and the steps applied to their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.data.batches import Batch, Encodings, packed, unpacked
from credo.data.cutting import recut
from credo.engines.partitions import Engine, Loaded, OfFrame, Sized
from credo.errors import DataError, counted
from credo.numerics.exact import Array

PARTITION_BYTES = 2**27  # of the files in one partition, unless it is a single file

Item = TypeVar("Item")
Read = TypeVar("Read", bound=Sized)
Somewhere = TypeVar("Somewhere", bound="HasHome")


class Content(Protocol):
    """The content of a partition: files, parts of them, or rows held by an engine."""

    @property
    def home(self) -> Engine | None:
        """The engine that holds the rows; None: they can be read anywhere."""
        ...

    def read(self, wanted: Sequence[str], /) -> Iterator[Batch]:
        """Those columns, in parts of any size, in order."""
        ...

    def count(self) -> int:
        """The number of rows."""
        ...


class FrameContent(Content, Protocol):
    """The content of a DataFrame's partitions."""

    def at(self, place: int, rows: int | None, /) -> FrameContent:
        """The content of one partition; `rows` is its counted number of rows, if known."""
        ...


class HasHome(Protocol):
    """Something that may be held by an engine."""

    @property
    def home(self) -> Engine | None: ...


class PartStep(Protocol):
    """A transformation of rows after reading."""

    def over(self, parts: Iterator[Batch], /) -> Iterator[Batch]:
        """The transformed rows of a table or a partition."""
        ...

    def shared(self, partitions: Sequence[TablePartition], /) -> Sequence[TablePartition]:
        """Those partitions with this step added."""
        ...


class ReadAnywhere:
    """Content that can be read anywhere."""

    @property
    def home(self) -> Engine | None:
        return None


@dataclass(frozen=True, eq=False)
class Held(ReadAnywhere):
    """Rows in memory."""

    parts: tuple[Batch, ...]

    def read(self, wanted: Sequence[str], /) -> Iterator[Batch]:
        return (part.only(wanted) for part in self.parts)

    def count(self) -> int:
        return sum(part.rows for part in self.parts)


@dataclass(frozen=True, eq=False)
class TablePartition:
    """A partition: its content, and the steps after reading. Small and picklable."""

    content: Content
    wanted: tuple[str, ...]  # columns of the files
    start: int = 0  # the number of earlier rows of the table
    rows: int | None = None  # if known beforehand
    steps: tuple[PartStep, ...] = ()

    @property
    def home(self) -> Engine | None:
        return self.content.home

    def parts(self) -> Iterator[Batch]:
        found = self.content.read(self.wanted)
        for step in self.steps:
            found = step.over(found)
        return found

    def batches(self) -> Iterator[Batch]:
        """The batches, with the table's row numbers."""
        return recut(self.parts(), self.start)

    def then(self, step: PartStep) -> TablePartition:
        return replace(self, steps=(*self.steps, step))


@dataclass(frozen=True, eq=False)
class FramePartition(TablePartition):
    """A partition of a DataFrame; without a row count, a template for any of its partitions."""

    content: FrameContent

    def at(self, place: int, start: int, rows: int | None, /) -> FramePartition:
        return replace(self, content=self.content.at(place, rows), start=start, rows=rows)


@dataclass(frozen=True, eq=False)
class Opened(Generic[Read]):
    """A partition whose batches stay in memory, with their cached encodings."""

    kept: tuple[Read, ...]

    @property
    def home(self) -> Engine | None:
        return None

    def batches(self) -> Iterator[Read]:
        return iter(self.kept)


def grouped(items: Sequence[Item], size: Callable[[Item], int]) -> list[tuple[Item, ...]]:
    """Consecutive items in groups of at most PARTITION_BYTES in total, or of one item."""
    groups: list[list[Item]] = []
    room = 0
    for item in items:
        room -= size(item)
        if not groups or room < 0:
            groups.append([])
            room = PARTITION_BYTES - size(item)
        groups[-1].append(item)
    return [tuple(group) for group in groups]


def numbered(partitions: Sequence[TablePartition], rows: Sequence[int]) -> list[TablePartition]:
    """The partitions with their row counts and starts."""
    starts = np.cumsum([0, *rows]).tolist()
    return [replace(own, start=start, rows=n) for own, start, n in zip(partitions, starts, rows, strict=False)]


class RowCounts:
    """The row counts of partitions; several partitions are counted when they are first read."""

    def __init__(self, contents: Sequence[Content], known: Sequence[int] | None = None) -> None:
        self._contents, self._known = contents, known

    def numbered(self, partitions: Sequence[TablePartition]) -> Sequence[TablePartition]:
        """The partitions with their row counts and starts; a single one needs no count."""
        if self._known is None:
            if len(partitions) == 1:
                return partitions
            self._known = [*engines.map(RowCount(), [*map(Unopened, self._contents)])]
        return numbered(partitions, self._known)


@dataclass(frozen=True, eq=False)
class Unopened(Loaded, Generic[Somewhere]):
    """A content passed as it is to a job that opens it itself and returns one result for all its rows."""

    what: Somewhere
    rows: int = 0  # none are read yet

    @property
    def home(self) -> Engine | None:
        return self.what.home


@dataclass(frozen=True)
class RowCount:
    """The number of rows."""

    def __call__(self, unopened: Unopened[Content]) -> int:
        return unopened.what.count()


@dataclass(frozen=True, eq=False)
class EachPart(ABC):
    """A step that is the same for all rows."""

    @abstractmethod
    def over(self, parts: Iterator[Batch], /) -> Iterator[Batch]: ...

    def shared(self, partitions: Sequence[TablePartition], /) -> Sequence[TablePartition]:
        if isinstance(partitions, OfFrame):
            changed: Any = partitions.each(lambda own: own.then(self))
            return cast("Sequence[TablePartition]", changed)
        return [own.then(self) for own in partitions]


@dataclass(frozen=True, eq=False)
class Renamed(EachPart):
    """A step that renames columns."""

    new: Mapping[str, str]

    def over(self, parts: Iterator[Batch], /) -> Iterator[Batch]:
        for part in parts:
            columns = {self.new.get(name, name): array for name, array in part.columns.items()}
            block = tuple(self.new.get(name, name) for name in part.block_names)
            yield replace(part, columns=columns, block_names=block, encodings=Encodings())


@dataclass(frozen=True, eq=False)
class EachRow(ABC):
    """A step with a value for each row of the table; a partition gets the values of its rows."""

    values: Any

    @abstractmethod
    def of(self, part: Batch, values: object) -> Batch:
        """The part, given the values of its rows."""

    @abstractmethod
    def wrong(self, values: int, rows: str) -> str:
        """The error where the number of values isn't the number of rows."""

    def left(self, values: Any) -> int:
        """The number of rows after the step."""
        return len(values)

    def over(self, parts: Iterator[Batch], /) -> Iterator[Batch]:
        start, count = 0, len(self.values)
        for part in parts:
            own = self.values[start : start + part.rows]
            start += part.rows
            if start > count:
                raise DataError(self.wrong(count, f"at least {start}"))
            yield self.of(part, own)
        if start < count:
            raise DataError(self.wrong(count, str(start)))

    def shared(self, partitions: Sequence[TablePartition], /) -> Sequence[TablePartition]:
        known = [own.rows for own in partitions if own.rows is not None]
        if len(partitions) == 1 and not known:
            return [partitions[0].then(self)]
        ends = np.cumsum([0, *known]).tolist()
        if ends[-1] != len(self.values):
            raise DataError(self.wrong(len(self.values), str(ends[-1])))
        slices = [self.values[start:end] for start, end in pairwise(ends)]
        with_it = [own.then(replace(self, values=each)) for own, each in zip(partitions, slices, strict=True)]
        return numbered(with_it, [self.left(each) for each in slices])


@dataclass(frozen=True, eq=False)
class Beside(EachRow):
    """A step that adds a column."""

    name: str

    def of(self, part: Batch, values: object) -> Batch:
        return part.with_columns({self.name: values})

    def wrong(self, values: int, rows: str) -> str:
        return f"{self.name!r} has {counted(values, 'value')}, but the table has {rows} rows"

    def __reduce__(self) -> tuple[Any, ...]:
        return _beside, (packed({self.name: self.values}), self.name)


def _beside(column: bytes, name: str) -> Beside:
    return Beside(unpacked(column)[name], name)


@dataclass(frozen=True, eq=False)
class Weighted(EachRow):
    """A step that adds row weights."""

    values: Array

    def of(self, part: Batch, values: Any) -> Batch:
        return replace(part, weight=values, encodings=Encodings())

    def wrong(self, values: int, rows: str) -> str:
        return f"there must be a weight for each row, but there are {values} weights and {rows} rows"


@dataclass(frozen=True, eq=False)
class ChosenRows(EachRow):
    """A step that selects rows, by a flag or a number of copies for each."""

    values: NDArray[np.bool_] | NDArray[np.intp]

    def of(self, part: Batch, values: Any) -> Batch:
        return part.take(np.repeat(np.arange(part.rows), values))

    def wrong(self, values: int, rows: str) -> str:
        return f"there must be a flag for each row, but there are {values} flags and {rows} rows"

    def left(self, values: Any) -> int:
        return int(values.sum())
