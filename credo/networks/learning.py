"""Learning a network's tables: counting complete rows, and expected counts where cells are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from credo.core.em import Expected
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.learning import RowWeights, Weights
from credo.core.membership import Codes
from credo.core.statistics import Counts
from credo.data import Batch
from credo.data.schema import Column, Schema
from credo.engines import Engine, Partition
from credo.errors import DataError, EvidenceError, NetworkError, SchemaError, suggest
from credo.networks.inference.coding import CodedRows, Coder
from credo.networks.inference.expectations import ROWS_PER_CHUNK
from credo.networks.inference.rows import states_array
from credo.networks.inference.state_index import StateIndex
from credo.networks.learner import NetworkLearner
from credo.networks.missing_information import hidden_rows, missing_of
from credo.networks.row_queries import known_columns
from credo.networks.table_priors import TablePriors
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.core.learning import Weight
    from credo.networks.directed_model import DirectedModel
    from credo.networks.network import Network
    from credo.networks.nodes.node import Node

HOW_FITTED = "EM or by gradient ascent"
NUMERIC_KINDS = ("number", "count", "date")  # kinds of columns that hold numbers
LEAST_LOG_RATIO = -600.0  # smallest log-ratio of entries in a row that a step of L-BFGS may lead to, unless one is 0
MOST_INTEGER_STATES = 256  # distinct integers of a column that may be states
WEIGHT_TOLERANCE = 1e-9  # relative difference allowed between the row weights behind two tables


@dataclass(frozen=True, eq=False)
class TableLearner(NetworkLearner["Network"]):
    """A network that learns by adding evidence: the counts of each node's table."""

    INCOMPLETE: ClassVar[str] = "tables are counted from complete rows"
    BY_EM: ClassVar[str] = f"the tables were fitted by {HOW_FITTED}, from expected counts"

    @classmethod
    def of(cls, network: Network) -> TableLearner:
        """Refuses fixed tables: they have no evidence that rows could be added to."""
        if network.tables and network.evidence is None:
            raise EvidenceError(
                "the network's tables are fixed, without evidence behind them: give them a strength, as in "
                "with_strength(50) for 50 cases, or learn them from data with fit"
            )
        return cls(network, network.evidence)

    @property
    def n(self) -> float:
        return self.network.n

    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        codes, schema = self._declared(batch) if self.network.declared else inferred(batch, self.network.variables)
        self.check_complete({name: own < 0 for name, own in codes.items()}, batch)
        sizes = {column.name: len(column.levels) for column in schema}
        found: dict[Label, Part] = {}
        for node in self.network.nodes.values():
            add_tied(found, node.label, Part(node.axes, node.summarise(codes, sizes, weight)))
        return Evidence(schema, found)

    def known_codes(self, batch: Batch) -> dict[str, Codes]:
        """Complete rows as state codes; every value must be a state of the network."""
        codes, _ = self._declared(batch)
        self.check_complete({name: own < 0 for name, own in codes.items()}, batch)
        return codes

    def _declared(self, batch: Batch) -> tuple[dict[str, Codes], Schema]:
        rows = coded_batch(self.network, batch, np.ones(batch.rows))
        return dict(zip(self.network.variables, rows.codes, strict=True)), self.network.schema

    def _differ(self, other: Self) -> str | None:
        one, two = self.network, other.network
        if dict(one.forms) != dict(two.forms):
            return "their nodes have different forms of distributions"
        if dict(one.tied) != dict(two.tied):
            return "different nodes are tied"
        if one.declared != two.declared or (one.declared and dict(one.states) != dict(two.states)):
            return "their states differ"
        return None


def no_rows(network: Network) -> Evidence:
    """The evidence of no rows, over the network's states."""
    codes = {name: np.empty(0, dtype=np.int32) for name in network.parents}
    sizes = {name: len(states) for name, states in network.states.items()}
    parts = {node.label: Part(node.axes, node.summarise(codes, sizes, np.empty(0))) for node in network.nodes.values()}
    return Evidence(network.schema, parts)


def schema_of(network: DirectedModel) -> Schema:
    """All variables and their states, which have no evidence yet."""
    columns = list[Column]()
    for name, states in network.states.items():
        levels = states_array(states)
        if len(levels.unique()) < len(levels):
            raise NetworkError(f"two states of {name!r} are written alike, so that rows can't tell them apart")
        columns.append(Column(name, "category", levels, len(levels) if network.declared else 0))
    return Schema(tuple(columns))


def is_evidence_of(network: Network, evidence: object) -> bool:
    """Whether evidence has the form of the network's own: a file may hold anything."""
    if not isinstance(evidence, Evidence) or {*evidence.schema.names} != {*network.parents}:
        return False
    nodes, sizes = network.nodes.values(), {name: len(states) for name, states in network.states.items()}
    labels = {node.label for node in nodes}
    shapes = {node.expected_label: node.shape(sizes) for node in nodes if node.expected_label not in labels}
    expected = {label for label in shapes if network.history and label in evidence.parts}
    others = evidence.parts.keys() - labels - expected
    if not labels <= evidence.parts.keys() or not _is_missing(network, evidence, others):
        return False
    if any(type(evidence[label]) is not Counts or evidence[label].n.shape != shapes[label] for label in expected):
        return False
    shaped = all(node.fits(evidence.parts[node.label], sizes) for node in nodes)
    totals = [node.weight(evidence) / _tied(network, node.label) for node in nodes] if shaped else []
    return shaped and np.ptp(totals) <= WEIGHT_TOLERANCE * max(totals) and _is_known(network, evidence)


