"""Rows of log-weights, one a class, as shares that sum to 1: what NumPy does slowly where rows are short."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import late_kernel

Array = NDArray[np.float64]


@late_kernel
def lower_to_top(x: Array) -> int:
    """Each row less its largest; the first row that has nothing above -∞ (it stays), else -1."""
    rows, columns = x.shape
    first = -1
    for i in range(rows):
        top = -math.inf
        for j in range(columns):
            top = x[i, j] if x[i, j] > top else top
        if top == -math.inf:
            first = i if first < 0 else first
            continue
        for j in range(columns):
            x[i, j] -= top
    return first


@late_kernel
def take_top(x: Array, top: Array) -> None:
    """Each row less its largest, which is written to top (rows,); a row that has nothing above -∞ stays."""
    rows, columns = x.shape
    for i in range(rows):
        most = -math.inf
        for j in range(columns):
            most = x[i, j] if x[i, j] > most else most
        top[i] = most
        if most > -math.inf:
            for j in range(columns):
                x[i, j] -= most


@late_kernel
def share_out(x: Array, factor: Array, total: Array) -> None:
    """Each row over its sum, which is written to total (rows,), times its factor; a row of zeros stays."""
    rows, columns = x.shape
    for i in range(rows):
        sum_ = 0.0
        for j in range(columns):
            sum_ += x[i, j]
        total[i] = sum_
        if sum_ > 0.0:
            share = factor[i] / sum_
            for j in range(columns):
                x[i, j] *= share


@late_kernel
def divide_by_total(x: Array) -> None:
    """Each row over its sum."""
    rows, columns = x.shape
    for i in range(rows):
        total = 0.0
        for j in range(columns):
            total += x[i, j]
        for j in range(columns):
            x[i, j] /= total


@late_kernel
def lower_by_log_total(x: Array, weights: Array) -> None:
    """Each row less the logarithm of its weights' sum."""
    rows, columns = x.shape
    for i in range(rows):
        total = 0.0
        for j in range(columns):
            total += weights[i, j]
        total = math.log(total)
        for j in range(columns):
            x[i, j] -= total


@late_kernel
def lower_to_tops(x: Array, tops: Array) -> int:
    """As lower_to_top; what each row was lowered by."""
    rows, columns = x.shape
    first = -1
    for i in range(rows):
        top = -math.inf
        for j in range(columns):
            top = x[i, j] if x[i, j] > top else top
        tops[i] = top
        if top == -math.inf:
            first = i if first < 0 else first
            continue
        for j in range(columns):
            x[i, j] -= top
    return first


@late_kernel
def share_weights(x: Array, weight: Array, totals: Array) -> None:
    """Each row over its sum, times its weight; the logarithm of its sum is added to its total."""
    rows, columns = x.shape
    for i in range(rows):
        total = 0.0
        for j in range(columns):
            total += x[i, j]
        totals[i] += math.log(total)
        factor = weight[i] / total
        for j in range(columns):
            x[i, j] *= factor
