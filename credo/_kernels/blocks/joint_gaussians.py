"""Gaussians of many groups over rows with missing cells: log-densities, and expected products.

The most probable values u of missing cells m given the known cells k solve Pₘₘ uₘ = -Pₘₖ uₖ, where P is the inverse of
the covariance. With these, the squared distance u′Pu is that of the known cells alone, the log-determinant of their
covariance is log|Σ| + log|Pₘₘ|, and Pₘₘ⁻¹ is the residual covariance. So rows are completed for each group, and then
treated as complete.

Rows with the same missing cells are adjacent. Tiles are transposed in the processor's cache; their columns are padded,
since columns at a distance of a power of two share cache lines.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array
from credo._kernels.core.soft_sums import SOFT_TILE, TILE_PADDING, add_tile_products
from credo._kernels.jit import fast_kernel

Positions = NDArray[np.int64]

LOG_2PI = math.log(2 * math.pi)


@fast_kernel
def turn_tile(x: Array, order: Positions, start: int, size: int, shift: Array, cells: Array) -> None:
    """cells (d, tile) = the rows order[start], order[start + 1], ... minus the shift."""
    for r in range(size):
        i = order[start + r]
        for j in range(len(shift)):
            cells[j, r] = x[i, j] - shift[j]


@fast_kernel
def find_runs(
    cells: Array, size: int, ends: Positions, place: int, start: int, runs: Positions, absent: Positions
) -> int:
    """runs (runs, 2) = the end of each run of rows with the same missing cells in a tile, and the number of these
    cells; absent (runs, d) = the cells. The result is the number of runs. ends: of the runs of all rows; place: the run
    of the tile's first row; start: its position"""
    count, begin = 0, 0
    while begin < size:
        end = min(size, ends[place + count] - start)
        missing = 0
        for j in range(cells.shape[0]):
            if cells[j, begin] != cells[j, begin]:
                absent[count, missing] = j
                missing += 1
        runs[count, 0] = end
        runs[count, 1] = missing
        begin = end
        count += 1
    return count


@fast_kernel
def fill_missing(away: Array, begin: int, end: int, absent: Positions, m: int, precision: Array, root: Array) -> float:
    """Fill in the most probable values of m missing cells in rows begin to end of a tile (d, tile) of distances from a
    mean.

    root = the Cholesky factor of Pₘₘ; the result is its log-determinant.
    """
    size = 0.0
    for a in range(m):
        for b in range(a + 1):
            v = precision[absent[a], absent[b]]
            for c in range(b):
                v -= root[a, c] * root[b, c]
            root[a, b] = math.sqrt(v) if a == b else v / root[b, b]
        size += 2.0 * math.log(root[a, a])
        for r in range(begin, end):
            away[absent[a], r] = 0.0
    for a in range(m):
        row = absent[a]
        n = 0
        for j in range(precision.shape[0]):
            if n < m and absent[n] == j:
                n += 1
                continue
            p = precision[row, j]
            for r in range(begin, end):
                away[row, r] -= p * away[j, r]
        for b in range(a):
            p = root[a, b]
            for r in range(begin, end):
                away[row, r] -= p * away[absent[b], r]
        p = 1.0 / root[a, a]
        for r in range(begin, end):
            away[row, r] *= p
    for a in range(m - 1, -1, -1):
        row = absent[a]
        for b in range(a + 1, m):
            p = root[b, a]
            for r in range(begin, end):
                away[row, r] -= p * away[absent[b], r]
        p = 1.0 / root[a, a]
        for r in range(begin, end):
            away[row, r] *= p
    return size