def _is_missing(network: Network, evidence: Evidence, others: Set[Label]) -> bool:
    """Whether the other parts hold the information missing from EM's expected counts."""
    nodes = [node for name, node in network.nodes.items() if network.history and name not in network.forms]
    missing = {missing_of(node.label): node.label for node in nodes}
    hidden = {hidden_rows(name) for name in (network.nodes if network.history else ())}
    return others <= missing.keys() | hidden and all(
        evidence.parts[label].axes == (None,) if label in hidden else _is_missing_from(evidence, label, missing[label])
        for label in others
    )


def _is_missing_from(evidence: Evidence, part: Label, label: Label) -> bool:
    axes, statistics, counts = evidence.parts[part].axes, evidence.parts[part].statistics, evidence.parts[label]
    shape = (1, *counts.statistics.n.shape[:-1])
    return type(statistics) is Counts and axes == (None, *counts.axes[:-1]) and statistics.n.shape == shape


def _tied(network: Network, label: Label) -> int:
    return sum(node.label == label for node in network.nodes.values())


def _is_known(network: Network, evidence: Evidence) -> bool:
    """Whether columns have the declared states, or all were inferred."""
    if network.declared:
        return all(evidence.schema[name] == network.schema[name] for name in network.parents)
    return all(column.kind == "category" and column.declared == 0 for column in evidence.schema)


def inferred(batch: Batch, names: Sequence[str]) -> tuple[dict[str, Codes], Schema]:
    """Codes, and columns whose levels are the values that occur."""
    found = {name: batch.categories(name) for name in names}
    for name, (_, levels) in found.items():
        _check_states(name, batch.column(name).type, levels)
    columns = tuple(Column(name, "category", levels) for name, (_, levels) in found.items())
    return {name: codes for name, (codes, _) in found.items()}, Schema(columns)


def _check_states(name: str, kind: Any, levels: Any) -> None:
    """Refuse numbers as states, except a few integers and columns that are already categories."""
    import pyarrow as pa

    if not len(levels) or not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        return
    values = levels.to_numpy(zero_copy_only=False)
    whole = not pa.types.is_floating(levels.type)
    fractions = np.flatnonzero(np.zeros(0) if whole else values != np.floor(values))
    if len(fractions) or len(values) > MOST_INTEGER_STATES:
        example = values[fractions[0]] if len(fractions) else values[0]
        what = "numbers" if len(fractions) else "many whole numbers"
        raise SchemaError(
            f"column {name!r} has {what}, such as {example:.6g}, and a table has a state for each: declare states= if "
            "they are meant, cut numbers in bins as learn_structure(data, bins=5) does, or keep them as numbers with "
            "credo.HybridNetwork(arrows).fit(data)"
        )


def add_tied(parts: dict[Label, Part], label: Label, new: Part) -> None:
    """Add statistics; those of tied nodes are summed."""
    old = parts.get(label)
    parts[label] = new if old is None else Part(new.axes, old.statistics + new.statistics)


def coded_batch(network: DirectedModel, batch: Batch, weight: Array) -> CodedRows:
    """All variables of a batch, missing if there is no such column; a value that isn't a state is an error."""
    names = [name for name in network.variables if name in batch.names]
    index = StateIndex(network.variables, tuple(network.states.values()))
    codes = np.full((len(network.variables), batch.rows), -1, dtype=np.int32)
    codes[[index.number[name] for name in names]] = state_codes(index, names, batch)
    return CodedRows(batch.start, codes, weight)


def state_codes(index: StateIndex, names: Sequence[str], batch: Batch) -> NDArray[np.int32]:
    """Some columns as state codes; a value that isn't a state is an error. (columns, rows)"""
    coded = Coder(index, names).coded(batch)
    for name, unseen in coded.unknown.items():
        known = suggest(unseen.value, index.states[index.number[name]])
        raise DataError(f"column {name!r} has the value {unseen.value!r:.60}, which isn't a state; {known}")
    return coded.columns


@dataclass(frozen=True, eq=False)
class CodedPartition:
    """Rows of a partition, with any cells missing and any variables hidden, as state codes."""

    partition: Partition[Batch]
    network: DirectedModel
    weights: RowWeights

    @property
    def home(self) -> Engine | None:
        return self.partition.home

    def batches(self) -> Iterator[CodedRows]:
        for batch in self.partition.batches():
            yield from coded_batch(self.network, batch, self.weights.of_rows(batch)).chunks(ROWS_PER_CHUNK)


