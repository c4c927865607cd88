"""How cells become bins: numbers between cut points, levels of categories, many of them to a bin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo._kernels.tree.splitting import EACH, FEW_LEVELS, MISSING, SUBSET, THRESHOLD
from credo.blocks.block import UNSEEN_VALUES
from credo.blocks.capabilities import Ignored
from credo.blocks.dependence.cut_points import quantile_starts
from credo.core.membership import Codes
from credo.data import Batch
from credo.data.schema import Column, Kind
from credo.models.tree.growing import EncodedRows, Gain
from credo.models.tree.structure import Cells
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa

BINS = MISSING  # of a column, at most
SORTED = 2**18  # numbers of several columns that are sorted at once


@dataclass(frozen=True, eq=False)
class Bins(ABC):
    """How the cells of one column become bins."""

    name: str

    @property
    @abstractmethod
    def column(self) -> Column:
        """As others see it."""

    @property
    @abstractmethod
    def sizes(self) -> Array:
        """How many levels each bin stands for. (bins,)"""

    @abstractmethod
    def split(self, gain: Gain) -> int:
        """How the column is split."""

    @abstractmethod
    def of_cells(self, cells: object) -> Cells:
        """The bins of numbers, NaN where they are missing; or of codes of the levels, -1 where they are."""

    @abstractmethod
    def read(self, batch: Batch) -> tuple[Cells, int]:
        """The bin of each row's cell, and how many cells hold an unseen value."""

    @abstractmethod
    def equals(self, other: Bins) -> bool:
        """Whether the same cells come to the same bins."""


@dataclass(frozen=True, eq=False)
class NumberBins(Bins):
    """Bin b holds the numbers above cut b - 1, up to cut b."""

    kind: Kind
    cuts: Array  # ascending

    @classmethod
    def of_each(cls, names: Sequence[str], kinds: Sequence[Kind], x: Array, weight: Array) -> list[NumberBins]:
        """A bin for each number, in a column of up to 255; else about as many rows in each. A cut lies half-way. x:
        (columns, rows)"""
        x, weight = (x, weight) if (weight > 0).all() else (x[:, weight > 0], weight[weight > 0])
        step, found = max(1, SORTED // max(len(weight), 1)), list[NumberBins]()
        for first in range(0, len(names), step):
            some = slice(first, first + step)
            cuts = _cuts(x[some], weight)
            found += map(cls, names[some], kinds[some], cuts)
        return found

    @property
    def column(self) -> Column:
        return Column(self.name, self.kind)

    @property
    def sizes(self) -> Array:
        return np.ones(len(self.cuts) + 1)

    def split(self, gain: Gain) -> int:  # noqa: ARG002 - categories go by it
        return THRESHOLD

    def of_cells(self, cells: Any) -> Cells:
        found: Cells = np.searchsorted(self.cuts, cells).astype(np.uint8)
        found[np.isnan(cells)] = MISSING
        return found

    def read(self, batch: Batch) -> tuple[Cells, int]:
        return self.of_cells(batch.numbers(self.name)), 0

    def equals(self, other: Bins) -> bool:
        return isinstance(other, NumberBins) and self.name == other.name and np.array_equal(self.cuts, other.cuts)


def _cuts(x: Array, weight: Array) -> list[Array]:
    """The cut points of each column: of many at once, since a column may be short. (columns, rows)"""
    ordered = np.sort(x, axis=1)  # NaN last
    grows = ordered[:, 1:] > ordered[:, :-1]
    below, above = ordered[:, :-1][grows], ordered[:, 1:][grows]
    ends = np.cumsum(grows.sum(1))
    found = np.split(_half_way(below, above), ends[:-1])
    for j in np.flatnonzero(np.diff(ends, prepend=0) >= BINS):
        known, values = ~np.isnan(x[j]), np.append(ordered[j, 0], above[ends[j] - grows[j].sum() : ends[j]])
        n = np.bincount(np.searchsorted(values, x[j, known]), weight[known]).astype(np.float64)
        starts = quantile_starts(n, BINS)
        found[j] = _half_way(values[starts[1:] - 1], values[starts[1:]])
    return found


def _half_way(below: Array, above: Array) -> Array:
    """Cuts between numbers; the lower one where no float lies between them."""
    cuts = below / 2 + above / 2
    return np.where((cuts >= below) & (cuts < above), cuts, below)


@dataclass(frozen=True, eq=False)
class LevelBins(Bins):
    """A level is in the bin that stands in its place."""

    levels: pa.Array  # an Arrow array
    bins: Codes  # (levels,)

    @classmethod
    def of(cls, name: str, levels: Any, codes: Codes, truth: Codes, weight: Array) -> LevelBins:
        """A bin for each level, in a column of up to 255; else levels with about the same share of the commonest class
        lie in one, each bin with about as many rows."""
        size = len(levels)
        if size <= BINS:
            return cls(name, levels, np.arange(size, dtype=np.int32))
        known = codes >= 0
        commonest = int(np.bincount(truth, weight).argmax())
        n = np.bincount(codes[known], weight[known], size)
        own = np.bincount(codes[known], weight[known] * (truth[known] == commonest), size)
        order = np.argsort((own + 0.5) / (n + 1.0), kind="stable")
        bins = np.empty(size, dtype=np.int32)
        starts = quantile_starts(np.maximum(n[order], np.finfo(float).tiny), BINS)
        bins[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, size)))
        return cls(name, levels, bins)

    @property
    def column(self) -> Column:
        return Column(self.name, "category", self.levels)

    @property
    def sizes(self) -> Array:
        return np.bincount(self.bins).astype(np.float64)

    def split(self, gain: Gain) -> int:
        return EACH if gain == "information" and len(self.levels) <= FEW_LEVELS else SUBSET

    def of_cells(self, cells: Any) -> Cells:
        found: Cells = np.append(self.bins, MISSING).astype(np.uint8)[cells]
        return found

    def read(self, batch: Batch) -> tuple[Cells, int]:
        codes, unseen = batch.codes_among(self.name, self.levels)
        return self.of_cells(codes), unseen

    def equals(self, other: Bins) -> bool:
        if not isinstance(other, LevelBins) or self.name != other.name:
            return False
        return bool(self.levels.equals(other.levels)) and np.array_equal(self.bins, other.bins)


def read_cells(columns: Sequence[Bins], batch: Batch) -> tuple[Cells, Ignored]:
    """The bins of a batch's cells, and the unseen values that count as missing."""
    batch = batch.filled([each.name for each in columns])
    cells, ignored = np.empty((len(columns), batch.rows), dtype=np.uint8), Ignored()
    for j, each in enumerate(columns):
        cells[j], unseen = each.read(batch)
        if unseen:
            ignored[each.name, UNSEEN_VALUES] = unseen
    return cells, ignored


def encoded(
    columns: Sequence[Bins], cells: Cells, truth: Codes, weight: Array, classes: int, gain: Gain
) -> EncodedRows:
    """Rows as a tree is grown from them."""
    sizes = [each.sizes for each in columns]
    levels = np.zeros((len(columns), max(map(len, sizes))))
    for own, each in zip(levels, sizes, strict=True):
        own[: len(each)] = each
    kinds = np.array([each.split(gain) for each in columns], dtype=np.int32)
    return EncodedRows(cells, kinds, levels, truth, weight, classes)
