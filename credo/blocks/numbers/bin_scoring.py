"""Scores of binned numbers: the bins of a fold are derived from its evidence, for all columns at once."""

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


class CountedBins(NamedTuple):
    """The bins of values, and their counts by class."""

    codes: NDArray[np.int32]  # the bin of each value in its column; -1 at the end, for missing cells
    sizes: Positions  # (columns,) the number of bins of each column
    counts: Array  # (classes, bins), column after column

    @classmethod
    def beside(cls, several: Sequence[CountedBins]) -> CountedBins:
        """The bins of several scorers, column after column."""
        codes = np.concatenate([*(each.codes[:-1] for each in several), several[0].codes[-1:]])
        counts = np.concatenate([each.counts for each in several], axis=1)
        return cls(codes, np.concatenate([each.sizes for each in several]), counts)


class Ranks(NamedTuple):
    """The positions and weights of present values, column after column, from which fine and coarse bins are derived."""

    first: Positions  # (columns,) the first present value of each column
    sizes: Positions  # (columns,) the number of present values
    n: Array  # (columns,) the total weight
    below: Array  # for each present value, the weight of smaller ones in its column
    lower: Positions  # for each value, the largest present value up to it; the column's first, if there is none

    @classmethod
    def of(cls, pooled: Array, lengths: Positions) -> Ranks:
        """The ranks of columns with these numbers of values."""
        present, ends = pooled > 0, np.cumsum(lengths)
        there = _running(present)  # the number of present values before each
        first = there[ends - lengths]
        sizes = there[ends] - first
        reached = _running(pooled[present])
        below = reached[:-1] - np.repeat(reached[first], sizes)
        lower = np.maximum(there[1:] - 1, np.repeat(first, lengths))
        if not sizes.all():
            lower[np.repeat(sizes == 0, lengths)] = -1
        return cls(first, sizes, reached[first + sizes] - reached[first], below, lower)


