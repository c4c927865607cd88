"""Markov equivalence: CPDAGs, Meek's rules, consistent extensions.

Two directed acyclic graphs are Markov equivalent if they have the same adjacencies and the same unshielded colliders
(Verma and Pearl 1990). The CPDAG of a class has an arrow where all its members agree, an undirected edge elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

from credo.errors import NetworkError
from credo.networks.mixed_graph import MixedGraph

Name = TypeVar("Name")
Parents = tuple[tuple[int, ...], ...]  # a DAG: the parents of each variable, by number


class PartialOrientation:
    """A partially directed graph over the numbers 0, 1, ..., while its edges are being directed."""

    def __init__(self, size: int) -> None:
        self.parents: list[set[int]] = [set() for _ in range(size)]
        self.children: list[set[int]] = [set() for _ in range(size)]
        self.neighbours: list[set[int]] = [set() for _ in range(size)]  # across undirected edges

    def __len__(self) -> int:
        return len(self.parents)

    def copy(self) -> PartialOrientation:
        new = PartialOrientation(0)
        new.parents, new.children, new.neighbours = (
            [set(each) for each in some] for some in (self.parents, self.children, self.neighbours)
        )
        return new

    def adjacent(self, a: int) -> set[int]:
        return self.parents[a] | self.children[a] | self.neighbours[a]

    def are_adjacent(self, a: int, b: int) -> bool:
        return b in self.neighbours[a] or b in self.parents[a] or b in self.children[a]

    def join(self, a: int, b: int) -> None:
        """Add an undirected edge."""
        self.neighbours[a].add(b)
        self.neighbours[b].add(a)

    def direct(self, a: int, b: int) -> None:
        """Replace any edge between a and b by the arrow a -> b."""
        self.separate(a, b)
        self.children[a].add(b)
        self.parents[b].add(a)

    def separate(self, a: int, b: int) -> None:
        for one, other in ((a, b), (b, a)):
            self.neighbours[one].discard(other)
            self.parents[one].discard(other)
            self.children[one].discard(other)

    def undirected(self) -> list[tuple[int, int]]:
        return [(a, b) for a in range(len(self)) for b in sorted(self.neighbours[a]) if a < b]

    def named(self, names: Sequence[str]) -> MixedGraph:
        arrows = frozenset((names[a], names[b]) for b in range(len(self)) for a in self.parents[b])
        edges = frozenset((names[a], names[b]) for a, b in self.undirected())
        return MixedGraph(tuple(names), arrows, edges)

    @classmethod
    def of(cls, graph: MixedGraph) -> PartialOrientation:
        place = {name: i for i, name in enumerate(graph.variables)}
        made = cls(len(place))
        for a, b in graph.arrows:
            made.direct(place[a], place[b])
        for a, b in graph.edges:
            made.join(place[a], place[b])
        return made


def cpdag_of(parents: Sequence[Iterable[int]]) -> PartialOrientation:
    """The CPDAG of a directed acyclic graph: unshielded colliders, then Meek's rules.

    >>> cpdag_of([(), (0,), (0, 1), (2,)]).named("ABCD")
    Graph of 4 variables, 0 arrows and 4 undirected edges
      A - B
      A - C
      B - C
      C - D
    """
    above = [set(own) for own in parents]
    graph = PartialOrientation(len(above))
    for child, own in enumerate(above):
        for parent in own:
            graph.join(parent, child)
    for a, b, child in colliders(above):
        graph.direct(a, child)
        graph.direct(b, child)
    close(graph)
    return graph


def colliders(parents: Sequence[Iterable[int]]) -> set[tuple[int, int, int]]:
    """The unshielded colliders a -> child <- b, as (a, b, child) with a < b: their parents aren't adjacent."""
    above = [set(own) for own in parents]
    return {
        (a, b, child)
        for child, own in enumerate(above)
        for a, b in combinations(sorted(own), 2)
        if a not in above[b] and b not in above[a]
    }


def close(graph: PartialOrientation) -> None:
    """Direct every edge whose direction follows from the others (Meek 1995, rules 1 to 4), in place."""
    waiting = deque(graph.undirected())
    while waiting:
        a, b = waiting.popleft()
        if b not in graph.neighbours[a]:
            continue
        if not _must_lead(graph, a, b):
            if not _must_lead(graph, b, a):
                continue
            a, b = b, a
        graph.direct(a, b)
        for end in (a, b, *(graph.neighbours[a] & graph.neighbours[b])):
            waiting.extend((end, other) for other in sorted(graph.neighbours[end]))


def _must_lead(graph: PartialOrientation, a: int, b: int) -> bool:
    """Whether a -> b is compelled: b -> a would lead to a new collider or a cycle."""
    near_b = graph.adjacent(b)
    if not graph.parents[a] <= near_b:  # c -> a - b, c and b nonadjacent
        return True
    if graph.children[a] & graph.parents[b]:  # a -> c -> b
        return True
    between = graph.neighbours[a] & graph.parents[b]  # a - c -> b
    if any(not graph.are_adjacent(c, d) for c, d in combinations(between, 2)):
        return True
    near_a = graph.adjacent(a)  # a - d -> c -> b, a and c adjacent, d and b nonadjacent
    return any((graph.parents[c] & graph.neighbours[a]) - near_b for c in graph.parents[b] & near_a)


def extension(graph: PartialOrientation) -> Parents | None:
    """A directed acyclic graph with the same adjacencies, arrows and unshielded colliders (Dor and Tarsi 1992); None
    where there is none. Variables that can be sinks are removed one after another."""
    left = graph.copy()
    found: list[set[int]] = [set(own) for own in graph.parents]
    waiting, gone = deque(range(len(graph))), set[int]()
    while waiting:
        x = waiting.popleft()
        if x in gone or left.children[x]:
            continue
        near = left.adjacent(x)
        if not all(near - {y} <= left.adjacent(y) for y in left.neighbours[x]):
            continue
        found[x] |= left.neighbours[x]
        gone.add(x)
        for y in near:
            left.separate(x, y)
        waiting.extend(sorted(near))
    return tuple(tuple(sorted(own)) for own in found) if len(gone) == len(graph) else None


def extension_of(graph: MixedGraph) -> dict[str, tuple[str, ...]]:
    """{name: parents} of a consistent extension."""
    found = extension(PartialOrientation.of(graph))
    if found is None:
        raise NetworkError(
            "the graph has no consistent extension: any direction of its edges adds a collider or a cycle"
        )
    names = graph.variables
    return {names[i]: tuple(names[parent] for parent in own) for i, own in enumerate(found)}


def numbered(parents: Mapping[Name, Iterable[Name]]) -> Parents:
    """The parents of each variable, by number.

    >>> numbered({"A": (), "B": ("A",)})
    ((), (0,))
    """
    place = {name: i for i, name in enumerate(parents)}
    return tuple(tuple(place[parent] for parent in own) for own in parents.values())


def are_equivalent(one: Sequence[Iterable[int]], other: Sequence[Iterable[int]]) -> bool:
    """Whether two directed acyclic graphs are Markov equivalent.

    >>> are_equivalent([(), (0,)], [(1,), ()]), are_equivalent([(), (), (0, 1)], [(), (0,), (1,)])
    (True, False)
    """

    def skeleton(parents: Sequence[Iterable[int]]) -> set[frozenset[int]]:
        return {frozenset((a, b)) for b, own in enumerate(parents) for a in own}

    return skeleton(one) == skeleton(other) and colliders(one) == colliders(other)
