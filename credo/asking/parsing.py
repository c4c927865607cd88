"""Parsing questions: one pass over tokens, in linear time."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf
from typing import NoReturn, TypeVar

from credo.asking.question import (
    Above,
    AllOf,
    AnyOf,
    Event,
    Likely,
    MemberTerm,
    Name,
    Not,
    OneOf,
    PlacedWord,
    Question,
    QuestionKind,
    Term,
    Test,
    Within,
    leaves,
    shortened,
)
from credo.errors import QuestionError

# A word begins with any character but punctuation; it may contain quotes (O'Brien), and ! without =.
QUESTION_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>[(){}\[\],|:]|==|!=|<=|>=|[=<>≠≤≥∈])
    |(?P<quoted>"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')
    |(?P<word>(?:[^\s(){}\[\],|:=<>≠≤≥∈!"']|!(?!=))(?:[^\s(){}\[\],|:=<>≠≤≥∈!]+|!(?!=))*)
    |(?P<end>\Z)|(?P<unclosed>.))""",
    re.VERBOSE | re.DOTALL,
)
SYNONYMS = {"==": "=", "≠": "!=", "≤": "<=", "≥": ">=", "∈": "in"}
COMPARISONS = {"<", "<=", ">", ">="}
QUESTION_KINDS: dict[str, QuestionKind] = {"p": "P", "e": "E", "argmax": "argmax", "explain": "explain"}
EXPECTED_QUESTION = "P(...), E(...), argmax P(...) or explain P(...)"
WORD, END = "word", "end"
MOST_QUESTION_TOKENS = 200_000
DEEPEST_PARENTHESES = 50  # levels of nested parentheses
CONNECTIVES = ("or", "and")
T = TypeVar("T")


def parse(text: str) -> Question:
    """
    >>> question = parse("P(Fire=yes | Storm in {yes, no}, do(Camp=no))")
    >>> question.kind, [str(term.name) for term in question.given], question.given[1].done
    ('P', ['Storm', 'Camp'], True)
    """
    return _Parser(text).question()


