"""Fingerprints of rows: 64 bits of their cells, the same for identical rows, wherever they are.

They identify copies of rows, and draw samples and folds that keep copies together, whatever the order of rows and
batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.data import Batch
from credo.data.arrow_arrays import numpy_array, scalar
from credo.data.cells import EXACT_INTEGERS

Fingerprints = NDArray[np.uint64]
MISSING_PRINT = np.uint64(0x5851F42D4C957F2D)


def cell_prints(batch: Batch, names: Sequence[str]) -> Fingerprints:
    """The fingerprint of each cell of these columns. (columns, rows)"""
    found = np.empty((len(names), batch.rows), dtype=np.uint64)
    for j, name in enumerate(names):
        found[j] = column_prints(batch.column(name))
    return found


@dataclass(frozen=True)
class CellPrints:
    """The job of one batch: the fingerprints of its cells. (columns, rows)"""

    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> Fingerprints:
        return cell_prints(batch, self.names)


def fingerprints(cells: Fingerprints) -> Fingerprints:
    """The fingerprints of rows, from those of their cells in column order. (rows,)"""
    found = np.full(cells.shape[1], 0x243F6A8885A308D3, dtype=np.uint64)
    for column in cells:
        found = mixed(found ^ column)
    return found


def mixed(bits: Fingerprints, salt: int = 0) -> Fingerprints:
    """Each bit of the result depends on all bits (the finaliser of SplitMix64)."""
    bits = bits + np.uint64((0x9E3779B97F4A7C15 * (salt + 1)) % 2**64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def apart(prints: Fingerprints, together: int = 1, start: int = 0) -> Fingerprints:
    """Separate fingerprints for repeated rows: the first few share one, each further one gets its own. A sample drawn
    by these includes every distinct row, even if few distinct rows repeat often. start: the number of earlier rows.
    (rows,)
    """
    times = earlier(np.unique(prints, return_inverse=True)[1])
    further = np.where(times < together, 0, times + start + 1).astype(np.uint64)
    return np.asarray(prints ^ mixed(further) ^ mixed(np.zeros(1, dtype=np.uint64)))


def earlier(which: NDArray[np.intp]) -> NDArray[np.intp]:
    """The number of earlier rows of the same group, for each row.

    >>> earlier(np.array([0, 1, 0, 0])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(which, kind="stable")
    starts = np.flatnonzero(np.diff(which[order], prepend=-1))
    found = np.empty(len(which), dtype=np.intp)
    found[order] = np.arange(len(which)) - np.repeat(starts, np.diff(np.append(starts, len(which))))
    return found


def column_prints(array: pa.Array) -> Fingerprints:
    """The fingerprints of one column's cells."""
    kind = array.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _numbers(array)
    coded = array if pa.types.is_dictionary(kind) else array.dictionary_encode()
    values = coded.dictionary.to_pylist()
    table = np.array([_value(value) for value in values] + [int(MISSING_PRINT)], dtype=np.uint64)
    codes = numpy_array(coded.indices.fill_null(scalar(len(values), coded.indices.type)))
    return np.asarray(table[codes])


def _numbers(array: pa.Array) -> Fingerprints:
    """Fingerprints of numbers: 1, 1.0 and True have the same."""
    if not pa.types.is_floating(array.type):
        missing = numpy_array(array.is_null())
        whole = array.cast(pa.uint8()) if pa.types.is_boolean(array.type) else array
        bits = numpy_array(whole.fill_null(0).cast(pa.int64(), safe=False)).view(np.uint64)
        return np.where(missing, MISSING_PRINT, mixed(bits))
    x = numpy_array(array.cast(pa.float64(), safe=False)) + 0.0  # turns -0.0 into 0
    whole_x = (np.floor(x) == x) & (np.abs(x) < EXACT_INTEGERS)
    bits = np.where(whole_x, np.where(whole_x, x, 0.0).astype(np.int64).view(np.uint64), ~x.view(np.uint64))
    return np.where(np.isnan(x), MISSING_PRINT, mixed(bits))


def _value(value: object) -> int:
    if value is None:
        return int(MISSING_PRINT)
    return int.from_bytes(blake2b(str(value).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def chosen_rows(start: int, rows: int, stride: int) -> NDArray[np.intp]:
    """One of `stride` rows, by a hash of its number: rows may lie in any order, and the choice stays the same."""
    return np.flatnonzero(mixed(np.arange(start, start + rows, dtype=np.uint64)) % np.uint64(stride) == 0)
