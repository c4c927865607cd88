"""EM's E-step of rows of numbers with hidden groups in one pass: log-densities, responsibilities and their sums.

A column-major tile of rows stays in the processor's cache for all three. In units of a group's deviations,
zᵢₖⱼ = scaleₖⱼ xᵢⱼ - centreₖⱼ, a density takes two operations per cell. Sums are about points near the groups' means, so
that plain floats suffice. Groups are passed by position: slicing an array takes as long as a few rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array, Codes
from credo._kernels.core.soft_sums import SOFT_TILE, TILE_PADDING, add_tile_products
from credo._kernels.jit import contracting_kernel, fast_kernel

Bits = NDArray[np.int64]

NEAR_SHIFT = 30.0  # deviations from the shift, times √½, within which a variance loses at most three digits
SMALLEST_NORMAL_EXPONENT = -708.0  # below this, exp isn't a normal number: 0
ROUNDER = 1.5 * 2.0**52  # added to a small number, it gives the nearest integer in the last bits
PER_LOG2, LOG2, LOG2_REST = 1 / math.log(2), 6.93147180369123816490e-01, 1.90821492927058770002e-10
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13 = (1 / math.factorial(i) for i in range(2, 14))


@contracting_kernel
def exponentiate(logs: Array, k: int, base: Array, total: Array, power: Array, bits: Bits) -> None:
    """logs[k] = exp(logs[k] - base) of a tile, to the last bit or two, and total += these: exp(n log 2 + r) = 2ⁿ (1 + r
    + r²/2 + ...). No exponent is above 0. It vectorises, unlike calls of exp. bits are those of power, which is
    scratch."""
    for r in range(SOFT_TILE):
        power[r] = max(logs[k, r] - base[r], SMALLEST_NORMAL_EXPONENT) * PER_LOG2 + ROUNDER
    for r in range(SOFT_TILE):
        n, v = power[r] - ROUNDER, logs[k, r] - base[r]
        s = max(v, SMALLEST_NORMAL_EXPONENT) - n * LOG2 - n * LOG2_REST
        p = E10 + s * (E11 + s * (E12 + s * E13))
        p = E6 + s * (E7 + s * (E8 + s * (E9 + s * p)))
        p = E2 + s * (E3 + s * (E4 + s * (E5 + s * p)))
        logs[k, r] = 1.0 + s * (1.0 + s * p) if v >= SMALLEST_NORMAL_EXPONENT else 0.0
    for r in range(SOFT_TILE):
        bits[r] = (bits[r] + 1023) << 52
    for r in range(SOFT_TILE):
        v = logs[k, r] * power[r]
        logs[k, r] = v
        total[r] += v


@fast_kernel
def turn_rows(x: Array, start: int, size: int, shift: Array, cells: Array) -> bool:
    """cells (columns, tile) = rows - shift. The result is whether none is NaN."""
    whole = True
    for r in range(size):
        for j in range(len(shift)):
            v = x[start + r, j] - shift[j]
            cells[j, r] = v
            whole &= v == v
    return whole


@fast_kernel
def take_squares(cells: Array, scale: Array, centre: Array, k: int, peak: float, logs: Array) -> None:
    """logs[k] = peak - Σⱼ zₖⱼ² of a tile; no cell is NaN."""
    columns = len(cells)
    fours = columns // 4 * 4
    for r in range(SOFT_TILE):
        logs[k, r] = peak
    for j in range(0, fours, 4):
        a, b, c, d = scale[k, j], scale[k, j + 1], scale[k, j + 2], scale[k, j + 3]
        e, f, g, h = centre[k, j], centre[k, j + 1], centre[k, j + 2], centre[k, j + 3]
        for r in range(SOFT_TILE):
            s, t = a * cells[j, r] - e, b * cells[j + 1, r] - f
            u, v = c * cells[j + 2, r] - g, d * cells[j + 3, r] - h
            logs[k, r] -= (s * s + t * t) + (u * u + v * v)
    for j in range(fours, columns):
        a, e = scale[k, j], centre[k, j]
        for r in range(SOFT_TILE):
            s = a * cells[j, r] - e
            logs[k, r] -= s * s


@fast_kernel
def add_known_squares(cells: Array, scale: Array, centre: Array, constant: Array, total: Array) -> None:
    """total (tile,) += Σⱼ constantⱼ - zⱼ², over the cells that aren't NaN."""
    for j in range(len(scale)):
        a, e, c = scale[j], centre[j], constant[j]
        for r in range(SOFT_TILE):
            s = a * cells[j, r] - e
            v = c - s * s
            total[r] += v if v == v else 0.0


