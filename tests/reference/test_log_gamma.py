"""log Γ and its ratios against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln, poch

from credo.numerics.special import log_gamma, log_gamma_ratio, log_rising

RNG = np.random.default_rng(0)
EVERYWHERE = np.concatenate([np.exp(RNG.uniform(-40, 40, 5000)), RNG.uniform(0.01, 20, 5000), np.arange(1, 400) / 2])


def test_log_gamma_is_scipys() -> None:
    expected = gammaln(EVERYWHERE)
    assert (np.abs(log_gamma(EVERYWHERE) - expected) <= 1e-14 * np.maximum(1, np.abs(expected))).all()


@pytest.mark.parametrize("x", [0.0, 1e-300, 1e-10, 7.999999, 8.0, 1e10, 1e300])
def test_log_gamma_at_the_edges(x: float) -> None:
    assert float(log_gamma(x)) == pytest.approx(float(gammaln(x)), rel=1e-14)


def test_nothing_is_nothing() -> None:
    assert log_gamma(np.zeros((0, 3))).shape == (0, 3)
    assert log_rising(np.zeros(0), 1.0).shape == (0,)


def test_rising_factorials_are_scipys() -> None:
    z, x = RNG.uniform(0.01, 300, 2000), RNG.integers(0, 20, 2000).astype(float)
    assert log_rising(z, x) == pytest.approx(np.log(poch(z, x)), rel=1e-12, abs=1e-13)


def test_half_a_step() -> None:
    shape = np.concatenate([RNG.uniform(0.01, 60, 2000), [1e6, 1e12]])
    expected = np.log(poch(shape, 0.5))
    assert log_gamma_ratio(shape) == pytest.approx(expected, rel=1e-12, abs=1e-13)
