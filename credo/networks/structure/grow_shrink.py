"""Grow-shrink trees: which parents a variable takes from those before it, for all orders. (Andrews et al. 2023)"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.networks.structure.score import Constraints, Score
from credo.numerics.arrays import Flags

LEAST_GAIN = 1e-7  # of adding or removing a parent
Numbers = NDArray[np.intp]


class Trace(NamedTuple):
    """The parents that a variable takes from those before it."""

    score: float
    parents: tuple[int, ...]
    taken: tuple[int, ...]  # added one after another; some of them may be removed later
    missed: Numbers  # would have been added earlier if they had preceded it


class Vertex:
    """A set of parents added one after another, and the next candidates, the best first."""

    __slots__ = ("added", "branches", "children", "ended", "passed", "score")

    def __init__(self, added: tuple[int, ...], score: float, passed: frozenset[int]) -> None:
        self.added, self.score, self.passed = added, score, passed
        self.branches: Numbers | None = None  # variables that raise the score
        self.children: dict[int, Vertex] = {}
        self.ended: tuple[float, tuple[int, ...]] | None = None  # after shrinking


class GrowShrinkTree:
    """Grow: add the best of the variables before it, while that raises the score. Shrink: remove, in the same way.

    The path depends on the order only through which variables come before: so each score is computed once for all
    orders, and a variable that is neither on the path nor missed may be anywhere.
    """

    def __init__(self, score: Score, constraints: Constraints, node: int, near: Flags | None = None) -> None:
        self._score, self._node, self._most = score, node, constraints.most
        self._allowed = constraints.allowed[:, node].copy()
        self._required = constraints.required_parents[node]
        self._allowed[list(self._required)] = False
        self._near = near
        self._root = Vertex((), score.family(node, self._required), frozenset())

    def trace(self, before: Flags) -> Trace:
        """The parents taken from the preceding variables, which include the required ones."""
        vertex, missed = self._root, list[Numbers]()
        while True:
            branches = self._grown(vertex)
            here = before[branches]
            at = int(here.argmax()) if len(here) else 0
            if not len(here) or not here[at]:
                missed.append(branches)
                break
            missed.append(branches[:at])
            vertex = vertex.children[int(branches[at])]
        score, parents = self._shrunk(vertex)
        return Trace(score, parents, vertex.added, np.concatenate(missed))

    def _grown(self, vertex: Vertex) -> Numbers:
        if vertex.branches is None:
            self._grow(vertex)
        assert vertex.branches is not None
        return vertex.branches

    def _grow(self, vertex: Vertex) -> None:
        above = (*self._required, *vertex.added)
        others = self._candidates(vertex) if len(above) < self._most else np.empty(0, dtype=np.intp)
        if not len(others):
            vertex.branches = others
            return
        scores = self._score.grown(self._node, above, others.tolist())
        better = np.flatnonzero(scores > vertex.score + LEAST_GAIN)
        better = better[np.argsort(-scores[better], kind="stable")]
        vertex.branches = others[better]
        passed = vertex.passed
        for i in better.tolist():
            other = int(others[i])
            vertex.children[other] = Vertex((*vertex.added, other), float(scores[i]), passed)
            passed = passed | {other}

    def _candidates(self, vertex: Vertex) -> Numbers:
        """All allowed parents except those that would have been added before; with many variables, only those near this
        one or near an added one."""
        some = self._allowed.copy()
        if self._near is not None:
            some &= self._near[[self._node, *self._required, *vertex.added]].any(0)
        some[[*vertex.added, *vertex.passed]] = False
        return np.flatnonzero(some)

    def _shrunk(self, vertex: Vertex) -> tuple[float, tuple[int, ...]]:
        """Shrink: remove parents that no longer pay."""
        if vertex.ended is None:
            kept, score = list(vertex.added), vertex.score
            while len(kept) > 1:
                fewer = [[*self._required, *kept[:i], *kept[i + 1 :]] for i in range(len(kept))]
                scores = self._score.families(self._node, fewer)
                at = int(scores.argmax())
                if scores[at] <= score + LEAST_GAIN:
                    break
                score = float(scores[at])
                del kept[at]
            vertex.ended = score, (*self._required, *kept)
        return vertex.ended
