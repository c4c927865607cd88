"""Learning a hybrid network from a table: by adding up complete rows, or by EM where cells are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.em import em, expected
from credo.core.learning import Weight, Weights
from credo.data import Source, source
from credo.data.profile import infer_schema
from credo.data.schema import Schema
from credo.errors import DataError, NetworkError, SchemaError, check_whole, counted, suggest
from credo.networks.hybrid.expectation import HybridEM
from credo.networks.hybrid.learning import HybridLearner, NodeShape, logistic_shapes, shapes_of
from credo.networks.hybrid.line_priors import ROUNDED, HybridPriors, resolved
from credo.networks.hybrid.number_node import NumberNode
from credo.networks.hybrid.rows import HybridRows, RowInference, kept_rows
from credo.networks.row_queries import check_names
from credo.notices import tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork

NUMERIC = ("number", "count", "date")


def fitted(
    net: HybridNetwork,
    data: object,
    prior: Any,
    kinds: Mapping[str, str] | None,
    weight: Weight,
    steps: int,
    tolerance: float,
) -> HybridNetwork:
    from credo.networks.hybrid.network import HybridNetwork

    check_whole("steps", steps, 1)
    if not (isinstance(tolerance, float | int) and tolerance >= 0):
        raise NetworkError(f"tolerance must be at least 0, but is {tolerance!r:.60}")
    table = source(data)
    table = table.held() if table.once else table
    _check_columns(net, table.without(weight).names)
    known, states = _kinds(net, table, kinds), _declared(net)
    numbers = {name for name, kind in known.items() if kind == "number"}
    logistic = logistic_shapes(net.parents, numbers)
    regressed = numbers | {*logistic}
    bare = HybridNetwork(net.parents, None, None, HybridPriors.of(prior, regressed, {*net.parents} - regressed))
    learner = HybridLearner(bare, None, known, states)
    incomplete = _incomplete(learner, table)
    if logistic:
        if incomplete:
            raise DataError(
                f"{next(iter(logistic))!r} has numbers among its parents, and logistic nodes need complete rows"
            )
        return _with_logistic(learner, logistic, table, weight)
    if not incomplete:
        return learner.update(table, weight=weight).network
    return _by_em(learner, table, Weights.of(weight), steps, tolerance)


def _with_logistic(
    learner: HybridLearner, shapes: Mapping[str, NodeShape], table: Source, weight: Weight
) -> HybridNetwork:
    """Tables and lines by adding up rows, logistic nodes by Newton's method over all of them."""
    from credo.networks.hybrid.logistic_fitting import fitted_logistic
    from credo.networks.hybrid.network import HybridNetwork

    evidence = learner.gathered(table, weight).ordered()
    states = {column.name: column.values for column in evidence.schema if column.levels is not None}
    reading, weights = replace(learner, states=states), Weights.of(weight)
    parts = [
        (*reading.read(batch)[:2], weights.of_rows(batch))
        for batch in weights.batches(table, learner.network.variables)
    ]
    codes = {name: np.concatenate([own[0][name] for own in parts]) for name in states}
    numbers = {name: np.concatenate([own[1][name] for own in parts]) for name in learner.numbers}
    row_weights = np.concatenate([own[2] for own in parts])
    sizes, prior = {name: len(own) for name, own in states.items()}, learner.network.prior
    nodes = {
        name: fitted_logistic(shape, codes, numbers, sizes, row_weights, prior.line(name))
        for name, shape in shapes.items()
    }
    return HybridNetwork(learner.network.parents, nodes, None, prior, evidence)


def _check_columns(net: HybridNetwork, columns: Sequence[str]) -> None:
    check_names(columns, net.parents)
    for hidden in (name for name in net.parents if name not in columns):
        raise DataError(
            f"no column {hidden!r} ({suggest(hidden, columns)}): in networks with numbers, hidden variables aren't "
            "learned; credo.Mixture learns one, and credo.Network several among categories"
        )


def _declared(net: HybridNetwork) -> dict[str, tuple[Any, ...]] | None:
    """States that were declared: by hand, or with nodes."""
    if net.evidence is not None:
        return HybridLearner.of(net).states  # type: ignore[return-value]
    return dict(net.states) or None


def _kinds(net: HybridNetwork, table: Source, given: Mapping[str, str] | None) -> dict[str, str]:
    """ "number" or "category" of each variable: as it is already, as it is said, or as the column looks."""
    for unknown in (name for name in given or {} if name not in net.parents):
        raise SchemaError(f"kinds has {unknown!r}, which is no variable; {suggest(unknown, net.parents)}")
    if net.nodes:
        return {name: "number" if name in net.numbers else "category" for name in net.parents}
    said = dict(given or {}) | dict.fromkeys(net.states, "category")
    unsure = [name for name in net.parents if said.get(name) not in ("number", "category")]
    found = {name: said[name] for name in said if name not in unsure}
    if unsure:
        schema = infer_schema(table, {name: kind for name, kind in said.items() if name in unsure} or None)
        for name in unsure:
            kind = schema[name].kind if name in schema.names else "category"
            found[name] = "number" if kind in NUMERIC else "category"
    return {name: found[name] for name in net.parents}


