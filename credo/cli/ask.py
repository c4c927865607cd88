"""credo ask: answers to questions, from a model or a network."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args

import click

from credo.cli.progress import shown_progress
from credo.cli.streams import echo, remark
from credo.networks.inference.sizes import SAMPLES, Method
from credo.present.limits import TABLE_LINES


@click.command()
@click.argument("file")
@click.argument("questions", nargs=-1, required=True, metavar="QUESTION...")
@click.option(
    "--method", type=click.Choice(get_args(Method)), default="auto", show_default=True, help="Inference in networks."
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=SAMPLES,
    show_default=True,
    metavar="N",
    help="Number of samples, if it samples.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the samples.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Number of lines to print  [default: {TABLE_LINES}; argmax: all]",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each answer.")
def ask(file: str, questions: Sequence[str], top: int | None, as_json: bool, **inference: Any) -> None:
    """Answer questions such as P(Fire | Storm=yes).

    FILE is a .credo file (a network, a classifier, a belief or beliefs by group), or a network in .bif, .xmlbif, .xdsl,
    .dsl, .net, .uai or .json, which may end in .gz.

    \b
    P(A, B | C=c)           joint probabilities of A and B, given C
    P(A=a | C!=c)           one probability; also A in {x, y}, 2 < A <= 5
    P(A=a or not B=b)       conditions joined by or, and, not (networks)
    P(A[2]=a | C[0]=c)      slices of a dynamic network, counted from 0
    C={yes: 0.8, no: 1}     uncertain evidence: the likelihood of each value
    do(C=c)                 an intervention that sets C (networks with arrows)
    argmax P(A | C=c)       the most probable value of A
    argmax P(* | C=c)       the most probable values of all variables together
    explain P(A=a | C=c)    the weight of evidence of each finding
    E(A)                    the expected value of numbers
    P(theta > 0.5)          a belief's parameter; x is its next observation
    P(theta[a] > theta[b])  two groups compared

    Names and values that contain spaces or punctuation are quoted. For sampled answers, ± is one standard error. In
    JSON, infinite numbers are the texts "Infinity" and "-Infinity", and unknown ones are null.

    \b
    Examples:
      credo ask fire.bif 'P(ForestFire | Storm=yes, Thunder=no)'
      credo ask fire.bif 'argmax P(* | ForestFire=yes)' 'P(Storm)'
      credo ask fire.bif 'explain P(ForestFire=yes | Storm=yes)'
      credo ask ads.credo 'P(theta[a7] > theta[b2])'
    """
    from credo.asking import answer_data, parse
    from credo.asking import ask as answered
    from credo.cli.arguments import check_question_order
    from credo.cli.saved import loaded
    from credo.present.answers import answer_content
    from credo.present.content import GAP, json_text
    from credo.present.terminal import Terminal, show

    check_question_order(file, tuple(questions))
    parsed = []
    for i, text in enumerate(questions):
        with _numbered(i, questions):
            parsed.append(parse(text))
    model, screen = loaded(file), Terminal()
    for i, question in enumerate(parsed):
        with _numbered(i, questions), shown_progress("asking"):
            data = answer_data(question, answered(model, question, **inference))
        if as_json:
            echo(json_text({"question": question.text, **data}))
        else:
            show([*([GAP] if i else []), *answer_content(question, data, top)], screen)


@contextmanager
def _numbered(i: int, questions: Sequence[str]) -> Iterator[None]:
    """An error names its question, where there are several; a terminal shows the place in it."""
    from credo.asking.question import shortened
    from credo.errors import CredoError, QuestionError

    which = f"question {i + 1}, {shortened(' '.join(questions[i].split()))}: " if len(questions) > 1 else ""
    try:
        yield
    except QuestionError as error:
        if _is_watched():
            remark("\n".join(f"  {line}" for line in error.pointed().splitlines()))
        raise QuestionError(f"{which}{error.what}", error.question, error.at) from None
    except CredoError as error:
        raise type(error)(f"{which}{error}") from None


def _is_watched() -> bool:
    return sys.stderr.isatty()
