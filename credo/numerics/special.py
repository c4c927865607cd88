"""Ratios of gamma functions; and quantiles of many Beta and Gamma distributions, by threads and, for Betas, by Numba.

SciPy computes fewer than FEW_QUANTILES Beta quantiles; plain Python computes very few, before SciPy would be imported.
All agree to a relative error of 2e-12 for a and b up to 1e6, and of 2e-11 up to 1e8, where SciPy is less accurate (by
less than 1e-7 standard deviations).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from credo.engines.local import workers
from credo.numerics.exact import Array

RATIO_FROM = 20.0  # above this, four terms of the series are exact to the last digit
STIRLING_FROM = 100.0  # above this, Stirling's series of a difference is exact to the last digits
STIRLING_SHIFT = 8.0  # above this, seven terms of Stirling's series are exact to the last digits
STIRLING_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
FEW_IN_PYTHON = 32  # quantiles that plain Python computes
FEW_QUANTILES = 10_000  # quantiles that SciPy computes in 10 ms; loading Numba takes half a second
THREAD_QUANTILES = 16_384  # quantiles of a chunk


def beta_quantile(p: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """The p-quantile x of Beta(a, b): I_x(a, b) = p.

    >>> beta_quantile([0.25, 0.75], 1, [1, 2])
    array([0.25, 0.5 ])
    """
    p, a, b = broadcast(p, a, b)
    if FEW_IN_PYTHON < p.size < FEW_QUANTILES:
        return scipy_low(p, a, b)
    from credo._kernels.numerics.beta import beta_quantile_chunk

    def fill(p: Array, a: Array, b: Array, out: Array) -> None:
        beta_quantile_chunk(p, a, b, out)
        rest = np.isnan(out)
        if rest.any():
            out[rest] = scipy_low(p[rest], a[rest], b[rest])

    return filled(fill, (p, a, b))[0]


def beta_interval(mass: float, a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    """The equal-tailed interval of Beta(a, b), with (1 - mass)/2 on either side.

    >>> beta_interval(0.5, 1, [1, 1])
    (array([0.25, 0.25]), array([0.75, 0.75]))
    """
    a, b = broadcast(a, b)
    tail = (1.0 - mass) / 2
    if FEW_IN_PYTHON < 2 * a.size < FEW_QUANTILES:
        return scipy_low(tail, a, b), scipy_high(tail, a, b)
    from credo._kernels.numerics.beta import beta_interval_chunk

    def fill(a: Array, b: Array, low: Array, high: Array) -> None:
        beta_interval_chunk(tail, a, b, low, high)
        rest = np.isnan(low) | np.isnan(high)
        if rest.any():
            low[rest], high[rest] = scipy_low(tail, a[rest], b[rest]), scipy_high(tail, a[rest], b[rest])

    low, high = filled(fill, (a, b), outputs=2)
    return low, high


def gamma_quantile(p: ArrayLike, shape: ArrayLike) -> Array:
    """The p-quantile x of Gamma(shape, rate 1): P(shape, x) = p.

    >>> gamma_quantile([0, 0.5], 1).round(4)
    array([0.    , 0.6931])
    """
    from scipy.special import gammaincinv

    def fill(p: Array, shape: Array, out: Array) -> None:
        gammaincinv(shape, p, out=out)

    return filled(fill, broadcast(p, shape))[0]


def scipy_low(tail: float | Array, a: Array, b: Array) -> Array:
    """The quantile with this tail below it, by SciPy."""
    from scipy.special import betaincinv

    return corrected(betaincinv, tail, a, b)


def scipy_high(tail: float | Array, a: Array, b: Array) -> Array:
    """The quantile with this tail above it, by SciPy."""
    from scipy.special import betainccinv

    return corrected(betainccinv, tail, a, b)


def corrected(inverse: Callable[..., ArrayLike], tail: float | Array, a: Array, b: Array) -> Array:
    """SciPy's quantile, corrected for three errors of SciPy 1.17.

    For whole a and b SciPy sums a binomial, which loses up to ten digits for large ones: their last bit is changed. A
    quantile below the smallest normal number is 0. The median for a = b can be off by 3e-8: it is ½.
    """
    large = np.maximum(a, b) > 1e4
    x = np.asarray(inverse(*(np.where(large, np.nextafter(v, np.inf), v) for v in (a, b)), tail), dtype=np.float64)
    x = np.where(x <= np.finfo(np.float64).tiny, 0.0, x)
    return np.where((a == b) & (np.asarray(tail) == 0.5) & ~np.isnan(x), 0.5, x)


def broadcast(*values: ArrayLike) -> tuple[Array, ...]:
    return np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values))


def filled(fill: Callable[..., None], inputs: tuple[Array, ...], outputs: int = 1) -> tuple[Array, ...]:
    """Arrays of the inputs' shape, whose chunks fill(*inputs, *outputs) fills on threads."""
    shape, size = inputs[0].shape, inputs[0].size
    flat = [array.reshape(-1) for array in inputs]
    results = tuple(np.empty(size) for _ in range(outputs))

    def work(start: int) -> None:
        part = slice(start, start + THREAD_QUANTILES)
        # Copies: the kernels are compiled once, for arrays that are contiguous and writeable.
        fill(*(array[part].copy() for array in flat), *(array[part] for array in results))

    if size <= THREAD_QUANTILES:
        work(0)
    else:
        with ThreadPoolExecutor(workers()) as pool:
            list(pool.map(work, range(0, size, THREAD_QUANTILES)))
    return tuple(array.reshape(shape) for array in results)


