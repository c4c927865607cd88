"""Learning a hybrid network's nodes: counts for tables, and sums of squares and products for Gaussian nodes. Both
add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.learning import Weight
from credo.core.membership import Codes, Hard
from credo.core.moments import CrossMoments
from credo.core.statistics import Counts
from credo.core.validation import Validation
from credo.data import Batch
from credo.data.schema import Column, Schema
from credo.errors import DataError, EvidenceError, NetworkError
from credo.families.linear_gaussian import Line
from credo.networks.graph import Parents
from credo.networks.hybrid.line_priors import HybridPriors, observed_sums, predictive_line
from credo.networks.hybrid.number_node import LogisticNode, NumberNode
from credo.networks.hybrid.specification import Declared, Node, split_parents
from credo.networks.inference.state_index import StateIndex
from credo.networks.learner import NetworkLearner
from credo.networks.learning import inferred, state_codes
from credo.networks.missing_information import hidden_rows, hidden_variables, missing_of
from credo.networks.nodes.table import ConditionalTable
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.tables import States


@dataclass(frozen=True, eq=False)
class NodeShape:
    """The statistics of a Gaussian node: its category parents, and the columns of its sums."""

    name: str
    categories: tuple[str, ...]
    numbers: tuple[str, ...]

    @property
    def label(self) -> Label:
        return Label("column", self.name)

    @property
    def axes(self) -> tuple[str | None, ...]:
        return self.categories or (None,)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.numbers, self.name)

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(sizes[name] for name in self.categories) or (1,)

    def configuration(self, codes: Mapping[str, Codes], sizes: Mapping[str, int], rows: int) -> Codes:
        """The index of each row's configuration of category parents."""
        found = np.zeros(rows, dtype=np.int32)
        for name in self.categories:
            found *= sizes[name]
            found += codes[name].astype(np.int32)
        return found

    def summarise(
        self, codes: Mapping[str, Codes], numbers: Mapping[str, Array], sizes: Mapping[str, int], weight: Array
    ) -> CrossMoments:
        shape = self.shape(sizes)
        member = Hard.of(self.configuration(codes, sizes, len(weight)), prod(shape), weight)
        rows = np.column_stack([numbers[name] for name in self.columns])
        return self.shaped(CrossMoments.of(rows, member), sizes)

    def shaped(self, statistics: CrossMoments, sizes: Mapping[str, int]) -> CrossMoments:
        """An array with the axis of configurations split into one axis per category parent."""
        shape = self.shape(sizes)
        return statistics._map(lambda x: x.reshape((*shape, *x.shape[1:])))

    def node(self, line: Line, sizes: Mapping[str, int]) -> NumberNode:
        shape = tuple(sizes[name] for name in self.categories)
        weights, variance = np.asarray(line.weights), np.asarray(line.variance)
        slopes = weights[:, 1:].reshape((*shape, len(self.numbers)))
        return NumberNode(
            self.name, self.categories, self.numbers, weights[:, 0].reshape(shape), slopes, variance.reshape(shape)
        )


def shapes_of(parents: Parents, numbers: set[str]) -> tuple[dict[str, ConditionalTable], dict[str, NodeShape]]:
    """The shapes of the statistics of tables and Gaussian nodes. For a category with number parents, its states are
    counted."""
    tables, lines = dict[str, ConditionalTable](), dict[str, NodeShape]()
    for name, above in parents.items():
        of_categories, of_numbers = split_parents(above, numbers)
        if name in numbers:
            lines[name] = NodeShape(name, of_categories, of_numbers)
        else:
            tables[name] = ConditionalTable(name, () if of_numbers else of_categories)
    return tables, lines


def logistic_shapes(parents: Parents, numbers: set[str]) -> dict[str, NodeShape]:
    """The categories with numbers among their parents."""
    found = {name: NodeShape(name, *split_parents(above, numbers)) for name, above in parents.items()}
    return {name: shape for name, shape in found.items() if shape.numbers and name not in numbers}


def derived(
    parents: Parents, prior: object, evidence: Evidence, logistic: Mapping[str, LogisticNode]
) -> tuple[HybridPriors, Declared]:
    """The prior, and the states and nodes derived from it and the evidence, except logistic nodes."""
    if {column.name for column in evidence.schema} != {*parents}:
        raise EvidenceError("the evidence isn't this network's: its columns aren't the variables")
    numbers = {column.name for column in evidence.schema if column.kind == "number"}
    for name in logistic_shapes(parents, numbers).keys() ^ logistic.keys():
        raise NetworkError(
            f"{name!r} needs a logistic node if it is a category with numbers among its parents, else none"
        )
    tables, lines = shapes_of(parents, numbers)
    states = {name: evidence.schema[name].values for name in parents if name not in numbers}
    sizes = {name: len(values) for name, values in states.items()}
    made = HybridPriors.of(prior, numbers, states)
    nodes: dict[str, Node] = {}
    for name in parents:
        if name in logistic:
            nodes[name] = logistic[name]
        elif name in tables:
            table = tables[name].mean(made.tables[name], evidence[tables[name].label])
            table.flags.writeable = False
            nodes[name] = table
        else:
            line = lines[name]
            sums, observed = evidence[line.label], observed_sums(evidence, line.label)
            nodes[name] = line.node(predictive_line(made.line(name), name, sums, observed), sizes)
    return made, Declared(states, nodes)


