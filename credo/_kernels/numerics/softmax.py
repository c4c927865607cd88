"""Products of sparse rows with coefficients, and of dense rows with each other. The entries of sparse row i are at
starts[i] to starts[i + 1]. Numba is loaded when this is imported."""

from __future__ import annotations

import numpy as np

from credo._kernels.arrays import Array, Codes, Integers
from credo._kernels.jit import fast_kernel


@fast_kernel
def add_products(starts: Integers, places: Codes, values: Array, coefficients: Array, out: Array) -> None:
    """out[i] += Σⱼ zᵢⱼ coefficients[j]: (rows, columns) of (features, columns)."""
    columns = out.shape[1]
    for i in range(len(starts) - 1):
        for at in range(starts[i], starts[i + 1]):
            j, z = places[at], values[at]
            for k in range(columns):
                out[i, k] += z * coefficients[j, k]


@fast_kernel
def add_transposed(starts: Integers, places: Codes, values: Array, rows: Array, out: Array) -> None:
    """out[j] += Σᵢ zᵢⱼ rows[i]: (features, columns) of (rows, columns)."""
    columns = out.shape[1]
    for i in range(len(starts) - 1):
        for at in range(starts[i], starts[i + 1]):
            j, z = places[at], values[at]
            for k in range(columns):
                out[j, k] += z * rows[i, k]


@fast_kernel
def add_transposed_squares(starts: Integers, places: Codes, values: Array, rows: Array, out: Array) -> None:
    """out[j] += Σᵢ zᵢⱼ² rows[i]."""
    columns = out.shape[1]
    for i in range(len(starts) - 1):
        for at in range(starts[i], starts[i + 1]):
            j, z = places[at], values[at] * values[at]
            for k in range(columns):
                out[j, k] += z * rows[i, k]


@fast_kernel
def add_weighted_products(x: Array, centre: Array, weight: Array, out: Array) -> None:
    """out += Σᵢ wᵢ (1, xᵢ - c)(1, xᵢ - c)′, the lower triangle; out is padded to an even number of rows and a multiple
    of 8 columns.

    Four rows and two columns are processed at a time, so that loaded numbers are used more than once.
    """
    rows, columns = x.shape
    z, w = np.zeros((4, out.shape[1])), np.zeros(4)
    z[:, 0] = 1.0
    for start in range(0, rows, 4):
        for r in range(4):
            there = start + r < rows
            w[r] = weight[start + r] if there else 0.0
            for j in range(columns if there else 0):
                z[r, 1 + j] = x[start + r, j] - centre[j]
        z0, z1, z2, z3 = z[0], z[1], z[2], z[3]
        for j in range(0, out.shape[0], 2):
            a0, a1, a2, a3 = w[0] * z0[j], w[1] * z1[j], w[2] * z2[j], w[3] * z3[j]
            b0, b1, b2, b3 = w[0] * z0[j + 1], w[1] * z1[j + 1], w[2] * z2[j + 1], w[3] * z3[j + 1]
            one, two = out[j], out[j + 1]
            for m in range((j + 9) // 8 * 8):
                one[m] += a0 * z0[m] + a1 * z1[m] + a2 * z2[m] + a3 * z3[m]
                two[m] += b0 * z0[m] + b1 * z1[m] + b2 * z2[m] + b3 * z3[m]
