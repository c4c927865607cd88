"""Variable elimination in NumPy: it answers the first queries of a process before kernels could be loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log, prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from credo._kernels.jit import Price
from credo.networks.inference.potentials import Numbered
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.inference.trees import Trees

MOST_FACTORS = 1000  # factors that a query may need
LARGEST_LAST_TABLE = 2**9  # cells of the joint table of the last variables, which are summed out together
CELLS_PER_STEP = 2**12  # cells that NumPy processes in the time of one Python step
MOST_ELIMINATION_CELLS = 2**22  # cells, and steps, of one query
KERNELS = Path(__file__).parents[2] / "_kernels" / "networks"
# the cost of all kernels of a query, in steps of plain Python; one step of NumPy takes as long as 180 of these
PRICE, NUMPY_STEP = Price(KERNELS, "propagation.propagate-", compiling=40e6, fetching=1.5e6), 180.0
LOG_UNDERFLOW = log(1e-280)  # products with a smaller logarithm may underflow


def is_loaded() -> bool:
    """Whether kernels are loaded already."""
    return "numba" in sys.modules


def suits_rows(rows: int, variables: int) -> bool:
    """Whether elimination answers this many rows before kernels could be loaded, or compiled."""
    return not is_loaded() and not PRICE.pays(rows * variables * NUMPY_STEP)


class ScopedTable(NamedTuple):
    """A table over some variables: a factor or a message."""

    scope: list[int]
    table: Array
    least: float  # lower bound of the logarithms of positive values


@dataclass
class Clique:
    """An eliminated variable with its neighbours, and the product of all factors that contained it."""

    variable: int  # -1: all remaining variables together
    scope: list[int]  # the neighbours, then the variable
    table: Array
    message: Array  # over the neighbours: the sum or the maximum of the table
    above: int = -1  # the first clique in which a neighbour is eliminated


class Elimination:
    """The same interface as Trees, to which it delegates once kernels are loaded or a query is large."""

    def __init__(self, potentials: Numbered, trees: Callable[[], Trees]) -> None:
        self.potentials, self._compiled = potentials, trees

    def log_total(self, codes: Integers, weights: Array) -> float:
        """log P(evidence), for a Markov network log Z; -inf if the evidence is impossible."""
        run = self._started_run(codes, weights, self._observed(codes, weights))
        found = None if run is None else run.summed([])
        return self._trees.log_total(codes, weights) if run is None or found is None else found

    def marginals(self, codes: Integers, weights: Array, out: Array) -> float:
        """log P(evidence); out = P(variable | evidence) of each variable, in the order of the states."""
        run = self._started_run(codes, weights, range(len(codes)))
        found = None if run is None else run.summed([])
        if run is None or found is None:
            return self._trees.marginals(codes, weights, out)
        if found > -inf:
            run.believe(out)
        return found

    def joint(self, codes: Integers, weights: Array, variables: Sequence[int]) -> tuple[Array, float]:
        """P(variables | evidence), an axis for each; and log P(evidence)."""
        free = [v for v in variables if codes[v] < 0]
        run = self._started_run(codes, weights, [*self._observed(codes, weights), *free], free)
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
        run = self._started_run(codes, weights, [*self._observed(codes, weights), *free], free)
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

    def _observed(self, codes: Integers, weights: Array) -> list[int]:
        """The observed variables."""
        known = codes >= 0
        if len(weights):
            known |= np.logical_or.reduceat(weights != 1.0, self.potentials.places[:-1])
        found: list[int] = np.flatnonzero(known).tolist()
        return found

    def _started_run(
        self, codes: Integers, weights: Array, wanted: Collection[int], last: Sequence[int] = ()
    ) -> EliminationRun | None:
        """The relevant factors, before anything is summed out; None if kernels are faster."""
        if is_loaded() or len(wanted) > MOST_FACTORS:
            return None
        factors = self._needed(wanted)
        if factors is None:
            return None
        run = EliminationRun(self.potentials, codes, weights, factors)
        work = run.work({*last})
        steps = work / CELLS_PER_STEP * NUMPY_STEP
        if work > MOST_ELIMINATION_CELLS or PRICE.pays(steps):
            return None
        PRICE.spend(steps)
        return run

    def _needed(self, wanted: Collection[int]) -> dict[int, list[int]] | None:
        """The tables of the wanted variables and their ancestors, and factors that aren't tables, each with its scope;
        None if there are too many."""
        held = self.potentials
        if len(wanted) == len(held.card) and len(held.children) <= MOST_FACTORS:
            return dict(enumerate(held.scopes))
        found = {f: held.scope(f) for f in held.unowned[: MOST_FACTORS + 1].tolist()}
        waiting = [f for f in held.owned[[*wanted]].tolist() if f >= 0]
        while waiting and len(found) <= MOST_FACTORS:
            f = waiting.pop()
            if f not in found:
                found[f] = held.scope(f)
                waiting += [g for g in held.owned[found[f]].tolist() if g >= 0 and g not in found]
        return dict(sorted(found.items())) if len(found) <= MOST_FACTORS else None


class EliminationRun:
    """Factors reduced by the evidence, from which variables are eliminated one by one."""

    def __init__(self, held: Numbered, codes: Integers, weights: Array, factors: Mapping[int, list[int]]) -> None:
        """factors: each with its scope."""
        self._held, self._codes = held, codes
        self._log, self._weights = held.log_scale, weights
        self._factors: list[ScopedTable] = []
        known = {v: int(codes[v]) for v in np.flatnonzero(codes >= 0).tolist()}
        for f, scope in factors.items():
            table = held.table(f)
            if not known.keys().isdisjoint(scope):
                table = table[tuple(known.get(v, slice(None)) for v in scope)]
                scope = [v for v in scope if v not in known]
            self._enter(scope, table, held.log_least[f])
        loose = {*np.flatnonzero(held.loose).tolist()}
        there = loose | {v for scope in factors.values() for v in scope} if len(weights) else loose
        for v in sorted(there):
            own = weights[held.places[v] : held.places[v + 1]] if len(weights) else np.ones(int(held.card[v]))
            if v in known:
                self._enter([], own[known[v]])
            elif (own != 1.0).any() or held.loose[v]:
                self._enter([v], own)
        self.cliques: list[Clique] = []

    def _enter(self, scope: list[int], table: Array, least: float | None = None) -> None:
        if scope:
            self._factors.append(ScopedTable(scope, table, _log_least(table) if least is None else least))
        else:
            self._log += log(table) if table > 0 else -inf

    @cached_property
    def _near(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for scope, _, _ in self._factors:
            for v in scope:
                found.setdefault(v, set()).update(scope)
        return found

    def work(self, last: set[int]) -> int:
        """The cost in cells and steps. Sets self.order, greedily with the smallest message first and the `last`
        variables last; without these, self.rest are variables with a small joint table, which are summed out together
        at the end."""
        near, card = {v: own - {v} for v, own in self._near.items()}, self._held.lengths
        sizes = {v: prod(card[u] for u in own) for v, own in near.items()}  # sizes of messages
        self.order, self.rest, cells = list[int](), list[int](), 0
        together = prod(card[v] for v in sizes)
        while sizes:
            if together <= LARGEST_LAST_TABLE and not last:
                self.rest = [*sizes]
                return int(cells + together + CELLS_PER_STEP)
            v = min(sizes, key=(lambda v: (v in last, sizes[v])) if last else sizes.__getitem__)
            self.order.append(v)
            cells, together = cells + card[v] * sizes.pop(v) + CELLS_PER_STEP, together // card[v]
            if cells > MOST_ELIMINATION_CELLS:
                break
            own = near.pop(v)
            for u in own:
                near[u] |= own
                near[u] -= {u, v}
                sizes[u] = prod(card[w] for w in near[u])
        return int(cells)

    def summed(self, last: Sequence[int], maximised: bool = False) -> float | None:
        """The log of the sum, or of the maximum over the last variables after the others were summed out; None if it
        underflows. Without maximising, the last variables remain."""
        place = {v: i for i, v in enumerate(self.order)} | dict.fromkeys(self.rest, len(self.order))
        final = {*last}
        stop = len(place) - len(self.rest)  # then the rest together
        stop = stop if maximised else stop - len(final & place.keys())
        buckets: list[list[ScopedTable]] = [[] for _ in range(stop + 1)]

        def put(part: ScopedTable) -> int:
            at = min(min(map(place.__getitem__, part.scope)), stop)
            buckets[at].append(part)
            return at if at < stop or self.rest else -1

        for part in self._factors:
            put(part)
        for i in range(stop):
            v, parts = self.order[i], buckets[i]
            near = sorted({u for part in parts for u in part.scope} - {v}, key=place.__getitem__)
            if (least := _log_lower_bound(parts)) is None:
                return None
            table = self._multiplied(parts, [*near, v])
            message = table.max(-1) if v in final else _sum_over_last(table)
            top = float(message.max())
            if not top > 0.0:
                return -inf
            self._log += log(top)
            clique = Clique(v, [*near, v], table, message)
            self.cliques.append(clique)
            if near:
                clique.above = put(ScopedTable(near, message / top, least - log(top)))
        self._left: list[ScopedTable] = buckets[stop]
        if _log_lower_bound(self._left) is None:
            return None
        return self._log_sum(last) if not self.rest else self._whole_of_rest()

    def _whole_of_rest(self) -> float:
        table, self._left = self.product(self.rest), []
        total = table.sum()
        self.cliques.append(Clique(-1, self.rest, table, total))
        return self._log + log(total) if total > 0.0 else -inf

    def _log_sum(self, last: Sequence[int]) -> float:
        if not self._left:
            return self._log
        total = float(self.product(last).sum())
        return self._log + log(total) if total > 0.0 else -inf

    def product(self, scope: Sequence[int]) -> Array:
        """The product of the remaining factors, over these variables."""
        return self._multiplied(self._left, [*scope])

    def _multiplied(self, parts: Sequence[ScopedTable], scope: list[int]) -> Array:
        if len(parts) == 1 and parts[0].scope == scope:
            return parts[0].table
        place, found = {v: i for i, v in enumerate(scope)}, np.ones([1] * len(scope))
        for own, table, _ in sorted(parts, key=lambda part: part.table.size):  # keeps intermediate products small
            found = np.multiply(found, _aligned(table, own, place), order="C")
        return found

    def believe(self, out: Array) -> None:
        """Write P(variable | evidence) to out, from the last eliminated variable to the first."""
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
                new = beliefs[clique.above].sum(others) if others else beliefs[clique.above]
                new = _aligned(new, kept, {u: k for k, u in enumerate(near)})
                change = np.divide(new, clique.message, out=np.zeros(clique.message.shape), where=clique.message > 0)
                beliefs[i] = table * change[..., None]
            else:
                beliefs[i] = table / clique.message
            axes = range(table.ndim) if clique.variable < 0 else [table.ndim - 1]
            for axis in axes:
                v, own = clique.scope[axis], _sum_to(beliefs[i], axis)
                out[held.places[v] : held.places[v + 1]] = own / own.sum()

    def decode(self, last: Sequence[int], chosen: Integers) -> None:
        """Write the best states of the last variables to chosen, from the last eliminated to the first."""
        final = {*last}
        for clique in reversed(self.cliques):
            if clique.variable in final:
                at = tuple(int(chosen[u]) for u in clique.scope[:-1])
                chosen[clique.variable] = int(clique.table[at].argmax())


def _aligned(table: Array, own: list[int], place: Mapping[int, int]) -> Array:
    """A table over some variables of a scope, broadcast to an axis for each variable of the scope."""
    at, shape = [place[v] for v in own], [1] * len(place)
    for k, length in zip(at, table.shape, strict=True):
        shape[k] = length
    order = sorted(range(len(at)), key=at.__getitem__)
    return table.transpose(order).reshape(shape)


def _sum_over_last(table: Array) -> Array:
    """The sum over the last axis. It is short, so a matrix product takes a third of the time of NumPy's sum."""
    return np.asarray((table.reshape(-1, table.shape[-1]) @ np.ones(table.shape[-1])).reshape(table.shape[:-1]))


def _sum_to(table: Array, axis: int) -> Array:
    """The sum over all axes but one."""
    if axis == table.ndim - 1:
        flat = table.reshape(-1, table.shape[-1])
        return np.asarray(np.ones(len(flat)) @ flat)
    return np.asarray(table.sum((*range(axis), *range(axis + 1, table.ndim))))


def _log_lower_bound(parts: Sequence[ScopedTable]) -> float | None:
    """A lower bound of the logarithms of the product's positive values; None if it may underflow."""
    if (bound := sum(part.least for part in parts)) > LOG_UNDERFLOW:
        return bound
    bound = sum(_log_least(part.table) for part in parts)
    return bound if bound > LOG_UNDERFLOW else None


def _log_least(table: Array) -> float:
    """The logarithm of the smallest positive value."""
    return log(table.min(initial=1.0, where=table > 0))
