"""The common part of blocks that count cells of several columns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from credo.blocks.block import Block
from credo.blocks.categories import Categories
from credo.blocks.dependence.cells import Cuts, bin_cell, bins_of, missing_cell, value_cell
from credo.core.membership import Codes
from credo.data import Batch


class CellBlock(Block):
    """Columns whose cells are counted jointly: categories, and numbers in bins between cut points."""

    cuts: Cuts  # of number columns

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.cuts)

    def _coded_column(self, batch: Batch, name: str) -> tuple[Codes, list[str]]:
        """Codes of the column's cells that occur, missing ones first, and their names. (rows,)"""
        if name in self.cuts:
            codes = bins_of(batch.numbers(name), self.cuts[name])
            own = [bin_cell(name, i) for i in range(len(self.cuts[name]) + 1)]
        else:
            codes, levels = batch.categories(name)
            own = [value_cell(name, value) for value in levels.to_pylist()]
        cells = [missing_cell(name), *own]
        seen = np.bincount(codes + 1, minlength=len(cells)) > 0
        place = (np.cumsum(seen) - 1).astype(np.int32)
        return place[codes + 1], [cell for cell, there in zip(cells, seen, strict=True) if there]

    def _counted_with(self, kind: str, counts: Hashable) -> frozenset[Any]:
        """The joint counts, by kind and cut points, and the counts of the categories."""
        cuts = tuple((name, self.cuts[name]) for name in self.names if name in self.cuts)
        own = {(kind, counts, cuts)}
        return frozenset(own | ({*Categories(self.categories).counted} if self.categories else set()))
