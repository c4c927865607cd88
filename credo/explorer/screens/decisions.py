"""An influence diagram: the optimal policy, its expected utility, and the value of information."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any, ClassVar

from credo.errors import DataError, EvidenceError
from credo.explorer.screens.cards import MOST_CARDS, laid_out
from credo.explorer.screens.contents import tabled
from credo.explorer.screens.questions import priced
from credo.explorer.screens.screen import Action, Answer, Asked, Subject, mapping_in
from credo.explorer.screens.snippets import call, called
from credo.networks.decisions.influence_diagram import InfluenceDiagram
from credo.networks.network import Network
from credo.present.decisions import decision_table, decision_title

POLICY_ROWS = 200  # information states listed per decision
MOST_UTILITY_STATES = 2**16  # joint states of its parents: with more, its expected value isn't shown


class DecisionsScreen:
    """Cards of chance variables, decisions and utilities; the best policy, and the value of information."""

    kind: ClassVar[str] = "decisions"
    title: ClassVar[str] = "Decisions"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.diagram: InfluenceDiagram = subject.model

    def opened(self) -> Answer:
        diagram = self.diagram
        roles = {**dict.fromkeys(diagram.decisions, "decision"), **dict.fromkeys(diagram.utilities, "utility")}
        return {
            "variables": [
                {"name": name, "parents": [*own], "role": roles.get(name, "chance"),
                 "states": [str(each) for each in diagram.states.get(name, ())]}
                for name, own in diagram.parents.items()
            ],
            "decisions": [*diagram.decisions],
            "whole": len(diagram.parents) <= MOST_CARDS,
            "directed": True,
        }  # fmt: skip

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"layout": self.layout, "solve": self.solve, "ask": self.what_to_ask}

    def layout(self, asked: Asked) -> Answer:
        return laid_out(self.diagram.parents, asked)

    def solve(self, asked: Asked) -> Answer:
        """The optimal policy given the evidence, the marginals under it, and each expected utility."""
        given = mapping_in(asked, "given")
        try:
            policy = self.diagram.policy(given)
        except EvidenceError as error:
            if not error.findings:
                raise
            return {"conflict": str(error), "findings": [*error.findings]}
        net = self.diagram.following(policy)
        marginals = net.marginals(given)
        own, file = called(self.subject)
        return {
            "expected_utility": policy.expected_utility,
            "marginals": {name: [*map(float, shares.values())] for name, shares in marginals.items()},
            "utilities": {name: self._expected(net, name, given) for name in self.diagram.utilities},
            "policy": [
                {"name": each.name, "title": decision_title(each), "irrelevant": [*each.irrelevant],
                 "table": tabled(decision_table(each, POLICY_ROWS)),
                 "more": max(0, sum(1 for _ in each.rows()) - POLICY_ROWS)}
                for each in policy.decisions
            ],
            "copy": {"python": call(f"{own}.policy", given or None), "cli": f"credo show {file}"},
        }  # fmt: skip

    def _expected(self, net: Network, name: str, given: Mapping[str, Any]) -> float | None:
        """Σ P(parents' states | given) utility"""
        above, worth = self.diagram.parents[name], self.diagram.utilities[name]
        if not above:
            return float(worth)
        if prod(len(self.diagram.states[each]) for each in above) > MOST_UTILITY_STATES:
            return None
        joint: Any = net.query(above[0] if len(above) == 1 else [*above], given)
        states = product(*(range(len(self.diagram.states[each])) for each in above))
        return float(sum(p * worth[where] for p, where in zip(joint.values(), states, strict=True)))

    def what_to_ask(self, asked: Asked) -> Answer:
        """The value of information of each variable before a decision, minus its cost."""
        before = asked.get("before")
        if before is not None and not isinstance(before, str):
            raise DataError(f"'before' must name a decision, but is {before!r:.60}")
        given, costs = mapping_in(asked, "given"), priced(asked)
        found = self.diagram.what_to_ask(costs, before, given)
        own, _ = called(self.subject)
        line = call(f"{own}.what_to_ask", costs, found.before, given or None)
        questions = [
            {"name": each.name, "value": each.value, "cost": each.cost, "worth": each.worth} for each in found.questions
        ]
        return {"before": found.before, "questions": questions, "copy": {"python": line, "cli": ""}}
