"""All prunings of a tree at once: their average by evidence, the most probable one, and the shortest to describe.

Context-tree weighting (Willems, Shtarkov and Tjalkens 1995): a node is a leaf with probability α, else it is split as
the grown tree splits it, which is one split of those that it was chosen from. With Pₑ(node), the evidence of the
classes of its rows under one Dirichlet distribution,

    P_w(node) = α Pₑ(node) + (1 - α) p(split) Π P_w(child)        P_w(leaf of the grown tree) = Pₑ(leaf)

sums over all prunings below the node: prior · evidence. The posterior of each node being a leaf follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.tree.walking import leave_out
from credo.core.description import LN2
from credo.core.membership import Codes
from credo.families import dirichlet
from credo.models.tree.growing import EncodedRows, Growth, grown
from credo.models.tree.structure import Cells, Structure
from credo.numerics.exact import Array
from credo.numerics.special import log_gamma

Prune = Literal["average", "mdl", "evidence"]
STOP_PROBABILITIES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8)  # candidates for α


@dataclass(frozen=True, eq=False)
class Prunings:
    """The prunings of a tree, given the rows in its nodes."""

    structure: Structure
    counts: Array  # (nodes, classes)
    prior: float  # the Dirichlet concentration of a class in a leaf
    stop: float | None = None  # α; None: no pruning

    @cached_property
    def log_evidence(self) -> Array:
        """log Pₑ of each node."""
        return dirichlet.log_evidence(self.counts, np.full(self.counts.shape[1], self.prior))

    @cached_property
    def log_stop(self) -> Array:
        """log α for the inner nodes of the grown tree, 0 for its leaves."""
        inner = self.structure.column >= 0
        return np.where(inner, -np.inf if self.stop is None else np.log(self.stop), 0.0)

    @cached_property
    def log_split(self) -> Array:
        """The log-prior of each node's split."""
        if self.stop is None:
            return np.zeros(self.structure.size)
        return np.where(self.structure.column >= 0, np.log1p(-self.stop) - self.structure.charge, -np.inf)

    @cached_property
    def log_weighted(self) -> Array:
        """log P_w of each node."""
        return climbed(self.structure, self.log_stop + self.log_evidence, self.log_split, np.logaddexp)

    @property
    def log_prior_mass(self) -> float:
        """The log-prior of all prunings together: below 0, since the grown tree is one of many."""
        return float(climbed(self.structure, self.log_stop, self.log_split, np.logaddexp)[0])

    @cached_property
    def stopped(self) -> Array:
        """P(node is a leaf | the node exists, rows)."""
        inner = self.structure.column >= 0
        return np.where(inner, np.exp(self.log_stop + self.log_evidence - self.log_weighted), 1.0)

    @cached_property
    def reached(self) -> Array:
        """P(the node exists | rows)."""
        tree, found = self.structure, np.ones(self.structure.size)
        for nodes in tree.levels[1:]:
            above = tree.parent[nodes]
            found[nodes] = found[above] * (1.0 - self.stopped[above])
        return found

    @cached_property
    def shares(self) -> Array:
        """P(class) in each node as a leaf. (nodes, classes)"""
        return dirichlet.shares(self.counts, self.prior)

    @cached_property
    def _before(self) -> Array:
        """The ancestors' contribution to the average: Σ reached · stopped · shares. (nodes, classes)"""
        tree, found = self.structure, np.zeros_like(self.shares)
        own = (self.reached * self.stopped)[:, None] * self.shares
        for nodes in tree.levels[1:]:
            above = tree.parent[nodes]
            found[nodes] = found[above] + own[above]
        return found

    @cached_property
    def predictions(self) -> Array:
        """P(class | the row reaches the node); at a leaf, the average of all prunings. (nodes, classes)"""
        return self._before + self.reached[:, None] * self.shares

    def left_out(self, cells: Cells, truth: Codes, weight: Array) -> Array:
        """P(class | row) without the row itself; the structure, α and the prior stay. (rows, classes)"""
        out = np.empty((len(truth), self.counts.shape[1]))
        leave_out(
            cells, *self.structure.walked, truth, weight, self.prior,
            np.ascontiguousarray(self.counts), self.counts.sum(1), self.log_evidence, self.log_weighted,
            self.log_stop, self.log_split, out,
        )  # fmt: skip
        return out

    def most_probable(self) -> NDArray[np.bool_]:
        """Which nodes are leaves of the pruning with the largest prior · evidence. (nodes,)"""
        leaf = self.log_stop + self.log_evidence
        return np.asarray(leaf >= climbed(self.structure, leaf, self.log_split, np.maximum))

    def most_evident(self) -> NDArray[np.bool_]:
        """The same if every node, also an unsplit one, is a leaf with probability ½."""
        leaf = self.log_evidence - LN2
        return np.asarray(leaf >= climbed(self.structure, leaf, -LN2 - self.structure.charge, np.maximum))

    def shortest(self) -> NDArray[np.bool_]:
        """Which nodes are leaves of the pruning with the shortest description. (nodes,)"""
        leaf = leaf_bits(self.counts)
        return np.asarray(leaf <= climbed(self.structure, leaf, split_bits(self.structure), np.minimum))


