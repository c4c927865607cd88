"""Junction trees: a structure, compiled once for a pattern of evidence, and the values of the factors in it.

Networks that differ in their tables alone share structures: new values cost no new triangulation or assembly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo._kernels.networks.assembly import Assembled, assemble
from credo._kernels.networks.junction import Cliques
from credo._kernels.networks.propagation import BELIEFS, FACTORS, SUMS, Junction, add_families, decode, propagate
from credo._kernels.networks.sampling import draw_from_tree
from credo._kernels.networks.shapes import (
    ENTRY,
    HOME,
    KEPT,
    MEMBERS,
    PARENT,
    SCALE,
    SCOPE,
    SEPARATOR,
    SUNK,
    TABLE,
    VALUES,
    CliqueFactors,
    Plain,
)
from credo._kernels.networks.triangulation import FILL, WEIGHT, Order
from credo.networks.inference import log_messages as logarithms
from credo.networks.inference.elimination_order import Graph, connected, triangulate
from credo.networks.inference.findings import NO_LIKELIHOODS, Findings
from credo.networks.inference.merging import LARGE_CLIQUE, merged
from credo.networks.inference.potentials import Numbered
from credo.networks.inference.sizes import KEPT_PRODUCT
from credo.networks.inference.workspace import Space
from credo.numerics.arrays import Flags, Integers
from credo.numerics.exact import Array

ONE_TRY_CELLS, TWO_TRIES_CELLS, TRIES = 2**12, 2**17, 8  # cells for which one or two triangulations are enough; else 8
ONE_TRY_PER_VARIABLE, TWO_TRIES_PER_VARIABLE = 16, 128  # the same in cells per variable
SMALL_PRODUCT = 2**15  # cells: the product of constant factors is always kept if it is smaller
FREQUENT_QUERIES = 3  # and larger ones from the third query on
HOPELESS_CELLS = 2.0**45  # cells for which no other order would help


@dataclass(frozen=True, eq=False)
class TreeQuery:
    """The query that a tree is compiled for: the relevant factors, the observed variables, and the wanted joint
    table."""

    whole: Numbered  # all factors of the network
    potentials: Numbered  # the relevant factors
    chosen: Integers | None  # their indices; None: all factors are relevant
    numbers: Integers | None  # indices of their variables in the network; None: all variables
    observed: Flags
    maximised: Flags | None  # maximised variables; the others are summed out first
    together: Integers  # variables of the wanted joint table

    def with_values(self, whole: Numbered) -> TreeQuery:
        """The same query to a network that differs in its factors' values alone."""
        if whole is self.whole:
            return self
        if self.chosen is None:
            return replace(self, whole=whole, potentials=whole)
        own = replace(
            self.potentials,
            factors=self.potentials.factors._replace(
                values=whole.factors.values, least=whole.factors.least[self.chosen]
            ),
            with_zeros=whole.with_zeros[self.chosen],
            log_scale=whole.log_scale,
        )
        return replace(self, whole=whole, potentials=own)

    @cached_property
    def stage(self) -> Integers:
        """The elimination stage of each variable: -1 never (observed), 0 first, 1 last."""
        last = np.zeros(len(self.observed), dtype=np.int64)
        if self.maximised is not None:
            last[self.maximised] = 1
        last[self.together] = 1
        last[self.observed] = -1
        return last

    def own(self, codes: Integers, weights: Array) -> tuple[Integers, Array]:
        """The evidence on the relevant variables."""
        if self.numbers is None:
            return codes, weights
        return codes[self.numbers], weights[self._states] if len(weights) else weights

    @cached_property
    def _states(self) -> Integers:
        """The places of the relevant variables' states among all states."""
        assert self.numbers is not None
        card, at = self.potentials.card, self.potentials.places
        return np.arange(at[-1]) + np.repeat(self.whole.places[self.numbers] - at[:-1], card)


@dataclass(frozen=True, eq=False)
class Plan:
    """The best elimination order found, and the total size of its clique tables."""

    query: TreeQuery
    graph: Graph
    found: Order

    @property
    def cells(self) -> float:
        return self.found.cells

    @classmethod
    def of(cls, query: TreeQuery) -> Plan:
        """The plan by min-fill; if tables are large, by min-weight if that is better."""
        held, stage = query.potentials, query.stage
        graph = connected(held.heads, held.axes, held.log_card, stage, query.together)
        best = triangulate(graph, held.log_card, FILL)
        if best.new and best.cells > max(ONE_TRY_CELLS, ONE_TRY_PER_VARIABLE * len(stage)):
            best = min(best, triangulate(graph, held.log_card, WEIGHT), key=lambda found: found.cells)
        return cls(query, graph, best)

    def improved(self) -> Plan:
        """For large tables, the best of several runs of both rules with random tie-breaking."""
        best, log_card = self.found, self.query.potentials.log_card
        if best.new and max(TWO_TRIES_CELLS, TWO_TRIES_PER_VARIABLE * len(log_card)) < best.cells < HOPELESS_CELLS:
            random = np.random.default_rng(0)
            for i in range(TRIES):
                chance = random.integers(2**62, size=len(log_card))
                found = triangulate(self.graph, log_card, (FILL, WEIGHT)[i % 2], chance)
                best = min(best, found, key=lambda found: found.cells)
        return Plan(self.query, self.graph, best)