@dataclass(frozen=True, eq=False)
class HybridLearner(NetworkLearner["HybridNetwork"]):
    """A hybrid network that learns by adding evidence."""

    INCOMPLETE: ClassVar[str] = "only complete rows are added up: fit and update learn from others by EM"
    BY_EM: ClassVar[str] = "the nodes were fitted by EM, from expected sums"

    kinds: Mapping[str, str]  # "number" or "category" of each variable
    states: States = field(default_factory=dict)  # declared states

    @classmethod
    def of(cls, network: HybridNetwork) -> HybridLearner:
        """Refuses fixed nodes: they have no evidence that rows could be added to."""
        if network.evidence is None:
            raise EvidenceError("the network's nodes are fixed, or there are none yet: learn them from data with fit")
        kinds = {name: "number" if name in network.numbers else "category" for name in network.parents}
        fixed = {c.name: c.values for c in network.evidence.schema if c.kind == "category" and c.declared}
        return cls(network, network.evidence, kinds, fixed)

    @property
    def numbers(self) -> set[str]:
        return {name for name, kind in self.kinds.items() if kind == "number"}

    @property
    def n(self) -> float:
        if self.evidence is None:
            return 0.0
        first = Label("column", self.network.variables[0])
        return float(self.evidence[first].n.value.sum())

    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        codes, numbers, schema = self.read(batch)
        missing = {name: own < 0 for name, own in codes.items()} | {name: np.isnan(x) for name, x in numbers.items()}
        self.check_complete(missing, batch)
        sizes = {column.name: len(column.levels) for column in schema if column.levels is not None}
        tables, lines = shapes_of(self.network.parents, self.numbers)
        parts = {t.label: Part(t.axes, t.summarise(codes, sizes, weight)) for t in tables.values()}
        for line in lines.values():
            parts[line.label] = Part(line.axes, line.summarise(codes, numbers, sizes, weight))
        return Evidence(schema, parts)

    def read(self, batch: Batch) -> tuple[dict[str, Codes], dict[str, Array], Schema]:
        """Codes of categories, -1 where missing; numbers, NaN where missing; and the columns that are present."""
        there = [name for name in self.network.parents if name in batch.names]
        seen = [name for name in there if name not in self.numbers and name not in self.states]
        codes, schema = inferred(batch, seen) if seen else ({}, Schema(()))
        if self.states:
            names = [name for name in self.states if name in batch.names]  # other variables are hidden
            index = StateIndex(tuple(names), tuple(self.states[name] for name in names))
            codes |= dict(zip(names, state_codes(index, names, batch), strict=True))
            schema |= declared_schema(self.states)
        numbers = {name: numbers_of(batch, name) for name in there if name in self.numbers}
        columns = {column.name: column for column in schema} | {name: Column(name, "number") for name in numbers}
        return codes, numbers, Schema(tuple(columns[name] for name in self.network.parents if name in columns))

    def update(self, data: object, *, weight: Weight = None) -> Self:
        self._check_additive("learn from more rows")
        return super().update(data, weight=weight)

    def discount(self, factor: float) -> Self:
        self._check_additive("be discounted")
        return super().discount(factor)

    def cross_validate(self, data: object, folds: int = 10, *, weight: Weight = None, seed: int = 0) -> Validation:
        self._check_additive("be cross-validated without refits")
        return super().cross_validate(data, folds, weight=weight, seed=seed)

    def _check_additive(self, what: str) -> None:
        for name in self.network.logistic:
            raise EvidenceError(
                f"{name!r} has a logistic node, without statistics that add: it can't {what}; fit again"
            )

    def _check_counted(self, what: str) -> None:
        self._check_additive(what)
        super()._check_counted(what)

    def _differ(self, other: Self) -> str | None:
        if self.kinds != other.kinds:
            name = next(name for name in self.kinds if self.kinds[name] != other.kinds[name])
            return f"{name!r} is a number in one and a category in the other"
        return "their states differ" if self.states != other.states else None


def declared_schema(states: States) -> Schema:
    from credo.networks.inference.rows import states_array

    return Schema(tuple(Column(n, "category", states_array(own), len(own)) for n, own in states.items()))


def numbers_of(batch: Batch, name: str) -> Array:
    found = batch.numbers(name)
    if np.isinf(found).any():
        row = batch.number(int(np.argmax(np.isinf(found))))
        raise DataError(f"{name!r} is infinite in row {row}: numbers of a network must be finite")
    return found


def is_evidence_of(network: HybridNetwork, evidence: object) -> bool:
    """Whether evidence has the form of the network's own: a file may hold anything."""
    if not isinstance(evidence, Evidence) or {*evidence.schema.names} != {*network.parents}:
        return False
    tables, lines = shapes_of(network.parents, {*network.numbers})
    sizes = {name: len(states) for name, states in network.states.items()}
    wanted: dict[Label, tuple[Any, tuple[int, ...], type]] = {
        t.label: (t.axes, t.shape(sizes), Counts) for t in tables.values()
    }
    wanted |= {n.label: (n.axes, n.shape(sizes), CrossMoments) for n in lines.values()}
    absent = hidden_variables(network.states, evidence) if network.history else []
    wanted |= {hidden_rows(name): ((None,), (1,), Counts) for name in absent}
    missing: dict[Label, tuple[Any, tuple[int, ...], type]] = {
        missing_of(t.label): ((None, *t.axes[:-1]), (1, *t.shape(sizes)[:-1]), Counts) for t in tables.values()
    }
    missing |= {missing_of(n.label): ((None, *n.axes), (1, *n.shape(sizes)), Counts) for n in lines.values()}
    wanted |= missing if network.history and not missing.keys().isdisjoint(evidence.parts) else {}
    if wanted.keys() != evidence.parts.keys():
        return False
    for label, (axes, shape, kind) in wanted.items():
        part = evidence.parts[label]
        if part.axes != axes or not isinstance(part.statistics, kind) or evidence[label].n.shape != shape:
            return False
    widths = ((line, evidence[line.label].first.shape) for line in lines.values())
    return all(shape == (*line.shape(sizes), len(line.columns)) for line, shape in widths)
