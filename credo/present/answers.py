"""Answers to questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

from credo.asking import AnswerData, Question, Waterfall
from credo.asking.answers import JointProbability, Law
from credo.networks.answers import EstimatedNumber
from credo.present.content import GAP, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.limits import TABLE_LINES
from credo.present.numbers import count_of, number_form, one_line
from credo.present.waterfalls import waterfall_table

QUESTION_CHARACTERS, ANSWER_CHARACTERS = 500, 80  # of a printed question; of an explanation's title


def answer_content(question: Question, data: AnswerData, top: int | None = None) -> list[Content]:
    """The question, and its answer as a number or a table."""
    asked = one_line(question.text.strip(), QUESTION_CHARACTERS)
    if isinstance(number := data.get("probability", data.get("expectation")), float):
        return [Paragraph(f"{asked} = {_number(number, data)}", "title")]
    return [Paragraph(asked, "title"), GAP, *_details(question, data, top)]


def _details(question: Question, data: AnswerData, top: int | None) -> list[Content]:
    if "most_probable" in data:
        return _most_probable(data, top)
    if "explanation" in data:
        return _explanation(data["explanation"], top or TABLE_LINES)
    if "probabilities" in data:
        return _probabilities(question, data, top or TABLE_LINES)
    if isinstance(means := data.get("expectation"), list):
        return [Table([TableColumn(question.names[0], [each["entry"] for each in means]),
                       TableColumn("mean", [each["mean"] for each in means], "probability")])]  # fmt: skip
    laws = data["distribution"]
    return _laws(question, laws if isinstance(laws, list) else [{**laws, "entry": question.names[0]}])


def _number(number: float, data: AnswerData) -> str:
    if "standard_error" not in data:
        return f"{number:.6g}"
    error, method = data["standard_error"], data.get("method") or ""
    return str(EstimatedNumber(number, error, 0.0, method, data.get("reliable", True)))


def _probabilities(question: Question, data: AnswerData, top: int) -> list[Content]:
    """Probabilities in their order, or the largest ones if there are many."""
    lines: Sequence[JointProbability] = data["probabilities"]
    shown = sorted(lines, key=lambda line: -line["probability"])[:top] if len(lines) > top else lines
    numbers = [line["probability"] for line in shown]
    columns = [
        TableColumn(name, [line["states"][name] for line in shown], wraps=not i)
        for i, name in enumerate(question.names)
    ]
    columns.append(TableColumn("P", numbers, "probability"))
    errors = [line.get("standard_error", float("nan")) for line in shown]
    known = any(error == error for error in errors)
    if known:
        columns.append(TableColumn("±", errors, ".2g"))
    contents: list[Content] = [Table(columns, Drawing("bars", numbers, most=1.0))]
    if len(lines) > len(shown):
        rest = max(sum(line["probability"] for line in lines) - sum(numbers), 0.0)
        contents.append(
            Paragraph(f"... and {count_of(len(lines) - len(shown), 'more line')}, together {rest:.2g}", "note")
        )
    if "method" in data:
        error = "± is one standard error" if known else "the error is unknown"
        error = error if data.get("reliable", True) else "unreliable: the error is unknown"
        contents.append(Paragraph(f"estimated by {data['method']}; {error}", "note"))
    return contents


def _most_probable(data: AnswerData, top: int | None) -> list[Content]:
    found = data["most_probable"]
    lines = [*found.items()][:top]
    states = [f"{value:.6g}" if isinstance(value, float) else value for _, value in lines]
    columns = [TableColumn("variable", [name for name, _ in lines]), TableColumn("most probable", states, wraps=True)]
    contents: list[Content] = [Table(columns)]
    if len(found) > len(lines):
        contents.append(Paragraph(f"... and {count_of(len(found) - len(lines), 'more variable')}", "note"))
    if "log_joint" in data:
        log_joint = data["log_joint"]
        p = f" (log {log_joint:.4g})" if log_joint < -20 else ""
        contents += [GAP, Paragraph(f"joint probability with the evidence: {exp(min(log_joint, 700)):.4g}{p}", "note")]
    if data.get("method", "exact") != "exact":
        contents.append(Paragraph(f"the best that {data['method']} found", "note"))
    return contents


def _explanation(found: Mapping[str, Any], top: int) -> list[Content]:
    sums = found["prior"], found["weights"], found["log_odds"], found["probability"]
    table = waterfall_table(Waterfall(found["of"], "", *sums), top, "finding", ("against", "for"))
    title = one_line(found["of"], ANSWER_CHARACTERS)
    return [table, GAP, Paragraph(f"{title}: P = {found['probability']:.4g}; prior + weights = its log-odds", "note")]


def _laws(question: Question, laws: Sequence[Law]) -> list[Content]:
    """Distributions of numbers by their means and intervals."""
    known = [law for law in laws if "mean" in law]
    if not known:
        names = ", ".join(one_line(law["entry"]) for law in laws)
        return [Paragraph(f"{names}: rows of several columns; ask about one")]
    form = number_form([law["mean"] for law in known])
    return [
        Table(
            [
                TableColumn(question.names[0] if len(known) > 1 else "", [law["entry"] for law in known], wraps=True),
                TableColumn("mean", [law["mean"] for law in known], form),
                TableColumn("95% interval", [tuple(law["interval"]) for law in known], form),
                TableColumn("distribution", [law["family"] for law in known]),
            ]
        )
    ]
