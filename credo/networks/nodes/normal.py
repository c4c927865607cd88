"""Normal: a conditional linear-Gaussian node, a regression for each configuration of its category parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from credo.core.records import Shown
from credo.errors import NetworkError
from credo.networks.hybrid.number_node import NumberNode
from credo.networks.nodes.coefficients import Coefficient, over_states, weights_over_states
from credo.networks.tables import States


@dataclass(frozen=True)
class Normal(Shown):
    """x | parents ~ N(mean + Σ weightⱼ zⱼ, sd²), zⱼ the number parents: a conditional linear-Gaussian node.

    The mean (where all zⱼ are 0: the intercept), the sd and each weight are numbers, or {state: number} where the
    node has a category parent, {(state, ...): number} where it has several. Without number parents, it is a mixture of
    Gaussians.

    >>> node = Normal({"yes": 39.0, "no": 36.8}, sd=0.5).node("Fever", ("Flu",), (), {"Flu": ("yes", "no")})
    >>> node.intercept.tolist(), node.variance.tolist()
    ([39.0, 36.8], [0.25, 0.25])
    """

    mean: Coefficient = 0.0
    sd: Coefficient = 1.0
    weights: Mapping[str, Coefficient] | None = None

    def node(self, name: str, categories: Sequence[str], numbers: Sequence[str], states: States) -> NumberNode:
        """The node, with arrays over the states of category parents."""
        sd = over_states(f"the sd of {name!r}", self.sd, categories, states)
        if (sd <= 0).any():
            raise NetworkError(f"the sd of {name!r} must be above 0, but is {float(sd.min()):g}")
        mean: Any = over_states(f"the mean of {name!r}", self.mean, categories, states)
        weights = weights_over_states(name, self.weights, categories, numbers, states)
        return NumberNode(name, tuple(categories), tuple(numbers), mean, weights, sd**2)
