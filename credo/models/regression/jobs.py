"""Engine jobs of a regression: predict, score, leave rows out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.blocks.capabilities import Ignored
from credo.core.learning import RowWeights
from credo.data import Batch
from credo.data.batches import TILE_ROWS
from credo.models.regression.fitted_line import FittedLine
from credo.models.regression.leave_one_out import LeaveOneOut
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class Means:
    """The mean of each row's predictive."""

    line: FittedLine

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        found = self._of_numbers(batch)
        rest = np.flatnonzero(~np.isfinite(found))
        if not len(rest):
            return found, {}
        z, ignored = self.line.basis.read(batch if len(rest) == batch.rows else batch.take(rest))
        found[rest] = self.line.expected(z)
        return found, ignored

    def _of_numbers(self, batch: Batch) -> Array:
        """The fast path if all columns are numbers: blocks of rows that fit the cache; NaN where a cell is missing."""
        basis, found = self.line.basis, np.full(batch.rows, np.nan)
        names = basis.features.columns
        if (
            len(basis.features.centre) != len(names)
            or basis.features.interactions
            or not set(names) <= set(batch.names)
        ):
            return found
        weights, start = np.zeros(len(basis.scales)), float(self.line.posterior.location[0])
        weights[basis.kept] = self.line.posterior.location[1:] / basis.scales[basis.kept]
        start += float(weights[len(names) :] @ basis.origin[len(names) :])  # no cell is missing
        for first, part in batch.tiles(names):
            for i in range(0, len(part), TILE_ROWS):
                few = part[i : i + TILE_ROWS] - basis.features.centre
                found[first + i : first + i + len(few)] = few @ weights[: len(names)] + start
        return found


@dataclass(frozen=True, eq=False)
class Predictives:
    """Location and scale of each row's predictive. (rows, 2)"""

    line: FittedLine

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        z, ignored = self.line.basis.read(batch)
        found = self.line.predictive(z, self.line.unknown_variance(batch))
        return np.column_stack([found.location, found.scale]), ignored


@dataclass(frozen=True, eq=False)
class ScoredNumbers:
    """Truth, mean, log p(truth) and weight of each row that has a target; optionally without the row itself."""

    line: FittedLine
    target: str
    weights: RowWeights
    left_out: bool = False

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        y, weight = batch.numbers(self.target), self.weights.of_rows(batch)
        kept = np.flatnonzero(~np.isnan(y) & (weight > 0))
        if len(kept) < len(y):
            batch, y, weight = batch.take(kept), y[kept], weight[kept]
        z, ignored = self.line.basis.read(batch)
        if self.left_out:
            found = LeaveOneOut(self.line)(z, y, weight)
        else:
            found = self.line.predictive(z, self.line.unknown_variance(batch))
        return np.column_stack([y, found.location, found.log_prob(y), weight]), ignored
