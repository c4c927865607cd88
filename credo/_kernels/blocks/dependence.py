"""Cells that depend on each other given the class: counts of pairs, and log-likelihoods.

Each cell of each column has a code, -1 where it is missing. (rows, columns)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credo._kernels.arrays import Array, Codes, Integers
from credo._kernels.core.sums import RESIDUAL_WEIGHT
from credo._kernels.jit import late_kernel, late_kernel_of


def _pairs(codes: Any, *_: Any) -> float:
    return 1.5 * float(codes.size * codes.shape[1])


@late_kernel_of(_pairs)
def count_cell_pairs(codes: Codes, groups: Codes, weight: Array, high: Array, low: Array) -> None:
    """high + low (groups, cells, cells) += the weight of rows with both cells, that of the earlier column first.

    The diagonal is the weight of rows with the cell. Sums are pairs of floats (two-sum).
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
    """out (rows, classes) += Σⱼ log p(b | a, class) for the cell b of column j and a of its parent; log p(b | class)
    without a parent, or if its cell is missing.

    pair (cells a, cells b, classes), single (cells, classes); a root has the parent -1.
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
    """`add_tree` with each row left out of its class.

    counts (classes, cells, cells); totals (classes, cells, columns): the rows with a cell in which a column is known;
    known (classes, columns); levels (columns).
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
            if base_total > RESIDUAL_WEIGHT * w:
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
def _log_mean(logs: Array, count: int, k: int) -> float:
    """The log of the mean of exp(logs[s, k]) over the first `count` s."""
    top: float = logs[0, k]
    for s in range(1, count):
        top = max(top, logs[s, k])
    if top == -math.inf:
        return top
    total = 0.0
    for s in range(count):
        total += math.exp(logs[s, k] - top)
    return top + math.log(total / count)


@late_kernel_of(lambda codes, *rest: 0.7 * codes.size * codes.shape[1] * rest[0].shape[2])
def add_one_dependence(codes: Codes, pair: Array, single: Array, out: Array) -> None:
    """out (rows, classes) += the log of the mean of p(a | class) Πⱼ p(b | a, class) over the known columns s, for the
    cell a of s and b of column j."""
    rows, columns = codes.shape
    classes = single.shape[1]
    logs = np.empty((columns, classes))
    for i in range(rows):
        parents = 0
        for s in range(columns):
            a = codes[i, s]
            if a < 0:
                continue
            for k in range(classes):
                logs[parents, k] = single[a, k]
            for j in range(columns):
                b = codes[i, j]
                if b >= 0 and j != s:
                    for k in range(classes):
                        logs[parents, k] += pair[a, b, k]
            parents += 1
        if parents > 0:
            for k in range(classes):
                out[i, k] += _log_mean(logs, parents, k)


@late_kernel_of(lambda codes, *rest: 2.0 * codes.size * codes.shape[1] * rest[0].shape[2])
def hide_one_dependence(codes: Codes, pair: Array, single: Array, out: Array) -> None:
    """out (columns, rows, classes) = the terms of `add_one_dependence` with that column's cells missing."""
    rows, columns = codes.shape
    classes = single.shape[1]
    logs = np.empty((columns, classes))
    rest = np.empty((columns, classes))
    for i in range(rows):
        for s in range(columns):
            a = codes[i, s]
            for k in range(classes):
                logs[s, k] = single[a, k] if a >= 0 else 0.0
            for j in range(columns):
                b = codes[i, j]
                if a >= 0 and b >= 0 and j != s:
                    for k in range(classes):
                        logs[s, k] += pair[a, b, k]
        for j in range(columns):
            b = codes[i, j]
            parents = 0
            for s in range(columns):
                a = codes[i, s]
                if a >= 0 and s != j:
                    for k in range(classes):
                        rest[parents, k] = logs[s, k] - pair[a, b, k] if b >= 0 else logs[s, k]
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
    """`add_one_dependence` with each row left out of its class (see `add_tree_left_out`)."""
    rows, columns = codes.shape
    classes = single.shape[1]
    logs = np.empty((columns, classes))
    base = np.empty(columns)
    for i in range(rows):
        mine, w = own[i], weight[i]
        for j in range(columns):
            b = codes[i, j]
            if b >= 0:
                total = max(known[mine, j] - w, 0.0) + smoothing * levels[j]
                base[j] = 1.0 / levels[j]
                if total > RESIDUAL_WEIGHT * w:
                    base[j] = (max(counts[mine, b, b] - w, 0.0) + smoothing) / total
        parents = 0
        for s in range(columns):
            a = codes[i, s]
            if a < 0:
                continue
            for k in range(classes):
                logs[parents, k] = single[a, k]
            own_logs = math.log(base[s]) if base[s] > 0.0 else -math.inf
            for j in range(columns):
                b = codes[i, j]
                if b >= 0 and j != s:
                    for k in range(classes):
                        logs[parents, k] += pair[a, b, k]
                    share = (max(counts[mine, a, b] - w, 0.0) + backoff * base[j]) / (
                        max(totals[mine, a, j] - w, 0.0) + backoff
                    )
                    own_logs += math.log(share) if share > 0.0 else -math.inf
            logs[parents, mine] = own_logs
            parents += 1
        if parents > 0:
            for k in range(classes):
                out[i, k] += _log_mean(logs, parents, k)
