"""Triangulation: an elimination order by min-fill or min-weight, and the clique that each step makes.

Edges of the graph are kept twice: in a list of each variable's neighbours, and in a hash table that tells whether two
variables are joined. Variables wait in a heap. So time and memory are proportional to the number of edges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import kernel, part
from credo._kernels.networks.shapes import SCOPE, VARIABLE

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

FILL, WEIGHT = 0, 1  # rules: which variable goes next
# columns of variables: when it may go, those of a lower stage first (-1: it isn't there); its first edge; how many
# neighbours it has; the logarithms of its states, and of the table of all of these; how many edges it needs at least,
# and whether that is how many it needs; what decides ties; where it waits, -1: it went; the needs and the size by which
# it does, which are brought up to date for one variable at a time, or the heap would lose its order
STAGE, EDGE, DEGREE, LOG, SIZE, MISSING, COUNTED, CHANCE, TURN, NEEDS, WEIGHS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
COLUMNS = 11
TO, NEXT = 0, 1  # columns of edges: whom it leads to, and the next of the same variable
UNIT = 2.0**32  # logarithms are kept in units of 1 / UNIT: whole numbers, whose sums don't depend on their order
HOPELESS = int(UNIT * 62 * np.log(2.0))  # the logarithm of a table that fits into no memory: no tree is needed
DONE, USED, LEFT = 0, 1, 2  # how far one is: variables that went, edges in use, variables that wait


class Order(NamedTuple):
    """How variables go, and the tree of cliques that this makes."""

    order: Integers
    starts: Integers  # of each step's members
    members: Integers  # the variable that goes, and its neighbours then
    home: Integers  # (variables): the clique that each is in when it goes
    parent: Integers  # (cliques)
    made: Integers  # (cliques): the step whose members it has
    cells: float  # of all tables; if no memory holds them, at least so many, and there are no cliques
    new: int  # edges that it took: with none, no order makes smaller tables


# Edges


@part
def slot_of(a: int, b: int, n: int, slots: Integers) -> Any:
    """Where an edge is in the hash table, or would be."""
    key = min(a, b) * n + max(a, b)
    at = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (len(slots) - 1)
    while slots[at] >= 0 and slots[at] != key:
        at = (at + 1) & (len(slots) - 1)
    return at


@kernel
def are_joined(a: int, b: int, n: int, slots: Integers) -> Any:
    """Whether there is an edge between two variables."""
    return slots[slot_of(a, b, n, slots)] >= 0


@kernel
def join(a: int, b: int, used: int, nodes: Integers, edges: Integers, slots: Integers) -> Any:
    """An edge between two variables, unless it is there; how many halves of edges are then in use."""
    n = len(nodes)
    at = slot_of(a, b, n, slots)
    if slots[at] >= 0:
        return used
    slots[at] = min(a, b) * n + max(a, b)
    edges[used, TO], edges[used, NEXT], nodes[a, EDGE] = b, nodes[a, EDGE], used
    edges[used + 1, TO], edges[used + 1, NEXT], nodes[b, EDGE] = a, nodes[b, EDGE], used + 1
    nodes[a, DEGREE] += 1
    nodes[b, DEGREE] += 1
    nodes[a, SIZE] += nodes[b, LOG]
    nodes[b, SIZE] += nodes[a, LOG]
    return used + 2


@kernel
def connect_scopes(heads: Integers, axes: Integers, nodes: Integers, edges: Integers, slots: Integers) -> Any:
    """Variables that are there and share a factor become neighbours; how many halves of edges that takes."""
    used: Any = np.int64(0)
    for f in range(len(heads) - 1):
        for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
            a = axes[i, VARIABLE]
            if nodes[a, STAGE] >= 0:
                for j in range(heads[f, SCOPE], i):
                    b = axes[j, VARIABLE]
                    if nodes[b, STAGE] >= 0:
                        used = join(a, b, used, nodes, edges, slots)
    return used


@kernel
def move_edges(old: Integers, slots: Integers) -> None:
    """A larger hash table of the same edges."""
    for key in old:
        if key >= 0:
            at = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (len(slots) - 1)
            while slots[at] >= 0:
                at = (at + 1) & (len(slots) - 1)
            slots[at] = key


@kernel
def list_neighbours(v: int, nodes: Integers, edges: Integers, found: Integers, at: int) -> Any:
    """found, from `at` on: the neighbours of v that are left, and where they end; those that went leave its list."""
    before: Any = np.int64(-1)
    e = nodes[v, EDGE]
    while e >= 0:
        u, following = edges[e, TO], edges[e, NEXT]
        if nodes[u, TURN] >= 0:
            found[at] = u
            at += 1
            before = e
        elif before >= 0:
            edges[before, NEXT] = following
        else:
            nodes[v, EDGE] = following
        e = following
    return at


# The heap of variables that wait


@part
def goes_before(v: int, u: int, rule: int, nodes: Integers) -> bool:
    if nodes[v, STAGE] != nodes[u, STAGE]:
        return bool(nodes[v, STAGE] < nodes[u, STAGE])
    if rule == FILL and nodes[v, NEEDS] != nodes[u, NEEDS]:
        return bool(nodes[v, NEEDS] < nodes[u, NEEDS])
    if nodes[v, WEIGHS] != nodes[u, WEIGHS]:
        return bool(nodes[v, WEIGHS] < nodes[u, WEIGHS])
    if nodes[v, CHANCE] != nodes[u, CHANCE]:
        return bool(nodes[v, CHANCE] < nodes[u, CHANCE])
    return v < u


@kernel
def settle(v: int, left: int, rule: int, nodes: Integers, heap: Integers) -> None:
    """The heap's order, after what decides of v has changed."""
    nodes[v, NEEDS], nodes[v, WEIGHS] = nodes[v, MISSING], nodes[v, SIZE]
    at = nodes[v, TURN]
    while at > 0:
        u = heap[(at - 1) >> 1]
        if not goes_before(v, u, rule, nodes):
            break
        heap[at], nodes[u, TURN] = u, at
        at = (at - 1) >> 1
    while 2 * at + 1 < left:
        child = 2 * at + 1
        if child + 1 < left and goes_before(heap[child + 1], heap[child], rule, nodes):
            child += 1
        u = heap[child]
        if not goes_before(u, v, rule, nodes):
            break
        heap[at], nodes[u, TURN] = u, at
        at = child
    heap[at], nodes[v, TURN] = v, at


