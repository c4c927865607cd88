"""Growing trees over parents' states by the marginal likelihood of their leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, prod
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.errors import NetworkError
from credo.families.dirichlet import log_evidence
from credo.networks.nodes.configurations import ConfigurationCounts
from credo.networks.nodes.distribution import NodeFamily
from credo.networks.nodes.family_node import CountedNode
from credo.networks.nodes.node import Prior, Sizes
from credo.networks.table_priors import BDeu, dirichlet_of
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.incomplete_rows import ObservedRows
    from credo.networks.network import Network

Cells = NDArray[np.integer[Any]]


class Grown(NamedTuple):
    """A tree in the form of TreeTable, with leaves of None, and log p(rows, tree)."""

    tree: Any
    score: float


@dataclass(frozen=True, eq=False)
class UngrownNode(CountedNode):
    """P(y | x) by a tree that isn't grown yet: rows are counted by configuration."""

    def shape(self, sizes: Sizes) -> tuple[int, ...]:  # noqa: ARG002
        return ()

    def _refuse(self, *_: Any) -> NoReturn:
        raise NetworkError(f"the tree of {self.name!r} isn't grown yet: fit the network first")

    parameters = distribution = table = rows = node_factors = expected = counts = _refuse
    log_likelihood = mode = estimate = log_prior = drawn = coordinates = at = _refuse


def with_grown_trees(network: Network, found: ObservedRows) -> tuple[Network, ObservedRows]:
    """The network with a tree for each node that has none yet, from the rows that observe its family."""
    from credo.networks.nodes.tree_table import TreeTable

    forms, readers = dict(network.forms), dict[Label, Any]()
    for name, node in network.nodes.items():
        if isinstance(node, UngrownNode):
            parts = [part for part in (found.complete, found.available) if part is not None]
            seen: ConfigurationCounts = parts[0][node.label]
            for part in parts[1:]:
                seen = seen + part[node.label]
            tree = grown(node.family, seen, network.prior[name]).tree
            forms[name] = TreeTable(tree, grown=True)
            readers[node.label] = forms[name].node(node.family)
    if not readers:
        return network, found
    new = type(network)(network.parents, forms, network.states, network.tied, network.prior)
    available = None if found.available is None else _leaf_counts(found.available, readers)
    return new, replace(found, complete=_leaf_counts(found.complete, readers), available=available)


def _leaf_counts(evidence: Evidence, readers: Mapping[Label, Any]) -> Evidence:
    """Counts of leaves, from counts of configurations."""
    parts = dict(evidence.parts)
    for label, node in readers.items():
        seen: ConfigurationCounts = evidence[label]
        codes = dict(zip(node.family.scope, seen.cells.T, strict=True))
        parts[label] = Part(node.axes, node.summarise(codes, {}, seen.n.value))
    return Evidence(evidence.schema, parts)


def grown(family: NodeFamily, seen: ConfigurationCounts, prior: Prior) -> Grown:
    """The tree by greedy splits, pruned from the leaves: a split stays if it raises the posterior probability.

    A priori a node is a leaf with probability ½, and otherwise splits on each of the remaining parents with equal
    probability.
    """
    return _grown(family, seen.cells, seen.n.value, tuple(range(len(family.parents))), prior)


def _grown(family: NodeFamily, cells: Cells, weight: Array, left: Sequence[int], prior: Prior) -> Grown:
    own: Array = np.bincount(cells[:, -1], weight, len(family.own)).astype(np.float64)
    may_split = bool(left) and (own > 0).sum() > 1
    leaf = Grown(None, _log_evidence(family, own, left, prior) + (log(0.5) if left else 0.0))
    if not may_split:
        return leaf
    parent = max(left, key=lambda p: _split_score(family, cells, weight, p, left, prior))
    rest = tuple(p for p in left if p != parent)
    states, branches, score = family.states[family.parents[parent]], {}, log(0.5) - log(len(left))
    for x, state in enumerate(states):
        mine = cells[:, parent] == x
        below = _grown(family, cells[mine], weight[mine], rest, prior)
        branches[state], score = below.tree, score + below.score
    return Grown({family.parents[parent]: branches}, score) if score > leaf.score else leaf


def _split_score(
    family: NodeFamily, cells: Cells, weight: Array, parent: int, left: Sequence[int], prior: Prior
) -> float:
    shape = family.shape[parent], len(family.own)
    counts = np.bincount(cells[:, parent] * shape[1] + cells[:, -1], weight, shape[0] * shape[1]).reshape(shape)
    rest = [p for p in left if p != parent]
    return float(sum(_log_evidence(family, row.astype(np.float64), rest, prior) for row in counts))


def _log_evidence(family: NodeFamily, counts: Array, left: Sequence[int], prior: Prior) -> float:
    """log p(rows) of a leaf; under maximum likelihood, Dirichlet(1) is used. Under BDeu, a leaf has the prior cases of
    all configurations that it covers, so a single leaf is a node without parents."""
    if prior is None:
        alpha: Any = 1.0
    elif isinstance(prior, BDeu):
        alpha = prior.sample_size / family.cells * prod(family.shape[p] for p in left)
    else:
        alpha = dirichlet_of(prior, (1, len(counts)), family.name).concentration
    return float(np.sum(log_evidence(counts[None], np.broadcast_to(alpha, (1, len(counts))))))
