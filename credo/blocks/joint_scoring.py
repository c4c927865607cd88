"""Scores of all columns as one joint Gaussian: one term."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from credo.blocks.block import ALL, Settings
from credo.blocks.one_hot import OneHotLikelihood, summary_of_rows
from credo.blocks.scoring import Cells, RowFlags, Scorer
from credo.core.evidence import NEVER_LEARNED
from credo.core.membership import Hard
from credo.core.statistics import Positions
from credo.data import Batch
from credo.errors import EvidenceError
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class JointScorer(Scorer):
    """log p(z | class) of the features z of all columns."""

    likelihood: OneHotLikelihood

    @property
    def names(self) -> tuple[str, ...]:
        return self.likelihood.names

    def term_names(self, places: Positions) -> tuple[str, ...]:
        assert len(places) == len(self.names), "columns that covary don't come apart"
        return (ALL,)

    def read(self, batch: Batch) -> Cells:
        return self.likelihood.read(batch)

    def each(self, cells: Cells, places: Positions) -> Array:
        out = np.zeros((len(cells), len(self.likelihood.summary.n), len(self.term_names(places))))
        self.likelihood.add(self.seen(cells), out[:, :, 0])
        return out

    def each_left_out(self, cells: Cells, own: Hard, places: Positions) -> Array:
        found = self.likelihood.left_out(self.likelihood.summary.kept_centred(cells), own)
        return found.reshape(own.rows, own.groups, len(self.term_names(places)))

    def seen(self, cells: Cells) -> Cells:
        """The cells with values without evidence missing."""
        encoding, squares = self.likelihood.encoding, self.likelihood.summary.squares
        unseen = np.flatnonzero(encoding.of_values & (squares == 0))
        rows, which = np.nonzero(cells[:, unseen] == 1)
        if not len(rows):
            return cells
        found = cells.copy()
        hit, feature = np.nonzero(encoding.columns == encoding.columns[unseen[which]][:, None])
        found[rows[hit], feature] = np.nan
        return found

    def reads_like(self, other: Scorer) -> bool:
        if not isinstance(other, JointScorer) or other.names != self.names:
            return False
        return other.likelihood.moments is self.likelihood.moments

    def knowing(self, other: JointScorer) -> JointScorer:
        moments, summary = other.likelihood.moments, other.likelihood.summary
        return JointScorer(replace(self.likelihood, moments=moments, known=summary))

    def without(self, cells: Cells, own: Hard, gone: RowFlags) -> JointScorer:
        likelihood = self.likelihood
        if float(own.weight.sum()) == float(likelihood.moments.n.value.sum()):  # these are all rows of the evidence
            known = summary_of_rows(cells[~gone], own.take(~gone))
            return JointScorer(replace(likelihood, known=known))
        left = likelihood.moments.without(likelihood.moments_of(cells[gone], own.take(gone)))
        if left is None:
            raise EvidenceError(NEVER_LEARNED)
        return JointScorer(replace(likelihood, moments=left, known=None))

    def under(self, settings: Settings) -> JointScorer:
        return JointScorer(replace(self.likelihood, settings=settings, known=self.likelihood.summary))

    def blanked(self, cells: Cells, places: Positions, gone: RowFlags) -> Cells:
        found = cells.copy()
        for j, rows in zip(places, gone.T, strict=True):
            found[np.ix_(rows, self.likelihood.encoding.columns == j)] = np.nan
        return found
