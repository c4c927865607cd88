"""From a network's factors and what is observed to a tree of cliques that messages can run in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import kernel
from credo._kernels.junction import LONGEST, Cliques, Walks, lay_out, write_walk
from credo._kernels.shapes import Factors
from credo._kernels.triangulation import attach_to_smaller, connect_scopes, eliminate, join_cliques, list_bits

Array = NDArray[np.float64]
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]


@kernel
def connected(factors: Factors, used: Flags, free: Flags, together: Integers) -> Bits:
    """(variables, words): which free variables share a factor, or are asked for together."""
    near = np.zeros((len(free), (len(free) + 63) // 64), dtype=np.uint64)
    connect_scopes(factors.starts, factors.scope, used, free, near)
    whole = np.array([0, len(together)])
    connect_scopes(whole, together, np.ones(1, dtype=np.bool_), free, near)
    return near


@kernel
def triangulate(
    near: Bits, log_size: Array, stage: Integers, rule: int, chance: Array
) -> tuple[Integers, Bits, Integers, Integers, Integers, float]:
    """The order in which variables go, the cliques of all steps, each variable's clique, the cliques' parents and the
    steps that they were made at; and how many cells their tables have."""
    n, words = near.shape
    there = 0
    for v in range(n):
        there += stage[v] >= 0
    order, cliques = np.empty(there, dtype=np.int64), np.empty((there, words), dtype=np.uint64)
    sizes = eliminate(near.copy(), log_size, stage, rule, chance, order, cliques)
    home, parent, made = (
        np.full(n, -1, dtype=np.int64),
        np.empty(there, dtype=np.int64),
        np.empty(there, dtype=np.int64),
    )
    count = join_cliques(order, cliques, stage, home, parent, made)
    attach_to_smaller(cliques, made, sizes, parent[:count])
    cells = 0.0
    for c in range(count):
        cells += np.exp(sizes[made[c]])
    return order, cliques, home, parent[:count], made[:count], cells


@kernel
def assemble(
    factors: Factors,
    card: Integers,
    used: Flags,
    stage: Integers,
    order: Integers,
    steps: Bits,
    home: Integers,
    parent: Integers,
    made: Integers,
) -> tuple[Cliques, Walks]:
    """The tree, and the walks: first of each clique's separator through its parent, then of the factors."""
    count, n, many = len(parent), len(card), len(used)
    starts, kept = np.empty(count + 1, dtype=np.int64), np.empty(count, dtype=np.int64)
    others = np.empty(n, dtype=np.int64)
    size = 0
    for c in range(count):
        size += list_bits(steps[made[c]], others)
    members, strides = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    lay_out(steps, made, parent, card, starts, members, kept)
    tables_at, separators_at = np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    entry, entry_step = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    sources, source_step, least = (
        np.full(n, -1, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
    )
    largest = np.zeros(count, dtype=np.bool_)
    for c in range(count):
        stride, rest = 1, 1
        for i in range(starts[c + 1] - 1, starts[c] - 1, -1):
            strides[i] = stride
            stride *= card[members[i]]
            if i == starts[c] + kept[c]:
                rest = stride
        tables_at[c + 1], separators_at[c + 1] = tables_at[c] + stride, separators_at[c] + stride // rest
        largest[c] = stage[members[starts[c + 1] - 1]] == 1
        for i in range(starts[c], starts[c + 1]):
            v = members[i]
            if home[v] == c:
                entry[v], entry_step[v] = c, strides[i]
            if sources[v] < 0 or stride < least[v]:
                sources[v], source_step[v], least[v] = c, strides[i], stride
            if i < starts[c] + kept[c] and stride // rest < least[v]:
                sources[v], source_step[v], least[v] = count + c, strides[i] // rest, stride // rest
    homes, touched = place_factors(factors, used, stage, order, home)
    size = count * 2  # dimensions of walks, at most
    for c in range(count):
        if parent[c] >= 0:
            size += starts[parent[c] + 1] - starts[parent[c]]
    for f in range(many):
        if homes[f] >= 0:
            size += starts[homes[f] + 1] - starts[homes[f]]
    walks = Walks(
        np.zeros(count + many + 1, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.zeros(count + many, dtype=np.int64),
        np.zeros(count + many, dtype=np.int64),
        np.zeros(count + many, dtype=np.int64),
        np.empty((count + many) * LONGEST, dtype=np.int32),
    )
    at, step = np.zeros(2, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for c in range(count):
        p = parent[c]
        walks.starts[c + 1] = at[0]
        if p >= 0:
            rest = (tables_at[c + 1] - tables_at[c]) // (separators_at[c + 1] - separators_at[c])
            for i in range(starts[c], starts[c] + kept[c]):
                step[members[i]] = strides[i] // rest
            write_walk(members[starts[p] : starts[p + 1]], card, step, c, at, walks)
            for i in range(starts[c], starts[c] + kept[c]):
                step[members[i]] = 0
    for f in range(many):
        h = homes[f]
        walks.starts[count + f + 1] = at[0]
        if h >= 0:
            for i in range(factors.starts[f], factors.starts[f + 1]):
                step[factors.scope[i]] = factors.steps[i]
            write_walk(members[starts[h] : starts[h + 1]], card, step, count + f, at, walks)
            for i in range(factors.starts[f], factors.starts[f + 1]):
                step[factors.scope[i]] = 0
    places = (tables_at, separators_at, largest, entry, entry_step, sources, source_step)
    return Cliques(parent, starts, members, kept, *places, homes, touched), walks


@kernel
def place_factors(
    factors: Factors, used: Flags, stage: Integers, order: Integers, home: Integers
) -> tuple[Integers, Integers]:
    """The clique that each factor goes into, that of its first variable to go; and which factors evidence touches."""
    place = np.empty(len(stage), dtype=np.int64)
    for i in range(len(order)):
        place[order[i]] = i
    homes, touched, count = np.full(len(used), -2, dtype=np.int64), np.empty(len(used), dtype=np.int64), 0
    for f in range(len(used)):
        if not used[f]:
            continue
        first, observed = -1, False
        for i in range(factors.starts[f], factors.starts[f + 1]):
            v = factors.scope[i]
            if stage[v] < 0:
                observed = True
            elif first < 0 or place[v] < place[first]:
                first = v
        homes[f] = home[first] if first >= 0 else -1
        if observed or first < 0:
            touched[count] = f
            count += 1
    return homes, touched[:count]
