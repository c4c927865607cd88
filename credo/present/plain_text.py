"""Tables as lines of plain text, for the repr of an object."""

from __future__ import annotations

from credo.present.content import Table
from credo.present.numbers import one_line, ranged_left, written


def table_lines(table: Table) -> list[str]:
    """The lines of a table: text aligned left, numbers right.

    >>> from credo.present.content import TableColumn
    >>> table_lines(Table([TableColumn("Fire", ["yes", "no"]), TableColumn("P", [0.25, 0.5], ".2f")]))
    ['  Fire     P', '  yes   0.25', '  no    0.50']
    """
    columns = [[one_line(each.header), *written(each)] for each in table.columns]
    left = [ranged_left(each) for each in table.columns]
    widths = [max(map(len, cells)) for cells in columns]
    lines = []
    for row in zip(*columns, strict=True):
        cells = [
            f"{cell:<{w}}" if is_left else f"{cell:>{w}}" for cell, w, is_left in zip(row, widths, left, strict=True)
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines
