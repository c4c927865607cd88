"""Variable elimination in NumPy: it answers a process's first queries sooner than kernels could be loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log, prod
from typing import TYPE_CHECKING

import numpy as np

from credo.networks.inference.potentials import Integers, Numbered
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.inference.trees import Trees

MOST_FACTORS = 1000  # factors that a query may need
STEP = 2**12  # cells that NumPy goes through while Python takes one step
LARGEST = 2**22  # cells, and steps, that a query may take
PATIENCE = 2**26  # steps of all queries, after which kernels are loaded
LOG_UNDERFLOW = log(1e-280)  # of products that may underflow


def is_loaded() -> bool:
    """Whether kernels are loaded already."""
    return "numba" in sys.modules


@dataclass
class Clique:
    """An eliminated variable with its neighbours, and the product of all factors that had it."""

    variable: int
    scope: list[int]  # the neighbours, then the variable
    table: Array
    message: Array  # over the neighbours, scaled to a maximum of 1
    above: int = -1  # the first clique in which a neighbour is eliminated


class Elimination:
    """The same answers as those of Trees, to which it delegates once kernels are loaded, or a query is large."""

    _spent = 0  # steps of all queries so far

    def __init__(self, potentials: Numbered, trees: Callable[[], Trees]) -> None:
        self.potentials, self._compiled = potentials, trees

    def log_total(self, codes: Integers, weights: Array) -> float:
        """log P(evidence), for a Markov network log Z; -inf if the evidence is impossible."""
        run = self._begun(codes, weights, self._known(codes, weights))
        found = None if run is None else run.summed([])
        return self._trees.log_total(codes, weights) if run is None or found is None else found

    def marginals(self, codes: Integers, weights: Array, out: Array) -> float:
        """log P(evidence); out = P(variable | evidence) of each variable, in the order of the states."""
        run = self._begun(codes, weights, range(len(codes)))
        found = None if run is None else run.summed([])
        if run is None or found is None:
            return self._trees.marginals(codes, weights, out)
        if found > -inf:
            run.believe(out)
        return found

    def joint(self, codes: Integers, weights: Array, variables: Sequence[int]) -> tuple[Array, float]:
        """P(variables | evidence), an axis for each; and log P(evidence)."""
        free = [v for v in variables if codes[v] < 0]
        run = self._begun(codes, weights, [*self._known(codes, weights), *free], free)
        found = None if run is None else run.summed(free)
        if run is None or found is None:
            return self._trees.joint(codes, weights, variables)
        whole = np.zeros([int(self.potentials.card[v]) for v in variables])
        if found > -inf:
            table = run.product(free)
            at = tuple(slice(None) if codes[v] < 0 else int(codes[v]) for v in variables)
            whole[at] = table / table.sum()
        return whole, found

    def best(self, codes: Integers, weights: Array, variables: Sequence[int] | None) -> tuple[Integers, float]:
        """The most probable joint state of some variables (None: of all), and the log of its joint probability."""
        last = range(len(codes)) if variables is None else variables
        free = [v for v in last if codes[v] < 0]
        run = self._begun(codes, weights, [*self._known(codes, weights), *free], free)
        found = None if run is None else run.summed(free, maximised=True)
        if run is None or found is None:
            return self._trees.best(codes, weights, variables)
        chosen = codes.copy()
        if found > -inf:
            run.decode(free, chosen)
        return chosen, found

    @property
    def _trees(self) -> Trees:
        return self._compiled()

    def _known(self, codes: Integers, weights: Array) -> list[int]:
        """The variables with evidence."""
        known = codes >= 0
        if len(weights):
            known |= np.logical_or.reduceat(weights != 1.0, self.potentials.places[:-1])
        found: list[int] = np.flatnonzero(known).tolist()
        return found

    def _begun(self, codes: Integers, weights: Array, wanted: Collection[int], last: Sequence[int] = ()) -> Run | None:
        """The relevant factors, before anything is summed out; None: kernels do better."""
        if is_loaded() or Elimination._spent > PATIENCE or len(wanted) > MOST_FACTORS:
            return None
        factors = self._needed(wanted)
        if factors is None:
            return None
        run = Run(self.potentials, codes, weights, factors)
        work = run.work({*last})
        if work > LARGEST:
            return None
        Elimination._spent += work
        return run

    def _needed(self, wanted: Iterable[int]) -> list[int] | None:
        """The tables of the wanted variables and their ancestors, and factors that aren't tables; None: too many."""
        held = self.potentials
        found = dict.fromkeys(held.unowned[: MOST_FACTORS + 1].tolist())
        waiting = [f for v in wanted if (f := int(held.owned[v])) >= 0]
        while waiting and len(found) <= MOST_FACTORS:
            f = waiting.pop()
            if f not in found:
                found[f] = None
                waiting += [g for v in held.scope(f) if (g := int(held.owned[v])) >= 0 and g not in found]
        return sorted(found) if len(found) <= MOST_FACTORS else None


class Run:
    """Factors with the evidence, from which variables are eliminated one by one."""

    def __init__(self, held: Numbered, codes: Integers, weights: Array, factors: Sequence[int]) -> None:
        self._held, self._codes = held, codes
        self._log, self._weights = held.log_scale, weights
        self._factors: list[tuple[list[int], Array]] = []
        for f in factors:
            scope, table = held.scope(f), held.table(f)
            known = table[tuple(slice(None) if codes[v] < 0 else int(codes[v]) for v in scope)]
            self._enter([v for v in scope if codes[v] < 0], known)
        there = {v for f in factors for v in held.scope(f)} | {*np.flatnonzero(held.loose).tolist()}
        for v in sorted(there):
            own = weights[held.places[v] : held.places[v + 1]] if len(weights) else np.ones(int(held.card[v]))
            if codes[v] >= 0:
                self._enter([], own[codes[v]])
            elif (own != 1.0).any() or held.loose[v]:
                self._enter([v], own)
        self.cliques: list[Clique] = []

    def _enter(self, scope: list[int], table: Array) -> None:
        if scope:
            self._factors.append((scope, table))
        else:
            self._log += log(table) if table > 0 else -inf

    @cached_property
    def _near(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for scope, _ in self._factors:
            for v in scope:
                found.setdefault(v, set()).update(scope)
        return found

    def work(self, last: set[int]) -> int:
        """The cells and steps that it takes; self.order: greedily the smallest table first, the `last` variables
        last."""
        near, card = {v: own - {v} for v, own in self._near.items()}, self._held.card.tolist()
        sizes = {v: card[v] * prod(card[u] for u in own) for v, own in near.items()}
        self.order, cells = list[int](), 0
        while sizes:
            v = min(sizes, key=lambda v: (v in last, sizes[v]))
            self.order.append(v)
            cells += sizes.pop(v) + STEP
            if cells > LARGEST:
                break
            own = near.pop(v)
            for u in own:
                near[u] |= own
                near[u] -= {u, v}
                sizes[u] = card[u] * prod(card[w] for w in near[u])
        return int(cells)

    def summed(self, last: Sequence[int], maximised: bool = False) -> float | None:
        """The log of the sum, or of the maximum over the last variables after the others were summed out; None: it
        underflows. Without maximising, the last variables stay."""
        place = {v: i for i, v in enumerate(self.order)}
        final = {*last}
        buckets: list[list[tuple[list[int], Array]]] = [[] for _ in self.order]
        self._left: list[tuple[list[int], Array]] = []
        stop = len(self.order) if maximised else len(self.order) - len(final & place.keys())

        def put(scope: list[int], table: Array) -> int:
            at = min((place[v] for v in scope), default=stop)
            (buckets[at] if at < stop else self._left).append((scope, table))
            return at if at < stop else -1

        for scope, table in self._factors:
            put(scope, table)
        for i in range(stop):
            v, parts = self.order[i], buckets[i]
            near = sorted({u for scope, _ in parts for u in scope} - {v}, key=place.__getitem__)
            if not _is_safe(table for _, table in parts):
                return None
            table = self._multiplied(parts, [*near, v])
            message = table.max(-1) if v in final else table.sum(-1)
            top = float(message.max())
            if not top > 0.0:
                return -inf
            self._log += log(top)
            clique = Clique(v, [*near, v], table, message / top)
            self.cliques.append(clique)
            if near:
                clique.above = put(near, clique.message)
        return None if not _is_safe(table for _, table in self._left) else self._whole(last)

    def _whole(self, last: Sequence[int]) -> float:
        if not self._left:
            return self._log
        total = float(self.product(last).sum())
        return self._log + log(total) if total > 0.0 else -inf

    def product(self, scope: Sequence[int]) -> Array:
        """The remaining product, over these variables."""
        return self._multiplied(self._left, [*scope])

    def _multiplied(self, parts: Sequence[tuple[list[int], Array]], scope: list[int]) -> Array:
        found = np.ones([int(self._held.card[v]) for v in scope])
        for own, table in parts:
            found *= _aligned(table, own, scope)
        return found

    def believe(self, out: Array) -> None:
        """out = P(variable | evidence), from the last eliminated variable to the first."""
        held, beliefs = self._held, dict[int, Array]()
        out[:] = 0.0
        for v in np.flatnonzero(self._codes >= 0).tolist():
            out[held.places[v] + self._codes[v]] = 1.0
        for i in range(len(self.cliques) - 1, -1, -1):
            clique, table = self.cliques[i], self.cliques[i].table
            if clique.above >= 0:
                above, near = self.cliques[clique.above], clique.scope[:-1]
                others = tuple(k for k, u in enumerate(above.scope) if u not in near)
                kept = [u for u in above.scope if u in near]
                new = _aligned(beliefs[clique.above].sum(others), kept, near)
                change = np.divide(new, clique.message, out=np.zeros(clique.message.shape), where=clique.message > 0)
                table = table * change[..., None]
            beliefs[i] = table / table.sum()
            own = beliefs[i].sum(tuple(range(table.ndim - 1)))
            out[held.places[clique.variable] : held.places[clique.variable + 1]] = own / own.sum()

    def decode(self, last: Sequence[int], chosen: Integers) -> None:
        """chosen: the best states of the last variables, from the last eliminated to the first."""
        final = {*last}
        for clique in reversed(self.cliques):
            if clique.variable in final:
                at = tuple(int(chosen[u]) for u in clique.scope[:-1])
                chosen[clique.variable] = int(clique.table[at].argmax())


def _aligned(table: Array, own: list[int], scope: list[int]) -> Array:
    """A table over some variables of a scope, with an axis for each variable of the scope."""
    order = sorted(range(len(own)), key=lambda i: scope.index(own[i]))
    lengths = dict(zip(own, table.shape, strict=True))
    return table.transpose(order).reshape([lengths.get(v, 1) for v in scope])


def _is_safe(tables: Iterable[Array]) -> bool:
    """Whether no product of these numbers underflows."""
    return sum(log(table.min(initial=1.0, where=table > 0)) for table in tables) > LOG_UNDERFLOW
