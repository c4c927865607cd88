"""One row at a time: cells counted, and log-likelihoods straight from sums that are kept in pairs (numerics.exact)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.blocks.gaussians import count_beyond
from credo._kernels.core.sums import ALIKE, FAINT, add_moments_hard, add_products_hard, add_sums_hard
from credo._kernels.jit import at_once, kernel

Array = NDArray[np.float64]
Cells = NDArray[np.int64]
Pair = tuple[float, float]

# A caller that comes for every row can't wait for a kernel that asks each time whether it is compiled.
count_beyond_now = at_once(count_beyond)
add_sums_now = at_once(add_sums_hard)
add_moments_now = at_once(add_moments_hard)
add_products_now = at_once(add_products_hard)


@kernel
def add_moments_of_row(x: Array, k: int, w: float, sums: Array) -> None:
    """sums (3, 3, classes, columns), each of three floats, += w (1, xⱼ, xⱼ²) at class k, over the cells that aren't
    NaN."""
    add_moments_now(x, np.full(1, k), np.full(1, w), sums[0], sums[1], sums[2])


@kernel
def add_products_of_row(x: Array, k: int, w: float, sums: Array) -> None:
    """sums (2, classes, columns, columns), high and low, += w x x′ at class k, the lower triangle."""
    add_products_now(x, np.full(1, k), np.full(1, w), sums[0], sums[1])


@kernel
def count_cells(cells: Cells, k: int, w: float, counts: Array, weights: Array, totals: Array) -> None:
    """The first two counts (3, cells, classes), a pair, and totals (columns, classes) += w at class k.

    weights (cells,) are of all classes together. Column j's cell is cellsⱼ, none where that is negative.
    """
    for j in range(len(cells)):
        v = cells[j]
        if v < 0:
            continue
        old = counts[0, v, k]
        new = old + w
        step = new - old
        counts[1, v, k] += (old - (new - step)) + (w - step)
        counts[0, v, k] = new
        weights[v] += w
        totals[j, k] += w


@kernel
def add_cells_of_row(cells: Cells, counts: Array, totals: Array, levels: Array, smoothing: float, out: Array) -> None:
    """out (classes) += Σⱼ log (n + l)/(N + l J): counts (3, cells, classes) add up to n, J is levelsⱼ."""
    for j in range(len(cells)):
        v = cells[j]
        if v < 0:
            continue
        for k in range(len(out)):
            total = totals[j, k] + smoothing * levels[j]
            n = counts[0, v, k] + counts[1, v, k] + counts[2, v, k]
            out[k] += math.log((n + smoothing) / total if total > 0 else 1.0 / levels[j])


@kernel
def add_bins_of_row(
    x: Array,
    values: Array,
    cells: Cells,
    ends: Cells,
    counts: Array,
    weights: Array,
    totals: Array,
    most: Array,
    smoothing: float,
    out: Array,
) -> None:
    """out (classes) += Σⱼ log (n + l)/(N + l J) of the bin that xⱼ falls into, J being the number of column j's bins.

    values ascend in each column, up to its end; cells are theirs. A value is in bin ⌊c·B/n⌋, where c is the weight of
    the smaller ones and B is mostⱼ; a bin reaches from its first value to that of the next.
    """
    start = 0
    for j in range(len(x)):
        stop, n = ends[j], totals[j].sum()
        bins, last, below, first, past = 0, -1.0, 0.0, start, stop
        for i in range(start, stop if x[j] == x[j] and n > 0.0 else start):
            place = math.floor(below * most[j] / n)
            if place != last:
                bins, last = bins + 1, place
                if bins == 1 or values[i] <= x[j]:
                    first = i
                elif past == stop:
                    past = i
            below += weights[cells[i]]
        for k in range(len(out) if bins else 0):
            total, inside = totals[j, k] + smoothing * bins, smoothing
            for i in range(first, past):
                v = cells[i]
                inside += counts[0, v, k] + counts[1, v, k] + counts[2, v, k]
            out[k] += math.log(inside / total if total > 0 else 1.0 / bins)
        start = stop


@kernel
def two_sum(a: float, b: float) -> Pair:
    """a + b, and what rounding left out of it."""
    total = a + b
    step = total - a
    return total, (a - (total - step)) + (b - step)


@kernel
def two_product(a: float, b: float) -> Pair:
    """a · b, and what rounding left out of it."""
    product = a * b
    cut = 134217729.0 * a
    a_high = cut - (cut - a)
    cut = 134217729.0 * b
    b_high = cut - (cut - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def sum_pairs(a: float, b: float, c: float, d: float) -> Pair:
    """(a + b) + (c + d)"""
    high, error = two_sum(a, c)
    low, rest = two_sum(b, d)
    high, error = two_sum(high, error + low)
    return two_sum(high, error + rest)


@kernel
def multiply_pairs(a: float, b: float, c: float, d: float) -> Pair:
    """(a + b)(c + d)"""
    high, error = two_product(a, c)
    return two_sum(high, error + (a * d + b * c))


@kernel
def divide_pairs(a: float, b: float, c: float, d: float) -> Pair:
    """(a + b)/(c + d), 0 where that is an average over no rows."""
    if c == 0.0:
        return 0.0, 0.0
    first = a / c
    p, q = multiply_pairs(c, d, first, 0.0)
    p, q = sum_pairs(a, b, -p, -q)
    return two_sum(first, (p + q) / c)


@kernel
def mean_and_scatter(
    n: float, n_low: float, x: float, x_low: float, s: float, s_low: float
) -> tuple[float, float, float]:
    """The mean as a pair, and Σ(x - mean)² = Σx² - (Σx)²/n, of sums in pairs; 0 where that is rounding."""
    mean, mean_low = divide_pairs(x, x_low, n, n_low)
    p, q = multiply_pairs(x, x_low, mean, mean_low)
    p, q = sum_pairs(s, s_low, -p, -q)
    return mean, mean_low, p + q if p + q > max(FAINT, ALIKE * s) else 0.0


@kernel
def log_gamma_ratio(a: float) -> float:
    """log Γ(a + ½)/Γ(a), by its series where a difference of the two would lose digits."""
    if a > 20.0:
        series = 0.5 * math.log(a) - 1.0 / (8.0 * a) + 1.0 / (192.0 * a**3) - 1.0 / (640.0 * a**5)
        return series + 17.0 / (14336.0 * a**7)
    return math.lgamma(a + 0.5) - math.lgamma(a)


@kernel
def sum_up_class(
    k: int, before: Array, since: Array, strength: float, pooled: Array, total: Array, known: Array
) -> None:
    """What class k's sums come to: total = before + since, known = n, mean (a pair), scatter and log Γ(a + ½)/Γ(a).

    before and total (2, 3, classes, columns) are pairs of n, Σx and Σx², since (3, 3, classes, columns) has three
    floats of each; pooled (2, 3, columns) gains what the class has gained. known (5, classes, columns).
    a = 1 + (s + n)/2, s being the strength.
    """
    last, ratio = -1.0, 0.0
    for j in range(total.shape[3]):
        for m in range(3):
            p, q = two_sum(since[0, m, k, j], since[1, m, k, j])
            p, q = two_sum(p, q + since[2, m, k, j])
            p, q = sum_pairs(before[0, m, k, j], before[1, m, k, j], p, q)
            u, v = sum_pairs(p, q, -total[0, m, k, j], -total[1, m, k, j])
            pooled[0, m, j], pooled[1, m, j] = sum_pairs(pooled[0, m, j], pooled[1, m, j], u, v)
            total[0, m, k, j], total[1, m, k, j] = p, q
        own = total[:, :, k, j]
        n = own[0, 0] + own[1, 0]
        if n != last:
            last, ratio = n, log_gamma_ratio(1.0 + 0.5 * (strength + n))
        mean, rest, scatter = mean_and_scatter(own[0, 0], own[1, 0], own[0, 1], own[1, 1], own[0, 2], own[1, 2])
        known[0, k, j], known[1, k, j], known[2, k, j], known[3, k, j], known[4, k, j] = n, mean, rest, scatter, ratio


@kernel
def add_students_of_row(x: Array, pooled: Array, known: Array, strength: float, out: Array) -> None:
    """out (classes) += Σⱼ log p(xⱼ | class): Student's t, as NumbersLikelihood has it.

    The prior is worth `strength` rows of all classes' mean and variance; numbers are taken relative to that mean.
    """
    for j in range(x.shape[1]):
        v = x[0, j]
        if v != v:
            continue
        n = pooled[0, 0, j] + pooled[1, 0, j]
        shift, rest, scatter = mean_and_scatter(
            pooled[0, 0, j], pooled[1, 0, j], pooled[0, 1, j], pooled[1, 1, j], pooled[0, 2, j], pooled[1, 2, j]
        )
        if not scatter > 0.0:
            continue
        z = v - shift
        for k in range(len(out)):
            nk, after, centre, scale = known[0, k, j], strength + known[0, k, j], rest, strength * scatter / n
            if nk > 0.0:
                p, q = two_sum(known[1, k, j], -shift)
                p += q + known[2, k, j]
                away = rest - p
                centre = p + strength / after * away
                scale += known[3, k, j] + strength * nk / after * away * away
            inverse = after / ((after + 1.0) * scale)
            away = abs(z - centre)
            near = 1.0 + inverse * away * away
            log_near = math.log(near) if near < math.inf else math.log(inverse) + 2.0 * math.log(away)
            peak = known[4, k, j] + 0.5 * math.log(inverse / math.pi)
            out[k] += peak - (1.5 + 0.5 * after) * log_near


@kernel
def to_shares(log_joint: Array, begun: Array, biases: Array, noise: Array) -> bool:
    """What is said of the classes becomes their shares, with label noise; False if none is possible. Where
    nothing was said since it was begun, biases don't count."""
    said = False
    for k in range(len(log_joint)):
        said = said or log_joint[k] != begun[k]
    for k in range(len(log_joint)):
        log_joint[k] -= 0.0 if said else biases[k]
    top, total, rest = log_joint[0], 0.0, 1.0
    for k in range(len(log_joint)):
        top = max(top, log_joint[k])
        rest -= noise[k]
    if top == -math.inf:
        return False
    for k in range(len(log_joint)):
        log_joint[k] = math.exp(log_joint[k] - top)
        total += log_joint[k]
    for k in range(len(log_joint)):
        log_joint[k] = rest * log_joint[k] / total + noise[k]
    return True