def log_gamma_ratio(shape: Array) -> Array:
    """log Γ(a + ½)/Γ(a), by a series where a difference of log Γ would lose digits."""
    a = np.maximum(shape, RATIO_FROM)
    series = 0.5 * np.log(a) - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5) + 17 / (14336 * a**7)
    return np.where(shape > RATIO_FROM, series, _log_gamma_difference(np.minimum(shape, RATIO_FROM), 0.5))


def log_rising(z: Array, x: Array | float) -> Array:
    """log Γ(z + x)/Γ(z) = log z(z + 1)...(z + x - 1), without the loss of digits in a difference of log Γ.

    >>> log_rising(np.array([2.0]), 3).round(6)  # log 2·3·4
    array([3.178054])
    """
    z = np.maximum(z, 1e-300)
    if (small := z < STIRLING_FROM).all():
        return _log_gamma_difference(z, x)
    large = np.maximum(z, STIRLING_FROM)
    high = large + x
    series = (large - 0.5) * np.log1p(x / large) + x * np.log(high) - x
    series += (1 / high - 1 / large) / 12 - (1 / high**3 - 1 / large**3) / 360
    if not small.any():
        return np.asarray(series)
    return np.where(small, _log_gamma_difference(np.where(small, z, 1.0), x), series)


def _log_gamma_difference(z: Array, x: Array | float) -> Array:
    """log Γ(z + x) - log Γ(z)."""
    both = log_gamma(np.stack(np.broadcast_arrays(z + x, z)))
    return np.asarray(both[0] - both[1])


def log_gamma(x: ArrayLike) -> Array:
    """log Γ(x), x ≥ 0, by Stirling's series, from Γ(x) = Γ(x + 8)/x(x + 1)...(x + 7) where x is small.

    It agrees with SciPy's to 1e-14 of the larger of 1 and the value. Importing SciPy takes longer than learning a small
    table.

    >>> log_gamma(np.array([0.5, 5.0])).round(6)  # log √π, log 24
    array([0.572365, 3.178054])
    """
    x = np.asarray(x, dtype=np.float64)
    low = x < STIRLING_SHIFT
    z = np.where(low, x + STIRLING_SHIFT, x)
    inverse = 1 / z
    square, series = inverse * inverse, np.full(z.shape, STIRLING_TERMS[-1])
    for coefficient in STIRLING_TERMS[-2::-1]:
        series *= square
        series += coefficient
    series *= inverse
    found = (z - 0.5) * np.log(z) - z + (HALF_LOG_2PI + series)
    if low.any():
        pair = np.where(low, x * (x + 7), 1.0)  # (x + 1)(x + 6) is 6 more, ...
        with np.errstate(divide="ignore"):  # Γ(0) = ∞
            found -= np.where(low, np.log(pair * (pair + 6) * (pair + 10) * (pair + 12)), 0.0)
    return np.asarray(found)
