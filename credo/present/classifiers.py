"""Classifiers: the likelihoods of columns, the candidates, and the scores."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from credo.present.content import GAP, TOP_HINT, Content, Drawing, Matrix, Paragraph, Table, TableColumn
from credo.present.limits import CLASS_CHARACTERS, NAMED_CLASSES, STRONGEST_LINES
from credo.present.numbers import EXAMPLE_VALUES, count_of, listed, number_form, one_line, whole

if TYPE_CHECKING:
    from credo.data.schema import Column
    from credo.models.average import ModelAverage
    from credo.models.classifier import Classifier
    from credo.models.metrics import ScoreFigures
    from credo.selection.learning_curve import LearningCurve
    from credo.selection.report import Report

MATRIX_CLASSES = 10  # with more classes, the most confused pairs are listed instead
CONFUSED_PAIRS = 10  # of classes
FORM_CHARACTERS = 48  # of the names of a column's forms
LEFT_OUT = "left out"
NO_SCORES = "No held-out scores: no row could be held out whose class other rows have."


def learned_content(model: Classifier, data: str, top: int = STRONGEST_LINES) -> list[Content]:
    """The report of `credo.learn`."""
    report: Report = model.report
    title = f"{data}: {one_line(report.target)} from {count_of(len(report.columns), 'column')}"
    return [Paragraph(title, "title"), *_classes(model), GAP, *_columns(report, top), GAP, *_judged(report)]


def classifier_content(model: Classifier, top: int | None = None) -> list[Content]:
    """The contents of a fitted classifier."""
    if model.evidence is None:
        return [Paragraph(repr(model))]
    contents, report = _classes(model), model.report
    if report is not None and report.rows != model.n:
        rows = count_of(report.rows, "row")
        contents.append(Paragraph(f"The report below is about the {rows} that it first learned from."))
    contents += [
        GAP,
        *(_views(model, top or STRONGEST_LINES) if report is None else _columns(report, top or STRONGEST_LINES)),
        GAP,
    ]
    if model.tuning is not None:
        contents.append(Paragraph(f"tuned: {model.tuning.described(model.n)}"))
    return contents if report is None else [*contents, GAP, *_judged(report)]


def _classes(model: Classifier) -> list[Content]:
    """The target, its classes, and the number of rows without one."""
    target = one_line(model.target)
    found = sorted(zip(model.class_weights, model.classes, strict=True), key=lambda pair: -pair[0])
    few = ", ".join(f"{one_line(value, CLASS_CHARACTERS)} {whole(n)}" for n, value in found[:NAMED_CLASSES])
    more = f", ... ({len(found):,} classes)" if len(found) > NAMED_CLASSES else ""
    contents: list[Content] = [Paragraph(f"{target}: {count_of(model.n, 'row')}, {few}{more}")]
    if model.unlabelled:
        contents.append(Paragraph(f"left out: {count_of(model.unlabelled, 'row')} without {target}"))
    return contents


def columns_table(report: Report, top: int) -> Table:
    """The columns, the most important first."""
    shown = report.important[:top]
    return Table(
        [
            TableColumn("column", [each.name for each in shown], wraps=True),
            TableColumn("kind", [each.kind for each in shown]),
            TableColumn("read as", [each.form or LEFT_OUT for each in shown], longest=FORM_CHARACTERS, wraps=True),
            TableColumn("missing", [each.missing for each in shown], "share", rank=1),
            TableColumn("matters", [each.weight if each.form else None for each in shown], ".2f"),
        ],
        Drawing("bars", [each.weight for each in shown], narrowest=4, widest=16),
        ranks=("more column",),
        elsewhere="a wider terminal shows the shares of missing cells",
    )


def _columns(report: Report, top: int) -> list[Content]:
    contents: list[Content] = [columns_table(report, top)]
    if (rest := len(report.columns) - top) > 0:
        contents.append(Paragraph(f"{count_of(rest, 'more column')} of less weight", hint=TOP_HINT))
    matters = "matters: mean change of the log-odds of the two most probable classes, in nats"
    return [*contents, Paragraph(matters, "note")]


def tried_table(report: Report) -> Table:
    """The candidates, the best first, and their weights in the pool."""
    losses = [each.log_loss for each in report.tried]
    return Table(
        [
            TableColumn(
                "model",
                [each.name for each in report.tried],
                longest=len(max((each.name for each in report.tried), key=len, default="")),
                wraps=True,
            ),
            TableColumn("log-loss", losses, number_form(losses)),
            TableColumn("accuracy", [each.accuracy for each in report.tried], ".3f"),
            TableColumn("weight", [each.share for each in report.tried], ".2f"),
        ]
    )


def _judged(report: Report) -> list[Content]:
    """The candidates and the scores."""
    scores = report.scores
    if isnan(scores.log_loss):
        return scores_content(scores)
    title = Paragraph("Models tried, scored on held-out rows", "title")
    tried: list[Content] = [title, tried_table(report)] if report.tried else []
    return [
        *tried,
        Paragraph(f"{'Pooled: ' if report.tried else ''}{one_line(report.why, 200)}."),
        GAP,
        *scores_content(scores, "used neither for learning nor for tuning"),
    ]


def scores_content(scores: ScoreFigures, what: str = "") -> list[Content]:
    """The scores on held-out rows; a sentence if none of them is of a class that other rows showed."""
    if isnan(scores.log_loss):
        return [Paragraph(NO_SCORES)]
    title = f"Scores on {count_of(scores.rows, 'held-out row')}{f', {what}' if what else ''} ({scores.how})"
    return [
        Paragraph(title, "title"),
        *_figures(scores),
        *([Paragraph(noted.strip().strip("()") + ".", "note")] if (noted := scores.unknown_noted()) else []),
        GAP,
        *confusion_content(scores, MATRIX_CLASSES, CONFUSED_PAIRS),
    ]


def report_content(report: Report) -> list[Content]:
    """The candidates, the scores, and the columns."""
    return [*_judged(report), GAP, columns_table(report, STRONGEST_LINES)]


def about_log_loss(scores: ScoreFigures) -> str:
    """The standard error of the log-loss, if known, and its meaning."""
    error = "" if isnan(scores.log_loss_error) else f"± {scores.log_loss_error:.4f}; "
    return f"{error}mean of -log P(truth), in nats"


def score_form(figure: float) -> str:
    """The format of a score: four digits, but at most four decimals, below which a score is noise.

    >>> format(0.8705, score_form(0.8705)), format(7.1698, score_form(7.1698)), format(2.7e-14, score_form(2.7e-14))
    ('0.8705', '7.170', '0.0000')
    """
    return number_form([figure]) if abs(figure) >= 1e-3 else ".4f"


def _figures(scores: ScoreFigures) -> list[Content]:
    value, share = scores.commonest
    figures = {
        "accuracy": (scores.accuracy, f"always predicting {one_line(value, CLASS_CHARACTERS)!r} gives {share:.3f}"),
        "log-loss": (scores.log_loss, about_log_loss(scores)),
        "Brier": (scores.brier, "squared error of the probabilities"),
        "ECE": (scores.ece, "expected calibration error"),
    }
    return [
        Paragraph(f"  {name:<9} {format(figure, score_form(figure)):<9} {about}")
        for name, (figure, about) in figures.items()
    ]


def confusion_content(scores: ScoreFigures, most: int, pairs: int) -> list[Content]:
    """The confusion matrix of few classes, or the most confused pairs of many."""
    if len(scores.classes) <= most:
        names = [str(value) for value in scores.classes]
        title = "Confusion matrix (rows: true class, columns: predicted)"
        return [Paragraph(title, "title"), Matrix(names, scores.confusion.tolist())]
    found = scores.most_confused(pairs)
    if not found:
        return [Paragraph(f"None of the {len(scores.classes):,} classes was confused with another.")]
    truth, predicted, rows = zip(*found, strict=True)
    table = Table(
        [TableColumn("truth", truth), TableColumn("predicted", predicted), TableColumn("rows", rows, "count")]
    )
    return [Paragraph(f"Most confused of {len(scores.classes):,} classes", "title"), table]


def views_table(model: Classifier, top: int) -> Table:
    """How columns are read, for a model without a report."""
    names = list(model.views)[:top]
    chosen = model.views if model.tuning is None else {name: model.tuning.read_as(name) for name in names}
    schema = {column.name: column for column in model.seen.schema if not column.derived}
    return Table(
        [
            TableColumn("column", names),
            TableColumn(
                "read as", [" + ".join(chosen.get(name, ())) or LEFT_OUT for name in names], longest=FORM_CHARACTERS
            ),
            TableColumn(
                "values", [_values(schema.get(name)) for name in names], longest=FORM_CHARACTERS * 4, wraps=True
            ),
        ]
    )


def _views(model: Classifier, top: int) -> list[Content]:
    rest = len(model.views) - top
    more = [Paragraph(count_of(rest, "more column"), hint=TOP_HINT)] if rest > 0 else []
    return [views_table(model, top), *more]


def _values(column: Column | None) -> str:
    """Some values of a category; for texts, the number of words."""
    if column is None or column.levels is None:
        return ""
    if column.kind == "text":
        return count_of(len(column.levels), "word")
    if column.kind != "category":
        return ""
    return listed(column.levels.slice(0, EXAMPLE_VALUES).to_pylist(), len(column.levels))


def curve_content(curve: LearningCurve) -> list[Content]:
    again = ", tuned again for each size" if curve.tuned else ""
    low, high = min(curve.accuracy), max(curve.accuracy)
    columns = [
        TableColumn("rows", curve.sizes, "count"),
        TableColumn("accuracy", curve.accuracy, ".4f"),
        TableColumn("log-loss", curve.log_loss, ".4f"),
    ]
    points = [(value, value, value) for value in curve.accuracy]
    header = f"accuracy, {low:.3f} to {high:.3f}"
    return [
        GAP,
        Paragraph(f"Learning curve, on {curve.scores[0].n:g} held-out rows{again}", "title"),
        Table(columns, Drawing("intervals", points, header, narrowest=24, widest=24)),
    ]


def average_content(model: ModelAverage, top: int | None = None) -> list[Content]:
    """The weight of each model, the largest first."""
    order = (-model.weights).argsort(kind="stable").tolist()[: top or STRONGEST_LINES]
    weights = [float(model.weights[i]) for i in order]
    columns = [TableColumn("model", [model.names[i] for i in order]), TableColumn("weight", weights, ".4f")]
    title = repr(model).split("\n", 1)[0]
    return [Paragraph(title, "title"), Table(columns, Drawing("bars", weights, most=1.0))]
