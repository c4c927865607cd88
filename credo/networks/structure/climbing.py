"""Greedy search over graphs, one arrow at a time: hill climbing, tabu search, perturbing and climbing again."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.errors import check_whole
from credo.networks.structure.score import Constraints, Parents, Score, ancestors, total
from credo.numerics.exact import Array

Change = Literal["add", "delete", "reverse"]
LEAST_GAIN = 1e-6  # of a step
TIE = 1e-7  # gains closer than this are equal: equivalent graphs differ by rounding


class Move(NamedTuple):
    """An arrow that is added, deleted or reversed, and the gain in score."""

    change: Change
    parent: int
    child: int
    gain: float


class Climber:
    """A graph, and the gain of each change of one arrow. A step rescores only the families that it changes."""

    def __init__(self, score: Score, constraints: Constraints, start: Parents) -> None:
        self.score, self.constraints = score, constraints
        size = len(start)
        self.parents = [list(above) for above in start]
        self.family = np.zeros(size)
        self.added: Array = np.full((size, size), -np.inf)  # [parent, child]: the gain of a new arrow
        self.deleted: Array = np.full((size, size), -np.inf)  # [parent, child]: the gain of deleting an arrow
        self.above = ancestors(start)
        self._arrows = np.zeros((size, size), dtype=bool)  # [parent, child]
        self._free = np.ones((size, size), dtype=bool)  # arrows that aren't required
        for arrow in constraints.required:
            self._free[arrow] = False
        for node in range(size):
            self._refresh(node)

    @property
    def graph(self) -> Parents:
        return tuple(tuple(sorted(above)) for above in self.parents)

    @property
    def total(self) -> float:
        return float(self.family.sum())

    def best(self, tabu: Collection[tuple[int, int, bool]] = (), aspiration: float = np.inf) -> Move | None:
        """The change with the largest gain, whatever it is; among equal ones additions come first, then by number.

        Changes that would add or remove a tabu arrow are left out, unless they gain more than the aspiration. Additions
        with gain 0 are never the best: a constant column would take any parents.
        """
        gains = np.where(self.above | (np.abs(self.added) <= TIE), -np.inf, self.added)
        arrows, others = self._deletions_and_reversals
        if tabu:
            others = others.copy()
            place = {(parent, child): i for i, (parent, child) in enumerate(arrows.T.tolist())}
            for parent, child, present in tabu:
                if present and gains[parent, child] <= aspiration:
                    gains[parent, child] = -np.inf
                for i in _leading_to(parent, child, present, place):
                    others[i] = others[i] if others[i] > aspiration else -np.inf
        added = gains.max(initial=-np.inf)
        best = max(added, others.max(initial=-np.inf))
        if best == -np.inf:
            return None
        if added >= best - TIE:
            parent, child = divmod(int((gains >= best - TIE).argmax()), len(gains))
            return Move("add", parent, child, float(gains[parent, child]))
        return _deletion_or_reversal(arrows, others, int((others >= best - TIE).argmax()))

    def step(self, move: Move) -> None:
        """Make an allowed change."""
        parent, child = move.parent, move.child
        if move.change == "add":
            self.parents[child].append(parent)
            self.above[self.above[:, child]] |= self.above[parent]
        else:
            self.parents[child].remove(parent)
            if move.change == "reverse":
                self.parents[parent].append(child)
            self.above = ancestors(self.graph)
        self._refresh(child)
        if move.change == "reverse":
            self._refresh(parent)

    def climb(self) -> None:
        """Climb until no change gains anything."""
        while (move := self.best()) is not None and move.gain > LEAST_GAIN:
            self.step(move)

    def legal(self) -> list[Move]:
        """All allowed changes, whatever their gain."""
        found = np.argwhere(~self.above & np.isfinite(self.added)).tolist()
        arrows, others = self._deletions_and_reversals
        shorter = [_deletion_or_reversal(arrows, others, i) for i in np.flatnonzero(np.isfinite(others)).tolist()]
        return [Move("add", y, x, float(self.added[y, x])) for y, x in found] + shorter

    @property
    def _deletions_and_reversals(self) -> tuple[NDArray[np.intp], Array]:
        """The arrows that aren't required (2, arrows); the gains of deleting each, then of reversing each, -inf for
        cycles."""
        arrows = np.array(np.nonzero(self._arrows & self._free))
        y, x = arrows
        lost, won = self.deleted[y, x], self.added[x, y]
        paths = np.count_nonzero(self.above[:, y] & self._arrows[:, x], axis=0)  # parents of x below y
        return arrows, np.concatenate([lost, np.where((paths == 1) & np.isfinite(won), lost + won, -np.inf)])

    def _refresh(self, node: int) -> None:
        """Update the gains of all changes of a node's parents."""
        above = self.parents[node]
        self._arrows[:, node] = False
        self._arrows[above, node] = True
        now = self.family[node] = self.score.family(node, above)
        self.added[:, node] = self.deleted[:, node] = -np.inf
        if len(above) < self.constraints.most:
            allowed: NDArray[np.bool_] = self.constraints.allowed[:, node].copy()
            allowed[above] = False
            others = np.flatnonzero(allowed)
            if len(others):
                self.added[others, node] = self.score.grown(node, above, others.tolist()) - now
        if above:
            fewer = [[other for other in above if other != parent] for parent in above]
            self.deleted[above, node] = self.score.families(node, fewer) - now