@dataclass(frozen=True, eq=False)
class BinScorer(Scorer):
    """log θ of each number's bin. Cells are positions of numbers among the sketches' values, column after column."""

    names: tuple[str, ...]
    classes: int
    values: tuple[Array, ...]  # of each column, ascending
    pooled: Array  # (values,) the count of each value, column after column
    entries: tuple[Positions, Positions, Array]  # classes, positions and counts, which are summed
    settings: Settings
    coarse: bool
    bins: CountedBins | None = None  # if they are known
    ranks: Ranks | None = None

    missing = -1

    @cached_property
    def _lengths(self) -> Positions:
        """The number of values of each column."""
        return np.array([len(each) for each in self.values], dtype=np.intp)

    @cached_property
    def _ends(self) -> Positions:
        """The end of each column's values."""
        return np.cumsum(self._lengths)

    def read(self, batch: Batch) -> Cells:
        from credo.blocks.numbers.binned import cut

        found = np.empty((len(self.names), batch.rows), dtype=np.int32)
        lanes = cut(np.ascontiguousarray(batch.matrix(self.names).T))
        for own, values, x in zip(found, self.values, lanes, strict=True):
            own[:] = values.searchsorted(x)
        found += (self._ends - self._lengths).astype(np.int32)[:, None]
        found[np.isnan(lanes)] = -1
        return np.ascontiguousarray(found.T)

    @cached_property
    def _bins(self) -> CountedBins:
        return self._layout() if self.bins is None else self.bins

    @cached_property
    def _table(self) -> TableScorer:
        bins = self._bins
        undeclared = np.zeros(bins.counts.shape[1], dtype=bool)
        return TableScorer(self.names, bins.counts, bins.sizes, self.settings, undeclared)

    @cached_property
    def _ranks(self) -> Ranks:
        return Ranks.of(self.pooled, self._lengths) if self.ranks is None else self.ranks

    def _layout(self) -> CountedBins:
        """The bins ⌊c·B/n⌋ with the weight c of smaller values, as in Sketch, for all columns at once."""
        from credo.blocks.numbers.binned import most_bins

        first, there, n, below, lower = self._ranks
        scaled = below * np.repeat(most_bins(n, self.coarse), there)
        scaled /= np.repeat(n, there)
        np.floor(scaled, out=scaled)
        begins = np.append(True, scaled[1:] != scaled[:-1])[: len(scaled)]
        begins[first[there > 0]] = True
        begun = _running(begins)
        starts = begun[first]
        inside = np.append(begun[1:] - np.repeat(starts + 1, there), -1).astype(np.int32)
        return self._counted(np.append(inside[lower], np.int32(-1)), begun[first + there] - starts)

    def _counted(self, codes: NDArray[np.int32], sizes: Positions) -> CountedBins:
        """The entries counted in these bins."""
        (classes, at, entries), total = self.entries, int(sizes.sum())
        place = codes[:-1] + np.repeat(np.cumsum(sizes) - sizes, self._lengths)
        known = codes[at] >= 0
        if not known.all():
            classes, at, entries = classes[known], at[known], entries[known]
        binned = np.bincount(classes * total + place[at], entries, self.classes * total).astype(np.float64)
        return CountedBins(codes, sizes, binned.reshape(self.classes, total))

    def _coded(self, cells: Cells, places: Positions) -> Cells:
        """The bins of the cells of some columns."""
        if len(places) == len(self.names):
            return self._bins.codes[cells]
        found = np.full(cells.shape, -1, dtype=np.int32)
        found[:, places] = self._bins.codes[cells[:, places]]
        return found

    def each(self, cells: Cells, places: Positions) -> Array:
        return self._table.each(self._coded(cells, places), places)

    def each_left_out(self, cells: Cells, own: Hard, places: Positions) -> Array:
        """The scores of left-out rows, with fixed bins."""
        return self._table.each_left_out(self._coded(cells, places), own, places)

    def reads_like(self, other: Scorer) -> bool:
        if not isinstance(other, BinScorer) or other.names != self.names:
            return False
        return np.array_equal(other.pooled, self.pooled) and all(map(np.array_equal, other.values, self.values))

    def knowing(self, other: BinScorer) -> BinScorer:
        return replace(self, pooled=other.pooled, entries=other.entries, bins=None, ranks=other._ranks)

    def without(self, cells: Cells, own: Hard, gone: RowFlags) -> BinScorer:
        codes, at, weights = _entries(cells[gone], own.take(gone))
        pooled = self.pooled - np.bincount(at, weights, len(self.pooled))
        classes, places, counts = self.entries
        entries = np.append(classes, codes), np.append(places, at), np.append(counts, -weights)
        return replace(self, pooled=pooled, entries=entries, bins=None, ranks=None)

    def reclassified(self, cells: Cells, own: Hard) -> BinScorer:
        """The scorer of these rows in other classes; the bins are the same if these are all rows."""
        codes, at, weights = _entries(cells, own)
        pooled: Array = np.bincount(at, weights, len(self.pooled)).astype(np.float64)
        new = replace(self, pooled=pooled, entries=(codes, at, weights), bins=None, ranks=None)
        if not np.array_equal(pooled, self.pooled):
            return new
        return replace(new, bins=new._counted(self._bins.codes, self._bins.sizes))

    def under(self, settings: Settings) -> BinScorer:
        """The scorer under other settings, with the same bins."""
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
            bins=CountedBins.beside(known) if len(known) == len(scorers) else None,
            ranks=None,
        )

    def moved(self, cells: Cells, nth: int) -> Cells:
        return np.where(cells >= 0, cells + nth * len(self.pooled), cells) if nth else cells


def _running(x: NDArray[Any]) -> NDArray[Any]:
    """The cumulative sums, from 0 to the total."""
    found = np.zeros(len(x) + 1, dtype=np.intp if x.dtype == bool else x.dtype)
    np.cumsum(x, out=found[1:])
    return found


def _entries(cells: Cells, own: Hard) -> tuple[Positions, Positions, Array]:
    """The class, the position and the weight of each known cell."""
    known = cells >= 0
    weights = np.broadcast_to(own.weight[:, None], cells.shape)[known]
    codes = np.broadcast_to(own.codes[:, None], cells.shape)[known].astype(np.intp)
    return codes, cells[known].astype(np.intp), weights
