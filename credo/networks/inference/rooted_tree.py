"""Junction trees for rows: for any evidence, with the strides along every edge."""

from __future__ import annotations

import numpy as np

from credo._kernels.networks.rows import CHILD, NEXT, RootedTree, Walk, write_edges
from credo._kernels.networks.shapes import MEMBERS, PARENT, SCALE, SEPARATOR, SHRUNK, SUNK, TABLE
from credo.networks.inference.junction import Tree


def rooted(tree: Tree) -> RootedTree:
    """A tree with its values, for rows with any missing cells."""
    held, count = tree.potentials, len(tree.cliques) - 1
    cliques = np.zeros((count + 1, 10), dtype=np.int64)
    cliques[:, :6] = tree.cliques
    cliques[:, SEPARATOR] -= tree.cells  # messages have a separate array
    cliques[:, [CHILD, NEXT]] = -1
    members, homes, begun = np.stack([tree.members, tree.members], 1), tree.homes, tree.junction.begun
    parents = cliques[:count, PARENT]
    edges = np.empty(np.diff(cliques[:, MEMBERS])[parents[parents >= 0]].sum(), dtype=np.int64)
    write_edges(held.card, homes[held.with_zeros & (homes >= 0)], cliques, members, edges)
    sunk = np.where(begun[:-1, SHRUNK] > 0.0, 0.0, begun[:-1, SUNK])  # if values underflowed, rows may need logarithms
    return RootedTree(cliques, members, edges, held.card, tree.junction.base, np.append(sunk, begun[-1, SCALE]))


def walk_in(tree: RootedTree, more: int = 0) -> Walk:
    """Workspace for one row at a time, with extra cursors beyond those of a table, its message and its children's
    messages."""
    cliques = tree.cliques
    parents = cliques[:-1, PARENT]
    cells, members = int(cliques[-1, SEPARATOR]), int(np.diff(cliques[:, MEMBERS]).max(initial=0))
    children = int(np.bincount(parents[parents >= 0], minlength=1).max())
    # the last root's message may be its whole table
    cells += int(np.diff(cliques[-2:, TABLE]).sum())
    return Walk(
        np.empty(len(tree.card), dtype=np.int64),
        np.empty(cells),
        np.empty(len(parents)),
        np.empty(cells, dtype=np.int64),
        np.empty((members, children + more + 4), dtype=np.int64),
        np.empty(children + more + 2, dtype=np.int64),
    )
