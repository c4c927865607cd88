"""Sources of rows: tables in memory are cut into batches, and files are opened partition by partition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo import engines
from credo.data.batches import Batch
from credo.data.cutting import chunks_of, recut
from credo.data.partitions import (
    Beside,
    ChosenRows,
    EachRow,
    Held,
    PartStep,
    Renamed,
    TablePartition,
    Unopened,
    Weighted,
    numbered,
)
from credo.data.schema import other_currency
from credo.engines import Engine, Partition
from credo.errors import DataError, SchemaError, counted, suggest
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.data.sequences import SequenceBatch, Sequences


class Frame(Protocol):
    """A DataFrame of an engine."""

    @property
    def home(self) -> Engine: ...

    @property
    def template(self) -> Filing:
        """A template of the partitions, without a row count: the columns to read, and the steps after reading."""
        ...

    def read_as(self, template: Filing | None, /) -> Self:
        """The frame with another template."""
        ...

    def first(self, wanted: Sequence[str], rows: int | None, /) -> Batch | None:
        """The first batch, cut to at most that many rows; None if there are no rows."""
        ...

    def with_columns(self, wanted: Sequence[str], job: AddColumns, /) -> Any:
        """A DataFrame with further columns, which a job makes of the rows of each batch when it is computed."""
        ...


class AddColumns(Protocol):
    """A job that computes new columns."""

    @property
    def sequences(self) -> Sequences | None:
        """The sequences whose rows must be together, in order; None if rows are independent."""
        ...

    @property
    def columns(self) -> Mapping[str, Any]:
        """For each new column, an array of its type; None for an existing column, which keeps its type."""
        ...

    def __call__(self, batch: Any, /) -> Mapping[str, Any]:
        """As arrays: of a batch, or of one of whole sequences."""
        ...


PartReader = Callable[[Sequence[str]], Iterator[Batch]]
Filing = Callable[[Sequence[str]], Sequence[TablePartition]]
Planned = tuple[Sequence[str], PartStep | None]  # the columns to read, and the step after reading


@dataclass(frozen=True, eq=False)
class Source:
    """A table that is read batch by batch; `once` if it can be read only once."""

    names: tuple[str, ...]
    read: PartReader  # parts of any size, in order
    once: bool = False
    rows: int | None = None  # where known beforehand
    near: bool = False  # whether it is in memory
    unnamed: str = ""  # the default name of an unnamed column: x of a list, text of documents
    advice: str = ""  # appended to the error for an unknown column
    spelt: Callable[[Collection[str]], Source] | None = None  # the table with those columns as written, unparsed
    signs: Callable[[Sequence[str]], Mapping[str, str]] | None = None  # the currency sign of each column of amounts
    plain: bool = False  # whether cells need no parsing, as texts and arrays of numbers
    keys: tuple[str, ...] = ()  # columns that identify rows, and aren't learned from
    lengths: tuple[int, ...] = ()  # lengths of the tables it was made of, each a sequence
    files: Filing | None = None  # if it is in partitions: these, which give the same parts as `read`
    frame: Frame | None = None  # if it is an engine's DataFrame
    compared: bool = False  # whether models are compared on its rows

    @classmethod
    def of_files(cls, names: tuple[str, ...], files: Filing, **facts: Any) -> Source:
        """A table whose partitions can be opened anywhere."""

        def read(wanted: Sequence[str]) -> Iterator[Batch]:
            return (part for partition in files(wanted) for part in partition.parts())

        return cls(names, read, files=files, **facts)

    @classmethod
    def of_batch(cls, batch: Batch) -> Source:
        """A table of one batch."""
        return cls(batch.names, lambda wanted: iter([batch.only(wanted)]), rows=batch.rows, near=True)

    def partitions(self, names: Sequence[str]) -> Iterable[Partition[Batch]]:
        """The engine's work units, in order: partitions of files, or batches of other data."""
        self.require(names)
        return recut(self.read(names)) if self.files is None else self.files(names)

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """Those columns, in order, in batches of one size, however the rows arrive."""
        return (batch for partition in self.partitions(names) for batch in partition.batches())

    def sequences(
        self, names: Sequence[str], *, by: str | None = None, order: str | None = None
    ) -> Iterable[Partition[SequenceBatch]]:
        """Partitions of batches that never split a sequence: rows of one value of `by` follow each other, or are one
        of several tables. They are put in order by `order`, or stay as they are."""
        from credo.data.sequences import partitions_of

        return partitions_of(self, names, by, order)

    def count(self, name: str) -> int:
        """The number of rows, found by reading a column."""
        return sum(engines.map(BatchRows(), self.partitions([name])))

    @property
    def home(self) -> Engine | None:
        """The engine that holds the rows, if any."""
        return None if self.frame is None else self.frame.home

    @property
    def nearby(self) -> bool:
        """Whether this process reads the rows; otherwise only results of jobs come here."""
        return self.files is None or (self.home or engines.current()).shares_memory

    def to_compare(self) -> Source:
        """The same rows for comparing models: scores of each row are collected, even of a frame's."""
        return replace(self, compared=True)

    @property
    def sums_scores(self) -> bool:
        """Whether workers sum the scores of rows; otherwise each row's scores are collected."""
        return self.frame is not None and not self.compared

    def first(self, names: Sequence[str], rows: int | None = None) -> Batch | None:
        """The first batch, cut to at most that many rows; None if there are no rows."""
        if self.frame is not None:
            self.require(names)
            if not any(isinstance(step, EachRow) for own in self.frame.template(names) for step in own.steps):
                return self.frame.first(names, rows)
        partitions = self.partitions(names)
        if self.nearby:
            found = next((batch for own in partitions for batch in own.batches()), None)
            return found if found is None or rows is None else found.slice(0, rows)
        return first_of(partitions, rows)

    def check_rereadable(self, reader: str) -> None:
        """An error if the table can be read only once; `reader` says what reads it again."""
        if self.once:
            raise DataError(f"{reader}, and an iterator can be read only once: give a table")

    def repeatable(self) -> Source:
        """The table; loaded into memory if it can be read only once."""
        if not self.once:
            return self
        parts = [*self.read(self.names)]
        rows = sum(part.rows for part in parts)

        def read(wanted: Sequence[str]) -> Iterator[Batch]:
            return (part.only(wanted) for part in parts)

        return replace(self, read=read, once=False, rows=rows, near=True)

    def held(self, most: int = 2**28) -> Source:
        """The table in memory, if this process can read it and it fits into that many bytes; else the table itself. For
        callers that read it several times; partitions stay the same."""
        if self.near or self.once or not self.nearby:
            return self
        parts, rows, size = [], [], 0
        for partition in [None] if self.files is None else self.files(self.names):
            own = []
            for part in self.read(self.names) if partition is None else partition.parts():
                own.append(part)
                size += sum(array.nbytes for array in part.columns.values()) + (
                    0 if part.block is None else part.block.nbytes
                )
                if size > most:
                    return self
            parts.append(Held(tuple(own)))
            rows.append(parts[-1].count())
        if self.files is None:
            (only,) = parts
            return replace(self, read=only.read, spelt=None, rows=rows[0], near=True)

        def files(wanted: Sequence[str]) -> Sequence[TablePartition]:
            return numbered([TablePartition(own, tuple(wanted)) for own in parts], rows)

        held = Source.of_files(self.names, files)
        return replace(self, read=held.read, files=files, spelt=None, rows=sum(rows), near=True)

    def beside(self, name: str, values: object) -> Source:
        """With one more column, given as an array."""
        step = Beside(_only_column({name: values}), name)
        if self.rows is not None and len(step.values) != self.rows:
            raise DataError(step.wrong(len(step.values), str(self.rows)))

        def plan(wanted: Sequence[str]) -> Planned:
            return [other for other in wanted if other != name], step if name in wanted else None

        return replace(self.then(plan), names=(*self.names, name))

    def weighted(self, weights: Array) -> Source:
        """With a weight for each row."""
        step = Weighted(weights)
        if self.rows is not None and len(weights) != self.rows:
            raise DataError(step.wrong(len(weights), str(self.rows)))
        return self.then(lambda wanted: (wanted, step))

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Source:
        """Some of the rows, by a flag for each, or by the number of copies of each."""
        return replace(self.then(lambda wanted: (wanted, ChosenRows(chosen))), rows=int(chosen.sum()), lengths=())

    def renamed(self, new: Mapping[str, str]) -> Source:
        """With renamed columns."""
        old = {name: was for was, name in new.items()}
        found = self.then(lambda wanted: ([old.get(name, name) for name in wanted], Renamed(new)))
        return replace(found, names=tuple(new.get(name, name) for name in self.names), unnamed="")

    def then(self, plan: Callable[[Sequence[str]], Planned]) -> Source:
        """The table with one more step. `plan` gives, for the wanted columns, those it needs and the step."""

        def read(wanted: Sequence[str]) -> Iterator[Batch]:
            needed, step = plan(wanted)
            parts = self.read(needed)
            return parts if step is None else step.over(parts)

        def after(files: Filing | None) -> Filing | None:
            def filed(wanted: Sequence[str]) -> Sequence[TablePartition]:
                needed, step = plan(wanted)
                assert files is not None
                found = files(needed)
                return found if step is None else step.shared(found)

            return None if files is None else filed

        frame = self.frame and self.frame.read_as(after(self.frame.template))
        return replace(self, read=read, files=after(self.files), frame=frame, spelt=None)

    def as_words(self, names: Collection[str]) -> Source:
        """The table with some columns as written, for models that know them as strings, even where all spell numbers.

        Later steps stay.
        """
        if not names or self.spelt is None:
            return self
        found = self.spelt(names)
        return replace(self, read=found.read, files=found.files, frame=found.frame, signs=found.signs, spelt=None)

    def currencies(self, names: Sequence[str]) -> Mapping[str, str]:
        """The currency sign of each of these columns that holds amounts."""
        return {} if self.signs is None or not names else self.signs(names)

    def in_currencies(self, known: Mapping[str, str]) -> Source:
        """The table; an error if a column has amounts in another currency than the known one."""
        there = set(self.names)
        for name, sign in self.currencies([name for name in known if name in there]).items():
            if sign != known[name]:
                raise other_currency(name, known[name], sign)
        return self

    def without(self, name: object) -> Source:
        """All columns but one."""
        return replace(self, names=tuple(other for other in self.names if not isinstance(name, str) or other != name))

    def require(self, names: Iterable[str]) -> None:
        known = {*self.names, *self.keys}
        for name in names:
            if name not in known:
                advice = f" {self.advice}" if self.advice else ""
                raise SchemaError(f"no column {name!r}; {suggest(name, self.names)}{advice}")

    def __repr__(self) -> str:
        """
        >>> source({"x": [1, 2]})
        <a table of 2 rows: x>
        """
        size = "" if self.rows is None else f" of {counted(self.rows, 'row')}"
        names = ", ".join(self.names[:8]) + (f", ... ({len(self.names)} in all)" if len(self.names) > 8 else "")
        return f"<a table{size}: {names}>"

    def _repr_html_(self) -> str:
        from credo.present.models import in_notebook

        return in_notebook(self)


