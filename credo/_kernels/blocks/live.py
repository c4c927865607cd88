"""One row at a time: counts of cells, and log-likelihoods from counts and moments."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array
from credo._kernels.blocks.gaussians import count_beyond
from credo._kernels.core.sums import (
    EQUAL_SCATTER,
    SCATTER_UNDERFLOW,
    add_moments_hard,
    add_products_hard,
    add_sums_hard,
)
from credo._kernels.jit import at_once, kernel

CellCodes = NDArray[np.int64]
Pair = tuple[float, float]

# Kernels that are called for every row are compiled at once: checking whether they are takes too long.
count_beyond_now = at_once(count_beyond)
add_sums_now = at_once(add_sums_hard)
add_moments_now = at_once(add_moments_hard)
add_products_now = at_once(add_products_hard)


@kernel
def add_moments_of_row(x: Array, k: int, w: float, sums: Array, shift: Array, moments: Array) -> None:
    """sums (3, 3, classes, columns), each of three floats, += w (1, xⱼ, xⱼ²) at class k, over the cells that aren't
    NaN. moments (3, 1 + classes, columns) are n, mean and scatter of x - shift, for all classes and for each:
    n′ = n + w, mean′ = mean + w d/n′ with d = x - mean, scatter′ = scatter + w d (x - mean′) (Welford 1962; West 1979).
    """
    add_moments_now(x, np.full(1, k), np.full(1, w), sums[0], sums[1], sums[2])
    for j in range(x.shape[1]):
        if x[0, j] != x[0, j]:
            continue
        if moments[0, 0, j] == 0.0:
            shift[j] = x[0, j]
        z = x[0, j] - shift[j]
        for row in (0, k + 1):
            n = moments[0, row, j] + w
            away = z - moments[1, row, j]
            moments[0, row, j] = n
            moments[1, row, j] += w * away / n
            moments[2, row, j] += w * away * (z - moments[1, row, j])


@kernel
def add_products_of_row(x: Array, k: int, w: float, sums: Array) -> None:
    """sums (2, classes, columns, columns), high and low, += w x x′ at class k, the lower triangle."""
    add_products_now(x, np.full(1, k), np.full(1, w), sums[0], sums[1])


@kernel
def count_cells(cells: CellCodes, k: int, w: float, counts: Array, weights: Array, totals: Array) -> None:
    """The first two counts (3, cells, classes), a pair, and totals (columns, classes) += w at class k.

    weights (cells,) are those of all classes. Column j's cell is cellsⱼ; a negative one is missing.
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
def add_cells_of_row(
    cells: CellCodes, counts: Array, totals: Array, levels: Array, smoothing: float, out: Array
) -> None:
    """out (classes) += Σⱼ log (n + l)/(N + l J): counts (3, cells, classes) sum to n, and J is levelsⱼ."""
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
    cells: CellCodes,
    ends: CellCodes,
    counts: Array,
    weights: Array,
    totals: Array,
    most: Array,
    smoothing: float,
    out: Array,
) -> None:
    """out (classes) += Σⱼ log (n + l)/(N + l J) of the bin of xⱼ, where column j has J bins.

    values ascend in each column, up to its end; cells are theirs. A value is in bin ⌊c·B/n⌋, where c is the weight of
    the smaller ones and B is mostⱼ; a bin extends from its first value to that of the next.
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
    """a + b, and its rounding error."""
    total = a + b
    step = total - a
    return total, (a - (total - step)) + (b - step)


@kernel
def log_gamma_ratio(a: float) -> float:
    """log Γ(a + ½)/Γ(a), by a series where a difference of log Γ would lose digits."""
    if a > 20.0:
        series = 0.5 * math.log(a) - 1.0 / (8.0 * a) + 1.0 / (192.0 * a**3) - 1.0 / (640.0 * a**5)
        return series + 17.0 / (14336.0 * a**7)
    return math.lgamma(a + 0.5) - math.lgamma(a)


@kernel
def add_students_of_row(x: Array, shift: Array, moments: Array, strength: float, out: Array) -> None:
    """out (classes) += Σⱼ log p(xⱼ | class): Student's t, as in NumbersLikelihood, from the moments of
    `add_moments_of_row`.

    The prior has the pooled mean and variance and a strength in rows; a column without variance is ignored.
    """
    for k in range(len(out)):
        last, ratio = -1.0, 0.0
        for j in range(x.shape[1]):
            z, n, centre, scatter = x[0, j] - shift[j], moments[0, 0, j], moments[1, 0, j], moments[2, 0, j]
            if not (
                z == z and scatter > max(SCATTER_UNDERFLOW, EQUAL_SCATTER * (scatter + n * (shift[j] + centre) ** 2))
            ):
                continue
            own, scale = moments[0, k + 1, j], strength * scatter / n
            after = strength + own
            if own > 0.0:
                away = centre - moments[1, k + 1, j]
                centre = moments[1, k + 1, j] + strength / after * away
                scale += moments[2, k + 1, j] + strength * own / after * away * away
            if own != last:
                last, ratio = own, log_gamma_ratio(1.0 + 0.5 * after)
            inverse = after / ((after + 1.0) * scale)
            away = abs(z - centre)
            near = 1.0 + inverse * away * away
            log_near = math.log(near) if near < math.inf else math.log(inverse) + 2.0 * math.log(away)
            out[k] += ratio + 0.5 * math.log(inverse / math.pi) - (1.5 + 0.5 * after) * log_near


@kernel
def to_shares(log_joint: Array, begun: Array, biases: Array, noise: Array) -> bool:
    """log_joint = P(class | row) under label noise. The result is False if no class is possible. Biases are ignored if
    no cell contributed (log_joint equals begun)."""
    counted = False
    for k in range(len(log_joint)):
        counted = counted or log_joint[k] != begun[k]
    for k in range(len(log_joint)):
        log_joint[k] -= 0.0 if counted else biases[k]
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
