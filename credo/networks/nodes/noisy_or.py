"""Noisy-OR: each present cause may produce the effect, independently of the others."""

from __future__ import annotations

from dataclasses import dataclass

from credo.networks.nodes.distribution import NodeFamily, false_state
from credo.networks.nodes.independent_causes import CausesNode
from credo.networks.nodes.noisy import TwoGraded


@dataclass(frozen=True)
class NoisyOr(TwoGraded):
    """P(effect | causes) = 1 - (1 - leak) ∏ (1 - strength) over the causes that are present (Pearl 1988).

    A strength is the probability that this cause alone, without the leak, produces the effect. The negative state (no,
    False, 0; otherwise the last) has no effect. A parent with several other states takes {state: strength}. Without
    strengths, `fit` learns them, and the leak; with leak=0, there is none.

    >>> from credo.networks.network import Network
    >>> fever = NoisyOr({"Flu": 0.8, "Cold": 0.4}, leak=0.1)
    >>> net = Network("Flu -> Fever <- Cold", {"Flu": 0.1, "Cold": 0.2, "Fever": fever})
    >>> round(net.query("Fever", {"Flu": "yes", "Cold": "yes"})["yes"], 4)  # 1 - 0.9 · 0.2 · 0.6
    0.892
    """

    called = "noisy-OR"

    def node(self, family: NodeFamily) -> CausesNode:
        self._checked(family)
        lowest = false_state(family.own)
        neutral = self.neutral_states(family, false_state)
        return CausesNode(family, self.bare(), (lowest, 1 - lowest), neutral)
