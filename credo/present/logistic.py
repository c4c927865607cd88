"""A logistic regression on the terminal: its classes, its prior, and its strongest weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.present.content import GAP, TOP_HINT, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.limits import STRONGEST_LINES
from credo.present.numbers import count_of, one_line

if TYPE_CHECKING:
    from credo.models.regression.logistic import LogisticRegression


def logistic_content(model: LogisticRegression, top: int | None = None) -> list[Content]:
    """A summary of a fitted model, and the strongest weights."""
    contents: list[Content] = [Paragraph(line) for line in repr(model).splitlines()]
    if model.posterior is None:
        return contents
    names = model.encoding.names
    rest = len(names) * model.posterior.mode.shape[1] - (top or STRONGEST_LINES)
    more: list[Content] = [Paragraph(count_of(rest, "more weight"), hint=TOP_HINT)] if rest > 0 else []
    return [*contents, GAP, weights_table(model, top or STRONGEST_LINES), *more]


def weights_table(model: LogisticRegression, top: int) -> Table:
    """The weights, by the change of the log-odds per standard deviation of the feature."""
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
