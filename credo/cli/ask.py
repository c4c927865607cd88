"""credo ask: questions to a model or a network, answered."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from math import exp, isfinite
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from credo.asking import Question
    from credo.errors import QuestionError
    from credo.models.answering import Method

METHODS = ("auto", "exact", "likelihood-weighting", "gibbs", "forward", "loopy")
WIDEST = 33  # of the bars


@click.command()
@click.argument("file")
@click.argument("questions", nargs=-1, required=True, metavar="QUESTION...")
@click.option("--method", type=click.Choice(METHODS), default="auto", show_default=True, help="How networks infer.")
@click.option("--samples", type=click.IntRange(min=1), default=100_000, show_default=True, help="Where they sample.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the samples.")
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="How many lines to print.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each answer.")
def ask(file: str, questions: Sequence[str], top: int, as_json: bool, **how: Any) -> None:
    """Answer questions such as P(Fire | Storm=yes).

    FILE is a .credo file (a network, a classifier, a belief or beliefs by group), or a network in .bif, .xmlbif, .xdsl,
    .dsl, .net, .uai or .json, which may end in .gz.

    \b
    P(A, B | C=c)        probabilities of A and B together, given C
    P(A=a | C!=c)        one probability; also: A in {x, y}, 2 < A <= 5
    C={yes: 0.8, no: 1}  evidence that isn't sure: how likely each value makes it
    do(C=c)              somebody sets C (networks with arrows)
    argmax P(A | C=c)    the most probable value; argmax P(* | C=c): of all variables
    explain P(A=a | ...) how much each finding weighs
    E(A)                 the expected value of numbers
    P(theta > 0.5)       of a belief's parameter; x is its next observation
    P(theta[a] > theta[b])  of beliefs by group

    Names and values with spaces or signs in them stand in quotes.

    \b
    Examples:
      credo ask fire.bif 'P(ForestFire | Storm=yes, Thunder=no)'
      credo ask fire.bif 'argmax P(* | ForestFire=yes)' 'explain P(ForestFire=yes | Storm=yes)'
      credo ask ads.credo 'P(theta[a7] > theta[b2])'
    """
    from credo.asking import parse
    from credo.cli import screen as on
    from credo.cli.saved import loaded
    from credo.errors import QuestionError

    try:
        parsed = [parse(question) for question in questions]
        model = loaded(file)
        screen = on.Screen()
        for i, question in enumerate(parsed):
            answer = _answer(model, question, **how)
            if as_json:
                click.echo(json.dumps({"question": question.text, **as_data(question, answer)}, default=str))
                continue
            if i:
                screen.print()
            _print(screen, question, answer, top)
    except QuestionError as error:
        _point(error)
        raise


def _answer(model: Any, question: Question, *, method: Method, samples: int, seed: int) -> Any:
    from credo.asking import ask as answered

    return answered(model, question, method=method, samples=samples, seed=seed)


def _point(error: QuestionError) -> None:
    """Where somebody looks, the place in the question."""
    if _is_watched():
        click.echo("\n".join(f"  {line}" for line in error.pointed().splitlines()), err=True)


def _is_watched() -> bool:
    return sys.stderr.isatty()


# As data


def as_data(question: Question, answer: Any) -> dict[str, Any]:
    """An answer in JSON's terms."""
    if isinstance(answer, float):
        return {"expectation" if question.kind == "E" else "probability": _finite(answer)}
    if question.kind == "argmax":
        best = {"most_probable": dict(answer)}
        return best | ({"log_joint": _finite(answer.log_joint)} if hasattr(answer, "log_joint") else {})
    if question.kind == "explain":
        return {"explanation": _explained(answer)}
    if not isinstance(answer, Mapping):
        return {"distribution": _described(answer)}
    if question.kind == "E":
        return {"expectation": [{"entry": entry, "mean": _finite(mean)} for entry, mean in answer.items()]}
    if any(not isinstance(each, float) for each in answer.values()):
        return {"distribution": [{"entry": entry, **_described(each)} for entry, each in answer.items()]}
    errors: Mapping[Any, float] = getattr(answer, "standard_error", {})
    lines: list[dict[str, Any]] = []
    for states, p in answer.items():
        line = {"states": dict(zip(question.names, _tuple(states, question), strict=True)), "probability": p}
        lines.append(line | ({"standard_error": _finite(errors[states])} if errors else {}))
    return {"probabilities": lines} | ({"method": answer.method} if hasattr(answer, "method") else {})


