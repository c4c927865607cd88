"""Grouped sums under soft membership about a pivot for each group, in plain floats: about a mean, nothing cancels.

Tiles of rows are transposed in the processor's cache, so that sums run in vector registers. A tile's columns are padded
by a few floats, since columns at a distance of a power of two share cache lines.
"""

from __future__ import annotations

import numpy as np

from credo._kernels.arrays import Array
from credo._kernels.jit import fast_kernel

SOFT_TILE = 128  # rows of a tile
TILE_PADDING = 8  # floats between a tile's columns


@fast_kernel
def add_moments_soft(x: Array, weights: Array, pivot: Array, n: Array, first: Array, second: Array) -> None:
    """n, first, second (groups, columns) += Σᵢ wᵢₖ (1, zᵢⱼ, zᵢⱼ²), z = x - pivotₖⱼ, over the cells that aren't NaN."""
    rows, columns = x.shape
    groups = weights.shape[1]
    cells, shares = np.zeros((columns, SOFT_TILE + TILE_PADDING)), np.zeros((groups, SOFT_TILE + TILE_PADDING))
    for start in range(0, rows, SOFT_TILE):
        size = min(SOFT_TILE, rows - start)
        whole = True
        for r in range(size):
            for j in range(columns):
                v = x[start + r, j]
                cells[j, r] = v
                whole &= v == v
            for k in range(groups):
                shares[k, r] = weights[start + r, k]
        for r in range(size, SOFT_TILE):
            for k in range(groups):
                shares[k, r] = 0.0
        for k in range(groups):
            total = 0.0
            for r in range(SOFT_TILE):
                total += shares[k, r]
            for j in range(columns):
                p, known, once, twice = pivot[k, j], total, 0.0, 0.0
                if whole:
                    for r in range(SOFT_TILE):
                        z = cells[j, r] - p
                        v = shares[k, r] * z
                        once += v
                        twice += v * z
                else:
                    known = 0.0
                    for r in range(SOFT_TILE):
                        z = cells[j, r] - p
                        w = shares[k, r] if z == z else 0.0
                        z = z if z == z else 0.0
                        v = w * z
                        known += w
                        once += v
                        twice += v * z
                n[k, j] += known
                first[k, j] += once
                second[k, j] += twice


@fast_kernel
def add_tile_products(shares: Array, away: Array, weighted: Array, first: Array, second: Array) -> float:
    """first (d,), second (d, d + 3) += Σᵣ sᵣ (zᵣ, zᵣzᵣ′) of a tile's rows, z = away[:, r]; and Σᵣ sᵣ. Only the
    lower triangle of the products is valid: four of a row are summed at a time, some beyond it."""
    rows = 0.0
    for r in range(SOFT_TILE):
        rows += shares[r]
    for j in range(len(first)):
        total = 0.0
        for r in range(SOFT_TILE):
            v = shares[r] * away[j, r]
            weighted[r] = v
            total += v
        first[j] += total
        for m in range(0, j + 1, 4):
            a = b = c = e = 0.0
            for r in range(SOFT_TILE):
                v = weighted[r]
                a += v * away[m, r]
                b += v * away[m + 1, r]
                c += v * away[m + 2, r]
                e += v * away[m + 3, r]
            second[j, m] += a
            second[j, m + 1] += b
            second[j, m + 2] += c
            second[j, m + 3] += e
    return rows


@fast_kernel
def add_products_soft(x: Array, weights: Array, pivot: Array, n: Array, first: Array, second: Array) -> None:
    """n (groups,), first (groups, d), second (groups, d, d + 3) += Σᵢ wᵢₖ (1, zᵢ, zᵢzᵢ′), z = x - pivotₖ. The lower
    triangle of the products is valid."""
    rows, d = x.shape
    groups = weights.shape[1]
    cells, away = np.zeros((d, SOFT_TILE + TILE_PADDING)), np.zeros((d + 3, SOFT_TILE + TILE_PADDING))
    shares, weighted = np.zeros((groups, SOFT_TILE + TILE_PADDING)), np.zeros(SOFT_TILE)
    for start in range(0, rows, SOFT_TILE):
        size = min(SOFT_TILE, rows - start)
        for r in range(size):
            for j in range(d):
                cells[j, r] = x[start + r, j]
            for k in range(groups):
                shares[k, r] = weights[start + r, k]
        for r in range(size, SOFT_TILE):
            for k in range(groups):
                shares[k, r] = 0.0
        for k in range(groups):
            for j in range(d):
                p = pivot[k, j]
                for r in range(SOFT_TILE):
                    away[j, r] = cells[j, r] - p
            n[k] += add_tile_products(shares[k], away, weighted, first[k], second[k])
