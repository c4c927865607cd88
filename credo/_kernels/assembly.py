"""From a network's factors and what is observed to a tree of cliques that messages can run in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import kernel, part
from credo._kernels.junction import LONGEST, write_walk
from credo._kernels.shapes import (
    CARD,
    ENTRY,
    ENTRY_STEP,
    FIRST,
    HOME,
    KEPT,
    LARGEST,
    MEMBERS,
    PARENT,
    PLACE,
    SCOPE,
    SEPARATOR,
    SOURCE,
    SOURCE_END,
    SOURCE_STEP,
    STEP,
    TABLE,
    VARIABLE,
)
from credo._kernels.triangulation import attach_to_smaller, connect_scopes, eliminate, join_cliques, list_bits

Array = NDArray[np.float64]
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Order = tuple[Integers, Bits, Integers, Integers, Integers, float]


def connected(heads: Integers, axes: Integers, used: Flags, free: Flags, together: Integers) -> Bits:
    """(variables, words): which free variables share a factor, or are asked for together."""
    near = np.zeros((len(free), (len(free) + 63) // 64), dtype=np.uint64)
    connect_scopes(heads, axes, used, free, near)
    if len(together):
        whole, as_axes = np.array([[0, 0], [len(together), 0]]), np.stack([together, together], 1)
        connect_scopes(whole, as_axes, np.ones(1, dtype=np.bool_), free, near)
    return near


def triangulate(near: Bits, log_size: Array, stage: Integers, rule: int, chance: Array) -> Order:
    """The order in which variables go, the cliques of all steps, each variable's clique, the cliques' parents and the
    steps that they were made at; and how many cells their tables have."""
    there = int(np.count_nonzero(stage >= 0))
    order, parent, made = np.empty((3, there), dtype=np.int64)
    cliques, sizes = np.empty((there, near.shape[1]), dtype=np.uint64), np.empty(there)
    eliminate(near.copy(), log_size, stage, rule, chance, order, cliques, sizes)
    home = np.full(len(near), -1)
    count = join_cliques(order, cliques, stage, home, parent, made)
    attach_to_smaller(cliques, made, sizes, parent[:count])
    with np.errstate(over="ignore"):  # infinite: more than any memory
        cells = float(np.exp(sizes[made[:count]]).sum())
    return order, cliques, home, parent[:count], made[:count], cells


class Assembled(NamedTuple):
    """A tree without its tables."""

    variables: Integers
    cliques: Integers
    members: Integers
    walks: Integers  # first of each clique's separator through its parent, then of the factors
    paths: Integers
    touched: Integers  # factors with an observed variable
    constant: Integers  # the other factors that count
    widest: int  # cells of the largest separator


def assemble(
    heads: Integers, axes: Integers, card: Integers, places: Integers, used: Flags, stage: Integers, found: Order
) -> Assembled:
    """The tree that an order of the variables makes."""
    order, steps, home, parent, made, _ = found
    count, many, n = len(parent), len(used), len(card)
    cliques = np.zeros((count + 1, 6), dtype=np.int64)
    cliques[:count, PARENT] = parent
    sizes = np.unpackbits(steps[made].view(np.uint8), axis=1).sum(1)
    np.cumsum(sizes, out=cliques[1:, MEMBERS])
    members = np.empty(cliques[count, MEMBERS], dtype=np.int64)
    lay_out(steps, made, cliques, members, np.empty((4, max(n, count)), dtype=np.int64))
    variables = np.full((n, 7), -1)
    variables[:, CARD], variables[:, PLACE] = card, places[:n]
    widest = place_tables(members, stage, home, cliques, variables)
    walks, which = np.zeros((count + many, 7), dtype=np.int64), np.empty(many, dtype=np.int64)
    walks[:count, HOME] = parent
    touched, counting = place_factors(heads, axes, used, stage, order, home, walks, which)
    paths = np.empty((count + many) * (2 * int(sizes.max(initial=0)) + LONGEST), dtype=np.int64)
    size = write_walks(heads, axes, members, cliques, variables, walks, paths)
    split = which[:touched], which[counting:]
    return Assembled(variables, cliques, members, walks, paths[:size].copy(), *split, widest)


@part
def has(sets: Bits, row: int, v: int) -> Any:
    """Whether v is in a set: 1 or 0."""
    return (sets[row, v >> 6] >> np.uint64(v & 63)) & np.uint64(1)


@kernel
def lay_out(steps: Bits, made: Integers, cliques: Integers, members: Integers, scratch: Integers) -> None:
    """members of each clique, in the order of its table's axes: what its parent has too (KEPT so many), in the parent's
    order, then the rest; those in many children's separators first."""
    others, uses, first, following = scratch[0], scratch[1], scratch[2], scratch[3]  # the latter: lists of children
    for c in range(len(made)):
        first[c] = -1
    for c in range(len(made)):
        p = cliques[c, PARENT]
        if p >= 0:
            following[c], first[p] = first[p], c
    for c in range(len(made) - 1, -1, -1):
        p, at = cliques[c, PARENT], cliques[c, MEMBERS]
        if p >= 0:
            for i in range(cliques[p, MEMBERS], cliques[p + 1, MEMBERS]):
                if has(steps, made[c], members[i]):
                    members[at] = members[i]
                    at += 1
        split = at
        cliques[c, KEPT] = split - cliques[c, MEMBERS]
        for i in range(list_bits(steps, made[c], others)):
            v = others[i]
            if p >= 0 and has(steps, made[p], v):
                continue
            uses[v], child = 0, first[c]
            while child >= 0:
                uses[v] += np.int64(has(steps, made[child], v))
                child = following[child]
            j = at  # by insertion: few are left
            while j > split and uses[members[j - 1]] < uses[v]:
                members[j] = members[j - 1]
                j -= 1
            members[j] = v
            at += 1