class _Parser:
    """A recursive-descent parser with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self.text, self.position, self.tokens = text, 0, 0
        self.sign, self.word = END, PlacedWord("", 0)  # the next token: a sign, WORD or END
        self.advance()

    # Tokens

    def advance(self) -> None:
        found = QUESTION_TOKEN.match(self.text, self.position)
        assert found is not None
        self.position = found.end()
        kind, part = str(found.lastgroup), found[str(found.lastgroup)]
        at, self.tokens = found.start(kind), self.tokens + 1
        if self.tokens > MOST_QUESTION_TOKENS:
            raise QuestionError(f"a question has at most {MOST_QUESTION_TOKENS:,} tokens", self.text, at)
        if kind == "unclosed":
            raise QuestionError("this quote is never closed", self.text, at)
        if kind == "quoted":
            self.sign = WORD
            self.word = PlacedWord(re.sub(r"\\(.)", r"\1", part[1:-1], flags=re.DOTALL), at, quoted=True)
        else:
            self.sign = WORD if kind == "word" else END if kind == "end" else SYNONYMS.get(part, part)
            self.word = PlacedWord(part, at)

    def fail(self, expected: str) -> NoReturn:
        if self.sign == END:
            there = "the question ends" if self.text.strip() else "the question is empty"
        else:
            there = f"there is {shortened(self.word.text)!r}"
        raise QuestionError(f"expected {expected}, but {there}", self.text, self.word.at)

    def take(self, sign: str, expected: str | None = None) -> PlacedWord:
        if self.sign != sign:
            self.fail(expected or repr(sign))
        taken = self.word
        self.advance()
        return taken

    def takes(self, *signs: str) -> bool:
        """Whether one of the signs is next; if so, it is consumed."""
        if self.sign in signs:
            self.advance()
            return True
        return False

    def says(self, word: str) -> bool:
        return self.sign == WORD and not self.word.quoted and self.word.text == word

    # Questions

    def question(self) -> Question:
        kind = None if self.word.quoted else QUESTION_KINDS.get(self.word.text.lower())
        if self.sign != WORD or kind is None:
            self.fail(EXPECTED_QUESTION)
        self.advance()
        if kind == "explain" or (kind == "argmax" and self.sign != "("):
            if not (self.says("P") or self.says("p")):
                self.fail("P(...)")
            self.advance()
        self.take("(")
        if self.says("*"):
            if kind != "argmax":
                raise QuestionError(f"{kind} must name a variable: only argmax takes *", self.text, self.word.at)
            self.advance()
            asked: list[Event] = []
        else:
            quantifier = self.take(WORD) if self.says("any") or self.says("all") else None
            if quantifier is not None and self.takes("("):
                return self.about_members(kind, quantifier)
            asked = [self.event(first=quantifier)]
            while self.takes(","):
                asked.append(self.event())
        given = [event for each in self.several(self.finding) for event in each] if self.takes("|") else []
        self.take(")", "',', '|' or ')'" if not given else "',' or ')'")
        if self.sign != END:
            self.fail("the end of the question")
        terms, known = (tuple(each for each in part if isinstance(each, Term)) for part in (asked, given))
        events, findings = (tuple(each for each in part if not isinstance(each, Term)) for part in (asked, given))
        return Question(self.text, kind, terms, known, events, findings)

    def about_members(self, kind: QuestionKind, quantifier: PlacedWord) -> Question:
        """P(any(Patient.Infected=yes, ward=3) | ...)"""
        if kind != "P":
            raise QuestionError(f"{quantifier}(...) is an event: ask P({quantifier}(...))", self.text, quantifier.at)
        term, *where = self.several(self.term)
        self.take(")", "',' or ')'")
        given = self.several(self.term) if self.takes("|") else []
        self.take(")", "'|' or ')'" if not given else "',' or ')'")
        if self.sign != END:
            self.fail("the end of the question")
        for each in (term, *where, *given):
            if not isinstance(each.test, OneOf) or each.test.negated:
                raise QuestionError(
                    f"beside {quantifier}(...), conditions are values, as in {each.name}=value", self.text, each.at
                )
        members = MemberTerm(quantifier.text == "all", term, tuple(where))
        return Question(self.text, kind, (), tuple(given), members=members)

    def several(self, one: Callable[[], T]) -> list[T]:
        found = [one()]
        while self.takes(","):
            found.append(one())
        return found

    # Events

    def event(self, likelihoods: bool = False, first: PlacedWord | None = None, depth: int = 0) -> Event:
        """Conditions joined by `or`, which binds less than `and`."""
        parts = [self.conjunction(likelihoods, first, depth)]
        while self.says("or"):
            self.advance()
            parts.append(self.conjunction(likelihoods, None, depth))
        return self.joined(AnyOf(tuple(parts))) if len(parts) > 1 else parts[0]

    def conjunction(self, likelihoods: bool, first: PlacedWord | None, depth: int) -> Event:
        parts = [self.condition(likelihoods, first, depth)]
        while self.says("and"):
            self.advance()
            parts.append(self.condition(likelihoods, None, depth))
        return self.joined(AllOf(tuple(parts))) if len(parts) > 1 else parts[0]

    def condition(self, likelihoods: bool, first: PlacedWord | None, depth: int) -> Event:
        """A term, a condition in parentheses, or a negated condition."""
        if depth > DEEPEST_PARENTHESES:
            raise QuestionError(f"conditions are nested more than {DEEPEST_PARENTHESES} deep", self.text, self.word.at)
        if first is None and self.says("not"):
            first = self.take(WORD)
            if self.sign == "(" or (self.sign == WORD and not self.says("in")):
                return self.joined(Not(self.condition(likelihoods, None, depth + 1)))
        if first is None and self.takes("("):
            inside = self.event(likelihoods, None, depth + 1)
            self.take(")", "'or', 'and' or ')'")
            return inside
        return self.term(first, likelihoods)

    def joined(self, event: Event) -> Event:
        """Refuse names without a condition, and likelihoods, in events."""
        for term in leaves(event):
            if term.test is None:
                what = f"or, and and not join conditions: give a value of {term.name}, as in {term.name}=value"
                raise QuestionError(what, self.text, term.at)
            if isinstance(term.test, Likely):
                raise QuestionError("likelihoods can't be joined by or, and or not", self.text, term.at)
        return event

    def finding(self) -> list[Event]:
        """A condition on a variable, or joined conditions; or do(...), which may contain several."""
        if not self.says("do"):
            return [self.event(likelihoods=True)]
        name = self.take(WORD)
        if not self.takes("("):  # a variable named do
            return [self.event(True, name)]
        done = self.several(lambda: self.term(likelihoods=True))
        for term in done:
            one = isinstance(term.test, OneOf) and not term.test.negated and len(term.test.values) == 1
            if not one and not isinstance(term.test, Likely):
                what = f"do sets each name to one value, as in do({term.name}=value), or to values with probabilities"
                raise QuestionError(what, self.text, term.at)
        self.take(")", "',' or ')'")
        return [Term(term.name, term.test, done=True) for term in done]

    def term(self, first: PlacedWord | None = None, likelihoods: bool = False) -> Term:
        left = self.name(first)
        if self.sign in COMPARISONS:
            return self.ordered(left)
        if self.takes("="):
            if self.sign == "{":
                if not likelihoods:
                    self.fail("a value (for several values, use `in`)")
                return Term(left, self.likely())
            return Term(left, OneOf((self.value(),)))
        if self.takes("!="):
            return Term(left, OneOf((self.value(),), negated=True))
        if self.says("in") or self.sign == "in":
            self.advance()
            return Term(left, self.one_of())
        if self.sign == WORD and not any(map(self.says, CONNECTIVES)):
            self.fail("'=', ',' or ')' (quote a name of several words)")
        return Term(left)

    def name(self, first: PlacedWord | None = None) -> Name:
        word = first or self.take(WORD, "a name")
        if not self.takes("["):
            return Name(word)
        index = self.several(lambda: self.take(WORD, "the name of an entry"))
        self.take("]", "',' or ']'")
        return Name(word, tuple(index))

    def value(self) -> PlacedWord:
        """A word, which may begin with < or > as bins do: <5, >=7.5."""
        before = self.word if self.sign in COMPARISONS else None
        if before is not None:
            self.advance()
            if self.word.quoted or self.word.at > before.at + len(before.text):
                raise QuestionError("expected a value; quote it if it contains punctuation", self.text, before.at)
        found = self.take(WORD, "a value (quoted, if it contains punctuation)")
        return found if before is None else PlacedWord(before.text + found.text, before.at, quoted=True)

    def one_of(self) -> OneOf:
        self.take("{", "'{' and values, as in {x, y}")
        values = self.several(self.value)
        self.take("}", "',' or '}'")
        return OneOf(tuple(values))

    def likely(self) -> Likely:
        """{value: likelihood, ...}"""
        self.take("{")
        found: dict[str, tuple[PlacedWord, float]] = {}
        while True:
            word = self.value()
            self.take(":", "':' and a likelihood (for several values, use `in`)")
            weight = self.number("a number of at least 0")
            if not 0 <= weight < inf:
                what = f"the likelihood of {word} must be a finite number of at least 0"
                raise QuestionError(what, self.text, word.at)
            if word.text in found:
                raise QuestionError(f"{word} has two likelihoods", self.text, word.at)
            found[word.text] = (word, weight)
            if not self.takes(","):
                break
        self.take("}", "',' or '}'")
        return Likely(tuple(found.values()))

    def number(self, expected: str) -> float:
        found = self.word.number if self.sign == WORD else None
        if found is None:
            self.fail(expected)
        self.advance()
        return found

    def ordered(self, left: Name) -> Term:
        """name > 1, 1 < name, 0 < name <= 1, or name > other."""
        at, order = self.word.at, self.sign
        self.advance()
        middle = self.name()
        if self.sign in COMPARISONS:
            if self.sign[0] != order[0]:
                self.fail(f"another {order[0]!r} or '{order[0]}='")
            second = self.sign
            self.advance()
            first, last = _number_of(left), self.number("a number")
            if first is None:
                raise QuestionError("a range begins with a number", self.text, left.word.at)
            return Term(middle, _both(_within(_turned(order), first), _within(second, last)))
        start, end = _number_of(left), _number_of(middle)
        if end is not None:
            return Term(left, _within(order, end))
        if start is not None:
            return Term(middle, _within(_turned(order), start))
        if len(order) > 1:
            raise QuestionError(f"compare two names with < or >, not {order}", self.text, at)
        return Term(left, Above(middle)) if order == ">" else Term(middle, Above(left))


def _number_of(name: Name) -> float | None:
    return None if name.index else name.word.number


def _turned(order: str) -> str:
    """1 < x is x > 1."""
    return ("<" if order[0] == ">" else ">") + order[1:]


def _within(order: str, end: float) -> Within:
    if order[0] == ">":
        return Within(low=end, with_low=order == ">=")
    return Within(high=end, with_high=order == "<=")


def _both(one: Within, two: Within) -> Test:
    above, below = (one, two) if one.low > -inf else (two, one)
    return Within(above.low, below.high, above.with_low, below.with_high)
