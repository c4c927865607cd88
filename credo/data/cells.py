"""Cells of an Arrow column as numbers, booleans, counts or codes; an error about a wrong cell names its row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from credo._kernels.data.codes import code_block, count_block, count_values, find_bounds, look_up, mark_values
from credo.data.arrow_arrays import number_array, numpy_array, scalar
from credo.data.spelling import dates, without_tokens
from credo.errors import DataError
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

Numbering = Callable[[int], int]  # gives the number of a batch's row, for errors

LARGEST_NUMBER = 1e150  # squares of larger numbers overflow
DAY_MICROSECONDS = 86_400e6  # microseconds
EXACT_INTEGERS = 2.0**53  # below this, floats represent all integers
RANGE_ROWS = 2000  # first rows that suggest the range of integers
EARLY_CODES = 256  # first codes in which most values occur, if there are few
COMPARED_LEVELS = 100  # levels that are compared one by one
LOOKUP_CELLS = 4096  # a lookup table of this size always pays
TEXT_TYPES = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
    pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view,
)  # fmt: skip
TRUTH_WORDS = {"true": 1, "yes": 1, "t": 1, "y": 1, "1": 1, "false": 0, "no": 0, "f": 0, "n": 0, "0": 0}


def numbered(start: int) -> Numbering:
    """Row numbers of consecutive rows."""
    return (start + 1).__add__


def entered(array: pa.Array, name: str) -> pa.Array:
    """The array as bools, int64 (or uint64 if needed), doubles or strings, or a dictionary of these."""
    if isinstance(array, pa.ChunkedArray):
        array = in_one(array)
    kind = array.type
    if pa.types.is_dictionary(kind):
        levels = array.dictionary
        own = entered(levels, name)
        return array if own is levels else pa.DictionaryArray.from_arrays(array.indices, own)
    if pa.types.is_boolean(kind) or pa.types.is_int64(kind) or pa.types.is_float64(kind) or pa.types.is_string(kind):
        return array
    try:
        if pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind):
            return _moments(array)
        return _cast(array)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"column {name!r} holds {kind}; credo reads numbers, booleans, dates and strings: "
            f"make it one of these, or leave it out with kinds={{{name!r}: 'ignore'}}"
        ) from None


def in_one(array: pa.Array) -> pa.Array:
    """Chunks as one array, from an allocator that frees memory at once (Arrow's default pool keeps it for a while)."""
    if array.num_chunks < 2:
        return array.chunk(0) if array.num_chunks else array.combine_chunks()
    return pa.concat_arrays(array.chunks, pa.system_memory_pool())


def _cast(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
        try:  # exactly, since integers may be identifiers
            return array.cast(pa.int64())
        except pa.ArrowInvalid:
            return array if pa.types.is_uint64(kind) else array.cast(pa.float64())
    if pa.types.is_decimal(kind):
        return array.cast(pa.string()).cast(pa.float64())  # the nearest float, which a direct cast may miss
    if pa.types.is_floating(kind) or pa.types.is_null(kind):
        return array.cast(pa.float64())
    if isinstance(kind, pa.BaseExtensionType):
        array, kind = array.storage, kind.storage_type
    if any(is_text(kind) for is_text in TEXT_TYPES):
        return array.cast(pa.string())
    raise pa.ArrowNotImplementedError(f"nothing that credo reads: {kind}")


def _moments(array: pa.Array) -> Any:
    """Dates and times in ISO 8601, with only as many digits as needed, whatever their unit."""
    encoded = array.dictionary_encode()
    words = encoded.dictionary.cast(pa.string())
    for surplus in (r"(\.\d*?)0+($|[-+Z])", r"()\.($|[-+Z])", r"() 00:00:00($)"):
        words = pc.replace_substring_regex(words, surplus, r"\1\2")
    return words.take(encoded.indices)


def missing(array: pa.Array) -> pa.Array:
    """The array with nulls for NaN and for empty strings."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):
        absent = pc.is_nan(array)
    elif pa.types.is_string(array.type):
        absent = pc.equal(array, scalar("", array.type))
    else:
        return array
    return pc.if_else(absent, scalar(None, array.type), array) if pc.any(absent).as_py() else array


def numbers(array: pa.Array, name: str, number: Numbering) -> Array:
    """Floats, NaN where a cell is missing."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string(array.type):
        array = _parsed(array, name, number)
    return numpy_array(array if pa.types.is_float64(array.type) else array.cast(pa.float64(), safe=False))


def _parsed(array: pa.Array, name: str, number: Numbering) -> pa.Array:
    """Strings as numbers; an error if one spells neither a number nor a missing value."""
    array = pc.utf8_trim_whitespace(without_tokens(array))
    try:
        return array.cast(pa.float64())
    except pa.ArrowInvalid:
        if (moments := dates(array)) is not None:
            return days(moments)
        row, value = next((i, cell.as_py()) for i, cell in enumerate(array) if not _spells_number(cell))
        raise DataError(
            f"column {name!r} has the value {value!r:.60} (row {number(row)}) where a number is needed. If it means "
            f"a missing cell, say so with credo.read(data, missing=[{value!r:.60}]); if the column holds names, use "
            f"kinds={{{name!r}: 'category'}}"
        ) from None


def is_moment(kind: object) -> bool:
    """Whether an Arrow type is a date, with or without a time of day."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def days(array: pa.Array) -> pa.Array:
    """Dates and timestamps as days since 1970 (doubles), in UTC if they have a time zone."""
    if isinstance(array, pa.ChunkedArray):
        array = in_one(array)
    moments = array.cast(pa.timestamp("us"), safe=False)
    return pc.divide(moments.cast(pa.int64()).cast(pa.float64(), safe=False), DAY_MICROSECONDS)


def instants(x: Array) -> pa.Array:
    """Days since 1970 as timestamps, to the second; missing where out of the calendar's range."""
    seconds = np.round(x * 86_400)
    known = np.abs(seconds) < 2e11  # about the years -4400 to 8300
    return pa.array(np.where(known, seconds, 0).astype("datetime64[s]").astype("datetime64[us]"), mask=~known)


def _spells_number(cell: Any) -> bool:
    try:
        cell.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def check_finite(x: Array, name: str, number: Numbering) -> None:
    """Raise an error for infinities, and for numbers whose squares overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        # A fast check first (not by BLAS, whose threads would compete with ours).
        if np.einsum("i,i->", x, x) < LARGEST_NUMBER**2:
            return
    if max(np.fmax.reduce(x, initial=0.0), -np.fmin.reduce(x, initial=0.0)) > LARGEST_NUMBER:
        row = int(np.flatnonzero(np.abs(x) > LARGEST_NUMBER)[0])
        raise DataError(
            f"column {name!r} has the value {x[row]:g} (row {number(row)}); numbers must be finite "
            f"and below {LARGEST_NUMBER:g}. Leave the cell empty if it is unknown"
        )


def holds_floats(array: pa.Array) -> bool:
    kind = array.type
    return bool(pa.types.is_floating(kind.value_type if pa.types.is_dictionary(kind) else kind))


def check_distinct(levels: pa.Array, name: str) -> None:
    """Raise an error for floats so large that several integers round to them."""
    if not len(levels) or not (pa.types.is_integer(levels.type) or pa.types.is_floating(levels.type)):
        return
    large = np.abs(numpy_array(levels).astype(np.float64)) >= EXACT_INTEGERS
    if large.any():
        raise DataError(
            f"column {name!r} has the value {levels[int(np.argmax(large))].as_py():.17g} as a float, which can't be "
            "distinguished from its neighbours: whole numbers from 2^53 on need integers (below 2^64) or strings"
        )


def check_positive(x: Array, name: str, number: Numbering, whole: bool = False) -> None:
    """Raise an error for negative numbers and, if counts are needed, fractions."""
    wrong = (x < 0) | ((x != np.floor(x)) & ~np.isnan(x) if whole else False)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        wanted = "a count (0, 1, 2, ...)" if whole else "a number of at least 0"
        raise DataError(f"column {name!r} has the value {x[row]:g} (row {number(row)}) where {wanted} is needed")


def truths(array: pa.Array, name: str, number: Numbering, success: object = None, option: str = "success") -> Codes:
    """1 and 0, -1 where a cell is missing. true/false, yes/no and 1/0 are recognised; other values need `success`.
    `option`: its name in errors."""
    codes, levels = categories(array)
    values = levels.to_pylist()
    if success is not None:
        table = [1 if value == success or str(value) == str(success) else 0 for value in values]
    else:
        table = [TRUTH_WORDS.get(_truth_word(value), -1) for value in values]
        if -1 in table:
            wrong = table.index(-1)
            row = number(int(np.flatnonzero(codes == wrong)[0]))
            raise DataError(
                f"column {name!r} has the value {values[wrong]!r:.60} (row {row}) where yes or no is needed "
                f"(true/false, yes/no, 1/0). Name the value that counts with {option}=..."
            )
    return np.asarray([*table, -1], dtype=np.int32)[codes]


def _truth_word(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value in (0, 1) else str(value).strip().lower()


def categories(array: pa.Array) -> tuple[Codes, Any]:
    """Codes (-1 where a cell is missing) and their levels."""
    if pa.types.is_int64(array.type) and (found := _narrow_integers(array)):
        return found
    made_elsewhere = pa.types.is_dictionary(array.type)
    if made_elsewhere:  # its dictionary may hold unused or repeated values
        codes, used = _used(filled(array.indices), len(array.dictionary))
        levels = array.dictionary.take(number_array(used))
    else:
        encoded = array.dictionary_encode()
        codes, levels = filled(encoded.indices), encoded.dictionary
    if _are_proper_words(levels):
        return codes, levels
    rounded = pa.types.is_floating(levels.type)
    levels = missing(_whole_numbers(levels))
    if levels.null_count or ((made_elsewhere or rounded) and pc.count_distinct(levels).as_py() < len(levels)):
        again = levels.dictionary_encode()
        codes, levels = np.append(filled(again.indices), -1)[codes], again.dictionary
    return np.asarray(codes, dtype=np.int32), levels


def filled(indices: Any) -> Codes:
    """The codes of a dictionary array, -1 where a cell is missing."""
    found = indices.cast(pa.int32()).fill_null(scalar(-1, pa.int32())) if indices.null_count else indices
    return np.asarray(numpy_array(found), dtype=np.int32)


def _used(codes: Codes, size: int) -> tuple[Codes, NDArray[np.intp]]:
    """Codes among the values that occur, by first appearance; and the indices of these among all `size` values.

    >>> _used(np.array([3, -1, 3, 0], dtype=np.int32), 4)
    (array([ 0, -1,  0,  1], dtype=int32), array([3, 0]))
    """
    seen, used = np.zeros(size + 1, dtype=bool), list[int]()
    seen[-1] = True  # nothing
    start, step = 0, EARLY_CODES
    while start < len(codes) and len(used) < size:  # usually all values occur early
        some = codes[start : start + step]
        new = some[~seen[some]]
        if len(new):
            first = np.full(size, len(new))
            first[new[::-1]] = np.arange(
                len(new) - 1, -1, -1
            )  # written backwards, so that the first occurrence remains
            values = np.flatnonzero(first < len(new))
            used += values[np.argsort(first[values])].tolist()
            seen[values] = True
        start, step = start + step, 2 * step
    place = np.full(size + 1, -1, dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    whole = len(used) == size and used == sorted(used)
    return codes if whole else place[codes], np.array(used, dtype=np.intp)


def _are_proper_words(levels: pa.Array) -> bool:
    """Whether the levels are a few distinct strings, none missing: for few, faster than asking Arrow."""
    if not pa.types.is_string(levels.type) or len(levels) > COMPARED_LEVELS:
        return False
    values = levels.to_pylist()
    return "" not in values and None not in values and len({*values}) == len(values)


def _narrow_integers(array: pa.Array) -> tuple[Codes, Any] | None:
    """`categories` for integers in a narrow range: a lookup table is several times faster than hashing."""
    return None if array.null_count else integers(numpy_array(array))


def integers(x: NDArray[np.int64]) -> tuple[Codes, Any] | None:
    """`categories` for an array of integers, if their range is narrow."""
    low, high = (int(x.min()), int(x.max())) if len(x) else (0, 0)
    if not len(x) or high - low >= 2 * len(x):
        return None
    seen, codes = np.zeros(high - low + 1, dtype=bool), np.empty(len(x), dtype=np.int32)
    mark_values(x, low, seen)
    look_up(x, low, np.cumsum(seen, dtype=np.int32) - np.int32(1), codes)
    return codes, pa.array(np.flatnonzero(seen) + low)


def narrow_counts(x: NDArray[np.int64], groups: Codes, size: int) -> tuple[Any, NDArray[np.int64]] | None:
    """The distinct integers of a narrow range, and their counts in each of `size` groups.

    Counting them directly is several times faster than coding them first.
    """
    low, high = (int(x.min()), int(x.max())) if len(x) else (0, 0)
    if not len(x) or (high - low + 1) * size > max(len(x), LOOKUP_CELLS):
        return None
    table = np.zeros((high - low + 1, size), dtype=np.int64)
    count_values(x, low, groups, table)
    seen = np.flatnonzero(table.any(1))
    return pa.array(seen + low), table[seen].T


def block_counts(
    tiles: Callable[[], Iterator[tuple[int, NDArray[np.int64]]]], groups: Codes, size: int
) -> list[tuple[Any, Array]] | None:
    """`narrow_counts` for several columns in tiles of rows, if there aren't too many values in all.

    The first rows suggest the bounds; only if other rows exceed them, all rows are scanned beforehand.
    """
    head = next((x[:RANGE_ROWS] for _, x in tiles()), np.empty((0, 0), dtype=np.int64))
    if not head.size:
        return None
    found = _counts_within(tiles(), *_bounds(head), groups, size)
    if found is not None:
        return found
    low, high = zip(*(_bounds(x) for _, x in tiles()), strict=True)
    return _counts_within(tiles(), np.min(low, axis=0), np.max(high, axis=0), groups, size)


def _bounds(x: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The minimum and maximum of each column."""
    low, high = x[0].copy(), x[0].copy()
    find_bounds(x, low, high)
    return low, high


def _counts_within(
    tiles: Iterable[tuple[int, NDArray[np.int64]]],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    groups: Codes,
    size: int,
) -> list[tuple[Any, Array]] | None:
    """None if a number lies outside the bounds, or their range is too wide."""
    most = len(low) * len(groups)
    if (high - low >= most).any() or (high - low < 0).any():  # negative: the range overflows int64
        return None
    starts = np.append(0, np.cumsum(high - low + 1))
    if starts[-1] * size > most:
        return None
    table = np.zeros((int(starts[-1]), size), dtype=np.int64)
    for start, x in tiles:
        if not count_block(x, low, starts, groups[start : start + len(x)], table):
            return None
    seen = np.flatnonzero(table.any(1))
    column = np.searchsorted(starts, seen, side="right") - 1
    values = pa.array(seen - starts[column] + low[column])
    counts = np.ascontiguousarray(table[seen].T, dtype=np.float64)
    cuts = np.searchsorted(seen, starts).tolist()
    return [(values[start:end], counts[:, start:end]) for start, end in pairwise(cuts)]


def codes_among(array: pa.Array, levels: pa.Array) -> tuple[Codes, int]:
    """Codes among these levels, -1 where a cell is missing or has another value; and the number of other values."""
    if pa.types.is_int64(array.type) and not array.null_count and (found := integers_among(numpy_array(array), levels)):
        return found
    return recoded(*categories(array), levels)


def recoded(codes: Codes, own: Any, levels: pa.Array) -> tuple[Codes, int]:
    """The same for cells that are already codes of other levels."""
    if own.equals(levels):
        return codes, 0
    try:
        if pa.types.is_string(own.type) and pa.types.is_integer(levels.type):  # one of them may be no number
            own, levels = pc.utf8_trim_whitespace(own), levels.cast(pa.string())
        places = pc.index_in(_same_values(own, levels.type), levels).fill_null(scalar(-1, pa.int32()))
        table = np.append(numpy_array(places), -1).astype(np.int32)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # words where numbers were, or the like
        table = np.full(len(own) + 1, -1, dtype=np.int32)
    among = table[codes]
    return among, int(np.count_nonzero((among < 0) & (codes >= 0)))


def _same_values(values: Any, kind: object) -> pa.Array:
    """Converted to that type; null where it can't hold the value, as doubles can't hold 2^53 + 1."""
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        if pa.types.is_string(values.type) or pa.types.is_string(kind):
            raise
        near = values.cast(kind, safe=False)
        known = [one == other for one, other in zip(values.to_pylist(), near.to_pylist(), strict=True)]
        return pc.if_else(pa.array(known), near, None)


def integers_among(x: NDArray[np.int64], levels: pa.Array) -> tuple[Codes, int] | None:
    """The same for integers, if the levels are integers in a narrow range."""
    if not pa.types.is_int64(levels.type) or not len(levels):
        return None
    known = numpy_array(levels)
    low, high = int(known.min()), int(known.max())
    if high - low >= 2 * max(len(x), len(known)):
        return None
    table = np.full(high - low + 1, -1, dtype=np.int32)
    table[known - low] = np.arange(len(known), dtype=np.int32)
    codes = np.empty(len(x), dtype=np.int32)
    return codes, look_up(x, low, table, codes)


@dataclass(frozen=True, eq=False)
class IntegerLevels:
    """Integer levels of several columns, each in a narrow range: a block of cells is coded in one go."""

    low: NDArray[np.int64]
    starts: NDArray[np.int64]
    table: Codes

    @classmethod
    def of(cls, levels: Sequence[Any]) -> IntegerLevels | None:
        if not levels or not all(pa.types.is_int64(each.type) and len(each) for each in levels):
            return None
        known = [numpy_array(each) for each in levels]
        low, high = (np.array([f(each) for each in known], dtype=np.int64) for f in (np.min, np.max))
        if (high - low > LOOKUP_CELLS * len(levels)).any() or (high - low < 0).any():  # the latter: beyond integers
            return None
        starts = np.append(0, np.cumsum(high - low + 1))
        table = np.full(int(starts[-1]), -1, dtype=np.int32)
        for start, least, each in zip(starts, low, known, strict=False):
            table[start + each - least] = np.arange(len(each), dtype=np.int32)
        return cls(low, starts, table)

    def codes(self, x: NDArray[np.int64]) -> tuple[Codes, NDArray[np.int64]]:
        """(columns, rows), -1 where a value is no level; and the number of such cells in each column."""
        out, unseen = np.empty(x.shape[::-1], dtype=np.int32), np.zeros(x.shape[1], dtype=np.int64)
        code_block(x, self.low, self.starts, self.table, out, unseen)
        return out, unseen

    def codes_of(self, j: int, x: NDArray[np.int64]) -> tuple[Codes, int]:
        """The same of one column."""
        codes = np.empty(len(x), dtype=np.int32)
        return codes, look_up(x, self.low[j], self.table[self.starts[j] : self.starts[j + 1]], codes)


def _whole_numbers(levels: pa.Array) -> pa.Array:
    """1.0 and 2.0 as 1 and 2, since a missing cell turns integers into floats on input; -0.0 as 0.0."""
    if pa.types.is_floating(levels.type):
        try:
            return missing(levels).cast(pa.int64())
        except pa.ArrowInvalid:
            return pc.add(levels, 0.0)
    return levels
