"""Questions to templates: names carry the slice, as in Rain[3], or the member, as in Patient.Infected[ann]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from credo.asking.networks import NetworkAdapter
from credo.asking.protocol import Variable
from credo.asking.question import Event, MemberTerm, Name, Not, OneOf, PlacedWord, Question, Term, Values, unknown
from credo.errors import SchemaError
from credo.networks.network import Network
from credo.networks.templates.dynamic_network import DynamicNetwork
from credo.networks.templates.slice_reading import split_name

if TYPE_CHECKING:
    from credo.networks.templates.given_tables import GivenTables


class SlicesAdapter:
    """Questions to dynamic networks, unrolled to the last named slice."""

    estimates: ClassVar[bool] = True

    def __init__(self, net: DynamicNetwork) -> None:
        self.net = net

    def variables(self) -> list[Variable]:
        return NetworkAdapter(self.net.two_slices).variables()

    def query(self, question: Question) -> Any:
        whole, net = self._unrolled(question)
        return NetworkAdapter(net).query(whole)

    def explain(self, question: Question) -> Any:
        whole, net = self._unrolled(question)
        return NetworkAdapter(net).explain(whole)

    def event(self, question: Question) -> Any:
        whole, net = self._unrolled(question)
        return NetworkAdapter(net).event(whole)

    def _unrolled(self, question: Question) -> tuple[Question, Network]:
        last = 0
        for term in question.terms:
            try:
                _, t = split_name(term.name.whole, self.net.variables)
            except SchemaError as error:
                raise question.error(str(error).rstrip("."), term.at) from None
            last = max(last, t)
        return _flat(question), self.net.unrolled(last + 1)


class MembersAdapter:
    """Questions to plates over given tables: only the members that matter are unrolled."""

    estimates: ClassVar[bool] = True

    def __init__(self, given: GivenTables) -> None:
        self.given = given

    def variables(self) -> list[Variable]:
        return [
            {"name": name, "kind": "category", "role": "variable", "values": [*states], "asked": True}
            for name, states in self.given.network.states.items()
        ]

    def query(self, question: Question) -> Any:
        return self._with_given_cells(question, NetworkAdapter.query)

    def explain(self, question: Question) -> Any:
        return self._with_given_cells(question, NetworkAdapter.explain)

    def event(self, question: Question) -> Any:
        return self._with_given_cells(question, NetworkAdapter.event)

    def about_members(self, question: Question, members: MemberTerm) -> float:
        """P(any or all of the selected members | ...)."""
        asked, states = members.term, self.given.network.states
        if asked.name.index or asked.name.text not in states:
            raise unknown(question, asked.name.word, "there is no variable", [*states])
        states_of = {term.name.whole: self._states(question, term, term.name.text) for term in question.given}
        given = {name: own[0] if len(own) == 1 else own for name, own in states_of.items()}
        where: dict[str, list[Any]] = {}
        for term in members.where:
            assert isinstance(term.test, OneOf)
            where[term.name.whole] = [each for word in term.test.values for each in (word.text, word.number)]
        found = self._states(question, asked, asked.name.text)
        if len(found) > 1:
            raise question.error(f"ask about one value of {asked.name}", asked.at)
        ask = self.given.all if members.every else self.given.any
        return ask(asked.name.text, found[0], where, given=given)

    def _states(self, question: Question, term: Term, variable: str) -> list[Any]:
        """The states that a condition names."""
        states = self.given.network.states
        if variable not in states:
            raise unknown(question, term.name.word, "there is no variable", [*states])
        weights = Values(states[variable]).weights(question, term)
        return [state for state, weight in zip(states[variable], weights, strict=True) if weight]

    def _with_given_cells(self, question: Question, ask: Callable[[NetworkAdapter, Question], Any]) -> Any:
        """The answer to a question, in which the cells of the tables are given, too."""
        for term in question.terms:
            try:
                self.given.relevant([term.name.whole])
            except SchemaError as error:
                raise question.error(str(error).rstrip("."), term.at) from None
        net, evidence = self.given.relevant([term.name.whole for term in question.terms])
        whole = _flat(question)
        known = (
            Term(Name(PlacedWord(name, 0, quoted=True)), OneOf((_word(value),))) for name, value in evidence.items()
        )
        return ask(NetworkAdapter(net), replace(whole, given=(*whole.given, *known)))


def _word(value: object) -> PlacedWord:
    return PlacedWord(str(value), 0, quoted=True)


def _flat(question: Question) -> Question:
    """The question with entries as parts of plain names."""
    asked, given = (tuple(map(_with_whole_name, each)) for each in (question.asked, question.given))
    events, findings = (tuple(map(_flat_event, each)) for each in (question.events, question.given_events))
    return replace(question, asked=asked, given=given, events=events, given_events=findings)


def _flat_event(event: Event) -> Event:
    match event:
        case Term():
            return _with_whole_name(event)
        case Not(part):
            return Not(_flat_event(part))
        case _:
            return replace(event, parts=tuple(map(_flat_event, event.parts)))


def _with_whole_name(term: Term) -> Term:
    return replace(term, name=Name(replace(term.name.word, text=term.name.whole)))
