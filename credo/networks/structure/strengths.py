"""Contributions of variables and arrows to a network's score, and averages over structures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from credo.data import Source, source
from credo.errors import NetworkError, SchemaError, suggest
from credo.networks.structure.learn import task_of
from credo.networks.structure.score import Score

if TYPE_CHECKING:
    from credo.networks.average import NetworkAverage
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.network import Network


def scored_nodes(net: Network, data: object, score: str, weight: Any, equivalent: float) -> dict[str, float]:
    """Each variable's part of the score."""
    table = source(data)
    how: dict[str, Any] = {"kinds": _ignored(net, table, weight), "weight": weight, "equivalent": equivalent}
    task = task_of(table, score, **how, states=dict(net.states) if net.declared else None, only_counts=True)
    return node_scores(task.scored(task.columns), net.parents)


def scored_hybrid_nodes(
    net: HybridNetwork, data: object, score: str, weight: Any, equivalent: float
) -> dict[str, float]:
    """Each variable's part of the score; a category has no numbers among its parents."""
    for name, node in net.logistic.items():
        raise NetworkError(
            f"{name!r} is a category with the number {node.numbers[0]!r} as a parent, and no score has such arrows: "
            "cross_validate(data) compares networks with them"
        )
    table = source(data)
    kinds = {name: "number" if name in net.numbers else "category" for name in net.nodes}
    kinds |= _ignored(net, table, weight)
    task = task_of(table, score, kinds=kinds, weight=weight, equivalent=equivalent, only_counts=True)
    return node_scores(task.scored(task.columns), net.parents)


def averaged(net: Network, data: object, prior: Any, structures: int, how: Mapping[str, Any]) -> NetworkAverage:
    """The average over structures of a network's variables."""
    from credo.networks.structure.edge_confidence import edge_confidence

    table = source(data)
    kinds = {**_ignored(net, table, how.get("weight")), **(how.get("kinds") or {})}
    states = dict(net.states) if net.declared and how.get("bins") is None else None
    found = edge_confidence(table, **{"states": states, **how, "kinds": kinds})
    return found.average(prior=prior, structures=structures)


def _ignored(net: Network | HybridNetwork, table: Source, weight: Any) -> dict[str, str]:
    """Kinds that ignore the columns that aren't variables."""
    names = table.names
    for name in (name for name in net.variables if name not in names):
        raise SchemaError(f"there is no column {name!r}; {suggest(name, names)}")
    return {name: "ignore" for name in names if name not in net.variables and name != weight}


def node_scores(score: Score, parents: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    """Each variable's part of the score: log P(its column | its parents' columns), up to the score's penalty."""
    place = {name: i for i, name in enumerate(score.variables)}
    return {name: float(score.family(place[name], [place[p] for p in parents[name]])) for name in parents}


def arrow_strengths(score: Score, parents: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, str], float]:
    """score(child | parents) - score(child | parents but one): the loss of score without the arrow. For a Bayesian
    score, a log Bayes factor."""
    place = {name: i for i, name in enumerate(score.variables)}
    found: dict[tuple[str, str], float] = {}
    for child, above in parents.items():
        whole = score.family(place[child], [place[p] for p in above])
        for parent in above:
            rest = [place[p] for p in above if p != parent]
            found[parent, child] = float(whole - score.family(place[child], rest))
    return found
