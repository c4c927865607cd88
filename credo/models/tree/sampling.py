"""The rows that a tree is grown from: read from a table once, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from credo import engines
from credo._kernels.tree.splitting import MISSING
from credo.core.folds import FoldDraw
from credo.core.learning import RowWeights, Weight, Weights
from credo.core.membership import Codes, Hard
from credo.core.statistics import Counts
from credo.data import Batch, Source
from credo.data.cells import recoded
from credo.data.fingerprints import chosen_rows
from credo.data.schema import Column, Kind, Schema, unite
from credo.errors import DataError
from credo.models.forms import Views
from credo.models.targets import class_codes
from credo.models.tree.binning import Bins, LevelBins, NumberBins, encoded
from credo.models.tree.growing import EncodedRows, Gain
from credo.models.tree.structure import Cells
from credo.numerics.arrays import Positions
from credo.numerics.exact import Array

MOST_GROWING_ROWS = 2**20  # of more rows, a sample by a hash of their numbers
CATEGORY_FORMS = ("category", "word")


@dataclass(frozen=True, eq=False)
class TreeSample:
    """Rows with a class and a positive weight, column by column."""

    numbers: dict[str, int]  # columns of numbers, and the index of each
    x: Array  # (columns, rows) numbers, NaN where a cell is missing
    categories: dict[str, Codes]
    levels: Schema  # of categories and of the target
    target: str
    truth: Codes
    weight: Array
    unlabelled: Counts  # rows without a class
    folds: Positions | None = None  # their row numbers, if sampled
    whole: bool = True  # whether these are all rows of the table

    def take(self, rows: Positions) -> TreeSample:
        """Some of the rows, with only their own levels, but the classes of all rows."""
        categories, columns = dict[str, Codes](), list[Column]()
        for column in self.levels:
            if (codes := self.categories.get(column.name)) is None:
                columns.append(column)
                continue
            there = np.bincount(codes[rows] + 1, minlength=len(column.levels) + 1)[1:] > 0
            if there.all():
                categories[column.name] = codes[rows]
                columns.append(column)
                continue
            places = np.append(np.cumsum(there) - 1, -1).astype(np.int32)
            categories[column.name] = places[codes[rows]]
            columns.append(replace(column, levels=column.levels.filter(pa.array(there))))
        return replace(
            self, x=self.x[:, rows], categories=categories, levels=Schema(tuple(columns)), truth=self.truth[rows],
            weight=self.weight[rows], folds=None if self.folds is None else self.folds[rows], whole=False,
        )  # fmt: skip

    def bins(self, views: Views) -> tuple[Bins, ...]:
        """The bins of each column."""
        kinds: list[Kind] = [_kind(views[name][0]) for name in self.numbers]
        found: dict[str, Bins] = {
            each.name: each for each in NumberBins.of_each([*self.numbers], kinds, self.x, self.weight)
        }
        for name, codes in self.categories.items():
            found[name] = LevelBins.of(name, self.levels[name].levels, codes, self.truth, self.weight)
        return tuple(found[name] for name in views)

    def cells(self, columns: Sequence[Bins]) -> Cells:
        """The rows in these bins; unknown levels are missing."""
        return self.cells_of(columns, range(len(columns)))

    def cells_of(self, columns: Sequence[Bins], some: Iterable[int]) -> Cells:
        """The same for some of the columns; the others are missing."""
        found = np.full((len(columns), len(self.truth)), MISSING, dtype=np.uint8)
        for j in some:
            each = columns[j]
            if (codes := self.categories.get(each.name)) is None:
                found[j] = each.of_cells(self.x[self.numbers[each.name]])
            else:
                found[j] = each.of_cells(recoded(codes, self.levels[each.name].levels, each.column.levels)[0])
        return found

    def encoded(self, columns: Sequence[Bins], gain: Gain, classes: int) -> EncodedRows:
        return encoded(columns, self.cells(columns), self.truth, self.weight, classes, gain)


@dataclass(frozen=True, eq=False)
class ReadRows:
    """A batch's rows, or one in `stride`, as a sample."""

    views: Views
    target: str
    weights: RowWeights
    stride: int
    draw: FoldDraw | None

    def __call__(self, batch: Batch) -> TreeSample:
        folds = None if self.draw is None else self.draw.of(batch)
        if self.stride > 1:
            some = chosen_rows(batch.start, batch.rows, self.stride)
            batch, folds = batch.take(some), None if folds is None else folds[some]
        codes, classes = class_codes(batch, self.target)
        weight = self.weights.of_rows(batch)
        unlabelled = Counts.of_rows(Hard.whole(int((codes < 0).sum()), weight[codes < 0]))
        kept = np.flatnonzero((codes >= 0) & (weight > 0))
        if len(kept) < batch.rows:
            batch, codes, weight = batch.take(kept), codes[kept], weight[kept]
            folds = None if folds is None else folds[kept]
        names = [name for name, (form, *_) in self.views.items() if form not in CATEGORY_FORMS]
        categories, columns = {}, [Column(self.target, "category", classes)]
        for name, (form, *_) in self.views.items():
            if form in CATEGORY_FORMS:
                categories[name], levels = batch.categories(name)
                columns.append(Column(name, "category", levels))
        x = np.ascontiguousarray(batch.matrix(names).T)
        return TreeSample(
            {name: j for j, name in enumerate(names)}, x, categories, Schema(tuple(columns)), self.target, codes,
            weight, unlabelled, folds, self.stride == 1,
        )  # fmt: skip


