"""EM for hybrid networks: rows with missing cells, and categories that are hidden in all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce as fold
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np

from credo import engines
from credo.core.em import Fitted, em, expected
from credo.core.evidence import Evidence, Part
from credo.core.learning import Weights
from credo.core.restarts import Restarts
from credo.core.statistics import Counts
from credo.data import Batch, Source
from credo.data.schema import Schema
from credo.errors import DataError, NetworkError, counted
from credo.networks.fitting import SAME_OPTIMUM, STEPS_FROM_EACH_START, FittingSettings
from credo.networks.hybrid.expectation import HybridEM
from credo.networks.hybrid.learning import HybridLearner, shapes_of
from credo.networks.hybrid.line_priors import ROUNDING_VARIANCE, HybridPriors, resolved
from credo.networks.hybrid.missing_information import missing_parts
from credo.networks.hybrid.number_node import NumberNode
from credo.networks.hybrid.rows import HybridRows, RowInference, kept_rows
from credo.networks.missing_information import hidden_rows
from credo.networks.nodes.simplex import random_rows
from credo.notices import tell
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork


@dataclass(frozen=True, eq=False)
class HybridFit:
    """The objective: log p(rows | nodes) + log p(nodes), starting from the observed cells."""

    bare: HybridNetwork  # arrows and prior
    begun: HybridEM
    rows: list[HybridRows]
    hidden: tuple[str, ...]

    @classmethod
    def of(cls, learner: HybridLearner, table: Source, weights: Weights, hidden: tuple[str, ...]) -> HybridFit:
        schema = _columns(learner, table, hidden)
        for column in (each for each in schema if each.levels is not None and not len(each.levels)):
            raise DataError(f"every cell of {column.name!r} is missing: leave it out")
        bare, numbers = learner.network, learner.numbers
        start, rows, pivot = _start(bare, schema, numbers, table, weights)
        priors: HybridPriors = bare.prior
        shapes = {name: start.tables[name].shape for name in start.tables}
        first = HybridEM(start, schema, priors.tables.in_log_odds(shapes), dict.fromkeys(numbers), pivot)
        found, _ = expected(first, lambda: rows)
        _, lines = first.shapes
        explicit = {name: resolved(priors.line(name), name, found[line.label]) for name, line in lines.items()}
        begun = HybridEM(start, schema, first.tables, explicit, pivot)
        return cls(bare, begun if hidden else begun.with_evidence(found), rows, hidden)

    @classmethod
    def of_more_rows(cls, learner: HybridLearner, table: Source, weights: Weights, absent: Sequence[str]) -> HybridFit:
        """Continue with more rows: earlier evidence is kept, and EM starts from its nodes. Absent variables aren't
        columns."""
        net, old = learner.network, learner.evidence
        assert old is not None
        known = old.knowing(Evidence(_columns(learner, table, absent)))
        grown = net.with_evidence(known, net.history)
        rows = kept_rows(RowInference(grown), table, weights)
        priors, (_, lines) = net.prior, shapes_of(net.parents, {*net.numbers})
        shapes = {name: own.shape for name, own in grown.tables.items()}
        explicit = {name: resolved(priors.line(name), name, known[line.label]) for name, line in lines.items()}
        pivot = np.array([float(known[lines[name].label].pooled().mean[0, -1]) for name in RowInference(grown).numbers])
        begun = HybridEM(grown, known.schema, priors.tables.in_log_odds(shapes), explicit, pivot, known)
        return cls(net, begun, rows, ())

    def solved(self, how: FittingSettings) -> HybridNetwork:
        """The network at the best optimum found."""
        from credo.networks.hybrid.network import HybridNetwork

        if how.method != "em":
            raise NetworkError(f'a network with numbers is fitted by method="em", not by {how.method!r}')
        best = self._best(how)
        if not best.converged:
            tell(f"EM ended after {counted(len(best.history) - 1, 'step')}, before it converged: increase steps=")
        evidence = self._with_missing_information(best)
        if self.begun.known is not None:
            evidence = Evidence.total([self.begun.known, evidence]).ordered()
        return HybridNetwork.of_evidence(self.bare.parents, self.bare.prior, evidence, history=best.history)

    def _with_missing_information(self, best: Fitted[HybridEM]) -> Evidence:
        """The evidence with its missing information, or with a mark for each hidden variable, which an effect must not
        adjust for."""
        rows = Counts(Exact.of(np.array([sum(float(part.weight.sum()) for part in self.rows)])))
        marks = {hidden_rows(name): Part((None,), rows) for name in self.hidden}
        parts = marks or missing_parts(best.model, self.rows)
        return Evidence(best.evidence.schema, {**best.evidence.parts, **parts})

    def _best(self, how: FittingSettings) -> Fitted[HybridEM]:
        if not self.hidden:
            return em(self.begun, lambda: self.rows, steps=how.steps, tolerance=how.tolerance)
        size = sum(part.rows for part in self.rows)
        restarts = Restarts(
            em,
            lambda: self.rows,
            size,
            how.steps,
            how.tolerance,
            (STEPS_FROM_EACH_START,),
            same=SAME_OPTIMUM,
            beside=False,
        )
        return restarts.best([*self._starts(how)])

    def _starts(self, how: FittingSettings) -> Iterator[HybridEM]:
        """Random starts for hidden variables and their children: identical states would stay identical."""
        for i in range(how.starts):
            random = np.random.default_rng([how.seed, i])
            yield self.begun.at(self._drawn(random))

    def _drawn(self, random: np.random.Generator) -> dict[str, Any]:
        net, found = self.begun.net, dict[str, Any]()
        for name, node in net.nodes.items():
            if {name, *net.parents[name]}.isdisjoint(self.hidden):
                found[name] = node
            elif name in net.tables:
                found[name] = random_rows(net.tables[name].shape, random)
            else:
                old = net.numbers[name]
                drawn = old.intercept + np.sqrt(old.variance) * random.standard_normal(old.intercept.shape)
                found[name] = NumberNode(name, old.categories, old.numbers, drawn, old.weights, old.variance)
        return found


def _columns(learner: HybridLearner, table: Source, hidden: Sequence[str]) -> Schema:
    """All variables as columns, with every value that a category has."""
    names = [name for name in learner.network.variables if name not in hidden]
    found = engines.reduce(ColumnsOf(learner), table.partitions(names), united)
    if found is None:
        raise DataError("the data is empty: there are no rows to learn from")
    return Schema(tuple(column if column.levels is None else column.ordered()[0] for column in found))


@dataclass(frozen=True, eq=False)
class ColumnsOf:
    """The job of one batch: its columns, with the values that a category has."""

    learner: HybridLearner

    def __call__(self, batch: Batch) -> Schema:
        return self.learner.read(batch)[2]


def united(parts: Sequence[Schema]) -> Schema:
    return fold(or_, parts)


def _start(
    bare: HybridNetwork, schema: Schema, numbers: set[str], table: Source, weights: Weights
) -> tuple[HybridNetwork, list[HybridRows], Array]:
    """EM's start, with each variable's marginal distribution in the known cells, independent of its parents; and the
    rows."""
    from credo.networks.hybrid.network import HybridNetwork

    states = {column.name: column.values for column in schema if column.levels is not None}
    sizes = {name: len(values) for name, values in states.items()}
    tables, lines = shapes_of(bare.parents, numbers)
    blank: dict[str, Any] = {}
    for name in bare.parents:
        if name in tables:
            blank[name] = np.full(tables[name].shape(sizes), 1.0 / sizes[name])
        else:
            shape = tuple(sizes[each] for each in lines[name].categories)
            own = (lines[name].categories, lines[name].numbers)
            slopes = np.zeros((*shape, len(lines[name].numbers)))
            blank[name] = NumberNode(name, *own, np.zeros(shape), slopes, np.ones(shape))
    reading = RowInference(HybridNetwork(bare.parents, blank, states))
    rows = kept_rows(reading, table, weights)
    if not rows:
        raise DataError("the data is empty: there are no rows to learn from")
    codes, cells = np.concatenate([r.codes for r in rows]), np.concatenate([r.numbers for r in rows])
    weight = np.concatenate([r.weight for r in rows])
    pivot = np.zeros(cells.shape[1])
    for j, name in enumerate(reading.numbers):
        known = ~np.isnan(cells[:, j])
        if not known.any():
            raise DataError(f"every cell of {name!r} is missing: leave it out")
        pivot[j] = np.average(cells[known, j], weights=weight[known])
        variance = float(np.average((cells[known, j] - pivot[j]) ** 2, weights=weight[known]))
        if not variance > ROUNDING_VARIANCE * 1e-6 * pivot[j] ** 2:
            raise DataError(f"column {name!r} is constant, {pivot[j]:.6g}: leave it out")
        old = blank[name]
        filled = np.full(old.intercept.shape, pivot[j]), old.weights, np.full(old.variance.shape, variance)
        blank[name] = NumberNode(name, old.categories, old.numbers, *filled)
    for i, name in enumerate(reading.categories):
        known = codes[:, i] >= 0
        share = np.bincount(codes[known, i], weight[known], sizes[name]) + 1.0
        blank[name] = np.broadcast_to(share / share.sum(), tables[name].shape(sizes)).copy()
    return HybridNetwork(bare.parents, blank, states), rows, pivot
