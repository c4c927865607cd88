"""Multinomial logistic regression: the mode under a Gaussian prior, with some coefficients bounded below by 0.

log P(class) = offset + features · θ - log Σ, maximised by projected Newton steps (Bertsekas 1982): a coefficient stays
at its bound as long as the gradient points outwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from credo.numerics.exact import Array

PROJECTED_STEPS = 100  # Newton steps, at most
TIGHT_TOLERANCE, MEDIUM_TOLERANCE, LOOSE_TOLERANCE = 1e-7, 1e-5, 1e-4  # gains, relative to the log-posterior
JOINT_COEFFICIENTS = 8  # up to this many coefficients, several fits of the same rows are solved at once
LOGITS_AT_ONCE = 2**18  # rows x classes x fits computed together
FEATURE_CELLS_AT_ONCE = 2**20  # rows x classes x coefficients x regressions computed together
SHORTEST_STEP = 1e-6  # of a Newton step: a shorter one ends the line search


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """θ ~ N(mean, precision⁻¹), and the coefficients that are bounded below by 0."""

    mean: Array  # (coefficients,)
    precision: Array  # (coefficients, coefficients)
    bounded: NDArray[np.bool_]  # (coefficients,)


class LogisticPosterior:
    """The log-posterior of coefficients, for one or more weightings of the rows.

    Several fits are computed at once. They share all but the weights of rows, or each has separate features and priors.
    """

    def __init__(self, features: Array, offset: Array, truth: NDArray[np.integer], prior: GaussianPrior) -> None:
        """features: (rows, classes, coefficients), or (fits, ...); offset: (rows, classes); truth: (rows,) codes."""
        each = np.swapaxes(features if features.ndim == 4 else features[None], 1, 2)
        self._features = np.ascontiguousarray(each[:, 1:]) - each[:, :1]  # relative to the first class
        self._offset = np.ascontiguousarray((offset[:, 1:] - offset[:, :1]).T)[None]
        self._truth = (np.arange(1, offset.shape[1])[:, None] == truth)[None]
        self._mean, self._precision, self._bounds = prior.mean[None], prior.precision[None], prior.bounded[None]

    # Axes: (fits, classes - 1, rows, coefficients), since NumPy sums over classes fast where rows are contiguous. The
    # first has length 1 where all fits share the array.

    @classmethod
    def stacked(cls, regressions: Sequence[LogisticPosterior]) -> LogisticPosterior:
        """One fit for each regression, padded with rows and coefficients that have no effect."""
        shapes = np.array([each._features.shape[1:] for each in regressions])
        (classes, rows, size), fits, new = shapes.max(0), len(regressions), cls.__new__(cls)
        new._features, new._offset = np.zeros((fits, classes, rows, size)), np.zeros((fits, classes, rows))
        new._truth, new._mean = np.zeros((fits, classes, rows), dtype=bool), np.zeros((fits, size))
        new._precision, new._bounds = np.tile(np.eye(size), (fits, 1, 1)), np.zeros((fits, size), dtype=bool)
        for f, (each, (_, r, c)) in enumerate(zip(regressions, shapes.tolist(), strict=True)):
            new._features[f, :, :r, :c], new._offset[f, :, :r] = each._features[0], each._offset[0]
            new._truth[f, :, :r] = each._truth[0]
            new._mean[f, :c], new._bounds[f, :c] = each._mean[0], each._bounds[0]
            new._precision[f, :c, :c] = each._precision[0]
        return new

    def _of(self, fits: NDArray[np.bool_]) -> Self:
        """The chosen fits."""
        if self._share or fits.all():
            return self
        new = type(self).__new__(type(self))
        for name in ("_features", "_offset", "_truth", "_mean", "_precision", "_bounds"):
            own = getattr(self, name)
            setattr(new, name, own if len(own) == 1 else own[fits])
        return new

    @property
    def _share(self) -> bool:
        """Whether the fits share all but the weights of rows."""
        return len(self._features) == 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a fit: (classes - 1, rows, coefficients)."""
        return self._features.shape[1:]

    @cached_property
    def _flat(self) -> Array:
        """The features as matrices. (fits, classes x rows, coefficients)"""
        return self._features.reshape(len(self._features), -1, self._features.shape[3])

    def mode(self, weight: Array, start: Array | None = None, tolerance: float = TIGHT_TOLERANCE) -> Array:
        """The most probable coefficients, given the weights of rows."""
        return np.asarray(self.modes(weight[None], None if start is None else start[None], tolerance)[0])

    def modes(self, weights: Array, start: Array | None = None, tolerance: float = TIGHT_TOLERANCE) -> Array:
        """The most probable coefficients for several weightings of the rows. (fits, rows) -> (fits, coefficients)"""
        starts = np.repeat(self._mean, len(weights) // len(self._mean), axis=0) if start is None else start
        if not self._share:
            return self._modes(weights, starts, tolerance)
        step = max(1, LOGITS_AT_ONCE // max(self._offset.size, 1))
        parts = [slice(first, first + step) for first in range(0, len(weights), step)]
        return np.concatenate([self._modes(weights[part], starts[part], tolerance) for part in parts])

    def _modes(self, weights: Array, start: Array, tolerance: float) -> Array:
        own, theta = self, self._bounded(start)
        best, probability = self._log_posteriors(theta, weights)
        active = np.arange(len(weights))  # fits that still gain
        for _ in range(PROJECTED_STEPS):
            step = own._newton(theta[active], probability, weights[active])
            moved, value, found, stuck = own._search(theta[active], step, best[active], weights[active])
            gained = value - best[active]
            going = ~stuck & (gained > tolerance * np.maximum(1.0, np.abs(value)))
            theta[active[~stuck]], best[active[~stuck]] = moved[~stuck], value[~stuck]
            active, probability = active[going], found[going] if not going.all() else found
            if not len(active):
                break
            own = own._of(going)
        return theta

    def _bounded(self, theta: Array) -> Array:
        return np.where(self._bounds, np.maximum(theta, 0.0), theta)

    def _search(
        self, theta: Array, step: Array, best: Array, weights: Array
    ) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        """Newton steps, halved until the log-posterior doesn't fall; and the fits that found no such step."""
        moved = self._bounded(theta + step)
        value, found = self._log_posteriors(moved, weights)
        size, falls = 1.0, ~(value >= best - 1e-12 * np.abs(best))
        while falls.any():
            size /= 2
            if size <= SHORTEST_STEP:
                break
            some, own = np.flatnonzero(falls), self._of(falls)
            moved[some] = own._bounded(theta[some] + size * step[some])
            value[some], found[some] = own._log_posteriors(moved[some], weights[some])
            falls[some] = ~(value[some] >= best[some] - 1e-12 * np.abs(best[some]))
        return moved, value, found, falls

    def log_occam_factors(self, modes: Array, weights: Array) -> Array:
        """The log Occam factors: log evidence - log-likelihood at the mode, by Laplace's method. (fits,)

        -½ (mode - mean)′precision (mode - mean) - ½ log|1 + precision⁻¹ curvature|, with the curvature of the
        coefficients that aren't at their bound.
        """
        _, probability = self._log_posteriors(modes, weights)
        free, one, away = ~self._bounds | (modes > 0), np.eye(modes.shape[1]), modes - self._mean
        both = free[:, :, None] & free[:, None, :]
        _, wide = np.linalg.slogdet(np.where(both, self._precision + self._curvatures(probability, weights), one))
        _, narrow = np.linalg.slogdet(np.where(both, self._precision, one))
        return np.asarray(-0.5 * np.einsum("fc,fc->f", _times(away, self._precision), away) - 0.5 * (wide - narrow))

    def _log_posteriors(self, theta: Array, weights: Array) -> tuple[Array, Array]:
        """The log-posteriors, up to a constant, and P(class) of all classes but the first.

        (fits,), (fits, classes - 1, rows)
        """
        product = theta @ self._flat[0].T if self._share else np.matmul(self._flat, theta[:, :, None])
        logits = product.reshape(len(theta), *self._offset.shape[1:])
        logits += self._offset
        top = logits.max(1, initial=0.0)
        true = (logits * self._truth).sum(1)
        logits -= top[:, None]
        odds = np.exp(logits, out=logits)
        total = odds.sum(1) + np.exp(-top)
        fit = np.einsum("fr,fr->f", weights, true - top - np.log(total))
        odds /= total[:, None]
        away = theta - self._mean
        return fit - 0.5 * np.einsum("fc,fc->f", _times(away, self._precision), away), odds

    def _newton(self, theta: Array, probability: Array, weights: Array) -> Array:
        residual = (weights[:, None] * (self._truth - probability)).reshape(len(theta), -1)
        slope = _times(residual, self._flat) - _times(theta - self._mean, self._precision)
        free = ~(self._bounds & (theta <= 0) & (slope <= 0))
        if theta.shape[1] <= JOINT_COEFFICIENTS or not self._share:
            return self._solved_jointly(slope, probability, weights, free)
        step = np.zeros_like(theta)
        for f in range(len(theta)):
            if free[f].any():
                step[f, free[f]] = self._solved(slope[f], probability[f], weights[f], np.flatnonzero(free[f]))
        return step

    def _solved_jointly(self, slope: Array, probability: Array, weights: Array, free: NDArray[np.bool_]) -> Array:
        """Newton steps of all fits at once; coefficients that aren't free don't move."""
        curvature = self._curvatures(probability, weights) + self._precision
        curvature = np.where(free[:, :, None] & free[:, None, :], curvature, np.eye(slope.shape[1]))
        slope = np.where(free, slope, 0.0)
        try:
            return np.asarray(np.linalg.solve(curvature, slope[:, :, None])[:, :, 0])
        except np.linalg.LinAlgError:
            return np.stack([_least_squares(*each) for each in zip(curvature, slope, strict=True)])

    def _curvatures(self, probability: Array, weights: Array) -> Array:
        """Minus the second derivatives of the log-likelihoods. (fits, coefficients, coefficients)"""
        fits, size = len(weights), self._features.shape[3]
        worth = (self._spread(probability) * weights[:, None]).reshape(fits, -1)
        if self._share:
            found = (worth @ self._products).reshape(fits, size, size)
        else:
            scaled = self._flat * np.sqrt(worth)[:, :, None]
            found = np.matmul(scaled.swapaxes(1, 2), scaled)
        if self.shape[0] == 1:
            return np.asarray(found)
        features = np.broadcast_to(self._features, (fits, *self.shape))
        expected = np.einsum("fkr,fkrc->frc", probability, features)
        expected *= np.sqrt(weights)[:, :, None]  # X′X takes half as long as X′Y
        return np.asarray(found - np.matmul(expected.swapaxes(1, 2), expected))

    def _spread(self, probability: Array) -> Array:
        """P(1 - P) for two classes; otherwise P, the first part of the variance."""
        return probability * (1 - probability) if self.shape[0] == 1 else probability

    @cached_property
    def _products(self) -> Array:
        """The products of each pair of features that all fits share. (classes x rows, coefficients²)"""
        flat = self._flat[0]
        return np.asarray((flat[:, :, None] * flat[:, None, :]).reshape(len(flat), -1))

    def _solved(self, slope: Array, probability: Array, weight: Array, free: NDArray[np.intp]) -> Array:
        curvature = self._curvature(probability, weight, free) + self._precision[0][np.ix_(free, free)]
        try:
            return np.asarray(np.linalg.solve(curvature, slope[free]))
        except np.linalg.LinAlgError:
            return _least_squares(curvature, slope[free])

    def _curvature(self, probability: Array, weight: Array, free: NDArray[np.intp]) -> Array:
        """Minus the second derivative of the log-likelihood, for the free coefficients, if fits share features."""
        whole = self._flat[0]
        flat = whole if len(free) == whole.shape[1] else whole[:, free]
        scaled = flat * np.sqrt(self._spread(probability) * weight).reshape(-1, 1)
        if self.shape[0] == 1:
            return np.asarray(scaled.T @ scaled)
        expected = np.einsum("kr,krc->rc", probability, flat.reshape(*self._offset.shape[1:], len(free)))
        expected *= np.sqrt(weight)[:, None]
        return np.asarray(scaled.T @ scaled - expected.T @ expected)


def modes_of(
    regressions: Sequence[LogisticPosterior],
    weights: Sequence[Array],
    starts: Sequence[Array | None],
    tolerance: float,
) -> list[Array]:
    """The modes of several regressions, given the weights of rows; those of similar size are computed together."""
    found: dict[int, Array] = {}
    for some in _of_one_size(regressions):
        own = [regressions[i] for i in some]
        if len(some) == 1:
            found[some[0]] = own[0].mode(weights[some[0]], starts[some[0]], tolerance)
            continue
        stacked = LogisticPosterior.stacked(own)
        weight, start = np.zeros((len(some), stacked.shape[1])), stacked._mean.copy()
        for f, i in enumerate(some):
            weight[f, : len(weights[i])] = weights[i]
            if (begun := starts[i]) is not None:
                start[f, : len(begun)] = begun
        for i, regression, theta in zip(some, own, stacked.modes(weight, start, tolerance), strict=True):
            found[i] = theta[: regression.shape[2]]
    return [found[i] for i in range(len(regressions))]


def _of_one_size(regressions: Sequence[LogisticPosterior]) -> list[list[int]]:
    """Groups of regressions with the same classes and similar sizes; large ones are alone."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for i, each in enumerate(regressions):
        classes, rows, size = each.shape
        large = 2 * rows * classes * size > FEATURE_CELLS_AT_ONCE
        alike.setdefault((i,) if large else (-1, classes, rows.bit_length(), size.bit_length()), []).append(i)
    found = []
    for some in alike.values():
        classes, rows, size = np.max([regressions[i].shape for i in some], axis=0).tolist()
        step = max(1, FEATURE_CELLS_AT_ONCE // max(rows * classes * size, 1))
        found += [some[first : first + step] for first in range(0, len(some), step)]
    return found


def _times(vectors: Array, matrices: Array) -> Array:
    """Each fit's vector times its matrix, or times one matrix. (fits, n), (fits, n, m) -> (fits, m)"""
    if len(matrices) == 1:
        return np.asarray(vectors @ matrices[0])
    return np.asarray(np.matmul(vectors[:, None, :], matrices)[:, 0])


def _least_squares(curvature: Array, slope: Array) -> Array:
    """The least-squares step, for weights so large that the prior is lost in rounding."""
    return np.asarray(np.linalg.lstsq(curvature, slope, rcond=None)[0])