def coded_rows(network: DirectedModel, data: object, weight: Weight = None) -> Iterable[Partition[CodedRows]]:
    """The rows that EM reads in each step."""
    if not network.states:
        raise NetworkError("the network has no states yet: give states=, or learn them with fit")
    table, weights = known_columns(data, network.states), Weights.of(weight)
    names = [name for name in network.variables if name in table.names]
    coded = (CodedPartition(own, network, weights.of_a_row) for own in weights.partitions(table, names))
    return coded if table.files is None else [*coded]


def expected_evidence(network: DirectedModel, rows: CodedRows) -> tuple[Evidence, float]:
    """Σ weight · P(node, parents | row) of each node, and the log-likelihood Σ weight · log P(row)."""
    counts, logs = network.expectations.of_rows(rows)
    for row in np.flatnonzero(np.isneginf(logs) & (rows.weight > 0)).tolist():
        known = np.flatnonzero(rows.codes[:, row] >= 0).tolist()
        names = [network.variables[v] for v in known]
        given = {name: network.states[name][rows.codes[v, row]] for v, name in zip(known, names, strict=True)}
        try:
            network._check(-np.inf, given)
        except EvidenceError as error:
            place = "a row" if rows.start is None else f"row {rows.start + row + 1}"
            raise EvidenceError(f"{place}: {error}") from None
    found: dict[Label, Part] = {}
    split, nodes = network.potentials.split(counts), network.nodes
    one_each = not network.forms
    by_node = dict(zip(nodes, ([p] for p in split), strict=True)) if one_each else network.factorisation.split(split)
    for name, node in nodes.items():
        add_tied(found, node.expected_label, node.expected(by_node[name], network.parameters[name]))
    counted = rows.weight > 0
    return Evidence(network.schema, found), float(rows.weight[counted] @ logs[counted])


@dataclass(frozen=True, eq=False)
class TableEM:
    """A network for `credo.core.em`: its fixed tables are the current estimate, the mode of what was expected before.

    Known counts, those of complete rows, are part of all evidence; the objective then includes the log-likelihood of
    these rows. To predict, give the fit's evidence to the network: `network.with_evidence(fitted.evidence)` integrates
    tables out.
    """

    network: Network
    known: Evidence | None = None

    @property
    def prior(self) -> TablePriors:
        return self.network.prior or TablePriors()

    def expect(self, batch: CodedRows, /) -> Expected:
        return self.network.expect(batch)

    def with_evidence(self, evidence: Evidence, /) -> Self:
        modes: dict[Label, Array] = {}
        for label, (node, own) in self.by_label().items():
            modes[label] = node.mode(self.prior[label.name], self.counts(evidence, node, own))
        return self.with_parameters(modes)

    def with_parameters(self, parameters: Mapping[Label, Array]) -> Self:
        """The same model at other parameters."""
        own = {name: parameters[node.label] for name, node in self.network.nodes.items()}
        return replace(self, network=self.network._like(parameters=own))

    def counts(self, evidence: Evidence, node: Node, parameters: Array) -> Any:
        """Expected plus known counts."""
        own = node.counts(evidence, parameters)
        return own if self.known is None else own + node.counts(self.known, parameters)

    def log_prior(self) -> float:
        """log p(θ), with each label counted once since tied nodes share their parameters, plus the log-likelihood of
        known rows."""
        total = 0.0
        for label, (node, own) in self.by_label().items():
            total += node.log_prior(self.prior[label.name], own)
            total += 0.0 if self.known is None else node.log_likelihood(self.known, own)
        return total

    def coordinates(self) -> Array:
        """The coordinates of all nodes, concatenated."""
        return np.concatenate([node.coordinates(own) for node, own in self.by_label().values()])

    def at(self, coordinates: Array, /) -> Self:
        return self._at(coordinates, lambda node: node.at)

    def log_odds(self) -> Array:
        """log θ of all tables, concatenated: unconstrained coordinates."""
        with np.errstate(divide="ignore"):
            return np.concatenate([np.log(table).reshape(-1) for _, table in self.by_label().values()])

    def at_log_odds(self, coordinates: Array) -> Self:
        """θ = softmax of each row."""
        return self._at(coordinates, lambda _: _exponentials)

    def _at(self, coordinates: Array, read: Callable[[Node], Callable[[Array, Array], Array]]) -> Self:
        """Each node's parameters, from its coordinates and its parameters at present."""
        found: dict[Label, Array] = {}
        at = 0
        for label, (node, own) in self.by_label().items():
            found[label] = read(node)(coordinates[at : at + own.size], own)
            at += own.size
        return self.with_parameters(found)

    def by_label(self) -> dict[Label, tuple[Node, Array]]:
        """Each node and its parameters; of tied ones, the last."""
        nodes, parameters = self.network.nodes.items(), self.network.parameters
        return {node.label: (node, parameters[name]) for name, node in nodes}


def _exponentials(logs: Array, table: Array) -> Array:
    logs = logs.reshape(table.shape)
    ratios = logs - logs.max(-1, keepdims=True)
    found = np.exp(np.maximum(ratios, np.where(np.isneginf(logs), -np.inf, LEAST_LOG_RATIO)))
    return np.asarray(found / found.sum(-1, keepdims=True))
