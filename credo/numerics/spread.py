"""The mean and the variance of numbers, from statistics that add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from credo.numerics.exact import Array


@dataclass(frozen=True)
class Spread:
    """The weighted mean and scatter of numbers; those of two sets are merged by Chan's formula.

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

    @property
    def known_mean(self) -> float:
        """The mean; NaN without numbers."""
        return self.mean if self.count else float("nan")

    @property
    def variance(self) -> float:
        """The variance; NaN without numbers."""
        return self.scatter / self.weight if self.count else float("nan")

    def variance_of_mean(self, held_out_ratio: float, least: float = 0.0) -> float:
        """The variance of the mean (see `credo.models.metrics.variance_of_mean`)."""
        if self.count < 2 or not np.isfinite(self.scatter):
            return float("nan")
        return variance_by_rows(self.variance, effective_rows(self.weight, self.squares), held_out_ratio, least)


def effective_rows(weight: float, squares: float) -> float:
    """Kish's effective sample size (Σw)²/Σw², given Σw and Σw²."""
    return float(weight**2 / squares)


def variance_by_rows(spread: float, rows: float, held_out_ratio: float, least: float) -> float:
    """The variance of a mean, given the variance of its values and the effective number of rows."""
    return (1 + held_out_ratio) * max(spread, least) / max(rows - 1, 1)