def climbed(tree: Structure, leaf: Array, split: Array, join: np.ufunc) -> Array:
    """A bottom-up recursion: join(value as a leaf, value as a split + sum over the children). (nodes, ...)"""
    found, below = leaf.copy(), np.zeros_like(leaf)
    for nodes in reversed(tree.levels):
        inner = nodes[tree.column[nodes] >= 0]
        found[inner] = join(leaf[inner], split[inner] + below[inner])
        if nodes[0]:
            np.add.at(below, tree.parent[nodes], found[nodes])
    return found


def by_evidence(structure: Structure, counts: Array, prior: float) -> Prunings:
    """The prunings with the α that makes the classes most probable."""
    each = [Prunings(structure, counts, prior, stop) for stop in STOP_PROBABILITIES]
    log_leaf = np.stack([own.log_stop for own in each], axis=1) + each[0].log_evidence[:, None]
    log_split = np.stack([own.log_split for own in each], axis=1)
    return each[int(climbed(structure, log_leaf, log_split, np.logaddexp)[0].argmax())]


def settled(structure: Structure, counts: Array, prior: float, prune: Prune | None) -> tuple[Structure, float | None]:
    """The pruned tree; and α, if prunings are averaged."""
    if prune is None:
        return structure, None
    if prune == "average":
        return structure, by_evidence(structure, counts, prior).stop
    plain = Prunings(structure, counts, prior)
    return structure.pruned(plain.shortest() if prune == "mdl" else plain.most_evident()), None


class LearnedTree(NamedTuple):
    """A grown and pruned tree, or α for the average of all prunings; and the weights in its leaves."""

    structure: Structure
    stop: float | None
    leaves: tuple[Array, Array]  # pairs of floats (classes, leaves)

    def prunings(self, prior: float) -> Prunings:
        high, low = self.leaves
        return Prunings(self.structure, self.structure.totals((high + low).T), prior, self.stop)


def learned(rows: EncodedRows, growth: Growth, prune: Prune | None) -> LearnedTree:
    """The tree grown from these rows."""
    structure = grown(rows, growth)
    leaves = rows.leaf_weights(structure)
    whole = LearnedTree(structure, None, leaves).prunings(growth.prior(rows.classes))
    kept, stop = settled(structure, whole.counts, whole.prior, prune)
    return LearnedTree(kept, stop, leaves if kept is structure else rows.leaf_weights(kept))


# The code of a tree: each node takes a bit, split or leaf; a split is one among the possible ones; a
# leaf names a class, and then the rows of other classes, the exceptions (Quinlan and Rivest 1989).


def split_bits(structure: Structure) -> Array:
    """The bits of each node as a split: 1 + log₂ choices."""
    return 1.0 + structure.choices / LN2


def label_bits(counts: Array) -> Array:
    """The bits of each node as a leaf: 1 + log₂ classes, for the commonest class."""
    return np.full(len(counts), 1.0 + np.log2(counts.shape[1]))


def exception_bits(counts: Array) -> Array:
    """The bits of the exceptions in each node as a leaf, with n rows, e exceptions and K classes: their number, at most
    b = n (K - 1)/K, the rows, and their classes: log₂ (b + 1) + log₂ (n over e) + e log₂ (K - 1)

    >>> exception_bits(np.array([[9.0, 5.0], [4.0, 0.0]])).round(3).tolist()
    [13.967, 1.585]
    """
    n, others = counts.sum(1), counts.shape[1] - 1
    exceptions = n - counts.max(1, initial=0.0)
    number = np.log2(np.floor(n * others / max(others + 1, 1) + 1e-9) + 1.0)
    which = (log_gamma(n + 1) - log_gamma(exceptions + 1) - log_gamma(n - exceptions + 1)) / LN2
    return np.asarray(number + which + exceptions * np.log2(max(others, 1)))


def leaf_bits(counts: Array) -> Array:
    """The bits of each node as a leaf, exceptions included."""
    return label_bits(counts) + exception_bits(counts)
