"""Content on a terminal, as wide as that is: tables with small pictures, and coloured texts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text as RichText

from credo.errors import printable
from credo.present.content import NAME_CHARACTERS, ColouredText, Content, Drawing, Matrix, Paragraph, Table, TableColumn
from credo.present.numbers import count_of, one_line, ranged_left, written

FILE_WIDTH = 500  # the width for a file or a pipe, where nothing is wrapped
UNBROKEN_CHARACTERS = 16  # of a word that isn't broken
COLUMN_GAP = 3  # characters between columns
MATRIX_CHARACTERS = 100  # the widest confusion matrix
TERMINAL_TEXT_CHARACTERS = 2000  # of a coloured text
ROLE_STYLES = {"title": "bold", "step": "bold cyan", "note": "dim", "command": "green"}

HeadedCells = tuple[str, Sequence[str]]  # a header and its lines


class Terminal(Console):
    """stdout; plain text where that is no terminal."""

    def __init__(self) -> None:
        self.free = not sys.stdout.isatty() and "COLUMNS" not in os.environ  # unlimited width
        super().__init__(width=FILE_WIDTH if self.free else None, markup=False, highlight=False, emoji=False)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
        """Remove control characters from everything that is printed."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


def show(contents: Iterable[Content], screen: Console | None = None, indent: int = 0) -> None:
    """Print the contents in order. A note after the next gap counts columns that had no room."""
    screen, left_out = screen or Terminal(), ""
    for content in contents:
        if isinstance(content, Paragraph):
            _say(screen, content, indent)
            if left_out and not content.text:
                _say(screen, Paragraph(left_out), indent)
                left_out = ""
            continue
        if isinstance(content, ColouredText):
            _say(screen, Paragraph(_legend(content, screen), "note"), indent)
        shown, skipped = _rendered(content, screen)
        left_out = skipped or left_out
        screen.print(Padding(shown, (0, 0, 0, indent), expand=False) if indent else shown)
    if left_out:
        _say(screen, Paragraph(left_out), indent)


def _say(screen: Console, content: Paragraph, indent: int) -> None:
    """Print a paragraph, broken between words; a command stays on one line, to be copied."""
    unbroken = content.role == "command" or getattr(screen, "free", False)
    said = f"{content.text}: {content.hint}" if content.hint else content.text
    text = f"{' ' * indent}{said}" if said else ""
    if content.role == "lines":
        text = "\n".join(
            line if len(line) <= screen.width else f"{line[: screen.width - 1]}…" for line in text.split("\n")
        )
    screen.print(RichText(text, ROLE_STYLES.get(content.role, "")), soft_wrap=unbroken)


def _rendered(content: Content, screen: Console) -> tuple[Any, str]:
    match content:
        case Table():
            return _table(content, screen.width)
        case Matrix():
            return _matrix(content, screen.width), ""
        case ColouredText():
            return _coloured(content), ""
        case _:
            raise TypeError(f"a terminal can't show a {type(content).__name__}")


def _legend(content: ColouredText, screen: Console) -> str:
    of, against = one_line(content.of), one_line(content.against)
    colours = screen.color_system is not None and not screen.no_color
    sides = f"for {of} in green, for {against} in red" if colours else f"for {of} +, for {against} -"
    return f"{one_line(content.name)}: words {sides}"


# Tables


def _table(content: Table, width: int) -> tuple[RichTable, str]:
    """A table with the columns that fit, and a note about dropped ones."""
    columns, skipped = _fitting(content, width)
    cells: list[HeadedCells] = [(one_line(each.header), written(each)) for each in columns]
    left = [ranged_left(each) for each in columns]
    wraps = [each.wraps for each in columns]
    if content.drawing is not None and not skipped:
        room = min(_room(cells, width), content.drawing.widest)
        if room >= content.drawing.narrowest:
            cells.append(_drawn(content.drawing, room))
            left.append(True)
            wraps.append(False)
    return _laid_out(cells, left, wraps), skipped and f"no room for {skipped}: {content.elsewhere}"


def _fitting(content: Table, width: int) -> tuple[list[TableColumn], str]:
    """The columns that fit. If one doesn't, later ones of its rank or above are dropped, too."""
    kept: list[TableColumn] = []
    lost: dict[int, int] = {}
    used = 0
    for column in content.columns:
        need = COLUMN_GAP + max(map(cell_len, (one_line(column.header), *written(column))))
        if column.rank and (used + need > width or column.rank >= min(lost, default=column.rank + 1)):
            lost[column.rank] = lost.get(column.rank, 0) + 1
        else:
            kept.append(column)
            used += need
    rank = min(lost, default=0)
    return kept, count_of(lost[rank], content.ranks[rank - 1]) if lost else ""


def _room(columns: Sequence[HeadedCells], width: int) -> int:
    """The number of characters left for one more column."""
    return width - sum(COLUMN_GAP + max(map(cell_len, (header, *cells))) for header, cells in columns)


