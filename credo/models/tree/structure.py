"""The structure of a tree: the column that each node tests, and its branches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo._kernels.tree.walking import add_leaf_values, add_leaf_weights
from credo.core.membership import Codes
from credo.numerics.arrays import Positions
from credo.numerics.exact import Array

SHARE_ERROR = 1e-12  # rounding error of sums of the same weights
Cells = NDArray[np.uint8]  # (columns, rows): bins; 255 where a cell is missing


@dataclass(frozen=True, eq=False)
class Structure:
    """Arrays over nodes, parents before their children; the children of a node follow each other."""

    column: Codes  # the column tested; -1 in a leaf
    first: Codes  # the first child
    ways: Codes  # the number of children
    route: Codes  # offset of the node's branches in `routes`
    routes: Codes  # the child for each bin; -1 if no row of the node had it
    share: Array  # of the parent's rows with a known cell: rows with a missing cell are divided by it
    choices: Array  # log of the number of possible splits
    charge: Array  # -log prior of the split: smaller if other splits gain about as much

    @property
    def size(self) -> int:
        return len(self.column)

    @cached_property
    def leaves(self) -> Positions:
        return np.flatnonzero(self.column < 0)

    @cached_property
    def asked(self) -> Positions:
        """The columns that the tree tests."""
        return np.unique(self.column[self.column >= 0]).astype(np.intp)

    @cached_property
    def parent(self) -> Positions:
        """The parent of each node; -1 for the root."""
        found = np.full(self.size, -1, dtype=np.intp)
        inner = np.flatnonzero(self.column >= 0)
        found[1:] = np.repeat(inner, self.ways[inner])
        return found

    @cached_property
    def levels(self) -> list[Positions]:
        """The nodes at each depth, from the root down."""
        found, nodes = list[Positions](), np.zeros(1, dtype=np.intp)
        while len(nodes):
            found.append(nodes)
            inner = nodes[self.column[nodes] >= 0]
            end = self.first[inner[-1]] + self.ways[inner[-1]] if len(inner) else 0
            nodes = np.arange(self.first[inner[0]] if len(inner) else 0, end, dtype=np.intp)
        return found

    @cached_property
    def _place(self) -> Codes:
        """The index of each leaf among the leaves."""
        return (np.cumsum(self.column < 0) - 1).astype(np.int32)

    @property
    def walked(self) -> tuple[Codes, Codes, Codes, Codes, Codes, Array]:
        """The arrays for the kernels."""
        return self.column, self.first, self.ways, self.route, self.routes, self.share

    def spread(self, cells: Cells, values: Array) -> Array:
        """The values (nodes, k) at each row's leaf, or their weighted mean if missing cells spread it over several."""
        out = np.zeros((cells.shape[1], values.shape[1]))
        add_leaf_values(cells, *self.walked, np.ascontiguousarray(values), out)
        return out

    def leaf_weights(self, cells: Cells, truth: Codes, weight: Array, classes: int) -> tuple[Array, Array]:
        """The weight of each class's rows in each leaf, as pairs of floats. (classes, leaves)"""
        high, low = np.zeros((2, classes, len(self.leaves)))
        add_leaf_weights(cells, *self.walked, self._place, truth, weight, high, low)
        return high, low

    def branches(self, node: int) -> list[tuple[int, Positions]]:
        """The children of a node, each with the bins that lead to it."""
        bins = self.routes[self.route[node] :]
        size = int(self.route_sizes[node])
        return [(int(self.first[node]) + k, np.flatnonzero(bins[:size] == k)) for k in range(int(self.ways[node]))]

    @cached_property
    def route_sizes(self) -> Positions:
        """The number of bins of each node's column."""
        inner = np.flatnonzero(self.column >= 0)
        found = np.zeros(self.size, dtype=np.intp)
        found[inner] = np.diff(np.append(self.route[inner], len(self.routes)))
        return found

    def totals(self, of_leaves: Array) -> Array:
        """Sums over the leaves below each node. (leaves, ...) to (nodes, ...)"""
        found = np.zeros((self.size, *of_leaves.shape[1:]))
        found[self.leaves] = of_leaves
        for nodes in reversed(self.levels[1:]):
            np.add.at(found, self.parent[nodes], found[nodes])
        return found

    def pruned(self, stops: NDArray[np.bool_]) -> Structure:
        """The tree without the descendants of the nodes where it stops."""
        kept = np.ones(self.size, dtype=bool)
        for nodes in self.levels[1:]:
            parents = self.parent[nodes]
            kept[nodes] = kept[parents] & ~stops[parents]
        inner = kept & ~stops & (self.column >= 0)
        place = np.cumsum(kept) - 1
        sizes = self.route_sizes[inner]
        routes = [self.routes[at : at + size] for at, size in zip(self.route[inner], sizes, strict=True)]

        def of_inner(values: Any, otherwise: float) -> Any:
            return np.where(inner, values, otherwise)[kept].astype(values.dtype)

        return Structure(
            of_inner(self.column, -1),
            of_inner(place[self.first].astype(np.int32), -1),
            of_inner(self.ways, 0),
            _starts(inner[kept], sizes),
            np.concatenate([np.empty(0, np.int32), *routes]),
            self.share[kept],
            of_inner(self.choices, 0.0),
            of_inner(self.charge, 0.0),
        )

    def equals(self, other: Structure) -> bool:
        """Whether both trees send all rows the same way; shares may differ by rounding."""
        arrays: Any = zip(self.walked[:-1], other.walked[:-1], strict=True)
        same = all(np.array_equal(own, its) for own, its in arrays)
        return same and np.allclose(self.share, other.share, rtol=0.0, atol=SHARE_ERROR)


def _starts(inner: NDArray[np.bool_], sizes: Positions) -> Codes:
    """The offset of each inner node's routes; -1 in a leaf."""
    found = np.full(len(inner), -1, dtype=np.int32)
    found[inner] = np.cumsum(sizes) - sizes
    return found
