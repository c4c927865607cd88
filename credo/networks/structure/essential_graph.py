"""The essential graph: the directions compelled by the data and the constraints, and the members of its class."""

from __future__ import annotations

import numpy as np

from credo.networks.equivalence import PartialOrientation, close, cpdag_of
from credo.networks.structure.constraints import Constraints, Parents


def essential_graph(parents: Parents, constraints: Constraints) -> PartialOrientation:
    """An arrow where all equivalent graphs that the constraints allow agree, an undirected edge elsewhere: the CPDAG
    with the directions fixed by constraints, and those that follow. (Meek 1995)

    >>> chain = ((), (0,), (1,))  # A -> B -> C
    >>> essential_graph(chain, Constraints.of("ABC", forbidden="B -> A")).named("ABC")
    Graph of 3 variables, 2 arrows and 0 undirected edges
      A -> B
      B -> C
    """
    graph = cpdag_of(parents)
    direct_known(graph, constraints)
    close(graph)
    return graph


def direct_known(graph: PartialOrientation, constraints: Constraints) -> None:
    """Direct undirected edges with only one allowed direction, in place."""
    for a, b in graph.undirected():
        if not constraints.allows(a, b):
            graph.direct(b, a)
        elif not constraints.allows(b, a):
            graph.direct(a, b)


def random_members(
    parents: Parents, constraints: Constraints, count: int, random: np.random.Generator
) -> list[Parents]:
    """Random members of the class that the constraints allow; the graph itself replaces members with too many
    parents."""
    graph = essential_graph(parents, constraints)
    found = [_directed(graph.copy(), random) for _ in range(count)]
    return [each if max(map(len, each), default=0) <= constraints.most else parents for each in found]


def _directed(graph: PartialOrientation, random: np.random.Generator) -> Parents:
    """Direct undirected edges in random order and directions, each with the directions that follow, so that no cycle
    and no new collider arises (Meek 1995)."""
    edges = graph.undirected()
    for i in random.permutation(len(edges)).tolist():
        a, b = edges[i] if random.random() < 0.5 else edges[i][::-1]
        if b in graph.neighbours[a]:
            graph.direct(a, b)
            close(graph)
    return tuple(tuple(sorted(own)) for own in graph.parents)
