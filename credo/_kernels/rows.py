"""Many rows, each with other cells missing: in a tree for any evidence, only the missing cells are walked through."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import kernel
from credo._kernels.junction import FAINT, Cliques
from credo._kernels.shapes import Factors

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

DONE, TOO_LONG, IMPOSSIBLE = 0, 1, 2  # what became of a row


class Rooted(NamedTuple):
    """A tree, its tables filled, as rows walk in it."""

    cliques: Cliques
    tables: Array
    sunk: Array  # (cliques): how small the largest cell in its table may be
    log_base: float  # what the tables are to be multiplied by, too
    strides: Integers  # of each clique's members, in its table
    edges_at: Integers  # (cliques): where the steps of its parent's members in its separator start
    edges: Integers
    first_child: Integers
    next_child: Integers
    with_zeros: Flags  # (cliques): whether a factor in it or below has zeros: evidence may be impossible there


class Walk(NamedTuple):
    """What a row is worked out in."""

    codes: Integers  # of the row's variables, -1 where a cell is missing
    needed: Flags
    messages: Array
    least: Array  # (cliques): the smallest number above 0 in its message, the largest being 1
    choices: Integers  # where the largest was, of each message's cell
    digits: Integers  # of the missing members of a clique, the separator's first
    sizes: Integers
    steps: Integers  # (missing members, cursors)
    cursors: Integers  # where one is in the table, in the message, and in those of the children


@kernel
def write_edges(
    cliques: Cliques, card: Integers, zeros: Flags
) -> tuple[Integers, Integers, Integers, Integers, Integers, Flags]:
    """What Rooted has beside the tree and its tables; zeros: whether a factor has some."""
    count = len(cliques.parent)
    strides = np.empty(len(cliques.members), dtype=np.int64)
    edges_at = np.zeros(count + 1, dtype=np.int64)
    first_child, next_child = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    with_zeros = np.zeros(count, dtype=np.bool_)
    for f in range(len(zeros)):
        if cliques.homes[f] >= 0 and zeros[f]:
            with_zeros[cliques.homes[f]] = True
    for c in range(count):
        stride = 1
        for i in range(cliques.starts[c + 1] - 1, cliques.starts[c] - 1, -1):
            strides[i] = stride
            stride *= card[cliques.members[i]]
        p = cliques.parent[c]
        edges_at[c + 1] = edges_at[c]
        if p >= 0:
            edges_at[c + 1] += cliques.starts[p + 1] - cliques.starts[p]
            next_child[c], first_child[p] = first_child[p], c
            with_zeros[p] = with_zeros[p] or with_zeros[c]
    edges, step = np.empty(edges_at[count], dtype=np.int64), np.zeros(len(card), dtype=np.int64)
    for c in range(count):
        p = cliques.parent[c]
        if p >= 0:
            size = 1
            for i in range(cliques.starts[c] + cliques.kept[c] - 1, cliques.starts[c] - 1, -1):
                step[cliques.members[i]] = size
                size *= card[cliques.members[i]]
            for i in range(cliques.starts[p], cliques.starts[p + 1]):
                edges[edges_at[c] + i - cliques.starts[p]] = step[cliques.members[i]]
            for i in range(cliques.starts[c], cliques.starts[c] + cliques.kept[c]):
                step[cliques.members[i]] = 0
    return strides, edges_at, edges, first_child, next_child, with_zeros


@kernel
def find_needed(everything: bool, card: Integers, tree: Rooted, walk: Walk) -> float:
    """Which cliques a row's answer depends on: those that missing cells join to the last root, and those that may be
    impossible; or all. How many cells must be walked through."""
    cliques, cells = tree.cliques, 0.0
    last = len(cliques.parent) - 1
    for c in range(last, -1, -1):
        p = cliques.parent[c]
        wanted = everything or tree.with_zeros[c] or c == last
        if p >= 0:
            for i in range(cliques.starts[c], cliques.starts[c] + cliques.kept[c]):
                wanted = wanted or walk.codes[cliques.members[i]] < 0
            wanted = wanted and walk.needed[p]
        walk.needed[c] = wanted
        if wanted:
            size = 1.0
            for i in range(cliques.starts[c], cliques.starts[c + 1]):
                if walk.codes[cliques.members[i]] < 0:
                    size *= card[cliques.members[i]]
            cells += size
    return cells


@kernel
def advance(low: int, high: int, width: int, walk: Walk) -> bool:
    """Count on in the digits from low to high, the last being the fastest; False when all are 0 again."""
    for d in range(high - 1, low - 1, -1):
        step = 1
        walk.digits[d] += 1
        if walk.digits[d] == walk.sizes[d]:
            walk.digits[d] = 0
            step -= walk.sizes[d]
        for j in range(width):
            walk.cursors[j] += step * walk.steps[d, j]
        if walk.digits[d]:
            return True
    return False


@kernel
def set_out(c: int, kept: int, card: Integers, tree: Rooted, walk: Walk) -> tuple[int, int, int]:
    """Cursors and steps for clique c, the first `kept` members being its message's: how many of those are missing, how
    many in all, and how many cursors there are."""
    cliques, first, last = tree.cliques, tree.cliques.starts[c], tree.cliques.starts[c + 1]
    rest = 1
    for i in range(first + kept, last):
        rest *= card[cliques.members[i]]
    outer = free = 0
    walk.cursors[0], walk.cursors[1] = cliques.tables_at[c], cliques.separators_at[c]
    for i in range(first, last):
        v = cliques.members[i]
        own = tree.strides[i] // rest if i < first + kept else 0
        if walk.codes[v] >= 0:
            walk.cursors[0] += walk.codes[v] * tree.strides[i]
            walk.cursors[1] += walk.codes[v] * own
        else:
            walk.digits[free], walk.sizes[free] = 0, card[v]
            walk.steps[free, 0], walk.steps[free, 1] = tree.strides[i], own
            free += 1
            outer += i < first + kept
    width = 2
    child = tree.first_child[c]
    while child >= 0:
        if walk.needed[child]:
            edge, d = tree.edges_at[child] - first, 0
            walk.cursors[width] = cliques.separators_at[child]
            for i in range(first, last):
                code = walk.codes[cliques.members[i]]
                if code >= 0:
                    walk.cursors[width] += code * tree.edges[edge + i]
                else:
                    walk.steps[d, width] = tree.edges[edge + i]
                    d += 1
            width += 1
        child = tree.next_child[child]
    return outer, free, width


@kernel
def send_message(c: int, kept: int, largest: bool, card: Integers, tree: Rooted, walk: Walk) -> float:
    """Clique c's message: its table times those of its children, summed (or the largest) over the missing members that
    aren't the message's, scaled so that its largest number is 1. The logarithm of that; -inf if it is all 0, NaN if
    that can't be told in floats without logarithms."""
    outer, free, width = set_out(c, kept, card, tree, walk)
    if faint_product(c, tree, walk):
        return np.nan
    top, least = 0.0, np.inf
    while True:
        value, best, tick = 0.0, 0, 0
        while True:
            x = tree.tables[walk.cursors[0]]
            if x != 0.0:
                for j in range(2, width):
                    x *= walk.messages[walk.cursors[j]]
                if not largest:
                    value += x
                elif x > value:
                    value, best = x, tick
            tick += 1
            if not advance(outer, free, width, walk):
                break
        walk.messages[walk.cursors[1]], walk.choices[walk.cursors[1]] = value, best
        top = max(top, value)
        if value > 0.0:
            least = min(least, value)
        if not advance(0, outer, width, walk):
            break
    if not top > 0.0:
        return -np.inf
    walk.least[c] = least / top
    while True:
        walk.messages[walk.cursors[1]] /= top
        if not advance(0, outer, width, walk):
            return float(np.log(top))


