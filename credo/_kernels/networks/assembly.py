"""Assembly of a tree of cliques from a network's factors and an elimination order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from credo._kernels.arrays import Integers
from credo._kernels.jit import kernel
from credo._kernels.networks.junction import LONGEST_MAP, write_walk
from credo._kernels.networks.shapes import (
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
from credo._kernels.networks.triangulation import Order


class Assembled(NamedTuple):
    """A tree without its tables."""

    variables: Integers
    cliques: Integers
    members: Integers
    walks: Integers  # of each clique's separator through its parent's table, then of the factors
    paths: Integers
    touched: Integers  # factors with an observed variable
    constant: Integers  # the other relevant factors
    widest: int  # cells of the largest separator


def assemble(
    heads: Integers, axes: Integers, card: Integers, places: Integers, stage: Integers, found: Order
) -> Assembled:
    """The tree of an elimination order."""
    count, many, n = len(found.parent), len(heads) - 1, len(card)
    cliques = np.zeros((count + 1, 6), dtype=np.int64)
    cliques[:count, PARENT] = found.parent
    sizes = np.diff(found.starts)[found.made]
    np.cumsum(sizes, out=cliques[1:, MEMBERS])
    members = np.empty(cliques[count, MEMBERS], dtype=np.int64)
    lay_out(found.starts, found.members, found.made, cliques, members, np.full((4, max(n, count)), -1))
    variables = np.full((n, 7), -1)
    variables[:, CARD], variables[:, PLACE] = card, places[:n]
    widest = place_tables(members, stage, found.home, cliques, variables)
    walks, which = np.zeros((count + many, 7), dtype=np.int64), np.empty(many, dtype=np.int64)
    walks[:count, HOME] = found.parent
    touched = place_factors(heads, axes, stage, found.order, found.home, walks, which)
    homes = walks[walks[:, HOME] >= 0, HOME]
    runs = np.minimum(np.diff(cliques[:, TABLE]), LONGEST_MAP)  # no map is longer
    paths = np.empty(int((2 * sizes + runs)[homes].sum()) + 2 * len(homes), dtype=np.int64)
    size = write_walks(heads, axes, members, cliques, variables, walks, paths)
    return Assembled(variables, cliques, members, walks, paths[:size].copy(), which[:touched], which[touched:], widest)


@kernel
def lay_out(
    starts: Integers, listed: Integers, made: Integers, cliques: Integers, members: Integers, scratch: Integers
) -> None:
    """members = each clique's variables in the order of its table's axes: the separator (KEPT variables) in the
    parent's order, then the rest, those in many children's separators first. scratch: filled with -1"""
    inside, uses, first, following = (
        scratch[0],
        scratch[1],
        scratch[2],
        scratch[3],
    )  # the latter two are lists of children
    for c in range(len(made)):
        p = cliques[c, PARENT]
        if p >= 0:
            following[c], first[p] = first[p], c
    for c in range(len(made) - 1, -1, -1):
        p, at = cliques[c, PARENT], cliques[c, MEMBERS]
        for i in range(starts[made[c]], starts[made[c] + 1]):
            inside[listed[i]], uses[listed[i]] = c, 0
        if p >= 0:
            for i in range(cliques[p, MEMBERS], cliques[p + 1, MEMBERS]):
                if inside[members[i]] == c:
                    members[at], uses[members[i]] = members[i], -1
                    at += 1
        split = at
        cliques[c, KEPT] = split - cliques[c, MEMBERS]
        child = first[c]
        while child >= 0:
            for i in range(starts[made[child]], starts[made[child] + 1]):
                if inside[listed[i]] == c and uses[listed[i]] >= 0:
                    uses[listed[i]] += 1
            child = following[child]
        for i in range(starts[made[c]], starts[made[c] + 1]):
            v = listed[i]
            if uses[v] < 0:
                continue
            j = at  # insertion sort, since these are few
            while j > split:
                u = members[j - 1]
                if uses[u] > uses[v] or (uses[u] == uses[v] and u < v):
                    break
                members[j] = u
                j -= 1
            members[j] = v
            at += 1


@kernel
def place_tables(members: Integers, stage: Integers, home: Integers, cliques: Integers, variables: Integers) -> int:
    """Set the starts of tables, and of separators after them; and for each variable, a clique and the smallest table
    that contain it. The result is the number of cells of the largest separator."""
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
    stage: Integers,
    order: Integers,
    home: Integers,
    walks: Integers,
    which: Integers,
) -> int:
    """Assign each factor to the clique of its first eliminated variable. which = the factors with observed variables,
    then the others; the result is the number of the former."""
    many, touched = len(which), 0
    count, constant = len(walks) - many, many
    place = np.empty(len(stage), dtype=np.int64)
    for i in range(len(order)):
        place[order[i]] = i
    for f in range(many):
        first, observed = -1, False
        for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
            v = axes[i, VARIABLE]
            if stage[v] < 0:
                observed = True
            elif first < 0 or place[v] < place[first]:
                first = v
        walks[count + f, HOME] = home[first] if first >= 0 else -1
        if observed:
            which[touched] = f
            touched += 1
        else:
            constant -= 1
            which[constant] = f
    return touched


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
    """Write all walks, each through the table of its HOME clique. The result is the length of paths."""
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
