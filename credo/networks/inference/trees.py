"""Exact answers: which factors a question needs, which tree it runs in, and whether that fits in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock

import numpy as np

from credo._kernels.networks.pruning import drop_unconnected, find_ancestors
from credo.networks.inference.findings import Findings
from credo.networks.inference.junction import Plan, Tree, TreeQuery
from credo.networks.inference.memory import TREES, setting
from credo.networks.inference.potentials import Flags, Integers, Potentials
from credo.networks.inference.sizes import check_size
from credo.numerics.exact import Array

SMALL, MIDDLE = 2**11, 2**15  # cells of a tree for any evidence: up to SMALL none is compiled for a pattern that comes
# again, and up to MIDDLE none for one that comes the first time
SEEN = 10_000  # patterns that are remembered
KEPT, MANY = 2**26, 1000  # cells of all trees that are kept for when their pattern comes again (unless CREDO_TREES says
# otherwise), and how many are
ALL, NOBODY = np.empty((2, 0), dtype=np.int64)  # variables; ALL is told by what it is, not by what is in it


class Trees:
    """Answers to questions about the variables of potentials, by their numbers."""

    def __init__(self, potentials: Potentials) -> None:
        self.potentials = potentials
        self._trees: OrderedDict[bytes, Tree] = OrderedDict()
        self._cells = 0  # of all trees
        self._seen: set[bytes] = set()
        self._lock = Lock()

    def log_total(self, codes: Integers, weights: Array) -> float:
        """The logarithm of the probability of the evidence (or, without arrows, of all that agrees with it)."""
        return self._tree(codes, weights, None).log_total(codes, weights)

    def marginals(self, codes: Integers, weights: Array, out: Array) -> float:
        """The same; out: what is believed of each variable."""
        return self._tree(codes, weights, ALL).marginals(codes, weights, out)

    def joint(self, codes: Integers, weights: Array, variables: Sequence[int]) -> tuple[Array, float]:
        """What is believed of some variables together, an axis for each, and whether anything is: its logarithm."""
        free = [v for v in variables if codes[v] < 0]
        if len(free) == 1 and self._cells_of_any <= SMALL:
            own, places = np.empty(int(self.potentials.places[-1])), self.potentials.places
            found = self.marginals(codes, weights, own)
            table = own[places[free[0]] : places[free[0] + 1]]
        elif free:
            table, found = self._tree(codes, weights, np.array(free)).joint(codes, weights)
        else:
            table, found = np.ones(()), self.log_total(codes, weights)
        whole = np.zeros([int(self.potentials.card[v]) for v in variables])
        whole[tuple(slice(None) if codes[v] < 0 else int(codes[v]) for v in variables)] = table
        return whole, found

    def best(self, codes: Integers, weights: Array, variables: Sequence[int] | None) -> tuple[Integers, float]:
        """The most probable states of some variables together (None: of all), and the logarithm of that."""
        n = len(codes)
        maximised = np.zeros(n, dtype=np.bool_)
        maximised[list(range(n)) if variables is None else list(variables)] = True
        observed = codes >= 0
        wanted = maximised | observed | self._weighed(weights)
        key = b"best" + _key(observed, maximised, wanted)
        tree = self._held(key, lambda: Plan.of(self.question(observed, wanted, NOBODY, maximised)))
        return tree.best(codes, weights)

    def for_all(self, findings: Findings) -> Tree:
        """The tree in which all variables are, with that evidence."""
        return self._tree(findings.codes, findings.weights, ALL)

    # Trees

    def _tree(self, codes: Integers, weights: Array, targets: Integers | None) -> Tree:
        """For the joint table of targets, for the marginals of ALL, or (None) for the sum of all."""
        any_do = targets is None or targets is ALL
        if any_do and self._cells_of_any <= SMALL:
            return self._whole
        observed = codes >= 0
        pattern = observed.tobytes()
        if any_do and self._serves(pattern):
            return self._whole
        if targets is ALL:
            if not observed.any():
                return self._held(b"all ", lambda: self._plan)
            return self._held(b"all " + pattern, lambda: Plan.of(self.question(observed, self._everything, NOBODY)))
        wanted = observed | self._weighed(weights)
        together = NOBODY if targets is None else targets
        wanted[together] = True
        key = b"some" + _key(observed, wanted, together)
        return self._held(key, lambda: Plan.of(self.question(observed, wanted, together)))

    def _serves(self, pattern: bytes) -> bool:
        """Whether the tree for any evidence is as good as one for this pattern would be."""
        if self._cells_of_any > MIDDLE or pattern in self._seen:
            return False
        if len(self._seen) == SEEN:
            self._seen.clear()
        self._seen.add(pattern)
        return True

    @cached_property
    def _everything(self) -> Flags:
        return np.ones(len(self.potentials.card), dtype=np.bool_)

    @cached_property
    def _plan(self) -> Plan:
        """Of a tree for any evidence."""
        return Plan.of(self.question(~self._everything, self._everything, NOBODY))

    @cached_property
    def _cells_of_any(self) -> float:
        """How many cells a tree for any evidence has; infinite, where it is clear that it has more than MIDDLE."""
        card = self.potentials.card
        at_least = card[card > 1].sum()  # of k variables, a clique has no fewer cells than they have states
        return np.inf if at_least > MIDDLE else self._plan.cells

    @cached_property
    def _whole(self) -> Tree:
        return Tree(self._plan)

    def question(self, observed: Flags, wanted: Flags, together: Integers, maximised: Flags | None = None) -> TreeQuery:
        """Without tables of variables that nothing is known or asked of, nor of any below them: they sum to 1. And
        without what isn't connected with what is asked."""
        held = self.potentials
        chosen = self._needed(observed, np.flatnonzero(wanted), together)
        if len(chosen) == len(held.children):
            return TreeQuery(held, held, None, observed, maximised, together)
        part, numbers = held.part(chosen, together)
        asked = None if maximised is None else maximised[numbers]
        return TreeQuery(held, part, numbers, observed[numbers], asked, np.searchsorted(numbers, together))

    def _needed(self, observed: Flags, wanted: Integers, together: Integers) -> Integers:
        """The factors that an answer depends on."""
        held, n = self.potentials, len(observed)
        found, used = np.empty(len(held.children), dtype=np.int64), np.zeros(len(held.children), dtype=np.bool_)
        found[: len(held.unowned)] = held.unowned
        index = held.heads, held.axes
        size = find_ancestors(*index, held.owned, wanted, used, found, len(held.unowned))
        if len(together):
            some = found[:size], np.zeros(n + 1, dtype=np.int64)
            size = drop_unconnected(*index, held.with_zeros, together, ~observed, *some)
        return np.sort(found[:size])

    def _weighed(self, weights: Array) -> Flags:
        if not len(weights):
            return ~self._everything
        return np.asarray(np.logical_or.reduceat(weights != 1.0, self.potentials.places[:-1]))

    def _held(self, key: bytes, planned: Callable[[], Plan]) -> Tree:
        """The tree for a question, from those that were asked before if it is there."""
        with self._lock:
            if key in self._trees:
                self._trees.move_to_end(key)  # the last that would go
                return self._trees[key]
        plan = planned().improved()
        kept = setting(TREES, 8 * KEPT) / 8
        with self._lock:
            while self._trees and (plan.cells + self._cells > kept or len(self._trees) >= MANY):
                _, gone = self._trees.popitem(last=False)
                self._cells -= gone.cells
        check_size(plan.cells)
        tree = Tree(plan)
        if tree.cells <= kept:
            with self._lock:
                self._cells += tree.cells if key not in self._trees else 0
                self._trees[key] = tree
        return tree


def _key(*about: Flags | Integers) -> bytes:
    """Sets of variables, or lists, as one key: no longer than they are, however many variables there are."""
    lists = [np.flatnonzero(each) if each.dtype == np.bool_ else each for each in about]
    return b"".join([np.array([*map(len, lists)]).tobytes(), *(each.tobytes() for each in lists)])
