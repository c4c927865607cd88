"""Regressions: summaries, tables of terms, scores and explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.errors import EvidenceError, counted
from credo.models.regression.features import PRODUCT_SIGN
from credo.present.content import GAP, TOP_HINT, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.limits import STRONGEST_LINES
from credo.present.numbers import CELL_CHARACTERS, count_of, one_line

if TYPE_CHECKING:
    from credo.models.regression.explaining import Contributions
    from credo.models.regression.linear import LinearRegression
    from credo.models.regression.scores import NumberFigures
    from credo.selection.report import RegressionReport

TERM_LINES = 12  # in a summary


def described(model: LinearRegression) -> str:
    """A summary of a regression: the noise, the prior, and the most important terms."""
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
    found += [f"  {weights[i]:>+12.5g}  ({low[i]:.5g} to {high[i]:.5g})  {terms[i]}" for i in order[:TERM_LINES]]
    if len(order) > TERM_LINES:
        found.append(f"  ... and {counted(len(order) - TERM_LINES, 'more term')}")
    return found


def _noise(model: LinearRegression) -> str:
    scale = f"{np.sqrt(model.fitted.noise):.4g}"
    if model.robust is None:
        return f"standard deviation {scale}"
    return f"Student-t with {model.robust.degrees:.3g} degrees of freedom, scale {scale}"


def strongest(model: LinearRegression) -> list[int]:
    """The rows of the table of parameters, by their effect on predictions."""
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


def learned_regression_content(model: LinearRegression, data: str, top: int) -> list[Content]:
    """The report of `credo.learn` about a number."""
    report: RegressionReport = model.report
    columns = len(model.columns or ()) - 1
    title = f"{data}: {one_line(report.target)} from {count_of(columns, 'column')}"
    return [Paragraph(title, "title"), *regression_content(model, top)]


def regression_content(model: LinearRegression, top: int | None = None) -> list[Content]:
    """A fitted regression: noise, terms and scores."""
    if model.evidence is None:
        return [Paragraph(repr(model))]
    head = (
        f"{_name(model)} of {one_line(model.target)}: {count_of(model.n, 'row')}; noise: {_noise(model)}{_prior(model)}"
    )
    contents: list[Content] = [Paragraph(head)]
    if model.unlabelled:
        contents.append(Paragraph(f"left out: {count_of(model.unlabelled, 'row')} without {one_line(model.target)}"))
    contents += [GAP, *_terms(model, top or TERM_LINES)]
    return contents if model.report is None else [*contents, GAP, *_judged(model.report)]


def _terms(model: LinearRegression, top: int) -> list[Content]:
    table, order = model.parameters(), strongest(model)
    lines = [0, *order[:top]]
    term, weight, low, high = ([table[name][i].as_py() for i in lines] for name in ("term", "weight", "low", "high"))
    columns = [
        TableColumn("term", term, wraps=True),
        TableColumn("adds", weight, ".5g"),
        TableColumn("95% interval", list(zip(low, high, strict=True)), ".5g"),
    ]
    if "probability" in table.column_names:
        columns.append(TableColumn("P(matters)", table["probability"].take(lines).to_pylist(), "probability"))
    shown = Table(columns)
    rest = len(order) - top
    return [
        shown,
        *([Paragraph(f"{count_of(rest, 'more term')} of less weight", hint=TOP_HINT)] if rest > 0 else []),
    ]


def _judged(report: RegressionReport) -> list[Content]:
    tried, scores = report.tried, report.scores
    figures = {
        "rmse": (f"{scores.rmse:.4g}", f"root mean squared error; the mean alone: {scores.baseline_rmse:.4g}"),
        "R²": (f"{scores.r2:.4f}", "share of variance explained"),
        "log-loss": (f"{scores.log_loss:.4f}", f"± {scores.log_loss_error:.4f}; mean of -log p(truth), in nats"),
    }
    return [
        Paragraph("Regressions tried, scored on held-out rows", "title"),
        Table(
            [
                TableColumn("model", [each.name for each in tried], longest=100, wraps=True),
                TableColumn("log-loss", [each.log_loss for each in tried], ".4f"),
                TableColumn("rmse", [each.rmse for each in tried], ".4g"),
                TableColumn("R²", [each.r2 for each in tried], ".4f"),
            ]
        ),
        Paragraph(f"Chosen: {one_line(report.why, 200)}."),
        GAP,
        Paragraph(f"Scores on {count_of(len(scores.truth), 'held-out row')} ({scores.how})", "title"),
        *(Paragraph(f"  {name:<9} {figure:<9} {about}") for name, (figure, about) in figures.items()),
    ]


def contributions_content(found: Contributions, title: str, top: int) -> list[Content]:
    """average + contributions of the columns = the prediction."""
    low, high = found.interval
    head = f"{one_line(found.target)} = {found.prediction:.5g} (95% interval {low:.5g} to {high:.5g})"
    rows = [("average row", "", found.average)]
    rows += [
        (PRODUCT_SIGN.join(name), PRODUCT_SIGN.join(map(found.cell, name)), found.columns[name])
        for name in found.strongest[:top]
    ]
    if rest := found.strongest[top:]:
        rows.append((count_of(len(rest), "more column"), "", sum(found.columns[name] for name in rest)))
    labels, values, adds = zip(*rows, ("prediction", "", found.prediction), strict=True)
    columns = [
        TableColumn("", labels),
        TableColumn("value", values, longest=CELL_CHARACTERS, wraps=True),
        TableColumn("adds", adds, "+.5g"),
    ]
    drawn = Drawing("weights", [0.0, *adds[1:-1], 0.0])
    return [Paragraph(f"{title}: {head}" if title else head, "title"), GAP, Table(columns, drawn)]


def prediction_content(found: Contributions, top: int | None = None) -> list[Content]:
    """The content of a regression's explanation."""
    return contributions_content(found, "", top or STRONGEST_LINES)


def number_scores_content(found: NumberFigures) -> list[Content]:
    """Errors of predictions, compared with those of the mean alone."""
    known = count_of(found.rows - found.unknown, "row")
    columns = [
        TableColumn("", ["rmse", "R²", "log-loss, in nats"]),
        TableColumn("predictions", [f"{found.rmse:.4g}", f"{found.r2:.4f}", with_error(found)], "cell"),
        TableColumn("the mean alone", [f"{found.baseline_rmse:.4g}", "0", f"{found.baseline_log_loss:.4f}"], "cell"),
    ]
    return [Paragraph(f"Scores on {known} ({found.how})", "title"), Table(columns)]


def with_error(found: NumberFigures) -> str:
    """The log-loss, with its standard error if known."""
    error = f" ± {found.log_loss_error:.4f}" if np.isfinite(found.log_loss_error) else ""
    return f"{found.log_loss:.4f}{error}"
