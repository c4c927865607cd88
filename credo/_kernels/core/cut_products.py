"""Sums of products of many rows of weight 1, to about 95 bits, with fewer operations than pairs of floats.

Each number is split into a + b/2²² + r, where a and b are integer multiples of one unit per column and tile. They are
so short that plain sums of the products a a′, b b′ and (a + b)(a + b)′ over the tile are exact (Ozaki, Ogita, Oishi and
Rump 2012), and a b′ + b a′ is the last minus the other two (Karatsuba). The contribution of r is 2⁻⁴⁴ of the whole, and
may be rounded. Numba is loaded when this is imported.
"""

from __future__ import annotations

import numpy as np

from credo._kernels.arrays import Array
from credo._kernels.jit import fast_kernel, kernel

CUT_TILE = 200  # rows of a tile: caches hold five; not a power of two, since such columns share cache lines
CUT_BITS = 22  # of a and b: |a + b| is at most 1.5 · 2²² units, and sums of 227 squares of it have 53 bits
COLUMN_BLOCK = 4  # columns multiplied by as many others at a time, so that a loaded number is used four times
LARGE_EXPONENT = 1022 + 498  # the stored exponent of numbers whose squares nearly overflow; that of NaN is larger


@kernel
def add_products_whole(x: Array, high: Array, low: Array) -> bool:
    """high + low (columns, columns) += Σᵢ xᵢ xᵢ′ for x (columns, rows), the lower triangle.

    The result is False, and not all are added, if a cell is missing or near 1e150.
    """
    columns, rows = x.shape
    wide = -(-columns // COLUMN_BLOCK) * COLUMN_BLOCK
    parts, sums = np.zeros((5, wide, CUT_TILE)), np.empty((4, wide, wide))
    for start in range(0, rows, CUT_TILE):
        size = min(CUT_TILE, rows - start)
        if not cut_columns(x, start, size, parts):
            return False
        for k in range(3):
            multiply_columns(parts[k], size, sums[k])
        multiply_both_ways(parts[3], parts[4], size, sums[3])
        add_parts(sums, high, low)
    return True


@kernel
def cut_columns(x: Array, start: int, size: int, parts: Array) -> bool:
    """parts (5, columns, rows) = a, b, a + b, r and x - r/2 of some rows: a + b/2²² + r = x."""
    for j in range(x.shape[0]):
        own, largest = x[j, start : start + size], 0
        bits = own.view(np.int64)
        for i in range(size):
            largest = max(largest, bits[i] & 0x7FFFFFFFFFFFFFFF)  # absolute floats have the order of their bits
        exponent = largest >> 52
        if exponent >= LARGE_EXPONENT:
            return False
        coarse = 1.5 * 2.0 ** (exponent - 1022 + 52 - CUT_BITS)  # adding it rounds to a's unit
        fine = coarse * 2.0**-CUT_BITS
        for i in range(size):
            v = own[i]
            a = (v + coarse) - coarse
            rest = v - a
            b = (rest + fine) - fine
            r = rest - b
            b *= 2.0**CUT_BITS
            parts[0, j, i], parts[1, j, i], parts[2, j, i] = a, b, a + b
            parts[3, j, i], parts[4, j, i] = r, v - 0.5 * r
    return True


@fast_kernel
def multiply_columns(x: Array, size: int, sums: Array) -> None:
    """sums (columns, columns) = Σ x x′, the lower triangle, four columns by four."""
    for j in range(0, x.shape[0], 4):
        a0, a1, a2, a3 = x[j, :size], x[j + 1, :size], x[j + 2, :size], x[j + 3, :size]
        for m in range(0, j + 1, 4):
            b0, b1, b2, b3 = x[m, :size], x[m + 1, :size], x[m + 2, :size], x[m + 3, :size]
            s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = 0.0
            for i in range(size):
                s00 += a0[i] * b0[i]
                s01 += a0[i] * b1[i]
                s02 += a0[i] * b2[i]
                s03 += a0[i] * b3[i]
                s10 += a1[i] * b0[i]
                s11 += a1[i] * b1[i]
                s12 += a1[i] * b2[i]
                s13 += a1[i] * b3[i]
                s20 += a2[i] * b0[i]
                s21 += a2[i] * b1[i]
                s22 += a2[i] * b2[i]
                s23 += a2[i] * b3[i]
                s30 += a3[i] * b0[i]
                s31 += a3[i] * b1[i]
                s32 += a3[i] * b2[i]
                s33 += a3[i] * b3[i]
            sums[j, m], sums[j, m + 1], sums[j, m + 2], sums[j, m + 3] = s00, s01, s02, s03
            sums[j + 1, m], sums[j + 1, m + 1], sums[j + 1, m + 2], sums[j + 1, m + 3] = s10, s11, s12, s13
            sums[j + 2, m], sums[j + 2, m + 1], sums[j + 2, m + 2], sums[j + 2, m + 3] = s20, s21, s22, s23
            sums[j + 3, m], sums[j + 3, m + 1], sums[j + 3, m + 2], sums[j + 3, m + 3] = s30, s31, s32, s33


@fast_kernel
def multiply_both_ways(x: Array, y: Array, size: int, sums: Array) -> None:
    """sums (columns, columns) = Σ (x y′ + y x′), the lower triangle, four columns by two."""
    for j in range(0, x.shape[0], 4):
        a0, a1, a2, a3 = x[j, :size], x[j + 1, :size], x[j + 2, :size], x[j + 3, :size]
        c0, c1, c2, c3 = y[j, :size], y[j + 1, :size], y[j + 2, :size], y[j + 3, :size]
        for m in range(0, j + 4, 2):
            b0, b1, d0, d1 = x[m, :size], x[m + 1, :size], y[m, :size], y[m + 1, :size]
            s00 = s01 = s10 = s11 = s20 = s21 = s30 = s31 = 0.0
            for i in range(size):
                s00 += a0[i] * d0[i] + c0[i] * b0[i]
                s01 += a0[i] * d1[i] + c0[i] * b1[i]
                s10 += a1[i] * d0[i] + c1[i] * b0[i]
                s11 += a1[i] * d1[i] + c1[i] * b1[i]
                s20 += a2[i] * d0[i] + c2[i] * b0[i]
                s21 += a2[i] * d1[i] + c2[i] * b1[i]
                s30 += a3[i] * d0[i] + c3[i] * b0[i]
                s31 += a3[i] * d1[i] + c3[i] * b1[i]
            sums[j, m], sums[j + 1, m], sums[j + 2, m], sums[j + 3, m] = s00, s10, s20, s30
            sums[j, m + 1], sums[j + 1, m + 1], sums[j + 2, m + 1], sums[j + 3, m + 1] = s01, s11, s21, s31


@kernel
def add_parts(sums: Array, high: Array, low: Array) -> None:
    """high + low += Σ (a + b/2²² + r)(a + b/2²² + r)′, the lower triangle. sums: (4, columns, columns)"""
    step = 2.0**-CUT_BITS
    for j in range(high.shape[0]):
        for m in range(j + 1):
            first, last = sums[0, j, m], sums[1, j, m]
            middle = ((sums[2, j, m] - first) - last) * step  # Σ (a b′ + b a′) / 2²², exactly
            rest = last * (step * step) + sums[3, j, m]
            for p in (first, middle):
                old = high[j, m]
                new = old + p
                moved = new - old
                low[j, m] += (old - (new - moved)) + (p - moved)
                high[j, m] = new
            low[j, m] += rest
