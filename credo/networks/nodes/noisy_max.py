"""Noisy-MAX: each cause produces a grade of the effect, and the highest one shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from credo.errors import NetworkError
from credo.networks.nodes.distribution import NodeFamily, false_state
from credo.networks.nodes.independent_causes import CausesNode
from credo.networks.nodes.noisy import NoisyDistribution, by_state
from credo.networks.tables import row_of
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.answers import Posterior


@dataclass(frozen=True)
class NoisyMax(NoisyDistribution):
    """The highest of the grades that the causes and the leak produce (Henrion 1989; Díez 1993).

    Each cause takes {state: row}: a row is {grade: probability}, or a list in the order of the node's states; if only
    one state of a parent has an effect, its row is enough. `order` has the node's states from the lowest grade to the
    highest; by default the negative state, otherwise the last one, is the lowest, and the first the highest.

    >>> from credo.networks.network import Network
    >>> pain = NoisyMax({"Burn": [0.5, 0.3, 0.2], "Cut": [0.1, 0.4, 0.5]})
    >>> states = {"Burn": ["yes", "no"], "Cut": ["yes", "no"], "Pain": ["severe", "mild", "none"]}
    >>> net = Network("Burn -> Pain <- Cut", {"Burn": 0.1, "Cut": 0.2, "Pain": pain}, states)
    >>> net.query("Pain", {"Burn": "yes", "Cut": "yes"})["none"]  # 0.2 · 0.5
    0.1
    """

    order: Sequence[Any] | None = None

    called = "noisy-MAX"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order is not None:
            object.__setattr__(self, "order", tuple(self.order))

    def node(self, family: NodeFamily) -> CausesNode:
        self._check_family(family)
        neutral = self.neutral_states(family, false_state)
        return CausesNode(family, self.bare(), self._grades(family), neutral)

    def _grades(self, family: NodeFamily) -> tuple[int, ...]:
        if self.order is None:
            lowest = false_state(family.own)
            return (lowest, *(i for i in reversed(range(len(family.own))) if i != lowest))
        if {*self.order} != {*family.own} or len(self.order) != len(family.own):
            raise NetworkError(f"the order of {family.name!r} must have each state once, but is {self.order!r:.60}")
        return tuple(family.own.index(state) for state in self.order)

    def rows(self, node: CausesNode) -> Array:
        found, family = node.start(), node.family
        none = self.leak is None or self.is_tight
        found[0] = np.eye(len(node.grades))[0] if none else _graded(node, self.leak, " by its leak")
        for parent, at, neutral in zip(node.parents, node.starts, node.neutral, strict=False):
            given = self.causes[parent]
            for state, row in by_state(family, parent, neutral, _rows(given), given, "row").items():
                found[at + family.code(parent, state)] = _graded(node, row, f" given {parent}={state}")
        return found

    def with_rows(self, node: CausesNode, rows: Array) -> Self:
        causes: dict[str, Any] = {}
        for parent, at, neutral in zip(node.parents, node.starts, node.neutral, strict=False):
            states = node.family.states[parent]
            causes[parent] = {s: _named(node, rows[at + i]) for i, s in enumerate(states) if i != neutral}
        return replace(self, causes=causes, leak=self.kept_leak(float(rows[0, 1:].sum()), _named(node, rows[0])))


def _graded(node: CausesNode, row: Any, where: str) -> Array:
    """A row reordered by grade."""
    found = row_of(node.name, row, node.family.own, where)
    return found[list(node.grades)]


def _named(node: CausesNode, row: Array) -> Posterior:
    return dict(zip(node.family.own, row[np.argsort(node.grades)].tolist(), strict=True))


def _rows(given: Any) -> Mapping[Any, Any] | None:
    """{state: row}; None if it is a single row."""
    by_state = isinstance(given, Mapping) and all(isinstance(row, Mapping | Sequence) for row in given.values())
    return given if by_state else None
