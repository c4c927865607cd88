"""Normalisation of short rows of log-weights, one per class, which is slow in NumPy."""

from __future__ import annotations

import math

from credo._kernels.arrays import Array
from credo._kernels.jit import late_kernel


@late_kernel
def lower_to_top(x: Array) -> int:
    """Subtract each row's largest value. The result is the first row without a finite value (left unchanged), or -1."""
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
    """Subtract each row's largest value, and write it to top (rows,); a row without a finite value is unchanged."""
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
    """Multiply each row by factor/sum, and write its sum to total (rows,); a row of zeros is unchanged."""
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
    """Divide each row by its sum."""
    rows, columns = x.shape
    for i in range(rows):
        total = 0.0
        for j in range(columns):
            total += x[i, j]
        for j in range(columns):
            x[i, j] /= total


@late_kernel
def lower_by_log_total(x: Array, weights: Array) -> None:
    """Subtract from each row the logarithm of its weights' sum."""
    rows, columns = x.shape
    for i in range(rows):
        total = 0.0
        for j in range(columns):
            total += weights[i, j]
        total = math.log(total)
        for j in range(columns):
            x[i, j] -= total
