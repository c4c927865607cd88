"""Tables on the screen: aligned numbers, names made harmless, an interval or a size as a small picture."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from math import floor, isfinite, log10
from statistics import median
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from credo.printable import printable

WIDE = 500  # columns of a file or a pipe, where nothing needs to be wrapped
BREAKS = re.compile(r"\s*[\t\r\n\v\f\x85\u2028\u2029]\s*")
BLANKS = re.compile(r"[^\S ]")  # such as no-break spaces
LONGEST = 32  # characters of a name
SHORT = 16  # of a word that isn't broken
FEW = 3  # values that stand for all
GAP = 3  # between columns
NARROWEST, WIDEST = 12, 40  # of pictures

Columns = Sequence[tuple[str, Sequence[str]]]  # headers and cells


class Screen(Console):
    """stdout; plain text where that is no terminal."""

    def __init__(self) -> None:
        self.free = not sys.stdout.isatty() and "COLUMNS" not in os.environ  # as wide as it needs
        super().__init__(width=WIDE if self.free else None, markup=False, highlight=False, emoji=False)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
        """Whatever is printed, without what a terminal would obey: the one way to the screen."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


def harmless(value: object, longest: int = LONGEST) -> str:
    """A value from the data on one line, not too long, without what a terminal would obey.

    >>> harmless("two\\nlines")
    'two lines'
    >>> harmless("a\\x1b[31m" + "b" * 40)
    'a�[31mbbbbbbbbbbbbbbbbbbbbbbbbb…'
    """
    text = printable(BLANKS.sub(" ", BREAKS.sub(" ", str(value))))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def whole(value: float) -> str:
    """How many, with a fraction only where there is one."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def counted(value: float, what: str) -> str:
    """
    >>> counted(1, "row"), counted(2000, "more row")
    ('1 row', '2,000 more rows')
    """
    return f"{whole(value)} {what}{'' if value == 1 else 's'}"


def aligned(*columns: Sequence[float | None]) -> list[list[str]]:
    """Columns of numbers with the same decimals, about four digits of the first one's typical number."""
    typical = [abs(x) for x in columns[0] if x is not None and isfinite(x) and x]
    size = median(typical) if typical else 1.0
    places = min(4, max(0, 3 - floor(log10(size))))
    shape = f",.{places}f" if 1e-3 <= size < 1e9 else ".3e"
    return [["-" if x is None else format(x, shape) for x in column] for column in columns]


def percent(mass: float) -> str:
    """
    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * mass:.6g}%"


def share(part: float) -> str:
    """A share in a table, where most are 0.

    >>> share(0.0), share(0.123), share(1e-5)
    ('-', '12.3%', '<0.1%')
    """
    return "-" if part == 0 else f"{part:.1%}" if part >= 0.001 else "<0.1%"


def intervals(low: Sequence[str], high: Sequence[str]) -> list[str]:
    return [f"[{a}, {b}]" for a, b in zip(low, high, strict=True)]


def pictures(mean: Sequence[float], low: Sequence[float], high: Sequence[float], width: int) -> list[str]:
    """Each interval as a line and its mean as a dot, all on one scale.

    >>> pictures([0, 1], [0, 0.5], [0.5, 1], 9)
    ['●────    ', '    ────●']
    """
    least, most = min(*low, *mean), max(*high, *mean)  # a mean may lie outside, where a tail is heavy
    if not isfinite(most - least) or most <= least:
        return [""] * len(mean)

    def place(x: float) -> int:
        return round((x - least) / (most - least) * (width - 1))

    lines = []
    for m, a, b in zip(mean, low, high, strict=True):
        line = [" "] * width
        line[place(a) : place(b) + 1] = "─" * (place(b) + 1 - place(a))
        line[place(m)] = "●"
        lines.append("".join(line))
    return lines


def bars(values: Sequence[float], width: int) -> list[str]:
    """Each value as a bar, the largest as long as there is room.

    >>> bars([2, 1, 0.26, 0], 4)
    ['████', '██', '▌', '']
    """
    most = max(values, default=0)
    return [_bar(value / most * width) if most > 0 else "" for value in values]


def leanings(values: Sequence[float], width: int) -> list[str]:
    """Each value as a bar from a line in the middle, those below 0 to its left.

    >>> leanings([2, -1], 9)
    ['    │████', '  ██│    ']
    """
    side = width // 2
    most = max((abs(value) for value in values if isfinite(value)), default=0)
    lines = []
    for value in values:
        bar = "█" * round(min(abs(value) / most, 1) * side) if most > 0 else ""
        lines.append(f"{bar if value < 0 else '':>{side}}│{bar if value > 0 else '':<{side}}")
    return lines


def _bar(length: float) -> str:
    halves = round(2 * length)
    return "█" * (halves // 2) + "▌" * (halves % 2)


def table(columns: Columns, left: Sequence[int] = (0,), yielding: Sequence[int] = ()) -> Table:
    """Columns of text, those in `left` ranged left and the others right.

    Where there is no room, some may yield: their cells are broken into lines, between words.
    """
    made = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for j, (header, cells) in enumerate(columns):
        side: Literal["left", "right"] = "left" if j in left else "right"
        whole = (header, *cells)
        words = [word for cell in whole for word in cell.split()] if j in yielding else whole
        least = min(max(map(cell_len, words), default=0), SHORT if j in yielding else WIDE) if yielding else None
        made.add_column(
            Text(header), justify=side, no_wrap=j not in yielding, overflow="fold" if j in yielding else "ellipsis",
            min_width=least,
        )  # fmt: skip
    for row in zip(*(cells for _, cells in columns), strict=True):
        made.add_row(*map(Text, row))
    return made


def room(screen: Console, columns: Columns) -> int:
    """How many characters of a line a table leaves for one more column; below 0 where it doesn't fit itself."""
    used = sum(GAP + max(map(cell_len, (header, *cells))) for header, cells in columns)
    return screen.width - used


def say(screen: Console, text: str, style: str = "", command: bool = False) -> None:
    """Words, broken into lines between them; a command is one line, however long, as it is there to be copied."""
    screen.print(Text(text, style), soft_wrap=command or getattr(screen, "free", False))


def listed(values: Sequence[Any], count: int, how: str = "in all") -> str:
    """The first few of so many values."""
    few = ", ".join(harmless(value, 20) for value in values[:FEW])
    return few + (f", ... ({count:,} {how})" if count > FEW else "")


def number(value: float) -> str:
    """One number by itself.

    >>> number(1234567), number(0.25), number(1e-9)
    ('1,234,567', '0.25', '1e-09')
    """
    return whole(value) if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"
