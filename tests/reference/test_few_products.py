"""Sums of products: of few rows, by NumPy, the bits of the kernel; of many rows, by numbers cut short, 90 bits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from credo._kernels.core.cut_products import CUT_TILE, add_products_whole
from credo._kernels.core.sums import add_products_hard
from credo.core.few_products import add_few_products
from credo.core.membership import Hard
from credo.core.moments import LANE_PRODUCTS, CrossMoments


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


@pytest.mark.parametrize("rows", [0, 1, 70, 300])
@pytest.mark.parametrize("columns", [4, 5])
def test_sums_of_cut_numbers_hold_90_bits(rows: int, columns: int) -> None:
    x = np.random.default_rng(rows).normal(size=(columns, rows)) * np.array([1.0, 1e9, 1e-9, 3.0, 0.0])[:columns, None]
    x[:, :5] *= 1e6  # outliers
    high, low = np.zeros((2, columns, columns))
    assert add_products_whole(x, high, low)
    for j in range(columns):
        for m in range(j + 1):
            terms = [Fraction(u) * Fraction(v) for u, v in zip(x[j].tolist(), x[m].tolist(), strict=True)]
            size = Fraction(np.abs(x[j]).max(initial=0.0)) * Fraction(np.abs(x[m]).max(initial=0.0)) * rows
            lost = Fraction(high[j, m]) + Fraction(low[j, m]) - sum(terms, Fraction(0))
            assert abs(lost) <= size / 2**90


@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf, -1e150, 1e200])
def test_missing_and_too_large_cells_are_not_summed(cell: float) -> None:
    x = np.ones((3, 200))
    x[1, 150] = cell
    assert not add_products_whole(x, *np.zeros((2, 3, 3)))


def test_cut_numbers_as_large_as_can_be() -> None:
    """A tile of numbers just below a power of two, whose parts are the largest: their sums are exact."""
    x = np.full((2, CUT_TILE), 2.0 - 2.0**-52)
    x[1] *= 2.0**400
    high, low = np.zeros((2, 2, 2))
    assert add_products_whole(x, high, low)
    square = CUT_TILE * Fraction(2.0 - 2.0**-52) ** 2
    for j, m, scale in ((0, 0, 0), (1, 0, 400), (1, 1, 800)):
        lost = Fraction(high[j, m]) + Fraction(low[j, m]) - square * 2**scale
        assert abs(lost) <= CUT_TILE * 4 * Fraction(2) ** (scale - 90)


def test_many_rows_give_the_sums_that_pairs_of_floats_do() -> None:
    x = np.random.default_rng(0).normal(3.0, 2.0, size=(LANE_PRODUCTS // 400 + 1, 19))
    member = Hard.whole(len(x), np.ones(len(x)))
    found = CrossMoments.of(x, member)
    high, low = np.zeros((2, 1, 20, 20))
    add_products_hard(np.column_stack([np.ones(len(x)), x]), member.codes, member.weight, high, low)
    wanted = CrossMoments.of_pairs(high, low)
    np.testing.assert_array_equal(found.second.value, wanted.second.value)
    np.testing.assert_array_equal(found.first.value, wanted.first.value)
    assert np.abs((found.second - wanted.second).value).max() <= 2.0**-80 * np.abs(found.second.value).max()
