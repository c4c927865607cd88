"""Grouped sums in pairs of floats (see credo.numerics.exact): each row is added to the group that its code names.

The error-free steps are written out, since a kernel that stays plain Python can't call another. With u + v = s exactly:
error = (u - (s - (s - u))) + (v - (s - u)); with halves a + b = v of 26 bits each, v·v = a² + 2ab + b² exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import late_kernel_of

Array = NDArray[np.float64]
Codes = NDArray[np.int32] | NDArray[np.int64]

ALIKE = 2.0**-98  # of a sum of squares: what a chain of pair sums may lose, so that numbers seem to differ
FAINT = 1e-290  # squares below it have no room for the second float of a pair: such numbers are alike


@late_kernel_of(lambda x, *_: 2 * x.size)
def add_sums_hard(x: Array, codes: Codes, weight: Array, high: Array, low: Array) -> None:
    """high + low (groups, columns) += Σᵢ wᵢ xᵢⱼ; a negative code belongs to no group."""
    rows, columns = x.shape
    for i in range(rows):
        k = codes[i]
        if k < 0:
            continue
        w = weight[i]
        cut = 134217729.0 * w
        w_high = cut - (cut - w)
        w_low = w - w_high
        for j in range(columns):
            v = x[i, j]
            cut = 134217729.0 * v
            a = cut - (cut - v)
            b = v - a
            p = w * v
            error = ((a * w_high - p) + a * w_low + b * w_high) + b * w_low
            old = high[k, j]
            new = old + p
            step = new - old
            low[k, j] += ((old - (new - step)) + (p - step)) + error
            high[k, j] = new


@late_kernel_of(lambda x, *_: 4 * x.size)
def add_moments_hard(x: Array, codes: Codes, weight: Array, high: Array, low: Array, rest: Array) -> None:
    """high + low + rest (3, groups, columns) += Σᵢ wᵢ (1, xᵢⱼ, xᵢⱼ²) over the cells that aren't NaN.

    Rounding low as well would lose on the same side each time, of numbers that are alike: 60,000 of 0.1 would seem to
    have a variance of 10⁻²⁶. Whole rows of weight 1, as most are, take half the work: nothing is multiplied, and rows
    are counted once for all their columns, at the end.
    """
    rows, columns = x.shape
    whole = np.zeros(high.shape[1])
    for i in range(rows):
        k = codes[i]
        if k < 0:
            continue
        w = weight[i]
        plain = w == 1.0
        for j in range(columns):
            plain &= x[i, j] == x[i, j]
        if plain:
            whole[k] += 1.0
            for j in range(columns):
                v = x[i, j]
                old = high[1, k, j]
                new = old + v
                step = new - old
                error = (old - (new - step)) + (v - step)
                high[1, k, j] = new
                old = low[1, k, j]
                new = old + error
                step = new - old
                rest[1, k, j] += (old - (new - step)) + (error - step)
                low[1, k, j] = new

                cut = 134217729.0 * v
                a = cut - (cut - v)
                b = v - a
                q = v * v
                square = ((a * a - q) + 2.0 * (a * b)) + b * b
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
            continue
        cut = 134217729.0 * w
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

            cut = 134217729.0 * v
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

            cut = 134217729.0 * p
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
    for k in range(len(whole)):
        u = whole[k]
        for j in range(columns if u else 0):
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


@late_kernel_of(lambda x, *_: 0.8 * x.size * (x.shape[1] + 1))
def add_products_hard(x: Array, codes: Codes, weight: Array, high: Array, low: Array) -> None:
    """high + low (groups, columns, columns) += Σᵢ wᵢ xᵢ xᵢ′, the lower triangle."""
    rows, columns = x.shape
    for i in range(rows):
        k = codes[i]
        if k < 0:
            continue
        w = weight[i]
        cut = 134217729.0 * w
        w_high = cut - (cut - w)
        w_low = w - w_high
        for j in range(columns):
            u = x[i, j]
            cut = 134217729.0 * u
            c = cut - (cut - u)
            d = u - c
            v = w * u
            rest = ((c * w_high - v) + c * w_low + d * w_high) + d * w_low
            cut = 134217729.0 * v
            a = cut - (cut - v)
            b = v - a
            for m in range(j + 1):
                u = x[i, m]
                cut = 134217729.0 * u
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
    """high + low at row cellsᵢ += row i of the part. (rows, columns)"""
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
