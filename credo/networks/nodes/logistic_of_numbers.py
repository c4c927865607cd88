"""LogisticOfNumbers: a category whose probabilities depend on numbers, by logistic or softmax regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.core.records import Shown
from credo.errors import NetworkError, suggest
from credo.networks.hybrid.number_node import LogisticNode
from credo.networks.nodes.coefficients import over_states, weights_over_states
from credo.networks.tables import States


@dataclass(frozen=True)
class LogisticOfNumbers(Shown):
    """log P(x = k | z) = interceptₖ + Σ weightₖⱼ zⱼ - log Σ exp(...), zⱼ the number parents.

    With two states, the intercept and the weights are those of the first state's log-odds; each is a number, or {state:
    number} by the states of category parents. With more states, both are {own state: the same}; an unnamed state has 0
    everywhere.

    >>> node = LogisticOfNumbers(-4.0, {"Age": 0.1}).node("Ill", (), ("Age",), {"Ill": ("yes", "no")})
    >>> node.table({"Age": 40.0}).tolist()
    [0.5, 0.5]
    """

    intercept: Any = 0.0
    weights: Mapping[Any, Any] | None = None

    def node(self, name: str, categories: Sequence[str], numbers: Sequence[str], states: States) -> LogisticNode:
        """The node, with arrays over the states of category parents and own states."""
        own, shape = states[name], tuple(len(states[each]) for each in categories)
        intercepts, weights = np.zeros((*shape, len(own))), np.zeros((*shape, len(own), len(numbers)))
        if len(own) == 2:
            given = {own[0]: (self.intercept, self.weights)}
        else:
            given = {state: (self._of(name, "intercept", state), self._of(name, "weights", state)) for state in own}
            self._check_states(name, own)
        for k, state in enumerate(own):
            if state in given and given[state][0] is not None:
                what = f"the intercept of {name!r}"
                intercepts[..., k] = over_states(what, given[state][0], categories, states)
            if state in given and given[state][1] is not None:
                weights[..., k, :] = weights_over_states(name, given[state][1], categories, numbers, states)
        if numbers and not weights.any() and not self.weights:
            raise NetworkError(
                f"{name!r} has number parents, but no weights of them: give weights={{{numbers[0]!r}: ...}}"
            )
        return LogisticNode(name, tuple(categories), tuple(numbers), intercepts, weights)

    def _of(self, name: str, what: str, state: Any) -> Any:
        given = getattr(self, what)
        if isinstance(given, Mapping):
            return given.get(state)
        if given is None or (what == "intercept" and given == 0.0):
            return None
        raise NetworkError(f"the {what} of {name!r} must be {{own state: ...}}, since it has more than two states")

    def _check_states(self, name: str, own: Sequence[Any]) -> None:
        for given in (self.intercept, self.weights):
            for unknown in (each for each in (given if isinstance(given, Mapping) else ()) if each not in own):
                raise NetworkError(f"{name!r} has no state {unknown!r:.60}; {suggest(unknown, own)}")
