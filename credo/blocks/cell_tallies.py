"""Tallies of counted cells: values of categories, and truncated numbers. All columns share one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa

from credo._kernels.blocks.live import add_bins_of_row, add_cells_of_row, count_cells
from credo.blocks.block import Settings
from credo.blocks.levels import MISSING, UNSEEN, Levels
from credo.blocks.numbers.tallies import NumberCells, getter
from credo.blocks.tally import PredictingTally, Row, grown
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.statistics import Counts
from credo.data.schema import Column, Schema
from credo.numerics.exact import Array

Ordered = tuple[Array, Any, Any]  # ascending values, column after column; their codes; the ends of columns
RowCodes = list[int]  # of a row's cells: MISSING, UNSEEN, or the position of the cell in the table


class CellTable:
    """The count of each cell in each class; cells of all columns are numbered in order of appearance."""

    def __init__(self, before: Sequence[Array]) -> None:
        """before: for each column, the counts of its levels (classes, levels)"""
        self.levels = np.array([float(n.shape[1]) for n in before])
        self.size = int(self.levels.sum())
        classes = max(before[0].shape[0], 1)
        self._sums = np.zeros((3, max(self.size, 1), classes))  # (high, low and before, cells, classes)
        self.totals = np.zeros((len(before), classes))  # (columns, classes)
        if self.size:
            self._sums[2, : self.size, : before[0].shape[0]] = np.concatenate(before, axis=1).T
        for total, n in zip(self.totals, before, strict=True):
            total[: len(n)] = n.sum(1)
        self._weights = self._sums[2].sum(1)
        self._row = np.empty(len(before), dtype=np.int64)
        self._write = Struct(f"{len(before)}q").pack_into

    def make_cell(self, column: int) -> int:
        """The code of a new level."""
        if self.size == self._sums.shape[1]:
            self._sums, self._weights = grown(self._sums, 1), grown(self._weights, 0)
        self.levels[column] += 1
        self.size += 1
        return self.size - 1

    def add(self, codes: RowCodes, k: int, weight: float) -> None:
        if k >= self._sums.shape[2]:
            self._sums, self.totals = grown(self._sums, 2), grown(self.totals, 1)
        self._write(self._row.data, 0, *codes)
        count_cells(self._row, k, weight, self._sums, self._weights, self.totals)

    def counts(self, codes: RowCodes, classes: int) -> Counts:
        """The counts added since the start, of the cells of a column."""
        high, low = self._sums[:2, codes, :classes].swapaxes(1, 2)
        return Counts.of_pairs(high, low)

    def score(self, codes: RowCodes, smoothing: float, out: Array) -> None:
        self._write(self._row.data, 0, *codes)
        add_cells_of_row(self._row, self._sums, self.totals, self.levels, smoothing, out)

    def score_bins(self, x: Array, ordered: Ordered, most: Array, smoothing: float, out: Array) -> None:
        add_bins_of_row(x, *ordered, self._sums, self._weights, self.totals, most, smoothing, out)


class CategoriesTally(PredictingTally):
    """The count of each value in each class."""

    def __init__(self, columns: Sequence[Column], before: Sequence[Counts]) -> None:
        self._table = CellTable([counts.n.value for counts in before])
        self._get = getter([column.name for column in columns])
        starts = np.cumsum([0, *(len(column.levels) for column in columns)])
        self._levels = [Levels(column, int(start)) for column, start in zip(columns, starts[:-1], strict=True)]
        self._doubtful = any(levels.doubtful for levels in self._levels)
        self._new = False  # whether the current row has new values

    def read(self, row: Row, number: int) -> None:
        values = self._get(row)
        self._codes = self._looked_up(values)
        self._new = UNSEEN in self._codes
        if self._new or self._doubtful:
            self._codes = [levels.find(value, number) for levels, value in zip(self._levels, values, strict=True)]
            self._new = UNSEEN in self._codes

    def _looked_up(self, values: Sequence[object]) -> RowCodes:
        try:
            return [levels[value] for levels, value in zip(self._levels, values, strict=True)]
        except TypeError:  # an unhashable value, such as a list
            return [UNSEEN]

    def add(self, k: int, weight: float) -> None:
        if self._new:
            self._admit()
        self._table.add(self._codes, k, weight)

    def _admit(self) -> None:
        for j, code in enumerate(self._codes):
            if code == UNSEEN:
                self._codes[j] = self._levels[j].admit(self._table.make_cell(j))
        self._new = False
        self._doubtful = any(levels.doubtful for levels in self._levels)

    def evidence(self, classes: Column) -> Evidence:
        columns, parts = [classes], {}
        for levels in self._levels:
            column = levels.column
            columns.append(column)
            counts = self._table.counts(levels.codes, len(classes.levels))
            parts[Label("column", column.name)] = Part((classes.name, column.name), counts)
        return Evidence(Schema(tuple(columns)), parts)

    def look(self, row: Row, number: int) -> None:
        values = self._get(row)
        self._codes = self._looked_up(values)
        if UNSEEN in self._codes:
            self._codes = [levels.among(value, number) for levels, value in zip(self._levels, values, strict=True)]

    def score(self, settings: Settings, out: Array) -> None:
        self._table.score(self._codes, float(settings.smoothing), out)


class BinnedTally(PredictingTally):
    """The counts of truncated numbers by class, from which bins are derived."""

    def __init__(
        self,
        columns: Sequence[Column],
        before: Sequence[Counts],
        cut: Callable[[Array], Array],
        most_bins: Callable[[Array], Any],
    ) -> None:
        self._table = CellTable([counts.n.value for counts in before])
        self._names, self._cut, self._most_bins = [column.name for column in columns], cut, most_bins
        self._cells = NumberCells(self._names)
        self._known: list[dict[float, int]] = []  # {number: code}, of each column
        for column in columns:
            start = sum(map(len, self._known))
            self._known.append({value: start + i for i, value in enumerate(column.values)})
        self._ordered: Ordered | None = None
        self._whole = all((counts.n.value % 1 == 0).all() for counts in before)

    @property
    def exact(self) -> bool:
        """False with fractional weights: their sums depend on the order, and a value at an edge may change its bin."""
        return self._whole

    def read(self, row: Row, number: int) -> None:
        self._x = self._cut(self._cells.read(row, number))[0]

    look = read

    def add(self, k: int, weight: float) -> None:
        x = self._x.tolist()
        codes = [known.get(v, UNSEEN) if v == v else MISSING for known, v in zip(self._known, x, strict=True)]
        for j, code in enumerate(codes):
            if code == UNSEEN:
                codes[j] = self._known[j][x[j]] = self._table.make_cell(j)
                self._ordered = None
        self._table.add(codes, k, weight)
        self._whole = self._whole and weight % 1 == 0

    def evidence(self, classes: Column) -> Evidence:
        columns, parts = [classes], {}
        for name, known in zip(self._names, self._known, strict=True):
            columns.append(Column(name, "number", pa.array(list(known), pa.float64())))
            counts = self._table.counts(list(known.values()), len(classes.levels))
            parts[Label("column", name)] = Part((classes.name, name), counts)
        return Evidence(Schema(tuple(columns)), parts)

    def score(self, settings: Settings, out: Array) -> None:
        if self._ordered is None:
            self._ordered = self._in_order()
        most = self._most_bins(self._table.totals.sum(1))
        self._table.score_bins(self._x, self._ordered, most, float(settings.smoothing), out)

    def _in_order(self) -> Ordered:
        values = [np.fromiter(known, np.float64, len(known)) for known in self._known]
        codes = [np.fromiter(known.values(), np.int64, len(known)) for known in self._known]
        orders = [np.argsort(each) for each in values]
        ascending, theirs = (
            np.concatenate([each[order] for each, order in zip(part, orders, strict=True)]) for part in (values, codes)
        )
        return ascending, theirs, np.cumsum([len(each) for each in values])
