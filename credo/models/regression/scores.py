"""Scores of predicted numbers: squared errors, log-loss, coverage; with the mean as baseline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.core.records import Shown
from credo.models.metrics import variance_of_mean
from credo.numerics.arrays import Positions
from credo.numerics.distributions import LOG_2PI
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False, repr=False)
class NumberScores(Shown):
    """Predictions of numbers beside the truth.

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
    def of_columns(cls, columns: Array, how: str, held_out_ratio: float = 0.0) -> NumberScores:
        """From truth, prediction, log p(truth) and weight beside each other. (rows, 4)"""
        truth, predicted, log_probabilities, weights = np.ascontiguousarray(columns.T)
        return cls(truth, predicted, log_probabilities, weights, how, held_out_ratio)

    @property
    def n(self) -> float:
        return float(self.weights.sum())

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
        """The root of the mean squared error."""
        return float(np.sqrt(self._mean((self.predicted - self.truth) ** 2)))

    @property
    def mae(self) -> float:
        """The mean absolute error."""
        return self._mean(np.abs(self.predicted - self.truth))

    @property
    def log_loss(self) -> float:
        """The mean of -log p(truth), in nats: it may be negative, p being a density."""
        return -self._mean(self.log_probabilities)

    @property
    def log_loss_error(self) -> float:
        """The standard error of the log-loss (see `variance_of_mean`); NaN where it can't be known."""
        loss, weight = -self.log_probabilities[self.known], self.weights[self.known]
        groups = None if self.groups is None else self.groups[self.known]
        return float(np.sqrt(variance_of_mean(loss, weight, self.held_out_ratio, groups=groups)))

    @property
    def baseline_rmse(self) -> float:
        """That of the mean of these rows, whatever the columns hold."""
        return float(np.sqrt(self._mean((self.truth - self._mean(self.truth)) ** 2)))

    @property
    def baseline_log_loss(self) -> float:
        """That of one Gaussian with the mean and variance of these rows."""
        return float(0.5 * (LOG_2PI + 1) + np.log(self.baseline_rmse)) if self.baseline_rmse > 0 else float("nan")

    @property
    def r2(self) -> float:
        """1 - (rmse / baseline rmse)²: the share of variance explained."""
        return 1 - (self.rmse / self.baseline_rmse) ** 2 if self.baseline_rmse > 0 else float("nan")

    def summary(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ("rmse", "r2", "log_loss")}

    def __repr__(self) -> str:
        unknown = int((~self.known).sum())
        noted = f" ({unknown} that the others say nothing about, left out)" if unknown else ""
        log_loss = f"{self.log_loss:.4f}"
        if np.isfinite(self.log_loss_error):
            log_loss += f" ± {self.log_loss_error:.4f}"
        return (
            f"{self.how}, {len(self.truth)} rows{noted}: rmse {self.rmse:.4g} (the mean alone: "
            f"{self.baseline_rmse:.4g}), R² {self.r2:.4f}, log-loss {log_loss} (one Gaussian: "
            f"{self.baseline_log_loss:.4f})"
        )
