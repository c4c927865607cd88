"""Scores of binned numbers: the bins of a fold follow from its evidence, for all columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

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
    def _ends(self) -> Positions:
        """Of each column's values."""
        return np.cumsum([len(each) for each in self.values]).astype(np.intp)

    @cached_property
    def _column(self) -> Positions:
        """Of each value."""
        return np.repeat(np.arange(len(self.values)), [len(each) for each in self.values])

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

        columns, present = np.arange(len(self.names)), self.pooled > 0
        column, counts = self._column[present], self.pooled[present]
        n: Array = np.bincount(column, counts, len(columns)).astype(np.float64)
        first = np.searchsorted(column, columns)
        reached = np.cumsum(counts) - counts
        below = reached - np.append(reached, 0.0)[first][column]
        scaled = np.floor(below * most_bins(n, self.coarse)[column] / n[column])
        begins = (np.diff(scaled, prepend=-1.0) != 0) | (np.diff(column, prepend=-1) != 0)
        sizes = np.bincount(column[begins], minlength=len(columns))
        lower = np.cumsum(present) - 1  # the value itself, or the one below it; the first one, where none is
        some = sizes[self._column] > 0
        place = np.where(some, np.maximum(lower, first[self._column]), 0)
        flat = np.append(np.cumsum(begins) - 1, 0)[place]
        inside = np.where(some, flat - (np.cumsum(sizes) - sizes)[self._column], -1)
        (codes, at, entries), total = self.entries, int(sizes.sum())
        kept = some[at]
        binned: Array = np.bincount(codes[kept] * total + flat[at[kept]], entries[kept], self.classes * total).astype(
            np.float64
        )
        return Bins(np.append(inside, -1).astype(np.int32), sizes, binned.reshape(self.classes, total))

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
        codes, at, weights = _entries(cells, own)
        pooled: Array = np.bincount(at, weights, len(self.pooled)).astype(np.float64)
        return replace(self, pooled=pooled, entries=(codes, at, weights), bins=None)

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


def _entries(cells: Cells, own: Hard) -> tuple[Positions, Positions, Array]:
    """The class, the place and the weight of each cell that isn't missing."""
    known = cells >= 0
    weights = np.broadcast_to(own.weight[:, None], cells.shape)[known]
    codes = np.broadcast_to(own.codes[:, None], cells.shape)[known].astype(np.intp)
    return codes, cells[known].astype(np.intp), weights
