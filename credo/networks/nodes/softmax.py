"""Softmax nodes: the log-odds of the states are linear in the parents' states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from credo.errors import NetworkError
from credo.networks.fixed import Fixed
from credo.networks.nodes.coefficients import checked_number
from credo.networks.nodes.distribution import Distribution, NodeFamily, false_state
from credo.networks.nodes.log_linear import LogLinearNode, checked_spread
from credo.numerics.exact import Array


@dataclass(frozen=True)
class Softmax(Distribution):
    """P(y = k | x) ∝ exp(bₖ + Σᵢ wₖ(xᵢ)): an intercept for each state, and a weight for each state of each parent.

    `intercepts` is {state: number}; `weights` {parent: {own state: {parent's state: number}}}, and unnamed entries are
    0. Without them, `fit` learns the mode under weights ~ N(0, spread²).

    >>> from credo.networks.network import Network
    >>> mood = Softmax({"good": 1.0}, {"Sun": {"good": {"yes": 2.0}}})
    >>> states = {"Sun": ["yes", "no"], "Mood": ["good", "fair", "bad"]}
    >>> net = Network("Sun -> Mood", {"Sun": 0.5, "Mood": mood}, states)
    >>> round(net.query("Mood", {"Sun": "yes"})["good"], 4)  # e³ / (e³ + 2)
    0.9094
    """

    intercepts: Mapping[Any, float] = field(default_factory=dict)
    weights: Mapping[str, Any] = field(default_factory=dict)
    spread: float = 2.5

    def __post_init__(self) -> None:
        for what, given in (("intercepts", self.intercepts), ("weights", self.weights)):
            if not isinstance(given, Mapping):
                raise NetworkError(f"the {what} of a Softmax must be a mapping, but are {given!r:.60}")
            object.__setattr__(self, what, Fixed(given))
        checked_spread(self.spread)

    @property
    def known(self) -> bool:
        return bool(self.intercepts) or bool(self.weights)

    def bare(self) -> Self:
        return replace(self, intercepts={}, weights={})

    def node(self, family: NodeFamily) -> LogLinearNode:
        columns = len(family.own)
        reference = tuple(false_state(family.states[parent]) for parent in family.parents)
        return LogLinearNode(family, self.bare(), tuple(range(columns)), reference, columns, self.spread)

    def coefficients(self, node: LogLinearNode) -> Array:
        family, found = node.family, np.zeros(node.size)
        for state, value in self.intercepts.items():
            found[0, family.code(family.name, state)] = checked_number(f"the intercept of {family.name}={state}", value)
        for parent, by_own in self.weights.items():
            family.check_parent(parent, "weights")
            for own, each in _mapping(family, parent, by_own).items():
                for state, value in _mapping(family, parent, each).items():
                    place = node.starts[family.parents.index(parent)] + family.code(parent, state)
                    what = f"the weight of {parent}={state} for {family.name}={own}"
                    found[place, family.code(family.name, own)] = checked_number(what, value)
        return found

    def with_coefficients(self, node: LogLinearNode, found: Array) -> Self:
        family = node.family
        weights = {
            parent: {
                own: {state: float(found[at + x, k]) for x, state in enumerate(family.states[parent]) if x != neutral}
                for k, own in enumerate(family.own)
            }
            for parent, at, neutral in zip(family.parents, node.starts, node.reference, strict=False)
        }
        return replace(self, intercepts=dict(zip(family.own, found[0].tolist(), strict=True)), weights=weights)


def _mapping(family: NodeFamily, parent: str, given: object) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise NetworkError(
            f"the weights of {parent!r} in {family.name!r} must be {{own state: {{its state: number}}}}, but are "
            f"{given!r:.60}"
        )
    return given
