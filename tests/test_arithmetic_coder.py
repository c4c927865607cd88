"""The arithmetic coder of these tests: it decodes what it encoded, and is within 2 bits of the code length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arithmetic_coder import decode, encode


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 200), st.floats(0.01, 3))
def test_what_is_encoded_is_decoded_within_two_bits(seed: int, values: int, n: int, concentration: float) -> None:
    rng = np.random.default_rng(seed)
    each = rng.dirichlet(np.full(values, concentration) + 1e-3, size=n)
    symbols = [int(rng.choice(values, p=p)) for p in each]
    bits = encode(symbols, each)
    assert decode(bits, n, lambda known: each[len(known)]) == symbols
    length = -sum(np.log2(p[symbol]) for p, symbol in zip(each, symbols, strict=True))
    assert length - 1e-6 <= len(bits) <= length + 2


def test_a_code_that_learns_as_it_goes() -> None:
    """Laplace's rule as a sequential code: its length is −log2 of the evidence."""
    flips = [1, 1, 0, 1, 1, 1, 0, 1] * 20

    def rule(known: list[int]) -> list[float]:
        return [(known.count(0) + 1) / (len(known) + 2), (known.count(1) + 1) / (len(known) + 2)]

    bits = encode(flips, [rule(flips[:i]) for i in range(len(flips))])
    assert decode(bits, len(flips), rule) == flips


def test_what_is_impossible_has_no_code() -> None:
    with pytest.raises(ValueError, match="probability 0"):
        encode([1], [[1.0, 0.0]])
    with pytest.raises(ValueError, match="sum to 1"):
        encode([0], [[0.5, 0.2]])
