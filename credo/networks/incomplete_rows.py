"""Rows as EM reads them: one pass counts the complete ones, and keeps the codes of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo._kernels.networks.counting import count_families
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.learning import RowWeights, Weights
from credo.core.membership import Codes
from credo.data import Batch, source
from credo.data.schema import Column, Schema
from credo.errors import DataError, suggest
from credo.networks.inference.coding import CodedRows, pays
from credo.networks.inference.expectations import ROWS_PER_CHUNK
from credo.networks.inference.rows import states_array
from credo.networks.inference.sizes import check_numbers
from credo.networks.row_queries import check_names
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.core.learning import Weight
    from credo.networks.network import Network

KEPT_CODE_BYTES = 2**28  # bytes of codes kept in memory; for more, the data is read again in each step
KEY_BITS = 62.0  # bits of the integer that identifies a row
Hidden = Mapping[str, tuple[Any, ...]]  # variables that aren't columns, and their states


@dataclass(frozen=True, eq=False)
class IncompleteRows:
    """Codes of rows with missing cells; equal rows are merged, with their total weight."""

    codes: NDArray[np.signedinteger[Any]]  # (variables, rows), -1 where a cell is missing
    weight: Array  # (rows,)

    @property
    def bytes(self) -> int:
        return self.codes.nbytes + self.weight.nbytes

    def recoded(self, old: Schema, new: Schema) -> IncompleteRows:
        """The same rows, coded by the levels of another schema."""
        codes = self.codes.astype(_narrow(new))
        for v, (before, after) in enumerate(zip(old, new, strict=True)):
            if before.values != after.values:
                place = {value: i for i, value in enumerate(after.values)}
                codes[v] = np.array([*(place[value] for value in before.values), -1], dtype=codes.dtype)[self.codes[v]]
        return IncompleteRows(codes, self.weight)

    def united(self, schema: Schema) -> IncompleteRows:
        """The same rows with equal rows merged, if a row's codes fit into one integer."""
        sizes = [len(column.levels) + 1 for column in schema]
        if sum(map(log2, sizes)) > KEY_BITS:
            return self
        keys = np.zeros(len(self.weight), dtype=np.int64)
        for own, size in zip(self.codes, sizes, strict=True):
            keys *= size
            keys += own + 1
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        if len(first) == len(keys):
            return self
        return IncompleteRows(self.codes[:, first], np.bincount(which, self.weight, len(first)).astype(np.float64))

    def chunks(self) -> Iterator[CodedRows]:
        """The rows in the chunks that the E-step reads."""
        for at in range(0, len(self.weight), ROWS_PER_CHUNK):
            own = slice(at, at + ROWS_PER_CHUNK)
            codes = np.ascontiguousarray(self.codes[:, own], dtype=np.int32)
            yield CodedRows(None, codes, self.weight[own])


@dataclass(frozen=True, eq=False)
class ObservedRows:
    """The result of one pass over rows."""

    complete: Evidence  # the counts of rows without missing cells; its schema has the states of all rows
    available: Evidence | None  # counts of each family in incomplete rows that observe it; None if there are none
    rows: IncompleteRows | None  # None: too many to keep in memory

    @property
    def incomplete(self) -> bool:
        return self.available is not None

    def ordered(self, evidence: Evidence) -> ObservedRows:
        """Coded like that evidence, which has all levels."""
        if self.rows is None:
            return self
        rows = self.rows.recoded(self.complete.schema, evidence.schema).united(evidence.schema)
        return ObservedRows(self.complete, self.available, rows)


