"""credo ask: questions to a model or a network, answered."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import exp, isfinite, isnan
from typing import TYPE_CHECKING, Any, get_args

import click

from credo.cli.progress import shown_progress
from credo.cli.terminal import echo, remark
from credo.networks.inference.sizes import SAMPLES, Method

if TYPE_CHECKING:
    from rich.console import Console

    from credo.asking import Question
    from credo.errors import QuestionError

WIDEST, TOP = 33, 20  # of the bars; lines that are printed


@click.command()
@click.argument("file")
@click.argument("questions", nargs=-1, required=True, metavar="QUESTION...")
@click.option(
    "--method", type=click.Choice(get_args(Method)), default="auto", show_default=True, help="How a network is queried."
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=SAMPLES,
    show_default=True,
    metavar="N",
    help="How many samples, where it samples.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the samples.")
@click.option(
    "--top", type=click.IntRange(min=1), metavar="N", help=f"How many lines to print  [default: {TOP}; of argmax, all]"
)
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each answer.")
def ask(file: str, questions: Sequence[str], top: int | None, as_json: bool, **how: Any) -> None:
    """Answer questions such as P(Fire | Storm=yes).

    FILE is a .credo file (a network, a classifier, a belief or beliefs by group), or a network in .bif, .xmlbif, .xdsl,
    .dsl, .net, .uai or .json, which may end in .gz.

    \b
    P(A, B | C=c)           joint probabilities of A and B, given C
    P(A=a | C!=c)           one probability; also A in {x, y}, 2 < A <= 5
    C={yes: 0.8, no: 1}     uncertain evidence: the likelihood of each value
    do(C=c)                 an intervention that sets C (networks with arrows)
    argmax P(A | C=c)       the most probable value of A
    argmax P(* | C=c)       the most probable values of all variables together
    explain P(A=a | C=c)    the weight of evidence of each finding
    E(A)                    the expected value of numbers
    P(theta > 0.5)          of a belief's parameter; x is its next observation
    P(theta[a] > theta[b])  of beliefs by group

    Names and values that contain spaces or punctuation are quoted. Where a network samples, ± is one standard error. In
    JSON, infinite numbers are the texts "Infinity" and "-Infinity", and unknown ones are null.

    \b
    Examples:
      credo ask fire.bif 'P(ForestFire | Storm=yes, Thunder=no)'
      credo ask fire.bif 'argmax P(* | ForestFire=yes)' 'P(Storm)'
      credo ask fire.bif 'explain P(ForestFire=yes | Storm=yes)'
      credo ask ads.credo 'P(theta[a7] > theta[b2])'
    """
    from credo.asking import parse
    from credo.cli import screen as on
    from credo.cli.arguments import check_question_order
    from credo.cli.saved import loaded

    check_question_order(file, tuple(questions))
    parsed = []
    for i, text in enumerate(questions):
        with _said_of(i, questions):
            parsed.append(parse(text))
    model = loaded(file)
    screen = on.Screen()
    for i, question in enumerate(parsed):
        with _said_of(i, questions), shown_progress("asking"):
            answer = _answer(model, question, **how)
        if as_json:
            echo(json.dumps({"question": question.text, **as_data(question, answer)}, default=str))
            continue
        if i:
            screen.print()
        _print(screen, question, answer, top)


@contextmanager
def _said_of(i: int, questions: Sequence[str]) -> Iterator[None]:
    """An error says which question it is about, where there are several."""
    from credo.asking.question import shortened
    from credo.errors import CredoError, QuestionError

    which = f"question {i + 1}, {shortened(' '.join(questions[i].split()))}: " if len(questions) > 1 else ""
    try:
        yield
    except QuestionError as error:
        _point(error)
        raise QuestionError(f"{which}{error.what}", error.question, error.at) from None
    except CredoError as error:
        raise type(error)(f"{which}{error}") from None


def _answer(model: Any, question: Question, *, method: Method, samples: int, seed: int) -> Any:
    from credo.asking import ask as answered

    return answered(model, question, method=method, samples=samples, seed=seed)


def _point(error: QuestionError) -> None:
    """Where somebody looks, the place in the question."""
    if _is_watched():
        remark("\n".join(f"  {line}" for line in error.pointed().splitlines()))


def _is_watched() -> bool:
    return sys.stderr.isatty()


# As data


def as_data(question: Question, answer: Any) -> dict[str, Any]:
    """An answer in JSON's terms."""
    if isinstance(answer, float):
        return {"expectation" if question.kind == "E" else "probability": _written(answer), **_estimated(answer)}
    if question.kind == "argmax":
        best: dict[str, Any] = {"most_probable": dict(answer)}
        if hasattr(answer, "log_joint"):
            best |= {"log_joint": _written(answer.log_joint), **_estimated(answer.log_joint)}
        return best | ({"method": answer.method} if getattr(answer, "method", "exact") != "exact" else {})
    if question.kind == "explain":
        return {"explanation": _explained(answer)}
    if not isinstance(answer, Mapping):
        return {"distribution": _described(answer)}
    if question.kind == "E":
        return {"expectation": [{"entry": entry, "mean": _written(mean)} for entry, mean in answer.items()]}
    if any(not isinstance(each, float) for each in answer.values()):
        return {"distribution": [{"entry": entry, **_described(each)} for entry, each in answer.items()]}
    errors: Mapping[Any, float] = getattr(answer, "standard_error", {})
    lines: list[dict[str, Any]] = []
    for states, p in answer.items():
        line = {"states": dict(zip(question.names, _tuple(states, question), strict=True)), "probability": p}
        lines.append(line | ({"standard_error": _written(errors[states])} if errors else {}))
    if not hasattr(answer, "method"):
        return {"probabilities": lines}
    return {"probabilities": lines, "method": answer.method, "reliable": getattr(answer, "reliable", True)}


