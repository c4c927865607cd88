"""Columns of categories as codes of their joint values, for EM, which reads the same rows in each step.

Columns with few values have far fewer joint values than rows. The log-likelihood or count of a joint value is shared by
all its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from credo.core.membership import Codes
from credo.data import Batch
from credo.data.batches import CategoryCodes
from credo.numerics.exact import Array

JOINED_ROWS = 4096  # below this many rows, columns aren't joined
ROWS_PER_JOINT_VALUE = 8  # at least


class JoinedColumns(NamedTuple):
    """Consecutive columns; a joint value has a code for each, -1 for a missing cell."""

    start: int  # the position of the first among all columns
    levels: tuple[Any, ...]  # of each column, an Arrow array
    values: Codes  # (columns, joint values)
    first: int  # the position of the first joint value among those of all columns


class JointRows(NamedTuple):
    """Rows as joint values of several joined columns; all joint values are numbered consecutively."""

    codes: Codes  # (joined columns, rows)
    columns: tuple[JoinedColumns, ...]

    @property
    def size(self) -> int:
        """The number of joint values."""
        return sum(joined.values.shape[1] for joined in self.columns)


class Lookup(NamedTuple):
    """Log-likelihoods of joint values, and the sums of their rows' memberships, added as rows are read."""

    codes: Codes  # (joined columns, rows)
    logs: Array  # (joint values, groups)
    n: Array  # (joint values, groups)


@dataclass(frozen=True)
class JointCodes:
    """Joins columns into as few as possible, while there are enough rows for each joint value."""

    names: tuple[str, ...]

    def of(self, batch: Batch) -> JointRows:
        coded = [CategoryCodes(name).of(batch) for name in self.names]
        found: list[JoinedColumns] = []
        codes, start, first, most = [], 0, 0, batch.rows // ROWS_PER_JOINT_VALUE
        while start < len(coded):
            end = start + 1
            while end < len(coded) and prod(len(levels) + 1 for _, levels in coded[start : end + 1]) <= most:
                end += 1
            rows, values = _joined(coded[start:end])
            codes.append(rows + np.int32(first))
            found.append(JoinedColumns(start, tuple(levels for _, levels in coded[start:end]), values, first))
            start, first = end, first + values.shape[1]
        return JointRows(np.stack(codes), tuple(found))


def _joined(coded: Sequence[tuple[Codes, Any]]) -> tuple[Codes, Codes]:
    """The joint value of each row, and the codes of each joint value; the last column's code changes fastest."""
    sizes = [len(levels) + 1 for _, levels in coded]
    rows = coded[0][0] + np.int32(1)
    for (codes, _), size in zip(coded[1:], sizes[1:], strict=True):
        rows *= np.int32(size)
        rows += codes
        rows += np.int32(1)
    values = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1) - np.int32(1)
    return rows, values