@fast_kernel
def share_out_tile(
    logs: Array, groups: int, top: Array, base: Array, total: Array, power: Array, bits: Bits
) -> None:  # fmt: skip
    """logs (groups, tile) = exp(logs - top), where top (tile,) is each row's largest, and total (tile,) = their sums.
    If the largest is -∞, all are 0."""
    for r in range(SOFT_TILE):
        top[r], total[r] = logs[0, r], 0.0
    for k in range(1, groups):
        for r in range(SOFT_TILE):
            top[r] = max(top[r], logs[k, r])
    for r in range(SOFT_TILE):
        base[r] = top[r] if top[r] > -math.inf else 0.0
    for k in range(groups):
        exponentiate(logs, k, base, total, power, bits)


@fast_kernel
def weigh_tile(
    shares: Array, groups: int, start: int, size: int, weight: Array, top: Array, total: Array, tops: Array,
    totals: Array, n: Array,
) -> None:  # fmt: skip
    """shares (groups, tile) *= weight/total, 0 after the last row, and n (groups,) += their sums; top and total are
    written to those of all rows."""
    for r in range(size):
        tops[start + r], totals[start + r] = top[r], total[r]
        total[r] = weight[start + r] / total[r] if total[r] > 0.0 else 0.0
    for r in range(size, SOFT_TILE):
        total[r] = 0.0
    for k in range(groups):
        own = 0.0
        for r in range(SOFT_TILE):
            v = shares[k, r] * total[r]
            shares[k, r] = v
            own += v
        n[k] += own


@fast_kernel
def add_others(others: Array, start: int, size: int, groups: int, logs: Array) -> None:
    """logs (groups, tile) += the other columns' log-likelihoods of a tile's rows."""
    for r in range(size):
        for k in range(groups):
            logs[k, r] += others[start + r, k]


@fast_kernel
def look_up(codes: Codes, start: int, size: int, groups: int, table: Array, logs: Array) -> None:
    """logs (groups, tile) += the log-likelihoods of a tile's joint values. (joint values, groups)

    Four groups at a time: a loop over few groups takes longer than what is in it.
    """
    fours = groups // 4 * 4
    for m in range(len(codes)):
        for k in range(0, fours, 4):
            for r in range(size):
                c = codes[m, start + r]
                logs[k, r] += table[c, k]
                logs[k + 1, r] += table[c, k + 1]
                logs[k + 2, r] += table[c, k + 2]
                logs[k + 3, r] += table[c, k + 3]
        for k in range(fours, groups):
            for r in range(size):
                logs[k, r] += table[codes[m, start + r], k]


@fast_kernel
def count_shares(codes: Codes, start: int, size: int, groups: int, shares: Array, counts: Array) -> None:
    """counts (joint values, groups) += the shares of a tile's rows (groups, tile), four groups at a time."""
    fours = groups // 4 * 4
    for m in range(len(codes)):
        for k in range(0, fours, 4):
            for r in range(size):
                c = codes[m, start + r]
                counts[c, k] += shares[k, r]
                counts[c, k + 1] += shares[k + 1, r]
                counts[c, k + 2] += shares[k + 2, r]
                counts[c, k + 3] += shares[k + 3, r]
        for k in range(fours, groups):
            for r in range(size):
                counts[codes[m, start + r], k] += shares[k, r]


