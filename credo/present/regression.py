"""Regressions in a few lines, and as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.errors import EvidenceError, counted
from credo.models.regression.features import TIMES
from credo.present.content import GAP, Content, Paragraph, Table, TableColumn
from credo.present.numbers import CELL, count_of, one_line

if TYPE_CHECKING:
    from credo.models.regression.explaining import Contributions
    from credo.models.regression.linear import LinearRegression
    from credo.models.regression.scores import NumberScores

SHOWN, TOP = 12, 15  # terms of a description, and of a table


def described(model: LinearRegression) -> str:
    """How the target was explained, the noise about the line, and the terms that matter most."""
    if model.evidence is None:
        return f"{_name(model)}, not fitted yet"
    head = f"{_name(model)} of {model.target}, after {counted(model.n, 'row')}"
    try:
        return "\n".join([head, *_lines(model)])
    except EvidenceError as unknown:
        return f"{head}\n  {unknown}"


def _name(model: LinearRegression) -> str:
    return "LinearRegression" + (" with Student-t noise" if model.noise == "student" else "")


def _lines(model: LinearRegression) -> list[str]:
    table = model.parameters()
    terms, weights, low, high = (table[name].to_pylist() for name in ("term", "weight", "low", "high"))
    found = [f"  noise: {_noise(model)}{_prior(model)}"]
    found.append(f"  {weights[0]:>12.5g}  ({low[0]:.5g} to {high[0]:.5g})  {terms[0]}")
    order = strongest(model)
    found += [f"  {weights[i]:>+12.5g}  ({low[i]:.5g} to {high[i]:.5g})  {terms[i]}" for i in order[:SHOWN]]
    if len(order) > SHOWN:
        found.append(f"  ... and {counted(len(order) - SHOWN, 'more term')}")
    return found


def _noise(model: LinearRegression) -> str:
    scale = f"{np.sqrt(model.fitted.noise):.4g}"
    if model.robust is None:
        return f"standard deviation {scale}"
    return f"Student-t with {model.robust.degrees:.3g} degrees of freedom, scale {scale}"


def strongest(model: LinearRegression) -> list[int]:
    """The lines of the table of parameters, by how far the terms move predictions."""
    line = model.fitted
    weights = np.abs(model.parameters()["weight"].to_numpy()[1:]) * line.basis.scales
    kept = np.isin(np.arange(len(weights)), line.basis.kept)
    order = np.argsort(-np.where(kept, weights, -1.0), kind="stable")
    return [int(i) + 1 for i in order if kept[i]]


def _prior(model: LinearRegression) -> str:
    ridge = model.fitted.ridge
    if ridge is None:
        return f"; prior {model.given}"
    if ridge == 0:
        return "; least squares"
    how = "by evidence" if model.ridge == "evidence" else "given"
    return f"; ridge {ridge:.3g} ({how})"


def regression_content(model: LinearRegression, top: int | None = None) -> list[Content]:
    """What `credo learn` and `credo show` print: the noise, the terms with their intervals, the report."""
    head, *rest = described(model).splitlines()
    contents: list[Content] = [Paragraph(head, "title")]
    if model.evidence is None or model.n < 2:
        return [*contents, *map(Paragraph, rest)]
    contents += [Paragraph(rest[0].strip()), GAP, _terms(model, top or TOP)]
    order = strongest(model)
    if (more := len(order) - (top or TOP)) > 0:
        contents.append(Paragraph(f"{count_of(more, 'more term')} of less weight: --top prints more"))
    contents.append(Paragraph("weights: of one unit more of a number, or of a level against the average one", "note"))
    if model.report is not None:
        contents += [GAP, *map(Paragraph, repr(model.report).splitlines()[:1]), *scores_content(model.report.scores)]
    return contents


def _terms(model: LinearRegression, top: int) -> Table:
    table = model.parameters()
    order = [0, *strongest(model)[:top]]
    terms, weights, low, high = (table[name].take(order).to_pylist() for name in ("term", "weight", "low", "high"))
    columns = [
        TableColumn("term", terms, wraps=True),
        TableColumn("weight", weights, ".5g"),
        TableColumn("95% interval", [*zip(low, high, strict=True)], ".5g"),
    ]
    if "probability" in table.column_names:
        columns.append(TableColumn("matters", table["probability"].take(order).to_pylist(), "probability"))
    return Table(columns)


def scores_content(scores: NumberScores) -> list[Content]:
    """How well held-out rows are predicted, beside what the mean alone would."""
    columns = [
        TableColumn(scores.how, ["this model", "the mean alone"]),
        TableColumn("rmse", [scores.rmse, scores.baseline_rmse], ".4g"),
        TableColumn("R²", [scores.r2, 0.0], ".4f"),
        TableColumn("log-loss", [scores.log_loss, scores.baseline_log_loss], ".4f"),
    ]
    return [GAP, Table(columns)]


def contributions_content(found: Contributions, title: str, top: int) -> list[Content]:
    """average + what the columns add = the prediction."""
    low, high = found.interval
    head = f"{title}: {one_line(found.target)} = {found.prediction:.5g} (95% interval {low:.5g} to {high:.5g})"
    names = found.strongest[:top]
    rows = [("average row", "", found.average)]
    rows += [(TIMES.join(name), TIMES.join(map(found.cell, name)), found.columns[name]) for name in names]
    if rest := found.strongest[top:]:
        rows.append((count_of(len(rest), "more column"), "", sum(found.columns[name] for name in rest)))
    labels, values, adds = zip(*rows, ("prediction", "", found.prediction), strict=True)
    columns = [
        TableColumn("", labels),
        TableColumn("value", values, longest=CELL, wraps=True),
        TableColumn("adds", adds, "+.5g"),
    ]
    return [Paragraph(head, "title"), GAP, Table(columns)]


def regression_html(model: LinearRegression) -> str:
    from html import escape

    from credo.present.html import table_html

    if model.evidence is None:
        return f"<pre>{escape(repr(model))}</pre>"
    try:
        return table_html(model.parameters(), repr(model).splitlines()[0])
    except EvidenceError:
        return f"<pre>{escape(repr(model))}</pre>"
