"""Binning: numbers by cut points, categories by level, with several rare levels to a bin if there are many."""

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

MOST_TREE_BINS = MISSING  # per column
SORTED_AT_ONCE = 2**18  # numbers of several columns


@dataclass(frozen=True, eq=False)
class Bins(ABC):
    """How the cells of one column become bins."""

    name: str

    @property
    @abstractmethod
    def column(self) -> Column:
        """The column of the schema."""

    @property
    @abstractmethod
    def sizes(self) -> Array:
        """How many levels each bin stands for. (bins,)"""

    @abstractmethod
    def split(self, gain: Gain) -> int:
        """The kind of split for the kernels: threshold, one branch per level, or subsets of levels."""

    @abstractmethod
    def of_cells(self, cells: object) -> Cells:
        """The bins of numbers (NaN if missing) or of levels' codes (-1 if missing)."""

    @abstractmethod
    def read(self, batch: Batch) -> tuple[Cells, int]:
        """The bin of each row's cell, and the number of unseen values."""

    @abstractmethod
    def equals(self, other: Bins) -> bool:
        """Whether both bin all cells alike."""


@dataclass(frozen=True, eq=False)
class NumberBins(Bins):
    """Bin b contains the numbers above cut b - 1, up to cut b."""

    kind: Kind
    cuts: Array  # ascending

    @classmethod
    def of_each(cls, names: Sequence[str], kinds: Sequence[Kind], x: Array, weight: Array) -> list[NumberBins]:
        """A bin for each of up to 255 distinct numbers, else equal-frequency bins; cuts are midpoints. x: (columns,
        rows)"""
        x, weight = (x, weight) if (weight > 0).all() else (x[:, weight > 0], weight[weight > 0])
        step, found = max(1, SORTED_AT_ONCE // max(len(weight), 1)), list[NumberBins]()
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
    """The cut points of many (possibly short) columns at once. (columns, rows)"""
    ordered = np.sort(x, axis=1)  # NaN last
    grows = ordered[:, 1:] > ordered[:, :-1]
    below, above = ordered[:, :-1][grows], ordered[:, 1:][grows]
    ends = np.cumsum(grows.sum(1))
    found = np.split(_half_way(below, above), ends[:-1])
    for j in np.flatnonzero(np.diff(ends, prepend=0) >= MOST_TREE_BINS):
        known, values = ~np.isnan(x[j]), np.append(ordered[j, 0], above[ends[j] - grows[j].sum() : ends[j]])
        n = np.bincount(np.searchsorted(values, x[j, known]), weight[known]).astype(np.float64)
        starts = quantile_starts(n, MOST_TREE_BINS)
        found[j] = _half_way(values[starts[1:] - 1], values[starts[1:]])
    return found


def _half_way(below: Array, above: Array) -> Array:
    """Midpoints between numbers; the lower number if no float lies between."""
    cuts = below / 2 + above / 2
    return np.where((cuts >= below) & (cuts < above), cuts, below)


@dataclass(frozen=True, eq=False)
class LevelBins(Bins):
    """bins[k] is the bin of level k."""

    levels: pa.Array  # an Arrow array
    bins: Codes  # (levels,)

    @classmethod
    def of(cls, name: str, levels: Any, codes: Codes, truth: Codes, weight: Array) -> LevelBins:
        """A bin for each of up to 255 levels; else levels with a similar share of the commonest class share a bin, with
        about equally many rows in each."""
        size = len(levels)
        if size <= MOST_TREE_BINS:
            return cls(name, levels, np.arange(size, dtype=np.int32))
        known = codes >= 0
        commonest = int(np.bincount(truth, weight).argmax())
        n = np.bincount(codes[known], weight[known], size)
        own = np.bincount(codes[known], weight[known] * (truth[known] == commonest), size)
        order = np.argsort((own + 0.5) / (n + 1.0), kind="stable")
        bins = np.empty(size, dtype=np.int32)
        starts = quantile_starts(np.maximum(n[order], np.finfo(float).tiny), MOST_TREE_BINS)
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
    """The encoded rows from which a tree is grown."""
    sizes = [each.sizes for each in columns]
    levels = np.zeros((len(columns), max(map(len, sizes))))
    for own, each in zip(levels, sizes, strict=True):
        own[: len(each)] = each
    kinds = np.array([each.split(gain) for each in columns], dtype=np.int32)
    return EncodedRows(cells, kinds, levels, truth, weight, classes)