@fast_kernel
def write_shares(shares: Array, start: int, size: int, groups: int, rows: Array) -> None:
    """Copy a tile's shares (groups, tile) to rows (rows, groups)."""
    for r in range(size):
        for k in range(groups):
            rows[start + r, k] = shares[k, r]


@fast_kernel
def add_tile_moments(cells: Array, shares: Array, scale: Array, centre: Array, first: Array, second: Array) -> float:
    """first, second (columns,) += Σᵣ sᵣ (zᵣⱼ, zᵣⱼ²) of one group. The result is Σᵣ sᵣ. No cell is NaN."""
    columns, n = len(scale), 0.0
    for r in range(SOFT_TILE):
        n += shares[r]
    twos = columns // 2 * 2
    for j in range(0, twos, 2):
        a, b, e, f = scale[j], scale[j + 1], centre[j], centre[j + 1]
        once = other_once = twice = other_twice = 0.0
        for r in range(SOFT_TILE):
            s, t = a * cells[j, r] - e, b * cells[j + 1, r] - f
            u, v = shares[r] * s, shares[r] * t
            once += u
            other_once += v
            twice += u * s
            other_twice += v * t
        first[j] += once
        first[j + 1] += other_once
        second[j] += twice
        second[j + 1] += other_twice
    for j in range(twos, columns):
        a, e = scale[j], centre[j]
        once = twice = 0.0
        for r in range(SOFT_TILE):
            s = a * cells[j, r] - e
            u = shares[r] * s
            once += u
            twice += u * s
        first[j] += once
        second[j] += twice
    return n


