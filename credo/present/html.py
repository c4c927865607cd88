"""Content as HTML, for pages and notebooks. Whatever comes from the data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from credo.present.content import Drawing, Matrix, Table, TableColumn
from credo.present.numbers import written

NOTEBOOK_ROWS = 12  # of a table in a notebook
RIGHT, WRONG = "68,119,170", "238,102,119"  # colours of a confusion matrix


def named(value: object) -> str:
    """A name from the data, which can't turn around the text beside it."""
    return f"<bdi>{escape(str(value))}</bdi>"


def tabulated(headers: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Cells are HTML already."""
    head = f"<tr>{''.join(f'<th>{header}</th>' for header in headers)}</tr>" if headers else ""
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table class="{kind}">{head}\n{body}</table></div>'


def bar_of(share: float) -> str:
    return f'<div class="wide"><span class="bar" style="width:{100 * share:.1f}%"></span></div>'


def table(content: Table, kind: str = "") -> str:
    """With its bars, if it has some."""
    headers, cells = [escape(each.header) for each in content.columns], [_cells(each) for each in content.columns]
    if content.drawing is not None and content.drawing.kind == "bars":
        headers.append(escape(content.drawing.header))
        cells.append(_bars(content.drawing))
    return tabulated(headers, zip(*cells, strict=True), kind)


def _cells(column: TableColumn) -> list[str]:
    if column.form == "text":
        return [named(cell) for cell in column.cells]
    return ["–" if cell == "-" else escape(cell) for cell in written(column)]


def _bars(drawing: Drawing) -> list[str]:
    most = drawing.most or max(drawing.cells, default=0.0) or 1.0
    return [bar_of(value / most) if value else "" for value in drawing.cells]


def matrix(content: Matrix) -> str:
    """Each cell coloured by its share of the row."""
    rows = []
    for i, (name, counts) in enumerate(zip(content.names, content.counts, strict=True)):
        total, shown = max(sum(counts), 1e-300), written(TableColumn("", counts, "count"))
        shades = (f"rgba({RIGHT if i == j else WRONG},{0.75 * n / total:.2f})" for j, n in enumerate(counts))
        style = "border-radius:3px;padding:0.15rem 0.5rem"
        cells = (
            f'<span style="background:{shade};{style}">{text}</span>' for shade, text in zip(shades, shown, strict=True)
        )
        rows.append((named(name), *cells))
    return tabulated(("truth", *map(named, content.names)), rows, "matrix")


# In notebooks


def captioned(caption: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column names its rows."""
    head = "".join(f"<th>{escape(header)}</th>" for header in headers)
    body = "".join(
        f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        for name, *cells in rows
    )
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>"


def table_html(arrow: Any, caption: str) -> str:
    """The first rows of an Arrow table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in arrow.column_names)
    rows = arrow.slice(0, NOTEBOOK_ROWS).to_pylist()
    body = "".join("<tr>" + "".join(f"<td>{escape(_cell(v))}</td>" for v in row.values()) + "</tr>" for row in rows)
    more = f"<p>{arrow.num_rows - NOTEBOOK_ROWS:,} more rows</p>" if arrow.num_rows > NOTEBOOK_ROWS else ""
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>{more}"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