@dataclass(frozen=True, eq=False)
class ReadIncompleteRows:
    """The job of one batch: what is observed in it."""

    network: Network
    weights: RowWeights
    names: tuple[str, ...]  # the variables that are columns
    hidden: Hidden  # states of others, where the network doesn't know any

    def __call__(self, batch: Batch) -> ObservedRows:
        weight = self.weights.of_rows(batch)
        batch = batch.only(self.names)
        if (weight == 0).any():
            kept = np.flatnonzero(weight)
            batch, weight = batch.take(kept), weight[kept]
        codes, schema = self._coded(batch)
        known = {name: own >= 0 for name, own in codes.items()}
        complete = np.logical_and.reduce([*known.values()])
        every = None if complete.all() else np.flatnonzero(complete)
        if every is None and pays(batch.rows, batch.start) and (weight == 1.0).all() and not self.network.forms:
            counted = counted_at_once(self.network, codes, schema)
            return ObservedRows(counted, None, IncompleteRows(np.empty((len(codes), 0), np.int8), np.empty(0)))
        found = self._counted(codes, schema, weight, dict.fromkeys(self.network.nodes, every))
        if every is None:
            return ObservedRows(found, None, IncompleteRows(np.empty((len(codes), 0), np.int8), np.empty(0)))
        families = {name: [*node.parents, name] for name, node in self.network.nodes.items()}
        partly = {
            name: np.flatnonzero(np.logical_and.reduce([known[each] for each in family]) & ~complete)
            for name, family in families.items()
        }
        available = self._counted(codes, schema, weight, partly)
        lost = np.flatnonzero(~complete)
        left = np.array([own[lost] for own in codes.values()], dtype=_narrow(schema))
        return ObservedRows(found, available, IncompleteRows(left, weight[lost]).united(schema))

    def total(self, parts: Sequence[ObservedRows]) -> ObservedRows:
        """The sum over several batches, in order."""
        complete = Evidence.total([part.complete for part in parts])
        available = [part.available for part in parts if part.available is not None]
        if not available:
            return ObservedRows(complete, None, parts[0].rows)
        rows = [part.rows and part.rows.recoded(part.complete.schema, complete.schema) for part in parts]
        return ObservedRows(complete, Evidence.total(available), _joined(rows, complete.schema))

    def _coded(self, batch: Batch) -> tuple[dict[str, Codes], Schema]:
        from credo.networks.learning import coded_batch, inferred

        net = self.network
        if net.declared:
            rows = coded_batch(net, batch, np.empty(batch.rows))
            return dict(zip(net.variables, rows.codes, strict=True)), net.schema
        codes, schema = inferred(batch, self.names)
        columns = {column.name: column for column in schema}
        for name, states in self.hidden.items():
            if name in codes and len(columns[name].levels):
                value = columns[name].values[0]
                raise DataError(f"{name!r} can't be hidden: it is a column with values, such as {value!r:.60}")
            codes[name] = np.full(batch.rows, -1, dtype=np.int32)
            columns[name] = Column(name, "category", states_array(states))
        return {name: codes[name] for name in net.variables}, Schema(tuple(columns[name] for name in net.variables))

    def _counted(
        self, codes: Mapping[str, Codes], schema: Schema, weight: Array, chosen: Mapping[str, NDArray[np.intp] | None]
    ) -> Evidence:
        """The counts of each node's table, over chosen rows (None: all)."""
        from credo.networks.learning import add_tied

        sizes = {column.name: len(column.levels) for column in schema}
        found: dict[Label, Part] = {}
        for name, node in self.network.nodes.items():
            rows = chosen[name]
            own = codes if rows is None else {each: codes[each][rows] for each in (*node.parents, name)}
            weights = weight if rows is None else weight[rows]
            add_tied(found, node.label, Part(node.axes, node.summarise(own, sizes, weights)))
        return Evidence(schema, found)


def counted_at_once(network: Network, codes: Mapping[str, Codes], schema: Schema) -> Evidence:
    """The same counts of complete rows of weight 1, by compiled code: all tables in one pass."""
    from credo.networks.learning import add_tied

    sizes = {column.name: len(column.levels) for column in schema}
    place = {name: v for v, name in enumerate(codes)}
    nodes = network.nodes.items()
    shapes = [node.shape(sizes) for _, node in nodes]
    scopes = [(*node.parents, name) for name, node in nodes]
    largest, name = max(zip(map(prod, shapes), network.nodes, strict=True))
    check_numbers(f"the table of {name!r:.60}", largest)
    steps = [prod(shape[i + 1 :]) for shape in shapes for i in range(len(shape))]
    starts = np.cumsum([0, *map(prod, shapes)], dtype=np.int64)
    heads = np.cumsum([0, *map(len, shapes)], dtype=np.int64)
    members = np.array([place[name] for scope in scopes for name in scope], dtype=np.int64)
    counts = np.zeros(starts[-1], dtype=np.int64)
    count_families(np.stack([*codes.values()]), heads, members, np.array(steps, dtype=np.int64), starts[:-1], counts)
    found: dict[Label, Part] = {}
    for (_, node), shape, at in zip(nodes, shapes, starts.tolist(), strict=False):
        own = counts[at : at + prod(shape)].reshape(shape).astype(np.float64)
        add_tied(found, node.label, node.expected([own], own))
    return Evidence(schema, found)


def observed(network: Network, data: object, weight: Weight, hidden: Hidden) -> ObservedRows:
    """One pass over a table; some variables need not be columns."""
    table, weights = source(data), Weights.of(weight)
    check_names(table.names, network.parents)
    names = tuple(name for name in network.variables if name in table.names and name != weights.column)
    for name in (name for name in network.variables if name not in names):
        if not network.declared and name not in hidden:
            raise DataError(
                f"no column {name!r}, and its states aren't known; {suggest(name, table.names)} "
                f"If it is hidden, say how many states it has: hidden={{{name!r}: 2}}"
            )
    if not names:
        raise DataError(f"no column is a variable of the network: the table has {', '.join(table.names[:8])}")
    job = ReadIncompleteRows(network, weights.of_a_row, names, hidden)
    found = engines.reduce(job, weights.partitions(table, names), job.total)
    if found is None:
        raise DataError("the data is empty: there are no rows to learn from")
    for column in found.complete.schema:
        if not len(column.levels):
            raise DataError(
                f"column {column.name!r} is empty: declare its states with states=, or say how many it has: "
                f"hidden={{{column.name!r}: 2}}"
            )
    return found


def _joined(parts: Sequence[IncompleteRows | None], schema: Schema) -> IncompleteRows | None:
    held = [part for part in parts if part is not None]
    if len(held) < len(parts) or sum(part.bytes for part in held) > KEPT_CODE_BYTES:
        return None
    codes = np.concatenate([part.codes for part in held], axis=1)
    return IncompleteRows(codes, np.concatenate([part.weight for part in held])).united(schema)


def _narrow(schema: Schema) -> type[np.signedinteger[Any]]:
    """The smallest integer type that holds all state codes."""
    most = max(len(column.levels) for column in schema)
    return np.int8 if most < 2**7 else np.int16 if most < 2**15 else np.int32
