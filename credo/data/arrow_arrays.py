"""NumPy arrays and lists of strings as Arrow arrays, made from their buffers.

`pa.array` would first import pandas if installed, which takes longer than learning from a small table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

CHEAP_CHARACTERS = 2**20  # of a list of strings: up to here, one copy of all is cheap


def number_array(values: NDArray[Any]) -> pa.Array:
    """An Arrow array of integers, floats or booleans, none missing.

    >>> number_array(np.array([3, 1])).to_pylist(), number_array(np.array([True, False])).to_pylist()
    ([3, 1], [True, False])
    """
    bits = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(bits)])


def string_array(values: Sequence[str], kind: object = None) -> pa.Array:
    """An Arrow array of strings, none missing; kind: pa.string() or pa.large_string().

    >>> string_array(["to", "", "be"]).to_pylist()
    ['to', '', 'be']
    """
    if sum(map(len, values)) > CHEAP_CHARACTERS:
        return pa.array(values, kind or pa.string())
    joined = "".join(values)
    parts: Sequence[str | bytes] = values if joined.isascii() else [each.encode() for each in values]
    ends = np.fromiter(accumulate(map(len, parts), initial=0), np.int32, len(parts) + 1)
    data = [None, pa.py_buffer(ends), pa.py_buffer(joined.encode())]
    found = pa.Array.from_buffers(pa.string(), len(parts), data)
    return found if kind in (None, pa.string()) else found.cast(kind)


def numpy_array(array: pa.Array) -> NDArray[Any]:
    """An Arrow array of numbers or booleans as a NumPy array, NaN where missing.

    >>> numpy_array(number_array(np.array([3, 1]))), numpy_array(number_array(np.array([True, False])))
    (array([3, 1]), array([ True, False]))
    """
    kind = array.type
    plain, truths = _is_plain(kind), pa.types.is_boolean(kind)
    known_kind = pa.types.is_float64(kind) or ((plain or truths) and not array.null_count)
    if isinstance(array, pa.ChunkedArray) or not known_kind:
        return np.asarray(array.to_numpy(zero_copy_only=False))  # to_numpy would import pandas, too
    if not len(array):
        return np.empty(0, kind.to_pandas_dtype())
    known, data = array.buffers()
    if truths:
        return _truths(data, array)
    found = np.frombuffer(data, kind.to_pandas_dtype(), array.offset + len(array))[array.offset :]
    return np.where(_truths(known, array), found, np.nan) if array.null_count else found


def scalar(value: str | int | None, kind: object) -> pa.Scalar:
    """An Arrow scalar of that type.

    >>> scalar(-1, pa.int32()).as_py(), scalar(None, pa.string()).is_valid
    (-1, False)
    """
    if value is None:
        return pa.nulls(1, kind)[0]
    found = string_array([value]) if isinstance(value, str) else number_array(np.array([value]))
    return found.cast(kind)[0]


def _truths(bits: Any, array: pa.Array) -> NDArray[np.bool_]:
    end = array.offset + len(array)
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=end, bitorder="little")[array.offset :].view(np.bool_)


def _is_plain(kind: object) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_float64(kind) or pa.types.is_float32(kind))