@kernel
def faint_product(c: int, tree: Rooted, walk: Walk) -> bool:
    """Whether the product of the children's messages may be too small for a float."""
    product = tree.sunk[c]
    child = tree.first_child[c]
    while child >= 0:
        if walk.needed[child]:
            product *= walk.least[child]
        child = tree.next_child[child]
    return bool(product < FAINT)


@kernel
def settle_row(everything: bool, largest: bool, budget: float, card: Integers, tree: Rooted, walk: Walk) -> float:
    """All messages of a row: the logarithm by which they were scaled. The last root's first member stays, if it is
    missing; the others are summed out. NaN: that would take too long."""
    if find_needed(everything, card, tree, walk) > budget:
        return np.nan
    log_scale, last = tree.log_base, len(tree.cliques.parent) - 1
    for c in range(last + 1):
        if walk.needed[c]:
            kept = tree.cliques.kept[c] if c < last or everything else 1
            log_scale += send_message(c, kept, largest, card, tree, walk)
            if not log_scale > -np.inf:
                break
    return log_scale


@kernel
def read_row(r: int, columns: Codes, column_of: Integers, codes: Integers) -> bool:
    """codes: a row's cells, by variable; whether none is missing."""
    whole = True
    for v in range(len(codes)):
        codes[v] = columns[column_of[v], r] if column_of[v] >= 0 else -1
        whole = whole and codes[v] >= 0
    return whole


