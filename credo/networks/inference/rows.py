"""Answers for many rows of a table: any cells may miss, others in each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo._kernels.networks.rows import (
    CHILD,
    COMPLETE,
    NEXT,
    PREDICT,
    SCORE,
    RootedTree,
    Walk,
    answer_rows,
    write_edges,
)
from credo._kernels.networks.shapes import MEMBERS, PARENT, SCALE, SEPARATOR, SHRUNK, SUNK, TABLE
from credo.data import Batch, source
from credo.data.tables import is_missing
from credo.engines import local
from credo.errors import DataError, EvidenceError, counted
from credo.networks.inference.findings import NOTHING, Given, find_state, variable
from credo.networks.inference.junction import Plan, Tree, TreeQuery
from credo.networks.inference.potentials import Flags, Integers
from credo.networks.inference.sizes import HELD
from credo.networks.inference.trees import NOBODY, Trees
from credo.notices import listed, tell
from credo.numerics.exact import Array

Codes = NDArray[np.int32]
Result = TypeVar("Result")
FEW = 10_000  # values of a coded column that are looked up one by one
UNSHARED, UNFILLED = np.empty((0, 0)), np.empty((0, 0), dtype=np.int32)  # what isn't asked for
ABOUT_ALL = -1, NOBODY, NOBODY  # no variable in particular
BUDGET = 2.0**14  # cells that one row may walk through; else a tree is compiled for its pattern


class Unseen(NamedTuple):
    """How many cells of a column hold what the network doesn't know, and one of these values."""

    cells: int
    value: Any


@dataclass(frozen=True, eq=False)
class Coded:
    """The cells of a batch as numbers of states."""

    batch: Batch
    columns: Codes  # (columns, rows), -1 where a cell is missing
    unknown: dict[str, Unseen]  # cells of values that the network doesn't have

    @property
    def rows(self) -> int:
        return self.batch.rows


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
        self.column_of = np.full(len(self.potentials.names), -1)
        for i, name in enumerate(self.names):
            self.column_of[self.potentials.number[name]] = i

    def probabilities(self, name: str) -> Array:
        """(rows, states) of one variable, whatever its own column says."""
        target, held = variable(self.potentials, name), self.potentials
        self.column_of[target] = -1
        question, rooted = self._rooted(np.array([target]))
        own, size = question.potentials, int(held.card[target])
        (place,) = question.together.tolist()
        near = np.unique(own.factor_of[own.factors.scope == place])
        others = np.setdiff1d(np.flatnonzero(own.with_zeros), near)

        def answer(coded: Coded) -> Array:
            out = np.empty((coded.rows, size))
            logs = self._answered(PREDICT, coded, (question, rooted), (place, near, others), out, UNFILLED)
            for row in np.flatnonzero(~(logs > -np.inf)).tolist():
                with self._numbered(coded, row):
                    out[row], found = self.trees.joint(self._codes(coded, row), NOTHING, [target])
                    self._check(coded, row, found)
            return out

        return np.concatenate([np.empty((0, size)), *self._mapped(answer)])

    def log_prob(self) -> Array:
        """(rows): log P(row), summed over what is missing."""
        rooted, held = self._rooted(NOBODY), self.potentials

        def answer(coded: Coded) -> Array:
            out = self._answered(SCORE, coded, rooted, ABOUT_ALL, UNSHARED, UNFILLED)
            for row in np.flatnonzero(~(out > -np.inf)).tolist():
                with self._numbered(coded, row):
                    out[row] = self.trees.log_total(self._codes(coded, row), NOTHING) - held.log_scale
            return out + held.log_scale

        return np.concatenate([np.empty(0), *self._mapped(answer)])

    def imputed(self) -> Any:
        """The table with the missing cells of its variables filled in, as an Arrow table."""
        import pyarrow as pa

        rooted, held = self._rooted(NOBODY, everything=True), self.potentials
        levels = [states_array(values) for values in held.states]

        def answer(coded: Coded) -> Any:
            found = np.empty((len(held.card), coded.rows), dtype=np.int32)
            logs = self._answered(COMPLETE, coded, rooted, ABOUT_ALL, UNSHARED, found)
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
        """A tree for any evidence in the table's columns; None if it is too large to be filled once and for all."""
        wanted = (self.column_of >= 0) | everything
        wanted[together] = True
        question = self.trees.question(np.zeros(len(wanted), dtype=np.bool_), wanted, together)
        plan = Plan.of(question).improved()
        return question, None if plan.cells > HELD else _rooted(Tree(plan))

    def _answered(
        self,
        question: int,
        coded: Coded,
        asked: tuple[TreeQuery, RootedTree | None],
        about: tuple[int, Integers, Integers],
        shares: Array,
        filled: Codes,
    ) -> Array:
        """(rows): logarithms; not a number where rows are left to others."""
        logs, (one, tree) = np.full(coded.rows, np.nan), asked
        if tree is not None:
            held = one.potentials
            column_of = self.column_of if one.numbers is None else self.column_of[one.numbers]
            given = coded.columns, column_of, about, BUDGET, (held.heads, held.axes, held.factors.values)
            answer_rows(question, *given, tree, _walk(tree), shares, logs, filled)
        return logs

    def _mapped(self, answer: Callable[[Coded], Result], names: tuple[str, ...] | None = None) -> Iterator[Result]:
        unknown: dict[str, Unseen] = {}

        def answered(batch: Batch) -> tuple[Result, dict[str, Unseen]]:
            coded = self._coded(batch)
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

    def _coded(self, batch: Batch) -> Coded:
        columns, unknown = np.empty((len(self.names), batch.rows), dtype=np.int32), dict[str, Unseen]()
        for i, name in enumerate(self.names):
            codes, values = _categories(batch, name)
            v = self.potentials.number[name]
            found = [find_state(self.potentials, v, value) for value in values]
            table = np.array([*(-1 if code is None else code for code in found), -1], dtype=np.int32)
            np.take(table, codes, out=columns[i], mode="wrap")
            if unseen := [k for k, value in enumerate(values) if found[k] is None and not is_missing(value)]:
                count = int(np.isin(codes, unseen).sum())
                there = [values[k] for k in unseen if (codes == k).any()]
                self._check_letters(name, there)
                unknown |= {name: Unseen(count, there[0])} if count else {}
        return Coded(batch, columns, unknown)

    def _check_letters(self, name: str, values: list[Any]) -> None:
        """What is a state in other letters is hardly meant to be missing."""
        states = {str(state).casefold(): state for state in self.potentials.states[self.potentials.number[name]]}
        for value in values:
            if (meant := states.get(str(value).casefold())) is not None:
                raise DataError(f"column {name!r} has the value {value!r}, which is no state. Did you mean {meant!r}?")

    def _codes(self, coded: Coded, row: int) -> Integers:
        cells = np.append(coded.columns[:, row], -1).astype(np.int64)
        return np.asarray(cells[self.column_of])

    def _check(self, coded: Coded, row: int, log_probability: float) -> None:
        """Refuse a row that is impossible, and name what contradicts itself in it."""
        codes, held = self._codes(coded, row), self.potentials
        given = {held.names[v]: held.states[v][codes[v]] for v in np.flatnonzero(codes >= 0)}
        self.check_evidence(log_probability, given)

    @contextmanager
    def _numbered(self, coded: Coded, row: int) -> Iterator[None]:
        """An error about a row tells which."""
        try:
            yield
        except EvidenceError as error:
            raise EvidenceError(f"row {coded.batch.number(row)}: {error}") from None


