"""Structural EM: alternate between completing missing cells and searching. (Friedman 1998)

The expectation is over completed rows: each row with missing cells is replaced by several completions, drawn from
P(missing | known) under the current network, each with a part of its weight. With numbers, the draws are by Gibbs
sampling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.networks.network import Network
from credo.networks.structure.category_scores import checked_size
from credo.networks.structure.chow_liu import spanning_tree
from credo.networks.structure.columns import CategoryColumn, Columns
from credo.networks.structure.counting import dense_cells
from credo.networks.structure.data_augmentation import Augmentation, drawn_states
from credo.networks.structure.score import Parents, total

if TYPE_CHECKING:
    from credo.networks.structure.learn import StructureTask

COMPLETIONS = 5  # of each row with missing cells
MOST_SEARCHES = 10  # rounds of completing rows and searching
TABLE_STEPS = 3  # EM steps for the same arrows, so that the tables fit them before the arrows change again
SWEEPS_PER_STEP = 3  # draws of each missing cell under the same parameters, in tables with numbers
FIRST_SWEEPS = 10  # the first draws of each missing cell
ENOUGH_ROWS = 100  # complete rows for which the first graph is learned from them alone
LEAST_GAIN = 1e-6  # of changing the arrows


@dataclass(frozen=True, eq=False)
class CompletedColumns:
    """The result of structural EM: a graph, and rows whose missing cells were drawn under it."""

    parents: Parents
    columns: Columns


class Completion(Protocol):
    """How missing cells are drawn: jointly from tables, or one after another if there are numbers."""

    def begun(self, start: Parents) -> CompletedColumns: ...

    def again(self, last: CompletedColumns) -> CompletedColumns:
        """The rows with cells drawn under the same graph, its parameters fitted to the rows as last completed."""
        ...


def structural_em(task: StructureTask, start: Parents, prior: Any) -> CompletedColumns:
    """Alternate between completing rows under the graph and its parameters and searching for the best graph, until it
    stays the same."""
    completing: Completion = (
        GibbsCompletion(task) if task.columns.numbers else TableCompletion(task, repeated(task.columns), prior)
    )
    now = completing.begun(start)
    for _ in range(MOST_SEARCHES):
        score = task.scored(now.columns)
        found = task.found(now.columns, now.parents)
        better = total(score, found) > total(score, now.parents) + LEAST_GAIN
        if not better:
            break
        now = completing.again(CompletedColumns(found, now.columns))
    return now


class GibbsCompletion:
    """Tables with numbers: cells are drawn given all others of their row, in repeated sweeps."""

    def __init__(self, task: StructureTask) -> None:
        self.task = task
        self.draws = Augmentation(repeated(task.columns), checked_size(task.equivalent), task.seed)

    def begun(self, start: Parents) -> CompletedColumns:
        first, known = self.draws.begun(), _complete_rows(self.task.columns)
        if known is None:
            return CompletedColumns(start, first)
        found = self.task.found(known, start)
        return self.again(CompletedColumns(found, self.draws.swept(first, found, known, FIRST_SWEEPS)))

    def again(self, last: CompletedColumns) -> CompletedColumns:
        columns = last.columns
        for _ in range(TABLE_STEPS):
            columns = self.draws.swept(columns, last.parents, columns, SWEEPS_PER_STEP)
        return CompletedColumns(last.parents, columns)


@dataclass(frozen=True, eq=False)
class TableCompletion:
    """Tables of categories: cells are drawn from their joint distribution given the known ones."""

    task: StructureTask
    rows: Columns
    prior: Any

    def begun(self, start: Parents) -> CompletedColumns:
        known = _complete_rows(self.task.columns)
        if known is None:
            return CompletedColumns(start, completed(self.rows, self._tree(), self.task.seed))
        found = self.task.found(known, start)
        return self._drawn(found, self.task.fitted(known, found, self.prior))

    def again(self, last: CompletedColumns) -> CompletedColumns:
        return self._drawn(last.parents, self.task.fitted(last.columns, last.parents, self.prior))

    def _drawn(self, parents: Parents, net: Network) -> CompletedColumns:
        return CompletedColumns(parents, completed(self.rows, self._with_tables(net, parents), self.task.seed))

    def _with_tables(self, net: Network, parents: Parents) -> Network:
        """The tables after a few more EM steps for the same arrows."""
        for _ in range(TABLE_STEPS):
            net = self.task.fitted(completed(self.rows, net, self.task.seed), parents, self.prior)
        return net

    def _tree(self) -> Network:
        """The best tree by the mutual information of observed pairs of cells, used only to complete rows. Pairs with
        far more joint states than rows are left out."""
        known = self.task.columns
        columns = known.categories
        weight = np.ones(known.rows) if known.weight is None else known.weight
        information = np.zeros((len(columns), len(columns)))
        for i, one in enumerate(columns):
            for j, other in enumerate(columns[:i]):
                if len(one.levels) * len(other.levels) > dense_cells(len(weight)):
                    continue
                information[i, j] = information[j, i] = _mutual_information(one, other, weight)
        parents = spanning_tree(information, least=0.0)
        net = self.task.fitted(completed(self.rows, None, self.task.seed), parents, self.prior)
        return self._with_tables(self._with_tables(net, parents), parents)


def _mutual_information(one: CategoryColumn, other: CategoryColumn, weight: np.ndarray[Any, Any]) -> float:
    """The mutual information in the rows that observe both, in nats."""
    both = (one.codes >= 0) & (other.codes >= 0)
    if not both.any():
        return 0.0
    table = np.zeros((len(one.levels), len(other.levels)))
    np.add.at(table, (one.codes[both], other.codes[both]), weight[both])
    table /= table.sum()
    apart = np.outer(table.sum(1), table.sum(0))
    seen = table > 0
    return float((table[seen] * np.log(table[seen] / apart[seen])).sum())


def _complete_rows(columns: Columns) -> Columns | None:
    """The complete rows, if there are enough to start from, every state occurs, and every number varies."""
    complete = ~columns.incomplete
    if complete.sum() < ENOUGH_ROWS:
        return None
    some = columns.where(complete)
    if any(len(np.unique(column.codes)) < len(column.levels) for column in some.categories):
        return None
    return None if any(np.ptp(column.values) == 0 for column in some.numbers) else some


def repeated(columns: Columns) -> Columns:
    """The table with rows with missing cells repeated, each copy with a part of the weight."""
    times = completions(columns)
    weight = np.ones(len(times)) if columns.weight is None else columns.weight
    again = columns.where(np.repeat(np.arange(len(times)), times))
    return replace(again, weight=np.repeat(weight / times, times))


def completions(columns: Columns) -> NDArray[np.intp]:
    """The number of copies of each row."""
    return np.where(columns.incomplete, COMPLETIONS, 1)


def completed(columns: Columns, net: Network | None, seed: int) -> Columns:
    """Missing cells drawn one variable after another, given the known cells and earlier draws: so from their joint
    distribution. Without a network, from the cells of their column."""
    random = np.random.default_rng(seed)
    done = {column.name: column for column in columns.categories}
    for name, column in done.items():
        rows = np.flatnonzero(column.codes < 0)
        if len(rows):
            codes = column.codes.copy()
            codes[rows] = drawn_states(_chances(columns, done, name, rows, net), random)
            done[name] = replace(column, codes=codes)
    return replace(columns, categories=tuple(done[name] for name in columns.variables))


def _chances(
    columns: Columns, done: dict[str, CategoryColumn], name: str, rows: np.ndarray[Any, Any], net: Network | None
) -> np.ndarray[Any, Any]:
    """P(state | the known cells of the row). (rows, states)"""
    if net is None:
        codes, states = done[name].codes, len(done[name].levels)
        weight = None if columns.weight is None else columns.weight[codes >= 0]
        share = np.bincount(codes[codes >= 0], weight, states)
        return np.broadcast_to(share / share.sum(), (len(rows), states))
    some = replace(columns, categories=tuple(done[each] for each in columns.variables))
    first, which = _distinct(np.stack([each.codes[rows] for each in some.categories], 1))
    found = np.asarray(net.predict_proba(name, some.arrow(rows[first])))[which]
    order = [net.states[name].index(value) for value in done[name].levels.to_pylist()]
    return found[:, order]


def _distinct(codes: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first of equal rows, and which of these each row equals."""
    whole = np.dtype((np.void, codes.itemsize * codes.shape[1]))
    _, first, which = np.unique(np.ascontiguousarray(codes).view(whole)[:, 0], return_index=True, return_inverse=True)
    return first, which
