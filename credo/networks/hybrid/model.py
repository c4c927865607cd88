"""A hybrid network's parts: arrows, states, a node for each variable, prior, evidence; and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from credo.core.records import Surface, with_fields
from credo.errors import NetworkError
from credo.networks import graph
from credo.networks.directed_graph import DirectedGraph
from credo.networks.fixed import Fixed
from credo.networks.hybrid.number_node import Equations, LogisticNode, NumberNode
from credo.networks.hybrid.specification import Declared, Node, declared, split_parents
from credo.networks.network import Network
from credo.networks.tables import States
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.core.evidence import Evidence
    from credo.networks.inference.potentials import Potentials


@dataclass(frozen=True, eq=False, init=False, repr=False)
class HybridModel(DirectedGraph, Surface):
    """P(all) = ∏ P(name | parents) over categories and numbers: the product, and other evidence for the same arrows."""

    _internal: ClassVar[tuple[str, ...]] = (
        "after_setting", "below", "category_index", "category_network", "category_parents", "equations", "fixed_nodes",
        "fixed_states", "of_evidence", "with_evidence",
    )  # fmt: skip

    parents: Mapping[str, tuple[str, ...]]
    states: States  # states of categories
    nodes: Mapping[str, Node]  # each variable given its parents; empty where only the arrows are known
    prior: Any  # HybridPriors; None where nothing was learned
    evidence: Any  # Evidence of the nodes; None where these are fixed, or nothing was learned
    history: tuple[float, ...]  # EM's objective after each step; empty where rows were complete
    done: Mapping[str, float]  # numbers that an intervention set

    def __init__(
        self,
        arrows: str | Mapping[str, Iterable[str]] | Iterable[tuple[str, str]],
        nodes: Mapping[str, Any] | None = None,
        states: Mapping[str, Sequence[Any]] | None = None,
        prior: Any = None,
    ) -> None:
        parents = graph.checked(graph.parse_arrows(arrows) if isinstance(arrows, str) else arrows)
        if not parents:
            raise NetworkError("a network must have at least one variable")
        graph.in_order(parents)  # refuses cycles
        if nodes is not None and not isinstance(nodes, Mapping):
            raise NetworkError(f"nodes must be {{name: table or node}}, but are {nodes!r:.60}")
        found = (
            declared(parents, nodes, states)
            if nodes
            else Declared({n: tuple(s) for n, s in (states or {}).items()}, {})
        )
        self._set(parents, found, prior, None, (), {})

    @classmethod
    def of_evidence(
        cls,
        parents: Mapping[str, tuple[str, ...]],
        prior: Any,
        evidence: Evidence,
        logistic: Mapping[str, LogisticNode] | None = None,
        history: Sequence[float] = (),
    ) -> Self:
        """The network with states and nodes derived from evidence, except logistic nodes, which have none."""
        from credo.networks.hybrid.learning import derived

        made, found = derived(parents, prior, evidence, logistic or {})
        new = object.__new__(cls)
        new._set(parents, found, made, evidence, tuple(history), {})
        return new

    def after_setting(self, done: Mapping[str, float]) -> Self:
        """The same network, after an intervention that set these numbers."""
        return with_fields(self, done=Fixed(dict(done)))

    def _set(
        self, parents: Any, found: Declared, prior: Any, evidence: Any, history: tuple[float, ...], done: Any
    ) -> None:
        values = (parents, *found, prior, evidence, history, done)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, Fixed(value) if type(value) is dict else value)

    # Parts

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.parents)

    def __len__(self) -> int:
        return len(self.parents)

    def __contains__(self, name: object) -> bool:
        return name in self.parents

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables, parents before their children."""
        return graph.in_order(self.parents)

    @cached_property
    def below(self) -> Mapping[str, list[str]]:
        return graph.children(self.parents)

    @cached_property
    def tables(self) -> Mapping[str, Array]:
        """Tables of categories without number parents. (the parents' states..., own states)"""
        return {name: node for name, node in self.nodes.items() if isinstance(node, np.ndarray)}

    @cached_property
    def numbers(self) -> Mapping[str, NumberNode]:
        """The variables that are numbers, with their nodes."""
        return {name: node for name, node in self.nodes.items() if isinstance(node, NumberNode)}

    @cached_property
    def logistic(self) -> Mapping[str, LogisticNode]:
        """The categories with numbers among their parents, with their nodes."""
        return {name: node for name, node in self.nodes.items() if isinstance(node, LogisticNode)}

    @property
    def fixed_nodes(self) -> Mapping[str, Node]:
        """The nodes that aren't derived from evidence."""
        return self.nodes if self.evidence is None else self.logistic

    @property
    def fixed_states(self) -> States:
        """The states, unless they are derived from evidence."""
        return self.states if self.evidence is None else {}

    @cached_property
    def equations(self) -> Equations:
        """The regressions of all numbers without category parents."""
        return Equations.of(self.numbers)

    @cached_property
    def category_index(self) -> Potentials:
        """The categories and their states, for reading findings."""
        from credo.networks.inference.potentials import Potentials

        return Potentials.of(self.states, (), directed=False)

    def category_parents(self, name: str) -> tuple[str, ...]:
        return split_parents(self.parents[name], {*self.numbers})[0]

    @cached_property
    def category_network(self) -> Network:
        """The network of the categories alone."""
        return Network({name: self.category_parents(name) for name in self.states}, self.tables, self.states)

    def _check_nodes(self) -> None:
        if not self.nodes:
            raise NetworkError("the network has arrows but no nodes: give nodes=, or learn them with fit")

    def with_evidence(self, evidence: Evidence, history: tuple[float, ...] = ()) -> Self:
        """The same arrows and prior, with nodes derived from that evidence."""
        return self.of_evidence(self.parents, self.prior, evidence, self.logistic, history)

    def __eq__(self, other: object) -> bool:
        """Whether arrows, states and nodes are the same."""
        if not isinstance(other, HybridModel):
            return NotImplemented
        for each in ("parents", "states", "done"):
            if dict(getattr(self, each)) != dict(getattr(other, each)):
                return False
        pairs = ((node, other.nodes.get(name)) for name, node in self.nodes.items())
        return len(self.nodes) == len(other.nodes) and all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) else bool(a == b)
            for a, b in pairs
        )

    def __hash__(self) -> int:
        return hash(frozenset((name, frozenset(above)) for name, above in self.parents.items()))

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone, without derived values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
