"""Sums of products of few rows, by NumPy, and of whole rows, by fused kernels: the bits that the kernel gives."""

from __future__ import annotations

import numpy as np
import pytest

from credo._kernels.core.fused_products import add_products_whole
from credo._kernels.core.sums import add_products_hard
from credo.core.few_products import add_few_products


@pytest.mark.parametrize("rows", [0, 1, 70])
def test_products(rows: int) -> None:
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, 4)) * np.array([1.0, 1e9, 1e-9, 3.0])
    codes, weight = rng.integers(-1, 3, rows).astype(np.int32), rng.uniform(0.5, 2.0, rows)
    found = [np.zeros((2, 4, 4, 4)) for _ in range(2)]  # no row is of the last group
    add_products_hard(x, codes, weight, *found[0])
    add_few_products(x, codes, weight, *found[1])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(np.tril(one), np.tril(other))


@pytest.mark.parametrize("rows", [0, 1, 70])
def test_fused_products(rows: int) -> None:
    x = np.random.default_rng(rows).normal(size=(rows, 4)) * np.array([1.0, 1e9, 1e-9, 3.0])
    found = [np.zeros((2, 1, 4, 4)) for _ in range(2)]
    add_products_hard(x, np.zeros(rows, np.int32), np.ones(rows), *found[0])
    add_products_whole(x, *found[1][:, 0])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(np.tril(one), np.tril(other))
