"""What a table's columns are: their kinds, and the values that category columns take.

A schema has no hidden state: a value is a level while it has evidence or is declared. Schemas of different parts unite.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from credo.data.arrow_arrays import number_array, numpy_array
from credo.errors import SchemaError, suggest
from credo.numerics.arrays import Positions

if TYPE_CHECKING:
    from credo.data.tokens import Tokeniser
    from credo.data.words import Vocabulary

PYTHON_SORTED = 100  # levels: for fewer, Python sorts faster than Arrow
ADDED_SHARE = 1 / 16  # of a column's levels that may be added without a new index
Kind = Literal["category", "number", "count", "date", "text", "ignore"]
KINDS = get_args(Kind)
CalendarPart = Literal["weekday", "month", "hour"]
Derivation = Literal["", "pairs", "features", "cells", "currency"] | CalendarPart


class Derived(NamedTuple):
    """Something derived from a column, such as its pairs of words or the weekdays of its dates; or the features of all
    columns."""

    what: Derivation
    column: str = ""


Axis = str | Derived  # an axis of statistics: a column's levels, or those of something derived from one


@dataclass(frozen=True, eq=False)
class Column:
    """A name, a kind and, for categories, the levels; the first `declared` of them stay without evidence."""

    name: str
    kind: Kind
    levels: Any = None  # an Arrow array
    declared: int = 0
    derived: Derivation = ""  # how the levels are derived from the column; "" for the column itself

    @property
    def axis(self) -> Axis:
        """The column's key in a schema."""
        return Derived(self.derived, self.name) if self.derived else self.name

    @property
    def values(self) -> tuple[Any, ...]:
        """The levels as Python values."""
        return () if self.levels is None else tuple(self.levels.to_pylist())

    def vocabulary(self, reading: Tokeniser) -> Vocabulary:
        """The words of a text column as a vocabulary, indexed once for all likelihoods."""
        from credo.data.words import Vocabulary

        return self._vocabularies.setdefault(reading, Vocabulary.of(self.levels, reading))  # indexed at first use

    @cached_property
    def _vocabularies(self) -> dict[Tokeniser, Vocabulary]:
        return {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column):
            return NotImplemented
        same = (self.axis, self.kind, self.declared) == (other.axis, other.kind, other.declared)
        return same and self.values == other.values

    def __hash__(self) -> int:
        return hash((self.axis, self.kind))

    @property
    def _is_short(self) -> bool:
        """Whether the levels are a few strings, none declared."""
        return len(self.levels) <= PYTHON_SORTED and not self.declared and bool(pa.types.is_string(self.levels.type))

    @cached_property
    def is_ascending(self) -> bool:
        """Whether the levels are ascending numbers, none declared: a check that is faster than sorting."""
        if self.declared or not pa.types.is_floating(self.levels.type):
            return False
        values = numpy_array(self.levels)
        return bool((values[1:] > values[:-1]).all())

    def ordered(self) -> tuple[Column, Positions]:
        """The column with undeclared levels in their natural order, and the former position of each level."""
        if self.is_ascending:
            return self, np.arange(len(self.levels))
        if self._is_short:  # faster than Arrow
            few = sorted(range(len(self.levels)), key=self.values.__getitem__)
            return replace(self, levels=self.levels.take(number_array(order := np.array(few, dtype=np.intp)))), order
        fixed, free = self.levels[: self.declared], self.levels[self.declared :]
        order = numpy_array(pc.sort_indices(free)).astype(np.intp) + self.declared
        order = np.concatenate([np.arange(self.declared), order])
        levels = pa.concat_arrays([fixed, self.levels.take(number_array(order[self.declared :]))])
        return replace(self, levels=levels), order


