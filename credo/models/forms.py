"""How a classifier reads each column: its form, asked for or found out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, get_args

import pyarrow as pa

from credo.data import Batch, Source
from credo.data.profile import Profile, profile, why_ignored
from credo.errors import DataError, SchemaError, suggest
from credo.notices import tell
from credo.schema import Kind, checked_kinds

NumberForm = Literal["gaussian", "log", "binned"]
Form = Literal["category", "count", "gaussian", "log", "binned", "coarse"]
NUMBER_FORMS: tuple[Form, ...] = ("gaussian", "log", "coarse", "binned")  # the plainest first
Views = Mapping[str, tuple[str, ...]]  # the forms that each column is counted in; the first is what was asked for


@dataclass(frozen=True)
class Number:
    """How a number column is read: Gaussian, Gaussian in its logarithms, or in bins at its quantiles."""

    likelihood: NumberForm = "gaussian"

    def __post_init__(self) -> None:
        if self.likelihood not in get_args(NumberForm):
            known = get_args(NumberForm)
            raise SchemaError(f"no such likelihood, {self.likelihood!r}; {suggest(self.likelihood, known)}")


FORM_OF: dict[Kind, Form] = {"category": "category", "count": "count", "number": "gaussian"}


def settled_views(table: Source, features: Sequence[str], kinds: Mapping[str, Any] | None) -> tuple[Source, Views]:
    """The form of each column, as asked for or by its kind over all rows; and the table, which may be an iterator."""
    if not isinstance(kinds, Mapping | None):
        raise SchemaError(f"kinds must be {{column: kind}}, but is {kinds!r:.60}")
    asked = dict(kinds or {})
    if strange := [name for name in asked if name not in features and name in table.names]:
        raise SchemaError(f"kinds names {strange[0]!r}, which holds classes or weights: it isn't learned from")
    numbers = {name: how.likelihood for name, how in asked.items() if isinstance(how, Number)}
    named = checked_kinds({name: how for name, how in asked.items() if name not in numbers}, table.names)
    checked_kinds(dict.fromkeys(numbers, "number"), table.names)
    unsure = [name for name in features if name not in asked]
    if unsure:
        table, found = _found_kinds(table, unsure)
    views: dict[str, tuple[str, ...]] = {}
    for name in features:
        kind = named.get(name) or ("number" if name in numbers else found[name])
        if kind in FORM_OF:
            views[name] = (numbers.get(name, FORM_OF[kind]),)
        elif kind == "text":
            tell(f"column {name!r} holds text, which isn't read yet: it is ignored")
    return table, views


def _found_kinds(table: Source, names: Sequence[str]) -> tuple[Source, dict[str, Kind]]:
    """By all rows; by the first ones, where rows can be read only once."""
    if table.once:
        table, first = _peeked(table)
        profiles = {name: Profile.of(first.column(name)) for name in names}
        tell(f"kinds of columns are those of the first {first.rows} rows")
        return table, {name: _kind(name, found) for name, found in profiles.items()}
    clear = _clear_kinds(table, names)
    rest = [name for name in names if name not in clear]
    profiles = profile(table, rest) if rest else {}
    return table, {name: clear[name] if name in clear else _kind(name, profiles[name]) for name in names}


def _kind(name: str, found: Profile) -> Kind:
    if found.kind == "ignore":
        tell(f"column {name!r} is ignored: {why_ignored(name, found)}")
    return found.kind


def _clear_kinds(table: Source, names: Sequence[str]) -> dict[str, Kind]:
    """Columns of whose kind the first rows leave no doubt: numbers of which at least three differ."""
    rows = table.batches(names)
    first = next(rows, None)
    if first is None:
        raise DataError("the data is empty: there are no rows to learn from")
    head = first.slice(0, FIRST)
    clear: dict[str, Kind] = {}
    for name in names:
        array = head.column(name)
        if pa.types.is_floating(array.type) and array.null_count < len(array):  # NaN is null by now
            clear[name] = "number"
            continue
        found = Profile.of(array)
        if found.kind == "number" and len(found.values) > 2:
            clear[name] = "number"
    return clear


FIRST = 4096  # rows to look at


def _peeked(table: Source) -> tuple[Source, Batch]:
    """A table that can be read only once, with its first rows already seen."""
    stream = table.batches(table.names)
    first = next(stream, None)
    if first is None:
        raise DataError("the data is empty: there are no rows to learn from")

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        return (batch.only(wanted) for batch in chain([first], stream))

    return replace(table, read=read), first
