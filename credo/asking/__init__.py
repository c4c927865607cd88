"""Questions as text, to any model.

    question   = ( "P" | "E" | "argmax" [ "P" ] | "explain" "P" ) "(" asked [ "|" given ] ")" ;
    asked      = "*" | term { "," term } ;                     (* "*", of all variables: after argmax only *)
    given      = finding { "," finding } ;
    term       = name
               | name ( "=" | "!=" ) word
               | name "in" set
               | name order word | word order name | word order name order word
               | name ( "<" | ">" ) name ;
    finding    = term | name "=" likelihood | "do" "(" done { "," done } ")" ;
    done       = name "=" word | name "=" likelihood ;         (* of likelihoods that sum to 1 *)
    set        = "{" word { "," word } "}" ;
    likelihood = "{" word ":" number { "," word ":" number } "}" ;
    order      = "<" | "<=" | ">" | ">=" ;
    name       = word [ "[" word { "," word } "]" ] ;

A word is a run of characters that aren't signs of the grammar, as 5-10 and Asy/Patch are; or anything in quotes, " or
', where a backslash stands before a quote or another backslash. P, E, argmax, explain, in and do are words of the
grammar only where it has them: a variable may be called so. A value may begin with < or >, as <5 does; ≤, ≥, ≠ and ∈
may stand for <=, >=, != and in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credo.asking.parsing import parse
from credo.asking.question import Question
from credo.errors import DataError
from credo.networks.inference.sizes import SAMPLES, Method

__all__ = ["Question", "ask", "parse"]


def ask(model: Any, question: str | Question, *, method: Method = "auto", samples: int = SAMPLES, seed: int = 0) -> Any:
    """Answer a question that is written as in books.

    P(A | ...) is {state: probability}, of several names {(state, ...): probability}; P(A=a | ...) a number, and with
    names beside it, {state: P(state and A=a)}. argmax is {name: state}. P(theta) of a belief is a distribution; E(...)
    a number; explain what `model.explain` says. The options are how networks infer; what they estimate has a
    `standard_error`.

    >>> from credo.networks.network import Network
    >>> fire = Network("Storm -> Fire", {"Storm": 0.2, "Fire": {"yes": 0.25, "no": 0.01}})
    >>> ask(fire, "P(Fire=yes | Storm=yes)")
    0.25
    >>> from credo import BetaBernoulli
    >>> round(ask(BetaBernoulli(1, 1).update({1: 2, 0: 0}), "P(theta > 0.5)"), 6)  # 1 - (1/2)³
    0.875
    """
    from credo.networks.graphical_model import GraphicalModel

    parsed = parse(question) if isinstance(question, str) else question
    if not isinstance(parsed, Question):
        raise DataError(f"a question is text, as in 'P(rain | wind=strong)', not a {type(question).__name__}")
    if isinstance(model, GraphicalModel):
        from credo.asking.networks import ask_network

        return ask_network(model, parsed, method, samples, seed)
    if method not in ("auto", "exact"):
        raise DataError(f"this answers exactly: {method} is how networks infer, and it is a {type(model).__name__}")
    from credo.models.classifier import Classifier

    if isinstance(model, Classifier):
        from credo.asking.classifiers import ask_classifier

        return ask_classifier(model, parsed)
    from credo.asking.beliefs import ask_belief, is_believed

    if is_believed(model) or (isinstance(model, Mapping) and model and all(map(is_believed, model.values()))):
        return ask_belief(model, parsed)
    raise DataError(f"questions go to networks, classifiers and beliefs, but this is of type {type(model).__name__}")
