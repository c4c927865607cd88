"""Questions to networks with numbers: as to others, with comparisons of numbers, as in P(Fever > 39 | Flu=yes)."""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

from credo.asking.parsing import parse
from credo.asking.protocol import Variable
from credo.asking.question import (
    Likely,
    OneOf,
    Question,
    Term,
    Values,
    Within,
    combined,
    refuse_contradictions,
    unknown,
)
from credo.errors import EvidenceError, NetworkError, QuestionError
from credo.networks.answers import Estimated, EstimatedNumber
from credo.networks.hybrid.answers import NumberAnswer
from credo.networks.hybrid.likelihood_weighting import DEFAULT_DRAWS
from credo.networks.hybrid.network import HybridNetwork
from credo.networks.inference.sizes import SAMPLES

Interval = tuple[float | None, float | None]


class HybridAdapter:
    """Questions to networks of categories and numbers."""

    estimates: ClassVar[bool] = True

    def __init__(self, net: HybridNetwork) -> None:
        self.net = net

    def variables(self) -> list[Variable]:
        found: list[Variable] = []
        for name in self.net.parents:
            if name in self.net.states:
                states = [*self.net.states[name]]
                found.append({"name": name, "kind": "category", "role": "variable", "values": states, "asked": True})
            else:
                found.append({"name": name, "kind": "number", "role": "variable", "range": (-inf, inf), "asked": True})
        return found

    def query(self, question: Question) -> Any:
        question.plain("a network")
        net, given = self._given(question)
        how = question.inference._asdict()
        if question.inference.samples == SAMPLES:  # no number was given
            how["samples"] = DEFAULT_DRAWS
        if question.kind == "P":
            return self._probabilities(net, question, given, how)
        question.only_names()
        if question.kind == "E":
            return self._expectation(net, question, given, how)
        return net.most_probable(question.names or None, given)

    def explain(self, question: Question) -> Any:
        question.plain("a network")
        if (method := question.inference.method) not in ("auto", "exact"):
            raise NetworkError(f"explain is exact: the weights of findings aren't estimated by {method}")
        net, given = self._given(question)
        term = question.single()
        return net.explain(term.name.text, given, None if term.test is None else self._finding(question, [term]))

    def _given(self, question: Question) -> tuple[HybridNetwork, dict[str, Any]]:
        """The network after do(...), and the findings."""
        for term in (*question.asked, *question.given):
            if term.name.text not in self.net.parents:
                raise unknown(question, term.name.word, "there is no variable", self.net.variables)
        done: dict[str, Any] = {}
        for term in (term for term in question.given if term.done):
            if term.name.text in done:
                raise question.error(f"do sets {term.name} twice", term.at)
            done[term.name.text] = self._finding(question, [term])
        net = self.net.do(done) if done else self.net
        return net, self._findings(question, [term for term in question.given if not term.done])

    def _findings(self, question: Question, terms: list[Term]) -> dict[str, Any]:
        names = dict.fromkeys(term.name.text for term in terms)
        return {name: self._finding(question, [t for t in terms if t.name.text == name]) for name in names}

    def _finding(self, question: Question, terms: list[Term]) -> Any:
        """Several terms about one variable, as one finding."""
        name = terms[0].name.text
        if name in self.net.states:
            values = {name: Values(self.net.states[name])}
            weights = combined(question, terms, values)
            refuse_contradictions(question, weights)
            states = [s for s, w in zip(self.net.states[name], weights[name], strict=True) if w]
            if {*weights[name]} <= {0.0, 1.0}:
                return states[0] if len(states) == 1 else states
            return dict(zip(self.net.states[name], weights[name], strict=True))
        low, high, exact = -inf, inf, None
        for term in terms:
            match term.test:
                case Within() as within:
                    low, high = max(low, within.low), min(high, within.high)
                case OneOf((word,), False) if word.number is not None and abs(word.number) < inf:
                    exact = word.number
                case Likely() | OneOf():
                    raise question.error(
                        f"{term.name} is a number: give {term.name}=39, or compare it with one", term.at
                    )
                case _:
                    raise question.error(f"give a value for {term.name}, as in {term.name} > 39", term.at)
        if exact is not None:
            return exact
        if not low < high:
            raise question.error(f"the evidence leaves {terms[0].name} no possible value", terms[0].at)
        return (None if low == -inf else low, None if high == inf else high)

    def _probabilities(self, net: HybridNetwork, question: Question, given: dict[str, Any], how: dict[str, Any]) -> Any:
        """P(names, events | given): probabilities of states for categories, a distribution for one number."""
        names, terms = question.names, [term for term in question.asked if term.test is not None]
        for term in terms:
            if term.name.text in net.numbers and isinstance(term.test, OneOf):
                raise question.error(
                    f"each exact value of a number has probability 0: ask P({term.name} > ...)", term.at
                )
        event = self._findings(question, terms)
        if not names:
            return net.probability(event, given, **how)
        if not event:
            return net.query(names[0] if len(names) == 1 else names, given, **how)
        for name in (name for name in names if name in net.numbers):
            raise question.error(f"put conditions after the bar, | , to ask for the distribution of {name}", 0)
        p = net.probability(event, given, **how)
        both = {**given, **event}
        found = net.query(names[0] if len(names) == 1 else names, both, **how)
        assert isinstance(found, dict)
        return {state: p * share for state, share in found.items()}

    def _expectation(self, net: HybridNetwork, question: Question, given: dict[str, Any], how: dict[str, Any]) -> float:
        term = question.single()
        found = net.query(term.name.text, given, **how)
        if isinstance(found, NumberAnswer):
            mean = float(found.mean())
            if found.method == "exact":
                return mean
            return EstimatedNumber(mean, found.standard_error, found.effective_samples, found.method, found.reliable)
        numbers = Values(net.states[term.name.text]).number(question, term.name)
        if isinstance(found, Estimated):
            return found.total(numbers)
        assert isinstance(found, dict)
        return float(sum(x * p for x, p in zip(numbers, found.values(), strict=True)))


def hybrid_findings_in(net: HybridNetwork, text: str) -> dict[str, Any]:
    """Findings, written as they are after the bar of a question.

    >>> from credo.networks.nodes.normal import Normal
    >>> hybrid_findings_in(HybridNetwork("A -> B", {"A": 0.5, "B": Normal(0, 1)}), "A=yes, B > 1")
    {'A': 'yes', 'B': (1.0, None)}
    """
    if not text.strip():
        return {}
    question = parse(f"argmax P(* | {text})")
    try:
        for term in question.given:
            if term.done:
                raise question.error("rows are drawn given findings only, not after do(...)", term.at)
        return HybridAdapter(net)._given(question)[1]
    except QuestionError as error:
        raise EvidenceError(error.what) from None
