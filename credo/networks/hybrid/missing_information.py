"""The missing information in expected counts and sums of rows with missing cells.

For a Gaussian node, let e = y - w′z be a row's residual. If the configuration c of its category parents, z or y are
missing, the missing information is Var(1ᶜ e | the known cells)/σ² of a complete row (Louis 1982): 0 if all are known, 1
if y and its descendants are missing. For the row of a table, see `credo.networks.missing_information`. Both add up over
rows.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from credo.core.evidence import Part
from credo.core.labels import Label
from credo.core.statistics import Counts
from credo.networks.hybrid.expectation import HybridEM
from credo.networks.hybrid.learning import NodeShape
from credo.networks.hybrid.rows import HybridRows, MissingPattern
from credo.networks.missing_information import missing_of, missing_rows
from credo.networks.nodes.table import ConditionalTable
from credo.numerics.exact import Array, Exact

COUNTS_AT_ONCE = 2**22  # expected counts of single rows held in memory


def missing_parts(model: HybridEM, rows: Iterable[HybridRows]) -> dict[Label, Part]:
    """The missing information of each node, in complete rows, as parts of the evidence; the model is EM's final one."""
    tables, lines = model.shapes
    sizes = model.sizes
    found: dict[str, Array] = {name: np.zeros(table.shape(sizes)[:-1]) for name, table in tables.items()}
    found |= {name: np.zeros(line.shape(sizes)) for name, line in lines.items()}
    for batch in rows:
        for pattern in model.inference.patterns(batch):
            weight = batch.weight[pattern.rows]
            for name, table in tables.items():
                if _misses(model, pattern, table.scope):
                    found[name] += _of_table(model, table, pattern, weight)
            for name, line in lines.items():
                if _misses(model, pattern, (*line.categories, *line.columns)):
                    found[name] += _of_line(model, line, pattern, weight)
    axes = {name: (None, *table.axes[:-1]) for name, table in tables.items()}
    axes |= {name: (None, *line.axes) for name, line in lines.items()}
    labels = {name: table.label for name, table in tables.items()} | {name: line.label for name, line in lines.items()}
    return {missing_of(labels[name]): Part(axes[name], Counts(Exact.of(own[None]))) for name, own in found.items()}


def _misses(model: HybridEM, pattern: MissingPattern, scope: Iterable[str]) -> bool:
    """Whether a cell of these variables is missing; it is the same for all rows of a pattern."""
    of_numbers = dict(zip(model.inference.numbers, pattern.known.tolist(), strict=True))
    hidden = {*pattern.hidden.tolist()}
    of_categories = {name: i not in hidden for i, name in enumerate(model.inference.categories)}
    return not all((of_numbers | of_categories)[name] for name in scope)


def _of_table(model: HybridEM, table: ConditionalTable, pattern: MissingPattern, weight: Array) -> Array:
    shape, found = table.shape(model.sizes), np.zeros(table.shape(model.sizes)[:-1])
    places = [model.inference.categories.index(name) for name in table.scope]
    size = int(np.prod(shape))
    cells = np.ravel_multi_index([pattern.codes[:, :, i] for i in places], shape)
    step = max(1, COUNTS_AT_ONCE // size)
    for start in range(0, len(cells), step):
        own, shares = cells[start : start + step], pattern.responsibilities[start : start + step]
        flat = (np.arange(len(own))[:, None] * size + own).reshape(-1)
        counts: Array = np.bincount(flat, shares.reshape(-1), len(own) * size).astype(np.float64)
        found += missing_rows(
            counts.reshape(len(own), *shape), model.net.tables[table.name], weight[start : start + step]
        )
    return found


def _of_line(model: HybridEM, line: NodeShape, pattern: MissingPattern, weight: Array) -> Array:
    """Σ weight (E[1ᶜ e²] - E[1ᶜ e]²)/σ² for each configuration."""
    inference, node, shape = model.inference, model.net.numbers[line.name], line.shape(model.sizes)
    columns = [inference.numbers.index(name) for name in line.columns]
    places = [inference.categories.index(name) for name in line.categories]
    intercept, variance = node.intercept.reshape(-1), node.variance.reshape(-1)
    slopes = node.weights.reshape(len(variance), len(line.numbers))
    first, second = np.zeros((len(pattern.rows), len(variance))), np.zeros(len(variance))
    responsibilities = pattern.responsibilities
    for where, rows, spread in inference.completed(pattern):
        codes = pattern.codes[where[0][0], where[1][0]]
        at = int(np.ravel_multi_index([codes[i] for i in places], shape)) if places else 0
        along = np.append(-slopes[at], 1.0)
        away = rows[:, columns] @ along - intercept[at]
        share = responsibilities[where]
        np.add.at(first[:, at], where[0], share * away)
        left = float(along @ spread[np.ix_(columns, columns)] @ along)
        second[at] += float((weight[where[0]] * share) @ (away**2 + left))
    return np.asarray(((second - weight @ first**2) / variance).reshape(shape))
