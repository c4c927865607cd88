"""Comparing networks: the distance between graphs, and the divergence between distributions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.records import Shown
from credo.errors import SchemaError, SizeError, check_seed, suggest
from credo.networks.answers import EstimatedNumber
from credo.networks.inference.sizes import SAMPLES, is_exact, needed
from credo.networks.mixed_graph import Edge, MixedGraph
from credo.notices import tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.network import Network


def check_same_variables(one: Iterable[str], other: Iterable[str]) -> None:
    left, right = {*one}, {*other}
    for name in sorted(left ^ right):
        where = right if name in left else left
        raise SchemaError(f"only one of the two graphs has {name!r}; the other's {suggest(name, sorted(where))}")


@dataclass(frozen=True)
class GraphComparison(Shown):
    """The pairs of variables in which an estimated graph differs from the true graph.

    >>> truth = MixedGraph(("A", "B", "C"), frozenset({("A", "B"), ("C", "B")}))
    >>> found = GraphComparison.of(truth, MixedGraph(("A", "B", "C"), frozenset({("B", "A"), ("C", "B")})))
    >>> found
    GraphComparison(shd=1, missing=(), extra=(), misdirected=(('A', 'B'),))
    >>> found.adjacency_precision, found.arrow_recall
    (1.0, 0.5)
    """

    shd: int  # the structural Hamming distance
    missing: tuple[Edge, ...]
    extra: tuple[Edge, ...]
    misdirected: tuple[Edge, ...]  # an arrow the wrong way round, or undirected in one of them
    truth: MixedGraph
    guess: MixedGraph

    @classmethod
    def of(cls, truth: MixedGraph, guess: MixedGraph) -> GraphComparison:
        check_same_variables(truth.variables, guess.variables)
        place = {name: i for i, name in enumerate(truth.variables)}

        def marks(graph: MixedGraph) -> dict[Edge, str]:
            pairs = [(a, b, mark) for a, mark, b in graph.listed()]
            turned = [
                (b, a, {"->": "<-"}.get(mark, mark)) if place[a] > place[b] else (a, b, mark) for a, b, mark in pairs
            ]
            return {(a, b): mark for a, b, mark in turned}

        one, two = marks(truth), marks(guess)
        order = sorted({*one, *two}, key=lambda pair: (place[pair[0]], place[pair[1]]))
        missing = tuple(pair for pair in order if pair not in two)
        extra = tuple(pair for pair in order if pair not in one)
        wrong = tuple(pair for pair in order if pair in one and pair in two and one[pair] != two[pair])
        return cls(len(missing) + len(extra) + len(wrong), missing, extra, wrong, truth, guess)

    @property
    def adjacency_precision(self) -> float:
        """The share of estimated adjacencies that are true; 1 if there are none."""
        return _share(len(self.guess.arrows) + len(self.guess.edges), len(self.extra))

    @property
    def adjacency_recall(self) -> float:
        """The share of true adjacencies that were found."""
        return _share(len(self.truth.arrows) + len(self.truth.edges), len(self.missing))

    @property
    def arrow_precision(self) -> float:
        """The share of estimated arrows that are true, in the same direction."""
        return _share(len(self.guess.arrows), len(self.guess.arrows - self.truth.arrows))

    @property
    def arrow_recall(self) -> float:
        """The share of true arrows that were found, in the same direction."""
        return _share(len(self.truth.arrows), len(self.truth.arrows - self.guess.arrows))

    def __repr__(self) -> str:
        own = f"missing={self.missing}, extra={self.extra}, misdirected={self.misdirected}"
        return f"GraphComparison(shd={self.shd}, {own})"

    def plot(self, ax: object = None) -> Any:
        """Both graphs in one picture: shared, missing, extra and misdirected edges."""
        from credo.present.graph_plot import plot_comparison

        return plot_comparison(self, ax)


def _share(whole: int, wrong: int) -> float:
    return 1.0 if whole == 0 else (whole - wrong) / whole


# Distributions


def divergence(p: Network, q: Network, method: str = "auto", samples: int = SAMPLES, seed: int = 0) -> float:
    """KL(p ‖ q) = Σ p(x) log p(x)/q(x), in nats: exactly, from the marginals of p over the families of q; estimated
    from rows drawn from p where these don't fit in memory."""
    check_same_variables(p.variables, q.variables)
    check_seed(seed)
    for net in (p, q):
        _ = net.factors  # an error, where there are no tables
    if is_exact(method):
        try:
            return _exact(p, q)
        except SizeError as error:
            if method == "exact":
                raise
            tell(f"{needed(error)}: estimated from sampled rows instead, with a standard error")
    return _estimated(p, q, samples, seed)


def _exact(p: Network, q: Network) -> float:
    """Σ over variables of E[log p(x | parents in p)] - E[log q(x | parents in q)]: common families are handled first,
    so no digits are lost."""
    total = 0.0
    for name in p.variables:
        own, other = p.parents[name], q.parents[name]
        scope = (*own, name)
        joint, table = _joint(p, scope), p.tables[name]
        if {*own} == {*other}:
            ratio = _mean_log(joint, table, _aligned(p, q, name, scope))
        else:
            theirs = (*other, name)
            ratio = _mean_log(joint, table, np.ones_like(table))
            ratio -= _mean_log(_joint(p, theirs), _aligned(p, q, name, theirs), np.ones(1))
        total += ratio
        if total == inf:
            return inf
    return max(0.0, total)


def _joint(net: Network, names: tuple[str, ...]) -> Array:
    found = net.query([*names], method="exact")
    return np.array([*found.values()]).reshape([len(net.states[name]) for name in names])


def _mean_log(joint: Array, above: Array, below: Array) -> float:
    """E[log above/below]: 0 log 0 = 0; infinite where only `below` is 0."""
    happens = joint > 0
    above, below = np.broadcast_to(above, joint.shape)[happens], np.broadcast_to(below, joint.shape)[happens]
    if (above == 0).any():
        return -inf
    return inf if (below == 0).any() else float(joint[happens] @ np.log(above / below))


def _aligned(p: Network, q: Network, name: str, scope: tuple[str, ...]) -> Array:
    """q's table over a scope, its states in p's order; states that q doesn't have get probability 0."""
    theirs = (*q.parents[name], name)
    table = q.tables[name].transpose([theirs.index(each) for each in scope])
    for axis, each in enumerate(scope):
        place = {state: i for i, state in enumerate(q.states[each])}
        nothing = np.zeros_like(table.take([0], axis))
        parts = [table.take([place[state]], axis) if state in place else nothing for state in p.states[each]]
        table = np.concatenate(parts, axis)
    return table


def _estimated(p: Network, q: Network, samples: int, seed: int) -> float:
    """The mean of log p(x)/q(x) over rows sampled from p."""
    rows = p.sample(samples, seed=seed)
    codes = {}
    for name, states in p.states.items():
        place = {state: i for i, state in enumerate(states)}
        codes[name] = np.array([place[state] for state in rows[name].to_pylist()])
    logs = np.zeros(samples)
    for name in p.variables:
        mine, theirs = (*p.parents[name], name), (*q.parents[name], name)
        above = p.tables[name][tuple(codes[each] for each in mine)]
        below = _aligned(p, q, name, theirs)[tuple(codes[each] for each in theirs)]
        if (below == 0).any():
            return inf
        logs += np.log(above) - np.log(below)
    error = float(logs.std(ddof=1)) / sqrt(samples)
    return EstimatedNumber(float(logs.mean()), error, float(samples), "forward")
