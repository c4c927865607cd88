"""Grouped sums in pairs of floats (see credo.numerics.exact): each row is added to the group of its code.

The error-free steps are written out, since in plain Python a call takes longer than the step. For s = u + v rounded,
u + v = s + error exactly, with error = (u - (s - (s - u))) + (v - (s - u)). With halves a + b = v of 26 bits each,
v·v = a² + 2ab + b² exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array, Integers
from credo._kernels.jit import late_kernel_of

Codes = NDArray[np.int32] | NDArray[np.int64]

EQUAL_SCATTER = 2.0**-98  # a scatter below this share of the sum of squares may be rounding: the numbers count as equal
RESIDUAL_WEIGHT = 1e-12  # of a row's or group's weight: a smaller remainder is what its only row left by rounding
SPLITTER = 2.0**27 + 1  # with c = SPLITTER · v, the upper half of v is c - (c - v)
PLAIN_ROWS = 64  # rows whose errors in plain sums can be summed exactly in one float
SCATTER_UNDERFLOW = 1e-290  # below this, a pair's second float would underflow: the numbers count as equal


@late_kernel_of(lambda x, *_: 2 * x.size)
def add_sums_hard(x: Array, codes: Codes, weight: Array, high: Array, low: Array) -> None:
    """high + low (groups, columns) += Σᵢ wᵢ xᵢⱼ; a negative code belongs to no group."""
    rows, columns = x.shape
    for i in range(rows):
        k = codes[i]
        if k < 0:
            continue
        w = weight[i]
        cut = SPLITTER * w
        w_high = cut - (cut - w)
        w_low = w - w_high
        for j in range(columns):
            v = x[i, j]
            cut = SPLITTER * v
            a = cut - (cut - v)
            b = v - a
            p = w * v
            error = ((a * w_high - p) + a * w_low + b * w_high) + b * w_low
            old = high[k, j]
            new = old + p
            step = new - old
            low[k, j] += ((old - (new - step)) + (p - step)) + error
            high[k, j] = new


@late_kernel_of(lambda _, weights, *__: weights.size)
def add_weights_soft(codes: Codes, weights: Array, out: Array) -> None:
    """Row codesᵢ of out (levels, groups) += row i of the weights (rows, groups); a negative code is a missing cell."""
    groups = weights.shape[1]
    for i in range(len(codes)):
        c = codes[i]
        if c >= 0:
            for k in range(groups):
                out[c, k] += weights[i, k]


@late_kernel_of(lambda x, *_: 4 * x.size)
def add_moments_hard(x: Array, codes: Codes, weight: Array, high: Array, low: Array, rest: Array) -> None:
    """high + low + rest (3, groups, columns) += Σᵢ wᵢ (1, xᵢⱼ, xᵢⱼ²) over the cells that aren't NaN.

    Sums have three floats: for equal numbers, the rounding errors of low have the same sign, and 60,000 times 0.1 would
    have a variance of 10⁻²⁶ in pairs.

    Rows of weight 1 take less time. They are first added to plain sums of their group: Σx, Σx², and the rounding errors
    of each, in one float. These errors are multiples of the last bit of the smallest x or x², so sums of a few are
    exact: they are moved to the three floats after every PLAIN_ROWS rows. The rounding error of an x² itself has other
    bits, and a pair of floats. With more groups than rows, clearing the plain sums would take longer.
    """
    rows, columns = x.shape
    groups = high.shape[1]
    few = groups if rows > groups else 0
    plain = np.zeros((few, 7, columns))  # missing cells; Σx, its errors; Σx², its errors; a pair of each x²'s error
    waiting, row = np.zeros(few, dtype=np.int64), np.zeros(columns)
    for i in range(rows):
        k = codes[i]
        if k < 0:
            continue
        w = weight[i]
        if w == 1.0 and few:
            whole = True
            for j in range(columns):
                v = x[i, j]
                row[j] = v
                whole &= v == v
            if not whole:
                for j in range(columns):
                    if row[j] != row[j]:
                        row[j] = 0.0
                        plain[k, 0, j] += 1.0
            for j in range(columns):
                v = row[j]
                old = plain[k, 1, j]
                new = old + v
                step = new - old
                plain[k, 2, j] += (old - (new - step)) + (v - step)
                plain[k, 1, j] = new

                cut = SPLITTER * v
                a = cut - (cut - v)
                b = v - a
                q = v * v
                old = plain[k, 3, j]
                new = old + q
                step = new - old
                plain[k, 4, j] += (old - (new - step)) + (q - step)
                plain[k, 3, j] = new
                square = ((a * a - q) + 2.0 * (a * b)) + b * b
                old = plain[k, 5, j]
                new = old + square
                step = new - old
                plain[k, 6, j] += (old - (new - step)) + (square - step)
                plain[k, 5, j] = new
            waiting[k] += 1
            if waiting[k] == PLAIN_ROWS:
                move_moments(k, plain, waiting, high, low, rest)
            continue
        cut = SPLITTER * w
        w_high = cut - (cut - w)
        w_low = w - w_high
        for j in range(columns):
            v = x[i, j]
            known = v == v
            v = v if known else 0.0
            u = w if known else 0.0

            old = high[0, k, j]
            new = old + u
            step = new - old
            error = (old - (new - step)) + (u - step)
            high[0, k, j] = new
            old = low[0, k, j]
            new = old + error
            step = new - old
            rest[0, k, j] += (old - (new - step)) + (error - step)
            low[0, k, j] = new

            cut = SPLITTER * v
            a = cut - (cut - v)
            b = v - a
            p = w * v
            product = ((a * w_high - p) + a * w_low + b * w_high) + b * w_low
            old = high[1, k, j]
            new = old + p
            step = new - old
            error = (old - (new - step)) + (p - step)
            high[1, k, j] = new
            old = low[1, k, j]
            new = old + error
            step = new - old
            rest[1, k, j] += (old - (new - step)) + (error - step)
            old = new
            new = old + product
            step = new - old
            rest[1, k, j] += (old - (new - step)) + (product - step)
            low[1, k, j] = new

            cut = SPLITTER * p
            c = cut - (cut - p)
            d = p - c
            q = p * v
            square = ((a * c - q) + a * d + b * c) + b * d + product * v
            old = high[2, k, j]
            new = old + q
            step = new - old
            error = (old - (new - step)) + (q - step)
            high[2, k, j] = new
            old = low[2, k, j]
            new = old + error
            step = new - old
            rest[2, k, j] += (old - (new - step)) + (error - step)
            old = new
            new = old + square
            step = new - old
            rest[2, k, j] += (old - (new - step)) + (square - step)
            low[2, k, j] = new
    for k in range(few):
        if waiting[k]:
            move_moments(k, plain, waiting, high, low, rest)


@late_kernel_of(lambda _, plain, *__: 6 * plain.shape[2])
def move_moments(k: int, plain: Array, waiting: Integers, high: Array, low: Array, rest: Array) -> None:
    """high + low + rest (3, groups, columns) += group k's plain sums (groups, 7, columns), which become 0."""
    for j in range(plain.shape[2]):
        for m in range(3):
            if m == 0:
                p, lost, more, least = waiting[k] - plain[k, 0, j], 0.0, 0.0, 0.0
            elif m == 1:
                p, lost, more, least = plain[k, 1, j], plain[k, 2, j], 0.0, 0.0
            else:
                p, lost, more, least = plain[k, 3, j], plain[k, 4, j], plain[k, 5, j], plain[k, 6, j]
            old = high[m, k, j]
            new = old + p
            step = new - old
            error = (old - (new - step)) + (p - step)
            high[m, k, j] = new
            old = low[m, k, j]
            new = old + error
            step = new - old
            rest[m, k, j] += (old - (new - step)) + (error - step)
            old = new
            new = old + lost
            step = new - old
            rest[m, k, j] += (old - (new - step)) + (lost - step)
            old = new
            new = old + more
            step = new - old
            rest[m, k, j] += (old - (new - step)) + (more - step)
            rest[m, k, j] += least
            low[m, k, j] = new
        for m in range(7):
            plain[k, m, j] = 0.0
    waiting[k] = 0