@kernel
def count_missing(
    v: int, left: int, nodes: Integers, edges: Integers, slots: Integers, heap: Integers, others: Integers
) -> None:
    """MISSING of v, which waits first: how many pairs of its neighbours aren't joined; or, as soon as that is so many
    that another goes first, no more than that."""
    enough: Any = np.int64(2**62)
    for place in range(1, min(3, left)):
        if nodes[heap[place], STAGE] == nodes[v, STAGE]:
            enough = min(enough, nodes[heap[place], NEEDS])
    missing: Any = np.int64(0)
    size, e = 0, nodes[v, EDGE]
    before: Any = np.int64(-1)
    while e >= 0 and missing <= enough:
        u, following = edges[e, TO], edges[e, NEXT]
        if nodes[u, TURN] >= 0:
            for i in range(size):
                missing += not are_joined(u, others[i], len(nodes), slots)
            others[size] = u
            size += 1
            before = e
        elif before >= 0:
            edges[before, NEXT] = following
        else:
            nodes[v, EDGE] = following
        e = following
    nodes[v, MISSING] = missing
    nodes[v, COUNTED] = size == nodes[v, DEGREE]


# Elimination


@kernel
def spare_pair(
    a: int,
    b: int,
    left: int,
    nodes: Integers,
    edges: Integers,
    slots: Integers,
    heap: Integers,
    others: Integers,
    at: int,
) -> None:
    """Two that become neighbours now are one pair less to join for whom they both are neighbours of."""
    if nodes[a, DEGREE] > nodes[b, DEGREE]:
        a, b = b, a
    for i in range(at, list_neighbours(a, nodes, edges, others, at)):
        u = others[i]
        if nodes[u, MISSING] > 0 and u != b and are_joined(u, b, len(nodes), slots):
            nodes[u, MISSING] -= 1
            settle(u, left, FILL, nodes, heap)


@kernel
def join_neighbours(
    begin: int,
    end: int,
    left: int,
    used: int,
    rule: int,
    nodes: Integers,
    edges: Integers,
    slots: Integers,
    heap: Integers,
    members: Integers,
    others: Integers,
) -> Any:
    """The neighbours of the variable that went, members from begin to end, become each other's; how many halves of
    edges are then in use."""
    before = used
    for i in range(begin, end):
        for j in range(begin, i):
            a, b = members[i], members[j]
            new = join(a, b, used, nodes, edges, slots)
            if new > used and rule == FILL:
                spare_pair(a, b, left, nodes, edges, slots, heap, others, 0)
            used = new
    degree = end - begin
    for i in range(begin, end):
        u = members[i]
        if used == before:  # all were joined: each has a neighbour less, which its other ones weren't joined to
            nodes[u, MISSING] = max(0, nodes[u, MISSING] - (nodes[u, DEGREE] + 1 - degree))
        else:
            nodes[u, MISSING] = nodes[u, COUNTED] = 0
        settle(u, left, rule, nodes, heap)
    return used


@kernel
def eliminate(
    rule: int,
    nodes: Integers,
    edges: Integers,
    slots: Integers,
    heap: Integers,
    others: Integers,
    progress: Integers,
    order: Integers,
    starts: Integers,
    members: Integers,
) -> bool:
    """order: how variables go, those of a lower stage first; members, from each one's start: the clique that it makes
    with its neighbours then. Whether all went; else, there is no room for new edges.

    By the rule, a variable goes next that needs the fewest new edges, or makes the smallest table; the other decides
    ties, then chance. A variable that needs no more than others is counted only when it would be next. Where a table is
    hopelessly large, the rest stay.
    """
    while progress[LEFT]:
        v, left = heap[0], progress[LEFT]
        if rule == FILL and not nodes[v, COUNTED]:
            count_missing(v, left, nodes, edges, slots, heap, others)
            settle(v, left, rule, nodes, heap)
            continue
        degree, step = nodes[v, DEGREE], progress[DONE]
        if progress[USED] + degree * (degree - 1) > len(edges):
            return False
        left -= 1
        last = heap[left]
        nodes[v, TURN] = -1
        if last != v:
            nodes[last, TURN] = 0
            heap[0] = last
            settle(last, left, rule, nodes, heap)
        begin = starts[step]
        order[step], members[begin] = v, v
        end = list_neighbours(v, nodes, edges, members, begin + 1)
        progress[DONE], progress[LEFT], starts[step + 1] = step + 1, left, end
        for i in range(begin + 1, end):
            nodes[members[i], DEGREE] -= 1
            nodes[members[i], SIZE] -= nodes[v, LOG]
        if nodes[v, SIZE] > HOPELESS:
            return True
        progress[USED] = join_neighbours(
            begin + 1, end, left, progress[USED], rule, nodes, edges, slots, heap, members, others
        )
    return True
