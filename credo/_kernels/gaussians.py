"""Log-likelihoods of independent numbers under each class, in tiles of rows that lie column by column.

Rows are the inner loops, so that they run in vector registers with nothing reordered: the same bits as plain Python.
Every number is taken relative to a shift near its column's mean: means of 10⁹ keep all their digits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import late_kernel, late_kernel_of

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]

TILE = 64  # rows
ALONE = 1e-12  # of a class's weight: what is left of it when its only row goes


@late_kernel
def count_beyond(x: Array, limit: float) -> int:
    """How many cells lie beyond ±limit; NaN doesn't."""
    found = 0
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns):
            found += abs(x[i, j]) > limit
    return found


@late_kernel_of(lambda x, *rest: x.size * len(rest[1]))
def add_normals(x: Array, shift: Array, centre: Array, half: Array, constant: Array, out: Array) -> None:
    """out (rows, classes) += Σⱼ constantₖⱼ - halfₖⱼ (xᵢⱼ - shiftⱼ - centreₖⱼ)², over the cells that aren't NaN."""
    rows, columns = x.shape
    classes = centre.shape[0]
    tile = np.zeros((columns, TILE))
    total = np.empty(TILE)
    for start in range(0, rows, TILE):
        size = min(TILE, rows - start)
        for r in range(size):
            for j in range(columns):
                tile[j, r] = x[start + r, j] - shift[j]
        for k in range(classes):
            total[:] = 0.0
            for j in range(columns):
                m, h, c = centre[k, j], half[k, j], constant[k, j]
                for r in range(TILE):
                    v = tile[j, r] - m
                    t = c - h * v * v
                    total[r] += t if t == t else 0.0
            for r in range(size):
                out[start + r, k] += total[r]


@late_kernel_of(lambda x, *rest: x.size * len(rest[1]))
def add_students(
    x: Array, shift: Array, centre: Array, inverse: Array, power: Array, constant: Array, ends: Flags, out: Array
) -> None:
    """out (rows, classes) += Σⱼ constantₖⱼ - powerₖⱼ log(1 + inverseₖⱼ (xᵢⱼ - shiftⱼ - centreₖⱼ)²).

    Columns up to the next end have the same power: one logarithm of their product does for all of them.
    """
    rows, columns = x.shape
    classes = centre.shape[0]
    tile = np.zeros((columns, TILE))
    total, product = np.empty(TILE), np.empty(TILE)
    for start in range(0, rows, TILE):
        size = min(TILE, rows - start)
        whole = True
        for r in range(size):
            for j in range(columns):
                v = x[start + r, j] - shift[j]
                tile[j, r] = v
                whole &= v == v
        for k in range(classes):
            peak, first = 0.0, 0
            total[:] = 0.0
            product[:] = 1.0
            for j in range(columns):
                m, p, c = centre[k, j], inverse[k, j], constant[k, j]
                if whole:
                    peak += c
                    for r in range(TILE):
                        v = tile[j, r] - m
                        product[r] *= 1.0 + p * v * v
                else:
                    for r in range(TILE):
                        v = tile[j, r] - m
                        q = 1.0 + p * v * v
                        product[r] *= q if q == q else 1.0
                        total[r] += c if q == q else 0.0
                if ends[j]:
                    e = power[k, j]
                    for r in range(size):
                        if product[r] < math.inf:
                            total[r] -= e * math.log(product[r])
                            continue
                        for i in range(first, j + 1):  # too far out for a product
                            v = abs(tile[i, r] - centre[k, i])
                            q = 1.0 + inverse[k, i] * v * v
                            if q == math.inf:
                                total[r] -= e * (math.log(inverse[k, i]) + 2.0 * math.log(v))
                            elif q == q:
                                total[r] -= e * math.log(q)
                    product[:] = 1.0
                    first = j + 1
            for r in range(size):
                out[start + r, k] += peak + total[r]


@late_kernel
def leave_out_of_prior(
    x: Array,
    shift: Array,
    n: Array,
    mean: Array,
    scatter: Array,
    strength: float,
    out: Array,
    unsure: Flags,
) -> None:
    """out (3, columns, rows) = each number about the shift, and the prior's mean and spread (s times its variance)
    without that row, of weight 1. NaN where it is missing or the others say nothing; unsure: where digits were lost.
    """
    rows, columns = x.shape
    lost = np.zeros(TILE, dtype=np.bool_)
    for start in range(0, rows, TILE):
        length = min(TILE, rows - start)
        lost[:] = False
        for j in range(columns):
            all_n, all_mean, all_scatter, about = n[j], mean[j], scatter[j], shift[j]
            share = 1.0 / (all_n - 1.0)  # of a row of weight 1: others are unsure anyway
            speaks = (all_n > 1.0) & (all_scatter > 0.0)
            for r in range(length):
                z = x[start + r, j] - about
                away = z - all_mean
                left = all_scatter - share * all_n * away * away
                gone = left < 1e-5 * all_scatter
                lost[r] |= gone
                out[0, j, start + r] = z if speaks & (not gone) else np.nan
                out[1, j, start + r] = all_mean - share * away
                out[2, j, start + r] = strength * share * left
        for r in range(length):
            unsure[start + r] |= lost[r]


