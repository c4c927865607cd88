"""Triangulation: an elimination order by min-fill or min-weight, and the clique of each step.

Edges of the graph are stored twice: in a list of each variable's neighbours, and in a hash table for looking up whether
two variables are joined. Variables wait in a heap. So time and memory are proportional to the number of edges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from credo._kernels.arrays import Integers
from credo._kernels.jit import kernel, part
from credo._kernels.networks.shapes import SCOPE, VARIABLE

FILL, WEIGHT = 0, 1  # elimination rules: min-fill, min-weight
# columns of variables: its stage, lower ones being eliminated first (-1: not in the graph); its first edge; the number
# of its neighbours; the logarithms of its states, and of the size of its clique; a lower bound of its fill-in edges,
# and whether it is exact; a random number for ties; its position in the heap (-1: eliminated); the fill-in and the size
# by which the heap is ordered, updated for one variable at a time, since the heap would lose its order otherwise
STAGE, EDGE, DEGREE, LOG, SIZE, MISSING, COUNTED, CHANCE, TURN, NEEDS, WEIGHS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
NODE_COLUMNS = 11
TO, NEXT = 0, 1  # columns of edges: the other variable, and the next edge of the same variable
LOG_UNIT = 2.0**32  # logarithms are integers in units of 1 / LOG_UNIT, whose sums don't depend on their order
TOO_LARGE = int(LOG_UNIT * 62 * np.log(2.0))  # the logarithm of a table that fits in no memory: no tree is needed
DONE, USED, LEFT = 0, 1, 2  # progress: eliminated variables, half-edges in use, waiting variables


class Order(NamedTuple):
    """An elimination order, and its tree of cliques."""

    order: Integers
    starts: Integers  # of each step's members
    members: Integers  # the eliminated variable, and its neighbours at that step
    home: Integers  # (variables): the clique of each at its elimination
    parent: Integers  # (cliques)
    made: Integers  # (cliques): the step with its members
    cells: float  # of all tables; a lower bound if they fit in no memory, and then there are no cliques
    new: int  # the number of fill-in edges: without any, no order has smaller tables


# Edges


@part
def slot_of(a: int, b: int, n: int, slots: Integers) -> Any:
    """The position of an edge in the hash table, or its free slot."""
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
    """Add an edge between two variables, unless it exists. The result is the number of half-edges in use."""
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
    """Join variables of the graph that share a factor. The result is the number of half-edges in use."""
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
    """Copy edges to a larger hash table."""
    for key in old:
        if key >= 0:
            at = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (len(slots) - 1)
            while slots[at] >= 0:
                at = (at + 1) & (len(slots) - 1)
            slots[at] = key


@kernel
def list_neighbours(v: int, nodes: Integers, edges: Integers, found: Integers, at: int) -> Any:
    """found, from `at`: the remaining neighbours of v; the result is their end. Eliminated ones are removed from its
    list."""
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


# The heap of waiting variables


@part
def goes_before(v: int, u: int, rule: int, nodes: Integers) -> bool:
    """Whether v is eliminated before u: by stage, by the rule, by the other rule, by chance."""
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
    """Restore the heap's order after a change of v's fill-in or size."""
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
    """MISSING of v, the first in the heap = the number of pairs of its neighbours that aren't joined; counting stops
    once another variable comes first."""
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
    """Reduce the fill-in of the common neighbours of two variables that are joined now."""
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
    """Join the neighbours of the eliminated variable, members from begin to end. The result is the number of half-edges
    in use."""
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
        if used == before:  # all were joined: each loses a neighbour that wasn't joined to its others
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
    """order = the elimination order, lower stages first; members, from each step's start = the clique of the variable
    and its neighbours. The result is whether all were eliminated; otherwise there is no room for new edges.

    The next variable has the fewest fill-in edges, or the smallest table; the other rule decides ties, then chance. The
    fill-in of a variable is counted exactly only when it would be next. If a table is too large for any memory, the
    elimination stops.
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
        if nodes[v, SIZE] > TOO_LARGE:
            return True
        progress[USED] = join_neighbours(
            begin + 1, end, left, progress[USED], rule, nodes, edges, slots, heap, members, others
        )
    return True
