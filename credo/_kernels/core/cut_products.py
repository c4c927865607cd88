"""Sums of products of many rows of weight 1, to about 95 bits, by fewer operations than pairs of floats take.

Each number is cut into a + b + r, a and b being whole multiples of units that all rows of a column share. Products of
these are so short that plain sums over a few rows are exact; what r adds to them is 2⁻⁴⁴ of it, and may be rounded
(Ozaki, Ogita, Oishi and Rump 2012). Numba is loaded when this is imported.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import fast_kernel, kernel

Array = NDArray[np.float64]

ROWS = 136  # of a tile: caches hold four of them; no power of two, since lanes so far apart share cache lines
BITS = 22  # of a and of b: sums of 2⁹ products have 53


@kernel
def add_products_whole(x: Array, largest: Array, high: Array, low: Array) -> None:
    """high + low (columns, columns) += Σᵢ xᵢ xᵢ′ for x (columns, rows), the lower triangle. largest: of each column's
    |x|."""
    columns, rows = x.shape
    even = columns + columns % 2
    parts, sums = np.zeros((4, even, ROWS)), np.empty((3, even, even))
    for start in range(0, rows, ROWS):
        size = min(ROWS, rows - start)
        cut_columns(x, largest, start, size, parts)
        multiply_columns(parts, size, sums)
        for j in range(columns):
            for m in range(j + 1):
                for k in range(2):
                    p, old = sums[k, j, m], high[j, m]
                    new = old + p
                    step = new - old
                    low[j, m] += (old - (new - step)) + (p - step)
                    high[j, m] = new
                low[j, m] += sums[2, j, m]


@kernel
def cut_columns(x: Array, largest: Array, start: int, size: int, parts: Array) -> None:
    """parts (4, columns, rows) = a, b, r and b + r of some rows: a + b + r = x."""
    for j in range(x.shape[0]):
        coarse = 1.5 * 2.0 ** (math.frexp(largest[j])[1] + 52 - BITS)  # what is added to it is rounded to a's unit
        fine = coarse * 2.0**-BITS
        own, a, b, r, rest = x[j, start : start + size], parts[0, j], parts[1, j], parts[2, j], parts[3, j]
        for i in range(size):  # in two steps, which compilers vectorise
            a[i] = (own[i] + coarse) - coarse
            rest[i] = own[i] - a[i]
        for i in range(size):
            b[i] = (rest[i] + fine) - fine
            r[i] = rest[i] - b[i]


@fast_kernel
def multiply_columns(parts: Array, size: int, sums: Array) -> None:
    """sums (3, columns, columns) = Σ a a′; Σ (a b′ + b a′); and the rest, Σ (a r′ + r a′ + (b + r)(b + r)′).

    Only the last one is rounded. Two columns by two: a number that was loaded is used twice.
    """
    for j in range(0, parts.shape[1], 2):
        a0, b0, r0, s0 = parts[0, j, :size], parts[1, j, :size], parts[2, j, :size], parts[3, j, :size]
        a1, b1, r1, s1 = parts[0, j + 1, :size], parts[1, j + 1, :size], parts[2, j + 1, :size], parts[3, j + 1, :size]
        for m in range(0, j + 1, 2):
            a2, b2, r2, s2 = parts[0, m, :size], parts[1, m, :size], parts[2, m, :size], parts[3, m, :size]
            a3, b3, r3, s3 = (
                parts[0, m + 1, :size], parts[1, m + 1, :size], parts[2, m + 1, :size], parts[3, m + 1, :size]
            )  # fmt: skip
            p02 = p03 = p12 = p13 = q02 = q03 = q12 = q13 = t02 = t03 = t12 = t13 = 0.0
            for i in range(size):
                p02 += a0[i] * a2[i]
                p03 += a0[i] * a3[i]
                p12 += a1[i] * a2[i]
                p13 += a1[i] * a3[i]
                q02 += a0[i] * b2[i] + b0[i] * a2[i]
                q03 += a0[i] * b3[i] + b0[i] * a3[i]
                q12 += a1[i] * b2[i] + b1[i] * a2[i]
                q13 += a1[i] * b3[i] + b1[i] * a3[i]
                t02 += a0[i] * r2[i] + r0[i] * a2[i] + s0[i] * s2[i]
                t03 += a0[i] * r3[i] + r0[i] * a3[i] + s0[i] * s3[i]
                t12 += a1[i] * r2[i] + r1[i] * a2[i] + s1[i] * s2[i]
                t13 += a1[i] * r3[i] + r1[i] * a3[i] + s1[i] * s3[i]
            sums[0, j, m], sums[0, j, m + 1], sums[0, j + 1, m], sums[0, j + 1, m + 1] = p02, p03, p12, p13
            sums[1, j, m], sums[1, j, m + 1], sums[1, j + 1, m], sums[1, j + 1, m + 1] = q02, q03, q12, q13
            sums[2, j, m], sums[2, j, m + 1], sums[2, j + 1, m], sums[2, j + 1, m + 1] = t02, t03, t12, t13