def _laid_out(columns: Sequence[HeadedCells], left: Sequence[bool], wraps: Sequence[bool]) -> RichTable:
    """The table, with cells wrapped between words if there is no room."""
    made = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for (header, cells), is_left, wrap in zip(columns, left, wraps, strict=True):
        side: Literal["left", "right"] = "left" if is_left else "right"
        whole = (header, *cells)
        words = [word for cell in whole for word in cell.split()] if wrap else whole
        least = (
            min(max(map(cell_len, words), default=0), UNBROKEN_CHARACTERS if wrap else FILE_WIDTH)
            if any(wraps)
            else None
        )
        overflow: Literal["fold", "ellipsis"] = "fold" if wrap else "ellipsis"
        made.add_column(RichText(header), justify=side, no_wrap=not wrap, overflow=overflow, min_width=least)
    for row in zip(*(cells for _, cells in columns), strict=True):
        made.add_row(*map(RichText, row))
    return made


def _matrix(content: Matrix, width: int) -> RichTable:
    first = min(NAME_CHARACTERS, max(len(name) for name in [*content.names, "truth"]))
    longest = max(4, (min(width, MATRIX_CHARACTERS) - first) // len(content.names) - COLUMN_GAP)
    columns = [TableColumn("truth", content.names, longest=first)]
    for k, name in enumerate(content.names):
        columns.append(TableColumn(one_line(name, longest), [row[k] for row in content.counts], "count"))
    return _table(Table(columns), width)[0]


# Small pictures


def _drawn(drawing: Drawing, width: int) -> HeadedCells:
    if drawing.kind == "bars":
        lines = bars([*drawing.cells, drawing.most], width)[:-1]
        return drawing.header, [line.ljust(1) for line in lines]
    if drawing.kind == "intervals":
        return drawing.header, intervals(drawing.cells, width)
    below, above = (one_line(side, width // 2 - 1) for side in drawing.sides)
    half = width // 2
    header = f"{f'{below} ':>{half}}│{f' {above}':<{half}}" if below or above else drawing.header
    return header, weights(drawing.cells, width)


def intervals(cells: Sequence[tuple[float, float, float]], width: int) -> list[str]:
    """Each (mean, low, high) as a line with a dot, all on one scale.

    >>> intervals([(0, 0, 0.5), (1, 0.5, 1)], 9)
    ['●────    ', '    ────●']
    """
    ends = [x for cell in cells for x in cell]  # a mean may lie outside its interval, where a tail is heavy
    least, most = min(ends), max(ends)
    if not isfinite(most - least) or most <= least:
        return [""] * len(cells)

    def place(x: float) -> int:
        return round((x - least) / (most - least) * (width - 1))

    lines = []
    for mean, low, high in cells:
        line = [" "] * width
        line[place(low) : place(high) + 1] = "─" * (place(high) + 1 - place(low))
        line[place(mean)] = "●"
        lines.append("".join(line))
    return lines


def bars(values: Sequence[float], width: int) -> list[str]:
    """Each value as a bar, the largest as long as there is room.

    >>> bars([2, 1, 0.26, 0], 4)
    ['████', '██', '▌', '']
    """
    most = max(values, default=0)
    halves = [round(2 * value / most * width) if most > 0 else 0 for value in values]
    return ["█" * (each // 2) + "▌" * (each % 2) for each in halves]


def weights(values: Sequence[float], width: int) -> list[str]:
    """Each value as a bar from a line in the middle, those below 0 to its left.

    >>> weights([2, -1], 9)
    ['    │████', '  ██│    ']
    """
    side = width // 2
    most = max((abs(value) for value in values if isfinite(value)), default=0)
    lines = []
    for value in values:
        bar = "█" * round(min(abs(value) / most, 1) * side) if most > 0 else ""
        lines.append(f"{bar if value < 0 else '':>{side}}│{bar if value > 0 else '':<{side}}")
    return lines


def _coloured(content: ColouredText) -> RichText:
    """The beginning of a text: words for the class in green, against it in red, strong ones bold."""
    text = content.text
    shown = RichText("".join(c if c.isprintable() or c == "\n" else "·" for c in text[:TERMINAL_TEXT_CHARACTERS]))
    largest = max((abs(each["weight"]) for each in content.words if each["places"]), default=0.0)
    for each in sorted(content.words, key=lambda each: abs(each["weight"])):  # the strongest last, on top of the others
        colour = "green" if each["weight"] > 0 else "red"
        style = f"bold {colour}" if abs(each["weight"]) > largest / 2 else colour
        for start, end in each["places"] if abs(each["weight"]) > largest / 20 else ():
            shown.stylize(style, start, min(end, TERMINAL_TEXT_CHARACTERS))
    if len(text) > TERMINAL_TEXT_CHARACTERS:
        shown.append(" ...", "dim")
    return shown
