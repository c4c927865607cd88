"""Arrow's arrays from buffers and back = those that pyarrow makes and reads itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from credo.data.arrow_arrays import number_array, numpy_array, scalar, string_array

NUMBERS = [np.arange(9, dtype=kind) for kind in ("int8", "int32", "int64", "uint64", "float32", "float64")]
ARRAYS = [*NUMBERS, np.arange(9) % 3 == 0, np.arange(18)[::2], np.empty(0), np.zeros(0, bool)]


@pytest.mark.parametrize("values", ARRAYS, ids=lambda values: f"{values.dtype}, {len(values)}")
def test_numbers_and_truths(values: NDArray[Any]) -> None:
    found = number_array(values)
    found.validate(full=True)
    assert found.equals(pa.array(values))
    for part in (found, found.slice(2, 5), found.slice(3)):
        again = numpy_array(part)
        assert again.dtype == values.dtype
        np.testing.assert_array_equal(again, part.to_numpy(zero_copy_only=False))


@pytest.mark.parametrize(
    "cells",
    [[1.5, None, -0.0, float("nan")], [None, None], [1, None, 3], [True, None], ["a", None]],
    ids=["floats", "nothing", "integers", "truths", "strings"],
)
def test_missing_cells_are_read_as_arrow_reads_them(cells: list[Any]) -> None:
    for array in (pa.array(cells), pa.array(cells).slice(1), pa.chunked_array([cells, cells], pa.array(cells).type)):
        np.testing.assert_array_equal(numpy_array(array), array.to_numpy(zero_copy_only=False))


@pytest.mark.parametrize("values", [[], [""], ["a", "", "bc"], ["\u00e4\u00f6", "\U0001f600", ""], ["x"] * 70_000])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_strings(values: list[str], kind: Any) -> None:
    found = string_array(values, kind)
    found.validate(full=True)
    assert found.equals(pa.array(values, kind))


def test_a_lone_surrogate_is_refused_as_by_arrow() -> None:
    with pytest.raises(UnicodeEncodeError):
        string_array(["\ud800"])


@pytest.mark.parametrize(
    ("value", "kind"), [(-1, pa.int32()), (0, pa.int64()), ("", pa.large_string()), (None, pa.string())], ids=str
)
def test_scalars(value: Any, kind: Any) -> None:
    assert scalar(value, kind).equals(pa.scalar(value, kind))
