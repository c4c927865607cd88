"""Parsed questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from numbers import Real
from typing import Any, Literal, NamedTuple

from credo.errors import QuestionError, suggest
from credo.networks.inference.sizes import SAMPLES, Method
from credo.networks.inference.state_index import BOOLEAN_SPELLINGS

QuestionKind = Literal["P", "E", "argmax", "explain"]


@dataclass(frozen=True)
class PlacedWord:
    """A name or a value, and its position."""

    text: str
    at: int
    quoted: bool = False

    @property
    def number(self) -> float | None:
        """The value as a number, if it is one."""
        if self.quoted or not self.text.isascii() or "_" in self.text:
            return None
        try:
            found = float(self.text)
        except ValueError:
            return None
        return None if found != found else found

    def __str__(self) -> str:
        return shortened(self.text)


@dataclass(frozen=True)
class Name:
    """A variable; or `name[one, ...]`, one of its entries."""

    word: PlacedWord
    index: tuple[PlacedWord, ...] = ()

    @property
    def text(self) -> str:
        return self.word.text

    @property
    def whole(self) -> str:
        """The name as written, in full."""
        return f"{self.text}[{', '.join(word.text for word in self.index)}]" if self.index else self.text

    def __str__(self) -> str:
        return shortened(self.whole)


@dataclass(frozen=True)
class OneOf:
    """=, != and in."""

    values: tuple[PlacedWord, ...]
    negated: bool = False


@dataclass(frozen=True)
class Within:
    """<, <=, > and >=."""

    low: float = -inf
    high: float = inf
    with_low: bool = False
    with_high: bool = False

    def __contains__(self, x: float) -> bool:
        above = x >= self.low if self.with_low else x > self.low
        return above and (x <= self.high if self.with_high else x < self.high)


@dataclass(frozen=True)
class Likely:
    """{value: likelihood of the observation given that value}."""

    weights: tuple[tuple[PlacedWord, float], ...]


@dataclass(frozen=True)
class Above:
    """> another name."""

    other: Name


Test = OneOf | Within | Likely | Above


@dataclass(frozen=True)
class Term:
    """A name, a condition on it, and whether it is an intervention: do(...)."""

    name: Name
    test: Test | None = None
    done: bool = False

    @property
    def at(self) -> int:
        return self.name.word.at


@dataclass(frozen=True)
class AnyOf:
    """Conditions joined by `or`."""

    parts: tuple[Event, ...]


@dataclass(frozen=True)
class AllOf:
    """Conditions joined by `and`."""

    parts: tuple[Event, ...]


@dataclass(frozen=True)
class Not:
    part: Event


Event = Term | AnyOf | AllOf | Not


def leaves(event: Event) -> list[Term]:
    """The conditions in an event."""
    match event:
        case Term():
            return [event]
        case Not(part):
            return leaves(part)
        case AnyOf(parts) | AllOf(parts):
            return [term for part in parts for term in leaves(part)]


@dataclass(frozen=True)
class MemberTerm:
    """any(condition, ...) or all(condition, ...): of the members of a plate whose columns have the values that follow
    the condition."""

    every: bool
    term: Term
    where: tuple[Term, ...] = ()


class Inference(NamedTuple):
    """The inference options of a network."""

    method: Method = "auto"
    samples: int = SAMPLES
    seed: int = 0


@dataclass(frozen=True)
class Question:
    """asked: before the bar, empty for `*`, all variables; given: after it. Conditions joined by or, and, not and
    parentheses are kept separately, as are questions about members of a plate."""

    text: str
    kind: QuestionKind
    asked: tuple[Term, ...]
    given: tuple[Term, ...] = ()
    events: tuple[Event, ...] = ()
    given_events: tuple[Event, ...] = ()
    members: MemberTerm | None = None
    inference: Inference = field(default_factory=Inference)  # `ask` sets it

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms, including those in events."""
        inside = (term for event in (*self.events, *self.given_events) for term in leaves(event))
        return (*self.asked, *self.given, *inside)

    @property
    def names(self) -> list[str]:
        """The variables whose distribution is asked for, each once."""
        return list(dict.fromkeys(term.name.whole for term in self.asked if term.test is None))

    def error(self, what: str, at: int) -> QuestionError:
        return QuestionError(what, self.text, at)

    def plain(self, what: str) -> None:
        """Refuse names with entries and comparisons of two names, which only beliefs have."""
        for term in self.terms:
            if term.name.index:
                raise self.error(f"{what} has no entries such as {term.name}", term.at)
            if isinstance(term.test, Above):
                raise self.error(f"{what} compares {term.name} with a number, not with {term.test.other}", term.at)

    def single(self) -> Term:
        """The one term of E and explain."""
        if len(self.asked) == 1:
            return self.asked[0]
        verb = f"{self.kind}{'' if self.kind == 'E' else ' P'}(...)"
        raise self.error(f"{verb} is about one name, not {len(self.asked) or 'all'}", at_second(self.asked))

    def only_names(self) -> None:
        """Refuse conditions, which E and argmax don't take."""
        for term in self.asked:
            if term.test is not None:
                raise self.error(f"{self.kind} is about names: put conditions on {term.name} after the bar, |", term.at)


