"""Scores of predicted classes as sums, for distributed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.membership import Codes
from credo.core.summed_scores import WithoutRows
from credo.models.metrics import ScoreFigures, Scores, of_bins
from credo.numerics.exact import Array
from credo.numerics.spread import Spread


@dataclass(frozen=True, eq=False, repr=False)
class SummedScores(WithoutRows[Scores], ScoreFigures):
    """The figures of `Scores`, without the rows.

    >>> log_probabilities = np.log([[0.8, 0.2], [0.4, 0.6]])
    >>> one = Scores(("no", "yes"), log_probabilities, np.array([0, 0]), np.ones(2))
    >>> both = SummedScores.total([SummedScores.of(one), SummedScores.of(one)])
    >>> both.accuracy == one.accuracy, both.log_loss == one.log_loss, both.n
    (True, True, 4.0)
    """

    classes: tuple[Any, ...]
    rows: int
    n: float
    unknown: int
    cells: NDArray[np.int64]  # the confusion matrix
    cell_weights: Array
    right: float  # the weight of correctly predicted rows
    squares: float  # Σ w · squared error of the probabilities
    loss: Spread  # of -log P(truth)
    implied: Array  # Σ w · expected loss, and squared loss, under the predictions. (2,)
    bins: Array  # of the top probability. (3, bins)
    how: str = "given"
    held_out_ratio: float = 0.0

    @classmethod
    def of(cls, scores: Scores) -> SummedScores:
        weight, known = scores.weights, scores.known
        loss = Spread.of(-scores.of_truth[known], weight[known])
        implied = np.array([(each * weight[known]).sum() for each in scores.implied])
        return cls(
            scores.classes, scores.rows, scores.n, scores.unknown, *scores.pairs, float((weight * scores.right).sum()),
            float((weight * scores.squares).sum()), loss, implied, scores.binned(), scores.how, scores.held_out_ratio,
        )  # fmt: skip

    @classmethod
    def total(cls, parts: Sequence[SummedScores]) -> SummedScores:
        cells, which = np.unique(np.concatenate([part.cells for part in parts]), return_inverse=True)
        weights = np.bincount(which, np.concatenate([part.cell_weights for part in parts]), len(cells)).astype(
            np.float64
        )
        added: dict[str, Any] = {
            name: sum(getattr(part, name) for part in parts)
            for name in ("rows", "n", "unknown", "right", "squares", "implied", "bins")
        }
        loss = Spread.total([part.loss for part in parts])
        return replace(parts[0], cells=cells, cell_weights=weights, loss=loss, **added)

    @property
    def pairs(self) -> tuple[NDArray[np.int64], Array]:
        return self.cells, self.cell_weights

    @property
    def class_weights(self) -> Array:
        found = np.bincount(self.cells // len(self.classes), self.cell_weights, len(self.classes))
        return found.astype(np.float64)

    @property
    def accuracy(self) -> float:
        return self.right / self.n

    @property
    def log_loss(self) -> float:
        return max(self.loss.mean, 0.0) if self.loss.count else float("nan")

    @property
    def log_loss_error(self) -> float:
        if not self.loss.count:
            return float("nan")
        mean, square = self.implied / self.loss.weight
        return float(np.sqrt(self.loss.variance_of_mean(self.held_out_ratio, float(square - mean**2))))

    @property
    def log_likelihood(self) -> float:
        return -self.loss.mean * self.loss.weight if not self.unknown else float("nan")

    @property
    def brier(self) -> float:
        return self.squares / self.n

    def reliability(self) -> tuple[Array, Array, Array]:
        return of_bins(self.bins)


_OF_ROWS = {each.name for each in fields(Scores)} | {"probabilities", "predicted", "of_truth", "known"}
SummedScores.of_rows = frozenset(_OF_ROWS - {each.name for each in fields(SummedScores)})


def summed_batch(classes: tuple[Any, ...], log_shares: Array, codes: Codes, weights: Array) -> SummedScores:
    """The sums of a batch, from each row's log P(class), class and weight."""
    return SummedScores.of(Scores(classes, log_shares, codes.astype(np.intp), weights))
