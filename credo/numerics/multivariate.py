"""Multivariate normal and Student's t densities of many groups at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.numerics.exact import Array
from credo.numerics.special import log_rising

CACHED_ROWS = 1024  # rows whose products stay in the processor's cache


def mahalanobis(away: Array, matrix: Array) -> tuple[Array, Array]:
    """v′Σ⁻¹v and log|Σ|.

    >>> squared, log_determinant = mahalanobis(np.array([2.0, 0.0]), np.array([[4.0, 0.0], [0.0, 1.0]]))
    >>> float(squared), round(float(log_determinant), 4)
    (1.0, 1.3863)
    """
    root = np.linalg.cholesky(matrix)
    flat = np.linalg.solve(root, away[..., None])[..., 0]
    return (flat**2).sum(-1), 2 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(-1)


def squared_distances(z: Array, mean: Array, white: Array, shared: bool) -> Array:
    """|W (z - μ)|² for each class. (rows, classes)"""
    if shared:
        flat = z @ white[0].T
        centres = np.einsum("kd,ed->ke", mean, white[0])
        return np.stack([((flat - centre) ** 2).sum(1) for centre in centres], axis=1)
    found = np.empty((len(z), len(mean)))
    away, flat = np.empty((2, min(CACHED_ROWS, len(z)), z.shape[1]))
    for start in range(0, len(z), CACHED_ROWS):
        rows = z[start : start + CACHED_ROWS]
        for k in range(len(mean)):
            away_k = np.subtract(rows, mean[k], out=away[: len(rows)])
            flat_k = np.matmul(away_k, white[k].T, out=flat[: len(rows)])
            np.einsum("ij,ij->i", flat_k, flat_k, out=found[start : start + len(rows), k])
    return found


def log_density(squared: Array, log_determinant: Array, degrees: Array, d: Any) -> Array:
    """log Γ((ν+d)/2)/Γ(ν/2) - ½ log|Σ| - d/2 log πν - (ν+d)/2 log(1 + v′Σ⁻¹v/ν); that of a normal for infinite ν."""
    if np.isinf(degrees).any():
        return np.asarray(-0.5 * (squared + log_determinant + d * np.log(2 * np.pi)))
    peak = log_rising(degrees / 2, d / 2) - d / 2 * np.log(np.pi * degrees) - log_determinant / 2
    return np.asarray(peak - (degrees + d) / 2 * np.log1p(squared / degrees))


def log_densities(z: Array, mean: Array, white: Array, degrees: Array) -> list[Array]:
    """log p(zⱼ | z₁ ... zⱼ₋₁, class) for each column: they sum to the log-density. (rows, classes) each

    W is lower triangular: the first m entries of W(z - μ) depend on the first m columns alone.
    """
    flat = np.einsum("kij,nkj->nki", white, z[:, None] - mean)
    squared = np.cumsum(flat**2, axis=2)
    log_determinant = -2 * np.cumsum(np.log(np.diagonal(white, axis1=1, axis2=2)), axis=1)
    upto = [log_density(squared[:, :, m], log_determinant[:, m], degrees, m + 1) for m in range(z.shape[1])]
    before = [np.zeros(squared.shape[:2]), *upto]  # for no column, the first, the first two, ...
    return [after - each for each, after in zip(before, upto, strict=False)]
