"""Quantiles of Beta and Gamma beliefs: against mpmath's numbers, against SciPy, by symmetry, and at the edges."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc, betaln, gammaincinv

from credo._kernels.numerics.beta import beta_interval_chunk, beta_quantile_chunk
from credo.numerics import special
from credo.numerics.exact import Array
from credo.numerics.special import beta_interval, beta_quantile, gamma_quantile

EPS = float(np.finfo(np.float64).eps)

# p, a, b, and the quantile by mpmath with 40 digits, rounded.
KNOWN = np.array(
    [
        (0.025, 48, 87, 0.2772791643731284),
        (0.0005, 77, 134, 0.26126752907589773),
        (0.025, 1, 400, 6.32925169048572e-05),
        (0.975, 1, 400, 0.009179804583665262),
        (0.975, 2, 35, 0.14528926474685327),
        (0.025, 0.5, 0.5, 0.001541333133436012),
        (1e-06, 0.5, 1e6, 7.853983597474249e-19),
        (0.999999, 0.5, 1e6, 1.1963994910295056e-05),
        (0.5, 0.75, 1043, 0.0004354003014186782),
        (0.6541, 0.771, 1043, 0.0007495571872988448),
        (0.025, 300, 900, 0.2259119707095803),
        (0.01, 650, 5000, 0.1053718371230318),
        (0.5, 1e4, 1e4, 0.5),
        (0.25, 1e3, 1e6, 0.0009775264432108008),
        (0.025, 174718.5, 735731.25, 0.19109525199308358),
        (0.975, 487382.75, 12826.125, 0.9747946919188222),
        (1e-06, 109897.5, 633595.5, 0.14586269868455953),
        (0.5, 1e8, 1e8, 0.5),
        (0.025, 7e6, 9.2e7, 0.07065658510158705),
        (0.999999, 1.6e7, 9.6e7, 0.1430143607516345),
        (1e-06, 1e8, 0.5, 0.9999998803593719),
        (0.975, 3, 1e8, 7.224687334496537e-08),
    ]
)
# Ill-conditioned, as the last bit of p moves x by 1/a bits: SciPy answers these.
KNOWN_SMALL = np.array(
    [
        (0.3, 1e-3, 1e-3, 1.4142853421408587e-222),
        (0.499, 1e-3, 1e-3, 0.11884804791823195),
        (0.6, 1e-3, 1, 1.4166102623834487e-222),
        (0.01, 1e-2, 1e8, 5.660738175082601e-209),
    ]
)


def kernel_quantile(p: object, a: object, b: object) -> Array:
    p, a, b = (np.array(v, dtype=np.float64) for v in np.broadcast_arrays(p, a, b))  # type: ignore[arg-type]
    out = np.full(p.shape, -1.0)
    beta_quantile_chunk(p.ravel(), a.ravel(), b.ravel(), out.reshape(-1))
    return out


def relative(x: Array, y: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.where(x == y, 0.0, np.abs(x - y) / y)


def log_uniform(low: float, high: float, size: int, seed: int) -> Array:
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), size))


def test_kernel_has_the_digits_of_mpmath() -> None:
    p, a, b, x = KNOWN.T
    assert relative(kernel_quantile(p, a, b), x).max() < 5e-15


@pytest.mark.parametrize("times", [1, 1000])
def test_both_ways_have_the_digits_of_mpmath(times: int) -> None:
    p, a, b, x = np.tile(KNOWN, (times, 1)).T
    assert (p.size >= special.FEW_QUANTILES) == (times > 1)
    assert relative(beta_quantile(p, a, b), x).max() < 2e-12
    p, a, b, x = np.tile(KNOWN_SMALL, (3 * times, 1)).T
    assert (relative(beta_quantile(p, a, b), x) * np.minimum(a, b)).max() < 1e-14


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("most", "tolerance"), [(1e3, 2e-13), (1e6, 2e-12), (1e8, 2e-11)])
def test_as_scipy_on_a_wide_grid(whole: bool, most: float, tolerance: float) -> None:
    side = log_uniform(1e-3, most, 70, seed=int(most))
    side = np.ceil(side) if whole else side
    p = np.array([1e-6, 1e-3, 0.025, 0.2, 0.5, 0.7, 0.975, 0.999, 1 - 1e-6])
    a, b = side[:, None, None], side[None, :, None]
    found = beta_quantile(p, a, b)
    assert found.shape == (70, 70, 9)
    assert found.size >= special.FEW_QUANTILES
    assert relative(found, special.scipy_low(p, *np.broadcast_arrays(a, b))).max() < tolerance


def test_no_fallback_for_ordinary_beliefs() -> None:
    n = 50_000
    a, b = log_uniform(0.5, 1e6, n, seed=1), log_uniform(0.5, 1e6, n, seed=2)
    p = np.random.default_rng(3).choice([1e-6, 0.005, 0.025, 0.25, 0.5, 0.9, 0.975, 1 - 1e-6], n)
    assert not np.isnan(kernel_quantile(p, a, b)).any()


def test_share_below_is_p_but_for_the_rounding_of_x() -> None:
    n = 20_000
    a, b = log_uniform(0.5, 1e4, n, seed=4), log_uniform(0.5, 1e4, n, seed=5)
    p = np.random.default_rng(6).uniform(1e-6, 1 - 1e-6, n)
    x = kernel_quantile(p, a, b)
    slope = np.exp(a * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b))  # x · density
    assert np.all(np.abs(betainc(a, b, x) - p) <= EPS * (300 * p + 4 * slope))


@given(
    st.floats(0.5, 1 - 1e-6),
    st.floats(0.5, 1e8),
    st.floats(0.5, 1e8),
)
def test_mirrored(q: float, a: float, b: float) -> None:
    """x(p; a, b) = 1 - x(1 - p; b, a), where 1 - p is exact."""
    assert kernel_quantile(1 - q, a, b) == pytest.approx(1 - kernel_quantile(q, b, a), rel=1e-14, abs=2 * EPS)


@given(st.floats(1e-6, 1 - 1e-6), st.floats(1e-6, 1 - 1e-6), st.floats(0.5, 1e8), st.floats(0.5, 1e8))
def test_rises_with_p(p: float, q: float, a: float, b: float) -> None:
    low, high = kernel_quantile(sorted((p, q)), a, b)
    assert low <= high * (1 + 1e-14)


@pytest.mark.parametrize("size", [1, 7, 20_000, 50_000])
@pytest.mark.parametrize("mass", [0.5, 0.95, 0.999])
def test_interval_is_two_quantiles(size: int, mass: float) -> None:
    a, b = log_uniform(0.2, 1e4, size, seed=7), log_uniform(0.2, 1e4, size, seed=8)
    low, high = beta_interval(mass, a, b)
    assert relative(low, beta_quantile((1 - mass) / 2, a, b)).max() < 1e-12
    assert relative(high, beta_quantile(1 - (1 - mass) / 2, a, b)).max() < 1e-12


@pytest.mark.parametrize("times", [1, 4000])
def test_edges(times: int) -> None:
    nan = np.nan
    cases = [  # p, a, b, x
        (0, 2, 3, 0),
        (1, 2, 3, 1),
        (nan, 2, 3, nan),
        (0.5, nan, 3, nan),
        (0.5, 2, nan, nan),
        (0.5, -1, 3, nan),
        (1.5, 2, 3, nan),
        (1e-6, 1e-3, 1, 0),  # 1e-6000
        (1e-6, 1e-3, 50, 0),
        (1 - 1e-6, 50, 1e-3, 1),
        (0.3, 1, 1, 0.3),
        (0.64, 0.5, 1, 0.4096),
    ]
    p, a, b, x = np.tile(np.array(cases, dtype=np.float64), (times, 1)).T
    np.testing.assert_allclose(beta_quantile(p, a, b), x, rtol=1e-14)


@pytest.mark.parametrize("mass", [0.0, 1.0])
def test_interval_of_none_and_of_all(mass: float) -> None:
    for size in (1, 20_000):
        low, high = beta_interval(mass, np.full(size, 2.0), np.full(size, 2.0))
        np.testing.assert_allclose(low, 0.5 - mass / 2, atol=1e-15)
        np.testing.assert_allclose(high, 0.5 + mass / 2, atol=1e-15)


def test_no_beliefs_and_one() -> None:
    none = np.empty(0)
    assert beta_quantile(0.5, none, none).shape == (0,)
    assert [end.shape for end in beta_interval(0.9, none, none)] == [(0,), (0,)]
    assert gamma_quantile(0.5, none).shape == (0,)
    assert kernel_quantile(none, none, none).shape == (0,)
    beta_interval_chunk(0.025, none, none, none, none)
    assert beta_quantile(0.25, 1, 1).shape == ()
    assert relative(kernel_quantile([0.25], [1], [1]), np.array([0.25])) < 5e-15


def test_kernel_leaves_the_rest_to_scipy() -> None:
    assert np.isnan(kernel_quantile([0, 1, np.nan, 0.5, 0.5], [2, 2, 2, 0.1, 1], [2, 2, 2, 1, 1e11])).all()


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = log_uniform(0.3, 1e5, 70_000, seed=9), log_uniform(0.3, 1e5, 70_000, seed=10)
    many = beta_interval(0.95, a, b)
    monkeypatch.setenv("CREDO_THREADS", "1")
    np.testing.assert_array_equal(many, beta_interval(0.95, a, b))


def test_inputs_of_other_types_and_layouts() -> None:
    a = np.arange(1, 20_001)
    found = beta_quantile(np.float32(0.5), a[::-1], 1)
    np.testing.assert_allclose(found, 0.5 ** (1 / a[::-1]), rtol=1e-14)
    assert found.dtype == np.float64


@pytest.mark.parametrize("size", [5, 40_000])
def test_gamma_is_scipys(size: int) -> None:
    shape = log_uniform(1e-2, 1e6, size, seed=11)
    np.testing.assert_array_equal(gamma_quantile(0.975, shape), gammaincinv(shape, 0.975))
    np.testing.assert_array_equal(gamma_quantile([[0.1], [0.9]], shape)[1], gammaincinv(shape, 0.9))


def test_few_need_no_numba() -> None:
    code = "import sys; from credo.numerics.special import *; beta_interval(0.9, 2, 3), beta_quantile(0.5, 2, 3); "
    subprocess.run([sys.executable, "-c", code + "assert 'numba' not in sys.modules"], check=True)


@pytest.mark.parametrize("size", [1, 20_000])
def test_median_of_a_symmetric_belief(size: int) -> None:
    a = np.full(size, 1.170184974718768)
    assert relative(beta_quantile(0.5, a, a), np.full(size, 0.5)).max() < 5e-15
    assert np.isnan(beta_quantile(0.5, -a, -a)).all()