def _categories(batch: Batch, name: str) -> tuple[NDArray[Any], list[Any]]:
    """A column's codes, -1 where a cell is missing, and their values: as they are, where it is coded already."""
    import pyarrow as pa

    column = batch.column(name)
    if not pa.types.is_dictionary(column.type) or len(column.dictionary) > FEW:
        codes, levels = batch.categories(name)
        return codes, levels.to_pylist()
    codes = column.indices
    codes = codes.fill_null(-1) if codes.null_count else codes
    return codes.to_numpy(zero_copy_only=False), column.dictionary.to_pylist()


def _filled(column: Any, known: Flags, states: Any) -> Any:
    """A column with states where cells aren't known; as text, if they aren't of its type."""
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


def _rooted(tree: Tree) -> RootedTree:
    """A tree as rows walk in it."""
    held, count = tree.potentials, len(tree.cliques) - 1
    cliques = np.zeros((count + 1, 10), dtype=np.int64)
    cliques[:, :6] = tree.cliques
    cliques[:, SEPARATOR] -= tree.cells  # messages have an array of their own
    cliques[:, [CHILD, NEXT]] = -1
    members, homes, begun = np.stack([tree.members, tree.members], 1), tree.homes, tree.junction.begun
    parents = cliques[:count, PARENT]
    edges = np.empty(np.diff(cliques[:, MEMBERS])[parents[parents >= 0]].sum(), dtype=np.int64)
    write_edges(held.card, homes[held.with_zeros & (homes >= 0)], cliques, members, edges)
    sunk = np.where(begun[:-1, SHRUNK] > 0.0, 0.0, begun[:-1, SUNK])  # where some were lost, rows may need logarithms
    return RootedTree(cliques, members, edges, held.card, tree.junction.base, np.append(sunk, begun[-1, SCALE]))


def _walk(tree: RootedTree) -> Walk:
    cliques = tree.cliques
    parents = cliques[:-1, PARENT]
    cells, members = int(cliques[-1, SEPARATOR]), int(np.diff(cliques[:, MEMBERS]).max(initial=0))
    children = int(np.bincount(parents[parents >= 0], minlength=1).max())
    # the last root's message may be its whole table
    cells += int(np.diff(cliques[-2:, TABLE]).sum())
    return Walk(
        np.empty(len(tree.card), dtype=np.int64),
        np.empty(cells),
        np.empty(len(parents)),
        np.empty(cells, dtype=np.int64),
        np.empty((members, children + 4), dtype=np.int64),
        np.empty(children + 2, dtype=np.int64),
    )
