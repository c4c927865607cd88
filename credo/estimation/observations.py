"""How a family's observations are read from a batch, and summarised group by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Codes, Membership
from credo.core.sparse import GroupCounts
from credo.core.statistics import Counts
from credo.data import Batch, cells
from credo.data.schema import Column, Kind, Schema
from credo.errors import DataError, SchemaError, suggest
from credo.families import Family
from credo.families.dirichlet import Dirichlet
from credo.numerics.exact import Array

KIND_OF_READING: dict[str, Kind] = {"truth": "category", "category": "category", "count": "count", "counts": "count"}


@dataclass(frozen=True)
class ObservedColumns:
    """The columns that a family reads, how it reads them, and the value that counts as a success."""

    names: tuple[str, ...]
    family: Family
    column: str  # the name in the evidence
    success: object = None

    @property
    def name(self) -> str:
        return self.names[-1]

    @property
    def label(self) -> Label:
        return Label("column", self.column)

    @property
    def kind(self) -> Kind:
        return KIND_OF_READING.get(self.family.reads, "number")

    def cells(self, batch: Batch) -> Any:
        """Codes, floats or a matrix, as the family's `statistics` and `log_predictive` take them."""
        how, name = self.family.reads, self.name
        if how == "category":
            return self.categories(batch)[0]
        if how == "truth":
            return cells.truths(batch.column(name), name, batch.number, self.success)
        if how in ("numbers", "counts"):
            return self._whole_rows(batch, how)
        x = batch.numbers(name)
        if how in ("count", "positive"):
            cells.check_positive(x, name, batch.number, whole=how == "count")
        return x

    def _whole_rows(self, batch: Batch, how: str) -> Array:
        x = batch.matrix(self.names)
        absent = np.argwhere(np.isnan(x))
        if len(absent):
            row, j = absent[0]
            raise DataError(
                f"column {self.names[j]!r} has no value in row {batch.number(row)}; "
                f"{type(self.family).__name__} needs whole rows: drop that row, or fill the cell"
            )
        if how == "counts":
            for j, name in enumerate(self.names):
                cells.check_positive(x[:, j], name, batch.number, whole=True)
        return x

    def categories(self, batch: Batch) -> tuple[Codes, Any, int]:
        """Codes, levels, and the number of levels (the first) that the prior declares."""
        codes, levels = batch.categories(self.name)
        assert isinstance(self.family, Dirichlet)
        declared = self.family.levels
        if declared is None and self.family.concentration.ndim:
            declared = self.family.names
        if declared is None:
            return codes, levels, 0
        known = pa.array(declared)
        try:
            united = pa.concat_arrays([known, levels.cast(known.type)]).dictionary_encode()
        except pa.ArrowInvalid:
            raise SchemaError(f"column {self.name!r} holds {levels.type}, the prior {known.type} values") from None
        if self.family.concentration.ndim and len(united.dictionary) > len(declared):
            odd = united.dictionary[len(declared)].as_py()
            raise SchemaError(f"the prior has no concentration for {odd!r}; {suggest(odd, declared)}")
        table = np.append(united.indices[len(declared) :].to_numpy(zero_copy_only=False), -1)
        return table[codes].astype(np.int32), united.dictionary, len(declared)

    def known_cells(self, batch: Batch, levels: Any) -> Any:
        """As `cells`, with categories coded by these levels; other values count as missing."""
        if self.family.reads != "category":
            return self.cells(batch)
        codes, own, _ = self.categories(batch)
        place = {value: code for code, value in enumerate(levels.to_pylist())}
        return np.array([*(place.get(value, -1) for value in own.to_pylist()), -1], dtype=np.int32)[codes]

    def summarise(self, batch: Batch, member: Membership, groups: str | None) -> Evidence:
        """This batch's statistics, by group; `groups` is the column whose levels the groups are."""
        if self.family.reads != "category":
            columns = tuple(Column(name, self.kind) for name in (self.names if len(self.names) > 1 else (self.column,)))
            statistics = self.family.statistics(self.cells(batch), member)
            return Evidence(Schema(columns), {self.label: Part((groups,), statistics)})
        codes, levels, declared = self.categories(batch)
        column = Column(self.column, "category", levels, declared)
        kind = Counts if groups is None else GroupCounts
        statistics = kind.of(codes, len(levels), member)
        return Evidence(Schema((column,)), {self.label: Part((groups, self.column), statistics)})


class Predicting(Protocol):
    """A belief, or a belief per group."""

    def log_predictive(self, batch: Batch, /) -> Array: ...


@dataclass(frozen=True, eq=False)
class LogPredictive:
    """log p(observation) of each row of a batch."""

    belief: Predicting

    def __call__(self, batch: Batch) -> Array:
        return self.belief.log_predictive(batch)


def absent(x: Any) -> Any:
    """Which observations are missing, for cells in any form."""
    if x.dtype == np.int32:
        return x < 0
    return np.isnan(x) if x.ndim == 1 else np.isnan(x).all(axis=1)


def only_column(names: Sequence[str]) -> str:
    """The only column of a table."""
    if len(names) != 1:
        raise SchemaError(
            f"the table has {len(names)} columns ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''}); "
            "name the one with the observations, as in credo.estimate(data, column)"
        )
    return names[0]
