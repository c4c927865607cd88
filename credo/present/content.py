"""Contents to display, as plain data: texts, tables, matrices, coloured texts, charts. Renderers:
terminal.py, html.py, plotting.py; `json_text` is for web servers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from credo.asking.protocol import WordWeight

JSON_TYPES = {str, int, bool, type(None)}  # types that JSON represents directly
NAME_CHARACTERS = 32  # of a name in a table
TOP_HINT = "--top prints more"  # the hint at the end of a truncated list


@dataclass(frozen=True)
class Paragraph:
    """A text with a role; the role "lines" is for preformatted text."""

    text: str = ""
    role: Literal["text", "title", "step", "note", "command", "lines"] = "text"
    hint: str = ""  # appended on a terminal: the option that shows more


@dataclass(frozen=True)
class TableColumn:
    """Cells and their format: "text", "cell" (of any type), "count", "share", "probability", or by a format
    specification such as ".3f". A pair is an interval, None is missing."""

    header: str
    cells: Sequence[Any]
    form: str = "text"
    longest: int = NAME_CHARACTERS  # characters of a text
    wraps: bool = False  # whether cells may take several lines
    rank: int = 0  # columns above 0 are dropped if there is no room, the highest ranks first


@dataclass(frozen=True)
class Drawing:
    """A last column of small pictures: bars from 0, weights to both sides of 0, or (mean, low, high) as intervals."""

    kind: Literal["bars", "weights", "intervals"]
    cells: Sequence[Any]
    header: str = ""
    sides: tuple[str, str] = ("", "")  # for weights: what negative and positive ones are evidence for
    most: float = 0.0  # the value of a full bar; by default the largest value
    narrowest: int = 12  # characters: with less room, no picture
    widest: int = 33


@dataclass(frozen=True)
class Table:
    columns: Sequence[TableColumn]
    drawing: Drawing | None = None
    ranks: tuple[str, ...] = ()  # names of the columns of rank 1, 2, ..., for a note about dropped ones
    elsewhere: str = ""  # where to find the dropped columns


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix: a row for each true class, a column for each predicted one."""

    names: Sequence[str]
    counts: Sequence[Sequence[float]]


@dataclass(frozen=True)
class ColouredText:
    """A column's text, its words coloured by their weights for one class against another."""

    name: str
    of: str
    against: str
    text: str
    words: Sequence[WordWeight]


@dataclass(frozen=True)
class Curve:
    label: str
    role: Literal["prior", "likelihood", "posterior", "predictive"]
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Chart:
    """Curves over a number; or bars, {value: height}."""

    x_label: str
    y_label: str = "density"
    curves: Sequence[Curve] = ()
    bars: Mapping[Any, float] | None = None
    note: str = ""  # instead of a picture


Content = Paragraph | Table | Matrix | ColouredText | Chart
GAP = Paragraph()


def plain(value: Any) -> Any:
    """Content, or any data, in JSON's types: a dataclass becomes an object with its `type`.

    >>> plain([Paragraph("rows", "title"), float("inf")])
    [{'type': 'Paragraph', 'text': 'rows', 'role': 'title', 'hint': ''}, 'Infinity']
    """
    if is_dataclass(value) and not isinstance(value, type):
        own = {each.name: plain(getattr(value, each.name)) for each in fields(value)}
        return {"type": type(value).__name__, **own}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, float):
        return None if isnan(value) else float(value) if isfinite(value) else "Infinity" if value > 0 else "-Infinity"
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if not isinstance(value, Sequence):
        return str(value)
    return [*value] if _is_plain(value) else [plain(each) for each in value]


def _is_plain(values: Sequence[Any]) -> bool:
    """Whether all values are strings and finite numbers: long lists are checked as a whole, which is faster."""
    kinds = {*map(type, values)}
    if float in kinds:
        return kinds == {float} and isfinite(sum(values))
    return kinds <= JSON_TYPES


def json_text(data: object) -> str:
    """One line of JSON. Infinite numbers are strings, which most languages parse as numbers; NaN is null."""
    return json.dumps(plain(data))
