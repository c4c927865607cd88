"""Multinomial logistic regression: the mode under a Gaussian prior, some coefficients being at least 0.

log P(class) = offset + features · θ - log Σ, maximised by Newton steps that are projected onto the bounds (Bertsekas
1982): a coefficient at its bound stays there while the slope points outwards, and is free again once it doesn't.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.numerics.exact import Array

STEPS = 100
PRECISELY, NEARLY, ROUGHLY = 1e-7, 1e-5, 1e-4  # gains, relative to the log-posterior, at which it ends
FEW_COEFFICIENTS = 8  # up to which several fits are solved at once
MOST_CELLS = 2**18  # rows x classes of fits that are done together
SHORTEST = 1e-6  # of the Newton step, before the search gives up


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """θ ~ N(mean, precision⁻¹), and which coefficients must not be negative."""

    mean: Array  # (coefficients,)
    precision: Array  # (coefficients, coefficients)
    bounded: NDArray[np.bool_]  # (coefficients,)


class LogisticRegression:
    """The log-posterior of coefficients, given rows whose weights may differ each time."""

    def __init__(self, features: Array, offset: Array, truth: NDArray[np.integer], prior: GaussianPrior) -> None:
        """features: (rows, classes, coefficients); offset: (rows, classes); truth: (rows,) codes."""
        self.prior = prior
        self._features = np.ascontiguousarray(features[:, 1:] - features[:, :1])  # against the first class
        self._flat = self._features.reshape(-1, features.shape[2])
        self._offset = offset[:, 1:] - offset[:, :1]
        self._truth = np.arange(1, offset.shape[1]) == truth[:, None]

    def mode(self, weight: Array, start: Array | None = None, enough: float = PRECISELY) -> Array:
        """The most probable coefficients, rows being worth `weight` each."""
        return np.asarray(self.modes(weight[None], None if start is None else start[None], enough)[0])

    def modes(self, weights: Array, start: Array | None = None, enough: float = PRECISELY) -> Array:
        """The same for several weightings of the rows at once. (fits, rows) -> (fits, coefficients)"""
        step = max(1, MOST_CELLS // max(self._offset.size, 1))
        starts = np.repeat(self.prior.mean[None], len(weights), axis=0) if start is None else start
        parts = [slice(i, i + step) for i in range(0, len(weights), step)]
        return np.concatenate([self._modes(weights[part], starts[part], enough) for part in parts])

    def _modes(self, weights: Array, start: Array, enough: float) -> Array:
        theta = self._bounded(start)
        best, probability = self._log_posteriors(theta, weights)
        open_ = np.arange(len(weights))  # fits that still gain
        for _ in range(STEPS):
            step = self._newton(theta[open_], probability, weights[open_])
            moved, value, found, stuck = self._search(theta[open_], step, best[open_], weights[open_])
            gained = value - best[open_]
            going = ~stuck & (gained > enough * np.maximum(1.0, np.abs(value)))
            theta[open_[~stuck]], best[open_[~stuck]] = moved[~stuck], value[~stuck]
            open_, probability = open_[going], found[going] if not going.all() else found
            if not len(open_):
                break
        return theta

    def _bounded(self, theta: Array) -> Array:
        return np.where(self.prior.bounded, np.maximum(theta, 0.0), theta)

    def _search(
        self, theta: Array, step: Array, best: Array, weights: Array
    ) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        """Newton steps, halved until the log-posterior doesn't fall; and which fits found no such step."""
        moved = self._bounded(theta + step)
        value, found = self._log_posteriors(moved, weights)
        size, falls = 1.0, ~(value >= best - 1e-12 * np.abs(best))
        while falls.any():
            size /= 2
            if size <= SHORTEST:
                break
            some = np.flatnonzero(falls)
            moved[some] = self._bounded(theta[some] + size * step[some])
            value[some], found[some] = self._log_posteriors(moved[some], weights[some])
            falls[some] = ~(value[some] >= best[some] - 1e-12 * np.abs(best[some]))
        return moved, value, found, falls

    def log_occam_factor(self, mode: Array, weight: Array) -> float:
        """log of what integrating θ out leaves of the likelihood at its mode, by Laplace's method.

        -½ (mode - mean)′precision (mode - mean) - ½ log|1 + precision⁻¹ curvature|, the curvature being that of
        coefficients that aren't at their bound.
        """
        _, probability = self._log_posteriors(mode[None], weight[None])
        free = np.flatnonzero(~self.prior.bounded | (mode > 0))
        curvature = self._curvature(probability[0], weight, free)
        precision, away = self.prior.precision[np.ix_(free, free)], mode - self.prior.mean
        _, wide = np.linalg.slogdet(precision + curvature)
        _, narrow = np.linalg.slogdet(precision)
        return -0.5 * float(away @ self.prior.precision @ away) - 0.5 * float(wide - narrow)

    def _log_posteriors(self, theta: Array, weights: Array) -> tuple[Array, Array]:
        """Up to a constant; and the probabilities of all classes but the first. (fits,), (fits, rows, classes - 1)"""
        logits = (theta @ self._flat.T).reshape(len(theta), *self._offset.shape)
        logits += self._offset
        top = np.maximum(logits.max(2, initial=0.0), 0.0)
        true = np.einsum("frk,rk->fr", logits, self._truth)
        logits -= top[:, :, None]
        odds = np.exp(logits, out=logits)
        total = odds.sum(2) + np.exp(-top)
        fit = np.einsum("fr,fr->f", weights, true - top - np.log(total))
        odds /= total[:, :, None]
        away = theta - self.prior.mean
        return fit - 0.5 * np.einsum("fc,fc->f", away @ self.prior.precision, away), odds

    def _newton(self, theta: Array, probability: Array, weights: Array) -> Array:
        residual = weights[:, :, None] * (self._truth - probability)
        slope = residual.reshape(len(theta), -1) @ self._flat - (theta - self.prior.mean) @ self.prior.precision
        free = ~(self.prior.bounded & (theta <= 0) & (slope <= 0))
        if theta.shape[1] <= FEW_COEFFICIENTS:
            return self._solved_together(slope, probability, weights, free)
        step = np.zeros_like(theta)
        for f in range(len(theta)):
            if free[f].any():
                step[f, free[f]] = self._solved(slope[f], probability[f], weights[f], np.flatnonzero(free[f]))
        return step

    def _solved_together(self, slope: Array, probability: Array, weights: Array, free: NDArray[np.bool_]) -> Array:
        """Newton steps of all fits at once; coefficients that aren't free stay where they are."""
        size = self._features.shape[2]
        worth = (probability * weights[:, :, None]).reshape(len(slope), -1)
        expected = np.einsum("frk,rkc->frc", probability, self._features)
        curvature = (worth @ self._products).reshape(len(slope), size, size) + self.prior.precision
        curvature -= np.matmul(expected.swapaxes(1, 2) * weights[:, None], expected)
        curvature = np.where(free[:, :, None] & free[:, None, :], curvature, np.eye(size))
        slope = np.where(free, slope, 0.0)
        try:
            return np.asarray(np.linalg.solve(curvature, slope[:, :, None])[:, :, 0])
        except np.linalg.LinAlgError:
            return np.stack([_least_squares(*each) for each in zip(curvature, slope, strict=True)])

    @cached_property
    def _products(self) -> Array:
        """Of each pair of features. (rows x classes, coefficients²)"""
        flat = self._flat
        return np.asarray((flat[:, :, None] * flat[:, None, :]).reshape(len(flat), -1))

    def _solved(self, slope: Array, probability: Array, weight: Array, free: NDArray[np.intp]) -> Array:
        curvature = self._curvature(probability, weight, free) + self.prior.precision[np.ix_(free, free)]
        try:
            return np.asarray(np.linalg.solve(curvature, slope[free]))
        except np.linalg.LinAlgError:
            return _least_squares(curvature, slope[free])

    def _curvature(self, probability: Array, weight: Array, free: NDArray[np.intp]) -> Array:
        """Minus the second derivative of the log-likelihood, in some of the coefficients."""
        flat = self._flat if len(free) == self._flat.shape[1] else self._flat[:, free]
        features = flat.reshape(*self._offset.shape, len(free))
        expected = np.matmul(probability[:, None, :], features)[:, 0]
        scaled = flat * np.sqrt(probability * weight[:, None]).reshape(-1, 1)
        return np.asarray(scaled.T @ scaled - expected.T @ (expected * weight[:, None]))


def _least_squares(curvature: Array, slope: Array) -> Array:
    """Where rows are so heavy that the prior is lost in rounding."""
    return np.asarray(np.linalg.lstsq(curvature, slope, rcond=None)[0])
