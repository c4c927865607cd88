"""Moments of correlated numbers, as floats: without a row, and maximum likelihood covariances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.core.statistics import RESIDUAL_WEIGHT, Positions
from credo.errors import EvidenceError
from credo.families.normal_inverse_wishart import JointGaussian
from credo.numerics.exact import Array


def without_row(n: Array, mean: Array, scatter: Array, z: Array, w: Array) -> tuple[Array, Array, Array]:
    """n, mean and scatter (a matrix, or variances), each row left out."""
    rest = n - w
    empty = rest <= RESIDUAL_WEIGHT * n
    rest = np.where(empty, 1.0, rest)
    away = z - mean
    product = away[:, :, None] * away[:, None, :] if scatter.ndim == 3 else away**2
    factor = (w * n / rest).reshape(-1, *(1,) * (product.ndim - 1))
    left = scatter - factor * product
    gone = empty.reshape(-1, *(1,) * (product.ndim - 1))
    place = np.where(empty[:, None], 0.0, mean - (w / rest)[:, None] * away)
    return np.where(empty, 0.0, rest), place, np.where(gone, 0.0, left)


def most_likely(n: Array, mean: Array, scatter: Array, tied: bool) -> JointGaussian:
    if tied:
        scatter = np.broadcast_to(scatter.sum(-3, keepdims=True), scatter.shape)
        n = np.broadcast_to(n.sum(-1, keepdims=True), n.shape)
    covariance = scatter / np.where(n > 0, n, 1.0)[..., None, None]
    covariance = np.where((n > 0)[..., None, None], covariance, np.eye(scatter.shape[-1]))  # for a class without rows
    size = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    size = np.where(size > 0, size, np.inf)  # in units of their deviations, for columns in any units
    if not (np.linalg.eigvalsh(covariance / size[..., :, None] / size[..., None, :])[..., 0] > 1e-13).all():
        raise EvidenceError(
            "maximum likelihood gives one of the classes a singular covariance (too few rows, or columns that repeat "
            "each other): use estimate='bayes', whose prior prevents this"
        )
    return JointGaussian(mean, covariance)


def regression(covariance: Array, given: Positions, absent: Positions) -> tuple[Array, Array]:
    """The regression of some columns on others, and the residual covariance. (groups, absent, given or absent)"""
    cross = covariance[:, given[:, None], absent]
    slope = np.asarray(np.linalg.solve(covariance[:, given[:, None], given], cross).swapaxes(1, 2), dtype=np.float64)
    return slope, covariance[:, absent[:, None], absent] - slope @ cross


def completion(covariance: Array, known: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The regression of all columns on the known ones, which are themselves, and the residual covariance. (groups, d,
    known or d)"""
    given, absent = np.flatnonzero(known), np.flatnonzero(~known)
    groups, d = covariance.shape[:2]
    slope, residual = np.zeros((groups, d, len(given))), np.zeros((groups, d, d))
    slope[:, given, np.arange(len(given))] = 1.0
    if len(absent):
        slope[:, absent], residual[:, absent[:, None], absent] = regression(covariance, given, absent)
    return slope, residual
