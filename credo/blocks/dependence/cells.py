"""Cells of all columns as codes: values of categories, and bins of numbers between fixed cut points."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.membership import Codes
from credo.core.statistics import Positions
from credo.data import Batch
from credo.numerics.exact import Array

Cuts = Mapping[str, tuple[float, ...]]  # the cut points of number columns


def value_cell(name: str, value: object) -> str:
    """A name of the cell that is unique among all columns."""
    return json.dumps(["value", name, str(value)])


def bin_cell(name: str, place: int) -> str:
    return json.dumps(["bin", name, place])


def missing_cell(name: str) -> str:
    return json.dumps(["missing", name])


def bins_of(x: Array, cuts: Sequence[float]) -> Codes:
    """The bin of each number, -1 where it is missing: cutᵢ ≤ x < cutᵢ₊₁ in bin i.

    >>> bins_of(np.array([0.5, 1.0, 7.0, np.nan]), [1.0, 2.0]).tolist()
    [0, 1, 2, -1]
    """
    found = np.searchsorted(np.asarray(cuts, dtype=np.float64), x, "right").astype(np.int32)
    found[np.isnan(x)] = -1
    return found


def bin_name(cuts: Sequence[float], place: int) -> str:
    """A bin's name in tables."""
    low = f"{cuts[place - 1]:.6g}" if place else "-∞"
    high = f"{cuts[place]:.6g}" if place < len(cuts) else "∞"
    return f"from {low} to below {high}"


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells with evidence, by column, and their positions in the evidence."""

    names: tuple[str, ...]
    levels: Mapping[str, Any]  # the values of categories, as Arrow arrays
    cuts: Cuts  # of numbers
    places: Mapping[str, int]  # the position of each cell in the evidence

    def values(self, name: str) -> list[Any]:
        """The values of a column with evidence; numbers have bins, by position."""
        if name in self.cuts:
            return [i for i in range(len(self.cuts[name]) + 1) if bin_cell(name, i) in self.places]
        return [value for value in self.levels[name].to_pylist() if value_cell(name, value) in self.places]

    @cached_property
    def _columns(self) -> list[list[int]]:
        """The positions of each column's cells."""
        cell = {name: bin_cell if name in self.cuts else value_cell for name in self.names}
        return [[self.places[cell[name](name, value)] for value in self.values(name)] for name in self.names]

    @cached_property
    def order(self) -> Positions:
        """The positions of all cells, column by column."""
        return np.array([place for column in self._columns for place in column], dtype=np.intp)

    @cached_property
    def sizes(self) -> Positions:
        return np.array([len(column) for column in self._columns], dtype=np.intp)

    @cached_property
    def starts(self) -> Positions:
        """The start of each column's cells, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)

    @cached_property
    def column(self) -> Positions:
        """The column of each cell."""
        return np.repeat(np.arange(len(self.names)), self.sizes)

    @property
    def missing(self) -> Positions:
        """The position of each column's missing cells, -1 without any."""
        return np.array([self.places.get(missing_cell(name), -1) for name in self.names], dtype=np.intp)

    @cached_property
    def _tables(self) -> list[Codes]:
        """For each column, the codes of its levels or bins, -1 without evidence; then -1 for missing cells."""
        found = []
        for j, name in enumerate(self.names):
            known = {value: i for i, value in enumerate(self.values(name))}
            every = range(len(self.cuts[name]) + 1) if name in self.cuts else self.levels[name].to_pylist()
            codes = [self.starts[j] + known[value] if value in known else -1 for value in every]
            found.append(np.array([*codes, -1], dtype=np.int32))
        return found

    def read(self, batch: Batch) -> tuple[Codes, dict[str, int]]:
        """Codes, -1 where a cell is missing or unseen (rows, columns); and the numbers of unseen cells."""
        found, unseen = np.empty((batch.rows, len(self.names)), dtype=np.int32), {}
        for j, name in enumerate(self.names):
            if name in self.cuts:
                own = bins_of(batch.numbers(name), self.cuts[name])
                found[:, j] = self._tables[j][own]
                unseen[name] = int(np.count_nonzero((found[:, j] < 0) & (own >= 0)))
            else:
                codes, unseen[name] = batch.codes_among(name, self.levels[name])
                found[:, j] = self._tables[j][codes]
        return found, unseen


@dataclass(frozen=True, eq=False)
class Sizes(Cells):
    """Cells known only by their number in each column, for rows that come as codes."""

    given: tuple[int, ...] = ()

    @cached_property
    def sizes(self) -> Positions:
        return np.array(self.given, dtype=np.intp)


def sorted_cuts(cuts: Sequence[float] | NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(sorted({float(each) for each in cuts}))
