"""Queries about many rows with different missing cells: a tree for any evidence, in which only the states of missing
cells are visited."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from credo._kernels.arrays import Array, Codes, Integers
from credo._kernels.jit import kernel, part
from credo._kernels.networks.junction import UNDERFLOW
from credo._kernels.networks.shapes import (
    KEPT,
    MEMBERS,
    PARENT,
    SCOPE,
    SEPARATOR,
    STEP,
    TABLE,
    VALUES,
    VARIABLE,
    Factors,
)

PREDICT, SCORE, COMPLETE = 0, 1, 2  # queries: one kernel for all compiles much faster than three
# further columns of cliques: the start of the strides of its parent's members in its separator; its first child, and
# its next sibling; whether a factor in it or below has zeros, so that evidence may be impossible there
EDGES, CHILD, NEXT, ZEROS = 6, 7, 8, 9
DIGIT, SIZE, STEPS = 0, 1, 2  # columns of missing members: the current state, the number of states, cursors' strides


class RootedTree(NamedTuple):
    """A tree for any evidence, with its values."""

    cliques: Integers
    members: Integers  # (members, 2): variables, and their strides in a clique's table
    edges: Integers
    card: Integers
    tables: Array
    sunk: Array  # (cliques + 1): a lower bound of the largest cell of its table; and a logarithm to add


class Walk(NamedTuple):
    """Scratch for one row."""

    codes: Integers  # of the row's variables, -1 where a cell is missing
    messages: Array
    least: Array  # (cliques): the smallest positive number of its message, whose largest is 1; -1: not needed
    choices: Integers  # the position of the maximum for each cell of a message
    free: Integers  # (missing members of a clique, 2 + cursors), those of the separator first
    cursors: Integers  # positions in the table, in the message, and in the children's messages


@kernel
def write_edges(card: Integers, zeros: Integers, cliques: Integers, members: Integers, edges: Integers) -> None:
    """Write strides along edges and lists of children; zeros: cliques with factors that contain zeros"""
    step = np.zeros(len(card), dtype=np.int64)
    for c in zeros:
        cliques[c, ZEROS] = 1
    for c in range(len(cliques) - 1):
        begin, end, p = cliques[c, MEMBERS], cliques[c + 1, MEMBERS], cliques[c, PARENT]
        stride, rest = 1, 1
        for i in range(end - 1, begin - 1, -1):
            members[i, STEP] = stride
            stride *= card[members[i, VARIABLE]]
            if i == begin + cliques[c, KEPT]:
                rest = stride
        cliques[c + 1, EDGES] = cliques[c, EDGES]
        if p >= 0:
            cliques[c, NEXT], cliques[p, CHILD] = cliques[p, CHILD], c
            cliques[p, ZEROS] |= cliques[c, ZEROS]
            for i in range(begin, begin + cliques[c, KEPT]):
                step[members[i, VARIABLE]] = members[i, STEP] // rest
            for i in range(cliques[p, MEMBERS], cliques[p + 1, MEMBERS]):
                edges[cliques[c + 1, EDGES]] = step[members[i, VARIABLE]]
                cliques[c + 1, EDGES] += 1
            for i in range(begin, begin + cliques[c, KEPT]):
                step[members[i, VARIABLE]] = 0


@part
def find_needed(everything: bool, tree: RootedTree, walk: Walk) -> float:
    """Mark the cliques that a row's answer depends on: all, or those that missing cells connect to the last root and
    those where evidence may be impossible. The result is the number of cells to visit."""
    cliques, members, codes, cells = tree.cliques, tree.members, walk.codes, 0.0
    last = len(cliques) - 2
    for c in range(last, -1, -1):
        begin, end, p = cliques[c, MEMBERS], cliques[c + 1, MEMBERS], cliques[c, PARENT]
        wanted = everything or cliques[c, ZEROS] > 0 or c == last
        if p >= 0:
            for i in range(begin, begin + cliques[c, KEPT]):
                wanted = wanted or codes[members[i, VARIABLE]] < 0
            wanted = wanted and walk.least[p] >= 0.0
        walk.least[c] = 1.0 if wanted else -1.0
        if wanted:
            size = 1.0
            for i in range(begin, end):
                if codes[members[i, VARIABLE]] < 0:
                    size *= tree.card[members[i, VARIABLE]]
            cells += size
    return cells


@kernel
def advance(low: int, high: int, width: int, free: Integers, cursors: Integers) -> bool:
    """Advance the odometer of the digits from low to high, the last being the fastest; False when all are 0 again."""
    for d in range(high - 1, low - 1, -1):
        step = 1
        free[d, DIGIT] += 1
        if free[d, DIGIT] == free[d, SIZE]:
            free[d, DIGIT] = 0
            step -= free[d, SIZE]
        for j in range(width):
            cursors[j] += step * free[d, STEPS + j]
        if free[d, DIGIT]:
            return True
    return False


@kernel
def place_cursors(c: int, kept: int, tree: RootedTree, walk: Walk) -> tuple[int, int, int]:
    """Set cursors and strides for clique c, whose first `kept` members are those of its message. The result is the
    numbers of missing members among these, of all missing members, and of cursors."""
    cliques, members, codes, cursors, free = tree.cliques, tree.members, walk.codes, walk.cursors, walk.free
    first, last = cliques[c, MEMBERS], cliques[c + 1, MEMBERS]
    rest = members[first + kept - 1, STEP] if kept else 1
    outer: Any = np.int64(0)  # an int64: a plain 0 would compile its callees once more
    missing, width = outer, 2
    cursors[0], cursors[1] = cliques[c, TABLE], cliques[c, SEPARATOR]
    for i in range(first, last):
        v, step = members[i, VARIABLE], members[i, STEP]
        own = step // rest if i < first + kept else 0
        if codes[v] >= 0:
            cursors[0] += codes[v] * step
            cursors[1] += codes[v] * own
        else:
            free[missing, DIGIT], free[missing, SIZE] = 0, tree.card[v]
            free[missing, STEPS], free[missing, STEPS + 1] = step, own
            missing += 1
            if i < first + kept:
                outer = missing
    child = cliques[c, CHILD]
    while child >= 0:
        if walk.least[child] >= 0.0:
            edge, d = cliques[child, EDGES] - first, 0
            cursors[width] = cliques[child, SEPARATOR]
            for i in range(first, last):
                code = codes[members[i, VARIABLE]]
                if code >= 0:
                    cursors[width] += code * tree.edges[edge + i]
                else:
                    free[d, STEPS + width] = tree.edges[edge + i]
                    d += 1
            width += 1
        child = cliques[child, NEXT]
    return outer, missing, width


@part
def may_underflow(c: int, tree: RootedTree, walk: Walk) -> bool:
    """Whether the product of the children's messages may underflow."""
    product, child = tree.sunk[c], tree.cliques[c, CHILD]
    while child >= 0:
        if walk.least[child] >= 0.0:
            product *= walk.least[child]
        child = tree.cliques[child, NEXT]
    return bool(product < UNDERFLOW)


