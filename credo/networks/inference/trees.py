"""Exact inference in junction trees: selects the factors and the tree of a query, and checks that it fits in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock

import numpy as np

from credo._kernels.networks.pruning import drop_unconnected, find_ancestors
from credo.networks.inference.findings import NO_LIKELIHOODS, Findings
from credo.networks.inference.junction import Plan, Tree, TreeQuery, TreeStructure
from credo.networks.inference.memory import TREES_MEMORY, setting
from credo.networks.inference.potentials import Potentials
from credo.networks.inference.sizes import check_size
from credo.networks.inference.tree_structures import TreeStructures
from credo.numerics.arrays import Flags, Integers
from credo.numerics.exact import Array

# cells of the tree for any evidence: up to SMALL_TREE it serves all patterns of evidence, up to MIDDLE_TREE new ones
SMALL_TREE, MIDDLE_TREE = 2**11, 2**15
REMEMBERED_PATTERNS = 10_000  # patterns of evidence
CACHED_CELLS = 2**26  # cells of all cached trees, unless CREDO_TREES sets another limit
CACHED_TREES = 1000
ALL_VARIABLES, NO_VARIABLES = np.empty((2, 0), dtype=np.int64)  # sets; ALL_VARIABLES is compared by identity
JOINT_KEY, LIKELIHOOD_KEY = b"some", b"soft"  # prefixes of the keys of joint tables, without and with likelihoods
MOST_FLAGGED_VARIABLES = 2**9  # up to here, a key is a flag for each variable


class Trees:
    """Answers to queries about the variables of potentials, by index."""

    def __init__(self, potentials: Potentials, structures: TreeStructures | None = None) -> None:
        self.potentials = potentials
        self.structures = TreeStructures() if structures is None else structures
        self._trees: OrderedDict[bytes, Tree] = OrderedDict()
        self._cells = 0  # total cells of all trees
        self._seen: set[bytes] = set()
        self._lock = Lock()

    def log_total(self, codes: Integers, weights: Array) -> float:
        """log P(evidence), for a Markov network log Z."""
        return self._tree(codes, weights, None).log_total(codes, weights)

    def marginals(self, codes: Integers, weights: Array, out: Array) -> float:
        """log P(evidence); out = P(variable | evidence) of each variable."""
        return self._tree(codes, weights, ALL_VARIABLES).marginals(codes, weights, out)

    def joint(self, codes: Integers, weights: Array, variables: Sequence[int]) -> tuple[Array, float]:
        """P(variables | evidence), an axis for each; and a logarithm that is -inf if the evidence is impossible."""
        free = [v for v in variables if codes[v] < 0]
        if len(free) == 1 and self._cells_of_any <= SMALL_TREE:
            own, places = np.empty(int(self.potentials.places[-1])), self.potentials.places
            found = self.marginals(codes, weights, own)
            table = own[places[free[0]] : places[free[0] + 1]]
        elif free:
            table, found = self._tree(codes, weights, np.array(free)).joint(codes, weights)
        else:
            table, found = np.ones(()), self.log_total(codes, weights)
        if len(free) == len(variables):
            return table, found
        whole = np.zeros([int(self.potentials.card[v]) for v in variables])
        whole[tuple(slice(None) if codes[v] < 0 else int(codes[v]) for v in variables)] = table
        return whole, found

    def best(self, codes: Integers, weights: Array, variables: Sequence[int] | None) -> tuple[Integers, float]:
        """The most probable joint state of some variables (None: of all), and the log of its joint probability."""
        n = len(codes)
        maximised = np.zeros(n, dtype=np.bool_)
        maximised[list(range(n)) if variables is None else list(variables)] = True
        observed = codes >= 0
        wanted = maximised | observed | self._weighed(weights)
        key = b"best" + _key(observed, maximised, wanted)
        tree = self._cached(key, lambda: Plan.of(self.query(observed, wanted, NO_VARIABLES, maximised)))
        return tree.best(codes, weights)

    def expect(self, codes: Integers, weight: float, counts: Array) -> float:
        """counts += the expected family counts of a row, times its weight; its log-probability."""
        return self._tree(codes, NO_LIKELIHOODS, ALL_VARIABLES).expect(codes, weight, counts)

    def for_all(self, findings: Findings) -> Tree:
        """The tree with all variables, for this evidence."""
        return self._tree(findings.codes, findings.weights, ALL_VARIABLES)

    # Trees

    def _tree(self, codes: Integers, weights: Array, targets: Integers | None) -> Tree:
        """The tree for the joint table of targets, for all marginals (ALL_VARIABLES), or for P(evidence) (None)."""
        any_do = targets is None or targets is ALL_VARIABLES
        if any_do and self._cells_of_any <= SMALL_TREE:
            return self._whole_tree
        observed = codes >= 0
        pattern = observed.tobytes()
        if any_do and self._general_tree_serves(pattern):
            return self._whole_tree
        if targets is ALL_VARIABLES:
            if not observed.any():
                return self._cached(b"all ", lambda: self._plan)
            return self._cached(
                b"all " + pattern, lambda: Plan.of(self.query(observed, self._everything, NO_VARIABLES))
            )
        together = NO_VARIABLES if targets is None else targets
        weighed = self._weighed(weights) if len(weights) else None
        key = (
            JOINT_KEY + _key(observed, together)
            if weighed is None
            else LIKELIHOOD_KEY + _key(observed, weighed, together)
        )

        def planned() -> Plan:
            wanted = observed.copy() if weighed is None else observed | weighed
            wanted[together] = True
            return Plan.of(self.query(observed, wanted, together))

        return self._cached(key, planned)

    def _general_tree_serves(self, pattern: bytes) -> bool:
        """Whether the tree for any evidence is good enough for this pattern."""
        if self._cells_of_any > MIDDLE_TREE or pattern in self._seen:
            return False
        if len(self._seen) == REMEMBERED_PATTERNS:
            self._seen.clear()
        self._seen.add(pattern)
        return True

    @cached_property
    def _everything(self) -> Flags:
        return np.ones(len(self.potentials.card), dtype=np.bool_)

    @cached_property
    def _plan(self) -> Plan:
        """The plan of a tree for any evidence."""
        return self.structures.plan(lambda: Plan.of(self.query(~self._everything, self._everything, NO_VARIABLES)))

    @cached_property
    def _cells_of_any(self) -> float:
        """The cells of a tree for any evidence; infinite if it clearly has more than MIDDLE_TREE."""
        card = self.potentials.card
        at_least = card[card > 1].sum()  # the cliques have at least as many cells as all variables have states
        return np.inf if at_least > MIDDLE_TREE else self._plan.cells

    @cached_property
    def _whole_tree(self) -> Tree:
        return Tree(self.structures.found(b"any ", lambda: TreeStructure.of(self._plan)), self.potentials)

    def query(self, observed: Flags, wanted: Flags, together: Integers, maximised: Flags | None = None) -> TreeQuery:
        """The relevant part of a query: without barren nodes, whose tables sum to 1, and without factors not connected
        to it."""
        held = self.potentials
        chosen = self._needed(observed, np.flatnonzero(wanted), together)
        if len(chosen) == len(held.children):
            return TreeQuery(held, held, None, None, observed, maximised, together)
        part, numbers = held.part(chosen, together)
        asked = None if maximised is None else maximised[numbers]
        places = np.searchsorted(numbers, together)
        return TreeQuery(held, part, chosen, numbers, observed[numbers], asked, places)

    def _needed(self, observed: Flags, wanted: Integers, together: Integers) -> Integers:
        """The factors that are relevant to a query."""
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

    def _cached(self, key: bytes, planned: Callable[[], Plan]) -> Tree:
        """The tree for a query: from the cache, as new values in a cached structure, or newly compiled."""
        with self._lock:
            if key in self._trees:
                self._trees.move_to_end(key)  # the least recently used tree is dropped first
                return self._trees[key]
        kept = setting(TREES_MEMORY, 8 * CACHED_CELLS) / 8
        structure = self.structures.found(self._structure_key(key), lambda: self._compiled(planned().improved(), kept))
        self._make_room(structure.cells, kept)
        tree = Tree(structure, self.potentials)
        if tree.cells <= kept:
            with self._lock:
                self._cells += tree.cells if key not in self._trees else 0
                self._trees[key] = tree
        return tree

    def _compiled(self, plan: Plan, kept: float) -> TreeStructure:
        self._make_room(plan.cells, kept)
        check_size(plan.cells)
        return TreeStructure.of(plan)

    def _make_room(self, cells: float, kept: float) -> None:
        """Drop the least recently used trees until there is room for this many cells."""
        with self._lock:
            while self._trees and (cells + self._cells > kept or len(self._trees) >= CACHED_TREES):
                _, gone = self._trees.popitem(last=False)
                self._cells -= gone.cells

    def _structure_key(self, key: bytes) -> bytes:
        """The cache key of a structure: the factors that a joint query needs depend on where zeros are, too."""
        return key + self.potentials.with_zeros.tobytes() if key.startswith((JOINT_KEY, LIKELIHOOD_KEY)) else key


def _key(*about: Flags | Integers) -> bytes:
    """Sets of variables, followed by a list of variables, as one key: flags for few variables, else the sets
    themselves."""
    if len(about[0]) <= MOST_FLAGGED_VARIABLES:
        return b"".join([each.tobytes() for each in about])
    lists = [np.flatnonzero(each) if each.dtype == np.bool_ else each for each in about]
    return b"".join([np.array([*map(len, lists)]).tobytes(), *(each.tobytes() for each in lists)])