@dataclass(frozen=True)
class Schema:
    """Columns by name.

    >>> a = Schema((Column("sky", "category", pa.array(["sunny"])),))
    >>> b = Schema((Column("sky", "category", pa.array(["rainy", "sunny"])),))
    >>> (a | b)["sky"].values
    ('sunny', 'rainy')
    """

    columns: tuple[Column, ...]

    @classmethod
    def infer(cls, data: object, kinds: Mapping[str, str] | None = None) -> Schema:
        """The kind of each column, and the values of the categories, over all rows; `kinds` overrides.

        >>> Schema.infer({"sky": ["sunny", "rainy", "sunny"], "wind": [3.5, None, 7.1]})
        sky: category (rainy, sunny)
        wind: number
        """
        from credo.data.profile import infer_schema

        return infer_schema(data, kinds)

    def __getitem__(self, axis: Axis) -> Column:
        if axis not in self._by_axis:
            raise SchemaError(f"no column {axis!r}; {suggest(axis, self.names)}")
        return self._by_axis[axis]

    @cached_property
    def _by_axis(self) -> dict[Axis, Column]:
        return {column.axis: column for column in self.columns}

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def kinds(self) -> dict[str, Kind]:
        return {column.name: column.kind for column in self.columns if not column.derived}

    def __or__(self, other: Schema) -> Schema:
        """All columns of both, each with the levels of both."""
        return unite([self, other])[0]

    def replaced(self, columns: Iterable[Column]) -> Schema:
        new = {column.axis: column for column in columns}
        return Schema(tuple(new.get(column.axis, column) for column in self.columns))

    def _repr_html_(self) -> str:
        from credo.present.models import in_notebook

        return in_notebook(self)

    def __repr__(self) -> str:
        return "\n".join(f"{_named(column)}: {column.kind}{_levels_shown(column)}" for column in self.columns)


def _named(column: Column) -> str:
    return " of ".join(filter(None, (column.derived, column.name)))


def _levels_shown(column: Column) -> str:
    if column.levels is None:
        return ""
    few = [str(value) for value in column.levels[:5].to_pylist()]
    more = f", ... ({len(column.levels)} levels)" if len(column.levels) > 5 else ""
    return f" ({', '.join(few)}{more})"


def unite(schemas: Sequence[Schema]) -> tuple[Schema, list[dict[Axis, Positions]]]:
    """The union of many schemas, and the places of each one's levels in it.

    Levels keep their order of first appearance, so the first schema's levels keep their places.
    """
    by_axis = [{column.axis: column for column in schema} for schema in schemas]
    columns: list[Column] = []
    positions: list[dict[Axis, Positions]] = [{} for _ in schemas]
    for axis in dict.fromkeys(chain.from_iterable(by_axis)):
        having = [(i, known[axis]) for i, known in enumerate(by_axis) if axis in known]
        column, places = _unite_columns([column for _, column in having])
        columns.append(column)
        for (i, _), place in zip(having, places, strict=True):
            positions[i][axis] = place
    return Schema(tuple(columns)), positions


def agree(schemas: Sequence[Schema]) -> None:
    """Raise an error for schemas that can't be united, without uniting their levels."""
    together: dict[Axis, list[Column]] = {}
    for column in chain.from_iterable(schemas):
        together.setdefault(column.axis, []).append(column)
    for columns in together.values():
        _check_kinds(columns)
        _type_of(columns[0], [column.levels for column in columns if column.levels is not None])


def _check_kinds(columns: Sequence[Column]) -> None:
    first = columns[0]
    for column in columns[1:]:
        if column.kind != first.kind:
            raise SchemaError(_disagreement(first, first.kind, column.kind))


def currency(name: str, sign: str) -> Column:
    """The currency sign of amounts in a schema, or %."""
    return Column(name, "category", pa.array([sign]), declared=1, derived="currency")


def currencies(schema: Iterable[Column]) -> dict[str, str]:
    """The sign of each column of amounts."""
    return {column.name: column.values[0] for column in schema if column.derived == "currency"}


def other_currency(name: str, known: str, sign: str) -> SchemaError:
    return SchemaError(f"column {name!r} has amounts with the sign {sign!r}, but those before had {known!r}")


def _unite_columns(columns: Sequence[Column]) -> tuple[Column, list[Positions]]:
    first = columns[0]
    if first.derived == "currency":
        signs = [*dict.fromkeys(sign for column in columns for sign in column.values)]
        if len(signs) > 1:
            raise other_currency(first.name, *signs[:2])
    if all(column is first for column in columns):
        size = 0 if first.levels is None else len(first.levels)
        return first, [np.arange(size)] * len(columns)
    _check_kinds(columns)
    listed = [column.levels for column in columns if column.levels is not None]
    if not listed:
        return first, [np.empty(0, dtype=np.intp) for _ in columns]
    if len(listed) == 1:
        (only,) = (column for column in columns if column.levels is not None)
        places = [np.arange(0 if column.levels is None else len(only.levels)) for column in columns]
        return replace(first, levels=only.levels, declared=only.declared), places
    columns = [replace(c, levels=listed[0][:0]) if c.levels is None else c for c in columns]
    first = columns[0]
    if all(column.levels.equals(first.levels) for column in columns[1:]):
        declared = max(column.declared for column in columns)
        return replace(first, declared=declared), [np.arange(len(first.levels))] * len(columns)
    if _are_few(columns[1:], first):
        return _with_few(first, columns[1:])
    declared_levels = [column.levels[: column.declared] for column in columns]
    parts = _same_type(first, declared_levels + [column.levels for column in columns])
    levels, places = _encoded(parts)
    declared = max(int(place.max(initial=-1)) for place in places[: len(columns)]) + 1
    return replace(first, levels=levels, declared=declared), places[len(columns) :]