@kernel
def value_of(f: int, codes: Integers, factors: Factors) -> float:
    """A factor's value; NaN if a cell that it depends on is missing."""
    at = factors.values_at[f]
    for i in range(factors.starts[f], factors.starts[f + 1]):
        code = codes[factors.scope[i]]
        if code < 0:
            return np.nan
        at += code * factors.steps[i]
    return float(factors.values[at])


@kernel
def weigh_blanket(target: int, near: Integers, codes: Integers, factors: Factors, out: Array) -> bool:
    """out (states): the product of the factors that have the target, the row's other cells being known; whether they
    are, and it isn't too small to be trusted."""
    out[:] = 1.0
    for f in near:
        at, step = factors.values_at[f], 0
        for i in range(factors.starts[f], factors.starts[f + 1]):
            v = factors.scope[i]
            if v == target:
                step = factors.steps[i]
            elif codes[v] < 0:
                return False
            else:
                at += codes[v] * factors.steps[i]
        for k in range(len(out)):
            out[k] *= factors.values[at + k * step]
    return bool(out.max() > FAINT)


@kernel
def predict_rows(
    columns: Codes,
    column_of: Integers,
    target: int,
    near: Integers,
    others: Integers,
    budget: float,
    card: Integers,
    factors: Factors,
    tree: Rooted,
    walk: Walk,
    out: Array,
    status: NDArray[np.uint8],
) -> None:
    """out (rows, states): what is believed of the target, where status (rows) is DONE. near: the factors that have it;
    others: those with zeros."""
    for r in range(len(out)):
        status[r] = DONE
        read_row(r, columns, column_of, walk.codes)
        walk.codes[target] = -1
        own = out[r]
        if weigh_blanket(target, near, walk.codes, factors, own):
            possible = True
            for f in others:
                possible = possible and value_of(f, walk.codes, factors) > 0.0  # NaN: nobody knows without walking
            if possible and share(own):
                continue
        found = settle_row(False, False, budget, card, tree, walk)
        first = tree.cliques.separators_at[len(tree.cliques.parent) - 1]
        for k in range(len(own)):
            own[k] = walk.messages[first + k]
        if np.isnan(found):
            status[r] = TOO_LONG
        elif found == -np.inf or not share(own):
            status[r] = IMPOSSIBLE


@kernel
def share(values: Array) -> bool:
    """values: scaled to sum to 1, if they can be."""
    total = values.sum()
    for k in range(len(values)):
        values[k] /= total
    return bool(total > 0.0)


@kernel
def score_rows(
    columns: Codes,
    column_of: Integers,
    budget: float,
    card: Integers,
    factors: Factors,
    tree: Rooted,
    walk: Walk,
    out: Array,
) -> None:
    """out (rows): log P(row), summed over what is missing; NaN where that would take too long."""
    for r in range(len(out)):
        if read_row(r, columns, column_of, walk.codes):
            out[r] = 0.0
            for f in range(len(factors.values_at) - 1):
                out[r] += np.log(value_of(f, walk.codes, factors))
        else:
            out[r] = settle_row(True, False, budget, card, tree, walk)


@kernel
def complete_rows(
    columns: Codes,
    column_of: Integers,
    budget: float,
    card: Integers,
    tree: Rooted,
    walk: Walk,
    out: Codes,
    done: Array,
) -> None:
    """out (variables, rows): each row's cells, the missing ones in the states that are most probable together; done
    (rows): the logarithm of that, NaN where it would take too long."""
    cliques = tree.cliques
    for r in range(len(done)):
        done[r] = 0.0
        if not read_row(r, columns, column_of, walk.codes):
            done[r] = settle_row(True, True, budget, card, tree, walk)
            for c in range(len(cliques.parent) - 1, -1, -1):
                if done[r] > -np.inf:
                    choose_members(c, card, tree, walk)
        for v in range(len(card)):
            out[v, r] = walk.codes[v]


@kernel
def choose_members(c: int, card: Integers, tree: Rooted, walk: Walk) -> None:
    """The missing members of a clique that aren't its separator's, by the choice that goes with those that are."""
    cliques, first, last = tree.cliques, tree.cliques.starts[c], tree.cliques.starts[c + 1]
    place = 0
    for i in range(first, first + cliques.kept[c]):
        place = place * card[cliques.members[i]] + walk.codes[cliques.members[i]]
    choice = walk.choices[cliques.separators_at[c] + place]
    for i in range(last - 1, first + cliques.kept[c] - 1, -1):
        v = cliques.members[i]
        if walk.codes[v] < 0:
            walk.codes[v] = choice % card[v]
            choice //= card[v]
