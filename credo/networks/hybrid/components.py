"""The factors that an answer needs, and the connected components of number nodes among them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from credo.errors import SizeError
from credo.networks import graph
from credo.networks.hybrid.findings import HybridFindings
from credo.networks.hybrid.gaussian import FEWEST_SPARSE_UNKNOWNS, SolvedGaussian, solved_dense, solved_sparse
from credo.networks.hybrid.number_node import Equations, NumberNode
from credo.numerics.arrays import Positions

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork

MOST_CONFIGURATIONS = 2**14  # configurations of category parents that are summed over
MOST_MATRIX_NUMBERS = 2**26  # floats in the matrices of these configurations


def relevant(net: HybridNetwork, asked: Collection[str], findings: HybridFindings) -> list[str]:
    """The variables whose factors P(variable | parents) matter for P(asked | findings): ancestors of the query and the
    findings that are connected to the query through unknown variables. Without a query, all ancestors."""
    known = findings.hard
    above = graph.reached({*asked, *findings.names}, net.parents)
    if not asked:
        return [name for name in net.parents if name in above]
    below, waiting = net.below, [name for name in asked if name not in known]
    needed, seen = set[str](), set(waiting)
    while waiting:
        name = waiting.pop()
        for factor in (name, *(child for child in below[name] if child in above)):
            if factor in needed:
                continue
            needed.add(factor)
            for other in (factor, *net.parents[factor]):
                if other not in seen and other not in known:
                    seen.add(other)
                    waiting.append(other)
    return [name for name in net.parents if name in needed]


@dataclass(frozen=True, eq=False)
class GaussianComponent:
    """Number nodes connected through unknown numbers; given the states of the switches, one Gaussian."""

    nodes: tuple[NumberNode, ...]
    unknown: tuple[str, ...]
    switches: tuple[str, ...]  # unknown category parents
    sizes: tuple[int, ...]  # the number of states of each switch
    findings: HybridFindings
    equations: Equations  # of all numbers in the network

    @property
    def configurations(self) -> int:
        return prod(self.sizes)

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.unknown)}

    @property
    def intervals(self) -> list[str]:
        return [name for name in self.unknown if name in self.findings.intervals]

    @property
    def informs(self) -> bool:
        """Whether there is evidence on its numbers, which then changes the probabilities of categories."""
        return bool(self.intervals) or any(node.name in self.findings.values for node in self.nodes)

    def every(self) -> dict[str, Positions]:
        """The switches' states in each configuration, the last switch changing fastest."""
        codes = np.unravel_index(np.arange(self.configurations), self.sizes) if self.sizes else ()
        return dict(zip(self.switches, codes, strict=True))

    def check(self) -> None:
        """Refuse a computation that is too large, before it starts."""
        count = self.configurations
        if count == 1 and len(self.unknown) > FEWEST_SPARSE_UNKNOWNS:
            return
        if count > MOST_CONFIGURATIONS or count * len(self.nodes) * max(len(self.unknown), 1) > MOST_MATRIX_NUMBERS:
            raise SizeError(
                f"an exact answer sums over {count:.3g} configurations of {len(self.switches)} categories that numbers "
                'depend on; more evidence makes them fewer, and method="auto" estimates'
            )

    def solved(self, codes: Mapping[str, Positions]) -> SolvedGaussian:
        """The Gaussian for some configurations of the switches."""
        count = len(next(iter(codes.values()))) if codes else 1
        if count == 1 and len(self.unknown) > FEWEST_SPARSE_UNKNOWNS:
            return self._sparse(codes)
        every = {name: np.full(count, code, dtype=np.intp) for name, code in self.findings.states.items()} | dict(codes)
        some = 1 if all(node.parallel for node in self.nodes) else count  # configurations whose covariance is computed
        coefficients, variance = np.zeros((some, len(self.nodes), len(self.unknown))), np.zeros((some, len(self.nodes)))
        constant = np.zeros((count, len(self.nodes)))
        for i, node in enumerate(self.nodes):
            intercept, weights, own = node.at(every)
            weights, own = np.broadcast_to(weights, (count, len(node.numbers))), np.broadcast_to(own, (count,))
            constant[:, i], variance[:, i] = -intercept, own[:some]
            for j, name in enumerate((node.name, *node.numbers)):
                weight = np.ones(count) if j == 0 else -weights[:, j - 1]
                if name in self.places:
                    coefficients[:, i, self.places[name]] += weight[:some]
                else:
                    constant[:, i] += weight * self.findings.values[name]
        return solved_dense(coefficients, constant, variance)

    def _sparse(self, codes: Mapping[str, Positions]) -> SolvedGaussian:
        """Rows of the equations of all numbers; those of nodes with category parents are filled in."""
        from scipy import sparse

        place = self.equations.place
        own = np.array([place[node.name] for node in self.nodes])
        unknown = np.array([place[name] for name in self.unknown])
        coefficients = self.equations.coefficients[own]
        constant, variance = -self.equations.intercept[own], self.equations.variance[own]
        below = [i for i, node in enumerate(self.nodes) if node.categories]
        if below:
            every = self.findings.states | {name: int(code[0]) for name, code in codes.items()}
            coefficients = coefficients.tolil()
            for i in below:
                node = self.nodes[i]
                where = tuple(every[name] for name in node.categories)
                constant[i], variance[i] = -node.intercept[where], node.variance[where]
                coefficients[i, place[node.name]] = 1.0
                for name, weight in zip(node.numbers, node.weights[where].tolist(), strict=True):
                    coefficients[i, place[name]] = -weight
        known = np.zeros(len(place))
        for name, value in self.findings.values.items():
            known[place[name]] = value
        whole = sparse.csc_array(coefficients)
        return solved_sparse(whole[:, unknown], constant + whole @ known, variance)


def components(net: HybridNetwork, names: Iterable[str], findings: HybridFindings) -> list[GaussianComponent]:
    """The connected components of the number nodes among some variables: they share no unknown number."""
    nodes = [net.numbers[name] for name in names if name in net.numbers and name not in net.done]
    first: dict[str, str] = {}  # union-find: each unknown number's representative; a root has its own name

    def root(name: str) -> str:
        while first.setdefault(name, name) != name:
            first[name] = first[first[name]]
            name = first[name]
        return name

    linked = [[name for name in _numbers(node) if name not in findings.values] for node in nodes]
    for names_of_one in linked:
        for name in names_of_one[1:]:
            first[root(name)] = root(names_of_one[0])
    groups: dict[str | int, list[NumberNode]] = {}
    for i, (node, own) in enumerate(zip(nodes, linked, strict=True)):
        groups.setdefault(root(own[0]) if own else i, []).append(node)
    return [_component(net, each, findings) for each in groups.values()]


def _numbers(node: NumberNode) -> tuple[str, ...]:
    return (node.name, *node.numbers)


def _component(net: HybridNetwork, nodes: list[NumberNode], findings: HybridFindings) -> GaussianComponent:
    unknown = dict.fromkeys(name for node in nodes for name in _numbers(node) if name not in findings.values)
    above = dict.fromkeys(name for node in nodes for name in node.categories if name not in findings.states)
    sizes = tuple(len(net.states[name]) for name in above)
    return GaussianComponent(tuple(nodes), tuple(unknown), tuple(above), sizes, findings, net.equations)
