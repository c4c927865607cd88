"""What engines do with batches for a regression: predict, score, leave rows out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.blocks.capabilities import Ignored
from credo.core.learning import RowWeights
from credo.data import Batch
from credo.models.regression.fitted import FittedLine
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class Means:
    """The mean of each row's predictive."""

    line: FittedLine

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        z, ignored = self.line.basis.read(batch)
        return self.line.expected(z), ignored


@dataclass(frozen=True, eq=False)
class Predictives:
    """Location and scale of each row's predictive. (rows, 2)"""

    line: FittedLine

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        z, ignored = self.line.basis.read(batch)
        found = self.line.predictive(z)
        return np.column_stack([found.location, found.scale]), ignored


@dataclass(frozen=True, eq=False)
class Scored:
    """Truth, mean, log p(truth) and weight of each row that has a target; without the row itself, if so asked."""

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
        found = self.line.left_out(z, y, weight) if self.left_out else self.line.predictive(z)
        return np.column_stack([y, found.location, found.log_prob(y), weight]), ignored
