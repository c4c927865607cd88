"""Scores of predicted numbers: squared errors, log-loss, coverage; with the mean as baseline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo.blocks.capabilities import Ignored
from credo.core.records import Shown
from credo.core.summed_scores import WithoutRows
from credo.models.known_columns import add_ignored
from credo.models.metrics import ScoredRows
from credo.numerics.arrays import Positions
from credo.numerics.distributions import LOG_2PI
from credo.numerics.exact import Array
from credo.numerics.spread import Spread


class NumberFigures(Shown, ABC):
    """Figures of predicted numbers, from scored rows or from sums over them."""

    if TYPE_CHECKING:  # fields of the dataclasses, or properties

        @property
        def how(self) -> str: ...

        @property
        def rows(self) -> int:
            """The number of scored rows."""

        @property
        def n(self) -> float:
            """The weight of the scored rows."""

        @property
        def unknown(self) -> int:
            """The number of rows that couldn't be predicted."""

    @property
    @abstractmethod
    def rmse(self) -> float:
        """The root of the mean squared error."""

    @property
    @abstractmethod
    def mae(self) -> float:
        """The mean absolute error."""

    @property
    @abstractmethod
    def log_loss(self) -> float:
        """The mean of -log p(truth), in nats: it may be negative, p being a density."""

    @property
    @abstractmethod
    def log_loss_error(self) -> float:
        """The standard error of the log-loss (see `variance_of_mean`); NaN where it can't be known."""

    @property
    @abstractmethod
    def log_likelihood(self) -> float:
        """Σ w log p(truth); NaN if a row could not be predicted."""

    @property
    @abstractmethod
    def baseline_rmse(self) -> float:
        """The RMSE of always predicting the mean of these rows."""

    @property
    def baseline_log_loss(self) -> float:
        """The log-loss of one Gaussian with the mean and variance of these rows."""
        return float(0.5 * (LOG_2PI + 1) + np.log(self.baseline_rmse)) if self.baseline_rmse > 0 else float("nan")

    @property
    def r2(self) -> float:
        """1 - (rmse / baseline rmse)²: the share of variance explained."""
        return 1 - (self.rmse / self.baseline_rmse) ** 2 if self.baseline_rmse > 0 else float("nan")

    def summary(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ("rmse", "r2", "log_loss")}

    def __repr__(self) -> str:
        noted = f" ({self.unknown} that could not be predicted, left out)" if self.unknown else ""
        log_loss = f"{self.log_loss:.4f}"
        if np.isfinite(self.log_loss_error):
            log_loss += f" ± {self.log_loss_error:.4f}"
        return (
            f"{self.how}, {self.rows} rows{noted}: rmse {self.rmse:.4g} (the mean alone: "
            f"{self.baseline_rmse:.4g}), R² {self.r2:.4f}, log-loss {log_loss} (one Gaussian: "
            f"{self.baseline_log_loss:.4f})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class NumberScores(ScoredRows, NumberFigures):
    """Predictions of numbers, and the true values.

    >>> scores = NumberScores(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 2.5]), np.full(3, -1.0), np.ones(3))
    >>> round(scores.rmse, 4), round(scores.mae, 4), scores.r2, scores.log_loss
    (0.4082, 0.3333, 0.75, 1.0)
    """

    truth: Array  # (rows,)
    predicted: Array  # (rows,); NaN where a row has no prediction
    log_probabilities: Array  # log p(truth). (rows,)
    weights: Array  # (rows,)
    how: str = "given"  # how the predictions were made
    held_out_ratio: float = 0.0  # the ratio of held-out to training rows; 0: the model was given
    groups: Positions | None = None  # (rows,) the group of each row, where groups are held out whole

    @classmethod
    def of_columns(cls, columns: Array, how: str = "given", held_out_ratio: float = 0.0) -> NumberScores:
        """From columns of truth, prediction, log p(truth) and weight. (rows, 4)"""
        truth, predicted, log_probabilities, weights = np.ascontiguousarray(columns.T)
        return cls(truth, predicted, log_probabilities, weights, how, held_out_ratio)

    @property
    def of_truth(self) -> Array:
        """log p(truth) of each row."""
        return self.log_probabilities

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which rows could be predicted."""
        return np.asarray(~np.isnan(self.predicted) & ~np.isnan(self.log_probabilities))

    def _mean(self, values: Array) -> float:
        if not self.known.any():
            return float("nan")
        return float(np.average(values[self.known], weights=self.weights[self.known]))

    @property
    def rmse(self) -> float:
        return float(np.sqrt(self._mean((self.predicted - self.truth) ** 2)))

    @property
    def mae(self) -> float:
        return self._mean(np.abs(self.predicted - self.truth))

    @property
    def log_loss(self) -> float:
        return -self._mean(self.log_probabilities)

    @property
    def log_loss_error(self) -> float:
        return float(np.sqrt(self._variance_of_loss()))

    @property
    def baseline_rmse(self) -> float:
        return float(np.sqrt(self._mean((self.truth - self._mean(self.truth)) ** 2)))


@dataclass(frozen=True, eq=False, repr=False)
class SummedNumberScores(WithoutRows[NumberScores], NumberFigures):
    """The figures of `NumberScores`, without the rows.

    >>> columns = np.array([[1.0, 1.0, -1.0, 1.0], [2.0, 2.5, -1.0, 1.0], [3.0, 2.5, -1.0, 1.0]])
    >>> both = SummedNumberScores.total([SummedNumberScores.of(columns[:1]), SummedNumberScores.of(columns[1:])])
    >>> round(both.rmse, 4), round(both.mae, 4), both.r2, both.log_loss
    (0.4082, 0.3333, 0.75, 1.0)
    """

    rows: int
    n: float
    unknown: int
    truth_spread: Spread  # of predictable rows, like the fields below
    squared_error: Spread
    absolute_error: Spread
    loss: Spread  # of -log p(truth)
    ignored: Ignored  # unseen values
    how: str = "given"
    held_out_ratio: float = 0.0

    of_rows = frozenset({"truth", "predicted", "log_probabilities", "weights", "of_truth", "known"})

    @classmethod
    def of(cls, columns: Array, ignored: Ignored | None = None) -> SummedNumberScores:
        """From columns of truth, prediction, log p(truth) and weight, (rows, 4); and the number of unseen values."""
        scores = NumberScores.of_columns(columns)
        known, weight = scores.known, scores.weights[scores.known]
        away = (scores.predicted - scores.truth)[known]
        truth, loss = (Spread.of(x[known], weight) for x in (scores.truth, -scores.log_probabilities))
        squared, absolute = (Spread.of(x, weight) for x in (away**2, np.abs(away)))
        return cls(scores.rows, scores.n, scores.unknown, truth, squared, absolute, loss, ignored or {})

    @classmethod
    def of_fold(cls, columns: Array, folds: object) -> SummedNumberScores:  # noqa: ARG003 - no figure goes by them
        return cls.of(columns)

    @classmethod
    def total(cls, parts: Sequence[SummedNumberScores]) -> SummedNumberScores:
        added: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in ("rows", "n", "unknown")}
        for name in ("truth_spread", "squared_error", "absolute_error", "loss"):
            added[name] = Spread.total([getattr(part, name) for part in parts])
        ignored: Ignored = {}
        for part in parts:
            add_ignored(ignored, part.ignored)
        return replace(parts[0], ignored=ignored, **added)

    @property
    def rmse(self) -> float:
        return float(np.sqrt(self.squared_error.known_mean))

    @property
    def mae(self) -> float:
        return self.absolute_error.known_mean

    @property
    def log_loss(self) -> float:
        return self.loss.known_mean

    @property
    def log_loss_error(self) -> float:
        return float(np.sqrt(self.loss.variance_of_mean(self.held_out_ratio)))

    @property
    def log_likelihood(self) -> float:
        return -self.loss.mean * self.loss.weight if not self.unknown else float("nan")

    @property
    def baseline_rmse(self) -> float:
        return float(np.sqrt(self.truth_spread.variance))