def _incomplete(learner: HybridLearner, table: Source) -> bool:
    """Whether a cell is missing."""
    for batch in table.batches(learner.network.variables):
        for name in learner.network.variables:
            if name in learner.numbers:
                if np.isnan(batch.numbers(name)).any():
                    return True
            elif (batch.categories(name)[0] < 0).any():
                return True
    return False


def _by_em(learner: HybridLearner, table: Source, weights: Weights, steps: int, tolerance: float) -> HybridNetwork:
    schema = _columns(learner, table)
    bare, numbers = learner.network, learner.numbers
    start, rows, pivot = _start(bare, schema, numbers, table, weights)
    priors: HybridPriors = bare.prior
    shapes = {name: start.tables[name].shape for name in start.tables}
    begun = HybridEM(start, schema, priors.tables.in_log_odds(shapes), dict.fromkeys(numbers), pivot)
    _, lines = begun.shapes
    first, _ = expected(begun, lambda: rows)
    explicit = {name: resolved(priors.line(name), name, first[line.label]) for name, line in lines.items()}
    model = HybridEM(start, schema, begun.tables, explicit, pivot).with_evidence(first)
    best = em(model, lambda: rows, steps=steps, tolerance=tolerance)
    if not best.converged:
        tell(f"EM ended after {counted(len(best.history) - 1, 'step')}, before it converged: steps= allows more")
    from credo.networks.hybrid.network import HybridNetwork

    kept = HybridPriors(priors.tables, priors.default, explicit)  # what EM took from the rows at its start
    return HybridNetwork(bare.parents, None, None, kept, best.evidence, best.history)


def _columns(learner: HybridLearner, table: Source) -> Schema:
    """All columns, with every value that a category has."""
    found: Schema | None = None
    for batch in table.batches(learner.network.variables):
        schema = learner.read(batch)[2]
        found = schema if found is None else found | schema
    if found is None:
        raise DataError("the data is empty: there are no rows to learn from")
    ordered = [column if column.levels is None else column.ordered()[0] for column in found]
    for column in (each for each in ordered if each.levels is not None and not len(each.levels)):
        raise DataError(f"every cell of {column.name!r} is missing: leave it out")
    return Schema(tuple(ordered))


def _start(
    bare: HybridNetwork, schema: Schema, numbers: set[str], table: Source, weights: Weights
) -> tuple[HybridNetwork, list[HybridRows], Array]:
    """Where EM begins: each variable as its known cells are, whatever its parents; and the rows."""
    from credo.networks.hybrid.network import HybridNetwork

    states = {column.name: column.values for column in schema if column.levels is not None}
    sizes = {name: len(values) for name, values in states.items()}
    tables, lines = shapes_of(bare.parents, numbers)
    blank: dict[str, Any] = {}
    for name in bare.parents:
        if name in tables:
            blank[name] = np.full(tables[name].shape(sizes), 1.0 / sizes[name])
        else:
            shape = tuple(sizes[each] for each in lines[name].categories)
            own = (lines[name].categories, lines[name].numbers)
            slopes = np.zeros((*shape, len(lines[name].numbers)))
            blank[name] = NumberNode(name, *own, np.zeros(shape), slopes, np.ones(shape))
    reading = RowInference(HybridNetwork(bare.parents, blank, states))
    rows = kept_rows(reading, table, weights)
    if not rows:
        raise DataError("the data is empty: there are no rows to learn from")
    codes, cells = np.concatenate([r.codes for r in rows]), np.concatenate([r.numbers for r in rows])
    weight = np.concatenate([r.weight for r in rows])
    pivot = np.zeros(cells.shape[1])
    for j, name in enumerate(reading.numbers):
        known = ~np.isnan(cells[:, j])
        if not known.any():
            raise DataError(f"every cell of {name!r} is missing: leave it out")
        pivot[j] = np.average(cells[known, j], weights=weight[known])
        variance = float(np.average((cells[known, j] - pivot[j]) ** 2, weights=weight[known]))
        if not variance > ROUNDED * 1e-6 * pivot[j] ** 2:
            raise DataError(f"column {name!r} is constant, {pivot[j]:.6g}: leave it out")
        old = blank[name]
        filled = np.full(old.intercept.shape, pivot[j]), old.weights, np.full(old.variance.shape, variance)
        blank[name] = NumberNode(name, old.categories, old.numbers, *filled)
    for i, name in enumerate(reading.categories):
        known = codes[:, i] >= 0
        share = np.bincount(codes[known, i], weight[known], sizes[name]) + 1.0
        blank[name] = np.broadcast_to(share / share.sum(), tables[name].shape(sizes)).copy()
    return HybridNetwork(bare.parents, blank, states), rows, pivot