def _finite(x: float) -> float | None:
    return x if isfinite(x) else None


def _tuple(states: Any, question: Question) -> tuple[Any, ...]:
    return states if len(question.names) > 1 else (states,)


def _described(law: Any) -> dict[str, Any]:
    """A distribution, by what people ask of it."""
    found: dict[str, Any] = {"family": type(law).__name__}
    if hasattr(law, "cdf"):
        low, high = law.interval(0.95)
        found |= {"mean": _finite(float(law.mean())), "variance": _finite(float(law.variance()))}
        found["interval"] = [_finite(float(low)), _finite(float(high))]
    return found


def _explained(found: Any) -> dict[str, Any]:
    title, prior, lines, log_odds, p = weighed(found)
    weights = [{"name": name, "value": value, "weight": _finite(weight)} for name, value, weight in lines]
    return {"of": title, "prior": _finite(prior), "weights": weights, "log_odds": _finite(log_odds), "probability": p}


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


def _print(screen: Console, question: Question, answer: Any, top: int) -> None:
    from credo.cli import screen as on

    title = on.harmless(question.text.strip(), 500)
    if isinstance(answer, float):
        on.say(screen, f"{title} = {answer:.6g}", "bold")
        return
    on.say(screen, title, "bold")
    screen.print()
    if question.kind == "argmax":
        _print_states(screen, answer)
    elif question.kind == "explain":
        _print_weights(screen, answer, top)
    elif isinstance(answer, Mapping) and all(isinstance(each, float) for each in answer.values()):
        _print_numbers(screen, question, answer, top)
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
    if errors := getattr(answer, "standard_error", None):
        columns.append(("±", [f"{errors[states]:.2g}" for states, _ in lines]))
    left = [*range(len(question.names))]
    room = min(on.room(screen, columns), WIDEST)
    if room >= on.NARROWEST and question.kind == "P":
        left.append(len(columns))
        columns.append(("", [bar.ljust(1) for bar in on.bars([*numbers, 1.0], room)[:-1]]))
    screen.print(on.table(columns, left=left, yielding=0))
    if len(answer) > len(lines):
        rest = len(answer) - len(lines)
        left_out = sum(answer.values()) - sum(numbers)
        on.say(screen, f"... and {on.counted(rest, 'more line')}, together {max(left_out, 0.0):.2g}", "dim")
    if hasattr(answer, "method"):
        on.say(screen, f"estimated by {answer.method}; ± is one standard error", "dim")


def _digits(number: float) -> str:
    """Six decimals, so that they stand below each other; more only of what they would hide."""
    return f"{number:.6f}" if number == 0 or abs(number) >= 1e-5 else f"{number:.3e}"


def _print_states(screen: Console, answer: Mapping[str, Any]) -> None:
    from credo.cli import screen as on

    columns = [
        ("variable", [on.harmless(name) for name in answer]),
        ("most probable", [_shown(value) for value in answer.values()]),
    ]
    screen.print(on.table(columns, left=(0, 1), yielding=1))
    if hasattr(answer, "log_joint"):
        screen.print()
        log_joint = answer.log_joint
        p = f" (log {log_joint:.4g})" if log_joint < -20 else ""
        on.say(screen, f"P(these and what is given) = {exp(min(log_joint, 700)):.4g}{p}", "dim")


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
    screen.print(on.table(columns, left=(0, 1, 3), yielding=1))
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
    screen.print(on.table(columns, left=(0, 3), yielding=0))
