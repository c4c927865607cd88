"""Elimination orders: the interaction graph of the factors, and the cliques that result from an order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo._kernels.networks.clique_tree import attach_to_smaller, join_cliques
from credo._kernels.networks.shapes import SCOPE
from credo._kernels.networks.triangulation import (
    CHANCE,
    DEGREE,
    DONE,
    EDGE,
    LOG,
    LOG_UNIT,
    NODE_COLUMNS,
    SIZE,
    STAGE,
    TURN,
    USED,
    WEIGHS,
    Order,
    connect_scopes,
    eliminate,
    move_edges,
)
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

TRIED_CLIQUES = 64  # cliques tried as a smaller parent


class Graph(NamedTuple):
    """The interaction graph: variables that share a factor are joined."""

    nodes: Integers  # (variables, columns)
    edges: Integers  # (half-edges, 2), with room for more
    slots: Integers  # a hash table of the edges
    used: int  # number of half-edges


def connected(heads: Integers, axes: Integers, log_card: Array, stage: Integers, together: Integers) -> Graph:
    """The graph of the unobserved variables; those of a joint query are joined, too."""
    nodes = np.zeros((len(stage), NODE_COLUMNS), dtype=np.int64)
    nodes[:, STAGE], nodes[:, EDGE], nodes[:, TURN] = stage, -1, -1
    nodes[:, LOG] = np.rint(log_card * LOG_UNIT)
    nodes[:, SIZE] = nodes[:, LOG]
    if len(together):
        heads = np.append(heads, [[len(axes) + len(together), 0]], 0)
        axes = np.append(axes, np.stack([together, together], 1), 0)
        # the new scope starts where the last one ended
    lengths = np.diff(heads[:, SCOPE])
    pairs = int((lengths * (lengths - 1) // 2).sum())
    edges = np.empty((3 * pairs + 64, 2), dtype=np.int64)
    slots = np.full(_room(len(edges)), -1)
    return Graph(nodes, edges, slots, int(connect_scopes(heads, axes, nodes, edges, slots)))


def triangulate(graph: Graph, log_size: Array, rule: int, chance: Integers | None = None) -> Order:
    """An elimination order by a greedy rule, and its cliques."""
    nodes, edges, slots = graph.nodes.copy(), graph.edges.copy(), graph.slots.copy()
    waiting = np.flatnonzero(nodes[:, STAGE] >= 0)
    there, n = len(waiting), len(nodes)
    if chance is not None:
        nodes[:, CHANCE] = chance
    nodes[:, WEIGHS] = nodes[:, SIZE]
    heap = waiting[np.lexsort((nodes[waiting, CHANCE], nodes[waiting, SIZE], nodes[waiting, STAGE]))]
    nodes[heap, TURN] = np.arange(there)
    order, starts = np.empty(there, dtype=np.int64), np.zeros(there + 1, dtype=np.int64)
    members, others = np.empty(there + len(edges) // 2, dtype=np.int64), np.empty(n, dtype=np.int64)
    progress = np.array([0, graph.used, there])
    while not eliminate(rule, nodes, edges, slots, heap, others, progress, order, starts, members):
        degree = int(nodes[heap[0], DEGREE])
        edges = np.append(edges, np.empty((max(len(edges), degree**2), 2), dtype=np.int64), 0)
        members = np.append(members, np.empty(there + len(edges) // 2 - len(members), dtype=np.int64))
        old, slots = slots, np.full(_room(len(edges)), -1)
        move_edges(old, slots)
    steps = int(progress[DONE])
    sizes = np.add.reduceat(log_size[members[: starts[steps]]], starts[:steps]) if steps else np.empty(0)
    nobody, new = np.empty(0, dtype=np.int64), int(progress[USED] - graph.used) // 2
    if steps < there:
        with np.errstate(over="ignore"):  # infinite: it fits in no memory
            return Order(order, starts, members, nobody, nobody, nobody, float(np.exp(sizes).sum()), new)
    members, home = members[: starts[steps]], np.full(n, -1)
    parent, made = np.empty((2, there), dtype=np.int64)
    count = join_cliques(order, starts, members, nodes, home, parent, made)
    parent, made = parent[:count], made[:count]
    by_size = np.argsort(sizes[made], kind="stable")
    room = np.zeros(n + 2, dtype=np.int64), np.empty(len(members), dtype=np.int64)
    attach_to_smaller(by_size, sizes, made, starts, members, parent, *room, TRIED_CLIQUES)
    return Order(order, starts, members, home, parent, made, float(np.exp(sizes[made]).sum()), new)


def _room(halves: int) -> int:
    """The size of a hash table: a power of 2, at most a third full."""
    return 1 << max(6, (halves * 3 // 2).bit_length())
