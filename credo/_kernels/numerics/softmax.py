"""Products of sparse rows and coefficients. The entries of row i are at starts[i] to starts[i + 1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import fast_kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Integers = NDArray[np.int64]


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