@kernel
def send_message(c: int, kept: int, largest: bool, tree: RootedTree, walk: Walk) -> float:
    """Clique c's message: its table times its children's messages, summed (or maximised) over the missing members that
    aren't in its separator, scaled to a maximum of 1. The result is the log of the scale; -inf if all is 0, NaN if it
    may underflow."""
    outer, missing, width = place_cursors(c, kept, tree, walk)
    if may_underflow(c, tree, walk):
        return np.nan
    messages, cursors, free, top, least = walk.messages, walk.cursors, walk.free, 0.0, np.inf
    start: Any = np.int64(0)
    while True:
        value, best, tick = 0.0, 0, 0
        while True:
            x = tree.tables[cursors[0]]
            if x != 0.0:
                for j in range(2, width):
                    x *= messages[cursors[j]]
                if not largest:
                    value += x
                elif x > value:
                    value, best = x, tick
            tick += 1
            if not advance(outer, missing, width, free, cursors):
                break
        messages[cursors[1]], walk.choices[cursors[1]] = value, best
        top = max(top, value)
        if 0.0 < value < least:
            least = value
        if not advance(start, outer, width, free, cursors):
            break
    if not top > 0.0:
        return -np.inf
    walk.least[c] = least / top
    while True:
        messages[cursors[1]] /= top
        if not advance(start, outer, width, free, cursors):
            return float(np.log(top))


@part
def settle_row(everything: bool, largest: bool, budget: float, tree: RootedTree, walk: Walk) -> float:
    """Send all messages of a row. The result is the log of their scales; NaN if it would visit more cells than the
    budget. The last root's first member is kept, if it is missing; the others are summed out."""
    if find_needed(everything, tree, walk) > budget:
        return np.nan
    last = len(tree.cliques) - 2
    log_scale = tree.sunk[last + 1]
    for c in range(last + 1):
        if walk.least[c] >= 0.0:
            kept = tree.cliques[c, KEPT] if c < last or everything else 1
            log_scale += send_message(c, kept, largest, tree, walk)
            if not log_scale > -np.inf:
                break
    return float(log_scale)


@part
def read_row(r: int, columns: Codes, column_of: Integers, codes: Integers) -> bool:
    """codes = a row's cells, by variable. The result is whether none is missing."""
    whole = True
    for v in range(len(codes)):
        codes[v] = columns[column_of[v], r] if column_of[v] >= 0 else -1
        whole = whole and codes[v] >= 0
    return whole


