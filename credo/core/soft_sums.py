"""Sums under soft membership: n, Σ wz and Σ wz² or Σ wzz′ about a pivot near each group's mean.

Expected statistics are never forgotten, so plain floats suffice: about the mean they lose no digits. Evidence has the
sums about 0, in pairs of floats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo.numerics.exact import Array

PIVOT_ROWS = 1024  # evenly spaced rows from which the groups' means are estimated
FEW_SOFT_SUMS = 2**18  # rows x groups x columns, below which NumPy is faster than loading Numba
NO_WEIGHT = 1e-290  # a group with a smaller weight has no rows


class CentredSums(NamedTuple):
    """Sums about a pivot for each group and column."""

    n: Array  # (groups, columns), or (groups,) for products
    first: Array  # (groups, columns)
    second: Array  # (groups, columns), or (groups, columns, columns)
    pivot: Array  # (groups, columns)


def moments(x: Array, weights: Array) -> CentredSums:
    """n, Σ wz and Σ wz² of each column, over the cells that aren't NaN."""
    pivot = _pivot(x, weights)
    if x.size * weights.shape[1] < FEW_SOFT_SUMS:
        known = ~np.isnan(x)
        z = np.where(known[:, None], x[:, None] - pivot, 0.0)  # (rows, groups, columns)
        once = weights[:, :, None] * z
        return CentredSums(weights.T @ known, once.sum(0), (once * z).sum(0), pivot)
    from credo._kernels.core.soft_sums import add_moments_soft

    n, first, second = np.zeros((3, *pivot.shape))
    add_moments_soft(np.ascontiguousarray(x), np.ascontiguousarray(weights), pivot, n, first, second)
    return CentredSums(n, first, second, pivot)


def products(x: Array, weights: Array) -> CentredSums:
    """n, Σ wz and Σ wzz′ of all columns; no cell is NaN."""
    pivot = _pivot(x, weights)
    groups, d = pivot.shape
    if x.size * groups < FEW_SOFT_SUMS:
        z = x - pivot[:, None]  # (groups, rows, columns)
        once = weights.T[:, :, None] * z
        return CentredSums(weights.sum(0), once.sum(1), once.swapaxes(1, 2) @ z, pivot)
    from credo._kernels.core.soft_sums import add_products_soft

    n, first, second = np.zeros(groups), np.zeros((groups, d)), np.zeros((groups, d, d + 3))
    add_products_soft(np.ascontiguousarray(x), np.ascontiguousarray(weights), pivot, n, first, second)
    return CentredSums(n, first, symmetric(second[:, :, :d]), pivot)


def symmetric(lower: Array) -> Array:
    """Symmetric matrices from their lower triangles."""
    lower = np.tril(lower)
    return np.asarray(lower + np.tril(lower, -1).swapaxes(-1, -2))


def _pivot(x: Array, weights: Array) -> Array:
    """The groups' means in a sample of rows; for a group without weight there, the sample's mean. (groups, columns)"""
    step = max(1, len(x) // PIVOT_ROWS)
    x, weights = x[::step], weights[::step]
    known = ~np.isnan(x)
    centre: Array = np.where(known, x, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    n, first = weights.T @ known, weights.T @ np.where(known, x - centre, 0.0)
    return np.asarray(centre + np.where(n > NO_WEIGHT, first / np.where(n > NO_WEIGHT, n, 1.0), 0.0))
