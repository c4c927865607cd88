"""Expected family counts, the E-step of EM in networks: Σ over rows of P(node, parents | the row's known cells)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo._kernels.networks.expectations import PassResults, expect_rows
from credo._kernels.networks.rows import RootedTree
from credo._kernels.networks.shapes import CliqueFactors
from credo.networks.inference.coding import CodedRows
from credo.networks.inference.junction import Plan, Tree, TreeStructure
from credo.networks.inference.potentials import Potentials
from credo.networks.inference.rooted_tree import MOST_VISITED_CELLS, rooted, walk_in
from credo.networks.inference.sizes import KEPT_PRODUCT
from credo.networks.inference.trees import NO_VARIABLES, Trees
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

ROWS_PER_CHUNK = 1024  # rows of one task: fixed, so that sums don't depend on the number of threads


@dataclass(frozen=True, eq=False)
class Expectations:
    """A tree for rows with any missing cells; rows that it can't answer use trees for their own patterns."""

    trees: Trees
    tree: RootedTree | None  # None: its tables would be too large to keep
    families: CliqueFactors | None

    @classmethod
    def of(cls, trees: Trees) -> Expectations:
        """Compile the structure once, for all values of the factors."""
        everything = np.ones(len(trees.potentials.card), dtype=np.bool_)

        def compiled() -> TreeStructure | None:
            plan = Plan.of(trees.query(~everything, everything, NO_VARIABLES)).improved()
            return None if plan.cells > KEPT_PRODUCT else TreeStructure.of(plan)

        structure = trees.structures.found(b"rows", compiled)
        if structure is None:
            return cls(trees, None, None)
        return cls(trees, rooted(Tree(structure, trees.potentials)), structure.families)

    @property
    def potentials(self) -> Potentials:
        return self.trees.potentials

    def of_rows(self, rows: CodedRows) -> tuple[Array, Array]:
        """Counts in the layout of the factors' values; and log P(row), -inf for impossible rows, which add nothing."""
        counts, logs = np.zeros((1, len(self.potentials.factors.values))), np.full(rows.rows, np.nan)
        self._add(rows, rows.weight, logs, counts)
        return counts[0], logs

    def of_each_row(self, rows: CodedRows) -> Array:
        """The counts of each single row, unweighted. (rows, the factors' values)"""
        counts, logs = np.zeros((rows.rows, len(self.potentials.factors.values))), np.full(rows.rows, np.nan)
        self._add(rows, np.ones(rows.rows), logs, counts)
        return counts

    def _add(self, rows: CodedRows, weight: Array, logs: Array, counts: Array) -> None:
        """Add the counts of rows, in the tree for any evidence if there is one; rows that it can't answer use their own
        trees."""
        held = self.potentials
        if self.tree is not None and self.families is not None:
            self._walk(self.tree, self.families, rows, weight, logs, counts)
        for r in np.flatnonzero(np.isnan(logs)).tolist():
            own = counts[r if len(counts) > 1 else 0]
            codes = held.unknown.copy()
            codes[: held.own] = rows.codes[:, r]
            logs[r] = self.trees.expect(codes, float(weight[r]), own)

    def _walk(
        self, tree: RootedTree, families: CliqueFactors, rows: CodedRows, weight: Array, logs: Array, counts: Array
    ) -> None:
        held, most = self.potentials, int(np.diff(families.of_clique).max(initial=0))
        walk = walk_in(tree, most)
        passes = PassResults(np.empty(len(walk.least)), np.empty(len(walk.messages)))
        factors = held.heads, held.axes, held.factors.values
        column_of: Integers = np.where(np.arange(len(held.card)) < held.own, np.arange(len(held.card)), -1)
        expect_rows(
            rows.codes, column_of, weight, MOST_VISITED_CELLS, factors, tree, families, walk, passes, logs, counts
        )
