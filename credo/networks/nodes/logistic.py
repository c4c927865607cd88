"""Logistic nodes: the log-odds of one of two states are linear in the parents' states."""

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
class Logistic(Distribution):
    """log P(yes | x) / P(no | x) = intercept + Σᵢ w(xᵢ), of a variable with two states.

    A weight is one number, for the parent's affirmative state, or {state: number}; unnamed states have 0. Without them,
    `fit` learns the mode under weights ~ N(0, spread²).

    >>> from credo.networks.network import Network
    >>> sick = Logistic(-2.0, {"Smokes": 1.0, "Age": {"old": 1.5}})
    >>> states = {"Smokes": ["yes", "no"], "Age": ["old", "young"], "Sick": ["yes", "no"]}
    >>> net = Network("Smokes -> Sick <- Age", {"Smokes": 0.3, "Age": 0.5, "Sick": sick}, states)
    >>> round(net.query("Sick", {"Smokes": "yes", "Age": "old"})["yes"], 4)  # 1 / (1 + e^-0.5)
    0.6225
    """

    intercept: float | None = None
    weights: Mapping[str, Any] = field(default_factory=dict)
    spread: float = 2.5

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Mapping):
            raise NetworkError(f"the weights of a Logistic must be {{parent: number}}, but are {self.weights!r:.60}")
        object.__setattr__(self, "weights", Fixed(self.weights))
        checked_spread(self.spread)

    @property
    def known(self) -> bool:
        return self.intercept is not None or bool(self.weights)

    def bare(self) -> Self:
        return replace(self, intercept=None, weights={})

    def node(self, family: NodeFamily) -> LogLinearNode:
        if len(family.own) != 2:
            raise NetworkError(f"{family.name!r} is a Logistic of {len(family.own)} states, not 2: use a Softmax")
        lowest = false_state(family.own)
        reference = tuple(false_state(family.states[parent]) for parent in family.parents)
        return LogLinearNode(family, self.bare(), (lowest, 1 - lowest), reference, 1, self.spread)

    def coefficients(self, node: LogLinearNode) -> Array:
        family, found = node.family, np.zeros(node.size)
        found[0, 0] = checked_number(f"the intercept of {family.name!r}", self.intercept or 0.0)
        for parent, given in self.weights.items():
            family.check_parent(parent, "a weight")
            i, states = family.parents.index(parent), family.states[parent]
            if not isinstance(given, Mapping) and len(states) != 2:
                raise NetworkError(f"{family.name!r} must have a weight for states of {parent!r}, as {{state: number}}")
            own = given if isinstance(given, Mapping) else {states[1 - node.reference[i]]: given}
            for state, value in own.items():
                what = f"the weight of {parent}={state} in {family.name!r}"
                found[node.starts[i] + family.code(parent, state), 0] = checked_number(what, value)
        return found

    def with_coefficients(self, node: LogLinearNode, found: Array) -> Self:
        weights: dict[str, Any] = {}
        for parent, at, neutral in zip(node.parents, node.starts, node.reference, strict=False):
            own = {s: float(found[at + x, 0]) for x, s in enumerate(node.family.states[parent]) if x != neutral}
            weights[parent] = own if len(own) > 1 else next(iter(own.values()), 0.0)
        return replace(self, intercept=float(found[0, 0]), weights=weights)