def sampled(table: Source, target: str, views: Views, weight: Weight, draw: FoldDraw | None = None) -> TreeSample:
    """All rows of a table, or a sample if there are very many; levels and classes in their natural order."""
    weights = Weights.of(weight)
    rows = table.count(target) if table.rows is None else table.rows
    job = ReadRows(views, target, weights.of_a_row, max(1, -(-rows // MOST_GROWING_ROWS)), draw)
    names = [target, *views] if draw is None else draw.beside([target, *views])
    parts = [*engines.map(job, weights.partitions(table, names))]
    if not parts:
        raise DataError("the data is empty: there are no rows to learn from")
    return _joined(parts, target)


def _joined(parts: Sequence[TreeSample], target: str) -> TreeSample:
    schema, places = unite([part.levels for part in parts])
    ordered = {column.name: column.ordered() for column in schema}

    def codes_of(name: str, own: Sequence[Codes]) -> Codes:
        rank = np.empty(len(ordered[name][1]) + 1, dtype=np.int32)
        rank[-1], rank[ordered[name][1]] = -1, np.arange(len(ordered[name][1]))
        each = (np.append(rank[place[name]], -1)[codes] for codes, place in zip(own, places, strict=True))
        return np.concatenate([*each]).astype(np.int32)

    return TreeSample(
        parts[0].numbers,
        np.concatenate([part.x for part in parts], axis=1),
        {name: codes_of(name, [part.categories[name] for part in parts]) for name in parts[0].categories},
        Schema(tuple(column for column, _ in ordered.values())),
        target,
        codes_of(target, [part.truth for part in parts]),
        np.concatenate([part.weight for part in parts]),
        sum((part.unlabelled for part in parts[1:]), parts[0].unlabelled),
        None if parts[0].folds is None else np.concatenate([part.folds for part in parts if part.folds is not None]),
        parts[0].whole,
    )


def _kind(form: str) -> Kind:
    return "count" if form == "count" else "date" if form == "date" else "number"


def held(table: Source) -> Source:
    """The table, loaded into memory if it can be read only once: growing and counting take two passes."""
    if not table.once:
        return table
    parts = [*table.read(table.names)]

    def read(wanted: Sequence[str]) -> Iterator[Any]:
        return (part.only(wanted) for part in parts)

    return replace(
        table, read=read, once=False, rows=sum(part.rows for part in parts), near=True, files=None, spelt=None
    )
