"""Content as HTML, for pages and notebooks. Whatever comes from the data is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Container, Iterable, Sequence
from html import escape
from math import isfinite

from credo.present.coloured_text import coloured
from credo.present.content import ColouredText, Content, Drawing, Matrix, Paragraph, Table, TableColumn
from credo.present.numbers import ranged_left, written

WIDE_PIXELS, LEGIBLE_SHARE = 1500, 0.6  # wider pictures aren't shrunk below this share of their size
RIGHT_COLOUR, WRONG_COLOUR = "68,119,170", "238,102,119"  # of a confusion matrix


def named(value: object) -> str:
    """A name from the data, isolated so that its writing direction doesn't affect the text around it."""
    return f"<bdi>{escape(str(value))}</bdi>"


def tabulated(headers: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "", left: Container[int] = ()) -> str:
    """A table of HTML cells; the first column, and those in `left`, are aligned left."""
    head = _row("th", headers, left) if headers else ""
    body = "\n".join(_row("td", row, left) for row in rows)
    return f'<div class="scroll"><table class="{kind}">{head}\n{body}</table></div>'


def _row(tag: str, cells: Sequence[str], left: Container[int]) -> str:
    sides = (' class="left"' if j and j in left else "" for j in range(len(cells)))
    return f"<tr>{''.join(f'<{tag}{side}>{cell}</{tag}>' for cell, side in zip(cells, sides, strict=True))}</tr>"


def bar_of(share: float) -> str:
    return f'<div class="wide"><span class="bar" style="width:{100 * share:.1f}%"></span></div>'


def table(content: Table, kind: str = "") -> str:
    """A table, with its small pictures if any."""
    headers, cells = [escape(each.header) for each in content.columns], [_cells(each) for each in content.columns]
    if content.drawing is not None:
        headers.append(escape(content.drawing.header or " | ".join(filter(None, content.drawing.sides))))
        cells.append(DRAWERS[content.drawing.kind](content.drawing))
    left = {j for j, each in enumerate(content.columns) if ranged_left(each)}
    return tabulated(headers, zip(*cells, strict=True), kind, left)


def _cells(column: TableColumn) -> list[str]:
    if column.form == "text":
        return [named(cell) for cell in column.cells]
    return ["–" if cell == "-" else escape(cell) for cell in written(column)]


def _bars(drawing: Drawing) -> list[str]:
    most = drawing.most or max(drawing.cells, default=0.0) or 1.0
    return [bar_of(value / most) if value else "" for value in drawing.cells]


def _weights(drawing: Drawing) -> list[str]:
    """Weights as bars on both sides of 0."""
    most = max((abs(value) for value in drawing.cells if isfinite(value)), default=0.0) or 1.0
    return [_line(50.0, 50 * min(abs(x) / most, 1.0), AGAINST if x < 0 else FOR, left=x < 0) for x in drawing.cells]


def _intervals(drawing: Drawing) -> list[str]:
    """Intervals as lines on one scale, with a dot at the mean."""
    ends = [x for cell in drawing.cells for x in cell if isfinite(x)]
    least, span = min(ends, default=0.0), (max(ends, default=1.0) - min(ends, default=0.0)) or 1.0

    def at(x: float) -> float:
        return 100 * (min(max(x, least), least + span) - least) / span

    found = []
    for mean, low, high in drawing.cells:
        dot = f"position:absolute;left:{at(mean):.1f}%;top:0.15em;width:3px;height:0.9em;{PAINT}"
        found.append(_line(at(low), at(high) - at(low), PAINT, inside=f'<span style="{dot}"></span>'))
    return found


def _line(start: float, width: float, paint: str, *, left: bool = False, inside: str = "") -> str:
    """A bar from a start to the right or left, in percent of the cell."""
    place = f"right:{100 - start:.1f}%" if left else f"left:{start:.1f}%"
    bar = f"position:absolute;top:0.4em;height:0.4em;border-radius:2px;opacity:0.7;{place};width:{width:.1f}%;{paint}"
    return f'<div class="wide" style="position:relative;height:1.2em"><span style="{bar}"></span>{inside}</div>'


PAINT, FOR, AGAINST = "background:#4477aa", "background:rgb(0 158 115)", "background:rgb(222 72 72)"
DRAWERS: dict[str, Callable[[Drawing], list[str]]] = {"bars": _bars, "weights": _weights, "intervals": _intervals}


def matrix(content: Matrix) -> str:
    """A confusion matrix; each cell is coloured by its share of the row."""
    rows = []
    for i, (name, counts) in enumerate(zip(content.names, content.counts, strict=True)):
        total, shown = max(sum(counts), 1e-300), written(TableColumn("", counts, "count"))
        shades = (
            f"rgba({RIGHT_COLOUR if i == j else WRONG_COLOUR},{0.75 * n / total:.2f})" for j, n in enumerate(counts)
        )
        style = "border-radius:3px;padding:0.15rem 0.5rem"
        cells = (
            f'<span style="background:{shade};{style}">{text}</span>' for shade, text in zip(shades, shown, strict=True)
        )
        rows.append((named(name), *cells))
    return tabulated(("truth", *map(named, content.names)), rows, "matrix")


def contents_html(contents: Iterable[Content], tables: str = "") -> str:
    """The contents as HTML; `kind` is the CSS class of tables, such as "sortable"."""
    return "\n".join(filter(None, (_content(each, tables) for each in contents)))


def _content(content: Content, tables: str) -> str:
    if isinstance(content, Table):
        return table(content, tables)
    if isinstance(content, Matrix):
        return matrix(content)
    if isinstance(content, ColouredText):
        return coloured(content.text, content.words)
    if isinstance(content, Paragraph):
        form = {"title": "<h3>{}</h3>", "command": LINES_HTML, "lines": LINES_HTML, "note": NOTE_HTML}
        own = form.get(content.role, LINES_HTML if "\n" in content.text else "<p>{}</p>")
        text = escape(content.text)
        return own.format(text if own is LINES_HTML else text.replace("\n", "<br>")) if text else ""
    return ""


NOTE_HTML, LINES_HTML = '<p class="faint">{}</p>', "<pre>{}</pre>"

# In notebooks


def notebook_html(body: str) -> str:
    """HTML for a notebook's cell, with its own style."""
    style = (
        ".credo .wide{width:9rem;text-align:left} .credo .for{background:rgb(0 158 115 / var(--a))} "
        ".credo .against{background:rgb(222 72 72 / var(--a))} "
        ".credo .bar{display:inline-block;height:0.7em;background:#4477aa} "
        ".credo th,.credo td{padding:0.15rem 0.6rem;text-align:right} "
        ".credo .left,.credo th:first-child,.credo td:first-child{text-align:left} "
        ".credo .scroll{margin:0.3rem 0 0.6rem} .credo td+td{white-space:nowrap} .credo pre{white-space:pre}"
    )
    return f'<div class="credo"><style>{style}</style>{body}</div>'


def image(png: bytes, about: str) -> str:
    """An inline picture: names in it can't be markup. A wide one scrolls where it would be illegible."""
    wide = int.from_bytes(png[16:20], "big")
    least = f";min-width:{round(LEGIBLE_SHARE * wide)}px" if wide > WIDE_PIXELS else ""
    shown = f'src="data:image/png;base64,{b64encode(png).decode()}" alt="{escape(about)}" style="max-width:100%{least}"'
    return f'<div style="overflow-x:auto"><img {shown}></div>' if least else f"<img {shown}>"
