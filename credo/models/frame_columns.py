"""Predictions as columns of a DataFrame that lives on an engine: made there, when the frame is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.data import Batch
from credo.data.frames import unique_names, with_columns
from credo.data.sources import Source
from credo.models.jobs import Job

PREDICTED = "predicted"


@dataclass(frozen=True, eq=False)
class ForEachClass:
    """A column for each class."""

    job: Job
    names: tuple[str, ...]

    @property
    def columns(self) -> Mapping[str, Any]:
        return {name: np.empty(0) for name in self.names}

    def __call__(self, batch: Batch) -> Mapping[str, Any]:
        found, _ = self.job(batch)
        return {name: found[:, k] for k, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False)
class OfClasses:
    """A column of classes, by their codes."""

    job: Job
    name: str
    classes: tuple[Any, ...]

    @property
    def _values(self) -> Any:
        values = np.array(self.classes)
        return values if values.dtype.kind in "iufb" else np.array(self.classes, dtype=object)

    @property
    def columns(self) -> Mapping[str, Any]:
        return {self.name: self._values}

    def __call__(self, batch: Batch) -> Mapping[str, Any]:
        found, _ = self.job(batch)
        return {self.name: self._values[found[:, 0].astype(np.intp)]}


def for_each_class(table: Source, wanted: Sequence[str], job: Job, form: str, classes: Sequence[Any]) -> Any:
    """The frame with a column for each class, named by the form: P({}), log P({})."""
    names = unique_names([form.format(value) for value in classes], table.names)
    return with_columns(table, wanted, ForEachClass(job, tuple(names)))


def most_probable(table: Source, wanted: Sequence[str], job: Job, classes: Sequence[Any]) -> Any:
    """The frame with a column of the most probable class."""
    (name,) = unique_names([PREDICTED], table.names)
    return with_columns(table, wanted, OfClasses(job, name, tuple(classes)))
