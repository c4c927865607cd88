"""What is shown, as plain data: texts, tables, matrices, coloured texts, charts. Renderers decide how: terminal.py,
html.py, plotting.py; `json_text` is for web servers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from credo.asking.protocol import WordWeight

PLAIN = {str, int, bool, type(None)}  # what JSON holds as it is
LONGEST = 32  # characters of a name in a table
MORE = "--top prints more"  # the hint of a list that is cut


@dataclass(frozen=True)
class Paragraph:
    """Lines of the role "lines" are laid out already."""

    text: str = ""
    role: Literal["text", "title", "step", "note", "command", "lines"] = "text"
    hint: str = ""  # on a terminal, after the text: which option shows more


@dataclass(frozen=True)
class TableColumn:
    """Cells, and how they are written: as "text", "cell" (of any type), "count", "share", "probability", or by a format
    specification such as ".3f". A pair is an interval, None is missing."""

    header: str
    cells: Sequence[Any]
    form: str = "text"
    longest: int = LONGEST  # characters of a text
    wraps: bool = False  # whether cells may take several lines
    rank: int = 0  # columns above 0 are left out where there is no room, the highest ranks first


@dataclass(frozen=True)
class Drawing:
    """A last column of small pictures: bars from 0, weights to both sides of 0, or (mean, low, high) as intervals."""

    kind: Literal["bars", "weights", "intervals"]
    cells: Sequence[Any]
    header: str = ""
    sides: tuple[str, str] = ("", "")  # of weights: what those below and above 0 are evidence for
    most: float = 0.0  # the value of a full bar; by default the largest
    narrowest: int = 12  # characters: with less room there is no picture
    widest: int = 33


@dataclass(frozen=True)
class Table:
    columns: Sequence[TableColumn]
    drawing: Drawing | None = None
    ranks: tuple[str, ...] = ()  # what columns of rank 1, 2, ... hold, for a note that counts those left out
    elsewhere: str = ""  # where these are found


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
    """Whether all of them are texts and finite numbers: long lists are looked at as a whole, which takes less time."""
    kinds = {*map(type, values)}
    if float in kinds:
        return kinds == {float} and isfinite(sum(values))
    return kinds <= PLAIN


def json_text(data: object) -> str:
    """One line of JSON. Infinite numbers are text, which most languages read as a number again; NaN is null."""
    return json.dumps(plain(data))
