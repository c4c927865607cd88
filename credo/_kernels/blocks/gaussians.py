"""Log-likelihoods of independent numbers under each class, in column-major tiles of rows.

Inner loops run over rows, so that they vectorise without reordering, with the same bits as plain Python. Every number
is relative to a shift near its column's mean, so that large means lose no digits.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.arrays import Array, Codes, Flags
from credo._kernels.jit import late_kernel, late_kernel_of

SCORED_TILE = 64  # rows of a tile
LEFT_OUT_TILE, LEFT_OUT_PADDING = 128, 8  # rows, and floats between a tile's columns, which would share cache lines


@late_kernel
def count_beyond(x: Array, limit: float) -> int:
    """The number of cells beyond ±limit, NaN excluded."""
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
    tile, total = (
        np.zeros((columns, LEFT_OUT_TILE + LEFT_OUT_PADDING)),
        np.zeros((classes, LEFT_OUT_TILE + LEFT_OUT_PADDING)),
    )
    for start in range(0, rows, LEFT_OUT_TILE):
        size = min(LEFT_OUT_TILE, rows - start)
        whole = True
        for r in range(size):
            for j in range(columns):
                v = x[start + r, j] - shift[j]
                tile[j, r] = v
                whole &= v == v
        for k in range(classes):
            peak, fours = 0.0, 0
            if whole:
                fours = columns // 4 * 4
                for j in range(columns):
                    peak += constant[k, j]
            for r in range(LEFT_OUT_TILE):
                total[k, r] = peak
            for j in range(0, fours, 4):  # four at a time: a quarter of the stores
                m, n, o, p = centre[k, j], centre[k, j + 1], centre[k, j + 2], centre[k, j + 3]
                e, f, g, h = half[k, j], half[k, j + 1], half[k, j + 2], half[k, j + 3]
                for r in range(LEFT_OUT_TILE):
                    s, t = tile[j, r] - m, tile[j + 1, r] - n
                    u, v = tile[j + 2, r] - o, tile[j + 3, r] - p
                    total[k, r] -= (e * s * s + f * t * t) + (g * u * u + h * v * v)
            for j in range(fours, columns):
                m, h, c = centre[k, j], half[k, j], constant[k, j]
                if whole:
                    for r in range(LEFT_OUT_TILE):
                        v = tile[j, r] - m
                        total[k, r] -= h * v * v
                else:
                    for r in range(LEFT_OUT_TILE):
                        v = tile[j, r] - m
                        t = c - h * v * v
                        total[k, r] += t if t == t else 0.0
        for k in range(classes):
            for r in range(size):
                out[start + r, k] += total[k, r]


@late_kernel_of(lambda x, *rest: 1.5 * x.size * len(rest[1]))
def add_students(
    x: Array, shift: Array, centre: Array, inverse: Array, power: Array, constant: Array, ends: Flags, out: Array
) -> None:
    """out (rows, classes) += Σⱼ constantₖⱼ - powerₖⱼ log(1 + inverseₖⱼ (xᵢⱼ - shiftⱼ - centreₖⱼ)²).

    Columns up to the next end have the same power and share one logarithm, that of their product.
    """
    rows, columns = x.shape
    classes = centre.shape[0]
    tile = np.zeros((columns, SCORED_TILE))
    total, product = np.empty(SCORED_TILE), np.empty(SCORED_TILE)
    for start in range(0, rows, SCORED_TILE):
        size = min(SCORED_TILE, rows - start)
        whole = True
        for r in range(size):
            for j in range(columns):
                v = x[start + r, j] - shift[j]
                tile[j, r] = v
                whole &= v == v
        for k in range(classes):
            peak, first = 0.0, 0
            for r in range(SCORED_TILE):
                total[r], product[r] = 0.0, 1.0
            for j in range(columns):
                m, p, c = centre[k, j], inverse[k, j], constant[k, j]
                if whole:
                    peak += c
                    for r in range(SCORED_TILE):
                        v = tile[j, r] - m
                        product[r] *= 1.0 + p * v * v
                else:
                    for r in range(SCORED_TILE):
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
                        for i in range(first, j + 1):  # too large for a product
                            v = abs(tile[i, r] - centre[k, i])
                            q = 1.0 + inverse[k, i] * v * v
                            if q == math.inf:
                                total[r] -= e * (math.log(inverse[k, i]) + 2.0 * math.log(v))
                            elif q == q:
                                total[r] -= e * math.log(q)
                    for r in range(SCORED_TILE):
                        product[r] = 1.0
                    first = j + 1
            for r in range(size):
                out[start + r, k] += peak + total[r]


@late_kernel_of(lambda x, *rest: 5 * x.size * len(rest[3]))
def add_left_out(
    x: Array,
    shift: Array,
    limit: Array,
    own: Codes,
    mean: Array,
    others: Array,
    mine: Array,
    ends: Flags,
    student: bool,
    out: Array,
    unsure: Flags,
) -> None:
    """out (rows, classes) += log p(rowᵢ | class), with row i of weight 1 left out of its class and of the priors.

    At a distance u from a class's mean, the posterior's spread without the row is b₀ + b₁u + b₂u², and the remaining
    distance is a₀ + a₁u, both in units of the spread. others, mine (classes, columns, 7): b₀, b₁, b₂, a₀, a₁, a power
    and a constant, for other classes and for the row's class. unsure = rows that lost digits, such as those with a
    square above its column's limit.
    """
    rows, columns = x.shape
    classes = len(mean)
    tile = np.zeros((columns, SCORED_TILE))
    total, near, spread = np.empty(SCORED_TILE), np.empty(SCORED_TILE), np.empty(SCORED_TILE)
    lost = np.zeros(SCORED_TILE, dtype=np.bool_)
    for start in range(0, rows, SCORED_TILE):
        size = min(SCORED_TILE, rows - start)
        whole = True
        for r in range(size):
            for j in range(columns):
                z = x[start + r, j] - shift[j]
                tile[j, r] = z
                whole &= z == z
        for r in range(SCORED_TILE):
            lost[r] = False
        for j in range(columns):
            most = limit[j]
            for r in range(SCORED_TILE):
                lost[r] |= tile[j, r] * tile[j, r] > most
        for r in range(size):
            unsure[start + r] |= lost[r]
        for k in range(classes):
            peak = 0.0
            for r in range(SCORED_TILE):
                total[r], near[r], spread[r] = 0.0, 1.0, 1.0
            for j in range(columns):
                m, b0, b1, b2 = mean[k, j], others[k, j, 0], others[k, j, 1], others[k, j, 2]
                a0, a1, c = others[k, j, 3], others[k, j, 4], others[k, j, 6]
                if student and whole:
                    peak += c
                    for r in range(SCORED_TILE):
                        u = tile[j, r] - m
                        b = b0 + u * (b1 + u * b2)
                        a = a0 + a1 * u
                        spread[r] *= b
                        near[r] *= b + a * a
                else:
                    for r in range(SCORED_TILE):
                        u = tile[j, r] - m
                        b = b0 + u * (b1 + u * b2)
                        a = a0 + a1 * u
                        known = b == b
                        spread[r] *= b if known else 1.0
                        near[r] *= b + a * a if known & student else 1.0
                        total[r] += (c if student else c - a * a / b) if known else 0.0
                if ends[j]:
                    e = others[k, j, 5]
                    for r in range(size):
                        if not 0.0 < spread[r] < math.inf or not 0.0 < near[r] < math.inf:
                            unsure[start + r] = True  # digits were lost, or it is too large for a product
                            continue
                        v = spread[r] - 1.0  # usually so small that its series is exact
                        small = abs(v) < 1e-3
                        log_spread = v * (1.0 - v * (0.5 - v * (1 / 3 - v * 0.25))) if small else math.log(spread[r])
                        total[r] -= 0.5 * log_spread
                        if student:
                            total[r] -= e * (math.log(near[r]) - log_spread)
                    for r in range(SCORED_TILE):
                        near[r], spread[r] = 1.0, 1.0
            for r in range(size):
                if own[start + r] != k:
                    out[start + r, k] += peak + total[r]
        for i in range(start, start + size):
            k = own[i]
            sum_, near_, spread_ = 0.0, 1.0, 1.0
            for j in range(columns):
                u = (x[i, j] - shift[j]) - mean[k, j]
                if u == u:
                    least = mine[k, j, 0]
                    b = least + u * (mine[k, j, 1] + u * mine[k, j, 2])
                    a = mine[k, j, 3] + mine[k, j, 4] * u
                    unsure[i] |= least > 1e5 * b  # b may be at most 0
                    spread_ *= b
                    near_ *= b + a * a
                    sum_ += mine[k, j, 6] if student or b <= 0.0 else mine[k, j, 6] - a * a / b
                if ends[j]:
                    if 0.0 < spread_ < math.inf and 0.0 < near_ < math.inf:
                        sum_ -= 0.5 * math.log(spread_)
                        if student:
                            sum_ -= mine[k, j, 5] * (math.log(near_) - math.log(spread_))
                    else:
                        unsure[i] = True
                    near_, spread_ = 1.0, 1.0
            out[i, k] += sum_
