"""Log-likelihoods of independent numbers under each class, in tiles of rows that lie column by column.

Rows are the inner loops, so that they run in vector registers with nothing reordered: the same bits as plain Python.
Every number is taken relative to a shift near its column's mean: means of 10⁹ keep all their digits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import late_kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]

TILE = 64  # rows
FARTHEST = 1e37  # of squared distances: as many of them as stand between two logarithms multiply to a float


@late_kernel
def count_beyond(x: Array, limit: float) -> int:
    """How many cells lie beyond ±limit; NaN doesn't."""
    found = 0
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns):
            found += abs(x[i, j]) > limit
    return found


@late_kernel
def add_normals(x: Array, shift: Array, centre: Array, half: Array, constant: Array, out: Array) -> None:
    """out (rows, classes) += Σⱼ constantₖⱼ - halfₖⱼ (xᵢⱼ - shiftⱼ - centreₖⱼ)², over the cells that aren't NaN."""
    rows, columns = x.shape
    classes = centre.shape[0]
    tile = np.zeros((columns, TILE))
    total = np.empty(TILE)
    for start in range(0, rows, TILE):
        size = min(TILE, rows - start)
        for r in range(size):
            for j in range(columns):
                tile[j, r] = x[start + r, j] - shift[j]
        for k in range(classes):
            total[:] = 0.0
            for j in range(columns):
                m, h, c = centre[k, j], half[k, j], constant[k, j]
                for r in range(TILE):
                    v = tile[j, r] - m
                    t = c - h * v * v
                    total[r] += t if t == t else 0.0
            for r in range(size):
                out[start + r, k] += total[r]


@late_kernel
def add_students(
    x: Array, shift: Array, centre: Array, inverse: Array, power: Array, constant: Array, ends: Flags, out: Array
) -> None:
    """out (rows, classes) += Σⱼ constantₖⱼ - powerₖⱼ log(1 + inverseₖⱼ (xᵢⱼ - shiftⱼ - centreₖⱼ)²).

    Columns up to the next end have the same power: one logarithm of their product does for all of them.
    """
    rows, columns = x.shape
    classes = centre.shape[0]
    tile = np.zeros((columns, TILE))
    total, product = np.empty(TILE), np.empty(TILE)
    for start in range(0, rows, TILE):
        size = min(TILE, rows - start)
        whole = True
        for r in range(size):
            for j in range(columns):
                v = x[start + r, j] - shift[j]
                tile[j, r] = v
                whole &= v == v
        for k in range(classes):
            total[:] = 0.0
            product[:] = 1.0
            for j in range(columns):
                m, p = centre[k, j], inverse[k, j]
                for r in range(TILE):
                    v = tile[j, r] - m
                    q = p * v * v
                    q = q if q < FARTHEST else (FARTHEST if q == q else 0.0)
                    product[r] *= 1.0 + q
                if ends[j]:
                    e = power[k, j]
                    for r in range(size):
                        total[r] -= e * math.log(product[r])
                    product[:] = 1.0
                c = constant[k, j]
                if whole:
                    for r in range(TILE):
                        total[r] += c
                else:
                    for r in range(TILE):
                        v = tile[j, r]
                        total[r] += c if v == v else 0.0
            for r in range(size):
                out[start + r, k] += total[r]


