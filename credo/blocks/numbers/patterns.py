"""Missingness patterns: the rows with the same missing cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.labels import Label
from credo.core.moments import CrossMoments, Moments
from credo.numerics.arrays import Flags
from credo.numerics.exact import Array, Exact

PATTERN_BITS = 62  # columns whose pattern is one integer


class PatternRuns(NamedTuple):
    """An order of rows in which those with the same missing cells are adjacent, and the end of each run."""

    order: NDArray[np.int64]  # (rows,)
    ends: NDArray[np.int64]  # (runs,)


def label_of(known: Flags) -> Label:
    return Label("joint", pattern=tuple(known.tolist()))


def runs_of(x: Array) -> PatternRuns:
    """The runs of rows with the same missing cells, complete rows first.

    >>> runs_of(np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 4.0], [5.0, 6.0]]))
    PatternRuns(order=array([1, 3, 2, 0]), ends=array([2, 3, 4]))
    """
    absent, rows = np.isnan(x), len(x)
    if not absent.any():
        return PatternRuns(np.arange(rows), np.array([rows]))
    keys = _keys(absent)
    order = np.argsort(keys, kind="stable")
    return PatternRuns(order, np.append(np.flatnonzero(np.diff(keys[order])) + 1, rows))


def _keys(absent: Flags) -> NDArray[np.int64]:
    """An integer for each row, equal for rows with the same missing cells; 0 for complete rows of few columns."""
    if absent.shape[1] <= PATTERN_BITS:
        keys = np.zeros(len(absent), dtype=np.int64)
        for j, column in enumerate(absent.T):
            keys |= column.astype(np.int64) << j
        return keys
    packed = np.packbits(absent, axis=1)
    each = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1])))[:, 0]
    return np.asarray(np.unique(each, return_inverse=True)[1], dtype=np.int64)


def patterns(x: Array) -> Iterator[tuple[Flags, Any]]:
    """The known columns of each pattern, and its rows."""
    order, ends = runs_of(x)
    if len(ends) == 1 and not np.isnan(x[:1]).any():
        yield np.ones(x.shape[1], dtype=bool), slice(None)
        return
    for rows in np.split(order, ends[:-1]):
        yield ~np.isnan(x[rows[0]]), rows


@dataclass(frozen=True, eq=False)
class PatternMoments:
    """The moments of rows in which exactly these columns are known. (classes, known[, known])"""

    known: Flags
    moments: CrossMoments
    cells: Moments | None = None  # (1, columns) of the known cells, if the rows were completed

    @property
    def columns(self) -> Moments:
        """The moments of each column over all classes. (1, known)"""
        return _columns(self.moments.pooled()) if self.cells is None else self.cells

    @property
    def rows(self) -> int:
        return len(self.moments.n.value)

    @property
    def whole(self) -> bool:
        return bool(self.known.all())


def with_completed(seen: Sequence[PatternMoments], filled: CrossMoments, known: Moments) -> list[PatternMoments]:
    """The patterns, with completed rows added to the complete ones."""
    whole = next((pattern for pattern in seen if pattern.whole), None)
    if whole is not None:
        filled, known = whole.moments + filled, whole.columns + known
    rest = [pattern for pattern in seen if not pattern.whole]
    return [*rest, PatternMoments(np.ones(filled.first.shape[1], dtype=bool), filled, known)]


def _columns(moments: CrossMoments) -> Moments:
    """The moments of each column."""
    d = moments.first.shape[-1]
    n = Exact(*(np.repeat(part[:, None], d, axis=1) for part in (moments.n.high, moments.n.low)))
    diagonal = Exact(
        *(np.diagonal(part, axis1=1, axis2=2).copy() for part in (moments.second.high, moments.second.low))
    )
    return Moments(n, moments.first, diagonal)
