"""The PC algorithm (Spirtes, Glymour and Scheines 1993): edges that no test of independence removes, then directions.

As in PC-stable (Colombo and Maathuis 2014) the result doesn't depend on the order of the columns: neighbours are fixed
while sets of one size are tried, the separating set with the largest p-value is used, and clear colliders come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np

from credo.errors import NetworkError
from credo.networks.equivalence import PartialOrientation, close, extension
from credo.networks.structure.columns import Columns
from credo.networks.structure.essential_graph import direct_known
from credo.networks.structure.independence import CategoryTest, CorrelationTest, IndependenceTest, SummedCorrelationTest
from credo.networks.structure.score import Constraints, Parents, Score

Pair = frozenset[int]


@dataclass(frozen=True)
class Separation:
    """A separating set of two variables, according to a test."""

    given: tuple[int, ...]
    p_value: float


def pc_parents(test: IndependenceTest, constraints: Constraints, alpha: float = 0.01) -> Parents:
    """A member of the class that PC finds; if the tests contradict each other, a graph near it."""
    near, separations = skeleton(test, constraints, alpha)
    graph = oriented(near, separations, constraints)
    found = extension(graph) or acyclic(graph)
    return tuple(tuple(_strongest_parents(test, v, above, constraints)) for v, above in enumerate(found))


def _strongest_parents(test: IndependenceTest, v: int, above: Sequence[int], constraints: Constraints) -> list[int]:
    """The allowed number of parents: the one that is most independent given the others is dropped repeatedly."""
    left, required = [*above], constraints.required_parents[v]
    while len(left) > constraints.most:
        others = [u for u in left if u not in required]
        left.remove(max(others, key=lambda u: test.p_value(u, v, [w for w in left if w != u])))
    return left


def skeleton(test: IndependenceTest, known: Constraints, alpha: Any) -> tuple[list[set[int]], dict[Pair, Separation]]:
    """Each variable's neighbours, and the separating sets of the other pairs."""
    if not isinstance(alpha, Real) or not 0 < float(alpha) < 1:
        raise NetworkError(f"alpha must be between 0 and 1, but is {alpha!r:.60}")
    n = len(test.variables)
    required = {frozenset(arrow) for arrow in known.required}
    near = [{b for b in range(n) if known.allows(a, b) or known.allows(b, a)} for a in range(n)]
    found: dict[Pair, Separation] = {}
    size = 0
    while any(len(own) > size for own in near):
        fixed = [frozenset(own) for own in near]
        for a, b in combinations(range(n), 2):
            if b not in fixed[a] or frozenset((a, b)) in required:
                continue
            best = _separation(test, a, b, size, fixed, known)
            if best is not None and best.p_value > alpha:
                near[a].discard(b)
                near[b].discard(a)
                found[frozenset((a, b))] = best
        size += 1
    return near, found


def _separation(
    test: IndependenceTest, a: int, b: int, size: int, near: list[frozenset[int]], known: Constraints
) -> Separation | None:
    """The best separating set of this size among the neighbours of either variable. Variables of later tiers aren't
    used."""
    sets: set[tuple[int, ...]] = set()
    for one, other in ((a, b), (b, a)):
        some = sorted(v for v in near[one] - {other} if known.allows(v, one) or known.allows(v, other))
        sets |= {*combinations(some, size)}
    tried = [Separation(given, test.p_value(a, b, given)) for given in sorted(sets)]
    return max(tried, key=lambda each: each.p_value, default=None)


def oriented(near: list[set[int]], separations: dict[Pair, Separation], known: Constraints) -> PartialOrientation:
    """The directions: known ones, those of colliders, and those that follow. Colliders that allow no directed acyclic
    graph are dropped, the least clear first."""
    base = _background(near, known)
    found = _colliders(near, separations)
    graph = base.copy()
    for a, b, child in found:
        _direct_collider(graph, a, b, child)
    close(graph)
    if extension(graph) is not None:
        return graph
    graph = base.copy()
    for a, b, child in found:
        tried = graph.copy()
        if _direct_collider(tried, a, b, child):
            closed = tried.copy()
            close(closed)
            if not _has_cycle(closed):
                graph = tried
    closed = graph.copy()
    close(closed)
    return graph if _has_cycle(closed) else closed