@late_kernel
def add_numbers_left_out(
    x: Array,
    own: Codes,
    weight: Array,
    shift: Array,
    n: Array,
    mean: Array,
    scatter: Array,
    strength: float,
    estimate: int,
    power: Array,
    constant: Array,
    ends: Flags,
    scale: Array,
    out: Array,
    unsure: Flags,
) -> None:
    """out (rows, classes) += log p(rowᵢ | class k), learned from all rows but i; up to a term that classes share.

    n, mean (about the shift) and scatter have a last row for all classes together, which the prior is made of. The
    estimate: 0 integrates (Student's t), 1, 2 and 3 are normals with variance (2·scale of the posterior)/(2·shape + 3),
    /(2·shape - 2), or scatter/n without a prior. power and constant (2, classes, columns): of classes that the row
    isn't in, and of its own where its weight is 1. scale (columns): what is taken out of both. A row is marked unsure
    where a difference lost too many digits.
    """
    rows, columns = x.shape
    classes = n.shape[0] - 1
    log_pi = math.log(math.pi)
    z, place, spread, unit = np.zeros(TILE), np.zeros(TILE), np.ones(TILE), np.ones(TILE)
    total, near, size_of = np.empty((classes, TILE)), np.empty((classes, TILE)), np.empty((classes, TILE))
    own_total, own_near, own_size = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    said = np.zeros(TILE, dtype=np.bool_)
    for start in range(0, rows, TILE):
        size = min(TILE, rows - start)
        total[:] = 0.0
        near[:] = 1.0
        size_of[:] = 1.0
        own_total[:] = 0.0
        own_near[:] = 1.0
        own_size[:] = 1.0
        for j in range(columns):
            all_n, all_mean, all_scatter = n[classes, j], mean[classes, j], scatter[classes, j]
            for r in range(TILE):
                said[r] = False
                z[r] = np.nan
            for r in range(size):
                i = start + r
                w, v = weight[i], x[i, j] - shift[j]
                rest = all_n - w
                if v != v or rest <= 1e-12 * all_n:
                    continue
                away = v - all_mean
                left = all_scatter - w * all_n / rest * away * away
                if left < 1e-5 * all_scatter:
                    unsure[i] = True
                    continue
                said[r] = True
                z[r] = v
                place[r] = all_mean - w * away / rest
                spread[r] = strength * left / rest
                unit[r] = 1.0 / scale[j]
            for k in range(classes):
                nk, mk, sk = n[k, j], mean[k, j], scatter[k, j]
                after = strength + nk
                pull = strength / after if after > 0 else 0.0
                weigh = pull * nk
                grow = after / (after + 1.0)
                shape2 = 2.0 + after
                c = constant[0, k, j]
                if estimate == 0:
                    for r in range(TILE):
                        d = place[r] - mk
                        b = spread[r] + sk + weigh * d * d
                        v = z[r] - mk - pull * d
                        q = grow * v * v / b
                        known = q == q
                        q = q if q < FARTHEST else FARTHEST
                        near[k, r] *= 1.0 + q if known else 1.0
                        size_of[k, r] *= b * unit[r] if known else 1.0
                        total[k, r] += c if known else 0.0
                else:
                    f = shape2 + 3.0 if estimate == 1 else (shape2 - 2.0 if estimate == 2 else nk)
                    for r in range(TILE):
                        d = place[r] - mk
                        b = spread[r] + sk + weigh * d * d
                        v = z[r] - mk - pull * d
                        t = c - 0.5 * f * v * v / b
                        known = t == t
                        total[k, r] += t if known else 0.0
                        size_of[k, r] *= b * unit[r] if known else 1.0
            for r in range(size):
                if not said[r]:
                    continue
                i = start + r
                k, w, v = own[i], weight[i], z[r]
                nk = n[k, j] - w
                mk, sk = 0.0, 0.0
                if nk > 1e-12 * n[k, j]:
                    away = v - mean[k, j]
                    mk = mean[k, j] - w * away / nk
                    sk = max(scatter[k, j] - w * n[k, j] / nk * away * away, 0.0)
                else:
                    nk = 0.0
                after = strength + nk
                pull = strength / after if after > 0 else 0.0
                d = place[r] - mk
                b = spread[r] + sk + pull * nk * d * d
                if scatter[k, j] > 1e5 * b:
                    unsure[i] = True
                    continue
                v = v - mk - pull * d
                if estimate == 0:
                    own_near[r] *= 1.0 + min(after / (after + 1.0) * v * v / b, FARTHEST)
                    if w == 1.0:
                        own_total[r] += constant[1, k, j]
                    else:
                        a = 1.0 + 0.5 * after
                        if a > 20.0:
                            ratio = 0.5 * math.log(a) - 1.0 / (8.0 * a) + 1.0 / (192.0 * a**3) - 1.0 / (640.0 * a**5)
                            ratio += 17.0 / (14336.0 * a**7)
                        else:
                            ratio = math.lgamma(a + 0.5) - math.lgamma(a)
                        own_total[r] += ratio + 0.5 * (math.log(after / (after + 1.0)) - log_pi)
                else:
                    f = after + 5.0 if estimate == 1 else (after if estimate == 2 else nk)
                    own_total[r] += 0.5 * math.log(f) - 0.5 * f * v * v / b
                own_size[r] *= b * unit[r]
            if ends[j]:
                for k in range(classes):
                    e = power[0, k, j]
                    for r in range(size):
                        total[k, r] -= 0.5 * math.log(size_of[k, r])
                    if estimate == 0:
                        for r in range(size):
                            total[k, r] -= e * math.log(near[k, r])
                for r in range(size):
                    k, w = own[start + r], weight[start + r]
                    own_total[r] -= 0.5 * math.log(own_size[r])
                    if estimate == 0:
                        e = power[1, k, j] if w == 1.0 else 1.5 + 0.5 * (strength + max(n[k, j] - w, 0.0))
                        own_total[r] -= e * math.log(own_near[r])
                near[:] = 1.0
                size_of[:] = 1.0
                own_near[:] = 1.0
                own_size[:] = 1.0
        for r in range(size):
            i = start + r
            for k in range(classes):
                out[i, k] += own_total[r] if k == own[i] else total[k, r]
