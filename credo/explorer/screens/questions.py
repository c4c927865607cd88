"""The best next questions, as data: expected information gains minus costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from credo.explorer.screens.screen import Answer, Asked, mapping_in, number_in
from credo.networks.information import InformationGains

LISTED_QUESTIONS = 50  # the best


def priced(asked: Asked) -> dict[str, float]:
    """The cost of asking about each variable."""
    costs = mapping_in(asked, "costs")
    return {name: number_in(costs, name, 0.0) for name in costs}


def gains(found: InformationGains, done: Mapping[str, object]) -> Answer:
    """The target, its entropy, and the questions, the best first, without variables set by intervention."""
    questions = [asdict(each) for each in found.questions if each.name not in done][:LISTED_QUESTIONS]
    return {"target": found.target, "entropy": found.entropy, "questions": questions}
