"""A self-contained page about a classifier: its scores, the models tried, and the fitted distributions."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import date
from hashlib import sha256
from html import escape
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from credo import __version__
from credo.errors import EvidenceError
from credo.present import figures, html
from credo.present.classifiers import (
    NO_SCORES,
    about_log_loss,
    columns_table,
    confusion_content,
    tried_table,
    views_table,
)
from credo.present.content import Matrix, Paragraph, Table
from credo.present.densities import Shape, shape_of
from credo.present.figures import PALETTE
from credo.present.html import named, tabulated
from credo.present.limits import DRAWN_CLASSES
from credo.present.mistakes import classes_table, mistakes_table
from credo.present.numbers import share, whole
from credo.storage.files import FilePath, explained, write_whole

if TYPE_CHECKING:
    from credo.models.classifier import Classifier
    from credo.models.metrics import Scores
    from credo.selection.learning_curve import LearningCurve
    from credo.selection.report import Report

PAGE_DENSITIES = 8  # columns
PAGE_COLUMNS = 40  # in the table of columns
PAGE_MATRIX_CLASSES = 12  # with more classes, the most confused pairs are listed instead
PAGE_CONFUSED_PAIRS = 15  # of classes
PAGE_VALUES = 8  # bars of a category
WIDEST_BAR = 65  # percent, leaving room for the number
NUMERIC_FORMS = ("gaussian", "date", "log", "coarse", "binned")

# Nothing is loaded, and no script runs but the one that sorts tables, whatever names the data has.
SORTING_SCRIPT = (Path(__file__).parent / "sorting.js").read_text(encoding="utf-8")
PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
PAGE_STYLE = (Path(__file__).parent / "credo.css").read_text(encoding="utf-8")  # the explorer's, too


def classifier_page(
    model: Classifier,
    path: FilePath,
    *,
    examples: object = None,
    curve: LearningCurve | None = None,
    file: str = "",
    saved: str = "",
) -> None:
    """Write the page atomically. With labelled examples, it shows the worst mistakes and a few of the texts. `file` is
    a saved model's file name."""
    text = page_of(model, examples, curve, file, saved).encode(errors="replace")
    with explained("save to", path):
        write_whole(Path(path).expanduser().resolve(), [text])


def page_of(
    model: Classifier, examples: object = None, curve: LearningCurve | None = None, file: str = "", saved: str = ""
) -> str:
    """The page's HTML: everything that comes from the data is escaped."""
    from credo.present.texts import documents, strongest_words

    if model.evidence is None:
        raise EvidenceError("nothing was learned yet: fit(data, target=...) first")
    report: Report | None = model.report
    heaviest = np.argsort(-model.class_weights, kind="stable")[:DRAWN_CLASSES].tolist()
    parts = [_heading(model, file)]
    if report is not None:
        parts += [_older(model, report), _tiles(report.scores), _tried_models(report)]
    parts += [_columns(model, report)]
    if report is not None:
        parts += _by_class(report.scores)
    parts += [mistakes_table(model, examples), _curve(curve), strongest_words(model), documents(model, examples)]
    parts += [decision_regions(model, heaviest), columns_by_class(model, heaviest, report), footer(model, saved)]
    return whole_page(f"Predicting {model.target}", parts)


def report_page(report: Report, path: FilePath) -> None:
    """Write a page of a report alone, atomically."""
    heading = f"<h1>Predicting {named(report.target)}</h1>\n<p>{whole(report.rows)} rows.</p>"
    columns = f"<h2>Columns</h2>\n{html.table(columns_table(report, PAGE_COLUMNS), 'sortable words')}"
    parts = [heading, _tiles(report.scores), _tried_models(report), columns, *_by_class(report.scores), made()]
    text = whole_page(f"Predicting {report.target}", parts).encode(errors="replace")
    with explained("save to", path):
        write_whole(Path(path).expanduser().resolve(), [text])


def whole_page(title: str, parts: Sequence[str]) -> str:
    """A whole page from HTML parts and a plain-text title."""
    body = "\n".join(filter(None, parts))
    policy, script = PAGE_POLICY, ""
    if 'class="sortable' in body:
        digest = b64encode(sha256(SORTING_SCRIPT.encode()).digest()).decode()
        policy, script = f"{PAGE_POLICY}; script-src 'sha256-{digest}'", f"<script>{SORTING_SCRIPT}</script>\n"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{PAGE_STYLE}</style></head>\n'
        f"<body>\n{body}\n{script}</body></html>\n"
    )


