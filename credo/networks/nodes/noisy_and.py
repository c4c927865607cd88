"""Noisy-AND: the effect needs every cause; one that is absent may prevent it, independently of the others."""

from __future__ import annotations

from dataclasses import dataclass

from credo.networks.nodes.distribution import NodeFamily, false_state
from credo.networks.nodes.independent_causes import CausesNode
from credo.networks.nodes.noisy import TwoGraded, true_state


@dataclass(frozen=True)
class NoisyAnd(TwoGraded):
    """P(effect | causes) = (1 - leak) ∏ (1 - strength) over the causes that are absent: the dual of a noisy-OR.

    A strength is the probability that the absence of this cause alone prevents the effect; the leak, that it fails
    though all causes are present. With strengths of 1 and without a leak, it is AND.

    >>> from credo.networks.network import Network
    >>> light = NoisyAnd({"Power": 1.0, "Bulb": 0.9}, leak=0.05)
    >>> net = Network("Power -> Light <- Bulb", {"Power": 0.9, "Bulb": 0.9, "Light": light})
    >>> round(net.query("Light", {"Power": "yes", "Bulb": "no"})["yes"], 4)  # 0.95 · 0.1
    0.095
    """

    called = "noisy-AND"

    def node(self, family: NodeFamily) -> CausesNode:
        self._checked(family)
        highest = false_state(family.own)
        neutral = self.neutral_states(family, true_state)
        return CausesNode(family, self.bare(), (1 - highest, highest), neutral)
