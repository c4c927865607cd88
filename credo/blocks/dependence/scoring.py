"""Scores of columns that depend on each other: one term."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import ALL, Settings
from credo.blocks.dependence.likelihood import DependenceLikelihood
from credo.blocks.dependence.pairs import pair_counts
from credo.blocks.scoring import Cells, RowFlags, Scorer
from credo.core.evidence import NEVER
from credo.core.membership import Hard
from credo.core.statistics import Positions
from credo.data import Batch
from credo.errors import EvidenceError
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class DependenceScorer(Scorer):
    """log p(cells | class) of all columns; the tree is found again where evidence is taken out."""

    likelihood: DependenceLikelihood

    missing = -1

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.likelihood.names

    def term_names(self, places: Positions) -> tuple[str, ...]:  # noqa: ARG002 - columns don't come apart
        return (ALL,)

    def read(self, batch: Batch) -> Cells:
        return self.likelihood.read(batch)

    def each(self, cells: Cells, places: Positions) -> Array:  # noqa: ARG002
        out = np.zeros((len(cells), len(self.likelihood.counts)))
        self.likelihood.add(cells, out)
        return out[:, :, None]

    def each_left_out(self, cells: Cells, own: Hard, places: Positions) -> Array:  # noqa: ARG002
        out = np.zeros((len(cells), len(self.likelihood.counts)))
        self.likelihood.add_left_out(cells, own, out)
        return out[:, :, None]

    def unseen(self, cells: Cells) -> NDArray[np.bool_]:
        return np.asarray((cells >= 0) & (self.likelihood.seen(cells) < 0))

    def without(self, cells: Cells, own: Hard, gone: RowFlags) -> DependenceScorer:
        left = self.likelihood.counts - self._counted(cells[gone], own.take(gone))
        if (left < 0).any():
            raise EvidenceError(NEVER)
        return self._with(left)

    def reclassified(self, cells: Cells, own: Hard) -> DependenceScorer:
        return self._with(self._counted(cells, own))

    def _counted(self, cells: Cells, own: Hard) -> Array:
        found: Array = pair_counts(cells, self.likelihood.counts.shape[1], own).n.value
        return found

    def _with(self, counts: Array) -> DependenceScorer:
        return DependenceScorer(replace(self.likelihood, counts=counts))

    def under(self, settings: Settings) -> DependenceScorer:
        return DependenceScorer(replace(self.likelihood, settings=settings))
