"""NumPy's arrays and lists of strings as Arrow arrays, from their buffers.

`pa.array` would import pandas first, where it is installed, which takes longer than to learn from a small table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SHORT = 2**20  # characters of a list of strings, up to which copies of all don't matter


def number_array(values: NDArray[Any]) -> Any:
    """Integers, floats or truths, none missing.

    >>> number_array(np.array([3, 1])).to_pylist(), number_array(np.array([True, False])).to_pylist()
    ([3, 1], [True, False])
    """
    bits = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(bits)])


def string_array(values: Sequence[str], kind: Any = None) -> Any:
    """Strings, none missing; kind: pa.string() or pa.large_string().

    >>> string_array(["to", "", "be"]).to_pylist()
    ['to', '', 'be']
    """
    joined = "".join(values)
    if len(joined) > SHORT:
        return pa.array(values, kind or pa.string())
    parts: Sequence[str | bytes] = values if joined.isascii() else [each.encode() for each in values]
    ends = np.fromiter(accumulate(map(len, parts), initial=0), np.int32, len(parts) + 1)
    data = [None, pa.py_buffer(ends), pa.py_buffer(joined.encode())]
    found = pa.Array.from_buffers(pa.string(), len(parts), data)
    return found if kind in (None, pa.string()) else found.cast(kind)
