"""Quantiles of many Betas: a guess, one evaluation of the tail, and one step of fifth order; rarely a second one.

With odds w = x/y, y = 1 - x and c = a + b, all is smooth in t = log w, however small x is:

    dI/dt = R = xᵃ yᵇ / B(a, b),    dR/dt = R g,    g = a y - b x,    dg/dt = -c x y.

Callers keep p ≤ ½, since the quantiles of p under (a, b) and of 1 - p under (b, a) sum to 1. Accurate for ½ ≤ a, b ≤
1e10; elsewhere, and if no root is found, the result is NaN, and SciPy's betaincinv is used.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.arrays import Array
from credo._kernels.jit import late_kernel, late_kernel_of
from credo._kernels.numerics.gamma import stirling_error

SMALLEST_SHAPE, LARGEST_SHAPE = 0.5, 1e10  # a and b for which quantiles are computed here
QUANTILE_STEPS = 400.0  # steps of plain Python for a quantile
RECIPROCALS = 1.0 / np.arange(1.0, 130.0)


@late_kernel
def slope_at_mean(a: float, b: float) -> float:
    """R at x = a/c: √(ab / 2πc) · exp(Δ(c) - Δ(a) - Δ(b)), without cancellation of large log Γ."""
    c = a + b
    error = stirling_error(c) - stirling_error(a) - stirling_error(b)
    return math.sqrt(a / c * b * (0.5 / math.pi)) * math.exp(error)


@late_kernel
def slope(a: float, b: float, x: float, y: float, g: float, peak: float) -> float:
    """R = peak · (xc/a)ᵃ (yc/b)ᵇ, where xc/a = 1 - g/a and yc/b = 1 + g/b."""
    c, u, v = a + b, g / a, g / b
    left = math.log1p(-u) if abs(u) < 0.5 else math.log(x * c / a)
    right = math.log1p(v) if abs(v) < 0.5 else math.log(y * c / b)
    return peak * math.exp(a * left + b * right)


@late_kernel
def tail_fraction(a: float, b: float, x: float, y: float, g: float) -> float:
    """I/R for x below the mean: DiDonato & Morris's continued fraction 1/(β₀ + α₁/(β₁ + α₂/(β₂ + …))).

    αₙ = (a+n-1)(c+n-1) n (b-n) x² / (a+2n-1)²,    βₙ = n + n(b-n)x / (a+2n-1) + (a+n)(g+1+n(1+y)) / (a+2n+1).
    """
    c = a + b
    r = 1.0 / (a + 1.0)
    above, below = 1.0, (g + 1.0) * a * r
    above_before, below_before = 0.0, 1.0
    n = 0.0
    while n < 400.0:
        for _ in range(2):  # convergence is checked at every second term
            n += 1.0
            s = n * (b - n) * x * r
            alpha = (a + n - 1.0) * (c + n - 1.0) * (x * r) * s
            r = 1.0 / (a + n + n + 1.0)
            beta = n + s + (a + n) * (g + 1.0 + n * (1.0 + y)) * r
            above, above_before = beta * above + alpha * above_before, above
            below, below_before = beta * below + alpha * below_before, below
        crossed = above * below_before
        if abs(crossed - above_before * below) <= 1e-15 * crossed:
            return above / below
        if below > 1e140:
            above, above_before = above * 1e-140, above_before * 1e-140
            below, below_before = below * 1e-140, below_before * 1e-140
    return math.nan


@late_kernel
def tail_from_mean(a: float, b: float, x: float, y: float, g: float, peak: float) -> tuple[float, float]:
    """(I, R) for large a and b: I at the mean by Laplace's method, then by the density's Taylor series.

    In s = (x - a/c) / √(ab/c³) the density is Σ fₙ sⁿ with fₙ₊₁ = -κ fₙ - (1/(n+1) - 1/c) fₙ₋₁, κ = (b-a) / √(abc), and
    I(mean) = ½ + peak τ (b-a)/c · (1/3 + (4τ+2ρ)/135 - (8τ²-4τρ-4ρ²)/2835 - …) with τ = c/ab, ρ = 1/c.
    """
    rho = 1.0 / (a + b)
    width = math.sqrt(a * rho * b)
    tau = 1.0 / (width * width)
    skew = (b - a) * rho
    s = -g / width
    drift, square = -skew / width * s, s * s
    before, term = 1.0, drift  # fₙ sⁿ
    density, area = 1.0 + term, 1.0 + 0.5 * term
    n = 1
    while n < 120 and abs(before) + abs(term) > 1e-17:
        for _ in range(2):
            before, term = term, drift * term - square * (RECIPROCALS[n] - rho) * before
            n += 1
            density += term
            area += term * RECIPROCALS[n]
    second = (4.0 * tau + 2.0 * rho) * (1 / 135)
    third = (8.0 * tau * tau - 4.0 * tau * rho - 4.0 * rho * rho) * (1 / 2835)
    fourth = (16.0 * tau - 24.0 * rho) * tau * tau + 8.0 * rho * rho * rho
    middle = 0.5 + peak * tau * skew * (1 / 3 + second - third - fourth * (1 / 8505))
    return middle + peak / width * s * area, peak * density * (x * y * tau / rho)


@late_kernel
def normal_quantile(p: float) -> float:
    """z with Φ(z) = p for p ≤ ½, within 5e-4 (Abramowitz & Stegun 26.2.23), for guesses."""
    s = math.sqrt(-2.0 * math.log(p))
    above = 2.515517 + s * (0.802853 + s * 0.010328)
    return above / (1.0 + s * (1.432788 + s * (0.189269 + s * 0.001308))) - s


@late_kernel
def guess_central(z: float, a: float, b: float) -> float:
    """Odds from the Cornish-Fisher series of log odds, whose cumulants are κₙ = ψ⁽ⁿ⁻¹⁾(a) + (-1)ⁿ ψ⁽ⁿ⁻¹⁾(b)."""
    i, j = 1.0 / (a - 0.5), 1.0 / (b - 0.5)
    ii, jj = i * i, j * j
    spread = i * (1.0 - ii * (1 / 12)) + j * (1.0 - jj * (1 / 12))
    sd = math.sqrt(spread)
    r = 1.0 / spread
    third = (jj * (1.0 - 0.25 * jj) - ii * (1.0 - 0.25 * ii)) * r / sd
    fourth = (i * ii * (2.0 - ii) + j * jj * (2.0 - jj)) * r * r
    fifth = 6.0 * (jj * jj - ii * ii) * r * r / sd
    zz = z * z
    w = z + third * (zz - 1.0) * (1 / 6)
    w += z * (fourth * (zz - 3.0) * (1 / 24) - third * third * (2.0 * zz - 5.0) * (1 / 36))
    w += fifth * ((zz - 6.0) * zz + 3.0) * (1 / 120) - third * fourth * ((zz - 5.0) * zz + 2.0) * (1 / 24)
    w += third * third * third * ((12.0 * zz - 53.0) * zz + 17.0) * (1 / 324)
    return j / i * math.exp(sd * w + (ii - jj) * (1 / 24))


@late_kernel
def guess_power(p: float, a: float, b: float, peak: float) -> float:
    """Odds where I ≈ xᵃ / aB: x = s (1 + q + …), sᵃ = p a B, q = s (b-1) / (a+1); 0 where that is inaccurate."""
    c = a + b
    s = math.exp((math.log(p * a / peak) - b * math.log1p(a / b)) / a) * a / c
    q = s * (b - 1.0) / (a + 1.0)
    x = s + s * q + s * s * q * (a * a + 3.0 * a * b - a + 5.0 * b - 4.0) / (2.0 * (a + 1.0) * (a + 2.0))
    return x / (1.0 - x) if q < 0.25 and x < 0.99 else 0.0


@late_kernel
def guess_cube(z: float, a: float, b: float) -> float:
    """Odds a/b · f³, where f is the ratio of two nearly normal cube roots (Paulson, Wilson & Hilferty)."""
    u, v = 1.0 / (9.0 * a), 1.0 / (9.0 * b)
    under = u * (1.0 - v) * (1.0 - v) + v * (1.0 - u) * (1.0 - u) - z * z * u * v
    above = (1.0 - u) * (1.0 - u) - z * z * u
    f = above / ((1.0 - u) * (1.0 - v) - z * math.sqrt(max(under, 0.0)))
    return a / b * max(f * f * f, 1e-3)


@late_kernel
def step_to(p: float, a: float, b: float, x: float, y: float, g: float, below: float, r: float) -> tuple[float, float]:
    """(h, error) with I(t + h) = p: the inverse of log I as a series in v = log(p / I) up to v⁵, with m = I/R."""
    m, v = below / r, math.log(p / below)
    if abs(v) > 0.5:
        return max(min(m * v, 3.0), -30.0), 1.0  # log I is concave in t, so Newton's method converges
    n, k, u = g * m, (a + b) * x * y * m * m, (y - x) * m
    s = 1.0 - n
    third = s * (1.0 - 2.0 * n) + k
    fourth = s * (1.0 - 6.0 * n * s) + k * (6.0 - 7.0 * n + u)
    mixed = 7.0 * k - 2.0 * x * y * m * m + (46.0 * n - 11.0 * u - 70.0) * n + (u + 10.0) * u + 25.0
    fifth = s * (1.0 - 2.0 * n) * (1.0 - 12.0 * n * s) + k * mixed
    series = 1.0 + v * (0.5 * s + v * (third * (1 / 6) + v * (fourth * (1 / 24) + v * fifth * (1 / 120))))
    cube = v * v * v
    return m * v * series, m * cube * cube * (1.0 + abs(fifth))


@late_kernel
def solve_odds(p: float, z: float, a: float, b: float, peak: float) -> float:
    """w = x/y with I = p, for p ≤ ½."""
    least = min(a, b)
    w = 0.0
    if least >= max(3.0, 0.1 * z * z):
        w = guess_central(z, a, b)
    elif a < 3.0 or z < -5.0:
        w = guess_power(p, a, b, peak)
    if w == 0.0:
        w = guess_cube(z, a, b)
    for _ in range(12):
        y = 1.0 / (1.0 + w)
        x = w * y
        g = a * y - b * x
        if least >= 600.0 and g * g * (a + b) < 6.25 * a * b:
            below, r = tail_from_mean(a, b, x, y, g, peak)
        else:
            r = slope(a, b, x, y, g, peak)
            below = r * tail_fraction(a, b, x, y, g) if g >= x - y else 1.0 - r * tail_fraction(b, a, y, x, -g)
        if not (below > 0.0 and r > 0.0):
            break
        h, error = step_to(p, a, b, x, y, g, below, r)
        w *= math.exp(h)
        if error < 1e-14:
            return w
    return math.nan


@late_kernel_of(lambda p, *_: QUANTILE_STEPS * len(p))
def beta_quantile_chunk(p: Array, a: Array, b: Array, out: Array) -> None:
    """out = x with I_x(a, b) = p; NaN where SciPy is needed."""
    last, z = 0.0, 0.0
    for i in range(len(p)):
        tail = min(p[i], 1.0 - p[i])
        out[i] = math.nan
        if not (tail > 0.0 and SMALLEST_SHAPE <= a[i] <= LARGEST_SHAPE and SMALLEST_SHAPE <= b[i] <= LARGEST_SHAPE):
            continue
        if tail != last:
            last, z = tail, normal_quantile(tail)
        peak = slope_at_mean(a[i], b[i])
        if p[i] <= 0.5:
            w = solve_odds(tail, z, a[i], b[i], peak)
            out[i] = w / (1.0 + w)
        else:
            out[i] = 1.0 / (1.0 + solve_odds(tail, z, b[i], a[i], peak))


@late_kernel_of(lambda _, a, *__: 2.0 * QUANTILE_STEPS * len(a))
def beta_interval_chunk(tail: float, a: Array, b: Array, low: Array, high: Array) -> None:
    """low, high = the quantiles of tail and 1 - tail, for tail ≤ ½; NaN where SciPy is needed."""
    z = normal_quantile(tail) if tail > 0.0 else 0.0
    for i in range(len(a)):
        low[i] = high[i] = math.nan
        if not (tail > 0.0 and SMALLEST_SHAPE <= a[i] <= LARGEST_SHAPE and SMALLEST_SHAPE <= b[i] <= LARGEST_SHAPE):
            continue
        peak = slope_at_mean(a[i], b[i])
        w = solve_odds(tail, z, a[i], b[i], peak)
        low[i] = w / (1.0 + w)
        high[i] = 1.0 / (1.0 + solve_odds(tail, z, b[i], a[i], peak))
