"""Interfaces of structure search: decomposable scores, searches, and graphs by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from credo.errors import NetworkError
from credo.networks.structure.constraints import Constraints as Constraints
from credo.networks.structure.constraints import Parents as Parents
from credo.numerics.exact import Array


class Score(Protocol):
    """A decomposable score, log p up to a constant: score(graph) = Σ family(node, its parents); larger is better."""

    @property
    def variables(self) -> tuple[str, ...]: ...

    def family(self, node: int, parents: Sequence[int]) -> float:
        """The score of a node given its parents, which may come in any order."""
        ...

    def families(self, node: int, candidates: Sequence[Sequence[int]]) -> Array:
        """The same for many sets of parents."""
        ...

    def grown(self, node: int, parents: Sequence[int], others: Sequence[int]) -> Array:
        """The same for `parents` with each of `others` added: the most frequent request of searches, counted
        together."""
        ...


class StructureSearch(Protocol):
    """A search for a graph with a high score: from an allowed start to an allowed graph that is no worse."""

    def __call__(self, score: Score, constraints: Constraints, start: Parents, seed: int) -> Parents: ...


def total(score: Score, parents: Parents) -> float:
    """The score of a graph."""
    return float(sum(score.family(node, above) for node, above in enumerate(parents)))


def check_possible(score: Score, parents: Parents) -> None:
    """Refuse a starting graph in which a variable is a function of its parents: its score is -inf."""
    for node, above in enumerate(parents):
        if score.family(node, above) == -np.inf:
            names = ", ".join(score.variables[p] for p in above)
            raise NetworkError(
                f"{score.variables[node]!r} can't have the parents {names} that are required, or that it starts with: "
                "they determine it, so the score is -inf. Leave one of these columns out"
            )


def ancestors(parents: Parents) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Whether i is an ancestor of j, or j itself, in row j and column i.

    >>> ancestors(((), (0,), (1,))).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    from credo.networks import graph

    above = np.eye(len(parents), dtype=bool)
    for node in graph.in_order(dict(enumerate(parents))):
        for parent in parents[node]:
            above[node] |= above[parent]
    return above
