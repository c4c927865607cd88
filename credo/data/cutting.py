"""Cutting rows into batches of one size, whatever the sizes of the parts they arrive in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from credo.data.arrow_arrays import numpy_array, scalar
from credo.data.batches import Batch, Encodings

BATCH_ROWS = 60_000  # fixed, so that results don't depend on the number of workers
BATCH_BYTES = 2**25  # above this, a batch gets fewer rows
STRING_FACTOR = 8  # the memory of texts and their words, relative to the bytes of the texts
BATCH_TEXT_BYTES = 2 * BATCH_BYTES // STRING_FACTOR  # of a batch with more than one row
ROW_SIZE_ROWS = 1024  # rows from which the bytes of a row are estimated


def batch_rows(row_bytes: float) -> int:
    """BATCH_ROWS, or fewer where rows are large.

    >>> batch_rows(8 * 10), batch_rows(8 * 10_000)
    (60000, 234)
    """
    rows = BATCH_ROWS
    while rows > 1 and rows * row_bytes > BATCH_BYTES:
        rows //= 2
    return rows


def recut(parts: Iterable[Batch], start: int = 0) -> Iterator[Batch]:
    """The same rows in batches of one size, numbered from `start` on; a new one begins early only where a column's type
    changes, or texts get long."""
    filled = (part for part in parts if part.rows)
    first = next(filled, None)
    if first is None:
        return
    size = batch_rows(_row_bytes(first))
    for _, run in groupby(chain([first], filled), key=_types):
        for piece in _cut(run, size):
            yield replace(piece, start=start, taken=None, encodings=Encodings())
            start += piece.rows


def _cut(parts: Iterable[Batch], size: int) -> Iterator[Batch]:
    waiting: list[Batch] = []
    rows = weight = 0
    for part in parts:
        waiting.append(part)
        rows += part.rows
        weight += sum(array.nbytes for array in _texts(part))
        if rows >= size or weight > BATCH_TEXT_BYTES:
            whole = joined(waiting)
            ends = _ends(whole, size)
            yield from (whole.slice(start, end - start) for start, end in pairwise([0, *ends]))
            done = ends[-1] if ends else 0
            waiting, rows = [whole.slice(done, rows - done)] if done < rows else [], rows - done
            weight = sum(array.nbytes for each in waiting for array in _texts(each))
    if waiting:
        yield joined(waiting)


def _ends(batch: Batch, size: int) -> list[int]:
    """Where batches of so many rows end, or of fewer where their texts would be longer than BATCH_TEXT_BYTES in all;
    only those that no further row can belong to. What they are doesn't depend on where this batch ends."""
    texts = [pc.binary_length(array) for array in _texts(batch)]
    if not texts:
        return list(range(size, batch.rows + 1, size))
    reached = np.cumsum(sum(numpy_array(each.fill_null(scalar(0, each.type))).astype(np.int64) for each in texts))
    start, ends = 0, list[int]()
    while True:
        before = reached[start - 1] if start else 0
        end = min(start + size, max(start + 1, int(np.searchsorted(reached, before + BATCH_TEXT_BYTES, side="right"))))
        if end > batch.rows or (end == batch.rows and end < start + size):
            return ends
        ends.append(start := end)


def _texts(batch: Batch) -> list[Any]:
    """Columns of strings, as types whose lengths Arrow computes."""
    found = []
    for array in batch.columns.values():
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            found.append(array)
        elif pa.types.is_string_view(array.type):
            found.append(array.cast(pa.large_string()))
    return found


def joined(parts: Sequence[Batch]) -> Batch:
    """Consecutive batches as one."""
    if len(parts) == 1:
        return parts[0]
    parts = _of_one_type(parts)
    first = parts[0]
    columns = {
        name: pa.chunked_array([chunk for part in parts for chunk in chunks_of(part.columns[name])])
        for name in first.columns
    }
    block = None if first.block is None else np.concatenate([part.block for part in parts if part.block is not None])
    given = [part.weight for part in parts if part.weight is not None]
    weight = np.concatenate(given) if given else None
    return Batch(first.start, sum(part.rows for part in parts), columns, block, first.block_names, None, weight)


def chunks_of(array: object) -> list[Any]:
    return array.chunks if isinstance(array, pa.ChunkedArray) else [array]


def _types(batch: Batch) -> tuple[object, ...]:
    return (*batch.block_names, *((name, array.type) for name, array in batch.columns.items()))


def _row_bytes(batch: Batch) -> float:
    """The bytes of a row, estimated from the first rows; a dictionary counts 0, since batches share it."""
    head = batch.slice(0, ROW_SIZE_ROWS)
    total = 0 if head.block is None else head.block.nbytes
    for array in head.columns.values():
        if pa.types.is_dictionary(array.type):
            total += sum(chunk.indices.nbytes for chunk in chunks_of(array))
        else:  # a slice of a view array would count the whole buffer
            array = array.cast(pa.string()) if pa.types.is_string_view(array.type) else array
            total += array.nbytes * (STRING_FACTOR if not pa.types.is_primitive(array.type) else 1)
    return total / head.rows


def _of_one_type(parts: Sequence[Batch]) -> Sequence[Batch]:
    """A column may have whole numbers in some places and fractions, or missing cells alone, in others: these are cast
    to a common type."""
    kinds = {name: [part.columns[name].type for part in parts] for name in parts[0].columns}
    wider = {name: _common(own) for name, own in kinds.items() if len(set(own)) > 1}
    if not wider:
        return parts
    return [part.with_columns({name: part.columns[name].cast(kind) for name, kind in wider.items()}) for part in parts]


def _common(kinds: Sequence[Any]) -> pa.DataType:
    known = {kind for kind in kinds if not pa.types.is_null(kind)}
    if len(known) == 1:
        return known.pop()
    numbers = (pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in known)
    return pa.float64() if all(numbers) else pa.string()
