"""Cells of an Arrow column as numbers, truths, counts or codes; a wrong cell is an error that names its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from credo.errors import DataError
from credo.exact import Array
from credo.membership import Codes

LARGEST = 1e150  # beyond it a square leaves the floats
TRUTHS = {"true": 1, "yes": 1, "t": 1, "y": 1, "1": 1, "false": 0, "no": 0, "f": 0, "n": 0, "0": 0}


def entered(array: Any, name: str) -> Any:
    """An Arrow array of one of five types: bool, int64, double, string, or a dictionary of these."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(array.indices, entered(array.dictionary, name))
    if pa.types.is_boolean(kind) or pa.types.is_int64(kind) or pa.types.is_float64(kind) or pa.types.is_string(kind):
        return array
    target = _entry_type(kind)
    if target is None:
        raise DataError(
            f"column {name!r} holds {kind}; credo reads numbers, booleans and strings: flatten it, or leave it out"
        )
    try:
        return array.cast(target)
    except pa.ArrowInvalid as error:
        raise DataError(f"column {name!r} ({kind}) can't be read as {target}: {error}") from None


def _entry_type(kind: Any) -> Any:
    if pa.types.is_integer(kind):
        return pa.float64() if pa.types.is_uint64(kind) else pa.int64()
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return pa.float64()
    texts = (pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary, pa.types.is_large_binary)
    if any(is_text(kind) for is_text in (*texts, pa.types.is_temporal)):
        return pa.string()
    return None


def missing(array: Any) -> Any:
    """The array with nulls for NaN and for empty strings."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_floating(array.type):
        return pc.if_else(pc.is_nan(array), None, array) if pc.any(pc.is_nan(array)).as_py() else array
    if pa.types.is_string(array.type):
        empty = pc.equal(array, "")
        return pc.if_else(empty, None, array) if pc.any(empty).as_py() else array
    return array


def numbers(array: Any, name: str, start: int) -> Array:
    """Floats, NaN where a cell is missing."""
    array = missing(array)
    if pa.types.is_string(array.type):
        array = _parsed(array, name, start)
    return np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _parsed(array: Any, name: str, start: int) -> Any:
    """Strings that all spell numbers, as numbers."""
    try:
        return pc.utf8_trim_whitespace(array).cast(pa.float64())
    except pa.ArrowInvalid:
        spelt = pc.match_substring_regex(array, r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$")
        wrong = pc.and_kleene(pc.invert(spelt), pc.is_valid(array)).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(wrong == True)  # noqa: E712 - nulls compare as neither
        value = array[int(rows[0])].as_py() if len(rows) else None
        raise DataError(
            f"column {name!r} has the value {value!r} (row {start + int(rows[0]) + 1}) where a number is needed. "
            f"If it means a missing cell, leave it empty; if the column holds names, use kinds={{{name!r}: 'category'}}"
            if len(rows)
            else f"column {name!r} can't be read as numbers"
        ) from None


def check_finite(x: Array, name: str, start: int) -> None:
    """Refuse what can't be summed: infinities, and numbers whose squares are infinite."""
    with np.errstate(invalid="ignore"):
        wrong = np.abs(x) > LARGEST
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(f"column {name!r} has the value {x[row]:g} (row {start + row + 1}); numbers must be finite "
                        f"and below {LARGEST:g}. Leave the cell empty if it is unknown")  # fmt: skip


def check_positive(x: Array, name: str, start: int, whole: bool = False) -> None:
    """Refuse negative numbers and, where counts are wanted, fractions."""
    with np.errstate(invalid="ignore"):
        wrong = (x < 0) | ((x != np.floor(x)) & ~np.isnan(x) if whole else False)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        wanted = "a count (0, 1, 2, ...)" if whole else "a number of at least 0"
        raise DataError(f"column {name!r} has the value {x[row]:g} (row {start + row + 1}) where {wanted} is needed")


def truths(array: Any, name: str, start: int, success: object = None) -> Codes:
    """1 and 0, -1 where a cell is missing; true/false, yes/no, 1/0 explain themselves, others need `success`."""
    codes, levels = categories(array)
    values = levels.to_pylist()
    if success is not None:
        table = [1 if value == success or str(value) == str(success) else 0 for value in values]
    else:
        table = [TRUTHS.get(_truth_word(value), -1) for value in values]
        if -1 in table:
            wrong = table.index(-1)
            row = start + int(np.flatnonzero(codes == wrong)[0]) + 1
            raise DataError(
                f"column {name!r} has the value {values[wrong]!r} (row {row}) where yes or no is needed "
                "(true/false, yes/no, 1/0). Say which value counts with success=..."
            )
    return np.asarray([*table, -1], dtype=np.int32)[codes]


def _truth_word(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value in (0, 1) else str(value).strip().lower()


def categories(array: Any) -> tuple[Codes, Any]:
    """Codes (-1 where a cell is missing) and the values that they stand for, in order of appearance."""
    if not pa.types.is_dictionary(array.type):
        array = missing(array).dictionary_encode()
    levels = _whole_numbers(array.dictionary)
    codes = array.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    empty = missing(levels).is_null().to_numpy(zero_copy_only=False)
    if empty.any() or pc.count_distinct(levels).as_py() < len(levels):  # a dictionary made elsewhere
        levels = missing(levels).dictionary_encode()
        table = np.append(levels.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int32)
        return table[codes], levels.dictionary
    return np.asarray(codes, dtype=np.int32), levels


def _whole_numbers(levels: Any) -> Any:
    """1.0 and 2.0 as 1 and 2: a missing cell makes floats of integers on the way in."""
    if pa.types.is_floating(levels.type):
        try:
            return levels.cast(pa.int64())
        except pa.ArrowInvalid:
            return levels
    return levels
