"""The posterior of a node: a Dirichlet for a row of a table, a normal-inverse-gamma for a Gaussian node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from credo.core.evidence import Evidence, Part
from credo.core.statistics import Counts
from credo.data.schema import Column, Schema
from credo.errors import EvidenceError, PriorError, SchemaError
from credo.estimation.belief import OBSERVATIONS_LABEL, Belief
from credo.networks.hybrid.learning import HybridLearner, shapes_of
from credo.networks.hybrid.line_priors import observed_sums, resolved_at
from credo.networks.inference.findings import state
from credo.networks.missing_information import missing_information, observed_counts
from credo.networks.table_beliefs import belief_of_row
from credo.networks.table_priors import dirichlet_of
from credo.numerics.exact import Exact

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.inference.findings import Given


def belief(net: HybridNetwork, name: str, given: Given) -> Belief:
    """The posterior of a node at given states of its category parents."""
    net._known(name)
    if net.evidence is None:
        raise EvidenceError("the network's nodes are fixed: beliefs are about nodes that were learned with fit")
    if name in net.logistic:
        raise EvidenceError(f"{name!r} has a logistic node, for which only the most probable weights are known")
    tables, lines = shapes_of(net.parents, HybridLearner.of(net).numbers)
    above = lines[name].categories if name in lines else tables[name].parents
    where = _where(net, name, above, given or {})
    if name in tables:
        return _of_row(net, name, where)
    line = lines[name]
    statistics: Any = observed_sums(net.evidence, line.label)
    at = where or (0,)
    prior = resolved_at(net.prior.line(name), name, statistics, at)
    if prior is None:
        raise PriorError(f"the line of {name!r} was fitted by maximum likelihood: a belief needs a prior")
    own = statistics[at]._map(lambda x: x[None])
    columns = tuple(Column(each, "number") for each in line.columns)
    return Belief(prior, columns=line.columns).with_evidence(
        Evidence(Schema(columns), {OBSERVATIONS_LABEL: Part((None,), own)})
    )


def _where(net: HybridNetwork, name: str, above: tuple[str, ...], given: Mapping[str, Any]) -> tuple[int, ...]:
    for other in (other for other in given if other not in above):
        known = ", ".join(above) or "none"
        raise SchemaError(
            f"a belief about {name!r} is given its category parents ({known}), and {other!r} isn't one: use query"
        )
    for missing in (parent for parent in above if given.get(parent) is None):
        raise SchemaError(f"a belief about {name!r} needs the state of each category parent, and {missing!r} has none")
    index, names = net.category_index, [*net.states]
    return tuple(state(index, names.index(parent), given[parent]) for parent in above)


def _of_row(net: HybridNetwork, name: str, where: tuple[int, ...]) -> Belief:
    tables, _ = shapes_of(net.parents, {*net.numbers})
    label, prior = tables[name].label, net.prior.tables[name]
    missing, n = missing_information(net.evidence, label), net.evidence[label].n.value
    counts = net.evidence[label] if missing is None else Counts(Exact.of(observed_counts(n, net.tables[name], missing)))
    if prior is None:
        raise PriorError(f"the table of {name!r} was fitted by maximum likelihood: a belief needs a prior")
    return belief_of_row(name, net.states[name], dirichlet_of(prior, counts.n.shape, name), counts, where)