def _background(near: list[set[int]], known: Constraints) -> PartialOrientation:
    graph = PartialOrientation(len(near))
    for a, own in enumerate(near):
        for b in own:
            graph.join(a, b)
    direct_known(graph, known)
    return graph


def _colliders(near: list[set[int]], separations: dict[Pair, Separation]) -> list[tuple[int, int, int]]:
    """Colliders a - child - b, where a set without child separates a and b; the clearest first."""
    found = list[tuple[float, int, int, int]]()
    for child, own in enumerate(near):
        for a, b in combinations(sorted(own), 2):
            separated = separations.get(frozenset((a, b)))
            if b not in near[a] and separated is not None and child not in separated.given:
                found.append((-separated.p_value, a, b, child))
    return [(a, b, child) for _, a, b, child in sorted(found)]


def _direct_collider(graph: PartialOrientation, a: int, b: int, child: int) -> bool:
    """Direct a -> child <- b, unless one of the edges already points the other way."""
    if child in graph.parents[a] or child in graph.parents[b]:
        return False
    graph.direct(a, child)
    graph.direct(b, child)
    return True


def _has_cycle(graph: PartialOrientation) -> bool:
    left = {v: len(own) for v, own in enumerate(graph.parents)}
    ready = [v for v, count in left.items() if not count]
    done = 0
    while ready:
        done += 1
        for child in graph.children[ready.pop()]:
            left[child] -= 1
            if not left[child]:
                ready.append(child)
    return done < len(graph)


def acyclic(graph: PartialOrientation) -> Parents:
    """A directed acyclic graph with the same adjacencies, and with its arrows as long as they form no cycle: sinks are
    removed one after another, those that add the fewest colliders first."""
    left = graph.copy()
    found: list[set[int]] = [set() for _ in range(len(graph))]
    remaining = {*range(len(graph))}
    while remaining:

        def cost(x: int) -> tuple[int, int, int]:
            near = left.adjacent(x)
            new = sum(len(near - {y} - left.adjacent(y)) for y in left.neighbours[x])
            return len(left.children[x]), new, x

        x = min(remaining, key=cost)
        near = left.adjacent(x)
        found[x] = near
        remaining.discard(x)
        for y in near:
            left.separate(x, y)
    return tuple(tuple(sorted(own)) for own in found)


@dataclass(frozen=True, kw_only=True)
class PC:
    """The PC search: tests read the columns, each the rows in which its variables are known."""

    alpha: float = 0.01

    def of_columns(self, columns: Columns, constraints: Constraints) -> Parents:
        found = pc_parents(independence_test(columns), constraints, self.alpha)
        if what := constraints.objection(found):
            raise NetworkError(
                f'search="pc" finds by tests a graph that the constraints refuse: {what}; use search="boss" or "tabu"'
            )
        return found

    def __call__(self, score: Score, constraints: Constraints, start: Parents, seed: int) -> Parents:  # noqa: ARG002
        raise NetworkError('search="pc" tests the rows, and has no use for a score: use "boss", "tabu" or "ges" here')


def independence_test(columns: Columns) -> IndependenceTest:
    """G² for categories, partial correlation for numbers."""
    if columns.categories and columns.numbers:
        raise NetworkError(
            f'search="pc" tests either categories or numbers, but {columns.categories[0].name!r} is a category and '
            f"{columns.numbers[0].name!r} a number: cut the numbers in bins (bins=5), or use another search"
        )
    if columns.numbers and not columns.here:
        return SummedCorrelationTest.of(columns.measured())
    if columns.numbers:
        return CorrelationTest(columns.variables, np.stack([each.values for each in columns.numbers]), columns.weight)
    sizes = tuple(len(each.levels) for each in columns.categories)
    return CategoryTest(columns.variables, np.stack([each.codes for each in columns.categories]), sizes, columns.weight)