def _written(x: float) -> float | str | None:
    """JSON has no infinite numbers: they are text, which most languages read as a number again."""
    return None if isnan(x) else float(x) if isfinite(x) else "Infinity" if x > 0 else "-Infinity"


def _estimated(answer: float) -> dict[str, Any]:
    """How far off a number is likely to be, if it was estimated."""
    if not hasattr(answer, "standard_error"):
        return {}
    how = {"method": getattr(answer, "method", None), "reliable": getattr(answer, "reliable", True)}
    return {"standard_error": _written(answer.standard_error), **how}


def _tuple(states: Any, question: Question) -> tuple[Any, ...]:
    return states if len(question.names) > 1 else (states,)


def _described(law: Any) -> dict[str, Any]:
    """A distribution, by what people ask of it."""
    found: dict[str, Any] = {"family": type(law).__name__}
    if hasattr(law, "cdf"):
        low, high = law.interval(0.95)
        found |= {"mean": _written(float(law.mean())), "variance": _written(float(law.variance()))}
        found["interval"] = [_written(float(low)), _written(float(high))]
    return found


def _explained(found: Any) -> dict[str, Any]:
    title, prior, lines, log_odds, p = weighed(found)
    weights = [{"name": name, "value": value, "weight": _written(weight)} for name, value, weight in lines]
    sums = {"prior": _written(prior), "weights": weights, "log_odds": _written(log_odds)}
    return {"of": title, **sums, "probability": p}


def weighed(found: Any) -> tuple[str, float, list[tuple[str, str, float]], float, float]:
    """Of an explanation: what of, the prior, each finding with its value and weight, their sum, and the probability."""
    if hasattr(found, "findings"):  # of a network
        lines = [(each.name, _said(each.value), each.weight) for each in found.findings]
        return f"{found.name}={found.value}", found.prior, lines, found.log_odds, found.probability
    names = [name for name in found.strongest if found.weights[name] or found.values.get(name) is not None]
    lines = [(name, str(found.values.get(name, "")), found.weights[name]) for name in names]
    return f"{found.of} against {found.against}", found.prior, lines, found.log_odds, found.probability


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{state}: {weight:g}" for state, weight in value.items())
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)


# On the screen


def _print(screen: Console, question: Question, answer: Any, top: int | None) -> None:
    from credo.cli import screen as on

    title = on.harmless(question.text.strip(), 500)
    if isinstance(answer, float):
        on.say(screen, f"{title} = {answer if hasattr(answer, 'standard_error') else f'{answer:.6g}'}", "bold")
        return
    on.say(screen, title, "bold")
    screen.print()
    if question.kind == "argmax":
        _print_states(screen, answer, top)
    elif question.kind == "explain":
        _print_weights(screen, answer, top or TOP)
    elif isinstance(answer, Mapping) and all(isinstance(each, float) for each in answer.values()):
        _print_numbers(screen, question, answer, top or TOP)
    else:
        _print_laws(screen, question, answer if isinstance(answer, Mapping) else {question.names[0]: answer})


