"""Events over several variables of a network, joined by or, and, not: sums over the variables' joint table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import and_, or_
from typing import Any

import numpy as np

from credo.asking.question import AllOf, AnyOf, Event, Not, Question, Term, Values, leaves
from credo.errors import EvidenceError
from credo.networks.answers import Estimated, EstimatedNumber
from credo.networks.graphical_model import GraphicalModel
from credo.numerics.arrays import Flags

LARGEST_EVENT_TABLE = 2**16  # cells; above, `or` is answered by its complement if that is a conjunction


@dataclass(frozen=True, eq=False)
class EventQuestion:
    """P(names, event, events | given, given events), where `events` are joined by or, and, not."""

    net: GraphicalModel
    question: Question
    values: Mapping[str, Values]
    event: Mapping[str, object]  # the event of the plain terms
    given: Mapping[str, object]
    inference: Mapping[str, Any]

    def answer(self) -> float | dict[Any, float]:
        """The answer: sums over the cells of one joint table."""
        question, names = self.question, self.question.names
        inside = [term.name.text for each in (*question.events, *question.given_events) for term in leaves(each)]
        scope = list(dict.fromkeys([*names, *inside]))
        large = prod(len(self.net.states[name]) for name in scope) > LARGEST_EVENT_TABLE
        if large and not names and not question.given_events and (short := self._by_complement()) is not None:
            return short
        table = _Table(self.net, question, self.values, scope)
        known = table.holds(question.given_events)
        happens = known & table.holds(question.events)
        # the event of the plain terms is part of the query, not of the evidence
        of_given = self.net.query(scope, self.given, **self.inference)
        both = self.net.query(scope, self.given, event=dict(self.event), **self.inference) if self.event else of_given
        below = float(np.array([*of_given.values()]) @ known.reshape(-1))
        if below <= 0:
            raise EvidenceError("the evidence is impossible: the condition after the bar has probability 0")
        if not names:
            return _share(both, happens, known, below, of_given is both)
        cells = np.array([*both.values()])
        return {key: float(cells @ (happens & own).reshape(-1)) / below for key, own in table.states(names)}

    def _by_complement(self) -> float | None:
        """P(T and (A or B or ...)) = P(T) - P(T and not A and not B and ...); None for other questions."""
        if len(self.question.events) != 1 or not isinstance(self.question.events[0], AnyOf):
            return None
        terms = [part for part in self.question.events[0].parts if isinstance(part, Term)]
        if len(terms) < len(self.question.events[0].parts):
            return None
        left: dict[str, list[float]] = {}
        for term in terms:
            weights = self.values[term.name.text].weights(self.question, term)
            before = left.get(term.name.text, [1.0] * len(weights))
            left[term.name.text] = [a * (not b) for a, b in zip(before, weights, strict=True)]
        event = self.event
        whole = self.net.probability(event, self.given, **self.inference) if event else 1.0
        none: dict[str, Any] = {}
        for name, weights in left.items():
            found = event.get(name)
            allowed = [*found] if isinstance(found, list) else None if found is None else [found]
            own = zip(self.net.states[name], weights, strict=True)
            states = [state for state, weight in own if weight and (allowed is None or state in allowed)]
            if not states:
                return float(whole)
            none[name] = states
        rest = self.net.probability({**event, **none}, self.given, **self.inference)
        return max(0.0, float(whole) - float(rest))


def _share(both: Any, happens: Flags, known: Flags, below: float, same: bool) -> float:
    """P(event) / P(given events); an estimate of a ratio has the standard error of its linear approximation."""
    cells = happens.reshape(-1).astype(np.float64)
    p = float(np.array([*both.values()]) @ cells) / below
    if not isinstance(both, Estimated):
        return min(1.0, p)
    error = both.spread((cells - p * known.reshape(-1)) / below) if same else float("nan")
    return EstimatedNumber(p, error, both.effective_samples, both.method, both.reliable)


class _Table:
    """The cells of a joint table in which events happen."""

    def __init__(self, net: GraphicalModel, question: Question, values: Mapping[str, Values], scope: list[str]) -> None:
        self.net, self.question, self.values, self.scope = net, question, values, scope
        self.shape = [len(net.states[name]) for name in scope]

    def holds(self, events: tuple[Event, ...]) -> Flags:
        """The cells in which all events happen."""
        return reduce(and_, map(self._happens, events), np.ones(self.shape, dtype=np.bool_))

    def _happens(self, event: Event) -> Flags:
        match event:
            case Term():
                flags = np.array(self.values[event.name.text].weights(self.question, event)) > 0
                return np.broadcast_to(self._along(event.name.text, flags), self.shape)
            case Not(part):
                return ~self._happens(part)
            case AnyOf(parts):
                return reduce(or_, map(self._happens, parts))
            case AllOf(parts):
                return reduce(and_, map(self._happens, parts))

    def _along(self, name: str, flags: Flags) -> Flags:
        return flags.reshape([-1 if each == name else 1 for each in self.scope])

    def states(self, names: list[str]) -> list[tuple[Any, Flags]]:
        """The joint states of some variables, each with its cells."""
        found: list[tuple[Any, Flags]] = [((), np.ones(self.shape, dtype=np.bool_))]
        for name in names:
            each = [(state, self._along(name, np.arange(len(own)) == i)) for own in [self.net.states[name]]
                    for i, state in enumerate(own)]  # fmt: skip
            found = [((*key, state), cells & flags) for key, cells in found for state, flags in each]
        return found if len(names) > 1 else [(key[0], cells) for key, cells in found]
