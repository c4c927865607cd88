"""Best order score search: an order of the variables represents its best graph. (Andrews et al. 2023)"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.errors import check_whole
from credo.networks.structure.climbing import hill_climbing
from credo.networks.structure.grow_shrink import GrowShrinkTree, Trace
from credo.networks.structure.orders import first_order, precedence
from credo.networks.structure.pair_screen import PairScreen
from credo.networks.structure.score import Constraints, Parents, Score, total
from credo.numerics.arrays import Flags
from credo.numerics.exact import Array

Places = NDArray[np.intp]
LEAST_GAIN = 1e-6  # of a move
SCREENED_VARIABLES = 200  # with more variables, pairs are screened
MOST_MOVED_VARIABLES = 6  # variables moved at random in one round


@dataclass
class VariableOrder:
    """An order of the variables, and the parents that each takes from those before it."""

    trees: list[GrowShrinkTree]
    must: Flags  # [i, j]: i must come before j
    place: Places  # the place of each variable

    def __post_init__(self) -> None:
        self.waiting = {*range(len(self.place))}
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
        """Move a variable to its best place; returns the gain."""
        rest = self.place - (self.place > self.place[v])  # places between the other variables
        rest[v] = len(rest)
        scores = self._own_scores(v, rest)
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
        if gain <= LEAST_GAIN:
            return 0.0
        self._put(v, rest, best)
        return gain

    def _own_scores(self, v: int, rest: Places) -> Array:
        """The score of v itself at each place: it changes only where a missed variable comes before."""
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

    def _put(self, v: int, rest: Places, best: int) -> None:
        passed = (rest >= min(best, int(self.place[v]))) & (rest < max(best, int(self.place[v])))
        changed = np.flatnonzero(passed & self.watched[v])
        self.place = rest + (rest >= best)
        self.place[v] = best
        self.retrace([v, *changed.tolist()])

    def retrace(self, some: Iterable[int]) -> None:
        """Update the traces of some variables; all whose families change are queued for another move."""
        for w in some:
            old, new = self.traces[w], self._trace(w)
            if old.score != new.score or old.taken != new.taken:
                self.waiting.update((w, *old.taken, *new.taken))
            self.traces[w] = new
            self._watch(w)

    def settle(self, random: np.random.Generator) -> None:
        """Move queued variables until no move gains anything."""
        while self.waiting:
            some, self.waiting = sorted(self.waiting), set()
            for v in random.permutation(some).tolist():
                self.move(v)

    def copy(self) -> VariableOrder:
        new = copy(self)
        new.traces, new.watched, new.waiting = [*self.traces], self.watched.copy(), set()
        return new

    def perturbed(self, random: np.random.Generator, moves: int) -> VariableOrder:
        """A copy in which a variable and a few near it are moved to random places."""
        new, size = self.copy(), len(self.place)
        near = self._near(int(random.integers(size)), random, moves)
        order = [v for v in np.argsort(self.place).tolist() if v not in near]
        for v in near:
            earlier, later = self.must[order, v], self.must[v, order]
            lowest = len(order) - int(earlier[::-1].argmax()) if earlier.any() else 0
            highest = int(later.argmax()) if later.any() else len(order)
            order.insert(int(random.integers(lowest, highest + 1)), v)
        new.place = _places(order)
        new.waiting.update(near)
        new.retrace(self._affected(new.place, near))
        return new

    def _affected(self, place: Places, near: Sequence[int]) -> list[int]:
        """Variables whose relevant predecessors changed by a move."""
        changed = np.zeros(len(place), dtype=bool)
        changed[list(near)] = True
        for v in near:
            changed |= self.watched[v] & ((place[v] < place) != (self.place[v] < self.place))
        return np.flatnonzero(changed).tolist()

    def _near(self, v: int, random: np.random.Generator, count: int) -> list[int]:
        """A variable, and others on a random walk along arrows."""
        found = {v: None}
        for _ in range(4 * count):
            around = [
                *self.traces[v].parents,
                *(w for w in np.flatnonzero(self.watched[v]).tolist() if v in self.traces[w].parents),
            ]
            if not around or random.random() < 0.1:
                v = int(random.choice([*found]))
                continue
            v = int(random.choice(around))
            found[v] = None
            if len(found) >= count:
                break
        return [*found]


def boss(
    score: Score,
    constraints: Constraints,
    start: Parents,
    seed: int = 0,
    *,
    rounds: int | None = None,
    patience: int | None = None,
) -> Parents:
    """Move each variable to its best place in the order until no move gains anything. Then repeat up to `rounds` times:
    move a few nearby variables to random places, optimise again, and keep the better order; stop after `patience`
    rounds without a gain.

    The defaults are 5 rounds per variable and at least 100; the patience is half a round per variable and at least 30.
    """
    size = len(start)
    random = np.random.default_rng(seed)
    rounds = max(100, 5 * size) if rounds is None else check_whole("rounds", rounds, 0)
    patience = max(30, size // 2) if patience is None else check_whole("patience", patience, 1)
    screen = PairScreen.of(score, constraints) if size > SCREENED_VARIABLES else None
    first = _places(first_order(start, constraints))
    best = VariableOrder(grow_shrink_trees(score, constraints, screen), precedence(constraints), first)
    best.settle(random)
    best = _widened(best, screen, random)
    waited = 0
    for _ in range(rounds):
        new = best.perturbed(random, int(random.integers(2, MOST_MOVED_VARIABLES + 1)))
        new.settle(random)
        best, waited = (new, 0) if new.total > best.total + LEAST_GAIN else (best, waited + 1)
        if waited >= patience:
            break
    found = _widened(best, screen, random).graph
    better = found if total(score, found) >= total(score, start) else start
    return hill_climbing(score, constraints, better)  # growing is greedy, so a single arrow may still gain


def _widened(order: VariableOrder, screen: PairScreen | None, random: np.random.Generator) -> VariableOrder:
    """The order optimised again, as long as the screen lets further pairs through."""
    while screen is not None and screen.widen(order.graph):
        new = VariableOrder(grow_shrink_trees(screen.score, screen.constraints, screen), order.must, order.place)
        new.settle(random)
        order = new if new.total > order.total else order
    return order


def grow_shrink_trees(score: Score, constraints: Constraints, screen: PairScreen | None = None) -> list[GrowShrinkTree]:
    near = None if screen is None else screen.near
    return [GrowShrinkTree(score, constraints, v, near) for v in range(len(score.variables))]


def _places(order: Sequence[int]) -> Places:
    place = np.empty(len(order), dtype=np.intp)
    place[list(order)] = np.arange(len(order))
    return place
