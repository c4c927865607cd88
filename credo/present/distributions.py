"""Single distributions, such as predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.present.content import Content, Drawing, Paragraph, Table, TableColumn
from credo.present.limits import TABLE_LINES
from credo.present.numbers import count_of

if TYPE_CHECKING:
    from credo.numerics.categorical import Categorical
    from credo.numerics.distributions import Distribution


def distribution_content(found: Distribution) -> list[Content]:
    """Mean, standard deviation and 95% interval of a distribution; for many at once, a summary."""
    title = Paragraph(repr(found), "title")
    if np.ndim(found.mean()):
        return [title]
    low, high = (float(end) for end in found.interval(0.95))
    columns = [
        TableColumn("mean", [float(found.mean())], ".5g"),
        TableColumn("sd", [float(np.sqrt(found.variance()))], ".4g"),
        TableColumn("95% interval", [(low, high)], ".5g"),
    ]
    return [title, Table(columns)]


def categorical_content(found: Categorical, top: int | None = None) -> list[Content]:
    """The probability of each value."""
    shown = [*found.items()][: top or TABLE_LINES]
    shares = [float(p) for _, p in shown]
    columns = [TableColumn("value", [str(value) for value, _ in shown]), TableColumn("P", shares, ".4f")]
    more = [Paragraph(count_of(len(found) - len(shown), "more value"), "note")] if len(found) > len(shown) else []
    return [Table(columns, Drawing("bars", shares, most=1.0)), *more]
