"""Learning a hybrid network from a table: by adding up complete rows, or by EM where cells are missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo import engines
from credo.core.learning import RowWeights, Weight, Weights
from credo.core.membership import Codes
from credo.data import Batch, Source, source
from credo.data.profile import infer_schema
from credo.data.schema import Schema
from credo.errors import DataError, NetworkError, SchemaError, suggest
from credo.networks.fitting import FittingSettings, hidden_variable_states
from credo.networks.hybrid.em_fitting import HybridFit
from credo.networks.hybrid.learning import HybridLearner, NodeShape, logistic_shapes
from credo.networks.hybrid.line_priors import HybridPriors
from credo.networks.learning import NUMERIC_KINDS
from credo.networks.missing_information import hidden_variables
from credo.networks.row_queries import check_names
from credo.notices import listed, tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.inference.findings import Given


def fitted(
    net: HybridNetwork,
    data: object,
    prior: Any,
    kinds: Mapping[str, str] | None,
    weight: Weight,
    hidden: Mapping[str, Any] | None,
    how: FittingSettings,
) -> HybridNetwork:
    from credo.networks.hybrid.network import HybridNetwork

    table = source(data).repeatable()
    unseen = _hidden_states(net, hidden, table.without(weight).names)
    known, states = _kinds(net, table, kinds, unseen), {**_declared(net), **unseen}
    numbers = {name for name, kind in known.items() if kind == "number"}
    logistic = logistic_shapes(net.parents, numbers)
    regressed = numbers | {*logistic}
    bare = HybridNetwork(net.parents, None, None, HybridPriors.of(prior, regressed, {*net.parents} - regressed))
    learner = HybridLearner(bare, None, known, states)
    incomplete = bool(unseen) or _incomplete(learner, table)
    if logistic:
        if incomplete:
            raise DataError(
                f"{next(iter(logistic))!r} has numbers among its parents, and logistic nodes need complete rows"
            )
        return _with_logistic(learner, logistic, table, weight)
    if not incomplete:
        return learner.update(table, weight=weight).network
    return HybridFit.of(learner, table, Weights.of(weight), tuple(unseen)).solved(how)


def updated(net: HybridNetwork, data: object, weight: Weight, how: FittingSettings) -> HybridNetwork:
    """The network after learning more rows: added if they are complete; else EM continues."""
    learner, table = HybridLearner.of(net), source(data).repeatable()
    learner._check_additive("learn from more rows")
    columns = table.without(weight).names
    check_names(columns, net.parents)
    absent = [name for name in net.parents if name not in columns]
    if len(absent) == len(net.parents):
        raise DataError(f"no column is a variable of the network: the table has {', '.join(columns[:8])}")
    if not absent and not _incomplete(learner, table):
        return learner.update(table, weight=weight).network
    if new := [name for name in absent if name not in hidden_variables(net.states, net.evidence)]:
        tell(f"{listed(new)}: no such column, so missing in all these rows")
    if net.history:
        tell("earlier rows keep EM's earlier expectations of their missing cells: to fit all rows together, use fit")
    return HybridFit.of_more_rows(learner, table, Weights.of(weight), absent).solved(how)


def _with_logistic(
    learner: HybridLearner, shapes: Mapping[str, NodeShape], table: Source, weight: Weight
) -> HybridNetwork:
    """Tables and Gaussian nodes by adding up rows, logistic nodes by Newton's method over all rows."""
    from credo.networks.hybrid.logistic_fitting import fitted_logistic
    from credo.networks.hybrid.network import HybridNetwork

    evidence = learner.gathered(table, weight).ordered()
    states = {column.name: column.values for column in evidence.schema if column.levels is not None}
    reading, weights = replace(learner, states=states), Weights.of(weight)
    job = ReadMixedRows(reading, weights.of_a_row)
    parts = [*engines.map(job, weights.partitions(table, learner.network.variables))]
    codes = {name: np.concatenate([own[0][name] for own in parts]) for name in states}
    numbers = {name: np.concatenate([own[1][name] for own in parts]) for name in learner.numbers}
    row_weights = np.concatenate([own[2] for own in parts])
    sizes, prior = {name: len(own) for name, own in states.items()}, learner.network.prior
    nodes = {
        name: fitted_logistic(shape, codes, numbers, sizes, row_weights, prior.line(name))
        for name, shape in shapes.items()
    }
    return HybridNetwork.of_evidence(learner.network.parents, prior, evidence, nodes)


