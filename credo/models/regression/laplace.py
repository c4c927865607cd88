"""Laplace's approximation of a softmax regression's posterior: a Gaussian about the most probable coefficients. It
gives the evidence, predictions that integrate the coefficients out, and leave-one-out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import lgamma, log, pi

import numpy as np

from credo.errors import EvidenceError
from credo.numerics.exact import Array
from credo.numerics.softmax import FeatureRows, to_log_shares
from credo.numerics.softmax_modes import WeightPrior, solved

PROBIT = pi / 8  # σ(x) ≈ Φ(x √(π/8))
ARRAY_CELLS = 2**22  # of an array that is processed at a time


@dataclass(frozen=True, eq=False)
class LaplacePosterior:
    """θ | rows ≈ N(mode, precision⁻¹), the precision being minus the second derivative of the log-posterior there."""

    mode: Array  # (1 + features, columns)
    precision: Array  # (coefficients, coefficients); if these are too many its diagonal, in the mode's shape
    log_likelihood: float
    log_evidence: float | None  # None without a prior, or with a diagonal precision

    @property
    def whole(self) -> bool:
        """Whether the full covariance is known."""
        return self.precision.shape != self.mode.shape

    @cached_property
    def covariance(self) -> Array:
        """The covariance of the coefficients; those of one feature are adjacent."""
        if not self.whole:
            raise EvidenceError("covariances of so many weights aren't kept")
        return solved(self.precision, np.eye(len(self.precision)))

    @property
    def variances(self) -> Array:
        """(1 + features, columns)"""
        found = np.diag(self.covariance).reshape(self.mode.shape) if self.whole else 1 / self.precision
        return np.maximum(found, 0.0)

    def as_prior(self) -> WeightPrior:
        """The posterior as a prior for further rows."""
        return WeightPrior(self.mode, self.precision)

    # Predictions

    def log_shares(self, rows: FeatureRows, integrated: bool) -> Array:
        """log P(class | row), at the mode or with the coefficients integrated out. (rows, classes)"""
        logits = rows.logits(self.mode)
        return integrated_log_shares(logits, self.spreads(rows)) if integrated else to_log_shares(logits)

    def spreads(self, rows: FeatureRows) -> Array:
        """The covariance of each row's logits. (rows, columns, columns)"""
        columns, found = self.mode.shape[1], np.empty((rows.rows, self.mode.shape[1], self.mode.shape[1]))
        blocks = self.covariance.reshape(len(self.mode), columns, len(self.mode), columns)
        for tile in rows.tiles():
            z = rows.with_ones(tile)
            for k in range(columns):
                for m in range(k, columns):
                    found[tile, k, m] = found[tile, m, k] = ((z @ blocks[:, k, :, m]) * z).sum(1)
        return found

    def left_out(self, rows: FeatureRows, integrated: bool) -> Array:
        """log P(class | row) without the row itself, to second order: one Newton step from the mode of all rows.

        With A the covariance of the logits, g = w (p - truth) and C = w (diag p - p p′), the logits without the row are
        η + (1 - A C)⁻¹ A g, and their covariance is (1 - A C)⁻¹ A.
        """
        logits, spread = rows.logits(self.mode), self.spreads(rows)
        log_shares, columns = to_log_shares(logits), self.mode.shape[1]
        shares = np.exp(log_shares[:, -columns:])
        slope, each = shares.copy(), np.arange(rows.rows)
        own = rows.codes - (log_shares.shape[1] - columns)
        slope[each[own >= 0], own[own >= 0]] -= 1.0
        bend = -shares[:, :, None] * shares[:, None, :]
        bend[:, np.arange(columns), np.arange(columns)] += shares
        weight = rows.weight[:, None]
        gone = np.eye(columns) - spread @ (bend * weight[:, :, None])
        wider = np.asarray(np.linalg.solve(gone, spread), dtype=np.float64)
        moved = logits + np.einsum("rkm,rm->rk", wider, slope * weight)
        return integrated_log_shares(moved, wider) if integrated else to_log_shares(moved)


def integrated_log_shares(logits: Array, spread: Array) -> Array:
    """log E P(class | row) over Gaussian logits, approximately. (rows, columns), (rows, columns, columns)

    For two classes, MacKay's σ(η/√(1 + π var/8)). For K, the mean over the 2K points η ± √K rₖ, the columns rₖ of the
    covariance's symmetric root: exact for polynomials of degree 3 (spherical cubature).

    >>> np.exp(integrated_log_shares(np.array([[2.0]]), np.array([[[4.0]]]))).round(4).tolist()
    [[0.2232, 0.7768]]
    """
    columns = logits.shape[1]
    if columns == 1:
        return to_log_shares(logits / np.sqrt(1 + PROBIT * np.maximum(spread[:, 0], 0.0)))
    found, step = np.empty_like(logits), max(1, ARRAY_CELLS // (2 * columns**2))
    for first in range(0, len(logits), step):
        tile = slice(first, first + step)
        values, vectors = np.linalg.eigh(spread[tile])
        root = np.einsum("rki,ri,rmi->rkm", vectors, np.sqrt(np.maximum(values, 0.0) * columns), vectors)
        points = logits[tile, None] + np.concatenate([root, -root], axis=1)  # (rows, points, classes)
        log_shares = to_log_shares(points.reshape(-1, columns)).reshape(points.shape)
        found[tile] = np.logaddexp.reduce(log_shares, axis=1) - log(2 * columns)
    return found


def laplace_evidence(
    log_likelihood: float, mode: Array, prior: WeightPrior, precision: Array, flat_intercept: bool
) -> float:
    """log P(classes | features) = log-likelihood + log prior - ½ log |precision/2π|, at the mode.

    A flat intercept stands for a uniform prior on the classes' shares in an average row.
    """
    columns = mode.shape[1]
    found = log_likelihood + prior.value(mode) - 0.5 * _log_determinant(precision, columns)
    if not flat_intercept:
        return found + 0.5 * _log_determinant(prior.precision, columns)
    free = max(columns - 1, 1)
    found += 0.5 * float(np.log(prior.precision[1:]).sum()) + 0.5 * free * log(2 * pi)
    classes = max(columns, 2)
    log_shares = to_log_shares(mode[:1])[0]
    found += lgamma(classes) + float(log_shares.sum()) + 0.5 * log(columns)
    return float(found)


def _log_determinant(precision: Array, columns: int) -> float:
    """log |precision|, without the direction in which all classes' intercepts move together: it leaves predictions
    unchanged."""
    from scipy.linalg import LinAlgError, cholesky

    size = np.sqrt(np.diag(precision))
    try:
        root = cholesky(precision / size[:, None] / size)
        found = 2 * float(np.log(np.diag(root)).sum() + np.log(size).sum())
    except LinAlgError:
        found = float(np.linalg.slogdet(precision)[1])
    if columns > 1:
        found -= log(float(precision[:columns, :columns].sum()) / columns)
    return found
