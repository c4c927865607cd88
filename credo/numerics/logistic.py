"""Multinomial logistic regression: the mode under a Gaussian prior, some coefficients being at least 0.

log P(class) = offset + features · θ - log Σ, maximised by Newton steps that are projected onto the bounds (Bertsekas
1982): a coefficient at its bound stays there while the slope points outwards, and is free again once it doesn't.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.numerics.exact import Array

STEPS = 100
PRECISELY, ROUGHLY = 1e-7, 1e-4  # gains, relative to the log-posterior, at which it ends
SHORTEST = 1e-6  # of the Newton step, before the search gives up


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """θ ~ N(mean, precision⁻¹), and which coefficients must not be negative."""

    mean: Array  # (coefficients,)
    precision: Array  # (coefficients, coefficients)
    bounded: NDArray[np.bool_]  # (coefficients,)


class LogisticRegression:
    """The log-posterior of coefficients, rows given: they may be weighed anew each time."""

    def __init__(self, features: Array, offset: Array, truth: NDArray[np.integer], prior: GaussianPrior) -> None:
        """features: (rows, classes, coefficients); offset: (rows, classes); truth: (rows,) codes."""
        self.prior = prior
        self._features = np.ascontiguousarray(features[:, 1:] - features[:, :1])  # against the first class
        self._flat = self._features.reshape(-1, features.shape[2])
        self._offset = offset[:, 1:] - offset[:, :1]
        self._truth = np.arange(1, offset.shape[1]) == truth[:, None]

    def mode(self, weight: Array, start: Array | None = None, enough: float = PRECISELY) -> Array:
        """The most probable coefficients, rows being worth `weight` each."""
        theta = np.array(self.prior.mean if start is None else start)
        theta = np.where(self.prior.bounded, np.maximum(theta, 0.0), theta)
        best, probability = self._log_posterior(theta, weight)
        for _ in range(STEPS):
            step = self._newton(theta, probability, weight)
            size = 1.0
            while size > SHORTEST:
                moved = theta + size * step
                moved = np.where(self.prior.bounded, np.maximum(moved, 0.0), moved)
                value, found = self._log_posterior(moved, weight)
                if value >= best - 1e-12 * abs(best):
                    break
                size /= 2
            else:
                break
            theta, gained, best, probability = moved, value - best, value, found
            if gained <= enough * max(1.0, abs(best)):
                break
        return theta

    def log_occam_factor(self, mode: Array, weight: Array) -> float:
        """log of what integrating θ out leaves of the likelihood at its mode, by Laplace's method.

        -½ (mode - mean)′precision (mode - mean) - ½ log|1 + precision⁻¹ curvature|, the curvature being that of
        coefficients that aren't at their bound.
        """
        _, probability = self._log_posterior(mode, weight)
        free = np.flatnonzero(~self.prior.bounded | (mode > 0))
        curvature = self._curvature(probability, weight, free)
        precision, away = self.prior.precision[np.ix_(free, free)], mode - self.prior.mean
        _, wide = np.linalg.slogdet(precision + curvature)
        _, narrow = np.linalg.slogdet(precision)
        return -0.5 * float(away @ self.prior.precision @ away) - 0.5 * float(wide - narrow)

    def _log_posterior(self, theta: Array, weight: Array) -> tuple[float, Array]:
        """Up to a constant; and the probabilities of all classes but the first."""
        logits = self._offset + (self._flat @ theta).reshape(self._offset.shape)
        top = np.maximum(logits.max(1, initial=0.0), 0.0)
        odds = np.exp(logits - top[:, None])
        total = odds.sum(1) + np.exp(-top)
        fit = float(weight @ ((logits * self._truth).sum(1) - top - np.log(total)))
        away = theta - self.prior.mean
        return fit - 0.5 * float(away @ self.prior.precision @ away), odds / total[:, None]

    def _newton(self, theta: Array, probability: Array, weight: Array) -> Array:
        residual = (weight[:, None] * (self._truth - probability)).ravel()
        slope = residual @ self._flat - self.prior.precision @ (theta - self.prior.mean)
        free = np.flatnonzero(~(self.prior.bounded & (theta <= 0) & (slope <= 0)))
        step = np.zeros_like(theta)
        if not len(free):
            return step
        curvature = self._curvature(probability, weight, free) + self.prior.precision[np.ix_(free, free)]
        try:
            step[free] = np.linalg.solve(curvature, slope[free])
        except np.linalg.LinAlgError:  # rows so heavy that the prior is lost in rounding
            step[free] = np.linalg.lstsq(curvature, slope[free], rcond=None)[0]
        return step

    def _curvature(self, probability: Array, weight: Array, free: NDArray[np.intp]) -> Array:
        """Minus the second derivative of the log-likelihood, in some of the coefficients."""
        flat = self._flat if len(free) == self._flat.shape[1] else self._flat[:, free]
        features = flat.reshape(*self._offset.shape, len(free))
        expected = np.matmul(probability[:, None, :], features)[:, 0]
        scaled = flat * np.sqrt(probability * weight[:, None]).reshape(-1, 1)
        return np.asarray(scaled.T @ scaled - expected.T @ (expected * weight[:, None]))
