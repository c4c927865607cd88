"""Causal effects of a category on other variables of a hybrid network, categories or numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import EvidenceError, NetworkError, SchemaError
from credo.networks.causes.causal_graph import CausalGraph
from credo.networks.causes.effect import ByIntervention, Effect
from credo.networks.causes.identification import Identification
from credo.networks.hybrid.answers import NumberAnswer
from credo.networks.missing_information import hidden_variables

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.inference.findings import Given


@dataclass(frozen=True, eq=False, repr=False)
class NumberEffect(ByIntervention):
    """The distribution of a number under each intervention, p(outcome | do(cause)).

    `seen` are p(outcome | cause), the associations, which may be confounded.
    """

    identification: Identification
    cause_states: tuple[Any, ...]
    done: tuple[NumberAnswer, ...]  # under each intervention
    seen: tuple[NumberAnswer | None, ...]  # None if the state never occurs
    given: Mapping[str, Any] = field(default_factory=dict)  # the evidence that defines the subpopulation

    @property
    def causes(self) -> tuple[str, ...]:
        return tuple(self.identification.causes)

    def __getitem__(self, state: Any) -> NumberAnswer:
        """p(outcome | do(cause = state))"""
        return self.done[self._cause(state)]

    def difference(self, to: Any = None, base: Any = None) -> float:
        """E[outcome | do(to)] - E[outcome | do(base)], the average causal effect; of two states, by default "yes"
        against "no", or the first against the second."""
        one, two = self._compared(to, base)
        return float(self.done[one].mean() - self.done[two].mean())

    def __repr__(self) -> str:
        from credo.present.causes import number_effect_described

        return number_effect_described(self)


def hybrid_effect(
    net: HybridNetwork, cause: str, outcome: str, given: Given, hidden: str | Sequence[str] | None
) -> Effect | NumberEffect:
    """The effect by truncated factorisation: the network without the arrows into the cause. If the effect is
    identifiable, this is its value."""
    net._check_nodes()
    for name in (cause, outcome):
        if not isinstance(name, str):
            raise SchemaError(f"an effect in a network with numbers is that of one variable on one, not {name!r:.60}")
    if net._known(cause) in net.numbers:
        raise SchemaError(
            f"{cause!r} is a number, and has no list of states: do({{{cause!r}: ...}}).query({outcome!r}) gives "
            "the effect of one value"
        )
    absent = hidden_variables(net.parents, net.evidence) if hidden is None else hidden
    found = CausalGraph(net.parents, absent).identify(cause, outcome, [*(given or {})])
    if not found:
        raise NetworkError(found.reason)
    known, states = dict(given or {}), net.states[cause]
    done = [net.do({cause: state}).query(outcome, known) for state in states]
    seen = [_answer_if_possible(net, outcome, {**known, cause: state}) for state in states]
    if outcome in net.numbers:
        return NumberEffect(found, states, tuple(done), tuple(seen), known)
    own = net.states[outcome]
    table = np.array([[each[state] for state in own] for each in done])
    beside = np.array([[np.nan if each is None else each[state] for state in own] for each in seen])
    return Effect(found, states, own, table, beside, None, known)


def _answer_if_possible(net: HybridNetwork, outcome: str, given: Mapping[str, object]) -> Any:
    try:
        return net.query(outcome, given)
    except EvidenceError:  # never occurs
        return None