@dataclass(frozen=True, eq=False)
class TreeStructure:
    """A compiled tree without values: cliques, separators, and the clique of each factor."""

    query: TreeQuery
    assembled: Assembled

    @classmethod
    def of(cls, plan: Plan) -> TreeStructure:
        made = cls(plan.query, _assembled(plan.query, plan.found))
        if plan.cells < LARGE_CLIQUE or (plan.query.potentials.children >= 0).any():  # EM needs each table separately
            return made
        sizes = np.diff(made.assembled.cliques[:, TABLE])
        fewer = merged(plan.query.potentials, made.assembled.constant.tolist(), made.homes, sizes)
        if fewer is None:
            return made
        query = replace(plan.query, potentials=fewer)
        return cls(query, _assembled(query, plan.found))

    @property
    def cells(self) -> int:
        """The number of cells in all clique tables."""
        return int(self.assembled.cliques[-1, TABLE])

    @property
    def homes(self) -> Integers:
        """The clique that each factor is multiplied into; -1 for constants. (factors,)"""
        return np.asarray(self.assembled.walks[len(self.assembled.cliques) - 1 :, HOME])

    @cached_property
    def families(self) -> CliqueFactors:
        """The factors of each clique, and the stride of each clique member in the factor's table."""
        homes, cliques = self.homes, self.assembled.cliques
        order = np.argsort(homes, kind="stable")
        order = order[homes[order] >= 0]
        sizes = np.diff(cliques[:, MEMBERS])[homes[order]]
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        of_clique = np.searchsorted(homes[order], np.arange(len(cliques))).astype(np.int64)
        steps, held = np.zeros(int(starts[-1]), dtype=np.int64), self.query.potentials
        for i, f in enumerate(order.tolist()):
            first = cliques[homes[f], MEMBERS]
            members = self.assembled.members[first : first + sizes[i]].tolist()
            axes = held.axes[held.heads[f, SCOPE] : held.heads[f + 1, SCOPE]].tolist()
            for v, step in axes:
                steps[starts[i] + members.index(v)] = step
        return CliqueFactors(of_clique, held.heads[order, VALUES], starts, steps)


def _assembled(query: TreeQuery, found: Order) -> Assembled:
    held = query.potentials
    return assemble(held.heads, held.axes, held.card, held.places, query.stage, found)


