"""What to ask next, as data: expected information gains, and what asking costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from credo.explorer.screens.screen import Answer, Asked, mapping_in, number_in
from credo.networks.information import InformationGains

QUESTIONS = 50  # that are listed


def priced(asked: Asked) -> dict[str, float]:
    """What asking about each variable costs."""
    costs = mapping_in(asked, "costs")
    return {name: number_in(costs, name, 0.0) for name in costs}


def gains(found: InformationGains, done: Mapping[str, object]) -> Answer:
    """The target, its entropy, and the questions, the best first; what was set needn't be asked."""
    questions = [asdict(each) for each in found.questions if each.name not in done][:QUESTIONS]
    return {"target": found.target, "entropy": found.entropy, "questions": questions}
