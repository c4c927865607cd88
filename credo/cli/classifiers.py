"""Classifiers on the screen: how columns were read, what was tried, how good the winner is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from credo.cli import screen as on

if TYPE_CHECKING:
    from rich.console import Console

    from credo.data.schema import Column
    from credo.models.classifier import Classifier
    from credo.models.metrics import Scores
    from credo.selection.report import Report

MOST = 15  # columns
CLASSES = 10  # of a confusion matrix
PAIRS = 10  # of classes that are confused
BAR = 16  # characters
SHORT = 24  # of a form


def print_report(screen: Console, report: Report, most: int = MOST) -> None:
    """All that credo.learn has to say."""
    print_columns(screen, report, most)
    screen.print()
    print_tried(screen, report)
    screen.print()
    print_scores(screen, report.scores)


def _classes(model: Classifier) -> str:
    """How many rows each class has, the heaviest classes first."""
    found = sorted(zip(model.class_weights, model.classes, strict=True), key=lambda pair: -pair[0])
    few = ", ".join(f"{on.harmless(value, 20)} {on.whole(n)}" for n, value in found[:6])
    return few + (f", ... ({len(found):,} classes)" if len(found) > 6 else "")


def print_columns(screen: Console, report: Report, most: int) -> None:
    """The columns, those that matter most first."""
    shown = report.important[:most]
    columns = [
        ("column", [on.harmless(each.name) for each in shown]),
        ("kind", [each.kind for each in shown]),
        ("read as", [on.harmless(each.form, SHORT) or "left out" for each in shown]),
        ("missing", [on.share(each.missing) for each in shown]),
        ("matters", [f"{each.weight:.2f}" if each.form else "-" for each in shown]),
    ]
    room = min(on.room(screen, columns), BAR)
    if room >= 4:
        columns.append(("", on.bars([each.weight for each in shown], room)))
    screen.print(on.table(columns, left=(0, 1, 2, 5), yielding=(0,)))
    rest = len(report.columns) - len(shown)
    if rest:
        on.say(screen, f"{on.counted(rest, 'more column')} of less weight: --top prints more")
    on.say(screen, "matters: how far it moves the log-odds of the two most probable classes, in nats", "dim")


def print_tried(screen: Console, report: Report) -> None:
    """The candidates, the best first, and what is made of them."""
    on.say(screen, "Models tried, scored on held-out rows", "bold")
    (losses,) = on.aligned([each.log_loss for each in report.tried])
    columns = [
        ("", [each.name for each in report.tried]),
        ("log-loss", losses),
        ("accuracy", [f"{each.accuracy:.3f}" for each in report.tried]),
        ("share", [f"{each.share:.2f}" for each in report.tried]),
    ]
    screen.print(on.table(columns))
    on.say(screen, f"Pooled: {on.harmless(report.why, 200)}.")


def print_scores(screen: Console, scores: Scores) -> None:
    """The figures, and the confusion matrix."""
    how = f"Scores on {on.counted(len(scores.truth), 'held-out row')}"
    on.say(screen, f"{how}, which neither taught nor tuned the model ({scores.how})", "bold")
    value, share = scores.commonest
    about = {
        "accuracy": f"always predicting {on.harmless(value, 20)!r} gives {share:.3f}",
        "log-loss": f"± {scores.log_loss_error:.4f}; mean of -log P(truth), in nats",
        "Brier": "squared error of the probabilities",
        "ECE": "expected calibration error",
    }
    figures = (scores.accuracy, scores.log_loss, scores.brier, scores.ece)
    for (name, what), figure in zip(about.items(), figures, strict=True):
        on.say(screen, f"  {name:<9} {on.aligned([figure])[0][0]:<9} {what}")
    screen.print()
    print_confusion(screen, scores)


def print_confusion(screen: Console, scores: Scores) -> None:
    """A matrix of few classes; of many, the pairs that are confused most."""
    if len(scores.classes) > CLASSES:
        _print_pairs(screen, scores)
        return
    names = [str(value) for value in scores.classes]
    rows = [[on.whole(weight) for weight in row] for row in scores.confusion.tolist()]
    first = min(on.LONGEST, max(len(name) for name in [*names, "truth"]))
    longest = max(4, (min(screen.width, 100) - first) // len(names) - on.GAP)
    columns = [("truth", [on.harmless(name, first) for name in names])]
    columns += [(on.harmless(name, longest), [row[k] for row in rows]) for k, name in enumerate(names)]
    on.say(screen, "Confusion matrix (rows: true class, columns: predicted)", "bold")
    screen.print(on.table(columns))


def _print_pairs(screen: Console, scores: Scores) -> None:
    pairs = scores.most_confused(PAIRS)
    if not pairs:
        on.say(screen, f"None of the {len(scores.classes):,} classes was confused with another.")
        return
    on.say(screen, f"Most confused of {len(scores.classes):,} classes", "bold")
    columns = [
        ("truth", [on.harmless(truth) for truth, _, _ in pairs]),
        ("predicted", [on.harmless(other) for _, other, _ in pairs]),
        ("rows", [on.whole(weight) for _, _, weight in pairs]),
    ]
    screen.print(on.table(columns, left=(0, 1)))


def print_classifier(screen: Console, model: Classifier, most: int = MOST) -> None:
    """What a saved one has learned."""
    if model.evidence is None:
        on.say(screen, repr(model))
        return
    print_classes(screen, model)
    report = model.report
    if report is not None and report.rows != model.n:
        on.say(screen, f"The report below is about the {on.counted(report.rows, 'row')} that it first learned from.")
    screen.print()
    if report is None:
        _print_views(screen, model, most)
    else:
        print_columns(screen, report, most)
    screen.print()
    if model.tuning is not None:
        on.say(screen, f"tuned: {model.tuning.described(model.n)}")
    if report is not None:
        screen.print()
        print_tried(screen, report)
        screen.print()
        print_scores(screen, report.scores)


def print_classes(screen: Console, model: Classifier) -> None:
    """The target, its classes, and rows without one."""
    target = on.harmless(model.target)
    on.say(screen, f"{target}: {on.counted(model.n, 'row')}, {_classes(model)}")
    if model.unlabelled:
        on.say(screen, f"left out: {on.counted(model.unlabelled, 'row')} without {target}")


def _print_views(screen: Console, model: Classifier, most: int) -> None:
    """How columns are read, where nothing says how much they matter."""
    chosen = model.views if model.tuning is None else model.tuning.forms
    names = list(model.views)[:most]
    schema = {column.name: column for column in model.seen.schema if not column.derived}
    columns = [
        ("column", [on.harmless(name) for name in names]),
        ("read as", [on.harmless(" + ".join(chosen.get(name, ())), SHORT) or "left out" for name in names]),
        ("values", [_values(schema.get(name)) for name in names]),
    ]
    screen.print(on.table(columns, left=(0, 1, 2), yielding=(2,)))
    if len(model.views) > len(names):
        on.say(screen, f"{on.counted(len(model.views) - len(names), 'more column')}: --top prints more")


def _values(column: Column | None) -> str:
    """Of a category; of texts, how many words they have."""
    if column is None or column.levels is None:
        return ""
    if column.kind == "text":
        return on.counted(len(column.levels), "word")
    if column.kind != "category":
        return ""
    return on.listed(column.levels.slice(0, on.FEW).to_pylist(), len(column.levels))


def is_classifier(model: Any) -> bool:
    from credo.models.classifier import Classifier

    return isinstance(model, Classifier)
