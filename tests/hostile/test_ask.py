"""Questions from anywhere: each is parsed or refused in one sentence, and soon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import credo
from credo.asking import parse
from tests.hostile.refusals import read_or_refused, refused
from tests.work import guarded, lines_run

NET = credo.Network("Storm -> Fire", {"Storm": 0.2, "Fire": {"yes": 0.25, "no": 0.01}})
DAYS = {"wind": ["weak", "strong", "weak", "strong"], "temp": [1.5, 2.5, 3.5, 1.0], "play": ["yes", "no", "yes", "yes"]}
MODEL = credo.NaiveBayes(kinds={"temp": "number"}).fit(DAYS, target="play")
COIN = credo.BetaBernoulli(1, 1).update({1: 2, 0: 1})
ADS = credo.estimate({"ad": ["a", "a", "b"], "x": [1, 0, 1]}, "x", by="ad", prior=credo.BetaBernoulli(1, 1))
COLOURS = credo.DirichletCategorical(1).update(["red", "red", "blue"])
MODELS = (NET, MODEL, COIN, ADS, COLOURS, {"x": COIN, "y": COLOURS})
LARGE = 200_000

PIECES = [
    "P",
    "E",
    "argmax",
    "explain",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    "|",
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    ":",
    "*",
]
PIECES += [
    "in",
    "do",
    "Storm",
    "Fire",
    "play",
    "wind",
    "temp",
    "theta",
    "x",
    "ad",
    "a",
    "b",
    "red",
    "yes",
    "no",
    "weak",
]
PIECES += [
    "0.5",
    "1",
    "-1",
    "1e308",
    "inf",
    "nan",
    "1_0",
    "'",
    '"',
    "\\",
    " ",
    "!",
    "≤",
    "∈",
    "\x00",
    "\n",
    "é",
    "'a b'",
]
FORMS = ["P({0})", "P({0} | {1})", "P({0}={1})", "E({0})", "argmax P({0} | {1}={2})", "explain P({0} | {1}={2})"]
FORMS += ["P({0} > {1})", "P({0}[{1}] > {0}[{2}])", "P({0} in {{{1}, {2}}})", "P({0} | {1}={{{2}: {3}}})"]
FORMS += ["P({0} | do({1}={2}))", "P({1} < {0} <= {2})"]


@settings(max_examples=1500, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=25).map("".join)))
@example("P(A" + "=" * 50)
@example("P(𝟙 < x < ١)")
def test_any_text_is_parsed_or_refused(text: str) -> None:
    read_or_refused(parse, text)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(FORMS), st.lists(st.sampled_from(PIECES), min_size=4, max_size=4), st.sampled_from(MODELS))
def test_any_question_is_answered_or_refused(form: str, pieces: list[str], model: Any) -> None:
    read_or_refused(credo.ask, model, form.format(*pieces))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_quotes_hold_any_text(name: str, value: str) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    term = parse(f"P({quoted(name)} = {quoted(value)})").asked[0]
    assert term.name.text == name
    assert [word.text for word in getattr(term.test, "values", ())] == [value]


LONG: list[Callable[[int], str]] = [
    lambda n: "P(" * n,
    lambda n: "P(" + "(" * n,
    lambda n: "P(" + "a," * n + "a)",
    lambda n: "P(Storm | " + "Storm=yes, " * (n // 10) + "Storm=yes)",
    lambda n: "P(Storm in {" + "yes, " * (n // 5) + "yes})",
    lambda n: "P(" + "a" * n + ")",
    lambda n: "P(Storm=" + "y" * n + ")",
    lambda n: "P('" + "\\'" * n,
    lambda n: 'P("' + "\\\\" * n + '")',
    lambda n: "P(" + "!" * n + ")",
    lambda n: "P(" + "!=" * n + ")",
    lambda n: "P(" + " " * n + "x",
    lambda n: "P(x < " + "9" * n + ")",
    lambda n: "P(x[" + "a," * n + "a])",
    lambda n: "P(Storm | Fire={" + ", ".join(f"s{i}: 1" for i in range(n // 10)) + "})",
    lambda n: "P(Storm | " + "do(" * n,
    lambda n: "\x00" * n,
]
long = pytest.mark.parametrize("text", LONG, ids=lambda text: text(20)[:12])


def said_of(text: str) -> str:
    try:
        credo.ask(NET, text)
    except credo.CredoError as error:
        return str(error)
    return ""


@long
@pytest.mark.slow
def test_a_long_question_is_answered_in_a_short_sentence(text: Callable[[int], str]) -> None:
    with guarded():
        said = said_of(text(LARGE))
    assert len(said) < 500
    assert "\n" not in said


@long
def test_work_grows_no_faster_than_the_question(text: Callable[[int], str]) -> None:
    said_of(text(100))  # what is made once
    once, twice = (lines_run(lambda n=n: said_of(text(n))) for n in (5_000, 10_000))  # type: ignore[misc]
    assert twice < 2.1 * once + 1000


@pytest.mark.parametrize(
    ("model", "question"),
    [
        (NET, "P(Storm | Fire=maybe)"),
        (NET, f"P({'x' * 1000})"),
        (NET, f"P(Storm={'x' * 1000})"),
        (NET, "P('a\nb')"),
        (MODEL, f"P(play | wind='{'x' * 1000}')"),
        (MODEL, "P(play | temp=inf)"),
        (MODEL, "P(play | temp='1')"),
        (COIN, "P(x=2)"),
        (ADS, f"P(theta[{'x' * 1000}])"),
        (COLOURS, f"P(theta[{'x' * 1000}] > 0.5)"),
    ],
)
def test_refusals_are_short_and_on_one_line(model: Any, question: str) -> None:
    refused(credo.ask, model, question)