def _heading(model: Classifier, file: str) -> str:
    found = sorted(zip(model.class_weights, model.classes, strict=True), key=lambda pair: -pair[0])
    few = ", ".join(f"<b>{named(value)}</b> {whole(n)}" for n, value in found[:8])
    more = f", … ({len(found):,} classes)" if len(found) > 8 else ""
    absent = f"; {whole(model.unlabelled)} rows without a class left out" if model.unlabelled else ""
    return (
        f"<h1>Predicting {named(model.target)}</h1>\n"
        f"<p>{whole(model.n)} rows{f' of {named(file)}' if file else ''}: {few}{more}{absent}. "
        f"Learned by {type(model).__name__}.</p>"
    )


def _older(model: Classifier, report: Report) -> str:
    """Whether the evidence has grown since the report was made."""
    if np.isclose(report.rows, model.n):
        return ""
    return f"<p>The scores are from the {whole(report.rows)} rows on which the model was chosen.</p>"


def _by_class(scores: Scores) -> list[str]:
    """Calibration, the confusion matrix, and the scores of each class, if there are any."""
    if isnan(scores.log_loss):
        return []
    return [f'<div class="pair">{_calibration(scores)}{_confusion(scores)}</div>', classes_table(scores)]


def _tiles(scores: Scores) -> str:
    if isnan(scores.log_loss):
        return f"<p>{NO_SCORES}</p>"
    value, share = scores.commonest
    tiles = {
        "accuracy": (f"{scores.accuracy:.1%}", f"always predicting {named(value)} gives {share:.1%}"),
        "log-loss": (f"{scores.log_loss:.4f}", about_log_loss(scores)),
        "Brier score": (f"{scores.brier:.4f}", "mean squared error of all probabilities"),
        "calibration error": (f"{scores.ece:.4f}", "mean gap between probability and frequency"),
    }
    cells = (
        f'<div class="tile">{name}<b>{figure}</b><span class="faint">{about}</span></div>'
        for name, (figure, about) in tiles.items()
    )
    rows = f"On {len(scores.truth):,} held-out rows, used neither for learning nor for tuning ({escape(scores.how)})."
    return f'<div class="tiles">{"".join(cells)}</div>\n<p class="faint">{rows}</p>'


def _tried_models(report: Report) -> str:
    if isnan(report.scores.log_loss):
        return ""
    if not report.tried:
        return f"<p>{escape(report.why)}.</p>"
    table = html.table(tried_table(report), "sortable")
    return f"<h2>Models tried</h2>\n{table}\n<p>Pooled: {escape(report.why)}.</p>"


def _columns(model: Classifier, report: Report | None) -> str:
    if report is None:
        table = html.table(views_table(model, PAGE_COLUMNS), "sortable words")
        return f"<h2>Columns</h2>\n{table}{_more_columns(len(model.views) - PAGE_COLUMNS)}"
    table = html.table(columns_table(report, PAGE_COLUMNS), "sortable words")
    about = "Matters: mean change of the log-odds of the two most probable classes, in nats."
    return f'<h2>Columns</h2>\n{table}{_more_columns(len(report.columns) - PAGE_COLUMNS)}\n<p class="faint">{about}</p>'


def _more_columns(count: int) -> str:
    return f'<p class="faint">{count:,} more columns</p>' if count > 0 else ""


def _calibration(scores: Scores) -> str:
    about = (
        "A point for each range of predicted probabilities, the larger the more rows, with its 95% credible interval. "
        "On the line, predictions with a probability of 70% are right in 70% of the rows."
    )
    figure = f"<figure>{figures.reliability_figure(scores)}<figcaption>{about}</figcaption></figure>"
    return f"<section><h2>Calibration</h2>{figure}</section>\n"


def _curve(curve: LearningCurve | None) -> str:
    if curve is None:
        return ""
    again = "; the model is tuned again for each size" if curve.tuned else ""
    about = (
        f"Scores on {curve.scores[0].n:,g} held-out rows, by the number of rows learned{again}. Where the curve is "
        "flat, more rows of the same kind won't help."
    )
    figure = f"<figure>{figures.curve_figure(curve)}<figcaption>{about}</figcaption></figure>"
    return f"<h2>Learning curve</h2>\n{figure}"


