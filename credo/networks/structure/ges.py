"""Greedy equivalence search (Chickering 2002): over classes of Markov-equivalent graphs, forward and then backward.

A class is represented by its CPDAG. Forward steps insert an edge, backward steps delete one; each is the best valid
step. With a score-equivalent and consistent score, the result converges to the true CPDAG as rows grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import combinations
from typing import NamedTuple

from credo.networks.equivalence import PartialOrientation, extension
from credo.networks.structure.climbing import hill_climbing
from credo.networks.structure.essential_graph import essential_graph
from credo.networks.structure.score import Constraints, Parents, Score, total

LEAST_GAIN = 1e-9  # of a step

Set = frozenset[int]


class Operator(NamedTuple):
    """An edge x - y that is inserted or deleted, and the neighbours of y whose edges are directed by the step."""

    x: int
    y: int
    turned: Set


def greedy_equivalence_search(score: Score, constraints: Constraints, start: Parents, seed: int) -> Parents:  # noqa: ARG001
    """A member of the best class found; the seed doesn't matter.

    Constraints leave a part of a class, whose essential graph includes the directions that they determine. Steps lead
    from one such part to another, and each has a member that the constraints allow and that gains. Some steps between
    whole classes are then missing, so hill climbing continues from the result of both phases.
    """
    whole = constraints == Constraints.none(constraints.variables)
    found = _climbed(score, constraints, start)
    while not whole:
        further = hill_climbing(score, constraints, found)
        if total(score, further) <= total(score, found) + LEAST_GAIN:
            break
        found = _climbed(score, constraints, further)
    return found


def _climbed(score: Score, constraints: Constraints, start: Parents) -> Parents:
    search = _Greedy(score, constraints, start)
    while search.forward() + search.backward():
        pass
    return search.member


class _Greedy:
    def __init__(self, score: Score, constraints: Constraints, start: Parents) -> None:
        self.score, self.constraints, self.most = score, constraints, constraints.most
        self.member = start  # a member of the class
        self.graph = essential_graph(start, constraints)

    def forward(self) -> int:
        return self._climb(self._insertions, self._may_insert, self._inserted)

    def backward(self) -> int:
        return self._climb(self._deletions, self._may_delete, self._deleted)

    def _climb(
        self,
        steps_into: Callable[[int, Iterable[int]], Iterator[tuple[float, Operator]]],
        may: Callable[[Operator], bool],
        apply: Callable[[Operator], PartialOrientation],
    ) -> int:
        """Make the best valid step as long as one gains; returns the number of steps. Gains are recomputed only where
        something they depend on has changed."""
        heap: list[tuple[float, int, Operator, int]] = []
        stamp: dict[tuple[int, int], int] = {}
        size, count, made = len(self.graph), 0, 0

        def push(y: int, others: Iterable[int]) -> None:
            nonlocal count
            xs = [x for x in others if x != y]
            for x in xs:
                stamp[x, y] = stamp.get((x, y), 0) + 1
            for gain, step in steps_into(y, xs):
                if gain > LEAST_GAIN:
                    count += 1
                    heappush(heap, (-gain, count, step, stamp[step.x, y]))

        for y in range(size):
            push(y, range(size))
        aside: list[tuple[float, int, Operator, int]] = []
        while heap:
            item = heappop(heap)
            step = item[2]
            if stamp[step.x, step.y] != item[3]:
                continue
            found = self._allowed_member(apply(step)) if may(step) else None
            if found is None:
                aside.append(item)
                continue
            made += 1
            after = essential_graph(found, self.constraints)
            changed = self._changed(after, step)
            self.member, self.graph = found, after
            for other in aside:
                heappush(heap, other)
            aside = []
            for y in range(size):
                push(y, range(size) if y in changed else (step.x, step.y))
        return made

    def _changed(self, after: PartialOrientation, step: Operator) -> set[int]:
        """Variables whose steps have a new score or a new validity."""
        before, both = self.graph, {step.x, step.y}
        return {
            y
            for y in range(len(after))
            if before.parents[y] != after.parents[y]
            or before.neighbours[y] != after.neighbours[y]
            or both <= after.neighbours[y]
        }

    def _insertions(self, y: int, xs: Iterable[int]) -> Iterator[tuple[float, Operator]]:
        graph = self.graph
        together: dict[Set, list[Operator]] = {}  # by the other parents that y would have
        above, near_y = frozenset(graph.parents[y]), frozenset(graph.neighbours[y])
        for x in xs:
            if graph.are_adjacent(x, y) or not self.constraints.allows(x, y):
                continue
            near_x = graph.adjacent(x)
            common = near_y & near_x
            if not self._is_clique(common):
                continue
            for turned in self._cliques(common, sorted(near_y - near_x)):
                base = above | common | turned
                if len(base) < self.most:
                    together.setdefault(base, []).append(Operator(x, y, turned))
        for base, steps in together.items():
            grown = self.score.grown(y, sorted(base), [step.x for step in steps])
            alone = self.score.family(y, sorted(base))
            yield from ((float(own) - alone, step) for own, step in zip(grown, steps, strict=True))

    def _deletions(self, y: int, xs: Iterable[int]) -> Iterator[tuple[float, Operator]]:
        graph = self.graph
        above = graph.parents[y]
        for x in xs:
            if x not in graph.neighbours[y] and x not in above:
                continue
            common = frozenset(graph.neighbours[y] & graph.adjacent(x))
            for kept in self._cliques(frozenset(), sorted(common)):
                base = (above | kept) - {x}
                gain = self.score.family(y, sorted(base)) - self.score.family(y, sorted(base | {x}))
                yield gain, Operator(x, y, common - kept)

    def _is_clique(self, some: Set) -> bool:
        return all(self.graph.are_adjacent(a, b) for a, b in combinations(some, 2))

    def _cliques(self, common: Set, others: list[int]) -> Iterator[Set]:
        """The sets of others, all adjacent to each other and to `common`."""
        yield frozenset()
        waiting = [(frozenset[int](), 0)]
        while waiting:
            some, start = waiting.pop()
            for i in range(start, len(others)):
                if all(self.graph.are_adjacent(others[i], each) for each in common | some):
                    grown = some | {others[i]}
                    yield grown
                    waiting.append((grown, i + 1))

    def _may_insert(self, step: Operator) -> bool:
        """Whether each semi-directed path from y to x is blocked."""
        graph = self.graph
        blocked = (graph.neighbours[step.y] & graph.adjacent(step.x)) | step.turned
        seen, waiting = {step.y, *blocked}, [step.y]
        while waiting:
            at = waiting.pop()
            for to in graph.children[at] | graph.neighbours[at]:
                if to == step.x:
                    return False
                if to not in seen:
                    seen.add(to)
                    waiting.append(to)
        return True

    def _may_delete(self, step: Operator) -> bool:
        return self.constraints.required.isdisjoint(((step.x, step.y), (step.y, step.x)))

    def _inserted(self, step: Operator) -> PartialOrientation:
        after = self.graph.copy()
        after.direct(step.x, step.y)
        for t in step.turned:
            after.direct(t, step.y)
        return after

    def _deleted(self, step: Operator) -> PartialOrientation:
        after = self.graph.copy()
        after.separate(step.x, step.y)
        for h in step.turned:
            after.direct(step.y, h)
            if h in after.neighbours[step.x]:
                after.direct(step.x, h)
        return after

    def _allowed_member(self, graph: PartialOrientation) -> Parents | None:
        """A member of the class of a partially directed graph, if it is allowed and gains: where constraints direct
        edges, a step may change more families than the one that it is scored by."""
        found = extension(graph)
        if found is None or self.constraints.objection(found):
            return None
        changed = [(v, old, new) for v, (old, new) in enumerate(zip(self.member, found, strict=True)) if old != new]
        gain = sum(self.score.family(v, new) - self.score.family(v, old) for v, old, new in changed)
        return found if gain > LEAST_GAIN else None
