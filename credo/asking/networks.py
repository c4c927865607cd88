"""Questions to networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credo.asking.parsing import parse
from credo.asking.question import Likely, Question, Values, combined, refuse_contradictions, unknown
from credo.errors import EvidenceError, NetworkError, QuestionError
from credo.networks.answers import Estimated
from credo.networks.graphical_model import GraphicalModel
from credo.networks.inference.sizes import Method
from credo.networks.network import Network
from credo.networks.tables import ROUNDING

ALL = "argmax P(* | "  # a question about all variables
Weights = dict[str, list[float]]  # of each state of a variable: how likely what is said of it makes that state


def ask_network(net: GraphicalModel, question: Question, method: Method, samples: int, seed: int) -> Any:
    _ = net.factors  # refused, where there are none
    question.plain("a network")
    for term in (*question.asked, *question.given):
        if term.name.text not in net.states:
            raise unknown(question, term.name.word, "there is no variable", net.variables)
    values = {term.name.text: Values(net.states[term.name.text]) for term in (*question.asked, *question.given)}
    asking = _Asking(
        _done(net, question, values), question, values, {"method": method, "samples": samples, "seed": seed}
    )
    match question.kind:
        case "P":
            return asking.probabilities()
        case "E":
            return asking.expectation()
        case "argmax":
            question.only_names()
            return asking.net.most_probable(question.names or None, asking.findings(asking.given), **asking.how)
        case "explain":
            return asking.explanation()


def findings_in(net: GraphicalModel, text: str) -> dict[str, Any]:
    """What is given, as a question has it behind the bar.

    >>> findings_in(Network.example("storm"), "Storm=yes, Thunder!=no")
    {'Storm': 'yes', 'Thunder': 'yes'}
    """
    if not text.strip():
        return {}
    question = parse(f"{ALL}{text})")
    try:
        for term in question.given:
            if term.name.text not in net.states:
                raise unknown(question, term.name.word, "there is no variable", net.variables)
            if term.done:
                raise question.error("do(...) sets variables: rows are drawn given what is seen", term.at)
        values = {term.name.text: Values(net.states[term.name.text]) for term in question.given}
        return _Asking(net, question, values, {}).findings(combined(question, question.given, values))
    except QuestionError as error:
        raise EvidenceError(error.what) from None


def _done(net: GraphicalModel, question: Question, values: Mapping[str, Values]) -> GraphicalModel:
    """The network after do(...)."""
    states: dict[str, Any] = {}
    for term in (term for term in question.given if term.done):
        if not isinstance(net, Network):
            raise question.error("do(...) asks of networks with arrows: this one has none", term.at)
        name, known = term.name.text, values[term.name.text]
        weights = known.weights(question, term)
        if isinstance(term.test, Likely):
            if abs(sum(weights) - 1) > ROUNDING:
                raise question.error(f"the probabilities that do gives {term.name} must sum to 1", term.at)
            state: Any = dict(zip(known.values, weights, strict=True))
        else:
            state = known.values[weights.index(1.0)]
        if states.setdefault(name, state) != state:
            raise question.error(f"do sets {term.name} twice", term.at)
    return net.do(states) if states and isinstance(net, Network) else net


class _Asking:
    """A question whose names are known."""

    def __init__(
        self, net: GraphicalModel, question: Question, values: Mapping[str, Values], how: dict[str, Any]
    ) -> None:
        self.net, self.question, self.values, self.how = net, question, values, how
        self.given = combined(question, (term for term in question.given if not term.done), values)
        refuse_contradictions(question, self.given)

    def findings(self, weights: Weights) -> dict[str, Any]:
        """As networks read them: a state, several, or likelihoods."""
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
        if event is None:  # it can't happen, but what is asked of must make sense
            none = self.net.query(variables or next(iter(events)), given, **self.how)
            return dict.fromkeys(none, 0.0) if variables else 0.0
        if not variables:
            return self.net.probability(event, given, **self.how)
        return self.net.query(variables, given, event=event, **self.how)

    def expectation(self) -> float:
        self.question.only_names()
        term = self.question.single()
        numbers = self.values[term.name.text].number(self.question, term.name)
        found = self.net.query(term.name.text, self.findings(self.given), **self.how)
        if isinstance(found, Estimated):
            return found.total(numbers)
        return float(sum(x * p for x, p in zip(numbers, found.values(), strict=True)))

    def explanation(self) -> Any:
        if self.how["method"] not in ("auto", "exact"):
            raise NetworkError(f"what findings weigh isn't estimated: explain is exact, not by {self.how['method']}")
        term = self.question.single()
        value = None
        if term.test is not None:
            states = self.values[term.name.text]
            weights = states.weights(self.question, term)
            if sum(weights) != 1:
                raise self.question.error("explain asks of a name or of one value, as in explain P(A=a)", term.at)
            value = states.values[weights.index(1.0)]
        return self.net.explain(term.name.text, self.findings(self.given), value)
