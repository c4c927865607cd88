"""Answers for every row of a table, any cells of which may be missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from credo._kernels.networks.rows import COMPLETE, PREDICT, SCORE, RootedTree, answer_rows
from credo.data import Batch, source
from credo.engines import local
from credo.errors import DataError, EvidenceError, counted
from credo.networks.inference.coding import Coded, Coder, Codes, Unseen
from credo.networks.inference.findings import NOTHING, Given, variable
from credo.networks.inference.junction import Plan, Structure, Tree, TreeQuery
from credo.networks.inference.potentials import Flags, Integers
from credo.networks.inference.rooted import rooted, walk_in
from credo.networks.inference.sizes import HELD
from credo.networks.inference.trees import NOBODY, Trees
from credo.notices import listed, tell
from credo.numerics.exact import Array

Result = TypeVar("Result")
UNSHARED, UNFILLED = np.empty((0, 0)), np.empty((0, 0), dtype=np.int32)  # outputs that a query doesn't have
ABOUT_ALL = -1, NOBODY, NOBODY  # no variable in particular
BUDGET = 2.0**14  # cells that one row may visit; for more, a tree is compiled for its pattern of missing cells


class Rows:
    """A network, and the columns of a table that are its variables."""

    def __init__(self, trees: Trees, data: object, check: Callable[[float, Given], None]) -> None:
        self.trees, self.potentials, self.table = trees, trees.potentials, source(data)
        self.check_evidence = check
        check(self.potentials.log_scale, None)
        self.names = [name for name in self.table.names if name in self.potentials.number]
        if not self.names:
            known, read = ", ".join(self.table.names[:8]), ", ".join(self.potentials.names[:8])
            raise DataError(f"no column is a variable of the network: the table has {known}; the network {read}")
        self._coder = Coder(self.potentials, self.names)
        self.column_of = np.full(len(self.potentials.names), -1)
        for i, name in enumerate(self.names):
            self.column_of[self.potentials.number[name]] = i

    def probabilities(self, name: str) -> Array:
        """P(variable | the row's other cells). (rows, states)"""
        target, held = variable(self.potentials, name), self.potentials
        self.column_of[target] = -1
        query, tree = self._rooted(np.array([target]))
        own, size = query.potentials, int(held.card[target])
        (place,) = query.together.tolist()
        near = np.unique(own.factor_of[own.factors.scope == place])
        others = np.setdiff1d(np.flatnonzero(own.with_zeros), near)

        def answer(coded: Coded) -> Array:
            out = np.empty((coded.rows, size))
            logs = self._answered(PREDICT, coded, (query, tree), (place, near, others), out, UNFILLED)
            for row in np.flatnonzero(~(logs > -np.inf)).tolist():
                with self._numbered(coded, row):
                    out[row], found = self.trees.joint(self._codes(coded, row), NOTHING, [target])
                    self._check(coded, row, found)
            return out

        return np.concatenate([np.empty((0, size)), *self._mapped(answer)])

    def log_prob(self) -> Array:
        """log P(row), missing cells summed out. (rows,)"""
        asked, held = self._rooted(NOBODY), self.potentials

        def answer(coded: Coded) -> Array:
            out = self._answered(SCORE, coded, asked, ABOUT_ALL, UNSHARED, UNFILLED)
            for row in np.flatnonzero(~(out > -np.inf)).tolist():
                with self._numbered(coded, row):
                    out[row] = self.trees.log_total(self._codes(coded, row), NOTHING) - held.log_scale
            return out + held.log_scale

        return np.concatenate([np.empty(0), *self._mapped(answer)])

    def imputed(self) -> Any:
        """The table with the missing cells of its variables filled in, as an Arrow table."""
        import pyarrow as pa

        asked, held = self._rooted(NOBODY, everything=True), self.potentials
        levels = [states_array(values) for values in held.states]

        def answer(coded: Coded) -> Any:
            found = np.empty((len(held.card), coded.rows), dtype=np.int32)
            logs = self._answered(COMPLETE, coded, asked, ABOUT_ALL, UNSHARED, found)
            for row in np.flatnonzero(~(logs > -np.inf)).tolist():
                with self._numbered(coded, row):
                    found[:, row], log_joint = self.trees.best(self._codes(coded, row), NOTHING, None)
                    self._check(coded, row, log_joint)
            own = {name: coded.batch.column(name) for name in coded.batch.names}
            for i, name in enumerate(self.names):
                v = held.number[name]
                own[name] = _filled(own[name], coded.columns[i] >= 0, levels[v].take(pa.array(found[v])))
            return pa.table(own)

        return pa.concat_tables(self._mapped(answer, self.table.names))

    # Inside

    def _rooted(self, together: Integers, everything: bool = False) -> tuple[TreeQuery, RootedTree | None]:
        """A tree for any evidence in the table's columns; None if its tables are too large to be kept."""
        wanted = (self.column_of >= 0) | everything
        wanted[together] = True
        query = self.trees.query(np.zeros(len(wanted), dtype=np.bool_), wanted, together)
        plan = Plan.of(query).improved()
        return query, None if plan.cells > HELD else rooted(Tree(Structure.of(plan)))

    def _answered(
        self,
        question: int,
        coded: Coded,
        asked: tuple[TreeQuery, RootedTree | None],
        about: tuple[int, Integers, Integers],
        shares: Array,
        filled: Codes,
    ) -> Array:
        """Logarithms; NaN for rows that must be answered one by one. (rows,)"""
        logs, (one, tree) = np.full(coded.rows, np.nan), asked
        if tree is not None:
            held = one.potentials
            column_of = self.column_of if one.numbers is None else self.column_of[one.numbers]
            given = coded.columns, column_of, about, BUDGET, (held.heads, held.axes, held.factors.values)
            answer_rows(question, *given, tree, walk_in(tree), shares, logs, filled)
        return logs

    def _mapped(self, answer: Callable[[Coded], Result], names: tuple[str, ...] | None = None) -> Iterator[Result]:
        unknown: dict[str, Unseen] = {}

        def answered(batch: Batch) -> tuple[Result, dict[str, Unseen]]:
            coded = self._coder.coded(batch)
            return answer(coded), coded.unknown

        for found, unseen in local.mapped(answered, self.table.batches(self.names if names is None else names)):
            for name, (cells, value) in unseen.items():
                before = unknown.get(name, Unseen(0, value))
                unknown[name] = Unseen(before.cells + cells, before.value)
            yield found
        if unknown:
            total = counted(sum(each.cells for each in unknown.values()), "cell")
            example = next(iter(unknown.values())).value
            tell(f"{listed([*unknown])}: {total} with unknown states, such as {example!r:.60}, taken as missing")

    def _codes(self, coded: Coded, row: int) -> Integers:
        cells = np.append(coded.columns[:, row], -1).astype(np.int64)
        return np.asarray(cells[self.column_of])

    def _check(self, coded: Coded, row: int, log_probability: float) -> None:
        """Refuse an impossible row, and name the cells that conflict."""
        codes, held = self._codes(coded, row), self.potentials
        given = {held.names[v]: held.states[v][codes[v]] for v in np.flatnonzero(codes >= 0)}
        self.check_evidence(log_probability, given)

    @contextmanager
    def _numbered(self, coded: Coded, row: int) -> Iterator[None]:
        """Errors name the row."""
        try:
            yield
        except EvidenceError as error:
            raise EvidenceError(f"row {coded.batch.number(row)}: {error}") from None


def _filled(column: Any, known: Flags, states: Any) -> Any:
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


def spelt(values: Any) -> Any:
    """An Arrow array of any type as text, as Python writes it: True, not true."""
    import pyarrow as pa

    return pa.array([None if value is None else str(value) for value in values.to_pylist()], pa.string())


def states_array(states: tuple[Any, ...]) -> Any:
    """A variable's states as an Arrow array; as text, if they are of different types."""
    import pyarrow as pa

    try:
        return pa.array(states)
    except (pa.ArrowException, TypeError):
        return pa.array([str(state) for state in states])
