"""A logistic regression on the terminal: its classes, its prior, and its strongest weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.present.content import GAP, MORE, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.numbers import count_of, one_line

if TYPE_CHECKING:
    from credo.models.regression.logistic import LogisticRegression

TOP = 15  # weights


def logistic_content(model: LogisticRegression, top: int | None = None) -> list[Content]:
    """What was learned, in a few lines, and the strongest weights."""
    contents: list[Content] = [Paragraph(line) for line in repr(model).splitlines()]
    if model.posterior is None:
        return contents
    names = model.encoding.names
    rest = len(names) * model.posterior.mode.shape[1] - (top or TOP)
    more: list[Content] = [Paragraph(count_of(rest, "more weight"), hint=MORE)] if rest > 0 else []
    return [*contents, GAP, weights_table(model, top or TOP), *more]


def weights_table(model: LogisticRegression, top: int) -> Table:
    """By the size of what a standard deviation of the feature adds to the log-odds."""
    posterior = model.seen
    effect = posterior.mode[1:] * model.encoding.scales[:, None]
    spread = 1.96 * np.sqrt(posterior.variances[1:])
    classes = model.classes if effect.shape[1] > 1 else model.classes[1:]
    order = np.argsort(-np.abs(effect), axis=None, kind="stable")[:top]
    places = [np.unravel_index(int(each), effect.shape) for each in order]
    weights = [float(posterior.mode[1:][place]) for place in places]
    return Table(
        [
            TableColumn("feature", [one_line(model.encoding.names[int(j)], 40) for j, _ in places], wraps=True),
            TableColumn("for", [one_line(classes[int(k)], 20) for _, k in places]),
            TableColumn("weight", weights, ".4g"),
            TableColumn("low", [w - float(spread[place]) for w, place in zip(weights, places, strict=True)], ".4g"),
            TableColumn("high", [w + float(spread[place]) for w, place in zip(weights, places, strict=True)], ".4g"),
        ],
        Drawing("bars", [float(abs(effect[place])) for place in places], narrowest=4, widest=16),
    )