@kernel
def place_tables(members: Integers, stage: Integers, home: Integers, cliques: Integers, variables: Integers) -> int:
    """Where tables start, and separators after them; and of each variable, a clique and the smallest table that has
    it. How many cells the largest separator has."""
    count, widest = len(cliques) - 1, 1
    for c in range(count):
        begin, end = cliques[c, MEMBERS], cliques[c + 1, MEMBERS]
        size, shared = 1, 1
        for i in range(begin, end):
            size *= variables[members[i], CARD]
            if i < begin + cliques[c, KEPT]:
                shared = size
        cliques[c + 1, TABLE], cliques[c + 1, SEPARATOR] = cliques[c, TABLE] + size, cliques[c, SEPARATOR] + shared
        cliques[c, LARGEST] = stage[members[end - 1]] == 1
        widest = max(widest, shared)
    for c in range(count + 1):
        cliques[c, SEPARATOR] += cliques[count, TABLE]
    for c in range(count):
        begin, end, stride = cliques[c, MEMBERS], cliques[c + 1, MEMBERS], 1
        size, shared = cliques[c + 1, TABLE] - cliques[c, TABLE], cliques[c + 1, SEPARATOR] - cliques[c, SEPARATOR]
        for i in range(end - 1, begin - 1, -1):
            v = members[i]
            if home[v] == c:
                variables[v, ENTRY], variables[v, ENTRY_STEP] = c, stride
            if variables[v, SOURCE] < 0 or size < variables[v, SOURCE_END] - variables[v, SOURCE]:
                variables[v, SOURCE], variables[v, SOURCE_END] = cliques[c, TABLE], cliques[c + 1, TABLE]
                variables[v, SOURCE_STEP] = stride
            if i < begin + cliques[c, KEPT] and shared < variables[v, SOURCE_END] - variables[v, SOURCE]:
                variables[v, SOURCE], variables[v, SOURCE_END] = cliques[c, SEPARATOR], cliques[c + 1, SEPARATOR]
                variables[v, SOURCE_STEP] = stride * shared // size
            stride *= variables[v, CARD]
    return widest


@kernel
def place_factors(
    heads: Integers,
    axes: Integers,
    used: Flags,
    stage: Integers,
    order: Integers,
    home: Integers,
    walks: Integers,
    which: Integers,
) -> tuple[int, int]:
    """The clique that each factor goes into, that of its first variable to go. which: the factors that evidence
    touches, up to the first number; and from the second on, the others that count."""
    count, touched, constant = len(walks) - len(used), 0, len(used)
    place = np.empty(len(stage), dtype=np.int64)
    for i in range(len(order)):
        place[order[i]] = i
    for f in range(len(used)):
        walks[count + f, HOME] = -1
        if not used[f]:
            continue
        first, observed = -1, False
        for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
            v = axes[i, VARIABLE]
            if stage[v] < 0:
                observed = True
            elif first < 0 or place[v] < place[first]:
                first = v
        if first >= 0:
            walks[count + f, HOME] = home[first]
        if observed:
            which[touched] = f
            touched += 1
        else:
            constant -= 1
            which[constant] = f
    return touched, constant


@kernel
def write_walks(
    heads: Integers,
    axes: Integers,
    members: Integers,
    cliques: Integers,
    variables: Integers,
    walks: Integers,
    paths: Integers,
) -> Any:
    """All walks, each through the clique that is its HOME; how much of paths they take."""
    count, at, step = len(cliques) - 1, heads[0, SCOPE], np.zeros(len(variables), dtype=np.int64)
    for w in range(len(walks)):
        h = walks[w, HOME]
        if h < 0:
            continue
        if w < count:
            stride = 1
            for i in range(cliques[w, MEMBERS] + cliques[w, KEPT] - 1, cliques[w, MEMBERS] - 1, -1):
                step[members[i]] = stride
                stride *= variables[members[i], CARD]
        else:
            for i in range(heads[w - count, SCOPE], heads[w - count + 1, SCOPE]):
                step[axes[i, VARIABLE]] = axes[i, STEP]
        walks[w, FIRST] = cliques[h, TABLE]
        at = write_walk(members, cliques[h, MEMBERS], cliques[h + 1, MEMBERS], variables, step, w, at, walks, paths)
        for i in range(cliques[h, MEMBERS], cliques[h + 1, MEMBERS]):
            step[members[i]] = 0
    return at
