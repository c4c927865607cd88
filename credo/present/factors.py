"""Factors and Markov networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.present.content import Content, Drawing, Paragraph, Table, TableColumn
from credo.present.limits import TABLE_LINES
from credo.present.numbers import count_of

if TYPE_CHECKING:
    from credo.networks.factor import Factor
    from credo.networks.markov_network import MarkovNetwork


def factor_content(found: Factor, top: int | None = None) -> list[Content]:
    """A row for each cell: the index of each variable's state, and the value."""
    shown = min(found.table.size, top or TABLE_LINES)
    places = np.unravel_index(np.arange(shown), found.table.shape) if found.scope else ()
    values = found.table.reshape(-1)[:shown].tolist()
    columns = [TableColumn(name, own.tolist(), "count") for name, own in zip(found.scope, places, strict=True)]
    columns.append(TableColumn("value", values, ".6g"))
    more = [Paragraph(count_of(found.table.size - shown, "more cell"), "note")] if found.table.size > shown else []
    return [Table(columns, Drawing("bars", values)), *more]


def markov_content(net: MarkovNetwork, top: int | None = None) -> list[Content]:
    """The scope and the size of each factor."""
    shown = net.factors[: top or TABLE_LINES]
    columns = [
        TableColumn("factor over", [", ".join(each.scope) for each in shown], longest=60, wraps=True),
        TableColumn("cells", [each.table.size for each in shown], "count"),
    ]
    rest = len(net.factors) - len(shown)
    more = [Paragraph(count_of(rest, "more factor"), "note")] if rest else []
    return [Paragraph(repr(net), "title"), Table(columns), *more]
