"""Scores of held-out rows: log p(row) of each, or their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.summed_scores import WithoutRows, summed_scores
from credo.data import Batch
from credo.data.tables import NO_DATA
from credo.engines import Partition
from credo.errors import DataError
from credo.numerics.exact import Array
from credo.numerics.spread import Spread


@dataclass(frozen=True, eq=False)
class Validation:
    """The scores of held-out rows."""

    log_probabilities: Array  # (rows,)
    folds: NDArray[np.intp]  # (rows,)
    weights: Array  # (rows,)

    @property
    def log_loss(self) -> float:
        """The mean of -log p(row) over the rows that aren't missing, in nats."""
        known = ~np.isnan(self.log_probabilities)
        return -float(np.average(self.log_probabilities[known], weights=self.weights[known]))

    def __repr__(self) -> str:
        return f"Validation({len(self.folds)} rows, {int(self.folds.max()) + 1} folds, log-loss {self.log_loss:.4f})"


@dataclass(frozen=True, eq=False)
class SummedValidation(WithoutRows[Validation]):
    """The scores of `Validation`, summed over rows."""

    rows: int
    n: float  # the weight of all rows
    fold_count: int
    loss: Spread  # of -log p(row), over the rows that aren't missing

    of_rows = frozenset({"log_probabilities", "weights", "folds"})

    @classmethod
    def of(cls, log_probabilities: Array, weights: Array, folds: Any = ()) -> SummedValidation:
        known = ~np.isnan(log_probabilities)
        loss = Spread.of(-log_probabilities[known], weights[known])
        return cls(len(weights), float(weights.sum()), int(np.max(folds, initial=-1)) + 1, loss)

    @classmethod
    def total(cls, parts: Sequence[SummedValidation]) -> SummedValidation:
        loss = Spread.total([part.loss for part in parts])
        rows, n = sum(part.rows for part in parts), sum(part.n for part in parts)
        return cls(rows, n, max(part.fold_count for part in parts), loss)

    @property
    def log_loss(self) -> float:
        return self.loss.known_mean

    def __repr__(self) -> str:
        return f"Validation({self.rows} rows, {self.fold_count} folds, log-loss {self.log_loss:.4f})"


def summed_validation(
    job: Callable[[Batch], Any], partitions: Iterable[Partition[Batch]], left_out: bool = False
) -> SummedValidation:
    """The scores of a frame's rows, summed on the workers by a job that returns log-probabilities, weights and folds.

    left_out: each row is a fold
    """
    found = summed_scores(job, partitions, SummedValidation, SummedValidation.of)
    if found is None:
        raise DataError(NO_DATA)
    return replace(found, fold_count=found.rows) if left_out else found