@late_kernel_of(lambda x, *_: 0.8 * x.size * (x.shape[1] + 1))
def add_products_hard(x: Array, codes: Codes, weight: Array, high: Array, low: Array) -> None:
    """high + low (groups, columns, columns) += Σᵢ wᵢ xᵢ xᵢ′, the lower triangle."""
    rows, columns = x.shape
    for i in range(rows):
        k = codes[i]
        if k < 0:
            continue
        w = weight[i]
        cut = SPLITTER * w
        w_high = cut - (cut - w)
        w_low = w - w_high
        for j in range(columns):
            u = x[i, j]
            cut = SPLITTER * u
            c = cut - (cut - u)
            d = u - c
            v = w * u
            rest = ((c * w_high - v) + c * w_low + d * w_high) + d * w_low
            cut = SPLITTER * v
            a = cut - (cut - v)
            b = v - a
            for m in range(j + 1):
                u = x[i, m]
                cut = SPLITTER * u
                c = cut - (cut - u)
                d = u - c
                p = u * v
                error = ((a * c - p) + a * d + b * c) + b * d + rest * u
                old = high[k, j, m]
                new = old + p
                step = new - old
                low[k, j, m] += ((old - (new - step)) + (p - step)) + error
                high[k, j, m] = new


@late_kernel_of(lambda part, *_: 2 * part.size)
def add_pairs_at(part_high: Array, part_low: Array, cells: Codes, high: Array, low: Array) -> None:
    """Row cellsᵢ of high + low += row i of the part. (rows, columns)"""
    rows, columns = part_high.shape
    for i in range(rows):
        k = cells[i]
        for j in range(columns):
            u = high[k, j]
            v = part_high[i, j]
            s = u + v
            t = s - u
            error = (u - (s - t)) + (v - t)
            u = low[k, j]
            v = part_low[i, j]
            w = u + v
            t = w - u
            rest = (u - (w - t)) + (v - t)
            error += w
            w = s + error
            error = (error - (w - s)) + rest
            s = w + error
            high[k, j] = s
            low[k, j] = error - (s - w)