def _are_few(columns: Sequence[Column], beside: Column) -> bool:
    """Whether the columns have few levels compared to another, of the same type and undeclared."""
    few = sum(len(column.levels) for column in columns) <= ADDED_SHARE * len(beside.levels)
    return few and all(column.levels.type == beside.levels.type and not column.declared for column in columns)


def _with_few(column: Column, others: Sequence[Column]) -> tuple[Column, list[Positions]]:
    """A column with a few new levels appended, without an index of all its levels."""
    levels, (few, own) = column.levels, _encoded([other.levels for other in others])
    at = pc.indices_nonzero(pc.is_in(levels, value_set=few))
    places = np.full(len(few), -1, dtype=np.intp)
    places[numpy_array(pc.index_in(levels.take(at), value_set=few))] = numpy_array(at)
    new = np.flatnonzero(places < 0)
    places[new] = len(levels) + np.arange(len(new))
    whole = pa.concat_arrays([levels, few.take(pa.array(new))]) if len(new) else levels
    return replace(column, levels=whole), [np.arange(len(levels)), *(places[place] for place in own)]


def _encoded(parts: Sequence[Any]) -> tuple[Any, list[Positions]]:
    """The distinct values of all parts by first appearance, and the positions of each part's values."""
    pool = pa.system_memory_pool()  # Arrow's own pool would keep the temporary memory for a while
    chunks = pc.dictionary_encode(
        pa.chunked_array(parts), memory_pool=pool
    ).chunks  # parts of one dictionary, none empty
    codes = [numpy_array(chunk.indices).astype(np.intp) for chunk in chunks]
    places = np.split(np.concatenate([np.empty(0, np.intp), *codes]), np.cumsum([len(part) for part in parts])[:-1])
    return chunks[-1].dictionary if chunks else parts[0], places


def _same_type(column: Column, parts: Sequence[Any]) -> list[Any]:
    wanted = _type_of(column, parts) or column.levels.type
    try:
        return [part.cast(wanted) if len(part) else pa.nulls(0, wanted) for part in parts]
    except pa.ArrowInvalid:  # floats merge integers from 2^53 on, and uint64 has no negative ones
        raise SchemaError(
            f"column {column.name!r} has whole numbers beyond 2^53 in one part of the data, and {wanted} values in "
            "another, which can't represent them: make them strings"
        ) from None


def _type_of(column: Column, parts: Sequence[Any]) -> pa.DataType:
    """The type of all levels in those parts of a column; None if there are none."""
    types = {part.type for part in parts if len(part)}
    wanted = common_type(types) if types else None
    if types and wanted is None:
        raise SchemaError(_disagreement(column, *sorted(str(t) for t in types)[:2]))
    return wanted


def common_type(types: Collection[object]) -> pa.DataType:
    """The type that holds the values of all these types, if there is one."""
    if len(types) == 1:
        return next(iter(types))
    if all(pa.types.is_integer(t) for t in types):
        return pa.uint64()  # some are beyond int64
    return pa.float64() if all(pa.types.is_integer(t) or pa.types.is_floating(t) for t in types) else None


def _disagreement(column: Column, one: str, other: str) -> str:
    return (
        f"column {column.name!r} is {one} in one part of the data and {other} in another; "
        f"give its kind with kinds={{{column.name!r}: ...}}, or make the parts alike"
    )


def checked_kinds(kinds: Mapping[str, str] | None, names: Sequence[str]) -> dict[str, Kind]:
    """The requested kinds; an error for an unknown column or kind."""
    asked: dict[str, Kind] = {}
    known = set(names)
    for name, kind in (kinds or {}).items():
        if name not in known:
            raise SchemaError(f"kinds names a column {name!r} that isn't there; {suggest(name, names)}")
        if kind not in KINDS:
            raise SchemaError(f"kinds={{{name!r}: {kind!r}}}: no such kind; {suggest(kind, KINDS)}")
        asked[name] = kind  # type: ignore[assignment]
    return asked
