"""Tables of credo.present for the page, with cells as text."""

from __future__ import annotations

from credo.explorer.screens.screen import Answer
from credo.present.content import Table, plain
from credo.present.numbers import ranged_left, written


def tabled(table: Table) -> Answer:
    """A table's headers and rows, which columns are text, and its bars or intervals."""
    return {
        "headers": [each.header for each in table.columns],
        "left": [ranged_left(each) for each in table.columns],
        "rows": [*map(list, zip(*map(written, table.columns), strict=True))],
        "drawing": None if table.drawing is None else plain(table.drawing),
    }
