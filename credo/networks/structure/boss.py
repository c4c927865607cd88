"""Best order score search: a graph is the best one for an order of the variables; search among orders. (Andrews et al. 2023)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.networks import graph
from credo.networks.structure.climbing import hill_climbing
from credo.networks.structure.grow_shrink import Flags, GrowShrinkTree, Trace
from credo.networks.structure.score import Constraints, Parents, Score, total
from credo.numerics.exact import Array

ENOUGH = 1e-6  # a gain that is worth a move
MANY = 200  # variables from which on pairs that don't depend on each other are screened


@dataclass
class Order:
    """An order of the variables, and what each takes from those before it."""

    trees: list[GrowShrinkTree]
    must: Flags  # [i, j]: i must come before j
    place: np.ndarray[tuple[int], np.dtype[np.intp]]  # of each variable

    def __post_init__(self) -> None:
        self.traces: list[Trace] = [self._trace(v) for v in range(len(self.place))]
        size = len(self.place)
        self.watched = np.zeros((size, size), dtype=bool)  # [v, w]: whether v's place matters to w
        for w in range(size):
            self._watch(w)

    @property
    def total(self) -> float:
        return sum(trace.score for trace in self.traces)

    @property
    def graph(self) -> Parents:
        return tuple(tuple(sorted(trace.parents)) for trace in self.traces)

    def _trace(self, v: int) -> Trace:
        return self.trees[v].trace(self.place < self.place[v])

    def _watch(self, w: int) -> None:
        self.watched[:, w] = False
        self.watched[self.traces[w].missed, w] = True
        self.watched[list(self.traces[w].taken), w] = True

    def move(self, v: int) -> float:
        """Put a variable at its best place; what that gains."""
        rest = self.place - (self.place > self.place[v])  # places among the others
        rest[v] = len(rest)
        scores = self._own(v, rest)
        for w in np.flatnonzero(self.watched[v]).tolist():
            before = rest < rest[w]
            if self.place[v] < self.place[w]:
                before[v] = False
                gain = self.traces[w].score - self.trees[w].trace(before).score
            else:
                before[v] = True
                gain = self.trees[w].trace(before).score - self.traces[w].score
            scores[: rest[w] + 1] += gain  # v before w
        lowest = rest[self.must[:, v]].max(initial=-1) + 1
        highest = rest[self.must[v]].min(initial=len(rest) - 1)
        now = int(self.place[v])
        best = lowest + int(scores[lowest : highest + 1].argmax())
        gain = float(scores[best] - scores[now])
        if gain <= ENOUGH:
            return 0.0
        self._put(v, rest, best)
        return gain

    def _own(self, v: int, rest: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Array:
        """The score of v itself at each place: it changes only where something that it missed comes before."""
        scores = np.empty(len(rest))
        at = 0
        while at < len(rest):
            before = rest < at
            found = self.trees[v].trace(before)
            later = rest[found.missed]
            until = min(int(later.min(initial=len(rest))) + 1, len(rest))
            scores[at:until] = found.score
            at = until
        return scores

    def _put(self, v: int, rest: np.ndarray[tuple[int], np.dtype[np.intp]], best: int) -> None:
        passed = (rest >= min(best, int(self.place[v]))) & (rest < max(best, int(self.place[v])))
        changed = np.flatnonzero(passed & self.watched[v])
        self.place = rest + (rest >= best)
        self.place[v] = best
        for w in [v, *changed.tolist()]:
            self.traces[w] = self._trace(w)
            self._watch(w)


def boss(score: Score, constraints: Constraints, start: Parents, seed: int = 0, *, starts: int = 1) -> Parents:
    """Move each variable to its best place in the order until no move gains anything; then from other orders."""
    size = len(start)
    random = np.random.default_rng(seed)
    trees = grow_shrink_trees(score, constraints)
    must = _must(constraints)
    order = Order(trees, must, _places(graph.in_order(dict(enumerate(start)))))
    _settle(order, random)
    best = order.graph
    return best if total(score, best) >= total(score, start) else hill_climbing(score, constraints, start)


def _settle(order: Order, random: np.random.Generator) -> None:
    size = len(order.place)
    while True:
        gained = sum(order.move(int(v)) for v in random.permutation(size))
        if gained <= ENOUGH:
            return


def grow_shrink_trees(score: Score, constraints: Constraints) -> list[GrowShrinkTree]:
    size = len(score.variables)
    screen = None
    if size > MANY:
        single = np.array([score.family(v, ()) for v in range(size)])
        everyone = list(range(size))
        screen = []
        for v in everyone:
            others = [u for u in everyone if u != v]
            near = np.zeros(size, dtype=bool)
            near[others] = score.grown(v, (), others) > single[v]
            screen.append(near)
    return [GrowShrinkTree(score, constraints, v, screen) for v in range(size)]


def _must(constraints: Constraints) -> Flags:
    """Which variable must come before which, by required arrows and tiers."""
    size = len(constraints.variables)
    must = np.zeros((size, size), dtype=bool)
    if constraints.tiers:
        tier = np.array(constraints.tiers)
        must = (tier[:, None] < tier[None, :]) & (tier[:, None] >= 0)
    for parent, child in constraints.required:
        must[parent, child] = True
    return must


def _places(order: tuple[int, ...]) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    place = np.empty(len(order), dtype=np.intp)
    place[list(order)] = np.arange(len(order))
    return place
