"""How good probabilities are: accuracy, log-loss, Brier score, calibration, confusion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.exact import Array

BINS = 15  # of the top probability


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Probabilities of classes beside the truth.

    >>> scores = Scores(("no", "yes"), np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 0]), np.ones(2))
    >>> scores.accuracy, round(scores.log_loss, 4), round(scores.brier, 4)
    (0.5, 0.5697, 0.4)
    """

    classes: tuple[Any, ...]
    probabilities: Array  # (rows, classes)
    truth: NDArray[np.intp]  # (rows,) codes
    weights: Array  # (rows,)
    how: str = "given"  # in which way each row was foreseen

    @property
    def n(self) -> float:
        return float(self.weights.sum())

    @property
    def predicted(self) -> NDArray[np.intp]:
        return np.asarray(self.probabilities.argmax(1))

    def _mean(self, values: Array) -> float:
        return float(np.average(values, weights=self.weights))

    @property
    def accuracy(self) -> float:
        return self._mean(self.predicted == self.truth)

    @property
    def log_loss(self) -> float:
        """The mean of -log P(truth), in nats."""
        with np.errstate(divide="ignore"):
            return -self._mean(np.log(self.probabilities[np.arange(len(self.truth)), self.truth]))

    @property
    def brier(self) -> float:
        """The mean of Σₖ (pₖ - [k is the truth])²"""
        own = self.probabilities[np.arange(len(self.truth)), self.truth]
        return self._mean((self.probabilities**2).sum(1) - 2 * own + 1)

    @property
    def confusion(self) -> Array:
        """The weight of the rows of each class (rows) that were taken for each class (columns)."""
        size = len(self.classes)
        cells = self.truth * size + self.predicted
        return np.asarray(np.bincount(cells, self.weights, size * size).reshape(size, size), dtype=np.float64)

    def reliability(self, bins: int = BINS) -> tuple[Array, Array, Array]:
        """Of each bin of the top probability that has rows: its mean, how often it was right, and the rows' weight."""
        top = self.probabilities.max(1)
        place = np.minimum((top * bins).astype(np.intp), bins - 1)
        weight = np.bincount(place, self.weights, bins)
        stated = np.bincount(place, self.weights * top, bins)
        right = np.bincount(place, self.weights * (self.predicted == self.truth), bins)
        seen = np.asarray(weight[weight > 0], dtype=np.float64)
        return stated[weight > 0] / seen, right[weight > 0] / seen, seen

    @property
    def ece(self) -> float:
        """Expected calibration error: how far stated probability and frequency lie apart, over 15 equal-width bins."""
        stated, right, weight = self.reliability()
        return float(np.average(np.abs(stated - right), weights=weight))

    def summary(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ("accuracy", "log_loss", "brier", "ece")}

    def __repr__(self) -> str:
        figures = ", ".join(f"{name.replace('_', '-')} {value:.4f}" for name, value in self.summary().items())
        return f"{self.how}, {len(self.truth)} rows: {figures}"
