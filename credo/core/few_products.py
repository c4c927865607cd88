"""Sums of products of few rows by NumPy, which is faster than plain Python and than loading Numba."""

from __future__ import annotations

import numpy as np

from credo.numerics.arrays import Codes
from credo.numerics.exact import Array, two_product, two_sum

FEW_PRODUCTS = 2**18  # rows x columns², up to which NumPy is faster


def add_few_products(x: Array, codes: Codes, weight: Array, high: Array, low: Array) -> None:
    """Adds Σ w xx′ of each group with the same bits as `add_products_hard`: the first rows of all groups, then the
    second ones, and so on. The upper triangle is filled, too."""
    v, rest = two_product(x, weight[:, None])
    left, right = v[:, :, None], x[:, None, :]
    product, error = two_product(left, right)
    error += rest[:, :, None] * right
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    first = np.flatnonzero(np.diff(codes[order], prepend=-1))
    groups, sizes = codes[order[first]], np.diff(np.append(first, len(order)))
    for nth in range(int(sizes.max(initial=0))):
        there = sizes > nth
        rows, k = order[first[there] + nth], groups[there]
        high[k], lost = two_sum(high[k], product[rows])
        low[k] += lost + error[rows]