@fast_kernel
def add_joint_normals(
    x: Array,
    order: Positions,
    ends: Positions,
    shift: Array,
    mean: Array,
    white: Array,
    precision: Array,
    log_determinant: Array,
    weight: float,
    out: Array,
) -> None:
    """out (rows, groups) += weight · log N(xᵢ - shift; meanₖ, Σₖ) over the cells that aren't NaN.

    white (groups, d, d + 3): W with W′W = Σ⁻¹, lower triangular; precision: Σ⁻¹; ends: of each run of rows with the
    same missing cells
    """
    rows, d = len(order), len(shift)
    groups = len(mean)
    cells, away = np.zeros((d, SOFT_TILE + TILE_PADDING)), np.zeros((d + 3, SOFT_TILE + TILE_PADDING))
    total, flat, root = np.zeros((groups, SOFT_TILE + TILE_PADDING)), np.zeros(SOFT_TILE), np.zeros((d, d))
    runs, absent = np.zeros((SOFT_TILE, 2), dtype=np.int64), np.zeros((SOFT_TILE, d), dtype=np.int64)
    place = 0
    for start in range(0, rows, SOFT_TILE):
        size = min(SOFT_TILE, rows - start)
        turn_tile(x, order, start, size, shift, cells)
        while ends[place] <= start:
            place += 1
        count = find_runs(cells, size, ends, place, start, runs, absent)
        for k in range(groups):
            for j in range(d):
                m = mean[k, j]
                for r in range(SOFT_TILE):
                    away[j, r] = cells[j, r] - m
            begin = 0
            for s in range(count):
                end, missing = runs[s, 0], runs[s, 1]
                constant = log_determinant[k] + (d - missing) * LOG_2PI
                if missing:
                    constant += fill_missing(away, begin, end, absent[s], missing, precision[k], root)
                    constant = constant if missing < d else 0.0
                for r in range(begin, end):
                    total[k, r] = constant
                begin = end
            for j in range(d):
                a, b, c, e = white[k, j, 0], white[k, j, 1], white[k, j, 2], white[k, j, 3]
                for r in range(SOFT_TILE):
                    flat[r] = (a * away[0, r] + b * away[1, r]) + (c * away[2, r] + e * away[3, r])
                for i in range(4, j + 1, 4):
                    a, b, c, e = white[k, j, i], white[k, j, i + 1], white[k, j, i + 2], white[k, j, i + 3]
                    for r in range(SOFT_TILE):
                        flat[r] += (a * away[i, r] + b * away[i + 1, r]) + (c * away[i + 2, r] + e * away[i + 3, r])
                for r in range(SOFT_TILE):
                    total[k, r] += flat[r] * flat[r]
        half = -0.5 * weight
        for r in range(size):
            i = order[start + r]
            for k in range(groups):
                out[i, k] += half * total[k, r]


@fast_kernel
def add_expected_products(
    x: Array,
    order: Positions,
    ends: Positions,
    shift: Array,
    mean: Array,
    precision: Array,
    weights: Array,
    n: Array,
    first: Array,
    second: Array,
) -> None:
    """n (groups,), first (groups, d), second (groups, d, d + 3) += Σᵢ wᵢₖ E[(1, u, uu′)], u = xᵢ - shift - meanₖ, given
    the cells that aren't NaN. The lower triangle of the products is valid."""
    rows, d = len(order), len(shift)
    groups = len(mean)
    cells, away = np.zeros((d, SOFT_TILE + TILE_PADDING)), np.zeros((d + 3, SOFT_TILE + TILE_PADDING))
    shares, weighted = np.zeros((groups, SOFT_TILE + TILE_PADDING)), np.zeros(SOFT_TILE)
    root, left = np.zeros((d, d)), np.zeros(d)
    runs, absent = np.zeros((SOFT_TILE, 2), dtype=np.int64), np.zeros((SOFT_TILE, d), dtype=np.int64)
    place = 0
    for start in range(0, rows, SOFT_TILE):
        size = min(SOFT_TILE, rows - start)
        turn_tile(x, order, start, size, shift, cells)
        while ends[place] <= start:
            place += 1
        count = find_runs(cells, size, ends, place, start, runs, absent)
        for r in range(size):
            i = order[start + r]
            for k in range(groups):
                shares[k, r] = weights[i, k]
        for r in range(size, SOFT_TILE):
            for j in range(d):
                cells[j, r] = 0.0
            for k in range(groups):
                shares[k, r] = 0.0
        for k in range(groups):
            for j in range(d):
                m = mean[k, j]
                for r in range(SOFT_TILE):
                    away[j, r] = cells[j, r] - m
            begin = 0
            for s in range(count):
                end, missing = runs[s, 0], runs[s, 1]
                if missing:
                    fill_missing(away, begin, end, absent[s], missing, precision[k], root)
                    total = 0.0
                    for r in range(begin, end):
                        total += shares[k, r]
                    add_inverse(root, missing, absent[s], total, left, second[k])
                begin = end
            n[k] += add_tile_products(shares[k], away, weighted, first[k], second[k])


@fast_kernel
def add_inverse(root: Array, m: int, absent: Positions, factor: float, left: Array, out: Array) -> None:
    """out at the absent cells += factor (R R′)⁻¹, the lower triangle, with R (m, m) triangular; left (m,) is
    scratch."""
    for column in range(m):
        for a in range(m):
            v = 1.0 if a == column else 0.0
            for b in range(a):
                v -= root[a, b] * left[b]
            left[a] = v / root[a, a]
        for a in range(m - 1, -1, -1):
            v = left[a]
            for b in range(a + 1, m):
                v -= root[b, a] * left[b]
            left[a] = v / root[a, a]
        for a in range(column, m):
            out[absent[a], absent[column]] += factor * left[a]