class Tree:
    """A structure with values: tables of cliques, and messages between them."""

    def __init__(self, structure: TreeStructure, whole: Numbered | None = None) -> None:
        made = structure.assembled
        self.query = structure.query if whole is None else structure.query.with_values(whole)
        self.potentials = held = self.query.potentials
        self.structure = structure
        self.cliques, self.members, count = made.cliques, made.members, len(made.cliques) - 1
        self.cells = int(made.cliques[count, TABLE])
        self._space = Space(int(made.cliques[count, SEPARATOR]) + max(made.widest, held.most_states), count)
        self._constant, self._touched, self.homes = made.constant, made.touched, structure.homes
        self.factors, self.variables = np.concatenate([made.constant, made.touched]), made.variables
        values = held.heads, held.axes, held.factors.values, held.factors.least
        self._index = made.variables, made.cliques, made.walks, made.paths, *values
        begun = np.zeros((count + 1, 3))
        begun[:, SUNK] = 1.0
        self._bare: Plain = (*self._index, self.factors, NO_LIKELIHOODS, begun)
        self._asked = 0

    @cached_property
    def junction(self) -> Junction:
        """The tree with the product of the factors that evidence doesn't change, if it is small enough to keep."""
        if self.cells > KEPT_PRODUCT:
            return Junction(*self._bare)
        begun, (tables, scales) = self._bare[-1].copy(), self._space.take()
        unknown = np.full(len(self.potentials.card), -1)
        constant = *self._index, self._constant, NO_LIKELIHOODS, self._bare[-1]
        begun[-1, SCALE] = propagate(FACTORS, unknown, NO_LIKELIHOODS, constant, tables, scales, NO_LIKELIHOODS)
        begun[:-1] = scales
        base = tables[: self.cells].copy()
        self._space.give_back((tables, scales))
        return Junction(*self._index, self._touched, base, begun)

    def log_total(self, codes: Integers, weights: Array) -> float:
        """log P(evidence), for a Markov network log Z; -inf if the evidence is impossible."""
        space = self._space.take()
        found = self._propagate(SUMS, codes, weights, space)
        self._space.give_back(space)
        return self.potentials.log_scale + found

    def marginals(self, codes: Integers, weights: Array, out: Array) -> float:
        """log P(evidence); out = P(variable | evidence) of each variable, in the order of the states."""
        space = self._space.take()
        found = self._propagate(BELIEFS, codes, weights, space, out)
        self._space.give_back(space)
        return self.potentials.log_scale + found

    def expect(self, codes: Integers, weight: float, counts: Array) -> float:
        """counts += weight · P(node, parents | codes) of each family, in the layout of the factors' values. Returns the
        log-probability of the codes; if it is -inf, nothing is added."""
        space, own = self._space.take(), self.query.own(codes, NO_LIKELIHOODS)[0]
        out = np.empty(int(self.potentials.places[-1]))
        found = propagate(BELIEFS, own, NO_LIKELIHOODS, self._prepared, *space, out)
        if np.isnan(found):
            found = logarithms.calibrate(own, self, space[0])
        if found > -np.inf:
            add_families(own, weight, self._prepared, space[0], counts)
        self._space.give_back(space)
        return self.potentials.log_scale + found

    def joint(self, codes: Integers, weights: Array) -> tuple[Array, float]:
        """P(variables | evidence) of the variables that the tree was compiled for, an axis for each; and log
        P(evidence)."""
        space, (at, shape, axes) = self._space.take(), self._asked_for
        found = self._propagate(SUMS, codes, weights, space)
        joint = space[0][at : self.cells].reshape(shape).transpose(axes).copy()
        self._space.give_back(space)
        total = joint.sum()
        return joint / total if total > 0 else joint, self.potentials.log_scale + found

    @cached_property
    def _asked_for(self) -> tuple[int, list[int], list[int]]:
        """The last clique, which contains the query: the start of its table, its shape, and its axes in the order of
        the query."""
        members = self.members[self.cliques[-2, MEMBERS] :].tolist()
        axes = [members.index(v) for v in self.query.together.tolist()]
        return int(self.cliques[-2, TABLE]), self.potentials.card[members].tolist(), axes

    def best(self, codes: Integers, weights: Array) -> tuple[Integers, float]:
        """The most probable joint state of the maximised variables, and the log of its joint probability."""
        chosen, space = codes.copy(), self._space.take()
        own, _ = self.query.own(chosen, NO_LIKELIHOODS)
        found = self._propagate(SUMS, codes, weights, space)
        if found > -np.inf:
            decode(self.cliques, self.members, self.potentials.card, space[0], own)
            if self.query.numbers is not None:
                chosen[self.query.numbers] = own
        self._space.give_back(space)
        return chosen, self.potentials.log_scale + found

    def draw(self, findings: Findings, seed: np.uint64, start: int, out: NDArray[Any]) -> None:
        """Sample joint states given the evidence into out. (variables, rows)"""
        space = self._space.take()
        self._propagate(SUMS, findings.codes, findings.weights, space)
        for v in np.flatnonzero(self.variables[:, ENTRY] < 0):
            out[v] = findings.codes[v]
        parent, starts, kept, tables_at = self.cliques[:, (PARENT, MEMBERS, KEPT, TABLE)].T.copy()
        cliques = Cliques(parent[:-1], starts, self.members, kept[:-1], tables_at)
        draw_from_tree(cliques, self.potentials.card, space[0], seed, start, out)
        self._space.give_back(space)

    def _propagate(
        self, end: int, codes: Integers, weights: Array, space: tuple[Array, Array], out: Array = NO_LIKELIHOODS
    ) -> float:
        """Propagate messages in floats, or in logarithms if floats underflow."""
        codes, weights = self.query.own(codes, weights)
        self._asked += 1
        plain = self._prepared if self._asked >= FREQUENT_QUERIES or self.cells <= SMALL_PRODUCT else self._bare
        found = propagate(end, codes, weights, plain, *space, out)
        return logarithms.propagate(end, codes, weights, self, space[0], out) if np.isnan(found) else found

    @cached_property
    def _prepared(self) -> Plain:
        return tuple(self.junction)