@fast_kernel
def add_tile_powers(cells: Array, squares: Array, shares: Array, k: int, first: Array, second: Array) -> None:
    """first, second (groups, columns) += Σᵣ sᵣ (xᵣⱼ, xᵣⱼ²), of groups k and k + 1. No cell is NaN."""
    columns = len(cells)
    for j in range(0, columns - 1, 2):
        s = t = u = v = 0.0
        ss = tt = uu = vv = 0.0
        for r in range(SOFT_TILE):
            a, b = shares[k, r], shares[k + 1, r]
            x, y, xx, yy = cells[j, r], cells[j + 1, r], squares[j, r], squares[j + 1, r]
            s += a * x
            t += a * y
            u += b * x
            v += b * y
            ss += a * xx
            tt += a * yy
            uu += b * xx
            vv += b * yy
        first[k, j] += s
        first[k, j + 1] += t
        first[k + 1, j] += u
        first[k + 1, j + 1] += v
        second[k, j] += ss
        second[k, j + 1] += tt
        second[k + 1, j] += uu
        second[k + 1, j + 1] += vv
    for j in range(columns // 2 * 2, columns):
        s = u = ss = uu = 0.0
        for r in range(SOFT_TILE):
            s += shares[k, r] * cells[j, r]
            u += shares[k + 1, r] * cells[j, r]
            ss += shares[k, r] * squares[j, r]
            uu += shares[k + 1, r] * squares[j, r]
        first[k, j] += s
        first[k + 1, j] += u
        second[k, j] += ss
        second[k + 1, j] += uu


@fast_kernel
def add_known_moments(
    cells: Array, shares: Array, scale: Array, centre: Array, known: Array, first: Array, second: Array
) -> None:
    """known, first, second (columns,) += Σᵣ sᵣ (1, zᵣⱼ, zᵣⱼ²), of one group, over the cells that aren't NaN."""
    for j in range(len(scale)):
        a, e = scale[j], centre[j]
        n = once = twice = 0.0
        for r in range(SOFT_TILE):
            s = a * cells[j, r] - e
            w = shares[r] if s == s else 0.0
            s = s if s == s else 0.0
            u = w * s
            n += w
            once += u
            twice += u * s
        known[j] += n
        first[j] += once
        second[j] += twice


@fast_kernel
def expect_moments(
    x: Array, weight: Array, shift: Array, scale: Array, centre: Array, constant: Array, log_shares: Array,
    others: Array, codes: Codes, table: Array, counts: Array, tops: Array, totals: Array, n: Array, known: Array,
    first: Array, second: Array,
) -> None:  # fmt: skip
    """n (groups,) += Σᵢ wᵢₖ, and known, first, second (groups, columns) += Σᵢ wᵢₖ (1, zᵢₖⱼ, zᵢₖⱼ²) over the cells that
    aren't NaN. Here wᵢₖ = weightᵢ P(group k | row i) under the log-density Σⱼ constantₖⱼ - zᵢₖⱼ² with z = scale (x -
    shift) - centre, plus the log-likelihood othersᵢₖ of other columns, which wᵢₖ overwrites, plus Σₘ table[codesₘᵢ, k];
    counts[codesₘᵢ, k] += wᵢₖ. An array without rows, others or codes, is ignored.

    log p(row i) = topᵢ + log totalᵢ. An impossible row belongs to no group, and its total is 0.

    If no group is far from the shift, in its deviations, sums of complete tiles are about the shift: they take half the
    operations, and lose the last few digits at most.
    """
    rows, columns = x.shape
    groups = len(scale)
    cells, shares = np.zeros((columns, SOFT_TILE + TILE_PADDING)), np.zeros((groups + 1, SOFT_TILE + TILE_PADDING))
    near, squares = np.abs(centre).max() <= NEAR_SHIFT, np.zeros((columns, SOFT_TILE + TILE_PADDING))
    zeroth, once, twice = np.zeros(groups), np.zeros((groups + 1, columns)), np.zeros((groups + 1, columns))
    top, total, bits, peak = (
        np.zeros(SOFT_TILE),
        np.zeros(SOFT_TILE),
        np.zeros(SOFT_TILE, dtype=np.int64),
        np.zeros(groups),
    )
    power, base = bits.view(np.float64), np.zeros(SOFT_TILE)
    has_others = len(others) > 0
    for k in range(groups):
        peak[k] = log_shares[k] + constant[k].sum()
    for start in range(0, rows, SOFT_TILE):
        size = min(SOFT_TILE, rows - start)
        whole = turn_rows(x, start, size, shift, cells)
        for k in range(groups):
            if whole:
                take_squares(cells, scale, centre, k, peak[k], shares)
            else:
                shares[k] = log_shares[k]
                add_known_squares(cells, scale[k], centre[k], constant[k], shares[k])
        if has_others:
            add_others(others, start, size, groups, shares)
        look_up(codes, start, size, groups, table, shares)
        share_out_tile(shares, groups, top, base, total, power, bits)
        about_shift = whole and near
        weigh_tile(shares, groups, start, size, weight, top, total, tops, totals, zeroth if about_shift else n)
        if has_others:
            write_shares(shares, start, size, groups, others)
        count_shares(codes, start, size, groups, shares, counts)
        if about_shift:
            for j in range(columns):
                for r in range(SOFT_TILE):
                    squares[j, r] = cells[j, r] * cells[j, r]
            for k in range(0, groups, 2):
                add_tile_powers(cells, squares, shares, k, once, twice)
            continue
        for k in range(groups):
            if whole:
                known[k] += add_tile_moments(cells, shares[k], scale[k], centre[k], first[k], second[k])
            else:
                add_known_moments(cells, shares[k], scale[k], centre[k], known[k], first[k], second[k])
    for k in range(groups if near else 0):
        n[k] += zeroth[k]
        for j in range(columns):
            a, c = scale[k, j], centre[k, j]
            known[k, j] += zeroth[k]
            first[k, j] += a * once[k, j] - c * zeroth[k]
            second[k, j] += a * (a * twice[k, j] - 2.0 * c * once[k, j]) + c * c * zeroth[k]


@fast_kernel
def whiten_tile(cells: Array, white: Array, flat: Array) -> None:
    """flat (d, tile) = W cells, with W (d, d) lower triangular."""
    for j in range(len(cells)):
        for r in range(SOFT_TILE):
            flat[j, r] = white[j, 0] * cells[0, r]
        for i in range(1, j + 1):
            a = white[j, i]
            for r in range(SOFT_TILE):
                flat[j, r] += a * cells[i, r]


@fast_kernel
def add_tile_firsts(flat: Array, shares: Array, mean: Array, first: Array, away: Array) -> None:
    """first (d,) += Σᵣ sᵣ zᵣ, and away (d, tile) += sᵣ zᵣ, of one group, with z = flat - mean."""
    for j in range(len(mean)):
        m, total = mean[j], 0.0
        for r in range(SOFT_TILE):
            v = shares[r] * (flat[j, r] - m)
            away[j, r] += v
            total += v
        first[j] += total


@fast_kernel
def expect_tied_products(
    x: Array, weight: Array, shift: Array, white: Array, mean: Array, log_shares: Array,
    tops: Array, totals: Array, n: Array, first: Array, second: Array, pairs: Array,
) -> None:  # fmt: skip
    """n (groups,), first (groups, d) += Σᵢ wᵢₖ (1, uᵢₖ), u = W (x - shift) - meanₖ, under the log-density -½|u|²; and
    the two parts of Σᵢₖ wᵢₖ uᵢₖuᵢₖ′. With aᵢ = Σₖ wᵢₖ uᵢₖ/wᵢ, the row's mean distance from the groups' means,

    Σₖ wᵢₖ uᵢₖuᵢₖ′ = wᵢ aᵢaᵢ′ + Σ_{k<l} (wᵢₖ wᵢₗ/wᵢ) (meanₖ - meanₗ)(meanₖ - meanₗ)′

    so products are taken once per row, and not for each group: second (d, d + 3) += wᵢ aᵢaᵢ′, pairs (groups, groups +
    3) += wᵢₖ wᵢₗ/wᵢ, of which the lower triangles are valid. No cell is NaN; top and total as in expect_moments.
    """
    rows, d = x.shape
    groups = len(mean)
    cells, flat, away = (
        np.zeros((d, SOFT_TILE + TILE_PADDING)),
        np.zeros((d, SOFT_TILE + TILE_PADDING)),
        np.zeros((d + 3, SOFT_TILE + TILE_PADDING)),
    )
    shares, inverse, weighted = (
        np.zeros((groups + 3, SOFT_TILE + TILE_PADDING)),
        np.zeros(SOFT_TILE),
        np.zeros(SOFT_TILE),
    )
    top, total, bits = np.zeros(SOFT_TILE), np.zeros(SOFT_TILE), np.zeros(SOFT_TILE, dtype=np.int64)
    power, base, rest, others = bits.view(np.float64), np.zeros(SOFT_TILE), np.zeros(d), np.zeros(groups)
    half = math.sqrt(0.5)
    scale, centre = np.full((groups, d), half), half * mean
    for start in range(0, rows, SOFT_TILE):
        size = min(SOFT_TILE, rows - start)
        turn_rows(x, start, size, shift, cells)
        whiten_tile(cells, white, flat)
        for k in range(groups):
            take_squares(flat, scale, centre, k, log_shares[k], shares)
        share_out_tile(shares, groups, top, base, total, power, bits)
        for r in range(SOFT_TILE):
            inverse[r] = 1.0 / weight[start + r] if r < size and total[r] > 0.0 else 0.0
        weigh_tile(shares, groups, start, size, weight, top, total, tops, totals, n)
        away[:d] = 0.0
        for k in range(groups):
            add_tile_firsts(flat, shares[k], mean[k], first[k], away)
        add_tile_products(inverse, away, weighted, rest, second)
        add_tile_products(inverse, shares, weighted, others, pairs)
