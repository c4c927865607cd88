"""Scores, groups and classifiers as pictures: a reliability diagram, a forest plot, and densities by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError, suggest
from credo.present.densities import shape_of
from credo.present.figures import PALETTE, draw_density
from credo.present.limits import DRAWN_CLASSES
from credo.present.plotting import Figure, unmathed
from credo.present.texts import named_texts

if TYPE_CHECKING:
    from credo.estimation.beliefs import Beliefs
    from credo.models.classifier import Classifier
    from credo.models.metrics import ScoreFigures

DRAWN_COLUMNS = 9  # of a classifier
DRAWN_GROUPS = 40
DRAWN_WORDS = 12


def plot_scores(scores: ScoreFigures) -> Figure:
    """A reliability diagram: how often predictions were right, by their probability, with 95% credible intervals."""
    from credo import BetaBernoulli

    stated, right, weight = scores.reliability()
    ends = np.array([BetaBernoulli(1 + r * w, 1 + (1 - r) * w).interval() for r, w in zip(right, weight, strict=True)])
    figure = Figure(figsize=(5.0, 4.4), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], "--", color="0.6", lw=0.8)
    axes.vlines(stated, ends[:, 0], ends[:, 1], color=PALETTE[0], lw=1, alpha=0.7)
    axes.scatter(stated, right, 12 + 180 * weight / weight.sum(), color=PALETTE[0], zorder=3, clip_on=False)
    axes.set(xlabel="stated probability", ylabel="fraction correct", xlim=(0, 1.02), ylim=(0, 1.02))
    axes.set_title(f"{scores.how}: log-loss {scores.log_loss:.4f}, accuracy {scores.accuracy:.4f}", fontsize="medium")
    return figure


def plot_groups(beliefs: Beliefs, top: int = DRAWN_GROUPS, quantity: str | None = None) -> Figure:
    """A forest plot: the estimates of groups with their 95% credible intervals, the largest first."""
    table = beliefs.table()
    known = [name for name in table.column_names if f"{name}_low" in table.column_names]
    chosen = known[0] if quantity is None else quantity
    if chosen not in known:
        raise DataError(f"there is no estimate {chosen!r}; {suggest(chosen, known)}")
    estimate = table[chosen].to_numpy()
    order = np.argsort(-estimate, kind="stable")[:top]
    low, high = (table[f"{chosen}_{end}"].to_numpy()[order] for end in ("low", "high"))
    names = [str(each)[:32] for each in table[beliefs.by].take(order).to_pylist()]
    figure = Figure(figsize=(6.0, 1.2 + 0.24 * len(order)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(order))[::-1]
    axes.hlines(places, low, high, color=PALETTE[0], alpha=0.6, lw=2)
    axes.plot(estimate[order], places, "o", color=PALETTE[0], ms=4)
    axes.set_yticks(places, [unmathed(name) for name in names])
    axes.set_ylim(-0.6, len(order) - 0.4)
    axes.set(xlabel=unmathed(f"{chosen} of {', '.join(beliefs.columns)}"), ylabel=unmathed(str(beliefs.by)))
    if len(estimate) > top:
        axes.set_title(f"{top} of {len(estimate):,} groups", fontsize="medium")
    return figure


def plot_classifier(model: Classifier, columns: Any = None) -> Figure:
    """The distribution of each column in each class: of the named columns, or of the most important ones. Where
    there are only texts, the strongest words of each class."""
    report = model.report
    known = [*model.views] if report is None else [each.name for each in report.important if each.form]
    for unknown in (name for name in columns or () if name not in model.views):
        raise DataError(f"there is no column {unknown!r}; {suggest(unknown, [*model.views])}")
    shapes = {name: shape for name in columns or known if (shape := shape_of(model, name)) is not None}
    names = [*shapes][:DRAWN_COLUMNS]
    texts = [name for name in columns or known if name in named_texts(model)]
    if not names and texts:
        return _plot_words(model, texts[0])
    if not names:
        raise DataError("no column of the model has a distribution that can be drawn")
    heaviest = np.argsort(-model.class_weights, kind="stable")[:DRAWN_CLASSES].tolist()
    across = min(3, len(names))
    figure = Figure(figsize=(3.4 * across, 2.4 * -(-len(names) // across)), layout="constrained")
    grid = figure.subplots(-(-len(names) // across), across, squeeze=False).ravel()
    for axes, name in zip(grid, names, strict=False):
        for colour, k in zip(PALETTE, heaviest, strict=False):
            draw_density(axes, shapes[name], shapes[name].heights[k], colour)
        axes.set_title(unmathed(name), fontsize="medium")
        axes.set(yticks=[], ylim=(0, None))
    for axes in grid[len(names) :]:
        axes.remove()
    handles = [grid[0].plot([], [], color=colour)[0] for colour, _ in zip(PALETTE, heaviest, strict=False)]
    labels = [unmathed(str(model.classes[k])[:32]) for k in heaviest]
    figure.legend(handles, labels, title=unmathed(str(model.target)), loc="outside right upper")
    return figure


def _plot_words(model: Classifier, column: str) -> Figure:
    """The weights of evidence of each class's most informative words."""
    heaviest = np.argsort(-model.class_weights, kind="stable")[:DRAWN_CLASSES].tolist()
    across = min(3, len(heaviest))
    down = -(-len(heaviest) // across)
    figure = Figure(figsize=(3.4 * across, 3.0 * down), layout="constrained")
    for place, (colour, k) in enumerate(zip(PALETTE, heaviest, strict=False)):
        found = model.top_words(model.classes[k], DRAWN_WORDS, column=column).to_pylist()
        axes = figure.add_subplot(down, across, place + 1)
        axes.barh(np.arange(len(found)), [each["weight"] for each in found], color=colour)
        axes.set_yticks(np.arange(len(found)), [unmathed(each["word"][:32]) for each in found])
        axes.invert_yaxis()
        axes.set_title(unmathed(f"{model.target} = {model.classes[k]!s:.32}"), fontsize="medium")
        axes.set_xlabel("weight, nats")
    return figure