@dataclass(frozen=True)
class BatchRows:
    """The number of rows of a batch."""

    def __call__(self, batch: Batch) -> int:
        return batch.rows


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a partition's first batch, or all of them; None if it has none."""

    rows: int | None

    def __call__(self, unopened: Unopened[Partition[Batch]]) -> Batch | None:
        found = next(unopened.what.batches(), None)
        return found if found is None or self.rows is None else found.slice(0, self.rows)


def first_of(partitions: Iterable[Partition[Batch]], rows: int | None) -> Batch | None:
    """The first rows of the first partition that has some, found where the partitions are opened."""
    each = (next(engines.map(FirstRows(rows), [Unopened(own)])) for own in partitions)
    return next((found for found in each if found is not None), None)


def source(data: object) -> Source:
    """The source of a table in any of credo's forms."""
    if isinstance(data, Source):
        return data
    from credo.data.string_columns import typed

    found = opened(data)
    return found if found.plain else typed(found)


def opened(data: object) -> Source:
    """The source, with cells as written."""
    if isinstance(data, Source):
        return data
    if isinstance(data, str | PathLike):
        from credo.data.files import open_files

        return open_files(data)
    from credo.data.frames import open_frame
    from credo.data.tables import open_table

    return open_frame(data) or open_table(data)


def _only_column(data: Mapping[str, object]) -> pa.ChunkedArray:
    (name,) = data
    parts = [part.columns[name] for part in source(data).read([name])]
    return pa.chunked_array([chunk for part in parts for chunk in chunks_of(part)]) if len(parts) > 1 else parts[0]
