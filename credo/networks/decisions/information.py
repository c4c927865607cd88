"""The value of information: the gain in expected utility from observing more before a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.records import Shown
from credo.data.free_names import free_name
from credo.errors import EvidenceError, NetworkError, suggest
from credo.networks.decisions.solving import checked_evidence, known_names
from credo.networks.graph import children, reached
from credo.networks.inference.findings import Given

if TYPE_CHECKING:
    from credo.networks.decisions.influence_diagram import InfluenceDiagram


@dataclass(frozen=True)
class InformationValue:
    """worth = value - cost."""

    name: str
    value: float
    cost: float

    @property
    def worth(self) -> float:
        return self.value - self.cost


@dataclass(frozen=True, repr=False)
class InformationValues(Shown):
    """Candidate questions before a decision, the best first."""

    before: str
    questions: tuple[InformationValue, ...]

    @property
    def best(self) -> InformationValue | None:
        """The most valuable question; None if none is worth its cost."""
        return self.questions[0] if self.questions and self.questions[0].worth > 0 else None

    def __repr__(self) -> str:
        from credo.present.decisions import questions_described

        return questions_described(self)


def value_of_information(diagram: InfluenceDiagram, name: str, before: str | None, given: Given, test: object) -> float:
    """The largest expected utility with an arrow from the variable, or from a test of it, into the decision, minus the
    largest without it."""
    decision = _decision(diagram, before, given)
    _check_variable(diagram, name, decision, given)
    now = diagram.expected_utility(given)
    return max(0.0, _informed(diagram, name, decision, test).expected_utility(given) - now)


def information_values(
    diagram: InfluenceDiagram, costs: Mapping[str, float], before: str | None, given: Given
) -> InformationValues:
    """The value of observing each chance variable that isn't known before the decision and doesn't depend on it."""
    decision = _decision(diagram, before, given)
    for name in costs:
        if name not in diagram.tables:
            known = suggest(name, diagram.tables)
            raise NetworkError(f"a cost is for {name!r}, which isn't a chance variable; {known}")
        if not isinstance(costs[name], float | int | np.number) or not np.isfinite(costs[name]):
            raise NetworkError(f"the cost of asking about {name!r} must be a number, but is {costs[name]!r:.60}")
    now = diagram.expected_utility(given)
    closed = {*_after(diagram, decision), *diagram.known_before(decision), *known_names(given)}
    found = []
    for name in (name for name in diagram.tables if name not in closed):
        value = max(0.0, _informed(diagram, name, decision, None).expected_utility(given) - now)
        found.append(InformationValue(name, value, float(costs.get(name, 0.0))))
    return InformationValues(decision, tuple(sorted(found, key=lambda each: -each.worth)))


def _decision(diagram: InfluenceDiagram, before: str | None, given: Given) -> str:
    """The named decision, or the next one."""
    taken = checked_evidence(diagram, given)
    left = [name for name in diagram.decisions if name not in taken]
    if before is not None:
        if diagram._checked_decision(before) in taken:
            raise EvidenceError(f"the decision {before!r} was taken: information before it is worth nothing")
        return before
    if not left:
        raise EvidenceError("all decisions were taken: information has no value any more")
    return left[0]


def _after(diagram: InfluenceDiagram, decision: str) -> set[str]:
    return reached([decision], children(diagram.parents))


def _check_variable(diagram: InfluenceDiagram, name: str, decision: str, given: Given) -> None:
    if name not in diagram.tables:
        raise NetworkError(f"there is no chance variable {name!r}; {suggest(name, diagram.tables)}")
    if name in known_names(given):
        raise EvidenceError(f"{name!r} is given: nothing is left to ask about it")
    if name in _after(diagram, decision):
        raise EvidenceError(f"{name!r} depends on the decision {decision!r}, and can't be known before it")


def _informed(diagram: InfluenceDiagram, name: str, decision: str, test: Any) -> InfluenceDiagram:
    """The diagram in which a variable, or a test's reading of it, is known before a decision."""
    from credo.networks.decisions.influence_diagram import InfluenceDiagram

    parents, tables, states, source = dict(diagram.parents), dict(diagram.tables), dict(diagram.states), name
    if test is not None:
        source = free_name(f"test of {name}", parents, "'")
        parents[source], tables[source] = (name,), test
        states |= {source: _readings(test, len(states[name]))}
    if source not in parents[decision]:
        parents[decision] = (*parents[decision], source)
    return InfluenceDiagram(parents, tables, diagram.utilities, diagram.decisions, states)


def _readings(test: Any, rows: int) -> tuple[Any, ...]:
    """The readings named in a test's table, or numbered ones."""
    first = next(iter(test.values()), None) if isinstance(test, Mapping) else None
    if isinstance(first, Mapping):
        return tuple(first)
    try:
        shape = np.shape([*test.values()] if isinstance(test, Mapping) else test)
    except ValueError:
        shape = ()
    if len(shape) == 1:
        return ("positive", "negative")
    if len(shape) != 2 or shape[0] != rows:
        raise NetworkError(f"a test must have a row of probabilities for each of {rows} states, but is {test!s:.60}")
    return tuple(range(shape[1]))
