"""Exact probabilities of arrows and paths: sums over all orders, or all graphs, of a few variables.

With a prior over orders ("orders", Koivisto and Sood 2004) a graph's prior probability is proportional to the number of
its topological orders; with "dags" all graphs are equally probable (Tian and He 2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from credo._kernels.structure.dag_sums import add_arrows_over_graphs, add_graphs, add_paths_over_graphs
from credo._kernels.structure.subsets import (
    LOG_ZERO,
    add_arrows_over_orders,
    add_orders,
    add_paths_over_orders,
    add_subsets,
)
from credo.networks.structure.exact import bits
from credo.networks.structure.families import ScoredFamilies
from credo.networks.structure.score import Parents
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array


def squeezed(masks: Integers, without: int) -> Integers:
    """Masks of sets without a variable, with the variable's bit removed.

    >>> squeezed(np.array([0b101]), 1)
    array([3])
    """
    return masks & ((1 << without) - 1) | masks >> (without + 1) << without


@dataclass(frozen=True, eq=False)
class FamilySums:
    """sums[i, U] = log Σ over S ⊆ U of exp score(i, S), each variable's scores minus their maximum."""

    families: ScoredFamilies
    sums: Array  # (variables, sets of the other variables)

    @classmethod
    def of(cls, families: ScoredFamilies) -> FamilySums:
        n = len(families)
        sums = np.full((n, 1 << (n - 1)), LOG_ZERO)
        for i, (masks, scores) in enumerate(zip(families.masks, families.scores, strict=True)):
            sums[i, squeezed(masks, i)] = scores - scores.max()
            add_subsets(sums[i], n - 1)
        return cls(families, sums)

    def __len__(self) -> int:
        return len(self.families)


@dataclass(frozen=True, eq=False)
class OverOrders:
    """Sums over all orders."""

    inner: FamilySums

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        n = len(self.inner)
        forward, backward = np.empty(1 << n), np.empty(1 << n)
        add_orders(n, self.inner.sums, forward, backward)
        return forward, backward

    def arrows(self) -> Array:
        """P(u -> v), in row u and column v."""
        found = np.zeros((len(self.inner),) * 2)
        add_arrows_over_orders(len(self.inner), self.inner.sums, *self._ends, found)
        return np.clip(found, 0.0, 1.0)

    def paths(self) -> Array:
        """P(a directed path leads from u to v)."""
        n, found = len(self.inner), np.zeros((len(self.inner),) * 2)
        powers, states = 3 ** np.arange(n, dtype=np.int64), np.empty(3**n)
        for source in range(n):
            add_paths_over_orders(n, source, self.inner.sums, self._ends[0], powers, states, found)
        np.fill_diagonal(found, 0.0)
        return np.clip(found, 0.0, 1.0)

    def sampled(self, size: int, seed: int) -> tuple[Parents, ...]:
        """Independent graphs: an order sampled from its end to its start, then parents."""
        random = np.random.default_rng(seed)
        return tuple(self._drawn(random) for _ in range(size))

    def weight(self, graph: Parents) -> float:  # noqa: ARG002 - as over graphs
        """The weight of a sampled graph: all are equal."""
        return 1.0

    def _drawn(self, random: np.random.Generator) -> Parents:
        n, forward, sums = len(self.inner), self._ends[0], self.inner.sums
        left = (1 << n) - 1
        found: list[tuple[int, ...]] = [()] * n
        while left:
            free = bits(left)
            rests = np.array([left ^ 1 << i for i in free])
            logs = [forward[rest] + sums[i, squeezed(rest, i)] for i, rest in zip(free, rests, strict=True)]
            at = _draw(np.array(logs) - forward[left], random)
            left = int(rests[at])
            found[free[at]] = self._drawn_parents(free[at], left, random)
        return tuple(found)

    def _drawn_parents(self, i: int, members: int, random: np.random.Generator) -> tuple[int, ...]:
        masks, scores = self.inner.families.masks[i], self.inner.families.scores[i]
        inside = np.flatnonzero(masks & ~members == 0)
        return bits(int(masks[inside[_draw(scores[inside] - scores[inside].max(), random)]]))


def _draw(logs: Array, random: np.random.Generator) -> int:
    p = np.cumsum(np.exp(logs))
    return min(int(np.searchsorted(p, random.random() * p[-1], side="right")), len(p) - 1)


@dataclass(frozen=True, eq=False)
class OverGraphs:
    """Sums over all directed acyclic graphs."""

    inner: FamilySums

    @cached_property
    def _graphs(self) -> Array:
        n = len(self.inner)
        found = np.empty(1 << n)
        add_graphs(n, self.inner.sums, np.empty(1 << n), np.empty(1 << n), found)
        return found

    def arrows(self) -> Array:
        """P(u -> v), in row u and column v."""
        n, found = len(self.inner), np.zeros((len(self.inner),) * 2)
        product, rest = np.empty(1 << n), np.empty(1 << n)
        add_arrows_over_graphs(n, self.inner.sums, product, self._graphs, rest, found)
        return np.clip(found, 0.0, 1.0)

    def paths(self) -> Array:
        """P(a directed path leads from u to v)."""
        n, found = len(self.inner), np.zeros((len(self.inner),) * 2)
        product, tops, below = (np.empty(1 << n) for _ in range(3))
        for source in range(n):
            add_paths_over_graphs(n, source, self.inner.sums, self._graphs, product, tops, below, found)
        return np.clip(found, 0.0, 1.0)

    def sampled(self, size: int, seed: int) -> tuple[Parents, ...]:
        """Graphs sampled under the prior over orders; `weight` corrects for that (importance sampling)."""
        return OverOrders(self.inner).sampled(size, seed)

    def weight(self, graph: Parents) -> float:
        """The weight of a sampled graph: sampling by orders favours it by the number of its topological orders."""
        return 1.0 / count_orders(graph)


def count_orders(parents: Parents) -> int:
    """The number of topological orders of a graph.

    >>> count_orders(((), (0,), (0,)))
    2
    """
    above = [sum(1 << parent for parent in own) for own in parents]
    ways = {0: 1}  # by the set of placed variables
    for _ in parents:
        grown: dict[int, int] = {}
        for placed, count in ways.items():
            for v, own in enumerate(above):
                if not placed >> v & 1 and own & ~placed == 0:
                    grown[placed | 1 << v] = grown.get(placed | 1 << v, 0) + count
        ways = grown
    return ways[(1 << len(parents)) - 1]
