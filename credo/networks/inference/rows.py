"""Answers for every row of a table, any cells of which may be missing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from credo import engines
from credo.data import Batch, Source
from credo.errors import EvidenceError, counted
from credo.networks.inference.coding import Coded, Coder, Unseen
from credo.networks.inference.elimination import suits_rows
from credo.networks.inference.exact import ExactInference
from credo.networks.inference.fallback import EstimatedRows, Fallback, SamplingFallback
from credo.networks.inference.findings import NO_LIKELIHOODS
from credo.networks.inference.potentials import Potentials
from credo.notices import listed, tell
from credo.numerics.arrays import Flags, Integers
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.networks.graphical_model import GraphicalModel
    from credo.networks.inference.rooted_tree import RowTree


class BatchAnswers(NamedTuple):
    """The answers for a batch."""

    answer: Any
    unknown: dict[str, Unseen]  # columns with values that aren't states
    estimated: EstimatedRows  # rows whose exact answers don't fit in memory


@dataclass(frozen=True, eq=False)
class RowQuery(ABC):
    """A query about every row of a table, some of whose columns are variables: the job that engines run.

    Kernels and trees are compiled where the job runs. For a few rows in a process without kernels, variable elimination
    is faster than compiling: it answers the rows one by one.
    """

    model: GraphicalModel
    names: tuple[str, ...]  # columns that are variables
    fallback: Fallback | None  # None: refuse rows whose exact answers don't fit in memory
    by_kernels: bool = field(default=True, kw_only=True)  # for a few rows, too: then all workers agree to the last bit

    @abstractmethod
    def answer(self, coded: Coded, exact: ExactInference, by_kernels: bool) -> Any:
        """exact: answers single rows."""

    def __call__(self, batch: Batch) -> BatchAnswers:
        coded, model = self._coder.coded(batch), self.model
        by_kernels = self.by_kernels or not suits_rows(coded.rows, len(self.potentials.card))
        exact = model.trees if by_kernels else model.exact
        if self.fallback is None:
            return BatchAnswers(self.answer(coded, exact, by_kernels), coded.unknown, EstimatedRows())
        sampling = SamplingFallback(exact, model, self.fallback)
        return BatchAnswers(self.answer(coded, sampling, by_kernels), coded.unknown, sampling.estimated)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def potentials(self) -> Potentials:
        return self.model.potentials

    @cached_property
    def _coder(self) -> Coder:
        return Coder(self.potentials, self.names)

    @cached_property
    def column_of(self) -> Integers:
        """The column of each variable, -1 for none."""
        found = np.full(len(self.potentials.card), -1)
        for i, name in enumerate(self.names):
            found[self.potentials.number[name]] = i
        return found

    @cached_property
    def _tree(self) -> RowTree:
        from credo.networks.inference.rooted_tree import RowTree

        return RowTree.of(self.model.trees, self.column_of)

    def _codes(self, coded: Coded, row: int) -> Integers:
        cells = np.append(coded.columns[:, row], -1).astype(np.int64)
        return np.asarray(cells[self.column_of])

    def _check(self, coded: Coded, row: int, log_probability: float) -> None:
        """Refuse an impossible row, and name the cells that conflict."""
        codes, held = self._codes(coded, row), self.potentials
        given = {held.names[v]: held.states[v][codes[v]] for v in np.flatnonzero(codes >= 0)}
        self.model._check(log_probability, given)

    @contextmanager
    def _numbered(self, coded: Coded, row: int) -> Iterator[None]:
        """Add the row's number to errors."""
        try:
            yield
        except EvidenceError as error:
            raise EvidenceError(f"row {coded.batch.number(row)}: {error}") from None


@dataclass(frozen=True, eq=False)
class PredictRows(RowQuery):
    """P(variable | the row's other cells). (rows, states)"""

    target: int

    @cached_property
    def column_of(self) -> Integers:
        """The column of each variable; the target's own cells aren't read."""
        found = super().column_of.copy()
        found[self.target] = -1
        return found

    @cached_property
    def _tree(self) -> RowTree:
        from credo.networks.inference.rooted_tree import RowTree

        return RowTree.of(self.model.trees, self.column_of, self.target)

    def answer(self, coded: Coded, exact: ExactInference, by_kernels: bool) -> Array:
        out = np.empty((coded.rows, int(self.potentials.card[self.target])))
        logs = self._tree.predict(coded, out) if by_kernels else np.full(coded.rows, np.nan)
        for row in np.flatnonzero(~(logs > -np.inf)).tolist():
            with self._numbered(coded, row):
                out[row], found = exact.joint(self._codes(coded, row), NO_LIKELIHOODS, [self.target])
                self._check(coded, row, found)
        return out


