"""log Γ by Stirling's series, with the same bits compiled or not: lgamma of Python and of C differ in the last bits.

For small a, Γ(a) = Γ(a + m) / (a (a + 1) … (a + m - 1)).
"""

from __future__ import annotations

import math

from credo._kernels.jit import late_kernel

HALF_LOG_2PI = 0.9189385332046728
SERIES_FROM = 7.0  # above this, the series is exact to the last digits


@late_kernel
def stirling_series(a: float) -> float:
    """Δ(a) = log Γ(a) - (a - ½) log a + a - ½ log 2π = 1/12a - 1/360a³ + … for large a."""
    r = 1.0 / a
    s = r * r
    tail = -691 / 360360 + s * (1 / 156 + s * (-3617 / 122400 + s * (43867 / 244188)))
    return r * (1 / 12 + s * (-1 / 360 + s * (1 / 1260 + s * (-1 / 1680 + s * (1 / 1188 + s * tail)))))


@late_kernel
def stirling_step(a: float) -> float:
    """Δ(a) - Δ(a + 1) = (a + ½) log(1 + 1/a) - 1; for a ≥ 2, u²/3 + u⁴/5 + … with u = 1/(2a + 1)."""
    if a < 2.0:
        return (a + 0.5) * math.log1p(1.0 / a) - 1.0
    u = 1.0 / (a + a + 1.0)
    s = u * u
    tail = 1 / 15 + s * (1 / 17 + s * (1 / 19 + s * (1 / 21 + s * (1 / 23))))
    return s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s * (1 / 11 + s * (1 / 13 + s * tail))))))


@late_kernel
def stirling_error(a: float) -> float:
    """Δ(a) for any a > 0, without cancellation of large logarithms."""
    steps = 0.0
    while a < SERIES_FROM:
        steps += stirling_step(a)
        a += 1.0
    return steps + stirling_series(a)


@late_kernel
def log_gamma(a: float) -> float:
    """log Γ(a) for a > 0."""
    shifted, product = a, 1.0
    while shifted < SERIES_FROM:
        product *= shifted
        shifted += 1.0
    found = (shifted - 0.5) * math.log(shifted) - shifted + HALF_LOG_2PI + stirling_series(shifted)
    return found if product == 1.0 else found - math.log(product)
