"""Python values, and arrays of NumPy and pandas, as Arrow arrays; errors name the cell that doesn't fit."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo._kernels.data.codes import code_words
from credo.data.arrow_arrays import string_array
from credo.data.spelling import is_token
from credo.errors import DataError

CODED_WORDS = 4096  # from here on, looking for repeated words pays
COMPILED_WORDS = 1 << 18  # from here on, compiling a kernel for it pays
DISTINCT_WORDS = 1024
DATE_UNITS = {  # units of NumPy's dates that Arrow doesn't have
    **{f"datetime64[{unit}]": "datetime64[D]" for unit in "YMW"},
    **{f"datetime64[{unit}]": "datetime64[s]" for unit in "hm"},
}
LONG_RUN = 16  # mean length of runs of equal words, from which one word per run is read


def array_of(values: object, name: str, start: int = 0, pool: object = None) -> pa.Array:
    """A Python sequence, or any kind of array, as an Arrow array."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if str(getattr(values, "dtype", "")).startswith("Sparse"):  # pandas
        values = np.asarray(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiuT":  # in the machine's byte order; T: strings
        values = values.astype(object if values.dtype.kind == "T" else values.dtype.newbyteorder("="), copy=False)
    if isinstance(values, np.ndarray) and (unit := DATE_UNITS.get(values.dtype.name)):
        values = values.astype(unit)
    try:
        if isinstance(values, np.ndarray) and (coded := _words_in_runs(values)) is not None:
            return coded
        if isinstance(values, np.ndarray) and values.dtype.kind == "U" and (coded := _coded_words(values)) is not None:
            return coded
        if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "iloc"):
            return pa.chunked_array(values)
        if (floats := _complete_floats(values)) is not None:
            return pa.array(np.ascontiguousarray(floats))  # without a copy, if possible
        if isinstance(values, list) and values and all(type(cell) is str for cell in values):
            return string_array(values)
        return pa.array(values, from_pandas=True, memory_pool=pool)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        if (spelt := _spelt_out(values)) is not None:
            return pa.array(spelt, pa.string(), memory_pool=pool)
        if (moments := _moments(values)) is not None:
            return array_of(moments, name, start, pool)
        raise DataError(_odd_cell(values, name, start)) from None


def _complete_floats(values: Any) -> NDArray[np.float64] | None:
    """An array of floats, or a pandas column of them, if none is NaN."""
    if not (type(values) is np.ndarray or hasattr(values, "iloc")) or values.dtype != np.float64:
        return None
    found: NDArray[np.float64] = np.asarray(values)
    return None if found.ndim != 1 or np.isnan(found.min(initial=0.0)) else found


def _moments(values: Any) -> NDArray[np.datetime64] | None:
    """A list of NumPy's dates, which Arrow reads from arrays alone, as an array in their finest unit."""
    if not (isinstance(values, list) and all(isinstance(cell, np.datetime64) or is_missing(cell) for cell in values)):
        return None
    return np.array([cell if isinstance(cell, np.datetime64) else np.datetime64("NaT") for cell in values])


def _spelt_out(values: Any) -> list[str | None] | None:
    """Numbers or dates mixed with tokens such as NA, as strings, to be parsed like a file's columns; None if there is
    anything else."""
    known = [cell for cell in values if not is_missing(cell) and not is_token(cell)]
    kinds = {"number" if _type_of(cell) == "number" else "date" if isinstance(cell, date) else "" for cell in known}
    if kinds not in ({"number"}, {"date"}) or not any(map(is_token, values)):
        return None
    if kinds == {"date"}:
        return [None if is_missing(cell) else cell if isinstance(cell, str) else cell.isoformat() for cell in values]
    return [None if is_missing(cell) else str(cell) for cell in values]


def _words_in_runs(values: NDArray[Any]) -> Any:
    """Strings in long runs, such as sequence ids, as a dictionary array: one string per run is read."""
    if values.dtype.kind not in "UO" or values.ndim != 1 or len(values) < CODED_WORDS:
        return None
    try:
        if not isinstance(values[0], str) or (values[1:CODED_WORDS] != values[: CODED_WORDS - 1]).mean() > 1 / LONG_RUN:
            return None
        starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    except (TypeError, ValueError):  # some cells can't be compared
        return None
    words = values[starts]
    if len(words) > len(values) / LONG_RUN or any(map(is_token, words.tolist())):
        return None  # tokens may stand among numbers
    coded = pa.array(words, from_pandas=True)
    if not pa.types.is_string(coded.type) or coded.null_count:
        return None
    coded = coded.dictionary_encode()
    codes = np.repeat(coded.indices.to_numpy(), np.diff(np.append(starts, len(values))))
    return pa.DictionaryArray.from_arrays(codes, coded.dictionary)


def _coded_words(values: NDArray[np.str_]) -> Any:
    """Few distinct, often repeated strings as a dictionary array: several times faster than converting each."""
    if len(values) < (CODED_WORDS if code_words.is_ready else COMPILED_WORDS):
        return None
    if values.ndim != 1 or not values.dtype.isnative or not values.itemsize:
        return None
    words = np.ascontiguousarray(values).view(np.uint32).reshape(len(values), -1)
    codes, first = np.empty(len(values), dtype=np.int32), np.empty(DISTINCT_WORDS, dtype=np.int64)
    found = code_words(words, codes, first)
    if any(map(is_token, values[first[: max(found, 0)]].tolist())):  # it may be numbers mixed with tokens
        return None
    return None if found < 0 else pa.DictionaryArray.from_arrays(codes, pa.array(values[first[:found]]))


def _odd_cell(values: Any, name: str, start: int) -> str:
    """The error for the first cell whose type differs from those before it."""
    known = [(row, cell) for row, cell in enumerate(values, start + 1) if not is_missing(cell)]
    first = known[0][1] if known else None
    for row, cell in known:
        if _type_of(cell) != _type_of(first):
            return (
                f"column {name!r} has the value {cell!r:.60} (row {row}), {_type_of(cell)} where those before it are "
                f"{_type_of(first)}; a column holds values of one type. If it means a missing cell, use None or "
                f"credo.read(data, missing=[{cell!r:.60}])"
            )
    for row, cell in known:
        if isinstance(cell, str) and not _whole(cell):
            return f"column {name!r}, row {row}: {cell!r:.60} isn't text, as half a character (a surrogate) is in it"
    for row, cell in known:
        if isinstance(cell, int) and abs(cell) >= 2**53:  # integers alone, below 2^64, would have been read
            return (
                f"column {name!r} has the whole number {cell!r:.60} (row {row}), which can't be distinguished from its "
                "neighbours as a float: whole numbers from 2^53 on need integers (below 2^64) or strings"
            )
    return (
        f"column {name!r} holds {_type_of(first)} values that credo can't read; it reads numbers of up to 64 bits, "
        "booleans, dates and strings of whole characters"
    )


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_missing(cell: object) -> bool:
    absent = cell is None or type(cell).__name__ in ("NAType", "NaTType")
    return absent or (isinstance(cell, float | np.floating) and bool(np.isnan(cell)))


def _type_of(cell: object) -> str:
    if isinstance(cell, bool | np.bool_):
        return "bool"
    return "number" if isinstance(cell, int | float | np.integer | np.floating) else type(cell).__name__