def at_second(terms: tuple[Term, ...]) -> int:
    return terms[1].at if len(terms) > 1 else 0


def shortened(text: str, longest: int = 40) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."


def unknown(question: Question, word: PlacedWord, what: str, known: Iterable[object]) -> QuestionError:
    """An unknown name or value: the error lists known ones, and suggests what may have been meant."""
    names = [shortened(str(each), 80) for each in known]
    few = 8 if sum(map(len, names[:8])) < 160 else 2
    return question.error(f"{what} {str(word)!r}; {suggest(word.text[:80], names, few).rstrip('.')}", word.at)


class Values:
    """The values of a variable, found in any of their spellings."""

    def __init__(self, values: Iterable[Any], also: Mapping[str, int] | None = None) -> None:
        self.values, self.also = tuple(values), also or {}
        self._places: dict[str, int] = {}
        for i, value in enumerate(self.values):
            for text in _spellings(value, self.values):
                self._places.setdefault(text, i)
        for i, value in enumerate(self.values):
            self._places[str(value)] = i
        self._places |= self.also

    def find(self, word: PlacedWord) -> int | None:
        """
        >>> truths = Values([False, True])
        >>> [truths.find(PlacedWord(text, 0)) for text in ("yes", "False", "1", "maybe")]
        [1, 0, 1, None]
        """
        found = self._places.get(word.text)
        if found is None and word.number is not None:
            found = next((i for i, value in enumerate(self.values) if _is_number(value, word.number)), None)
        return self._places.get(word.text.lower()) if found is None and _are_booleans(self.values) else found

    def number(self, question: Question, name: Name) -> list[float]:
        """The values as numbers, for >, < and E."""
        try:
            return [float(value) for value in self.values]
        except (TypeError, ValueError):
            few = ", ".join(shortened(str(value)) for value in self.values[:4])
            raise question.error(f"the values of {name} must be numbers, but are {few}", name.word.at) from None

    def inside(self, question: Question, name: Name, within: Within) -> list[float]:
        """1 for each value in a range, 0 for the others."""
        return [float(x in within) for x in self.number(question, name)]

    def weights(self, question: Question, term: Term) -> list[float]:
        """The likelihood of each value: 0 or 1, or as given."""
        match term.test:
            case OneOf(words, negated):
                there = {self.place(question, term.name, word) for word in words}
                return [float((i in there) != negated) for i in range(len(self.values))]
            case Within() as within:
                return self.inside(question, term.name, within)
            case Likely(weights):
                found = [0.0] * len(self.values)
                for word, weight in weights:
                    found[self.place(question, term.name, word)] = weight
                return found
            case _:
                raise question.error(f"give a value for {term.name}, as in {term.name}=value", term.at)

    def place(self, question: Question, name: Name, word: PlacedWord) -> int:
        """The index of a value; an unknown value is an error that lists the others."""
        found = self.find(word)
        if found is None:
            raise unknown(question, word, f"{name} has no value", [*self.values, *self.also])
        return found


def _spellings(value: object, values: tuple[object, ...]) -> tuple[str, ...]:
    """Words for booleans, where the values are booleans."""
    if not _are_booleans(values):
        return ()
    return BOOLEAN_SPELLINGS[bool(value)]


def _are_booleans(values: tuple[object, ...]) -> bool:
    return 0 < len(values) <= 2 and all(not isinstance(value, str) and value in (0, 1) for value in values)


def _is_number(value: object, number: float) -> bool:
    return isinstance(value, Real) and value == number


Likelihoods = Mapping[str, list[float]]  # for each value of a variable


def combined(question: Question, terms: Iterable[Term], values: Mapping[str, Values]) -> dict[str, list[float]]:
    """The joint likelihood of several terms, for each variable's values."""
    found: dict[str, list[float]] = {}
    for term in terms:
        weights = values[term.name.text].weights(question, term)
        before = found.get(term.name.text, [1.0] * len(weights))
        found[term.name.text] = [a * b for a, b in zip(before, weights, strict=True)]
    return found


def refuse_contradictions(question: Question, given: Likelihoods) -> None:
    """Refuse evidence that leaves a variable no possible value."""
    for term in question.given:
        if term.name.text in given and not any(given[term.name.text]):
            raise question.error(f"the evidence leaves {term.name} no possible value", term.at)
