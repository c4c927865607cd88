"""Sums of products of many rows of weight 1, with the fused multiply-add that processors have: the bits that
`add_products_hard` gives, in less than half the time. Numba is loaded when this is imported."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from credo._kernels.jit import kernel

Array = NDArray[np.float64]


@intrinsic  # type: ignore[untyped-decorator]
def fused(_: Any, a: Any, b: Any, c: Any) -> Any:  # noqa: ARG001 - types
    """a·b + c, rounded once: fused(a, b, -(a·b)) is what rounding dropped from a·b."""

    def generated(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), generated


@kernel
def add_products_whole(x: Array, high: Array, low: Array) -> None:
    """high + low (columns, columns) += Σᵢ xᵢ xᵢ′, the lower triangle."""
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns):
            v = x[i, j]
            for m in range(j + 1):
                u = x[i, m]
                p = u * v
                error = fused(u, v, -p)
                old = high[j, m]
                new = old + p
                step = new - old
                low[j, m] += ((old - (new - step)) + (p - step)) + error
                high[j, m] = new