@dataclass(frozen=True, eq=False)
class ScoreRows(RowQuery):
    """log P(row), missing cells summed out. (rows,)"""

    def answer(self, coded: Coded, exact: ExactInference, by_kernels: bool) -> Array:
        log_scale = self.potentials.log_scale
        out = self._tree.score(coded) if by_kernels else np.full(coded.rows, np.nan)
        for row in np.flatnonzero(~(out > -np.inf)).tolist():
            with self._numbered(coded, row):
                out[row] = exact.log_total(self._codes(coded, row), NO_LIKELIHOODS) - log_scale
        return out + log_scale


@dataclass(frozen=True, eq=False)
class CompleteRows(RowQuery):
    """The rows with the missing cells of their variables filled in, as an Arrow table."""

    @cached_property
    def _tree(self) -> RowTree:
        from credo.networks.inference.rooted_tree import RowTree

        return RowTree.of(self.model.trees, self.column_of, everything=True)

    def answer(self, coded: Coded, exact: ExactInference, by_kernels: bool) -> Any:
        import pyarrow as pa

        held, maximised = self.potentials, self.model._maximised  # the tree maximises over auxiliary variables, too
        found = np.empty((len(held.card), coded.rows), dtype=np.int32)
        by_tree = by_kernels and maximised is None
        logs = self._tree.complete(coded, found) if by_tree else np.full(coded.rows, np.nan)
        for row in np.flatnonzero(~(logs > -np.inf)).tolist():
            with self._numbered(coded, row):
                found[:, row], log_joint = exact.best(self._codes(coded, row), NO_LIKELIHOODS, maximised)
                self._check(coded, row, log_joint)
        own = {name: coded.batch.column(name) for name in coded.batch.names}
        for i, name in enumerate(self.names):
            v = held.number[name]
            states = states_array(held.states[v]).take(pa.array(found[v]))
            own[name] = _filled(own[name], coded.columns[i] >= 0, states)
        return pa.table(own)


@dataclass(frozen=True, eq=False)
class Answer:
    """The answers of a query without their notices."""

    query: RowQuery

    def __call__(self, batch: Batch) -> Any:
        return self.query(batch).answer


def answers(query: RowQuery, table: Source, names: Sequence[str] | None = None) -> Iterator[Any]:
    """The answers for each batch of a table, in order; notices report unseen values and estimates."""
    unknown, estimated = dict[str, Unseen](), EstimatedRows()
    partitions = table.partitions(query.names if names is None else names)
    query = replace(query, by_kernels=not engines.at_home(partitions).shares_memory)
    for found in engines.map(query, partitions):
        for name, (cells, value) in found.unknown.items():
            before = unknown.get(name, Unseen(0, value))
            unknown[name] = Unseen(before.cells + cells, before.value)
        estimated += found.estimated
        yield found.answer
    if unknown:
        total = counted(sum(each.cells for each in unknown.values()), "cell")
        example = next(iter(unknown.values())).value
        tell(f"{listed([*unknown])}: {total} with unknown states, such as {example!r:.60}, taken as missing")
    estimated.tell()


def _filled(column: Any, known: Flags, states: Any) -> pa.Array:
    """A column with its missing cells filled in; as text, if the states aren't of its type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        return states
    try:
        states = spelt(states) if pa.types.is_string(column.type) else states.cast(column.type)
    except pa.ArrowException:
        column, states = spelt(column), spelt(states)
    return pc.if_else(pa.array(known), column, states)


def spelt(values: Any) -> pa.Array:
    """An Arrow array of any type as text, as Python writes it: True, not true."""
    import pyarrow as pa

    return pa.array([None if value is None else str(value) for value in values.to_pylist()], pa.string())


def states_array(states: tuple[object, ...]) -> pa.Array:
    """A variable's states as an Arrow array; as text, if they are of different types."""
    import pyarrow as pa

    try:
        return pa.array(states)
    except (pa.ArrowException, TypeError):
        return pa.array([str(state) for state in states])
