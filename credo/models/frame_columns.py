"""Predictions as lazily computed columns of a Dask or Spark DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.data import Batch
from credo.data.frames import with_columns
from credo.data.free_names import free_names
from credo.data.sequences import Sequences
from credo.data.sources import Source

PREDICTED = "predicted"
Job = Callable[[Any], tuple[Any, ...]]  # the results for each row of a batch, and further information


@dataclass(frozen=True, eq=False)
class ForEachClass:
    """A column for each class."""

    job: Job
    names: tuple[str, ...]
    sequences: Sequences | None = None

    @property
    def columns(self) -> Mapping[str, Any]:
        return {name: np.empty(0) for name in self.names}

    def __call__(self, batch: Batch) -> Mapping[str, Any]:
        found, *_ = self.job(batch)
        return {name: found[:, k] for k, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False)
class OfClasses:
    """A column of classes, by their codes."""

    job: Job
    name: str
    classes: tuple[object, ...]
    sequences: Sequences | None = None

    @property
    def _values(self) -> Any:
        values = np.array(self.classes)
        return values if values.dtype.kind in "iufb" else np.array(self.classes, dtype=object)

    @property
    def columns(self) -> Mapping[str, Any]:
        return {self.name: self._values}

    def __call__(self, batch: Batch) -> Mapping[str, Any]:
        found, *_ = self.job(batch)
        return {self.name: self._values[found[:, 0].astype(np.intp)]}


@dataclass(frozen=True, eq=False)
class Likeliest:
    """The code of the most probable value, from a job that gives P(value | row)."""

    job: Job

    def __call__(self, batch: Batch) -> tuple[Any, ...]:
        found, *_ = self.job(batch)
        return (found.argmax(1)[:, None],)


@dataclass(frozen=True, eq=False)
class OfNumbers:
    """A column of numbers."""

    job: Job
    name: str
    sequences: Sequences | None = None

    @property
    def columns(self) -> Mapping[str, Any]:
        return {self.name: np.empty(0)}

    def __call__(self, batch: Batch) -> Mapping[str, Any]:
        found, *_ = self.job(batch)
        return {self.name: np.asarray(found, dtype=np.float64).reshape(-1)}


@dataclass(frozen=True, eq=False)
class FilledColumns:
    """The frame's columns with missing cells filled in, from a job that gives an Arrow table."""

    job: Callable[[Batch], Any]
    names: tuple[str, ...]
    sequences: Sequences | None = None

    @property
    def columns(self) -> Mapping[str, Any]:
        return dict.fromkeys(self.names)  # an empty table with the columns' types

    def __call__(self, batch: Batch) -> Mapping[str, Any]:
        found = self.job(batch)
        return {name: found[name] for name in self.names}


def filled(table: Source, job: Callable[[Batch], Any], names: Sequence[str]) -> Any:
    """The frame with missing cells of those columns filled in; the columns keep their types."""
    return with_columns(table, table.names, FilledColumns(job, tuple(names)))


def numbers(table: Source, wanted: Sequence[str], job: Job, name: str = PREDICTED) -> Any:
    """The frame with a column of numbers."""
    (name,) = free_names([name], table.names)
    return with_columns(table, wanted, OfNumbers(job, name))


def for_each_class(
    table: Source,
    wanted: Sequence[str],
    job: Job,
    form: str,
    classes: Sequence[object],
    sequences: Sequences | None = None,
) -> Any:
    """The frame with a column for each class, named by the form: P({}), log P({})."""
    names = free_names([form.format(value) for value in classes], table.names)
    return with_columns(table, wanted, ForEachClass(job, tuple(names), sequences))


def of_classes(
    table: Source,
    wanted: Sequence[str],
    job: Job,
    classes: Sequence[object],
    name: str = PREDICTED,
    sequences: Sequences | None = None,
) -> Any:
    """The frame with a column of classes, such as the most probable ones, from a job that gives their codes."""
    (name,) = free_names([name], table.names)
    return with_columns(table, wanted, OfClasses(job, name, tuple(classes), sequences))
