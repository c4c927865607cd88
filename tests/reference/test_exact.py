"""Pairs of floats against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from credo.numerics.exact import Exact

numbers = st.floats(-1e100, 1e100).map(lambda x: x if abs(x) > 1e-100 else 0.0)
BITS = Fraction(2) ** -100


def fraction(x: Exact) -> Fraction:
    return Fraction(float(x.high)) + Fraction(float(x.low))


@given(a=numbers, b=numbers, c=numbers)
def test_sums_and_products_keep_a_hundred_bits(a: float, b: float, c: float) -> None:
    total = Exact.of(a) + Exact.of(b) + Exact.of(c)
    size = abs(Fraction(a)) + abs(Fraction(b)) + abs(Fraction(c))
    assert abs(fraction(total) - (Fraction(a) + Fraction(b) + Fraction(c))) <= BITS * size
    product = (Exact.of(a) + Exact.of(b)) * Exact.of(c)
    assert abs(fraction(product) - (Fraction(a) + Fraction(b)) * Fraction(c)) <= BITS * size * abs(Fraction(c))


@given(a=numbers, b=st.floats(1e-50, 1e50))
def test_quotients(a: float, b: float) -> None:
    quotient = Exact.of(a) / Exact.of(b)
    assert abs(fraction(quotient) * Fraction(b) - Fraction(a)) <= BITS * abs(Fraction(a))


def test_an_average_over_nothing_is_nought() -> None:
    assert (Exact.of([0.0, 6.0]) / Exact.of([0.0, 2.0])).value.tolist() == [0.0, 3.0]


def test_the_sum_along_an_axis() -> None:
    x = np.array([[1e30, 1.0], [1.0, 2.0], [-1e30, 3.0]])
    assert Exact.of(x).sum(0).value.tolist() == [1.0, 6.0]
    assert Exact.of(x).sum(1).shape == (3,)
    assert Exact.zeros((0, 2)).sum(0).value.tolist() == [0.0, 0.0]
