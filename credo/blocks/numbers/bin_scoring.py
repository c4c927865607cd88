"""Scores of binned numbers: the bins of a fold follow from its evidence, for all columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import Settings
from credo.blocks.scoring import Cells, RowFlags, Scorer, TableScorer
from credo.core.membership import Hard
from credo.core.statistics import Positions
from credo.data import Batch
from credo.numerics.exact import Array


class Bins(NamedTuple):
    """Where bins lie, and how often each class shows each."""

    codes: NDArray[np.int32]  # of each value: its bin, counted in its column; -1 at the end, for missing cells
    sizes: Positions  # how many bins each column has
    counts: Array  # (classes, bins), column after column

    @classmethod
    def beside(cls, several: Sequence[Bins]) -> Bins:
        """Those of several columns, one after another."""
        codes = np.concatenate([*(each.codes[:-1] for each in several), several[0].codes[-1:]])
        counts = np.concatenate([each.counts for each in several], axis=1)
        return cls(codes, np.concatenate([each.sizes for each in several]), counts)


@dataclass(frozen=True, eq=False)
class BinScorer(Scorer):
    """log θ of each number's bin. Cells are the places of numbers among the sketches' values, column after column."""

    names: tuple[str, ...]
    classes: int
    values: tuple[Array, ...]  # of each column, ascending
    pooled: Array  # how often each value was seen, column after column. (values,)
    entries: tuple[Positions, Positions, Array]  # classes, places and counts, which add up
    settings: Settings
    coarse: bool
    bins: Bins | None = None  # where they are known

    missing = -1

    @cached_property
    def _lengths(self) -> Positions:
        """How many values each column has."""
        return np.array([len(each) for each in self.values], dtype=np.intp)

    @cached_property
    def _ends(self) -> Positions:
        """Of each column's values."""
        return np.cumsum(self._lengths)

    def read(self, batch: Batch) -> Cells:
        from credo.blocks.numbers.binned import cut

        found = np.empty((batch.rows, len(self.names)), dtype=np.int32)
        for j, (name, values, end) in enumerate(zip(self.names, self.values, self._ends, strict=True)):
            x = cut(batch.numbers(name))
            found[:, j] = np.where(np.isnan(x), -1, end - len(values) + np.searchsorted(values, x))
        return found

    @cached_property
    def _bins(self) -> Bins:
        return self._layout() if self.bins is None else self.bins

    @cached_property
    def _table(self) -> TableScorer:
        bins = self._bins
        undeclared = np.zeros(bins.counts.shape[1], dtype=bool)
        return TableScorer(self.names, bins.counts, bins.sizes, self.settings, undeclared)

    def _layout(self) -> Bins:
        """As Sketch has it: ⌊c·B/n⌋, c being the weight of smaller values; of all columns at once."""
        from credo.blocks.numbers.binned import most_bins

        present, lengths = self.pooled > 0, self._lengths
        there = _running(present)  # of the values before each, those that are present
        first = there[self._ends - lengths]  # of each column, among these
        present_ones = there[self._ends] - first
        reached = _running(self.pooled[present])
        n = reached[first + present_ones] - reached[first]
        below = reached[:-1] - np.repeat(reached[first], present_ones)
        scaled = np.floor(below * np.repeat(most_bins(n, self.coarse), present_ones) / np.repeat(n, present_ones))
        begins = np.append(True, scaled[1:] != scaled[:-1])[: len(scaled)]
        begins[first[present_ones > 0]] = True
        begun = _running(begins)
        starts = begun[first]
        sizes = begun[first + present_ones] - starts
        lower = np.maximum(there[1:] - 1, np.repeat(first, lengths))  # the value, or the one below it; the first one
        some = np.repeat(sizes > 0, lengths)
        inside = np.append(begun[1:] - 1, 0)[np.where(some, lower, -1)] - np.repeat(starts, lengths)
        return self._counted(np.append(np.where(some, inside, -1), -1).astype(np.int32), sizes)

    def _counted(self, codes: NDArray[np.int32], sizes: Positions) -> Bins:
        """The entries in such bins."""
        (classes, at, entries), total = self.entries, int(sizes.sum())
        place = codes[:-1] + np.repeat(np.cumsum(sizes) - sizes, self._lengths)
        known = codes[at] >= 0
        if not known.all():
            classes, at, entries = classes[known], at[known], entries[known]
        binned = np.bincount(classes * total + place[at], entries, self.classes * total).astype(np.float64)
        return Bins(codes, sizes, binned.reshape(self.classes, total))

    def _coded(self, cells: Cells) -> Cells:
        return self._bins.codes[cells]

    def each(self, cells: Cells, places: Positions) -> Array:
        return self._table.each(self._coded(cells), places)

    def each_left_out(self, cells: Cells, own: Hard, places: Positions) -> Array:
        """The bins stay where they are."""
        return self._table.each_left_out(self._coded(cells), own, places)

    def reads_like(self, other: Scorer) -> bool:
        if not isinstance(other, BinScorer) or other.names != self.names:
            return False
        return np.array_equal(other.pooled, self.pooled) and all(map(np.array_equal, other.values, self.values))

    def knowing(self, other: BinScorer) -> BinScorer:
        return replace(self, pooled=other.pooled, entries=other.entries, bins=None)

    def without(self, cells: Cells, own: Hard, gone: RowFlags) -> BinScorer:
        codes, at, weights = _entries(cells[gone], own.take(gone))
        pooled = self.pooled - np.bincount(at, weights, len(self.pooled))
        classes, places, counts = self.entries
        entries = np.append(classes, codes), np.append(places, at), np.append(counts, -weights)
        return replace(self, pooled=pooled, entries=entries, bins=None)

    def reclassified(self, cells: Cells, own: Hard) -> BinScorer:
        """The bins are the same, if these are all rows."""
        codes, at, weights = _entries(cells, own)
        pooled: Array = np.bincount(at, weights, len(self.pooled)).astype(np.float64)
        new = replace(self, pooled=pooled, entries=(codes, at, weights), bins=None)
        if not np.array_equal(pooled, self.pooled):
            return new
        return replace(new, bins=new._counted(self._bins.codes, self._bins.sizes))

    def under(self, settings: Settings) -> BinScorer:
        """The bins are the same."""
        return replace(self, settings=settings, bins=self._bins)

    def log_bayes_factors(self) -> Array:
        return self._table.log_bayes_factors()

    def beside(self, scorers: Sequence[BinScorer]) -> BinScorer:
        entries = [
            (classes, self.moved(places, nth), counts)
            for nth, each in enumerate(scorers)
            for classes, places, counts in [each.entries]
        ]
        classes, places, counts = (np.concatenate(each) for each in zip(*entries, strict=True))
        known = [each.bins for each in scorers if each.bins is not None]
        return replace(
            self,
            names=self.names * len(scorers),
            values=self.values * len(scorers),
            pooled=np.concatenate([each.pooled for each in scorers]),
            entries=(classes, places, counts),
            bins=Bins.beside(known) if len(known) == len(scorers) else None,
        )

    def moved(self, cells: Cells, nth: int) -> Cells:
        return np.where(cells >= 0, cells + nth * len(self.pooled), cells) if nth else cells


def _running(x: NDArray[Any]) -> NDArray[Any]:
    """The sum of what stands before each place, and of all."""
    found = np.zeros(len(x) + 1, dtype=np.intp if x.dtype == bool else x.dtype)
    np.cumsum(x, out=found[1:])
    return found


def _entries(cells: Cells, own: Hard) -> tuple[Positions, Positions, Array]:
    """The class, the place and the weight of each cell that isn't missing."""
    known = cells >= 0
    weights = np.broadcast_to(own.weight[:, None], cells.shape)[known]
    codes = np.broadcast_to(own.codes[:, None], cells.shape)[known].astype(np.intp)
    return codes, cells[known].astype(np.intp), weights
