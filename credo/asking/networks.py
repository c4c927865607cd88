"""Questions to networks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import exp, inf
from typing import Any

from credo.asking.question import OneOf, Question, Values, combined, refuse_contradictions, unknown
from credo.errors import SizeError
from credo.models.answering import Answering, Method
from credo.models.network import Network

Weights = dict[str, list[float]]  # of each state of a variable: how likely what is said of it makes that state


def ask_network(net: Answering, question: Question, method: Method, samples: int, seed: int) -> Any:
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
            return asking.net.most_probable(question.names or None, asking.findings(asking.given))
        case "explain":
            return asking.explanation()


def _done(net: Answering, question: Question, values: Mapping[str, Values]) -> Answering:
    """The network after do(...)."""
    states: dict[str, Any] = {}
    for term in (term for term in question.given if term.done):
        if not isinstance(net, Network):
            raise question.error("do(...) asks of networks with arrows: this one has none", term.at)
        assert isinstance(term.test, OneOf)
        name = term.name.text
        state = values[name].values[values[name].place(question, term.name, term.test.values[0])]
        if states.setdefault(name, state) != state:
            raise question.error(f"do sets {term.name} twice", term.at)
    return net.do(states) if states and isinstance(net, Network) else net


class _Asking:
    """A question whose names are known."""

    def __init__(self, net: Answering, question: Question, values: Mapping[str, Values], how: dict[str, Any]) -> None:
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
        if not events:
            return self.net.query(variables, self.findings(self.given), **self.how)
        if self.how["method"] in ("auto", "exact"):
            try:
                return self._exact(variables, events)
            except SizeError:
                if self.how["method"] == "exact":
                    raise
        return self._counted(names, events)

    def _exact(self, variables: Any, events: Weights) -> Any:
        given = self.findings(self.given)
        before = self.net.log_probability(given)
        if before == -inf:
            self.net.query(next(iter(events)), given, method="exact")  # refused, with what is impossible
        both = {name: [*each] for name, each in self.given.items()}
        for name, each in events.items():
            both[name] = [a * b for a, b in zip(both.get(name, each), each, strict=True)]
        possible = all(map(any, both.values()))
        after = self.net.log_probability(self.findings(both)) if possible else -inf
        probability = min(1.0, exp(after - before))
        if not variables:
            return probability
        if after == -inf:
            return dict.fromkeys(self.net.query(variables, given, **self.how), 0.0)
        found = self.net.query(variables, self.findings(both), **self.how)
        return {states: probability * p for states, p in found.items()}

    def _counted(self, names: list[str], events: Weights) -> Any:
        """From the probabilities of all variables together, which are estimated."""
        all_names = list(dict.fromkeys([*names, *events]))
        together = self.net.query(all_names, self.findings(self.given), **self.how)
        places = {name: {state: i for i, state in enumerate(self.values[name].values)} for name in events}
        found = dict.fromkeys(product(*(self.values[name].values for name in names)), 0.0)
        for states, p in together.items():
            row = dict(zip(all_names, states, strict=True))
            if all(each[places[name][row[name]]] for name, each in events.items()):
                found[tuple(row[name] for name in names)] += p
        if not names:
            return found[()]
        return found if len(names) > 1 else {state: p for (state,), p in found.items()}

    def expectation(self) -> float:
        self.question.only_names()
        term = self.question.single()
        numbers = self.values[term.name.text].number(self.question, term.name)
        found = self.net.query(term.name.text, self.findings(self.given), **self.how)
        return float(sum(x * p for x, p in zip(numbers, found.values(), strict=True)))

    def explanation(self) -> Any:
        term = self.question.single()
        value = None
        if term.test is not None:
            states = self.values[term.name.text]
            weights = states.weights(self.question, term)
            if sum(weights) != 1:
                raise self.question.error("explain asks of a name or of one value, as in explain P(A=a)", term.at)
            value = states.values[weights.index(1.0)]
        return self.net.explain(term.name.text, self.findings(self.given), value)
