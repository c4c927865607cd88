"""Expected family counts: Σ over rows of P(node, parents | the row's known cells), in a tree for any evidence.

Messages to the roots and back visit only the states of missing cells. Each message is scaled, and the scale is undone
on the way back, so that a clique's cells sum to 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo._kernels.arrays import Array, Codes, Integers
from credo._kernels.jit import kernel, part
from credo._kernels.networks.junction import UNDERFLOW
from credo._kernels.networks.rows import (
    STEPS,
    RootedTree,
    Walk,
    advance,
    cell_of,
    find_needed,
    may_underflow,
    place_cursors,
    read_row,
)
from credo._kernels.networks.shapes import KEPT, MEMBERS, VARIABLE, CliqueFactors


class PassResults(NamedTuple):
    """The results that the passes share."""

    scales: Array  # (cliques): the divisor of its message to the root
    back: Array  # messages from the parent, in the layout of those to it


@part
def log_of_known(
    codes: Integers, heads: Integers, axes: Integers, values: Array, weight: float, counts: Array
) -> float:
    """The log-probability of a complete row; unless it is -inf, counts += the row's weight in each family."""
    log_total, product = 0.0, 1.0
    for f in range(len(heads) - 1):
        product *= values[cell_of(f, codes, heads, axes)]
        if product < UNDERFLOW:
            log_total, product = log_total + np.log(product), 1.0
    log_total += np.log(product)
    if log_total > -np.inf:
        for f in range(len(heads) - 1):
            counts[cell_of(f, codes, heads, axes)] += weight
    return float(log_total)


@kernel
def send_sum(c: int, tree: RootedTree, walk: Walk, passes: PassResults) -> float:
    """Clique c's message to its parent: its table times its children's messages, summed over the missing members that
    aren't in its separator, scaled to a maximum of 1. The result is the scale; 0 if all is impossible, NaN if it may
    underflow."""
    outer, missing, width = place_cursors(c, tree.cliques[c, KEPT], tree, walk)
    if may_underflow(c, tree, walk):
        return np.nan
    messages, cursors, free, top, least = walk.messages, walk.cursors, walk.free, 0.0, np.inf
    start = outer - outer  # an int64: a plain 0 would compile `advance` once more
    while True:
        value = 0.0
        while True:
            x = tree.tables[cursors[0]]
            if x != 0.0:
                for j in range(2, width):
                    x *= messages[cursors[j]]
                value += x
            if not advance(outer, missing, width, free, cursors):
                break
        messages[cursors[1]], passes.back[cursors[1]] = value, 0.0
        top = max(top, value)
        if 0.0 < value < least:
            least = value
        if not advance(start, outer, width, free, cursors):
            break
    if not top > 0.0:
        return 0.0
    if outer == 0:  # the separator is known: its message is 1, and the parent needs it in neither pass
        walk.least[c] = -1.0
        return top
    walk.least[c] = least / top
    while True:
        messages[cursors[1]] /= top
        if not advance(start, outer, width, free, cursors):
            return top


@part
def collect_row(budget: float, tree: RootedTree, walk: Walk, passes: PassResults) -> float:
    """Send all messages to the roots. The result is log P(row); NaN if it may underflow or exceeds the budget of
    cells."""
    if find_needed(True, tree, walk) > budget:
        return np.nan
    count, product = len(tree.cliques) - 1, 1.0
    log_total = tree.sunk[count]
    for c in range(count):
        scale = send_sum(c, tree, walk, passes)
        passes.scales[c] = scale
        if not scale > 0.0:
            return -np.inf if scale == 0.0 else np.nan
        product *= scale
        if not UNDERFLOW < product < 1.0 / UNDERFLOW:
            log_total, product = log_total + np.log(product), 1.0
    return float(log_total + np.log(product))


@part
def place_families(
    c: int, width: int, weight: float, tree: RootedTree, families: CliqueFactors, walk: Walk, counts: Array
) -> int:
    """Set cursors from `width` to the cells of clique c's families with a missing member; the others are counted at
    once. The result is the number of all cursors."""
    first, last = tree.cliques[c, MEMBERS], tree.cliques[c + 1, MEMBERS]
    for f in range(families.of_clique[c], families.of_clique[c + 1]):
        at, d, varies = families.values_at[f], 0, False
        for i in range(first, last):
            step, code = families.steps[families.starts[f] + i - first], walk.codes[tree.members[i, VARIABLE]]
            if code >= 0:
                at += code * step
            else:
                walk.free[d, STEPS + width] = step
                d += 1
                varies = varies or step > 0
        if varies:
            walk.cursors[width] = at
            width += 1
        else:
            counts[at] += weight
    return width


@kernel
def distribute_row(
    weight: float, tree: RootedTree, families: CliqueFactors, walk: Walk, passes: PassResults, counts: Array
) -> None:
    """Messages from the roots; counts += weight · P(family | row).

    P(clique | row) = table · message from the parent · ∏ messages from the children / scale; the message to a child is
    its sum over members outside the child's separator, divided by the child's message.
    """
    cursors, free, messages = walk.cursors, walk.free, walk.messages
    for c in range(len(tree.cliques) - 2, -1, -1):
        outer, missing, inner = place_cursors(c, tree.cliques[c, KEPT], tree, walk)
        if outer == 0:
            passes.back[cursors[1]] = 1.0
        width, factor = place_families(c, inner, weight, tree, families, walk, counts), 1.0 / passes.scales[c]
        start = outer - outer
        while True:
            x = tree.tables[cursors[0]] * passes.back[cursors[1]] * factor
            if x != 0.0:
                for j in range(2, inner):
                    x *= messages[cursors[j]]
                if x != 0.0:
                    for j in range(2, inner):
                        passes.back[cursors[j]] += x / messages[cursors[j]]
                    for j in range(inner, width):
                        counts[cursors[j]] += weight * x
            if not advance(start, missing, width, free, cursors):
                break


@kernel
def expect_rows(
    columns: Codes,
    column_of: Integers,
    weights: Array,
    budget: float,
    factors: tuple[Integers, Integers, Array],
    tree: RootedTree,
    families: CliqueFactors,
    walk: Walk,
    passes: PassResults,
    logs: Array,
    counts: Array,
) -> None:
    """logs (rows) = log P(row), with missing cells summed out; counts (1, values) += Σ weight · P(family | row), in the
    layout of the factors' values, or (rows, values) for each row. A row isn't counted if its log is -inf (impossible)
    or NaN (may underflow, or too many cells).
    """
    heads, axes, values = factors
    for r in range(len(logs)):
        own = counts[r if len(counts) > 1 else 0]
        if read_row(r, columns, column_of, walk.codes):
            logs[r] = log_of_known(walk.codes, heads, axes, values, weights[r], own)
            continue
        logs[r] = collect_row(budget, tree, walk, passes)
        if logs[r] > -np.inf:
            distribute_row(weights[r], tree, families, walk, passes, own)
