"""Junction trees for rows: for any evidence, with the strides along every edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo._kernels.networks.rows import (
    CHILD,
    COMPLETE,
    NEXT,
    PREDICT,
    SCORE,
    RootedTree,
    Walk,
    answer_rows,
    write_edges,
)
from credo._kernels.networks.shapes import MEMBERS, PARENT, SCALE, SEPARATOR, SHRUNK, SUNK, TABLE
from credo.networks.inference.coding import Coded
from credo.networks.inference.junction import Plan, Tree, TreeStructure
from credo.networks.inference.potentials import Numbered
from credo.networks.inference.sizes import KEPT_PRODUCT
from credo.networks.inference.trees import NO_VARIABLES, Trees
from credo.numerics.arrays import Codes, Integers
from credo.numerics.exact import Array

NO_PROBABILITIES, NO_STATES = np.empty((0, 0)), np.empty((0, 0), dtype=np.int32)  # outputs that a query doesn't have
ABOUT_ALL = -1, NO_VARIABLES, NO_VARIABLES  # no variable in particular
MOST_VISITED_CELLS = 2.0**14  # cells visited for one row; above, a tree is compiled for its pattern of missing cells


@dataclass(frozen=True, eq=False)
class RowTree:
    """A tree for any evidence in a table's columns, in which kernels answer its rows.

    Answers have a logarithm for each row: -inf if the row is impossible, NaN if it must be answered by itself.
    """

    tree: RootedTree | None  # None: its tables are too large to be kept
    held: Numbered  # the factors that it is made of
    column_of: Integers  # of each of their variables, -1 where it has none
    about: tuple[int, Integers, Integers] = ABOUT_ALL  # the target, the factors that have it, and others with zeros

    @classmethod
    def of(cls, trees: Trees, column_of: Integers, target: int | None = None, everything: bool = False) -> RowTree:
        """everything: about variables that have no column, too."""
        wanted, together = (column_of >= 0) | everything, NO_VARIABLES if target is None else np.array([target])
        wanted[together] = True
        query = trees.query(np.zeros(len(wanted), dtype=np.bool_), wanted, together)
        plan, held, about = Plan.of(query).improved(), query.potentials, ABOUT_ALL
        tree = None if plan.cells > KEPT_PRODUCT else rooted(Tree(TreeStructure.of(plan)))
        if target is not None:
            (place,) = query.together.tolist()
            near = np.unique(held.factor_of[held.factors.scope == place])
            about = place, near, np.setdiff1d(np.flatnonzero(held.with_zeros), near)
        return cls(tree, held, column_of if query.numbers is None else column_of[query.numbers], about)

    def predict(self, coded: Coded, shares: Array) -> Array:
        """shares (rows, states) = P(target | row)"""
        return self._answer(PREDICT, coded, shares, NO_STATES)

    def score(self, coded: Coded) -> Array:
        """log P(row), missing cells summed out."""
        return self._answer(SCORE, coded, NO_PROBABILITIES, NO_STATES)

    def complete(self, coded: Coded, filled: Codes) -> Array:
        """filled (variables, rows) = the cells, the missing ones in their most probable joint state."""
        return self._answer(COMPLETE, coded, NO_PROBABILITIES, filled)

    def _answer(self, question: int, coded: Coded, shares: Array, filled: Codes) -> Array:
        """(rows,)"""
        logs, held = np.full(coded.rows, np.nan), self.held
        if self.tree is not None:
            given = coded.columns, self.column_of, self.about, MOST_VISITED_CELLS
            factors = held.heads, held.axes, held.factors.values
            answer_rows(question, *given, factors, self.tree, walk_in(self.tree), shares, logs, filled)
        return logs


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
