"""Answers as JSON-able data: what pages, web servers and `credo ask --json` get.

Numbers may be infinite or NaN here; `credo.present.json_text` writes them as JSON can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from credo.asking.protocol import waterfall
from credo.asking.question import Question


class JointProbability(TypedDict):
    """A joint probability of values."""

    states: dict[str, Any]
    probability: float
    standard_error: NotRequired[float]


class Law(TypedDict):
    """The distribution of a number; for several numbers jointly, only its family."""

    family: str
    entry: NotRequired[Any]
    mean: NotRequired[float]
    variance: NotRequired[float]
    interval: NotRequired[list[float]]  # 95%, equal-tailed


class AnswerData(TypedDict, total=False):
    """An answer has one of the keys `probability`, `expectation`, `probabilities`, `most_probable`, `distribution` and
    `explanation`. Lists have an item for each value. An estimate has a standard error and a method."""

    probability: float
    expectation: float | list[dict[str, Any]]
    probabilities: list[JointProbability]
    most_probable: dict[str, Any]
    log_joint: float
    distribution: Law | list[Law]
    explanation: dict[str, Any]
    standard_error: float
    method: str | None
    reliable: bool


def answer_data(question: Question, answer: Any) -> AnswerData:
    """The answer of `credo.ask` as data.

    >>> from credo.asking.parsing import parse
    >>> answer_data(parse("P(Fire | Storm=yes)"), {"yes": 0.25, "no": 0.75})["probabilities"][0]
    {'states': {'Fire': 'yes'}, 'probability': 0.25}
    """
    if question.kind == "explain":
        return {"explanation": _explained(answer)}
    if question.kind == "argmax":
        return _most_probable(answer)
    if isinstance(answer, float):
        number: AnswerData = {"expectation": float(answer)} if question.kind == "E" else {"probability": float(answer)}
        return number | _estimated(answer)
    if not isinstance(answer, Mapping):
        return {"distribution": _law(answer)}
    if question.kind == "E":
        return {"expectation": [{"entry": entry, "mean": mean} for entry, mean in answer.items()]}
    if any(not isinstance(each, float) for each in answer.values()):
        return {"distribution": [{"entry": entry, **_law(law)} for entry, law in answer.items()]}
    return _probabilities(question, answer)


def _probabilities(question: Question, answer: Mapping[Any, float]) -> AnswerData:
    names, errors = question.names, getattr(answer, "standard_error", {})
    lines: list[JointProbability] = []
    for states, p in answer.items():
        together = states if len(names) > 1 else (states,)
        line: JointProbability = {"states": dict(zip(names, together, strict=True)), "probability": p}
        lines.append({**line, "standard_error": errors[states]} if errors else line)
    if not hasattr(answer, "method"):
        return {"probabilities": lines}
    return {"probabilities": lines, "method": answer.method, "reliable": getattr(answer, "reliable", True)}


def _most_probable(answer: Mapping[str, object]) -> AnswerData:
    found: AnswerData = {"most_probable": dict(answer)}
    if hasattr(answer, "log_joint"):
        found = found | {"log_joint": float(answer.log_joint)} | _estimated(answer.log_joint)
    if getattr(answer, "method", "exact") != "exact":
        found["method"] = answer.method  # type: ignore[attr-defined]
    return found


def _estimated(answer: float) -> AnswerData:
    if not hasattr(answer, "standard_error"):
        return {}
    how: AnswerData = {"method": getattr(answer, "method", None), "reliable": getattr(answer, "reliable", True)}
    return {"standard_error": answer.standard_error, **how}


def _law(law: Any) -> Law:
    family = getattr(law, "form", type(law).__name__)
    if not hasattr(law, "cdf"):
        return {"family": family}
    low, high = law.interval(0.95)
    moments = {"mean": float(law.mean()), "variance": float(law.variance())}
    return {"family": family, **moments, "interval": [float(low), float(high)]}  # type: ignore[typeddict-item]


def _explained(answer: object) -> dict[str, Any]:
    found = waterfall(answer)
    weights = [each for each in found.weights if each["weight"] or each["value"] is not None]
    sums = {"prior": found.prior, "weights": weights, "log_odds": found.log_odds}
    return {"of": found.title, **sums, "probability": found.probability}
