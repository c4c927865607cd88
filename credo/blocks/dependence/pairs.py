"""Counts of pairs of cells by class, which merge and are forgotten exactly.

The tree of a tree-augmented naive Bayes, and all one-dependence estimators, follow from the same counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from credo._kernels.blocks.dependence import count_cell_pairs
from credo.blocks.block import Settings
from credo.blocks.categories import Categories
from credo.blocks.dependence.cell_block import CellBlock
from credo.blocks.dependence.cells import Cells, Cuts
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Codes, Hard, Membership
from credo.core.statistics import PairCounts
from credo.data import Batch
from credo.data.schema import Column, Derived, Schema
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.blocks.dependence.likelihood import DependenceLikelihood

CELL_AXIS = Derived("cells")  # the axis of the counts
PAIR_LABEL = Label("pairs")
Reading = Literal["tree", "one-dependence", "pairwise"]


@dataclass(frozen=True)
class Dependence(CellBlock):
    """p(columns | class), where each column depends on the class and on one other column.

    "tree": on its parent in a tree; "one-dependence": the average over all columns as the parent of the others;
    "pairwise": the interaction of each pair is a term, which tuning may weight.
    """

    names: tuple[str, ...]
    cuts: Cuts  # of number columns
    reading: Reading
    parents: Mapping[str, str] | None = field(default=None, compare=False)  # the tree, if it is given

    @property
    def counted(self) -> frozenset[Any]:
        return self._counted_with("pairs", self.names)

    def keeps(self, label: Label) -> bool:
        return label == PAIR_LABEL or Categories(self.categories).keeps(label)

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        codes, cells = self._coded(batch)
        column = Column(CELL_AXIS.column, "category", pa.array(cells, pa.string()), derived=CELL_AXIS.what)
        parts = {PAIR_LABEL: Part((groups, CELL_AXIS, CELL_AXIS), pair_counts(codes, len(cells), member))}
        values = Categories(self.categories).summarise(batch, member, groups)
        return Evidence(Schema((column, *values.schema)), {**parts, **values.parts})

    def _coded(self, batch: Batch) -> tuple[Codes, list[str]]:
        """Codes of a batch's cells, missing ones included (rows, columns); and the names of the cells."""
        found, cells = np.empty((batch.rows, len(self.names)), dtype=np.int32), list[str]()
        for j, name in enumerate(self.names):
            codes, own = self._coded_column(batch, name)
            found[:, j] = len(cells) + codes
            cells += own
        return found, cells

    def likelihood(self, evidence: Evidence, settings: Settings) -> DependenceLikelihood:
        from credo.blocks.dependence.forms import LIKELIHOODS

        levels = {name: evidence.schema[name].levels for name in self.categories}
        places = {cell: i for i, cell in enumerate(evidence.schema[CELL_AXIS].values)}
        cells = Cells(self.names, levels, self.cuts, places)
        n = evidence[PAIR_LABEL].n.value[:, cells.order[:, None], cells.order]
        return LIKELIHOODS[self.reading](cells, n, settings, self.parents, evidence=evidence)


def pair_counts(codes: Codes, cells: int, member: Membership) -> PairCounts:
    """n(class, a, b), the weight of a class's rows with both cells; negative codes are ignored."""
    if isinstance(member, Hard):
        return PairCounts(_symmetric(codes, cells, member))
    groups = [_symmetric(codes, cells, Hard.whole(len(codes), w)) for w in np.ascontiguousarray(member.weights.T)]
    high, low = (np.concatenate([getattr(each, half) for each in groups]) for half in ("high", "low"))
    return PairCounts(Exact.of(high, low))


def _symmetric(codes: Codes, cells: int, member: Hard) -> Exact:
    high, low = np.zeros((2, member.groups, cells, cells))
    count_cell_pairs(np.ascontiguousarray(codes), member.codes, member.weight, high, low)
    return Exact.of(_mirrored(high), _mirrored(low))


def _mirrored(upper: Array) -> Array:
    found = upper + upper.swapaxes(1, 2)
    each = np.arange(upper.shape[1])
    found[:, each, each] = upper[:, each, each]
    return found
