"""How numbers and values are written for people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import floor, isfinite, log10
from statistics import median
from typing import Any

from credo.errors import printable
from credo.present.content import NAME_CHARACTERS, TableColumn

LINE_BREAKS = re.compile(r"\s*[\t\r\n\v\f\x85\u2028\u2029]\s*")
ODD_BLANKS = re.compile(r"[^\S ]")  # no-break spaces and the like
EXAMPLE_VALUES = 3  # listed as examples
CELL_CHARACTERS = 20  # of a cell of the data
SUM_ERROR = 1e-12  # relative rounding error of a sum


def one_line(value: object, longest: int = NAME_CHARACTERS) -> str:
    """A value from the data on one line, not too long, without control characters.

    >>> one_line("two\\nlines")
    'two lines'
    >>> one_line("a\\x1b[31m" + "b" * 40)
    'a�[31mbbbbbbbbbbbbbbbbbbbbbbbbb…'
    """
    text = printable(ODD_BLANKS.sub(" ", LINE_BREAKS.sub(" ", str(value))))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def distinguishable(values: Sequence[object], longest: int = NAME_CHARACTERS) -> list[str]:
    """Values on one line each; where a cut end would make different ones alike, their middles are cut.

    >>> distinguishable(["sales_2023_total", "sales_2023_mean"], 12)
    ['sales_…total', 'sales_…_mean']
    >>> distinguishable(["sales_2023_total", "profit"], 12)
    ['sales_2023_…', 'profit']
    """
    cut = [one_line(value, longest) for value in values]
    if len({*cut}) == len({*map(str, values)}):
        return cut
    whole = [one_line(value, len(str(value))) for value in values]
    half = longest // 2
    return [name if len(name) <= longest else f"{name[: longest - half]}…{name[1 - half :]}" for name in whole]


def whole(value: float) -> str:
    """A count, with decimals only where it has a fraction.

    >>> whole(2000), whole(0.5), whole(600.0000000001)  # a sum of expected counts
    ('2,000', '0.50', '600')
    """
    near = isfinite(value) and abs(value - round(value)) <= SUM_ERROR * abs(value)
    return f"{value:,.0f}" if near else f"{value:,.2f}"


def count_of(value: float, noun: str) -> str:
    """
    >>> count_of(1, "row"), count_of(2000, "more row")
    ('1 row', '2,000 more rows')
    """
    return f"{whole(value)} {noun}{'' if value == 1 else 's'}"


def counts_form(counts: Sequence[float]) -> str:
    """The format of a column of expected counts: with a decimal if some are fractional.

    >>> counts_form([152.9, 123.0]), counts_form([2.0, 3.0000000001])
    (',.1f', ',.0f')
    """
    return ",.0f" if all(abs(n - round(n)) < 0.05 for n in counts) else ",.1f"


def number_form(numbers: Sequence[float | None]) -> str:
    """A format specification: about four digits of a typical number, and the same decimals for all.

    >>> number_form([0.5, 0.25]), number_form([1234.5, 20000.0]), number_form([1e-7])
    (',.4f', ',.0f', '.3e')
    """
    typical = [abs(x) for x in numbers if x is not None and isfinite(x) and x]
    size = median(typical) if typical else 1.0
    return f",.{min(4, max(0, 3 - floor(log10(size))))}f" if 1e-3 <= size < 1e9 else ".3e"


def percent(mass: float) -> str:
    """
    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * mass:.6g}%"


def share(part: float) -> str:
    """A share for a table in which most are 0.

    >>> share(0.0), share(0.123), share(1e-5)
    ('-', '12.3%', '<0.1%')
    """
    return "-" if part == 0 else f"{part:.1%}" if part >= 0.001 else "<0.1%"


def number(value: float) -> str:
    """A single number.

    >>> number(1234567), number(0.25), number(1e-9)
    ('1,234,567', '0.25', '1e-09')
    """
    return whole(value) if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def _probability(p: float) -> str:
    """Six decimals, which line up; more only for small numbers."""
    return f"{p:.6f}" if p == 0 or abs(p) >= 1e-5 else f"{p:.3e}"


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else one_line(value, CELL_CHARACTERS)


def listed(values: Sequence[Any], count: int, how: str = "in all") -> str:
    """The first few values, and their total number."""
    few = ", ".join(one_line(value, CELL_CHARACTERS) for value in values[:EXAMPLE_VALUES])
    return few + (f", ... ({count:,} {how})" if count > EXAMPLE_VALUES else "")


WRITERS = {"count": whole, "share": share, "probability": _probability, "cell": _cell}


def written(column: TableColumn) -> list[str]:
    """The cells of a column as text.

    >>> written(TableColumn("95% interval", [(0.25, 0.5), None], ".2f"))
    ['[0.25, 0.50]', '-']
    >>> written(TableColumn("nats", [-1e-9], "+z.3f"))  # no negative zero
    ['+0.000']
    """
    if column.form == "text":
        return distinguishable(column.cells, column.longest)
    if column.form in WRITERS:
        return [WRITERS[column.form](cell) for cell in column.cells]
    return [_formatted(cell, column.form) for cell in column.cells]


def _formatted(cell: Any, form: str) -> str:
    if cell is None:
        return "-"
    return f"[{', '.join(format(x, form) for x in cell)}]" if isinstance(cell, tuple) else format(cell, form)


def ranged_left(column: TableColumn) -> bool:
    """Whether a column is aligned left: text is, numbers aren't."""
    return column.form == "text" or (column.form == "cell" and any(isinstance(cell, str) for cell in column.cells))
