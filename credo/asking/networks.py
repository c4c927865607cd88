"""Questions to networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credo.asking.parsing import parse
from credo.asking.protocol import EvidenceWeight, Variable, Waterfall
from credo.asking.question import (
    Likelihoods,
    Likely,
    Name,
    PlacedWord,
    Question,
    Values,
    Within,
    combined,
    leaves,
    refuse_contradictions,
    unknown,
)
from credo.errors import EvidenceError, NetworkError, QuestionError
from credo.networks.answers import Estimated
from credo.networks.bins import bin_codes, cuts_of
from credo.networks.graphical_model import GraphicalModel
from credo.networks.inference.conflict import said
from credo.networks.network import Network
from credo.networks.tables import SUM_TOLERANCE
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.explanation import QueryExplanation

CUT_POINT_TOLERANCE = 1e-5  # largest relative difference between a cut point and its rounded value in a bin's name
ARGMAX_OF_ALL = "argmax P(* | "  # starts a question about all variables


class NetworkAdapter:
    """Questions to networks, with arrows or without."""

    estimates: ClassVar[bool] = True

    def __init__(self, net: GraphicalModel) -> None:
        self.net = net

    def variables(self) -> list[Variable]:
        return [
            {"name": name, "kind": "category", "role": "variable", "values": [*states], "asked": True}
            for name, states in self.net.states.items()
        ]

    def query(self, question: Question) -> Any:
        asking = self._asking(question)
        if question.kind == "P":
            return asking.probabilities()
        if question.kind == "E":
            return asking.expectation()
        question.only_names()
        return asking.net.most_probable(question.names or None, asking.findings(asking.given), **asking.inference)

    def explain(self, question: Question) -> Any:
        return self._asking(question).explanation()

    def event(self, question: Question) -> Any:
        """P(...) of conditions joined by or, and, not."""
        from credo.asking.network_events import EventQuestion

        asking = self._asking(question)
        events = combined(question, (term for term in question.asked if term.test is not None), asking.values)
        given = asking.findings(asking.given)
        possible = all(map(any, events.values()))
        found = asking.findings(events) if possible else {}  # the evidence must still be possible
        answer = EventQuestion(asking.net, question, asking.values, found, given, asking.inference).answer()
        if possible:
            return answer
        return dict.fromkeys(answer, 0.0) if isinstance(answer, dict) else 0.0

    def _asking(self, question: Question) -> _NetworkQuestion:
        self.net.check_known()
        question.plain("a network")
        values = _values(self.net, question)
        return _NetworkQuestion(_done(self.net, question, values), question, values, question.inference._asdict())


def waterfall(found: QueryExplanation) -> Waterfall:
    weights: list[EvidenceWeight] = [
        {"name": each.name, "value": said(each.value), "weight": each.weight} for each in found.findings
    ]
    return Waterfall(f"{found.name}={found.value}", "", found.prior, weights, found.log_odds, found.probability)


def _values(net: GraphicalModel, question: Question) -> dict[str, Values]:
    """The states of each variable in a question; an error if there is no such variable."""
    found: dict[str, Values] = {}
    for term in question.terms:
        if term.name.text not in net.states:
            raise unknown(question, term.name.word, "there is no variable", net.variables)
        states = net.states[term.name.text]
        cuts = cuts_of(states)
        found[term.name.text] = Values(states) if cuts is None else BinnedValues(states, cuts)
    return found


class BinnedValues(Values):
    """States that are bins of numbers: a number stands for its bin."""

    def __init__(self, states: Sequence[object], cuts: Array) -> None:
        super().__init__(states)
        self.cuts = cuts

    def find(self, word: PlacedWord) -> int | None:
        found = super().find(word)
        if found is None and word.number is not None:
            return int(bin_codes(self.cuts, np.array([word.number]))[0])
        return found

    def inside(self, question: Question, name: Name, within: Within) -> list[float]:
        """The bins inside a range of whole bins; a bin includes its lower cut point."""
        first = self._bin_above(question, name, within.low, within.with_low) if within.low > -np.inf else 0
        last = self._bin_above(question, name, within.high, not within.with_high) if within.high < np.inf else None
        places = range(len(self.values))
        return [float(i in places[first:last]) for i in places]

    def _bin_above(self, question: Question, name: Name, end: float, fits: bool) -> int:
        """The bin that begins at an end of a range, which must be a cut point, up to rounding."""
        near = np.flatnonzero(np.abs(self.cuts - end) <= CUT_POINT_TOLERANCE * np.abs(self.cuts))
        if not fits or not len(near):
            known = ", ".join(f"{cut:.6g}" for cut in self.cuts)
            raise question.error(
                f"{name} is in bins, and a range must be of whole ones: >= or < one of the cut points ({known})",
                name.word.at,
            )
        return int(near[0]) + 1


def findings_in(net: GraphicalModel, text: str) -> dict[str, Any]:
    """Findings, written as they are after the bar of a question.

    >>> findings_in(Network.example("storm"), "Storm=yes, Thunder!=no")
    {'Storm': 'yes', 'Thunder': 'yes'}
    """
    if not text.strip():
        return {}
    question = parse(f"{ARGMAX_OF_ALL}{text})")
    try:
        values = _values(net, question)
        for event in question.given_events:
            what = "findings aren't joined by or, and or not: separate them by commas"
            raise question.error(what, leaves(event)[0].at)
        for term in question.given:
            if term.done:
                raise question.error("rows are drawn given findings only, not after do(...)", term.at)
        return _NetworkQuestion(net, question, values, {}).findings(combined(question, question.given, values))
    except QuestionError as error:
        raise EvidenceError(error.what) from None


def _done(net: GraphicalModel, question: Question, values: Mapping[str, Values]) -> GraphicalModel:
    """The network after do(...)."""
    states: dict[str, Any] = {}
    for term in (term for term in question.given if term.done):
        if not isinstance(net, Network):
            raise question.error("do(...) is for networks with arrows: this one has none", term.at)
        name, known = term.name.text, values[term.name.text]
        weights = known.weights(question, term)
        if isinstance(term.test, Likely):
            if abs(sum(weights) - 1) > SUM_TOLERANCE:
                raise question.error(f"the probabilities that do gives {term.name} must sum to 1", term.at)
            state: Any = dict(zip(known.values, weights, strict=True))
        else:
            state = known.values[weights.index(1.0)]
        if states.setdefault(name, state) != state:
            raise question.error(f"do sets {term.name} twice", term.at)
    return net.do(states) if states and isinstance(net, Network) else net


class _NetworkQuestion:
    """A question, with its names resolved."""

    def __init__(
        self, net: GraphicalModel, question: Question, values: Mapping[str, Values], inference: dict[str, Any]
    ) -> None:
        self.net, self.question, self.values, self.inference = net, question, values, inference
        self.given = combined(question, (term for term in question.given if not term.done), values)
        refuse_contradictions(question, self.given)

    def findings(self, weights: Likelihoods) -> dict[str, Any]:
        """The findings in the form that networks read: a state, several, or likelihoods."""
        found: dict[str, Any] = {}
        for name, each in weights.items():
            states = self.values[name].values
            there = [state for state, weight in zip(states, each, strict=True) if weight]
            if {*each} <= {0.0, 1.0}:
                found[name] = there[0] if len(there) == 1 else there
            else:
                found[name] = dict(zip(states, each, strict=True))
        return found

    def probabilities(self) -> Any:
        """P(names, events | given) = P(events | given) P(names | events, given)"""
        names, asked = self.question.names, (term for term in self.question.asked if term.test is not None)
        events = combined(self.question, asked, self.values)
        variables: Any = names[0] if len(names) == 1 else names
        event = self.findings(events) if all(map(any, events.values())) else None
        given = self.findings(self.given)
        if event is None:  # impossible, but the question must be valid
            none = self.net.query(variables or next(iter(events)), given, **self.inference)
            return dict.fromkeys(none, 0.0) if variables else 0.0
        if not variables:
            return self.net.probability(event, given, **self.inference)
        return self.net.query(variables, given, event=event, **self.inference)

    def expectation(self) -> float:
        self.question.only_names()
        term = self.question.single()
        numbers = self.values[term.name.text].number(self.question, term.name)
        found = self.net.query(term.name.text, self.findings(self.given), **self.inference)
        if isinstance(found, Estimated):
            return found.total(numbers)
        return float(sum(x * p for x, p in zip(numbers, found.values(), strict=True)))

    def explanation(self) -> Any:
        if self.inference["method"] not in ("auto", "exact"):
            raise NetworkError(
                f"explain is exact: the weights of findings aren't estimated by {self.inference['method']}"
            )
        term = self.question.single()
        value = None
        if term.test is not None:
            states = self.values[term.name.text]
            weights = states.weights(self.question, term)
            if sum(weights) != 1:
                raise self.question.error("explain is about a name or one value, as in explain P(A=a)", term.at)
            value = states.values[weights.index(1.0)]
        return self.net.explain(term.name.text, self.findings(self.given), value)
