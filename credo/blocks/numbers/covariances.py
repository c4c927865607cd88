"""Gaussians whose numbers covary: the normal-inverse-Wishart posterior of many classes at once, and its densities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from credo.core.statistics import ALONE
from credo.errors import EvidenceError
from credo.numerics.exact import Array

TILE = 1024  # rows whose products stay in the processor's cache


class Gaussians(NamedTuple):
    """Of each class, about the shift. A shared covariance is repeated."""

    mean: Array  # (classes, d)
    covariance: Array  # (classes, d, d)


class Spread(NamedTuple):
    """What is known of classes' rows together with the prior's. (..., classes[, d[, d]])"""

    n: Array
    strength: Array
    mean: Array
    scale: Array
    degrees: Array


def spread(
    n: Array,
    mean: Array,
    scatter: Array,
    prior_mean: Array,
    variance: Array,
    strength: float,
    tied: bool,
    rows: float | None = None,
) -> Spread:
    """Prior and evidence together: the normal-inverse-Wishart posterior. (..., classes[, d[, d]])

    The prior is worth `strength` rows for the means and `rows` (the same, if not said) for the covariance.
    """
    d, worth = mean.shape[-1], strength if rows is None else rows
    after = strength + n
    away = mean - prior_mean
    scale = away[..., :, None] * away[..., None, :]  # in place from here: of many rows, these are many matrices
    scale *= (strength * n / after)[..., None, None]
    scale += scatter
    seen = n
    if tied:
        scale[...] = scale.sum(-3, keepdims=True)
        seen = np.broadcast_to(n.sum(-1, keepdims=True), n.shape)
    each = np.arange(d)
    scale[..., each, each] += worth * variance
    return Spread(n, after, prior_mean + (n / after)[..., None] * away, scale, d + 1 + worth + seen)


def less(n: Array, mean: Array, scatter: Array, z: Array, w: Array) -> tuple[Array, Array, Array]:
    """n, mean and scatter (a matrix, or variances) without a row each."""
    rest = n - w
    empty = rest <= ALONE * n
    rest = np.where(empty, 1.0, rest)
    away = z - mean
    product = away[:, :, None] * away[:, None, :] if scatter.ndim == 3 else away**2
    factor = (w * n / rest).reshape(-1, *(1,) * (product.ndim - 1))
    left = scatter - factor * product
    gone = empty.reshape(-1, *(1,) * (product.ndim - 1))
    place = np.where(empty[:, None], 0.0, mean - (w / rest)[:, None] * away)
    return np.where(empty, 0.0, rest), place, np.where(gone, 0.0, left)


def most_likely(n: Array, mean: Array, scatter: Array, tied: bool) -> Gaussians:
    if tied:
        scatter = np.broadcast_to(scatter.sum(-3, keepdims=True), scatter.shape)
        n = np.broadcast_to(n.sum(-1, keepdims=True), n.shape)
    covariance = scatter / np.where(n > 0, n, 1.0)[..., None, None]
    covariance = np.where((n > 0)[..., None, None], covariance, np.eye(scatter.shape[-1]))  # of a class without rows
    size = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    size = np.where(size > 0, size, np.inf)  # in units of their deviations: whatever the columns' units are
    if not (np.linalg.eigvalsh(covariance / size[..., :, None] / size[..., None, :])[..., 0] > 1e-13).all():
        raise EvidenceError(
            "maximum likelihood gives one of the classes a singular covariance (too few rows, or columns that repeat "
            "each other): use estimate='bayes', whose prior has no such trouble"
        )
    return Gaussians(mean, covariance)


def squared_distances(z: Array, mean: Array, white: Array, shared: bool) -> Array:
    """|W (z - μ)|² of each class. (rows, classes)"""
    if shared:
        flat = z @ white[0].T
        centres = np.einsum("kd,ed->ke", mean, white[0])
        return np.stack([((flat - centre) ** 2).sum(1) for centre in centres], axis=1)
    found = np.empty((len(z), len(mean)))
    away, flat = np.empty((2, min(TILE, len(z)), z.shape[1]))
    for start in range(0, len(z), TILE):
        rows = z[start : start + TILE]
        for k in range(len(mean)):
            away_k = np.subtract(rows, mean[k], out=away[: len(rows)])
            flat_k = np.matmul(away_k, white[k].T, out=flat[: len(rows)])
            np.einsum("ij,ij->i", flat_k, flat_k, out=found[start : start + len(rows), k])
    return found


def mahalanobis(away: Array, matrix: Array) -> tuple[Array, Array]:
    root = np.linalg.cholesky(matrix)
    flat = np.linalg.solve(root, away[..., None])[..., 0]
    return (flat**2).sum(-1), 2 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(-1)


def log_density(squared: Array, log_determinant: Array, degrees: Array, d: Any) -> Array:
    """Of a multivariate t, or of a normal where degrees are endless: -½ log|Σ| is part of both."""
    from scipy.special import gammaln

    if np.isinf(degrees).any():
        return np.asarray(-0.5 * (squared + log_determinant + d * np.log(2 * np.pi)))
    peak = gammaln((degrees + d) / 2) - gammaln(degrees / 2) - d / 2 * np.log(np.pi * degrees) - log_determinant / 2
    return np.asarray(peak - (degrees + d) / 2 * np.log1p(squared / degrees))


def log_densities(z: Array, mean: Array, white: Array, degrees: Array) -> list[Array]:
    """log p(zⱼ | those before it, class), one column after another: they sum to the log-density. (rows, classes) each

    White is lower triangular: the first m entries of W(z - μ) are those of the first m columns alone.
    """
    flat = np.einsum("kij,nkj->nki", white, z[:, None] - mean)
    squared = np.cumsum(flat**2, axis=2)
    log_determinant = -2 * np.cumsum(np.log(np.diagonal(white, axis1=1, axis2=2)), axis=1)
    upto = [log_density(squared[:, :, m], log_determinant[:, m], degrees, m + 1) for m in range(z.shape[1])]
    before = [np.zeros(squared.shape[:2]), *upto]  # none of the columns, the first, the first two, ...
    return [after - each for each, after in zip(before, upto, strict=False)]
