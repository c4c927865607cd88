"""What a table's columns look like, and so what kind each is: profiles of parts add, like all statistics."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from credo import cells
from credo.data import Batch, source
from credo.engines import local
from credo.errors import DataError, Notice
from credo.schema import Column, Kind, Schema, checked_kinds

KEPT = 2_000_000  # distinct values, of which more would only cost memory
MANY_ROWS = 50  # from here on, single words that are all different are names of rows, not values


@dataclass(frozen=True, eq=False)
class Profile:
    """What was seen of a column's cells."""

    rows: int
    missing: int
    words: int  # in all cells
    longest: int  # words of the longest cell
    values: Any  # the distinct ones, an Arrow array, as far as they are kept

    @classmethod
    def of(cls, array: Any) -> Profile:
        array = cells.missing(array)
        values = cells.categories(array)[1]
        words = longest = 0
        if pa.types.is_string(array.type):
            lengths = pc.list_value_length(pc.utf8_split_whitespace(array))
            words, longest = pc.sum(lengths).as_py() or 0, pc.max(lengths).as_py() or 0
        return cls(len(array), array.null_count, words, longest, values)

    @classmethod
    def total(cls, profiles: Sequence[Profile]) -> Profile:
        types = {p.values.type for p in profiles if len(p.values)}
        if len(types) > 1 and not all(pa.types.is_integer(t) or pa.types.is_floating(t) for t in types):
            kind = pa.string()
        else:
            kind = types.pop() if len(types) == 1 else pa.float64()
        values = pc.unique(pa.chunked_array([p.values.cast(kind) for p in profiles]))
        return cls(
            sum(p.rows for p in profiles),
            sum(p.missing for p in profiles),
            sum(p.words for p in profiles),
            max(p.longest for p in profiles),
            values.slice(0, KEPT),
        )

    @property
    def known(self) -> int:
        return self.rows - self.missing

    @property
    def missing_share(self) -> float:
        return self.missing / self.rows if self.rows else 0.0

    @property
    def kind(self) -> Kind:
        """category: booleans, strings, integers of at most two values. text: several words, mostly different."""
        kind = self.values.type
        if not self.known:
            return "ignore"
        if pa.types.is_string(kind):
            return self._kind_of_strings()
        if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and len(self.values) <= 2):
            return "category"
        return "number"

    def _kind_of_strings(self) -> Kind:
        if self.words >= 2 * self.known and len(self.values) > min(self.known, KEPT) / 2:
            return "text"
        return "ignore" if self.identifies else "category"

    @property
    def identifies(self) -> bool:
        """Over 50 cells, single words, all different: it names rows and says nothing of them."""
        different = len(self.values) == min(self.known, KEPT)
        return pa.types.is_string(self.values.type) and self.longest <= 1 and self.known > MANY_ROWS and different


def profile(data: object, names: Sequence[str] | None = None) -> dict[str, Profile]:
    """A profile of each column (or of those named), over all rows."""
    table = source(data)
    if table.once:
        raise DataError("an iterator can be read only once, and finding out kinds would use it up: give a prior")
    wanted = list(table.names if names is None else names)

    def summarise(batch: Batch) -> dict[str, Profile]:
        return {name: Profile.of(batch.column(name)) for name in wanted}

    def total(parts: Sequence[dict[str, Profile]]) -> dict[str, Profile]:
        return {name: Profile.total([part[name] for part in parts]) for name in wanted}

    found = local.reduce(summarise, table.batches(wanted), total)
    if found is None:
        raise DataError("the data is empty: there are no rows to learn from")
    return found


def infer_schema(data: object, kinds: Mapping[str, str] | None = None) -> Schema:
    """The kind of each column, and the values of the categories, over all rows; `kinds` overrides."""
    profiles = profile(data)
    asked = checked_kinds(kinds, list(profiles))
    return Schema(tuple(_column(name, found, asked.get(name)) for name, found in profiles.items()))


def _column(name: str, found: Profile, asked: Kind | None) -> Column:
    kind = asked or found.kind
    if kind == "ignore" and asked is None:
        why = "every cell is missing" if not found.known else "its values are all different, as names of rows are"
        warnings.warn(f"column {name!r} is ignored: {why}", Notice, stacklevel=4)
    if kind != "category":
        return Column(name, kind)
    return replace(Column(name, kind, found.values).ordered()[0])
