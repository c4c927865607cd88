"""Maximum spanning trees (for Chow-Liu trees of columns) and, for arrows, maximum branchings."""

from __future__ import annotations

import numpy as np

from credo.numerics.arrays import Positions
from credo.numerics.exact import Array


def spanning_tree(weights: Array, root: int = 0, least: float = -np.inf) -> Positions:
    """The parent of each node in a maximum spanning tree of symmetric weights (Prim 1957), directed away from the root.

    A root has the parent -1. Edges of weight `least` or below are left out, so that there may be several trees.

    >>> spanning_tree(np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]])).tolist()
    [-1, 0, 1]
    """
    n = len(weights)
    best, parents, outside = np.full(n, -np.inf), np.full(n, -1, dtype=np.intp), np.ones(n, dtype=bool)
    at = root
    for _ in range(n):
        outside[at] = False
        heavier = outside & (weights[at] > best) & (weights[at] > least)
        best[heavier], parents[heavier] = weights[at][heavier], at
        if not outside.any():
            break
        reached = outside & (best > -np.inf)
        at = int(np.where(reached, best, -np.inf).argmax()) if reached.any() else int(outside.argmax())
    return parents


def maximum_branching(weights: Array, roots: Array) -> Positions:
    """The parent of each node, -1 for roots, that maximises Σ weights[parent, node] + Σ roots[root] without cycles.

    (Chu and Liu 1965; Edmonds 1967)

    >>> maximum_branching(np.array([[0.0, 3.0, 0.0], [4.0, 0.0, 2.0], [0.0, 2.5, 0.0]]), np.zeros(3)).tolist()
    [1, 2, -1]
    """
    n = len(weights)
    whole = np.full((n + 1, n + 1), -np.inf)  # node 0 is above all others
    whole[0, 1:] = roots
    whole[1:, 1:] = np.where(np.eye(n, dtype=bool), -np.inf, weights)
    return _arborescence(whole)[1:] - 1


def _arborescence(weights: Array) -> Positions:
    """The parent of each node but 0 in the heaviest tree below node 0.

    Each node takes its best arrow. A cycle of these is contracted to one node of a smaller problem, which breaks it.
    """
    contracted = list[tuple[Array, Positions, Positions]]()
    parents = _best_arrows(weights)
    while (cycle := _cycle(parents)) is not None:
        contracted.append((weights, parents, cycle))
        weights = _contracted(weights, parents, cycle)
        parents = _best_arrows(weights)
    while contracted:
        parents = _expanded(parents, *contracted.pop())
    return parents


def _best_arrows(weights: Array) -> Positions:
    parents = np.asarray(weights.argmax(0), dtype=np.intp)
    parents[0] = 0
    return parents


def _entering(weights: Array, parents: Positions, cycle: Positions) -> Array:
    """The change of weight if an arrow into a cycle replaces the arrow there. (nodes, cycle)"""
    return np.asarray(weights[:, cycle] - weights[parents[cycle], cycle])


def _contracted(weights: Array, parents: Positions, cycle: Positions) -> Array:
    """The weights with the cycle contracted to the last node."""
    rest = np.delete(np.arange(len(weights)), cycle)
    smaller = np.full((len(rest) + 1, len(rest) + 1), -np.inf)
    smaller[:-1, :-1] = weights[np.ix_(rest, rest)]
    smaller[:-1, -1] = _entering(weights, parents, cycle)[rest].max(1)
    smaller[-1, :-1] = weights[np.ix_(cycle, rest)].max(0)
    return smaller


def _expanded(found: Positions, weights: Array, parents: Positions, cycle: Positions) -> Positions:
    """The parents before a cycle was contracted: the arrow that enters it replaces one of its arrows."""
    rest = np.delete(np.arange(len(weights)), cycle)
    leaving = found[:-1] == len(rest)
    best = cycle[weights[np.ix_(cycle, rest)].argmax(0)]
    expanded = parents.copy()
    expanded[rest] = np.where(leaving, best, rest[np.minimum(found[:-1], len(rest) - 1)])
    above = int(rest[found[-1]])
    expanded[cycle[int(_entering(weights, parents, cycle)[above].argmax())]] = above
    return expanded


def _cycle(parents: Positions) -> Positions | None:
    """The nodes of a cycle, if there is one."""
    seen = np.zeros(len(parents), dtype=np.intp)  # the walk upwards that visited a node
    for start in range(1, len(parents)):
        at = start
        while at and not seen[at]:
            seen[at] = start
            at = int(parents[at])
        if at and seen[at] == start:
            found = [at]
            while (at := int(parents[at])) != found[0]:
                found.append(at)
            return np.array(found, dtype=np.intp)
    return None
