"""Scores of rows that stay on a cluster: each batch's are added up where they are, and their figures come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.core.membership import Codes
from credo.data import Batch
from credo.engines import Partition
from credo.models.metrics import ScoreFigures, Scores, effective_rows, of_bins, variance_by_rows
from credo.numerics.exact import Array

ScoreJob = Callable[[Batch], tuple[Array, Codes, Array]]  # log P(class) of each row, its class, and its weight


@dataclass(frozen=True)
class Spread:
    """A weighted mean of numbers, and what its variance is derived from; two are joined by Chan's formula.

    >>> one, two = Spread.of(np.array([1.0]), np.ones(1)), Spread.of(np.array([2.0, 6.0]), np.ones(2))
    >>> Spread.total([one, two])
    Spread(count=3, weight=3.0, squares=3.0, mean=3.0, scatter=14.0)
    """

    count: int = 0
    weight: float = 0.0
    squares: float = 0.0  # Σ w²
    mean: float = 0.0
    scatter: float = 0.0  # Σ w (x - mean)²

    @classmethod
    def of(cls, x: Array, weight: Array) -> Self:
        total = float(weight.sum())
        if not total > 0:
            return cls()
        with np.errstate(invalid="ignore"):  # an infinite loss has no variance
            mean = float((x * weight).sum() / total)
            return cls(len(x), total, float((weight**2).sum()), mean, float((weight * (x - mean) ** 2).sum()))

    @classmethod
    def total(cls, parts: Sequence[Spread]) -> Self:
        own = [part for part in parts if part.count]
        x, weight = (np.array([getattr(part, name) for part in own]) for name in ("mean", "weight"))
        between = Spread.of(x, weight)
        return cls(
            sum(part.count for part in own),
            between.weight,
            sum(part.squares for part in own),
            between.mean,
            between.scatter + sum(part.scatter for part in own),
        )

    def variance_of_mean(self, held_out_ratio: float, least: float) -> float:
        """See `credo.models.metrics.variance_of_mean`."""
        if self.count < 2 or not np.isfinite(self.scatter):
            return float("nan")
        return variance_by_rows(
            self.scatter / self.weight, effective_rows(self.weight, self.squares), held_out_ratio, least
        )


@dataclass(frozen=True, eq=False, repr=False)
class SummedScores(ScoreFigures):
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
    cells: NDArray[np.int64]  # of the confusion matrix
    cell_weights: Array
    right: float  # weight of the rows predicted right
    squares: float  # Σ w · squared error of the probabilities
    loss: Spread  # of -log P(truth)
    implied: Array  # Σ w · what the probabilities imply for the loss and its square. (2,)
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
    def brier(self) -> float:
        return self.squares / self.n

    def reliability(self) -> tuple[Array, Array, Array]:
        return of_bins(self.bins)

    def __getattr__(self, name: str) -> Any:
        if name in _OF_ROWS:
            raise AttributeError(
                f"the scores of a frame's rows were added up on the workers, and have no {name!r}: bring rows here to "
                "see it, as with frame.compute() or frame.toArrow()"
            )
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")


_OF_ROWS = {each.name for each in fields(Scores)} | {"probabilities", "predicted", "of_truth", "known"}


@dataclass(frozen=True, eq=False)
class SumScores:
    """The job of one batch: its scores, added up."""

    job: ScoreJob
    classes: tuple[Any, ...]

    def __call__(self, batch: Batch) -> SummedScores:
        log_shares, codes, weights = self.job(batch)
        return SummedScores.of(Scores(self.classes, log_shares, codes.astype(np.intp), weights))


def summed_scores(
    job: ScoreJob, partitions: Iterable[Partition[Batch]], classes: tuple[Any, ...]
) -> SummedScores | None:
    """The scores of all rows; None if there are none."""
    found = engines.reduce(SumScores(job, classes), partitions, SummedScores.total)
    return found if found is not None and found.rows else None
