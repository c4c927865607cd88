"""Arrows where cells are missing: search among graphs on expected counts, expect again, and so on. (Friedman 1998)

The expectation is over completed rows: each row with missing cells stands for several, drawn from P(missing | known)
under the current network, with a part of its weight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo.networks.network import Network
from credo.networks.structure.chow_liu import spanning_tree
from credo.networks.structure.columns import CategoryColumn, Columns
from credo.networks.structure.counting import dense_cells
from credo.networks.structure.score import Parents, total

if TYPE_CHECKING:
    from credo.networks.structure.learn import Task

COMPLETIONS = 5  # of each row with missing cells
ROUNDS = 10  # of expectation and search, at most
TABLES = 3  # expectations for the same arrows, so that tables fit them before the arrows change again
ENOUGH_ROWS = 100  # complete rows that are enough to begin with
LEAST_GAIN = 1e-6  # gain in score for which arrows are changed


def structural_em(task: Task, start: Parents, prior: Any) -> Network:
    """A graph and its tables, each the best for rows that are completed under the other, until the graph stays. The
    tables of the last graph are fitted by EM, to the rows as they are."""
    rows, parents = repeated(task.columns), start
    known = _complete_rows(task.columns)
    if known is not None:
        parents = task.found(known, start)
        net = _with_tables(task, rows, task.fitted(known, parents, prior), parents, prior)
    else:
        net = _tree_network(task, rows, prior)
    for _ in range(ROUNDS):
        complete = completed(rows, net, task.seed)
        score = task.scored(complete)
        found = task.found(complete, parents)
        better = total(score, found) > total(score, parents) + LEAST_GAIN
        if not better:
            break
        parents = found
        net = _with_tables(task, rows, task.fitted(complete, parents, prior), parents, prior)
    return task.fitted(task.columns, parents, prior)


def _with_tables(task: Task, rows: Columns, net: Network, parents: Parents, prior: Any) -> Network:
    """The tables after a few more expectations for the same arrows."""
    for _ in range(TABLES):
        net = task.fitted(completed(rows, net, task.seed), parents, prior)
    return net


def _tree_network(task: Task, rows: Columns, prior: Any) -> Network:
    """The best tree, by the mutual information of pairs of cells that are both known: only to complete rows with. Pairs
    with far more joint states than rows are left out."""
    columns = task.columns.categories
    weight = np.ones(len(columns[0].codes)) if task.columns.weight is None else task.columns.weight
    information = np.zeros((len(columns), len(columns)))
    for i, one in enumerate(columns):
        for j, other in enumerate(columns[:i]):
            if len(one.levels) * len(other.levels) > dense_cells(len(weight)):
                continue
            information[i, j] = information[j, i] = _mutual_information(one, other, weight)
    parents = spanning_tree(information, least=0.0)
    net = task.fitted(completed(rows, None, task.seed), parents, prior)
    return _with_tables(task, rows, _with_tables(task, rows, net, parents, prior), parents, prior)


def _mutual_information(one: CategoryColumn, other: CategoryColumn, weight: np.ndarray[Any, Any]) -> float:
    """Of the rows that know both, in nats a row."""
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
    """Those, if they are enough to begin with, and show each state."""
    complete = np.all([column.codes >= 0 for column in columns.categories], axis=0)
    if complete.sum() < ENOUGH_ROWS:
        return None
    some = tuple(replace(column, codes=column.codes[complete]) for column in columns.categories)
    if any(len(np.unique(column.codes)) < len(column.levels) for column in some):
        return None
    return replace(columns, categories=some, weight=None if columns.weight is None else columns.weight[complete])


def repeated(columns: Columns) -> Columns:
    """Rows with missing cells several times, each with a part of the weight."""
    times = completions(columns)
    weight = np.ones(len(times)) if columns.weight is None else columns.weight
    again = tuple(replace(column, codes=np.repeat(column.codes, times)) for column in columns.categories)
    return replace(columns, categories=again, weight=np.repeat(weight / times, times))


def completions(columns: Columns) -> NDArray[np.intp]:
    """How often each row is repeated."""
    return np.where(np.any([column.codes < 0 for column in columns.categories], axis=0), COMPLETIONS, 1)


def completed(columns: Columns, net: Network | None, seed: int) -> Columns:
    """Missing cells drawn one variable after the other, given what is known and was drawn before: so they are drawn
    from their joint distribution. Without a network, from the cells of their column."""
    random = np.random.default_rng(seed)
    done = {column.name: column for column in columns.categories}
    for name, column in done.items():
        rows = np.flatnonzero(column.codes < 0)
        if len(rows):
            done[name] = _drawn(column, _chances(columns, done, name, rows, net), rows, random)
    return replace(columns, categories=tuple(done[name] for name in columns.variables))


def _chances(
    columns: Columns, done: dict[str, CategoryColumn], name: str, rows: np.ndarray[Any, Any], net: Network | None
) -> np.ndarray[Any, Any]:
    """P(state | what is known of the row), (rows, states)."""
    if net is None:
        codes, states = done[name].codes, len(done[name].levels)
        weight = None if columns.weight is None else columns.weight[codes >= 0]
        share = np.bincount(codes[codes >= 0], weight, states)
        return np.broadcast_to(share / share.sum(), (len(rows), states))
    some = replace(columns, categories=tuple(done[each] for each in columns.variables))
    found = np.asarray(net.predict_proba(name, some.arrow(rows)))
    order = [net.states[name].index(value) for value in done[name].levels.to_pylist()]
    return found[:, order]


def _drawn(
    column: CategoryColumn, chances: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], random: np.random.Generator
) -> CategoryColumn:
    reached = np.cumsum(chances, axis=1)
    draws = random.random((len(rows), 1)) * reached[:, -1:]
    codes = column.codes.copy()
    codes[rows] = np.minimum((reached <= draws).sum(1), len(column.levels) - 1)
    return replace(column, codes=codes)