@late_kernel_of(lambda cells, *rest: cells.size * len(rest[0]))
def add_others_left_out(
    cells: Array,
    mean: Array,
    size: Array,
    pull: Array,
    factors: Array,
    ends: Flags,
    student: bool,
    out: Array,
    unsure: Flags,
) -> None:
    """out (rows, classes) += log p(rowᵢ | class k) for classes that the row isn't in: only the prior has lost it.

    size (3, classes, columns): what a posterior's spread is, over that with all rows: Σ(x - x̄)² + the prior's + what
    pulls the mean to the prior's. factors (3, classes, columns): of squared distances, of their logarithms, constants.
    """
    columns, rows = cells.shape[1:]
    classes = len(mean)
    z, place, prior = cells[0], cells[1], cells[2]
    total, near, spread = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for start in range(0, rows, TILE):
        length = min(TILE, rows - start)
        whole = True
        for j in range(columns):
            for r in range(length):
                whole &= z[j, start + r] == z[j, start + r]
        for k in range(classes):
            constant = 0.0
            total[:] = 0.0
            near[:] = 1.0
            spread[:] = 1.0
            for j in range(columns):
                m, p, g, c = mean[k, j], pull[k, j], factors[0, k, j], factors[2, k, j]
                own, worth, pulled = size[0, k, j], size[1, k, j], size[2, k, j]
                if student and whole:
                    for r in range(length):
                        d = place[j, start + r] - m
                        v = z[j, start + r] - m - p * d
                        b = own + worth * prior[j, start + r] + pulled * d * d
                        near[r] *= b + g * v * v
                        spread[r] *= b
                    constant += c
                elif student:
                    for r in range(length):
                        d = place[j, start + r] - m
                        v = z[j, start + r] - m - p * d
                        b = own + worth * prior[j, start + r] + pulled * d * d
                        q = b + g * v * v
                        known = q == q
                        near[r] *= q if known else 1.0
                        spread[r] *= b if known else 1.0
                        total[r] += c if known else 0.0
                else:
                    for r in range(length):
                        d = place[j, start + r] - m
                        v = z[j, start + r] - m - p * d
                        b = own + worth * prior[j, start + r] + pulled * d * d
                        t = c - g * v * v / b
                        known = t == t
                        total[r] += t if known else 0.0
                        spread[r] *= b if known else 1.0
                if ends[j]:
                    e = factors[1, k, j]
                    for r in range(length):
                        log_spread = math.log(spread[r])
                        total[r] -= 0.5 * log_spread
                        if student and near[r] < math.inf:
                            total[r] -= e * (math.log(near[r]) - log_spread)
                        elif student:
                            unsure[start + r] = True  # too far out for a product
                    near[:] = 1.0
                    spread[:] = 1.0
            for r in range(length):
                out[start + r, k] += constant + total[r]


@late_kernel
def set_own_left_out(
    cells: Array, own: Codes, tables: Array, inverse: Array, ends: Flags, student: bool, out: Array, unsure: Flags
) -> None:
    """out (rows,) = log p(rowᵢ | its class without it), of rows of weight 1.

    tables (classes, columns, 9): the mean, 1/(n - 1), n/(n - 1), Σ(x - x̄)², then without the row the pull of the
    prior, the pull times n, factors of squared distances and of their logarithms, and a constant. inverse (columns):
    of the unit that spreads are measured in.
    """
    columns, rows = cells.shape[1:]
    total, near, spread = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for start in range(0, rows, TILE):
        length = min(TILE, rows - start)
        total[:] = 0.0
        near[:] = 1.0
        spread[:] = 1.0
        for j in range(columns):
            unit = inverse[j]
            for r in range(length):
                i = start + r
                z = cells[0, j, i]
                if z == z:
                    t = tables[own[i], j]
                    away = z - t[0]
                    m = t[0] - away * t[1]
                    d = cells[1, j, i] - m
                    b = cells[2, j, i] + max(t[3] - away * away * t[2], 0.0) + t[5] * d * d
                    unsure[i] |= t[3] > 1e5 * b
                    v = z - m - t[4] * d
                    q = t[6] * v * v / b
                    near[r] *= 1.0 + q
                    spread[r] *= b * unit
                    total[r] += t[8] if student else t[8] - q
            if ends[j]:
                for r in range(length):
                    total[r] -= 0.5 * math.log(spread[r])
                    if student and near[r] < math.inf:
                        total[r] -= tables[own[start + r], j, 7] * math.log(near[r])
                    unsure[start + r] |= near[r] == math.inf
                near[:] = 1.0
                spread[:] = 1.0
        for r in range(length):
            out[start + r] = total[r]