def _hidden_states(net: HybridNetwork, given: Given, columns: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """The states of categories that aren't columns: given by number or by name, or declared."""
    check_names(columns, net.parents)
    if given is not None and not isinstance(given, Mapping):
        raise NetworkError(f"hidden must be {{variable: number of states}}, but is {given!r:.60}")
    found: dict[str, tuple[Any, ...]] = {}
    for name, states in (given or {}).items():
        if name not in net.parents:
            raise SchemaError(f"{name!r} can't be hidden: it isn't a variable; {suggest(name, net.parents)}")
        if name in columns:
            raise SchemaError(f"{name!r} can't be hidden: the data have a column of it")
        if name in net.numbers:
            raise SchemaError(f"{name!r} can't be hidden: it is a number, and hidden variables are categories")
        found[name] = hidden_variable_states(name, states)
    for absent in (name for name in net.parents if name not in columns and name not in found):
        if absent not in net.states or len(columns) == 0:
            raise DataError(
                f"no column {absent!r} ({suggest(absent, columns)}): a hidden category is fitted by EM with "
                f"hidden={{{absent!r}: 2}}, its number of states"
            )
        found[absent] = net.states[absent]
        if not net.history:
            tell(f"{absent!r}: not a column, so hidden, and fitted by EM")
    return found


def _declared(net: HybridNetwork) -> dict[str, tuple[Any, ...]]:
    """Declared states: given directly, or with nodes."""
    return dict(net.states if net.evidence is None else HybridLearner.of(net).states)


def _kinds(
    net: HybridNetwork, table: Source, given: Mapping[str, str] | None, hidden: Collection[str]
) -> dict[str, str]:
    """ "number" or "category" of each variable: as given, as known already, or as inferred from the column."""
    for unknown in (name for name in given or {} if name not in net.parents):
        raise SchemaError(f"kinds has {unknown!r}, which isn't a variable; {suggest(unknown, net.parents)}")
    fixed = dict.fromkeys([*_declared(net), *hidden], "category")
    if net.nodes and net.evidence is None:
        fixed |= dict.fromkeys(net.numbers, "number")
    known = dict.fromkeys(net.numbers, "number") | dict.fromkeys(net.states, "category") | dict(given or {}) | fixed
    for name, kind in (given or {}).items():
        if name in fixed and _plain(kind) not in (None, fixed[name]):
            raise SchemaError(
                f"kinds says that {name!r} is a {_plain(kind)}, but its node or its states say a {fixed[name]}: leave "
                "these out, as in credo.HybridNetwork(arrows).fit(data, kinds=...)"
            )
    unsure = [name for name in net.parents if known.get(name) not in ("number", "category")]
    if unsure:
        schema = infer_schema(table, {name: known[name] for name in unsure if name in known} or None)
        for name in unsure:
            known[name] = _plain(schema[name].kind if name in schema.names else "category") or "category"
        _notice_few_values(schema, [name for name in unsure if known[name] == "category"])
    return {name: known[name] for name in net.parents}


def _plain(kind: str) -> str | None:
    """ "number" or "category"; None for other kinds, which the column decides."""
    return "number" if kind in NUMERIC_KINDS else "category" if kind == "category" else None


def _notice_few_values(schema: Schema, names: Sequence[str]) -> None:
    """Give a notice about integers with one or two values, which are categories unless `kinds` says otherwise."""
    import pyarrow as pa

    columns = [schema[name] for name in names if name in schema.names and schema[name].levels is not None]
    few = [column.name for column in columns if pa.types.is_integer(column.levels.type)]
    if few:
        tell(
            f"{listed(few)}: whole numbers of at most two values are read as categories; "
            f'kinds={{{few[0]!r}: "number"}} keeps them numbers'
        )


def _incomplete(learner: HybridLearner, table: Source) -> bool:
    """Whether a cell is missing."""
    names = learner.network.variables
    return bool(engines.reduce(AnyMissing(names, frozenset(learner.numbers)), table.partitions(names), any))


@dataclass(frozen=True)
class AnyMissing:
    """The job of one batch: whether a cell is missing."""

    names: tuple[str, ...]
    numbers: frozenset[str]

    def __call__(self, batch: Batch) -> bool:
        for name in self.names:
            if name in self.numbers:
                if np.isnan(batch.numbers(name)).any():
                    return True
            elif (batch.categories(name)[0] < 0).any():
                return True
        return False


@dataclass(frozen=True, eq=False)
class ReadMixedRows:
    """The job of one batch: codes of categories, numbers, and the rows' weights."""

    learner: HybridLearner
    weights: RowWeights

    def __call__(self, batch: Batch) -> tuple[dict[str, Codes], dict[str, Array], Array]:
        return (*self.learner.read(batch)[:2], self.weights.of_rows(batch))