def _deletion_or_reversal(arrows: NDArray[np.intp], gains: Array, i: int) -> Move:
    """The move with this index among the deletions and then the reversals."""
    change: Change = "delete" if i < arrows.shape[1] else "reverse"
    parent, child = arrows[:, i % arrows.shape[1]].tolist()
    return Move(change, parent, child, float(gains[i]))


def _leading_to(parent: int, child: int, present: bool, place: Mapping[tuple[int, int], int]) -> Iterator[int]:
    """The deletions, and then the reversals, that add or remove one of these arrows."""
    if present and (child, parent) in place:
        yield len(place) + place[child, parent]
    if not present and (parent, child) in place:
        yield from (place[parent, child], len(place) + place[parent, child])


def _effects(move: Move) -> Iterator[tuple[int, int, bool]]:
    """The arrows that a move adds or removes."""
    if move.change != "delete":
        yield (move.parent, move.child, True) if move.change == "add" else (move.child, move.parent, True)
    if move.change != "add":
        yield move.parent, move.child, False


def hill_climbing(score: Score, constraints: Constraints, start: Parents, seed: int = 0) -> Parents:  # noqa: ARG001
    """Make the best change of one arrow (add, delete, reverse) until none gains anything."""
    climber = Climber(score, constraints, start)
    climber.climb()
    return climber.graph


def tabu(
    score: Score, constraints: Constraints, start: Parents, seed: int = 0, *, length: int = 100, patience: int = 100
) -> Parents:  # noqa: RUF100
    """Hill climbing that then accepts worse steps for a while: changes that would undo one of the last `length` are
    tabu unless they lead to a new best graph, and the search ends after `patience` steps without one. (Glover 1989)"""
    del seed
    length, patience = check_whole("length", length, 0), check_whole("patience", patience, 1)
    climber = Climber(score, constraints, start)
    climber.climb()
    best, found, waited = climber.graph, climber.total, 0
    recent: deque[tuple[int, int, bool]] = deque(maxlen=length)
    while waited < patience and (move := climber.best(recent, found - climber.total + LEAST_GAIN)) is not None:
        recent.extend((y, x, not present) for y, x, present in _effects(move))
        climber.step(move)
        waited += 1
        if climber.total > found + LEAST_GAIN:
            best, found, waited = climber.graph, climber.total, 0
    return best


def iterated(
    score: Score, constraints: Constraints, start: Parents, seed: int = 0, *, rounds: int = 100, changes: int = 8
) -> Parents:
    """Hill climbing, then again from the best graph after a few random changes, `rounds` times."""
    rounds, changes = check_whole("rounds", rounds, 0), check_whole("changes", changes, 1)
    random = np.random.default_rng(seed)
    best = hill_climbing(score, constraints, start)
    found = total(score, best)
    for _ in range(rounds):
        climber = Climber(score, constraints, best)
        for _ in range(changes):
            moves = climber.legal()
            arrows = [move for move in moves if move.change != "add"]
            some = arrows if arrows and random.random() < 0.75 else moves
            if some:
                climber.step(some[random.integers(len(some))])
        climber.climb()
        if climber.total > found + LEAST_GAIN:
            best, found = climber.graph, climber.total
    return best
