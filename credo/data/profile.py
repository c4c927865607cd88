"""Profiles of a table's columns, from which their kinds are inferred; profiles add, like all statistics."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from credo import engines
from credo.data import Batch, Source, cells, source
from credo.data.arrow_arrays import numpy_array
from credo.data.schema import Column, Kind, Schema, checked_kinds, common_type
from credo.data.spelling import NUMBER, PEEKED_CELLS, UNCLEAR_DATE, are_tokens, dates
from credo.data.tables import NO_DATA
from credo.errors import DataError
from credo.notices import FIRST_COLUMN, tell_of_columns
from credo.numerics.arrays import Codes

MOST_DISTINCT = 2_000_000  # values kept of a column
VALUE_BYTES = 2**25  # of distinct values, at most 1/32 of it from one batch: a few texts suffice to recognise a text
IDENTIFIER_ROWS = 50  # in more rows than this, distinct single words are row identifiers
WORD_PATTERN = r"\pL\S*"  # a date and a time aren't two words
WHITESPACE = re.compile(r"[\t\n\f\r ]+")  # whitespace to Arrow
ASCII_WORDS = re.compile(r"[A-Za-z][^\t\n\f\r ]*")  # the same for ASCII, where Python knows the letters
PYTHON_COUNTED = 1000  # values: for fewer, Python is faster than compiling Arrow's expression
COUNTED_CHARACTERS = 100  # of a cell, in which words are counted
NUMBER_VALUES, OTHER_VALUES = 20, 5  # at least so many numbers, at most so many others: these may mean missing cells
DATE_NAMES = 2  # so few dates are names
UNCLEAR_DATES = "dates such as 4/5/2024 are read as words, since the month may be April or May: write 2024-05-04"
LONG_CATEGORY_VALUES, LONG_CATEGORY_REPEATS = 20, 5  # so few values, so often on average, are a category, however long


@dataclass(frozen=True, eq=False)
class Profile:
    """A summary of a column's cells."""

    rows: int
    missing: int
    words: int  # words in the beginnings of all cells
    longest: int  # the most words in a cell
    values: pa.Array  # distinct values (an Arrow array), as far as they are kept; for numbers the ends and one between
    repeated: int  # cells whose value was seen before
    dates: int = 0  # cells that spell a date

    @classmethod
    def of(cls, array: object, every: bool = False) -> Profile:
        """The profile of an array; with `every`, all values of a number column are kept, too."""
        return cls.coded(array, every)[0]

    @classmethod
    def coded(cls, array: pa.Array, every: bool = False) -> tuple[Profile, tuple[Codes, Any] | None]:
        """The profile, and the cells as codes and levels if they had to be coded for it."""
        if not every and _numeric(array.type):
            known = cells.missing(array).drop_null()
            values = cells.categories(_ends(known))[1]
            return cls(len(array), len(array) - len(known), 0, 0, values, len(known) - len(values)), None
        coded = cells.categories(array)
        return cls._of_codes(*coded), coded

    @classmethod
    def _of_codes(cls, codes: Codes, values: Any) -> Profile:
        words, missing = _words(values), int(np.count_nonzero(codes < 0))
        longest, known = int(words.max(initial=0)), len(codes) - missing
        total = int(np.append(words, 0)[codes].sum()) if longest > int(words.min(initial=longest)) else longest * known
        few = max(1, int(len(values) * VALUE_BYTES / 32 // max(values.nbytes, 1)))
        dated = known if _are_dates(values) else 0
        kept = pa.concat_arrays([values[:few]]) if few < len(values) else values
        return cls(len(codes), missing, total, longest, kept, known - len(values), dated)

    @classmethod
    def unread(cls, array: pa.Array) -> Profile:
        """The profile of lists, structs and the like: only the number of cells."""
        return cls(len(array), array.null_count, 0, 0, pa.array([], array.type), 0)

    @classmethod
    def total(cls, profiles: Sequence[Profile], every: bool = False) -> Profile:
        full = next((i for i, p in enumerate(profiles, 1) if p.full), len(profiles))
        collected = profiles[:full]
        values = _united([p.values for p in collected])
        return cls(
            sum(p.rows for p in profiles),
            sum(p.missing for p in profiles),
            sum(p.words for p in profiles),
            max(p.longest for p in profiles),
            values if every or not _numeric(values.type) else _ends(values),
            sum(p.repeated for p in profiles) + sum(len(p.values) for p in collected) - len(values),
            sum(p.dates for p in profiles),
        )

    @property
    def full(self) -> bool:
        """Whether no more values are collected."""
        return len(self.values) >= MOST_DISTINCT or self.values.nbytes >= VALUE_BYTES

    @property
    def is_cut(self) -> bool:
        """Whether some values weren't collected."""
        return len(self.values) < self.known - self.repeated

    @property
    def known(self) -> int:
        return self.rows - self.missing

    @property
    def missing_share(self) -> float:
        return self.missing / self.rows if self.rows else 0.0

    @property
    def kind(self) -> Kind:
        """category: booleans, strings, integers of at most two values. date: more than two ISO dates. text: several
        words, mostly different."""
        kind = self.values.type
        if not self.known:
            return "ignore"
        if pa.types.is_string(kind):
            return self._kind_of_strings()
        if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and len(self.values) <= 2):
            return "category"
        return "number" if _numeric(kind) else "ignore"

    @property
    def dated(self) -> bool:
        """Whether there are more than two dates: fewer are categories, like two integers."""
        return self.dates == self.known and len(self.values) > 2

    def _kind_of_strings(self) -> Kind:
        if self.dated:
            return "date"
        if self._reads_as_text:
            return "text"
        return "ignore" if self.identifies else "category"

    @cached_property
    def _reads_as_text(self) -> bool:
        """Whether cells have several words and mostly differ, or have many words, even if values repeat.

        With w words in a value, texts may come w³/16 times each: 4 times with 4 words, 32 times with 8. A few values
        that repeat often are categories, however long.
        """
        distinct = max(self.known - self.repeated, 1)
        times = self.known / distinct
        if self.words >= 2 * self.known and times < 2:
            return True
        if distinct <= LONG_CATEGORY_VALUES and times >= LONG_CATEGORY_REPEATS:
            return False
        words = _words(self.values)
        return bool(len(words)) and times < words.mean() ** 3 / 16

    @property
    def identifies(self) -> bool:
        """Whether this is a row identifier: over 50 distinct single words."""
        different = pa.types.is_string(self.values.type) and self.repeated == 0 and not self.dated
        return different and self.longest <= 1 and self.known > IDENTIFIER_ROWS


def _are_dates(values: Any) -> bool:
    return bool(pa.types.is_string(values.type) and len(values)) and dates(values) is not None


def _words(values: Any) -> Any:
    """The number of words at the beginning of each value."""
    if not pa.types.is_string(values.type):
        return np.zeros(len(values), dtype=np.int64)
    if len(values) <= PYTHON_COUNTED:
        return np.array([_words_of(value) for value in values.to_pylist()], dtype=np.int64)
    beginnings = pc.utf8_slice_codeunits(values, 0, COUNTED_CHARACTERS)
    return numpy_array(pc.count_substring_regex(beginnings, WORD_PATTERN)).astype(np.int64)


def _words_of(value: str) -> int:
    """
    >>> [_words_of(value) for value in ("high", "in the garden", "2024-05-31 17:30", "3 m²")]
    [1, 3, 0, 1]
    """
    beginning = value[:COUNTED_CHARACTERS]
    if beginning.isascii():
        return len(ASCII_WORDS.findall(beginning))
    return sum(any(map(str.isalpha, part)) for part in WHITESPACE.split(beginning))


def _numeric(kind: object) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _ends(values: Any) -> pa.Array:
    """The minimum, the maximum and one value between: enough for a range, and to tell two values from more."""
    if not len(values):
        return values
    ends = pc.min_max(values)
    low, high = ends["min"], ends["max"]
    between = values.filter(pc.and_(pc.greater(values, low), pc.less(values, high)))[:1]
    return pc.unique(pa.concat_arrays([pa.array([low.as_py(), high.as_py()], values.type), between]))


def _united(parts: Sequence[Any]) -> pa.Array:
    """The distinct values of all parts; as strings if their types have nothing in common."""
    types = {part.type for part in parts if len(part)}
    if not types:
        return parts[0]
    kind = common_type(types) or pa.string()
    return pc.unique(pa.chunked_array([part.cast(kind, safe=False) for part in parts if len(part)], kind))


def profile(
    data: object, names: Sequence[str] | None = None, every: Container[str] = (), unread: bool | None = None
) -> dict[str, Profile]:
    """A profile of each column (or of those named), over all rows; of columns in `every` with all their values.

    `unread` says whether a column may be of a type that isn't read; by default, only if no columns are named.
    """
    table = source(data)
    if table.once:
        raise DataError("an iterator can be read only once, and inferring kinds would consume it: give a prior")
    wanted = list(table.names if names is None else names)
    unread = names is None if unread is None else unread

    job = Profiles(tuple(wanted), frozenset(name for name in wanted if name in every), strict=not unread)
    found = engines.reduce(job, table.partitions(wanted), job.total)
    if found is None:
        raise DataError(NO_DATA)
    return found


@dataclass(frozen=True)
class Profiles:
    """The profile of each column of a batch."""

    names: tuple[str, ...]
    every: frozenset[str]  # columns whose values are all kept
    strict: bool  # whether a column that can't be read is an error

    def __call__(self, batch: Batch) -> dict[str, Profile]:
        return {name: self.coded(batch, name)[0] for name in self.names}

    def coded(self, batch: Batch, name: str) -> tuple[Profile, tuple[Codes, Any] | None]:
        """One column's profile, and its cells as codes if they had to be coded for it."""
        try:
            return Profile.coded(batch.column(name), name in self.every)
        except DataError:
            if self.strict:
                raise
            return Profile.unread(batch.columns[name]), None

    def total(self, parts: Sequence[dict[str, Profile]]) -> dict[str, Profile]:
        return {name: Profile.total([part[name] for part in parts], name in self.every) for name in self.names}


@dataclass(frozen=True)
class Missing:
    """The number of missing cells of each column of a batch, and of its rows."""

    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> NDArray[np.int64]:
        return np.array([*(_null_count(batch, name) for name in self.names), batch.rows])


def _null_count(batch: Batch, name: str) -> int:
    """The number of missing cells; of a column of a type that isn't read, of its nulls."""
    try:
        return int(cells.missing(batch.column(name)).null_count)
    except DataError:
        return int(batch.columns[name].null_count)


def missing_shares(table: Source, names: Sequence[str]) -> dict[str, float]:
    """The share of each column's cells that are missing."""
    found = sum(engines.map(Missing(tuple(names)), table.partitions(names)), np.zeros(len(names) + 1, int))
    *absent, rows = found.tolist()
    return {name: n / max(rows, 1) for name, n in zip(names, absent, strict=True)}


def infer_schema(data: object, kinds: Mapping[str, str] | None = None) -> Schema:
    """The kind of each column, and the values of the categories, over all rows; `kinds` overrides."""
    table = source(data)
    asked = checked_kinds(kinds, table.names)
    return schema_of(profile(table, every=listed(asked)), asked)


def listed(asked: Mapping[str, Kind]) -> frozenset[str]:
    """The columns whose values are all kept."""
    return frozenset(name for name, kind in asked.items() if kind == "category")


def schema_of(profiles: Mapping[str, Profile], asked: Mapping[str, Kind]) -> Schema:
    """The requested kinds; for other columns, those inferred from their profiles."""
    chosen = {name: asked.get(name, found.kind) for name, found in profiles.items()}
    ignored = [name for name, kind in chosen.items() if kind == "ignore" and name not in asked]
    tell_of_columns(((name, why_ignored(profiles[name])) for name in ignored), "ignored")
    cut = [name for name, kind in chosen.items() if kind == "category" and profiles[name].is_cut]
    tell_of_columns((name, "not all values are listed, there are too many") for name in cut)
    tell_of_words({name: found for name, found in profiles.items() if name not in asked})
    return Schema(tuple(_column(name, kind, profiles[name]) for name, kind in chosen.items()))


def _column(name: str, kind: Kind, found: Profile) -> Column:
    return Column(name, kind, found.values).ordered()[0] if kind == "category" else Column(name, kind)


def tell_of_words(profiles: Mapping[str, Profile]) -> None:
    """Notices of categories that would be numbers but for a few words, which may mean missing cells, and of dates that
    can't be read as such."""
    words = {name: _words_among_numbers(found) for name, found in profiles.items() if found.kind == "category"}
    tell_of_columns(((name, _missing_advice(found)) for name, found in words.items() if found), "a category")
    tell_of_columns((name, UNCLEAR_DATES) for name, found in profiles.items() if _unclear_dates(found))


def _unclear_dates(found: Profile) -> bool:
    """Whether the strings are dates whose day and month may be swapped, apart from tokens for missing cells."""
    values, first = found.values, re.compile(UNCLEAR_DATE)
    if not pa.types.is_string(values.type) or not any(first.match(each) for each in values[:PEEKED_CELLS].to_pylist()):
        return False  # mostly
    others = values.filter(pc.invert(are_tokens(values)))
    return len(others) > DATE_NAMES and bool(pc.all(pc.match_substring_regex(others, UNCLEAR_DATE)).as_py())


def _words_among_numbers(found: Profile) -> list[str]:
    """The few values of a category that aren't numbers, if all others are."""
    if found.is_cut or not pa.types.is_string(found.values.type) or len(found.values) < NUMBER_VALUES:
        return []
    numbers = pc.or_(pc.match_substring_regex(found.values, NUMBER), are_tokens(found.values))
    others = found.values.filter(pc.invert(numbers))
    few = len(others) <= min(OTHER_VALUES, len(found.values) - NUMBER_VALUES)
    return others.to_pylist() if few else []


def _missing_advice(words: Sequence[str]) -> str:
    shown = ", ".join(f"{word!r:.60}" for word in words)
    return f"all values are numbers but {shown}; if missing cells are meant, use credo.read(data, missing=[{shown}])"


def why_ignored(found: Profile) -> str:
    """Why a column is ignored. Equal reasons have equal words, so that they share a notice."""
    if not found.known:
        return "every cell is missing"
    if found.identifies:
        return f"all values are different, as in a row identifier; kinds={{{FIRST_COLUMN}: 'category'}} keeps it"
    return f"the type is {found.values.type}, which credo doesn't read"
