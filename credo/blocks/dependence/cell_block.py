"""The common part of blocks that count cells of several columns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from credo.blocks.block import Block
from credo.blocks.categories import Categories
from credo.blocks.dependence.cells import Cuts


class CellBlock(Block):
    """Columns whose cells are counted jointly: categories, and numbers in bins between cut points."""

    cuts: Cuts  # of number columns

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.cuts)

    def _counted_with(self, kind: str, counts: Hashable) -> frozenset[Any]:
        """The joint counts, by kind and cut points, and the counts of the categories."""
        cuts = tuple((name, self.cuts[name]) for name in self.names if name in self.cuts)
        own = {(kind, counts, cuts)}
        return frozenset(own | ({*Categories(self.categories).counted} if self.categories else set()))