def _confusion(scores: Scores) -> str:
    title, *shown = confusion_content(scores, PAGE_MATRIX_CLASSES, PAGE_CONFUSED_PAIRS)
    parts = ["<section><h2>Confusion matrix</h2>"]
    for content in shown:
        if isinstance(content, Matrix):
            parts.append(html.matrix(content))
            title = Paragraph("A row for each true class, a column for each predicted class.")
        elif isinstance(content, Table):
            parts.append(html.table(content, "words"))
    if isinstance(title, Paragraph):
        parts.append(f'<p class="faint">{escape(title.text)}</p>')
    return "\n".join(parts) + "</section>"


def _legend(model: Classifier, classes: Sequence[int]) -> str:
    keys = "".join(
        f'<span class="key" style="background:{colour}"></span>{named(model.classes[k])}'
        for colour, k in zip(PALETTE, classes, strict=False)
    )
    rest = len(model.classes) - len(classes)
    return f'<p class="faint">{keys}{f"; {rest:,} more classes not shown" if rest else ""}</p>'


def decision_regions(model: Classifier, classes: Sequence[int]) -> str:
    """Decision regions, where the model reads two columns and both are numbers."""
    numbers = [name for name, forms in model.views.items() if forms[0] in NUMERIC_FORMS]
    if len(model.views) != 2 or len(numbers) != 2:
        return ""
    figure = figures.regions_figure(model, numbers, classes)
    if figure is None:
        return ""
    about = f"{named(numbers[0])} to the right, {named(numbers[1])} upwards; pale where the model is uncertain."
    drawn = f"<figure>{figure}<figcaption>{about}</figcaption></figure><div></div>"
    return f'<h2>Decision regions</h2>\n{_legend(model, classes)}\n<div class="pair">{drawn}</div>'


def columns_by_class(
    model: Classifier, classes: Sequence[int], report: Report | None = None, noun: str = "class"
) -> str:
    """The densities of columns, the most important first."""
    names = list(model.views) if report is None else [each.name for each in report.important if each.form]
    drawn = [_density(model, name, classes) for name in names[:PAGE_DENSITIES]]
    shown = "\n".join(filter(None, drawn))
    if not shown:
        return ""
    more = (
        f" Shown are the {PAGE_DENSITIES} of {len(names):,} columns that matter most."
        if len(names) > PAGE_DENSITIES
        else ""
    )
    about = f'<p class="faint">The distribution of each column in each {noun}.{more}</p>'
    title = f"<h2>Columns by {noun}</h2>"
    return f'{title}\n{about}{_legend(model, classes)}\n<div class="figures">{shown}</div>'


def _density(model: Classifier, name: str, classes: Sequence[int]) -> str:
    shape = shape_of(model, name)
    if shape is None:
        return ""
    if shape.form == "category":
        return f"<figure><b>{named(name)}</b>{_value_bars(shape, classes)}</figure>"
    about = {"log": "on a logarithmic scale", "binned": "bins at quantiles", "coarse": "bins at quantiles"}
    caption = f"<figcaption>{about.get(shape.form, shape.form)}</figcaption>"
    return f"<figure><b>{named(name)}</b>{figures.density_figure(shape, classes)}{caption}</figure>"


def _value_bars(shape: Shape, classes: Sequence[int]) -> str:
    """The commonest values of a category, a bar for each class."""
    order = np.argsort(-shape.heights[classes].max(0), kind="stable")[:PAGE_VALUES]
    most, rows = float(shape.heights[classes].max()) or 1.0, []
    for v in order:
        bars = ""
        for colour, k in zip(PALETTE, classes, strict=False):
            height = float(shape.heights[k, v])
            width = f"width:{WIDEST_BAR * height / most:.1f}%"
            bars += f'<div><span class="bar" style="{width};background:{colour}"></span> {share(height)}</div>'
        rows.append((named(shape.places[v]), f'<div class="wide">{bars}</div>'))
    rest = len(shape.places) - len(order)
    more = f"<figcaption>{rest:,} more values</figcaption>" if rest else ""
    return tabulated((), rows, "values") + more


def footer(model: Classifier, saved: str) -> str:
    tuning = f" Tuned: {escape(model.tuning.described(model.n))}." if model.tuning is not None else ""
    return made(saved, tuning)


def made(saved: str = "", more: str = "") -> str:
    """The foot of a page: the model's file, if it has one, and the date."""
    source = f" from {named(saved)}" if saved else ""
    return f'<p class="faint">Made by credo {__version__}{source}, {date.today().isoformat()}.{more}</p>'
