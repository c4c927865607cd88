"""Columns of categories as codes of their joint values, for EM, which reads the same rows in each step.

Where columns have few values, rows outnumber joint values by far. A log-likelihood or count of a joint value serves all
its rows at once.
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

MANY = 4096  # rows from which on joining columns pays
SPARSE = 8  # rows, at least, for each joint value


class JoinedColumns(NamedTuple):
    """Columns that follow each other. A joint value has a code of each, -1 being a missing cell."""

    start: int  # the place of the first among all columns
    levels: tuple[Any, ...]  # of each, an Arrow array
    values: Codes  # (columns, joint values)
    first: int  # the place of the first joint value among those of all columns


class JointRows(NamedTuple):
    """Rows as joint values, one of each of some joined columns; those of all are numbered through."""

    codes: Codes  # (joined columns, rows)
    columns: tuple[JoinedColumns, ...]

    @property
    def size(self) -> int:
        """How many joint values there are."""
        return sum(joined.values.shape[1] for joined in self.columns)


class Lookup(NamedTuple):
    """Log-likelihoods of joint values, and the sums of their rows' memberships, which are added while rows are read."""

    codes: Codes  # (joined columns, rows)
    logs: Array  # (joint values, groups)
    n: Array  # (joint values, groups)


@dataclass(frozen=True)
class JointCodes:
    """As few joined columns as there can be without more joint values than rows are many enough for."""

    names: tuple[str, ...]

    def of(self, batch: Batch) -> JointRows:
        coded = [CategoryCodes(name).of(batch) for name in self.names]
        found: list[JoinedColumns] = []
        codes, start, first, most = [], 0, 0, batch.rows // SPARSE
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
    """The joint value of each row, and the codes of each joint value. These are numbered as the digits of a number,
    that of the last column changing fastest."""
    sizes = [len(levels) + 1 for _, levels in coded]
    rows = coded[0][0] + np.int32(1)
    for (codes, _), size in zip(coded[1:], sizes[1:], strict=True):
        rows *= np.int32(size)
        rows += codes
        rows += np.int32(1)
    values = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1) - np.int32(1)
    return rows, values
