"""Arrows where cells are missing: search among graphs on expected counts, expect again, and so on. (Friedman 1998)

The expectation is over completed rows: each row with missing cells stands for several, drawn from P(missing | known)
under the current network, with a part of its weight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.networks.network import Network
from credo.networks.structure.columns import CategoryColumn, Columns
from credo.networks.structure.score import Parents, total

if TYPE_CHECKING:
    from credo.networks.structure.learn import Task

COMPLETIONS = 5  # of each row with missing cells
ROUNDS = 10  # of expectation and search, at most
ENOUGH = 1e-6  # gain in score for which arrows are changed


def structural_em(task: Task, start: Parents, prior: Any) -> Network:
    """A graph and its tables, each the best for rows that are completed under the other, until the graph stays."""
    rows = repeated(task.columns)
    net = task.fitted(completed(rows, None, task.seed), start, prior)
    parents = start
    for _ in range(ROUNDS):
        complete = completed(rows, net, task.seed)
        score = task.scored(complete)
        found = task.found(complete, parents)
        better = total(score, found) > total(score, parents) + ENOUGH
        parents = found if better else parents
        net = task.fitted(complete, parents, prior)
        if not better:
            break
    return net


def repeated(columns: Columns) -> Columns:
    """Rows with missing cells several times, each with a part of the weight."""
    missing = np.any([column.codes < 0 for column in columns.categories], axis=0)
    times = np.where(missing, COMPLETIONS, 1)
    weight = np.ones(len(times)) if columns.weight is None else columns.weight
    again = tuple(replace(column, codes=np.repeat(column.codes, times)) for column in columns.categories)
    return replace(columns, categories=again, weight=np.repeat(weight / times, times))


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