@kernel
def value_of(f: int, codes: Integers, factors: Factors) -> float:
    """The value of a factor; NaN if a cell that it depends on is missing."""
    at = factors.values_at[f]
    for i in range(factors.starts[f], factors.starts[f + 1]):
        code = codes[factors.scope[i]]
        if code < 0:
            return np.nan
        at += code * factors.steps[i]
    return float(factors.values[at])


@part
def cell_of(f: int, codes: Integers, heads: Integers, axes: Integers) -> Any:
    """The position of a factor's value; -1 if a cell that it depends on is missing."""
    at = heads[f, VALUES]
    for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
        code = codes[axes[i, VARIABLE]]
        if code < 0:
            return -1
        at += code * axes[i, STEP]
    return at


@part
def weigh_blanket(
    target: int, near: Integers, codes: Integers, heads: Integers, axes: Integers, values: Array, r: int, shares: Array
) -> bool:
    """Row r of shares = the product of the factors in the target's Markov blanket. The result is whether the blanket is
    observed and the product doesn't underflow."""
    for k in range(shares.shape[1]):
        shares[r, k] = 1.0
    for f in near:
        at, step = heads[f, VALUES], 0
        for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
            v = axes[i, VARIABLE]
            if v == target:
                step = axes[i, STEP]
            elif codes[v] < 0:
                return False
            else:
                at += codes[v] * axes[i, STEP]
        for k in range(shares.shape[1]):
            shares[r, k] *= values[at + k * step]
    top = 0.0
    for k in range(shares.shape[1]):
        top = max(top, shares[r, k])
    return top > UNDERFLOW


@part
def share(r: int, shares: Array) -> bool:
    """Scale row r of shares to sum to 1. The result is whether that is possible."""
    total = 0.0
    for k in range(shares.shape[1]):
        total += shares[r, k]
    for k in range(shares.shape[1]):
        shares[r, k] /= total
    return total > 0.0


@part
def choose_members(tree: RootedTree, walk: Walk) -> None:
    """Decode the missing cells from the roots down: a clique's other members by the choice for its separator's
    state."""
    members, card, codes = tree.members, tree.card, walk.codes
    for c in range(len(tree.cliques) - 2, -1, -1):
        first, last, place = tree.cliques[c, MEMBERS], tree.cliques[c + 1, MEMBERS], 0
        split = first + tree.cliques[c, KEPT]
        for i in range(first, split):
            place = place * card[members[i, VARIABLE]] + codes[members[i, VARIABLE]]
        choice = walk.choices[tree.cliques[c, SEPARATOR] + place]
        for i in range(last - 1, split - 1, -1):
            v = members[i, VARIABLE]
            if codes[v] < 0:
                codes[v] = choice % card[v]
                choice //= card[v]


@part
def are_possible(some: Integers, codes: Integers, heads: Integers, axes: Integers, values: Array) -> bool:
    """Whether some factors are fully observed, and none is 0."""
    for f in some:
        at = cell_of(f, codes, heads, axes)
        if at < 0 or not values[at] > 0.0:
            return False
    return True


@kernel
def answer_rows(
    question: int,
    columns: Codes,
    column_of: Integers,
    about: tuple[int, Integers, Integers],
    budget: float,
    factors: tuple[Integers, Integers, Array],
    tree: RootedTree,
    walk: Walk,
    shares: Array,
    logs: Array,
    filled: Codes,
) -> None:
    """SCORE: logs (rows) = log P(row), with missing cells summed out. COMPLETE: filled (variables, rows) = each row's
    cells, with the most probable joint state of missing ones. PREDICT: shares (rows, states) = P(variable | row). In
    all of these, logs is NaN for a row that exceeds the budget, and -inf for an impossible row.

    about: the variable, the factors that contain it, and the other factors with zeros
    """
    target, near, others = about
    heads, axes, values = factors
    codes, root = walk.codes, tree.cliques[len(tree.cliques) - 2, SEPARATOR]
    for r in range(len(logs)):
        seen, logs[r] = read_row(r, columns, column_of, codes), 0.0
        if question == PREDICT:
            codes[target] = -1
            seen = weigh_blanket(target, near, codes, heads, axes, values, r, shares)
            seen = seen and are_possible(others, codes, heads, axes, values)
        elif question == SCORE and seen:
            for f in range(len(heads) - 1):
                logs[r] += np.log(values[cell_of(f, codes, heads, axes)])
        if not seen:
            logs[r] = settle_row(question != PREDICT, question == COMPLETE, budget, tree, walk)
            for k in range(shares.shape[1]):
                shares[r, k] = walk.messages[root + k]
        if question == PREDICT and not share(r, shares):
            logs[r] = -np.inf
        if question == COMPLETE:
            if not seen and logs[r] > -np.inf:
                choose_members(tree, walk)
            for v in range(len(codes)):
                filled[v, r] = codes[v]
