"""Scores of columns that depend on several others: a term for each number of parents.

When a fold's rows are removed, cut points and parents are chosen again from the remaining rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from credo.blocks.block import Settings
from credo.blocks.dependence.families import table_of
from credo.blocks.dependence.family_likelihood import Depths, FamilyLikelihood, depths
from credo.blocks.dependence.likelihood import TreeLikelihood
from credo.blocks.dependence.parents import Chooser
from credo.blocks.dependence.scoring import DependenceScorer, scorer_of
from credo.blocks.scoring import Cells, RowFlags, Scorer
from credo.core.evidence import NEVER_LEARNED
from credo.core.membership import Codes, Hard
from credo.core.statistics import Positions
from credo.data import Batch
from credo.errors import EvidenceError
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class FamilyScorer(Scorer):
    """log p(cells | class) of all columns, given 1, 2, ... of their parents."""

    likelihood: FamilyLikelihood
    pairs: DependenceScorer  # bins numbers, and gives the dependences for choosing parents
    free: frozenset[int]  # columns that don't depend on the class

    missing = -1

    @property
    def names(self) -> tuple[str, ...]:
        return self.likelihood.names

    def term_names(self, places: Positions) -> tuple[str, ...]:  # noqa: ARG002 - columns aren't separable
        return self.likelihood.term_names

    def read(self, batch: Batch) -> Cells:
        return self.pairs.read(batch)

    def each(self, cells: Cells, places: Positions) -> Array:  # noqa: ARG002
        return self.likelihood.each(self.pairs.coded(cells), (len(cells), self.likelihood.classes))

    def each_left_out(self, cells: Cells, own: Hard, places: Positions) -> Array:  # noqa: ARG002
        return self.likelihood.each_nearly_left_out(self.pairs.coded(cells), own)

    def without(self, cells: Cells, own: Hard, gone: RowFlags) -> FamilyScorer:
        if not gone.any():
            return self
        if self.likelihood.chooser is not None and float(own.weight.sum()) == self.pairs.rows:
            return self._chosen_again(self.likelihood.chooser, cells[~gone], own.take(~gone))
        taken = self._tables(self.pairs.coded(cells[gone]), own.take(gone))
        left = tuple(
            tuple(a - b for a, b in zip(*each, strict=True)) for each in zip(self.likelihood.tables, taken, strict=True)
        )
        if any((table < 0).any() for each in left for table in each):
            raise EvidenceError(NEVER_LEARNED)
        pairs = replace(self.pairs, rows=self.pairs.rows - float(own.weight[gone].sum()))
        return replace(self, likelihood=replace(self.likelihood, tables=left), pairs=pairs)

    def _chosen_again(self, chooser: Chooser, cells: Cells, own: Hard) -> FamilyScorer:
        """The scorer of these rows alone, with bins and parents chosen from these rows."""
        pairs = self.pairs.cut_again(cells, own)
        parents, free = chooser(pairs.likelihood, pairs.coded(cells), own)
        likelihood = replace(self.likelihood, cells=pairs.likelihood.cells, parents=parents)
        fresh = FamilyScorer(likelihood, pairs, free)
        return replace(fresh, likelihood=replace(likelihood, tables=fresh._tables(pairs.coded(cells), own)))

    def _tables(self, codes: Codes, own: Hard) -> tuple[Depths, ...]:
        known, found = self.likelihood.cells, []
        local = np.where(codes >= 0, codes - known.starts[:-1], known.sizes).astype(np.int32)  # the missing cells last
        for j, above in enumerate(self.likelihood.parents):
            scope = (*above, j)
            sizes = [int(known.sizes[each]) for each in scope]
            wider = [size + 1 for size in sizes]
            counts = table_of([local[:, each] for each in scope], wider, own.codes, own.groups, own.weight)
            found.append(depths(counts.sum(0, keepdims=True) if j in self.free else counts, sizes))
        return tuple(found)

    def under(self, settings: Settings) -> FamilyScorer:
        return replace(self, likelihood=replace(self.likelihood, settings=settings))


def family_scorer(likelihood: FamilyLikelihood) -> FamilyScorer:
    cells = int(likelihood.cells.sizes.sum())
    empty = np.zeros((likelihood.classes, cells, cells))
    pairs = scorer_of(TreeLikelihood(likelihood.cells, empty, likelihood.settings, evidence=likelihood.evidence))
    free = frozenset(j for j in range(len(likelihood.names)) if not likelihood.depends(j))
    return FamilyScorer(likelihood, pairs, free)
