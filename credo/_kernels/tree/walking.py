"""Rows in a tree: the leaves that they reach, and with what parts.

A tree is arrays over its nodes, with parents before children, and the children of a node adjacent. A node with column
-1 is a leaf; otherwise routes[route + bin] is the child of a cell. If that is -1, or the cell is missing, the row goes
down all branches, divided by their shares.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array, Codes
from credo._kernels.jit import late_kernel_of
from credo._kernels.numerics.gamma import log_gamma
from credo._kernels.tree.splitting import MISSING

Cells = NDArray[np.uint8]


@late_kernel_of(lambda cells, *_: 20.0 * cells.shape[1])
def add_leaf_values(
    cells: Cells,  # (columns, rows)
    column: Codes, first: Codes, ways: Codes, route: Codes, routes: Codes, share: Array,  # (nodes,), but for routes
    values: Array,  # (nodes, k)
    out: Array,  # (rows, k)
) -> None:  # fmt: skip
    """out += Σ over the leaves that a row reaches: part of the row · values of the leaf."""
    waiting, parts = np.empty(len(column), np.int64), np.empty(len(column))
    for i in range(cells.shape[1]):
        waiting[0], parts[0], size = 0, 1.0, 1
        while size > 0:
            size -= 1
            node, part, branch = waiting[size], parts[size], 0
            while column[node] >= 0 and branch >= 0:
                b = cells[column[node], i]
                branch = -1 if b == MISSING else routes[route[node] + b]
                if branch >= 0:
                    node = first[node] + branch
            if column[node] < 0:
                for k in range(values.shape[1]):
                    out[i, k] += part * values[node, k]
            else:
                for child in range(first[node], first[node] + ways[node]):
                    waiting[size], parts[size] = child, part * share[child]
                    size += 1


@late_kernel_of(lambda cells, *_: 20.0 * cells.shape[1])
def add_leaf_weights(
    cells: Cells,
    column: Codes, first: Codes, ways: Codes, route: Codes, routes: Codes, share: Array,
    leaf: Codes,  # (nodes,): the position of a leaf among all
    truth: Codes,  # (rows,)
    weight: Array,  # (rows,)
    high: Array,  # (classes, leaves)
    low: Array,
) -> None:  # fmt: skip
    """high + low += the weight of the rows of each class that reach each leaf, in pairs of floats."""
    waiting, parts = np.empty(len(column), np.int64), np.empty(len(column))
    for i in range(cells.shape[1]):
        waiting[0], parts[0], size = 0, weight[i], 1
        while size > 0:
            size -= 1
            node, part, branch = waiting[size], parts[size], 0
            while column[node] >= 0 and branch >= 0:
                b = cells[column[node], i]
                branch = -1 if b == MISSING else routes[route[node] + b]
                if branch >= 0:
                    node = first[node] + branch
            if column[node] < 0:
                at, k = leaf[node], truth[i]
                old = high[k, at]
                new = old + part
                step = new - old
                low[k, at] += (old - (new - step)) + (part - step)
                high[k, at] = new
            else:
                for child in range(first[node], first[node] + ways[node]):
                    waiting[size], parts[size] = child, part * share[child]
                    size += 1


@late_kernel_of(lambda cells, *_: 100.0 * cells.shape[1])
def leave_out(
    cells: Cells,
    column: Codes, first: Codes, ways: Codes, route: Codes, routes: Codes, share: Array,
    truth: Codes,  # (rows,)
    weight: Array,  # (rows,)
    prior: float,  # of a class in a leaf
    counts: Array,  # (nodes, classes)
    masses: Array,  # (nodes,): their sums
    log_evidence: Array,  # (nodes,): of the node as a leaf
    log_weighted: Array,  # (nodes,): of all prunings below
    log_stop: Array, log_split: Array,  # (nodes,): prior of a leaf, and of the split; -∞ and 0 without a choice
    out: Array,  # (rows, classes)
) -> None:  # fmt: skip
    """out = P(class | row) averaged over prunings, with the row left out of all its nodes.

    Nodes are visited from the root, then in reverse order, so that changes below a node are known before it.
    """
    size, classes = counts.shape
    visited, above = np.empty(size, np.int64), np.empty(size, np.int64)  # nodes; the position of the parent among them
    parts, shares = np.empty(size), np.empty(size)  # of the row's weight; of the parent's prediction
    below, shares_out = np.empty(size), np.empty((size, classes))  # log-weighted evidence, and prediction
    for i in range(cells.shape[1]):
        visited[0], above[0], parts[0], shares[0], found, at = 0, -1, weight[i], 1.0, 1, 0
        while at < found:
            node, below[at] = visited[at], 0.0
            for k in range(classes):
                shares_out[at, k] = 0.0
            if column[node] >= 0:
                b = cells[column[node], i]
                branch = -1 if b == MISSING else routes[route[node] + b]
                for child in range(first[node], first[node] + ways[node]):
                    below[at] += log_weighted[child]
                    if branch < 0 or child == first[node] + branch:
                        part = share[child] if branch < 0 else 1.0
                        visited[found], above[found] = child, at
                        parts[found], shares[found] = parts[at] * part, part
                        found += 1
            at += 1
        own = truth[i]
        for at in range(found - 1, -1, -1):
            node, gone = visited[at], parts[at]
            mass, left = max(masses[node] - gone, 0.0), max(counts[node, own] - gone, 0.0)
            log_leaf = log_evidence[node]
            if gone == 1.0:  # log Γ(x + 1) - log Γ(x) = log x
                log_leaf += math.log((mass + prior * classes) / (left + prior))
            else:
                log_leaf += log_gamma(left + prior) - log_gamma(counts[node, own] + prior)
                log_leaf += log_gamma(masses[node] + prior * classes) - log_gamma(mass + prior * classes)
            total, stopped = log_leaf, 1.0
            if column[node] >= 0:
                stop, split = log_stop[node] + log_leaf, log_split[node] + below[at]
                top = max(stop, split)
                total = top + math.log(math.exp(stop - top) + math.exp(split - top))
                stopped = math.exp(stop - total)
            for k in range(classes):
                n = left if k == own else counts[node, k]
                leaf = (n + prior) / (mass + prior * classes)
                shares_out[at, k] = stopped * leaf + (1.0 - stopped) * shares_out[at, k]
            if at > 0:
                below[above[at]] += total - log_weighted[node]
                for k in range(classes):
                    shares_out[above[at], k] += shares[at] * shares_out[at, k]
        for k in range(classes):
            out[i, k] = shares_out[0, k]
