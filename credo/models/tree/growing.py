"""Growing a tree from encoded cells, a level at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from credo._kernels.tree.splitting import Branches, find_splits, send_entries, weigh_branches
from credo.core.membership import Codes
from credo.models.tree.structure import Cells, Structure
from credo.numerics.arrays import Positions
from credo.numerics.exact import Array
from credo.numerics.special import log_gamma

Gain = Literal["information", "evidence"]
TABULATED_COUNTS = 2**20  # whole numbers whose logarithms are tabulated
LEAST_ROW_SHARE = 0.015  # of a row's weight: smaller parts, left by missing cells, don't influence further splits
MOST_TREE_LEVELS = 1000  # levels
MOST_NODE_COUNTS = 2**25  # nodes · classes: larger trees don't grow


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows as bins, with their classes and weights."""

    cells: Cells
    kinds: Codes  # (columns,): how each is split
    levels: Array  # (columns, bins): levels per bin; 0 beyond the column's own
    truth: Codes
    weight: Array
    classes: int

    def take(self, rows: Positions) -> EncodedRows:
        cells = np.ascontiguousarray(self.cells[:, rows])
        return EncodedRows(cells, self.kinds, self.levels, self.truth[rows], self.weight[rows], self.classes)

    def counts(self, structure: Structure) -> Array:
        """The weight of each class's rows in each node. (nodes, classes)"""
        high, low = self.leaf_weights(structure)
        return structure.totals((high + low).T)

    def leaf_weights(self, structure: Structure) -> tuple[Array, Array]:
        """The weight of each class's rows in each leaf, as pairs of floats. (classes, leaves)"""
        return structure.leaf_weights(self.cells, self.truth, self.weight, self.classes)


@dataclass(frozen=True)
class Growth:
    """The settings of growing a tree."""

    gain: Gain = "evidence"
    min_rows: float = 2.0  # the least weight of a branch
    max_depth: int | None = None
    smoothing: float | None = None  # of a class in a leaf: by default 1/K, one row in all

    def prior(self, classes: int) -> float:
        return 1 / max(classes, 1) if self.smoothing is None else self.smoothing


class _Terms(NamedTuple):
    """Tabulated terms of scores, for whole numbers: log Γ(n + a)/Γ(a) of the evidence, n log n of the information."""

    prior: float
    each: Array
    all_: Array
    factorials: Array

    @classmethod
    def of(cls, rows: EncodedRows, growth: Growth) -> _Terms:
        n = np.arange(min(int(rows.weight.sum()) + 2, TABULATED_COUNTS), dtype=np.float64)
        factorials = log_gamma(np.arange(int(rows.levels.sum(1).max(initial=0.0)) + 2) + 1.0)
        if growth.gain == "information":
            each = all_ = n * np.log(np.maximum(n, 1.0))
            return cls(0.0, each, all_, factorials)
        prior = growth.prior(rows.classes)
        whole = prior * rows.classes
        each, all_ = (log_gamma(n + a) - log_gamma(a) for a in (prior, whole))
        return cls(prior, each, all_, factorials)


class _Level(NamedTuple):
    """The nodes of one depth."""

    column: Codes
    choices: Array
    charge: Array
    branch: Branches  # (nodes, bins)
    ways: Codes
    share: Array  # the share of its parent's rows


def grown(rows: EncodedRows, growth: Growth) -> Structure:
    """Nodes are split until no split has a gain, or its branches would be too small."""
    terms, least = _Terms.of(rows, growth), LEAST_ROW_SHARE * rows.weight
    entries = np.flatnonzero(rows.weight > 0)
    weight, starts, share = rows.weight[entries], np.array([0, len(entries)]), np.ones(1)
    found, size = list[_Level](), 0
    deepest = MOST_TREE_LEVELS if growth.max_depth is None else growth.max_depth
    while len(share):
        column, choices, charge, branch = _splits(rows, entries, weight, starts, growth, terms)
        size += len(column)
        if len(found) >= deepest or size * rows.classes > MOST_NODE_COUNTS:
            column[:] = -1
        masses = np.zeros((len(column), max(2, int(branch.max(initial=0)) + 1)))
        weigh_branches(rows.cells, entries, weight, starts, column, branch, masses)
        ways = (masses > 0).sum(1).astype(np.int32)
        found.append(_Level(column, choices, charge, branch, ways, share))
        shares = masses / np.where(ways > 0, masses.sum(1), 1.0)[:, None]
        child = (np.cumsum(ways) - ways).astype(np.int32)
        ends = np.zeros(int(ways.sum()) + 1, dtype=np.int64)
        sent = rows.cells, entries, weight, starts, column, branch, child, shares, least
        send_entries(*sent, ends, np.empty(0, np.int64), np.empty(0))
        starts = np.cumsum(ends)
        entries, weight = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
        if len(entries):
            send_entries(*sent, starts.copy(), entries, weight)
        share = shares[masses > 0]
    return _joined(found, rows)


def _splits(
    rows: EncodedRows, entries: Positions, weight: Array, starts: Positions, growth: Growth, terms: _Terms
) -> tuple[Codes, Array, Array, Branches]:
    nodes = len(starts) - 1
    column, choices, charge = np.empty(nodes, np.int32), np.empty(nodes), np.empty(nodes)
    branch = np.full((nodes, rows.levels.shape[1]), -1, dtype=np.int16)
    find_splits(
        rows.cells, rows.truth, entries, weight, starts, rows.kinds, rows.levels, rows.classes, growth.min_rows, *terms,
        column, choices, charge, branch,
    )  # fmt: skip
    return column, choices, charge, branch


def _joined(levels: Sequence[_Level], rows: EncodedRows) -> Structure:
    """The levels joined; a node has a route for each bin of its column."""
    column, ways = (np.concatenate([getattr(level, name) for level in levels]) for name in ("column", "ways"))
    inner, bins = column >= 0, (rows.levels > 0).sum(1)
    sizes = bins[column[inner]]
    routes = [
        branch[:size]
        for level in levels
        for branch, size in zip(level.branch[level.column >= 0], bins[level.column[level.column >= 0]], strict=True)
    ]
    first = np.where(inner, 1 + np.cumsum(ways) - ways, -1).astype(np.int32)
    route = np.full(len(column), -1, dtype=np.int32)
    route[inner] = np.cumsum(sizes) - sizes
    share, choices, charge = (
        np.concatenate([getattr(level, name) for level in levels]) for name in ("share", "choices", "charge")
    )
    every = np.concatenate([np.empty(0, np.int32), *routes]).astype(np.int32)
    return Structure(
        column, first, ways, route, every, share, np.where(inner, choices, 0.0), np.where(inner, charge, 0.0)
    )
