"""Questions to any model, written as text.

    question   = ( "P" | "E" | "argmax" [ "P" ] | "explain" "P" ) "(" asked [ "|" given ] ")" ;
    asked      = "*" | event { "," event } ;                   (* "*": all variables, after argmax only *)
    given      = finding { "," finding } ;
    event      = both { "or" both } ;                          (* or, and, not, (...): of networks, after P only *)
    both       = condition { "and" condition } ;
    condition  = term | "not" condition | "(" event ")" ;
    term       = name
               | name ( "=" | "!=" ) word
               | name "in" set
               | name order word | word order name | word order name order word
               | name ( "<" | ">" ) name ;
    finding    = event | name "=" likelihood | "do" "(" done { "," done } ")" ;
    done       = name "=" word | name "=" likelihood ;         (* likelihoods that sum to 1 *)
    set        = "{" word { "," word } "}" ;
    likelihood = "{" word ":" number { "," word ":" number } "}" ;
    order      = "<" | "<=" | ">" | ">=" ;
    name       = word [ "[" word { "," word } "]" ] ;

A word is a run of characters without the grammar's punctuation, such as 5-10 and Asy/Patch; or anything in quotes, " or
', with a backslash before a quote or another backslash. P, E, argmax, explain, in, do, or, and, not are keywords only
where the grammar expects them: a variable may have such a name. A value may begin with < or >, as <5 does; ≤, ≥, ≠ and
∈ are the same as <=, >=, != and in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from credo.asking.answers import AnswerData, answer_data
from credo.asking.parsing import parse
from credo.asking.protocol import (
    Adapter,
    AnswersEvents,
    AnswersMembers,
    Variable,
    Waterfall,
    adapter,
    waterfall,
)
from credo.asking.question import Inference, Question, leaves
from credo.errors import DataError
from credo.networks.inference.sizes import SAMPLES, Method

__all__ = ["AnswerData", "Question", "Variable", "Waterfall", "answer_data", "ask", "parse", "variables", "waterfall"]


def ask(
    model: object, question: str | Question, *, method: Method = "auto", samples: int = SAMPLES, seed: int = 0
) -> Any:
    """Answer a query in the usual notation.

    P(A | ...) is {state: probability}, of several names {(state, ...): probability}; P(A=a | ...) a number, and with
    names beside it, {state: P(state and A=a)}. argmax is {name: state}. P(theta) of a belief is a distribution; E(...)
    a number; explain what `model.explain` returns. The options are for networks: an estimate has a `standard_error`.

    >>> from credo.networks.network import Network
    >>> fire = Network("Storm -> Fire", {"Storm": 0.2, "Fire": {"yes": 0.25, "no": 0.01}})
    >>> ask(fire, "P(Fire=yes | Storm=yes)")
    0.25
    >>> from credo import BetaBernoulli
    >>> round(ask(BetaBernoulli(1, 1).update({1: 2, 0: 0}), "P(theta > 0.5)"), 6)  # 1 - (1/2)³
    0.875
    """
    parsed = parse(question) if isinstance(question, str) else question
    if not isinstance(parsed, Question):
        raise _no_question(model, question)
    asked, parsed = adapter(model), replace(parsed, inference=Inference(method, samples, seed))
    if parsed.members is not None:
        if not isinstance(asked, AnswersMembers):
            what = f"any(...) and all(...) are for plates with their tables, not for a {type(model).__name__}"
            raise parsed.error(what, parsed.members.term.at)
        return asked.about_members(parsed, parsed.members)
    if parsed.events or parsed.given_events:
        return _event_answer(model, asked, parsed)
    if not asked.estimates and method not in ("auto", "exact"):
        raise DataError(f"a {type(model).__name__} answers exactly: method={method!r} is for networks")
    return asked.explain(parsed) if parsed.kind == "explain" else asked.query(parsed)


def _event_answer(model: object, asked: Adapter, question: Question) -> Any:
    at = leaves((*question.events, *question.given_events)[0])[0].at
    if question.kind != "P":
        raise question.error(f"{question.kind} takes no conditions joined by or, and or not; only P does", at)
    if not isinstance(asked, AnswersEvents):
        raise question.error(f"or, and and not are for networks of categories, not for a {type(model).__name__}", at)
    return asked.event(question)


def variables(model: object) -> list[Variable]:
    """The variables that a model can be asked about and conditioned on.

    >>> from credo.networks.network import Network
    >>> variables(Network("Storm -> Fire", {"Storm": 0.2, "Fire": {"yes": 0.25, "no": 0.01}}))[0]
    {'name': 'Storm', 'kind': 'category', 'role': 'variable', 'values': ['yes', 'no'], 'asked': True}
    """
    return adapter(model).variables()


def _no_question(model: object, question: object) -> DataError:
    order = "; the model comes first: ask(model, question)" if isinstance(model, str) else ""
    kind = type(question).__name__
    return DataError(f"a question is text, as in 'P(rain | wind=strong)', but is of type {kind}{order}")
