"""Cells that depend on each other given the class: pairs of them are counted, and turned into log-likelihoods.

Cells of all columns have one code each, -1 where nothing is known. (rows, columns)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import late_kernel, late_kernel_of

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Integers = NDArray[np.int64]


def _pairs(codes: Any, *_: Any) -> float:
    return 1.5 * float(codes.size * codes.shape[1])


@late_kernel_of(_pairs)
def count_cell_pairs(codes: Codes, groups: Codes, weight: Array, high: Array, low: Array) -> None:
    """high + low (groups, cells, cells) += the weight of rows with both cells, the one of the earlier column first.

    The diagonal is the weight of rows that have the cell. Sums are pairs of floats (two-sum).
    """
    rows, columns = codes.shape
    for i in range(rows):
        k = groups[i]
        if k < 0:
            continue
        w = weight[i]
        for j in range(columns):
            a = codes[i, j]
            if a < 0:
                continue
            for other in range(j, columns):
                b = codes[i, other]
                if b >= 0:
                    before = high[k, a, b]
                    total = before + w
                    part = total - before
                    low[k, a, b] += (before - (total - part)) + (w - part)
                    high[k, a, b] = total


@late_kernel_of(lambda codes, *rest: 0.7 * codes.size * rest[1].shape[2])
def add_tree(codes: Codes, parents: Integers, pair: Array, single: Array, out: Array) -> None:
    """out (rows, classes) += Σⱼ log p(b | a, class), b being column j's cell and a its parent's; log p(b | class) where
    there is no parent, or it is missing.

    pair (cells a, cells b, classes), single (cells, classes); a parent of -1 is none.
    """
    rows, columns = codes.shape
    classes = single.shape[1]
    for i in range(rows):
        for j in range(columns):
            b = codes[i, j]
            if b < 0:
                continue
            a = codes[i, parents[j]] if parents[j] >= 0 else -1
            if a >= 0:
                for k in range(classes):
                    out[i, k] += pair[a, b, k]
            else:
                for k in range(classes):
                    out[i, k] += single[b, k]


@late_kernel_of(lambda codes, *rest: codes.size * (4 + 0.7 * rest[3].shape[2]))
def add_tree_left_out(
    codes: Codes,
    own: Codes,
    weight: Array,
    parents: Integers,
    pair: Array,
    single: Array,
    counts: Array,
    totals: Array,
    known: Array,
    levels: Array,
    smoothing: float,
    backoff: float,
    out: Array,
) -> None:
    """The same, each row's own class without it.

    counts (classes, cells, cells); totals (classes, cells, columns): of each cell's rows, those in which the column is
    known; known (classes, columns); levels (columns).
    """
    rows, columns = codes.shape
    classes = single.shape[1]
    for i in range(rows):
        mine, w = own[i], weight[i]
        for j in range(columns):
            b = codes[i, j]
            if b < 0:
                continue
            base_total = max(known[mine, j] - w, 0.0) + smoothing * levels[j]
            base = 1.0 / levels[j]
            if base_total > 1e-12 * w:
                base = (max(counts[mine, b, b] - w, 0.0) + smoothing) / base_total
            a = codes[i, parents[j]] if parents[j] >= 0 else -1
            share = base
            if a >= 0:
                share = (max(counts[mine, a, b] - w, 0.0) + backoff * base) / (
                    max(totals[mine, a, j] - w, 0.0) + backoff
                )
            for k in range(classes):
                if k == mine:
                    out[i, k] += math.log(share) if share > 0.0 else -math.inf
                elif a >= 0:
                    out[i, k] += pair[a, b, k]
                else:
                    out[i, k] += single[b, k]


@late_kernel
def _log_mean(said: Array, count: int, k: int) -> float:
    """log of the mean of exp(said[s, k]) over the first so many s."""
    top: float = said[0, k]
    for s in range(1, count):
        top = max(top, said[s, k])
    if top == -math.inf:
        return top
    total = 0.0
    for s in range(count):
        total += math.exp(said[s, k] - top)
    return top + math.log(total / count)


@late_kernel_of(lambda codes, *rest: 0.7 * codes.size * codes.shape[1] * rest[0].shape[2])
def add_one_dependence(codes: Codes, pair: Array, single: Array, out: Array) -> None:
    """out (rows, classes) += log of the mean over columns s, known in the row, of p(a | class) Πⱼ p(b | a, class), a
    being the cell of s and b that of column j."""
    rows, columns = codes.shape
    classes = single.shape[1]
    said = np.empty((columns, classes))
    for i in range(rows):
        parents = 0
        for s in range(columns):
            a = codes[i, s]
            if a < 0:
                continue
            for k in range(classes):
                said[parents, k] = single[a, k]
            for j in range(columns):
                b = codes[i, j]
                if b >= 0 and j != s:
                    for k in range(classes):
                        said[parents, k] += pair[a, b, k]
            parents += 1
        if parents > 0:
            for k in range(classes):
                out[i, k] += _log_mean(said, parents, k)


@late_kernel_of(lambda codes, *rest: 2.0 * codes.size * codes.shape[1] * rest[0].shape[2])
def hide_one_dependence(codes: Codes, pair: Array, single: Array, out: Array) -> None:
    """out (columns, rows, classes) = what `add_one_dependence` adds where that column's cells are missing."""
    rows, columns = codes.shape
    classes = single.shape[1]
    said = np.empty((columns, classes))
    rest = np.empty((columns, classes))
    for i in range(rows):
        for s in range(columns):
            a = codes[i, s]
            for k in range(classes):
                said[s, k] = single[a, k] if a >= 0 else 0.0
            for j in range(columns):
                b = codes[i, j]
                if a >= 0 and b >= 0 and j != s:
                    for k in range(classes):
                        said[s, k] += pair[a, b, k]
        for j in range(columns):
            b = codes[i, j]
            parents = 0
            for s in range(columns):
                a = codes[i, s]
                if a >= 0 and s != j:
                    for k in range(classes):
                        rest[parents, k] = said[s, k] - pair[a, b, k] if b >= 0 else said[s, k]
                    parents += 1
            for k in range(classes):
                out[j, i, k] = _log_mean(rest, parents, k) if parents > 0 else 0.0


