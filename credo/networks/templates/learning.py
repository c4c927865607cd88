"""Learning a dynamic network's tables: the statistics of all slices add, whether counted or expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from credo import engines
from credo.core.em import Expected, Fitted
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.learning import RowWeights, Weight
from credo.data import Source, source
from credo.data.sequences import SequenceBatch
from credo.errors import DataError, EvidenceError, NetworkError, counted, suggest
from credo.networks.fitting import FittingSettings, hidden_states
from credo.networks.learning import add_tied, inferred
from credo.networks.network import Network
from credo.networks.templates import slices
from credo.networks.templates.em_starts import best_fit, table_starts
from credo.networks.templates.slice_answers import expected_counts
from credo.networks.templates.slice_chain import CodedSlices, SliceChain
from credo.networks.templates.slice_reading import CodeSlices, sequence_table
from credo.networks.templates.tied_tables import TiedTables

if TYPE_CHECKING:
    from credo.models.hidden_markov.reading import SequenceTable
    from credo.networks.tables import States
    from credo.networks.templates.dynamic_network import DynamicNetwork

INCOMPLETE = "a cell is missing in {}: only complete sequences can be forgotten, since others were never counted"


@dataclass(frozen=True)
class FindStates:
    """The job that collects the values of each column, as levels of a schema."""

    names: tuple[str, ...]

    def __call__(self, batch: SequenceBatch) -> Evidence:
        return Evidence(inferred(batch.batch, self.names)[1])


def found_states(
    parents: Mapping[str, tuple[str, ...]], table: Source, rows: SequenceTable, hidden: States
) -> dict[str, tuple[Any, ...]]:
    """The states of all variables: the values of their columns, or those given by hidden=."""
    if table.once:
        raise DataError(
            "an iterator can be read only once, and the data is read twice to find its states: give states="
        )
    for name in (name for name in parents if name not in rows.names and name not in hidden):
        raise DataError(
            f"no column {name!r}, and its states aren't known; {suggest(name, table.names)} If it is hidden, say how "
            f"many states it has: hidden={{{name!r}: 2}}"
        )
    names = tuple(name for name in rows.names if name in parents)
    seen = engines.reduce(FindStates(names), rows.partitions(), Evidence.total)
    if seen is None:
        raise DataError("the data is empty: there are no rows to learn from")
    found = dict(hidden)
    for column in seen.ordered().schema:
        if len(column.levels) and column.name in hidden:
            value = column.values[0]
            raise DataError(f"{column.name!r} can't be hidden: it is a column with values, such as {value!r:.60}")
        if not len(column.levels) and column.name not in hidden:
            more = f"hidden={{{column.name!r}: 2}}"
            raise DataError(f"column {column.name!r} is empty: say how many states it has: {more}")
        found.setdefault(column.name, column.values)
    return {name: found[name] for name in parents}


def counts_of(two: Network, coded: CodedSlices) -> Evidence:
    """The counts of each table, over all rows in which the variable and its parents are known."""
    begins = np.zeros(coded.rows, dtype=np.bool_)
    begins[coded.starts[:-1][np.diff(coded.starts) > 0]] = True
    weight = np.repeat(coded.weight, np.diff(coded.starts))
    first, later = np.flatnonzero(begins), np.flatnonzero(~begins)
    own = dict(zip(coded.names, coded.codes, strict=True))
    of_first = {slices.at(name, 0): codes[first] for name, codes in own.items()}
    of_later = {slices.at(name, 0): codes[later - 1] for name, codes in own.items()}
    of_later |= {slices.at(name, 1): codes[later] for name, codes in own.items()}
    sizes = {name: len(states) for name, states in two.states.items()}
    found: dict[Label, Part] = {}
    for name, node in two.nodes.items():
        codes, weights = (of_first, weight[first]) if name in of_first else (of_later, weight[later])
        family = {each: codes[each] for each in (*node.parents, name)}
        known = np.logical_and.reduce([each >= 0 for each in family.values()])
        if not known.all():
            family, weights = {each: codes[known] for each, codes in family.items()}, weights[known]
        add_tied(found, node.label, Part(node.axes, node.summarise(family, sizes, weights)))
    return Evidence(two.schema, found)


@dataclass(frozen=True, eq=False)
class SequenceCounts:
    """The result of one pass over sequences."""

    complete: Evidence  # counts of sequences without missing cells
    available: Evidence  # counts of each table, over the rows of incomplete sequences that observe all of it
    incomplete: tuple[CodedSlices, ...]

    @classmethod
    def total(cls, parts: Sequence[SequenceCounts]) -> SequenceCounts:
        complete = Evidence.total([part.complete for part in parts])
        available = Evidence.total([part.available for part in parts])
        return cls(complete, available, tuple(each for part in parts for each in part.incomplete))


@dataclass(frozen=True, eq=False)
class CountSequences:
    """The job of one batch of sequences."""

    two: Network
    code: CodeSlices

    def __call__(self, batch: SequenceBatch) -> SequenceCounts:
        coded, _, _ = self.code(batch)
        whole = coded.complete
        if whole.all():
            counts = counts_of(self.two, coded)
            return SequenceCounts(counts, counts * 0.0, ())
        rest = coded.only(np.flatnonzero(~whole & (coded.weight > 0)))
        counts = counts_of(self.two, coded.only(np.flatnonzero(whole)))
        return SequenceCounts(counts, counts_of(self.two, rest), (rest,))


def gathered(model: DynamicNetwork, rows: SequenceTable, weights: RowWeights) -> SequenceCounts:
    names = tuple(name for name in rows.names if name in model.parents)
    job = CountSequences(model.two_slices, CodeSlices(model.states, names, weights, strict=True))
    found = engines.reduce(job, rows.partitions(), SequenceCounts.total)
    if found is None:
        raise DataError("the data is empty: there are no rows to learn from")
    return found


@dataclass(frozen=True)
class SequenceOptions:
    """How rows form sequences, and their weights."""

    sequence: str | None
    order: str | None
    weight: Weight


def learned(
    model: DynamicNetwork, data: object, read: SequenceOptions, hidden: Mapping[str, object] | None,
    how: FittingSettings, start: DynamicNetwork,
) -> DynamicNetwork:  # fmt: skip
    """The network after learning more sequences: complete ones are counted, the others fitted by EM, from the tables of
    `start` if it has any."""
    if how.method != "em":
        raise NetworkError(f"templates are fitted by EM: method={how.method!r} is for credo.Network")
    table = source(data)
    columns = [name for name in table.without(read.weight).names if name not in (read.sequence, read.order)]
    absent = hidden_states(model, hidden, columns)
    rows = sequence_table(table, model.parents, read.sequence, read.order)
    rows, weights = rows.weighted(read.weight)
    rows.tell_empty()
    if not model.states:
        states = found_states(model.parents, table, rows, absent)
        model = type(model)(model.parents, states=states, prior=model.prior)
    model = model.reading(read.sequence, read.order)
    found = gathered(model, rows, weights)
    evidence = found.complete if model.evidence is None else Evidence.total([model.evidence, found.complete])
    if not found.incomplete:
        return model.with_evidence(evidence, model.history)
    fitted = fitted_slices(model, evidence, found, how, start)
    total = Evidence.total([evidence, Evidence(evidence.schema, fitted.evidence.parts)])
    return model.with_evidence(total, fitted.history)


def complete_evidence(model: DynamicNetwork, data: object, read: SequenceOptions) -> Evidence:
    """The counts of complete sequences."""
    rows, weights = sequence_table(source(data), model.parents, read.sequence, read.order).weighted(read.weight)
    for name in (name for name in model.parents if name not in rows.names):
        raise EvidenceError(INCOMPLETE.format(f"every row: there is no column {name!r}"))
    found = gathered(model, rows, weights)
    if found.incomplete:
        raise EvidenceError(INCOMPLETE.format(counted(len(found.incomplete[0].starts) - 1, "sequence") + " or more"))
    return found.complete


@dataclass(frozen=True, eq=False)
class SliceEM(TiedTables):
    """A dynamic network for `credo.core.em`: its parameters are those of its two-slice network, its expected counts
    those of all slices."""

    parents: Mapping[str, tuple[str, ...]]

    @cached_property
    def chain(self) -> SliceChain:
        return chain_of(self.parents, self.tables.network)

    def expect(self, batch: CodedSlices, /) -> Expected:
        counts, log_likelihood = expected_counts(self.chain, batch)
        network = self.tables.network
        found: dict[Label, Part] = {}
        for name, node in network.nodes.items():
            if node.label not in found:
                table = network.tables[name]
                own = counts.get(node.label.name, np.zeros(table.shape))
                found[node.label] = node.expected([own], table)
        return Evidence(network.schema, found), log_likelihood


def chain_of(parents: Mapping[str, tuple[str, ...]], two: Network) -> SliceChain:
    """The chain with the tables of a two-slice network."""
    states = {name: two.states[slices.at(name, 0)] for name in parents}
    first, later = ({name: two.tables[slices.at(name, t)] for name in parents} for t in (0, 1))
    return SliceChain.of(parents, states, first, later)


def fitted_slices(
    model: DynamicNetwork, evidence: Evidence, found: SequenceCounts, how: FittingSettings, start: DynamicNetwork
) -> Fitted[SliceEM]:
    """EM over the incomplete sequences: the maximum of log P(sequences | θ) + log p(θ), where p is the prior density of
    the log-odds."""
    two, names = model.two_slices, found.incomplete[0].names
    seen = {name for own in found.incomplete for v, name in enumerate(names) if (own.codes[v] >= 0).any()}
    counted_before = any(part.statistics.n.value.any() for part in evidence.parts.values())
    hidden = () if counted_before else tuple(slices.at(name, t) for name in names if name not in seen for t in (0, 1))
    fits = start.known and dict(start.states) == dict(model.states)
    given = start.two_slices.tables if fits else {}
    starts = [SliceEM(each, model.parents) for each in table_starts(two, evidence, found.available, hidden, given, how)]
    return best_fit(starts, lambda: found.incomplete, sum(each.rows for each in found.incomplete), how)