def _print_numbers(screen: Console, question: Question, answer: Mapping[Any, float], top: int) -> None:
    """Probabilities in their order; where there are many, the largest."""
    from credo.cli import screen as on

    lines = [*answer.items()]
    if len(lines) > top:
        lines = sorted(lines, key=lambda line: -line[1])[:top]
    rows = [_tuple(states, question) for states, _ in lines]
    numbers = [number for _, number in lines]
    columns = [(on.harmless(name), [on.harmless(row[j]) for row in rows]) for j, name in enumerate(question.names)]
    columns.append(("mean" if question.kind == "E" else "P", [_digits(number) for number in numbers]))
    errors = {states: error for states, error in getattr(answer, "standard_error", {}).items() if error == error}
    if errors:
        columns.append(("±", [f"{errors[states]:.2g}" for states, _ in lines]))
    left = [*range(len(question.names))]
    room = min(on.room(screen, columns), WIDEST)
    if room >= on.NARROWEST and question.kind == "P":
        left.append(len(columns))
        columns.append(("", [bar.ljust(1) for bar in on.bars([*numbers, 1.0], room)[:-1]]))
    screen.print(on.table(columns, left=left, yielding=(0,)))
    if len(answer) > len(lines):
        rest = len(answer) - len(lines)
        left_out = sum(answer.values()) - sum(numbers)
        on.say(screen, f"... and {on.counted(rest, 'more line')}, together {max(left_out, 0.0):.2g}", "dim")
    if hasattr(answer, "method"):
        told = "± is one standard error" if errors else "the error is unknown"
        told = told if getattr(answer, "reliable", True) else "unreliable: the error is unknown"
        on.say(screen, f"estimated by {answer.method}; {told}", "dim")


def _digits(number: float) -> str:
    """Six decimals, so that they stand below each other; more only of what they would hide."""
    return f"{number:.6f}" if number == 0 or abs(number) >= 1e-5 else f"{number:.3e}"


def _print_states(screen: Console, answer: Mapping[str, Any], top: int | None) -> None:
    from credo.cli import screen as on

    lines = [*answer.items()][:top]
    columns = [
        ("variable", [on.harmless(name) for name, _ in lines]),
        ("most probable", [_shown(value) for _, value in lines]),
    ]
    screen.print(on.table(columns, left=(0, 1), yielding=(1,)))
    if len(answer) > len(lines):
        on.say(screen, f"... and {on.counted(len(answer) - len(lines), 'more variable')}", "dim")
    if hasattr(answer, "log_joint"):
        screen.print()
        log_joint = answer.log_joint
        p = f" (log {log_joint:.4g})" if log_joint < -20 else ""
        on.say(screen, f"joint probability with what is given: {exp(min(log_joint, 700)):.4g}{p}", "dim")
    if getattr(answer, "method", "exact") != "exact":
        on.say(screen, f"the best that {answer.method} found", "dim")  # type: ignore[attr-defined]


def _shown(value: Any) -> str:
    from credo.cli import screen as on

    return f"{value:.6g}" if isinstance(value, float) else on.harmless(value)


def _print_weights(screen: Console, found: Any, top: int) -> None:
    from credo.cli import screen as on

    title, prior, findings, log_odds, p = weighed(found)
    lines = [("prior", "", prior), *findings[:top]]
    if len(findings) > top:
        rest = findings[top:]
        lines.append((on.counted(len(rest), "more finding"), "", sum(weight for _, _, weight in rest)))
    lines.append(("log-odds", "", log_odds))
    weights = [weight for _, _, weight in lines]
    columns = [
        ("", [on.harmless(name) for name, _, _ in lines]),
        ("value", [on.harmless(value, 20) for _, value, _ in lines]),
        ("nats", [f"{weight:+.3f}" for weight in weights]),
    ]
    room = min(on.room(screen, columns), WIDEST)
    if room >= on.NARROWEST:
        half = room // 2
        columns.append((f"{'against ':>{half}}│{' for':<{half}}", on.leanings(weights, room)))
    screen.print(on.table(columns, left=(0, 1, 3), yielding=(1,)))
    screen.print()
    on.say(screen, f"{on.harmless(title, 80)}: P = {p:.4g}; prior + weights = its log-odds", "dim")


def _print_laws(screen: Console, question: Question, laws: Mapping[Any, Any]) -> None:
    """Distributions of numbers by their means and intervals."""
    from credo.cli import screen as on

    known = {name: law for name, law in laws.items() if hasattr(law, "cdf")}
    if not known:
        on.say(screen, f"{', '.join(map(on.harmless, laws))}: rows of several columns; ask of one")
        return
    means = [float(law.mean()) for law in known.values()]
    ends = [law.interval(0.95) for law in known.values()]
    low, high = [float(a) for a, _ in ends], [float(b) for _, b in ends]
    shown = on.aligned(means, low, high)
    columns = [
        (on.harmless(question.names[0]) if len(known) > 1 else "", [on.harmless(name) for name in known]),
        ("mean", shown[0]),
        ("95% interval", on.intervals(*shown[1:])),
        ("distribution", [type(law).__name__ for law in known.values()]),
    ]
    screen.print(on.table(columns, left=(0, 3), yielding=(0,)))