@late_kernel_of(lambda codes, *rest: codes.size * codes.shape[1] * (4 + 0.7 * rest[2].shape[2]))
def add_one_dependence_left_out(
    codes: Codes,
    own: Codes,
    weight: Array,
    pair: Array,
    single: Array,
    counts: Array,
    totals: Array,
    known: Array,
    levels: Array,
    smoothing: float,
    backoff: float,
    out: Array,
) -> None:
    """The same, each row's own class without it (see `add_tree_left_out`)."""
    rows, columns = codes.shape
    classes = single.shape[1]
    said = np.empty((columns, classes))
    base = np.empty(columns)
    for i in range(rows):
        mine, w = own[i], weight[i]
        for j in range(columns):
            b = codes[i, j]
            if b >= 0:
                total = max(known[mine, j] - w, 0.0) + smoothing * levels[j]
                base[j] = 1.0 / levels[j]
                if total > 1e-12 * w:
                    base[j] = (max(counts[mine, b, b] - w, 0.0) + smoothing) / total
        parents = 0
        for s in range(columns):
            a = codes[i, s]
            if a < 0:
                continue
            for k in range(classes):
                said[parents, k] = single[a, k]
            own_said = math.log(base[s]) if base[s] > 0.0 else -math.inf
            for j in range(columns):
                b = codes[i, j]
                if b >= 0 and j != s:
                    for k in range(classes):
                        said[parents, k] += pair[a, b, k]
                    share = (max(counts[mine, a, b] - w, 0.0) + backoff * base[j]) / (
                        max(totals[mine, a, j] - w, 0.0) + backoff
                    )
                    own_said += math.log(share) if share > 0.0 else -math.inf
            said[parents, mine] = own_said
            parents += 1
        if parents > 0:
            for k in range(classes):
                out[i, k] += _log_mean(said, parents, k)
