"""Sparse tables of sums, such as words by classes: only nonzero cells are stored, row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from credo._kernels.core.sparse import add_entries, add_lists, add_lists_soft, collect_cells, order_by
from credo.core.membership import Codes, Membership, Soft
from credo.core.statistics import PAIR_ROUNDING, Counts, Positions, Statistics
from credo.data.schema import ADDED_SHARE
from credo.numerics.exact import Array, Exact

SLICED_ENTRIES = 2**16  # entries, above which they are sorted slice by slice; this many take 4 MB
SLICES = 8  # at most: each reads all rows
DENSE_TABLE = 2**20  # cells of counts by group, up to which the table is dense
FEW_ENTRIES = 2**16  # entries, up to which NumPy adds them before Numba is loaded
CELL_ENTRIES = 1000  # entries of the same cell that NumPy adds, at most
DENSE_CELLS_PER_ENTRY = 4  # up to this ratio, adding entries in a dense table is faster


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse table of sums: value = high + low, as in `Exact`, at the nonzero cells.

    >>> table = Sparse.of([1, 0, 1], [2, 0, 2], [1.0, 5.0, 1.0], (2, 3))
    >>> table.value.tolist()
    [[5.0, 0.0, 0.0], [0.0, 0.0, 2.0]]
    >>> (table - table.take(0, [1, 1])).value.tolist()
    [[5.0, 0.0, -2.0], [0.0, 0.0, 0.0]]
    """

    starts: NDArray[np.int64]  # (rows + 1,) the start of each row's cells
    columns: Codes  # of each cell, ascending within a row
    high: Array
    low: Array  # empty if all are 0, as for counts
    width: int

    @classmethod
    def _made(cls, starts: NDArray[np.int64], columns: Codes, cells: Exact, width: int) -> Sparse:
        return cls(starts, columns, cells.high, cells.low if cells.low.any() else np.empty(0), width)

    @classmethod
    def of(
        cls, rows: object, columns: object, values: object, shape: tuple[int, int], low: Array | None = None
    ) -> Sparse:
        """The sum of entries, each a value of a cell; `low` holds rounding errors, if known."""
        entries = Exact.of(np.asarray(values, dtype=np.float64), low)
        return cls._summed(np.asarray(rows, np.int32), np.asarray(columns, np.int32), entries, shape)

    @classmethod
    def of_lists(
        cls, rows: Codes, starts: NDArray[np.int64], columns: Codes, values: Array, shape: tuple[int, int]
    ) -> Sparse:
        """The sum of entries in lists, list i from starts[i] to starts[i + 1], of one column each; -1 is no column."""
        if shape[0] * shape[1] > DENSE_CELLS_PER_ENTRY * len(rows) or (
            len(rows) <= FEW_ENTRIES and not add_lists.is_ready
        ):
            each = np.repeat(columns, np.diff(starts))
            kept = slice(None) if (columns >= 0).all() else each >= 0
            return cls.of(rows[kept], each[kept], values[kept], shape)
        high, low = np.zeros(shape), np.zeros((0, 0))
        size = add_lists(rows, starts, columns, values, high, low)
        if size < 0:  # sums overflow
            high, low = np.zeros((2, *shape))
            size = add_lists(rows, starts, columns, values, high, low)
        ends, own, cells = np.zeros(shape[0] + 1, dtype=np.int64), np.empty(size, dtype=np.int32), np.empty((2, size))
        collect_cells(high, low, ends, own, cells[0], cells[1])
        return cls._made(ends, own, Exact(*cells), shape[1])

    @classmethod
    def of_soft_lists(
        cls, rows: Codes, starts: NDArray[np.int64], weights: Array, values: Array, shape: tuple[int, int]
    ) -> Sparse:
        """The sum of lists that belong to all columns, list i to column k by weights[i, k], in plain floats.

        The sum is computed in a dense table: a row has cells in all columns, unless weights are 0.
        """
        table = np.zeros(shape)
        add_lists_soft(rows, starts, weights, values, table)
        size = int(np.count_nonzero(table))
        ends, own, cells = np.zeros(shape[0] + 1, dtype=np.int64), np.empty(size, dtype=np.int32), np.empty((2, size))
        collect_cells(table, np.zeros((0, 0)), ends, own, cells[0], cells[1])
        return cls._made(ends, own, Exact(*cells), shape[1])

    @classmethod
    def dense(cls, high: Array, low: Array) -> Sparse:
        """The sparse form of a dense table."""
        rows, columns = np.nonzero((high != 0) | (low != 0))
        cells = Exact.of(high[rows, columns], low[rows, columns])
        return cls._summed(rows.astype(np.int32), columns.astype(np.int32), cells, (len(high), high.shape[1]))

    @classmethod
    def _summed(cls, rows: Codes, columns: Codes, values: Exact, shape: tuple[int, int]) -> Sparse:
        if len(rows) <= FEW_ENTRIES and not add_entries.is_ready:  # NumPy is faster than loading Numba
            found = cls._summed_by_cells(rows, columns, values, shape)
            if found is not None:
                return found
        order, after = np.arange(len(rows)), np.empty(len(rows), dtype=np.int64)
        order_by(columns, order, np.zeros(shape[1] + 1, dtype=np.int64), after)
        order_by(rows, after, np.zeros(shape[0] + 1, dtype=np.int64), order)
        starts, own = np.zeros(shape[0] + 1, dtype=np.int64), np.empty(len(rows), dtype=np.int32)
        high, low = np.empty((2, len(rows)))
        size = add_entries(rows, columns, values.high, values.low, order, starts, own, high, low)
        if size < len(own):
            own, high, low = own[:size].copy(), high[:size].copy(), low[:size].copy()
        return cls._made(starts, own, Exact(high, low), shape[1])

    @classmethod
    def _summed_by_cells(cls, rows: Codes, columns: Codes, values: Exact, shape: tuple[int, int]) -> Sparse | None:
        """The sum by NumPy, with the same bits: the first entries of all cells, then the second ones, and so on.

        None if a cell has too many entries.
        """
        keys = rows.astype(np.int64) * shape[1] + columns
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        sizes, total = np.diff(np.append(first, len(keys))), values[order[first]]
        if (most := int(sizes.max(initial=0))) > CELL_ENTRIES:
            return None
        for nth in range(1, most):
            there = np.flatnonzero(sizes > nth)
            more = total[there] + values[order[first[there] + nth]]
            total.high[there], total.low[there] = more.high, more.low
        kept = order[first]
        starts = np.append(0, np.cumsum(np.bincount(rows[kept], minlength=shape[0]))).astype(np.int64)
        return cls._made(starts, columns[kept], total, shape[1])

    @property
    def rows(self) -> Codes:
        """The row of each cell."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))

    @property
    def cells(self) -> Exact:
        return Exact(self.high, self.low if len(self.low) else np.zeros_like(self.high))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts) - 1, self.width

    @property
    def ndim(self) -> int:
        return 2

    @property
    def value(self) -> Array:
        """The dense table as floats."""
        found = np.zeros(self.shape)
        found[self.rows, self.columns] = self.cells.value
        return found

    def filled(self) -> Exact:
        """The dense table."""
        found, cells = Exact.zeros(self.shape), self.cells
        found.high[self.rows, self.columns], found.low[self.rows, self.columns] = cells.high, cells.low
        return found

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        """row · width + column of each cell, ascending."""
        return self.rows.astype(np.int64) * self.width + self.columns

    def at(self, rows: Any, columns: Any) -> Array:
        """The values of some cells."""
        keys = self._keys
        asked = np.asarray(rows, np.int64) * self.width + columns
        place = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
        if not len(keys):
            return np.zeros(len(asked))
        return np.where(keys[place] == asked, self.cells[place].value, 0.0)

    def only_at(self, other: Sparse) -> Exact | None:
        """The other's values at this table's cells; None if it has other cells. (cells,)"""
        keys, asked = self._keys, other._keys
        place = np.searchsorted(keys, asked)
        if self.shape != other.shape or (place == len(keys)).any() or (keys[place] != asked).any():
            return None
        found, cells = Exact.zeros(len(keys)), other.cells
        found.high[place], found.low[place] = cells.high, cells.low
        return found

    @property
    def _everywhere(self) -> tuple[Positions, Positions]:
        return np.arange(self.shape[0]), np.arange(self.width)

    def along(self, axis: int) -> Array:
        """The sum of each row, or of each column."""
        places = self.columns if axis else self.rows
        return np.asarray(np.bincount(places, self.cells.value, self.shape[axis]), dtype=np.float64)

    def largest(self) -> Array:
        """The largest cell of each column, at least 0."""
        found = np.zeros(self.width)
        np.maximum.at(found, self.columns, self.cells.value)
        return found

    def __add__(self, other: Sparse) -> Sparse:
        return Sparse.gather([self, other], [self._everywhere] * 2, self.shape)

    def __sub__(self, other: Sparse) -> Sparse:
        return self + other * -1.0

    def __mul__(self, factor: float) -> Sparse:
        return Sparse._made(self.starts, self.columns, self.cells * factor, self.width)

    def take(self, axis: int, positions: Positions) -> Sparse:
        """Some rows, or some distinct columns."""
        positions = np.asarray(positions, dtype=np.intp)
        if axis == 0:
            sizes = np.diff(self.starts)[positions]
            starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
            at = np.arange(starts[-1]) + np.repeat(self.starts[positions] - starts[:-1], sizes)
            return Sparse._made(starts, self.columns[at], self.cells[at], self.width)
        place = np.full(self.width, -1, dtype=np.int32)
        place[positions] = np.arange(len(positions), dtype=np.int32)
        kept = place[self.columns] >= 0
        shape = self.shape[0], len(positions)
        return Sparse._summed(self.rows[kept], place[self.columns[kept]], self.cells[kept], shape)

    @classmethod
    def gather(cls, parts: Sequence[Sparse], places: Sequence[Sequence[Positions]], shape: Sequence[int]) -> Sparse:
        """The sum of parts whose rows and columns have these positions in a larger table."""
        first, rest = parts[0], parts[1:]
        if sum(len(part.high) for part in rest) <= ADDED_SHARE * len(first.high) and all(map(_in_order, places[0])):
            wide = first._widened(shape)
            return wide._with_few(cls._gathered(rest, places[1:], (0, shape[0]), shape[1])) if rest else wide
        slices = min(1 + sum(len(part.high) for part in parts) // SLICED_ENTRIES, SLICES)
        bounds = np.linspace(0, shape[0], slices + 1).astype(int).tolist()
        return cls._stacked([cls._gathered(parts, places, rows, shape[1]) for rows in pairwise(bounds)])

    def _with_few(self, other: Sparse) -> Sparse:
        """The sum with a table that has cells in few rows: the rows between them are copied."""
        rows = np.flatnonzero(np.diff(other.starts))
        both, everywhere = [self.take(0, rows), other.take(0, rows)], (np.arange(len(rows)), np.arange(self.width))
        new = Sparse._gathered(both, [everywhere] * 2, (0, len(rows)), self.width)
        sizes, starts = np.diff(self.starts), self.starts
        sizes[rows] = np.diff(new.starts)
        kept = [*zip([0, *starts[rows + 1].tolist()], [*starts[rows].tolist(), len(self.high)], strict=True)]
        added = [*pairwise(new.starts.tolist()), (0, 0)]

        def spliced(own: NDArray[Any], its: NDArray[Any]) -> NDArray[Any]:
            cuts = zip(kept, added, strict=True)
            return np.concatenate([piece for (a, b), (c, d) in cuts for piece in (own[a:b], its[c:d])])

        low = spliced(self.cells.low, new.cells.low) if len(self.low) or len(new.low) else np.empty(0)
        columns, high = spliced(self.columns, new.columns), spliced(self.high, new.high)
        return Sparse(np.append(0, np.cumsum(sizes)), columns, high, low, self.width)

    def _widened(self, shape: Sequence[int]) -> Sparse:
        """The table extended by rows and columns of 0."""
        more = shape[0] - self.shape[0]
        starts = np.append(self.starts, np.full(more, self.starts[-1])) if more else self.starts
        return replace(self, starts=starts, width=shape[1])

    @classmethod
    def _gathered(
        cls, parts: Sequence[Sparse], places: Sequence[Sequence[Positions]], bounds: tuple[int, int], width: int
    ) -> Sparse:
        """The sum of parts, of the rows within these bounds."""
        (start, end), found = bounds, []
        for part, (row_places, column_places) in zip(parts, places, strict=True):
            rows, columns = (np.asarray(each, dtype=np.int32) for each in (row_places, column_places))
            sizes, here = np.diff(part.starts), (rows >= start) & (rows < end)
            cells = slice(None) if here.all() else np.repeat(here, sizes)
            own = np.repeat(rows[here] - np.int32(start), sizes[here])
            low = part.low[cells] if len(part.low) else np.zeros(len(own))
            found.append((own, columns[part.columns[cells]], part.high[cells], low))
        rows, columns, high, low = (np.concatenate(each) for each in zip(*found, strict=True))
        return cls._summed(rows, columns, Exact(high, low), (end - start, width))

    @classmethod
    def _stacked(cls, tables: Sequence[Sparse]) -> Sparse:
        """Tables stacked vertically."""
        if len(tables) == 1:
            return tables[0]
        starts = np.append(0, np.cumsum(np.concatenate([np.diff(table.starts) for table in tables])))
        columns, high = (np.concatenate([getattr(table, name) for table in tables]) for name in ("columns", "high"))
        low = np.empty(0)
        if any(len(table.low) for table in tables):
            low = np.concatenate([table.cells.low for table in tables])
        return cls(starts, columns, high, low, tables[0].width)

    def without_zeros(self) -> Sparse:
        cells = self.cells
        kept = cells.value != 0
        if kept.all():
            return self
        starts = np.append(0, np.cumsum(kept))[self.starts]
        return Sparse._made(starts, self.columns[kept], cells[kept], self.width)


def _in_order(places: Positions) -> bool:
    return bool((np.asarray(places) == np.arange(len(places))).all())


@dataclass(frozen=True, eq=False)
class GroupCounts(Counts):
    """The counts of a category by groups: a large table is sparse, a small one dense.

    The form depends on the size alone, so equal counts are stored alike.
    """

    n: Exact | Sparse  # type: ignore[assignment]

    @classmethod
    def _kept(cls, n: Exact | Sparse) -> Self:
        few = math.prod(n.shape) <= DENSE_TABLE
        if few:
            return cls(n.filled())
        return cls(Sparse.dense(n.high, n.low) if isinstance(n, Exact) else n)

    @property
    def is_sparse(self) -> bool:
        return isinstance(self.n, Sparse)

    @cached_property
    def weight(self) -> Array:
        return self.n.along(0) if isinstance(self.n, Sparse) else super().weight

    def entries(self) -> tuple[Positions, Positions, Array]:
        if isinstance(self.n, Exact):
            return super().entries()
        return self.n.rows.astype(np.intp), self.n.columns.astype(np.intp), self.n.cells.value

    def at(self, groups: object, values: object) -> Array:
        return super().at(groups, values) if isinstance(self.n, Exact) else self.n.at(groups, values)

    @classmethod
    def of(cls, x: Codes, levels: int, member: Membership) -> Self:
        if member.groups * levels <= DENSE_TABLE:
            return super().of(x, levels, member)
        if isinstance(member, Soft):
            return cls._kept(super().of(x, levels, member).n)
        known = (x >= 0) & (member.codes >= 0)
        cells = member.codes[known], x[known]
        return cls(Sparse.of(*cells, member.weight[known], (member.groups, levels)).without_zeros())

    def __getitem__(self, group: int | slice | Positions) -> Any:
        """The counts of one group, or of some groups."""
        if isinstance(group, int | np.integer):
            return Counts(self.take(0, np.array([group])).n.filled()[0])
        return self.take(0, np.arange(self.n.shape[0])[group])

    def take(self, axis: int, positions: Positions) -> Self:
        return self._kept(self.n.take(axis, positions))

    @classmethod
    def gather(cls, parts: Sequence[Any], places: Sequence[Sequence[Positions]], sizes: Sequence[int]) -> Self:
        if math.prod(sizes) <= DENSE_TABLE:
            return super().gather([cls(part.n.filled()) for part in parts], places, sizes)
        tables = [part.n if isinstance(part.n, Sparse) else Sparse.dense(part.n.high, part.n.low) for part in parts]
        return cls(Sparse.gather(tables, places, sizes))

    def pooled(self) -> Self:
        groups, levels = self.n.shape
        return self.gather([self], [[np.zeros(groups, np.intp), np.arange(levels)]], [1, levels])

    def without(self, other: Self) -> Self | None:
        if isinstance(self.n, Exact) or isinstance(other.n, Exact):
            return super().without(other)
        left = _without(self.n, other.n)
        return None if left is None else type(self)(left)


@dataclass(frozen=True, eq=False)
class WordSums(Statistics):
    """n[v, k]: a sum over the documents of class k that contain word v. (words, classes)"""

    n: Sparse  # type: ignore[assignment]

    @property
    def weight(self) -> Array:
        return self.n.along(0)

    @classmethod
    def gather(cls, parts: Sequence[Self], places: Sequence[Sequence[Positions]], sizes: Sequence[int]) -> Self:
        return cls(Sparse.gather([part.n for part in parts], places, sizes))

    def possible(self) -> bool:
        return bool((self.n.high >= 0).all())

    def without(self, other: Self) -> Self | None:
        left = _without(self.n, other.n)
        return None if left is None else type(self)(left)


def _without(whole: Sparse, part: Sparse) -> Sparse | None:
    """The difference of sums of weights; None if the part can't have been in the whole."""
    before, taken = whole, whole.only_at(part)
    if taken is None:
        before, left = whole + part * 0.0, whole - part
    else:
        left = Sparse._made(whole.starts, whole.columns, whole.cells - taken, whole.width)
    if (left.high < -PAIR_ROUNDING * before.high).any() or not np.isfinite(before.high).all():
        return None
    gone = left.high <= PAIR_ROUNDING * before.high
    cells = Exact.zeros(len(gone)).where(gone, left.cells)
    return Sparse._made(left.starts, left.columns, cells, left.width).without_zeros()
