"""Counting joint states, the bottleneck of structure search.

Columns are coded once. A counted set of variables is a base, whose joint states partition the rows, and one more
variable; many sets share a base. Small tables are counted by bit planes, a bit for each row, with AND and popcount;
larger ones row by row, over the rows in which the other variable isn't in its most common state; that state's counts
follow by subtraction. Duplicate rows are merged, with a weight, if that shortens the table much.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import COMPILING, COMPILING_CODE, Price
from credo.engines import local
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

KERNELS = Path(__file__).parents[2] / "_kernels" / "structure"
PRICE = Price(KERNELS, "counting.score_by_planes-", COMPILING + 4 * COMPILING_CODE * 400)
NUMPY_CALL, NUMPY_ROW = 60.0, 0.02  # cost of counting with NumPy in steps of plain Python: per table, and per row
SAMPLED_ROWS = 5000  # first rows, from which the number of distinct rows is judged
LEAST_COMPRESSION = 4  # factor by which merging equal rows must shorten the table
MOST_PLANE_STATES = 16  # states of a variable that has bit planes
WORD_NANOSECONDS, ROW_NANOSECONDS = 0.35, 1.0  # time of a kernel per word of a bit plane, and per row
SHORT_PLANE = 8  # words of a bit plane, below which planes are always used
MOST_JOINT_PLANES = 1024  # joint states that have bit planes
THREAD_NANOSECONDS = 200_000.0  # counting time that pays for another thread


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Complete columns of categories as state codes."""

    variables: tuple[str, ...]
    codes: NDArray[Any]  # (variables, rows)
    sizes: tuple[int, ...]  # the number of states of each variable
    weight: Array | None = None  # (rows,); None if all weights are 1

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    @cached_property
    def n(self) -> float:
        """The weight of all rows."""
        return float(self.rows if self.weight is None else self.weight.sum())

    def counter(self) -> Counter:
        return Counter(self)

    def collapsed(self) -> CodedTable:
        """The table with equal rows merged and their weights summed, if that makes it several times shorter."""
        first_rows = np.sort(_hashed(self.codes[:, :SAMPLED_ROWS]))  # faster than np.unique, which hashes again
        if self.rows > SAMPLED_ROWS and np.count_nonzero(np.diff(first_rows)) * LEAST_COMPRESSION > SAMPLED_ROWS:
            return self
        first, which = distinct(self.codes)
        if len(first) * LEAST_COMPRESSION > self.rows:
            return self
        weight = np.bincount(which, self.weight, len(first)).astype(np.float64)
        return CodedTable(self.variables, np.ascontiguousarray(self.codes[:, first]), self.sizes, weight)


def distinct(codes: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The indices of distinct rows, and the distinct row that each row equals. codes: (variables, rows)

    >>> first, which = distinct(np.array([[0, 1, 0], [2, 2, 2]]))
    >>> first[which].tolist()
    [0, 1, 0]
    """
    _, first, which = np.unique(_hashed(codes), return_index=True, return_inverse=True)
    if (codes[:, first[which]] != codes).any():
        _, first, which = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    return first, which


def _hashed(codes: NDArray[Any]) -> NDArray[np.uint64]:
    """A hash of each row; distinct rows have distinct hashes with very high probability."""
    factors = np.random.default_rng(0).integers(1, 2**63, len(codes), dtype=np.uint64) | np.uint64(1)
    found = np.zeros(codes.shape[1], dtype=np.uint64)
    for factor, column in zip(factors, codes, strict=True):
        found += factor * (column.astype(np.uint64) + np.uint64(1))
        found ^= found >> np.uint64(29)
    return found


class Counting(Protocol):
    """The sums and counts that scores of categories need."""

    def sums(self, base: Sequence[int], others: Sequence[int], prior: Array, /) -> Array:
        """Σ log Γ(a + n)/Γ(a) over the cells of the tables of `base` with each one of `others`; Σ n log n where a is 0.
        `prior` has the a of each."""
        ...

    def family(self, node: int, parents: Sequence[int], /) -> tuple[Array, Array]:
        """The counts of the parents' joint states, and of these with the node's own states; only those that occur."""
        ...


class Countable(Protocol):
    """A complete table of categories, in memory or on workers."""

    @property
    def variables(self) -> tuple[str, ...]: ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of states of each variable."""
        ...

    @property
    def n(self) -> float:
        """The weight of all rows."""
        ...

    def counter(self) -> Counting: ...


class Counter:
    """Sums over the cells of joint tables: Σ log Γ(a + n)/Γ(a), or Σ n log n where a is 0.

    >>> table = CodedTable(("x", "y"), np.array([[0, 0, 1], [1, 1, 0]], dtype=np.uint8), (2, 2))
    >>> Counter(table).sums((0,), [1], np.zeros(1)).round(6)  # 2 log 2 + 1 log 1
    array([1.386294])
    """

    def __init__(self, table: CodedTable) -> None:
        self.table = table.collapsed()
        self.sizes = np.array(self.table.sizes, dtype=np.int64)

    def sums(self, base: Sequence[int], others: Sequence[int], prior: Array) -> Array:
        """The sums for the tables of `base` with each of `others`; `prior` has the a of each."""
        wanted = np.asarray(others, dtype=np.int64)
        a = np.ascontiguousarray(prior, dtype=np.float64)
        log_gamma = _log_gammas(a) if a.any() else a
        steps = len(wanted) * (NUMPY_CALL + NUMPY_ROW * self.table.rows)
        if not PRICE.pays(steps):
            PRICE.spend(steps)
            return self._by_numpy(base, wanted, a)
        return self._by_kernels(np.asarray(base, dtype=np.int64), wanted, a, log_gamma)

    def family(self, node: int, parents: Sequence[int]) -> tuple[Array, Array]:
        """The counts of the parents' joint states, and of these with the node's own: of those that occur."""
        keys, states = self._keys(parents)
        size = self.table.sizes[node]
        _, above = occurring(keys, states, self.table.weight)
        _, cells = occurring(keys * size + self.table.codes[node], states * size, self.table.weight)
        return above, cells

    def _by_numpy(self, base: Sequence[int], others: Integers, prior: Array) -> Array:
        keys, _ = self._keys(base)
        found = np.empty(len(others))
        for j, v in enumerate(others):
            cells = keys * self.table.sizes[v] + self.table.codes[v]
            counts = occurring(cells, int(cells.max(initial=0)) + 1, self.table.weight)[1]
            found[j] = summed(counts, prior[j])
        return found

    def _keys(self, members: Sequence[int]) -> tuple[Integers, int]:
        return joint_states(self.table.codes, self.table.sizes, members, self.table.rows)

    # Compiled

    @cached_property
    def _starts(self) -> Integers:
        own = np.where((self.sizes <= MOST_PLANE_STATES) & (self.table.weight is None), self.sizes, 0)
        return np.append(0, np.cumsum(own))

    @cached_property
    def _planes(self) -> NDArray[np.uint64]:
        from credo._kernels.structure.counting import set_planes

        planes = np.zeros((int(self._starts[-1]), (self.table.rows + 63) // 64), dtype=np.uint64)
        set_planes(self.table.codes, self._starts, planes)
        return planes

    @cached_property
    def _unusual(self) -> tuple[NDArray[Any], NDArray[np.int32], Integers]:
        """The states other than the most common one, their rows, and the start of each variable's."""
        codes, rows = list[NDArray[Any]](), list[NDArray[np.int32]]()
        for column, size in zip(self.table.codes, self.table.sizes, strict=True):
            own = np.flatnonzero(column != np.bincount(column, minlength=size).argmax()).astype(np.int32)
            rows.append(own)
            codes.append(column[own])
        starts = np.append(0, np.cumsum([len(own) for own in rows]))
        return np.concatenate(codes), np.concatenate(rows), starts

    @cached_property
    def _row_costs(self) -> Array:
        """The cost of counting each variable row by row, in ns: infinite if planes are short; -1 if there are no
        planes."""
        cost = ROW_NANOSECONDS * np.diff(self._unusual[2])
        few_rows = self._planes.shape[1] < SHORT_PLANE
        return np.where(self.sizes > MOST_PLANE_STATES, -1.0, np.inf if few_rows else cost)

    def _by_kernels(self, base: Integers, others: Integers, prior: Array, log_gamma: Array) -> Array:
        found, left = np.empty(len(others)), np.arange(len(others))
        if self.table.weight is None and len(base) and (self.sizes[base] <= MOST_PLANE_STATES).all():
            left = self._by_planes(base, others, prior, log_gamma, found)
        if len(left):
            self._by_rows(base, others, prior, log_gamma, found, left)
        return found

    def _by_planes(self, base: Integers, others: Integers, prior: Array, log_gamma: Array, out: Array) -> Integers:
        """Count by bit planes where that is faster; returns the indices of the others."""
        from credo._kernels.structure.counting import score_by_planes, split_planes

        words, rows = self._planes.shape[1], self.table.rows
        keys = split_planes(self._planes, self._starts, base, rows, MOST_JOINT_PLANES)
        if not len(keys):
            return np.arange(len(others))
        by_word = WORD_NANOSECONDS * words * len(keys) * (self.sizes[others] - 1)
        chosen = by_word <= self._row_costs[others]
        mine = np.flatnonzero(chosen)

        def work(some: Integers) -> Array:
            values = np.empty(len(some))
            score_by_planes(keys, self._planes, self._starts, others[some], prior[some], log_gamma[some], values)
            return values

        if len(mine):
            out[mine] = _in_threads(work, mine, float(by_word[mine].sum()))
        return np.flatnonzero(~chosen) if len(mine) < len(others) else mine[:0]

    def _by_rows(
        self, base: Integers, others: Integers, prior: Array, log_gamma: Array, out: Array, left: Integers
    ) -> None:
        from credo._kernels.structure.counting import score_by_rows, score_by_weights

        keys, states = self._joined(base)
        weight = self.table.weight
        dense = states * self.sizes[others[left]] <= dense_cells(self.table.rows)
        for j in left[~dense].tolist():
            size = int(self.sizes[others[j]])
            cells = keys.astype(np.int64) * size + self.table.codes[others[j]]
            out[j] = summed(occurring(cells, states * size, weight)[1], prior[j])
        mine = left[dense]

        def work(some: Integers) -> Array:
            values = np.empty(len(some))
            arguments = (self.sizes, others[some], prior[some], log_gamma[some], values)
            if weight is None:
                codes, rows, starts = self._unusual
                score_by_rows(keys, states, codes, rows, starts, *arguments)
            else:
                score_by_weights(keys, states, self.table.codes, weight, *arguments)
            return values

        if len(mine):
            out[mine] = _in_threads(work, mine, ROW_NANOSECONDS * self.table.rows * len(mine) / 2)

    def _joined(self, base: Integers) -> tuple[NDArray[Any], int]:
        """The same as `_keys`, in compiled code if the joint states can be numbered."""
        from credo._kernels.structure.counting import compact_keys, join_codes

        states = prod(self.table.sizes[v] for v in base.tolist())
        if states > max(8 * self.table.rows, 2**16):
            keys, states = self._keys(base.tolist())
            return keys.astype(np.int32), states
        keys = np.empty(self.table.rows, dtype=np.int32)
        join_codes(self.table.codes, self.sizes, base, keys)
        if states > 64:
            states = compact_keys(keys, states)
        return keys, states


def dense_cells(rows: int) -> int:
    """The largest table, in cells, that is counted densely for a number of rows; larger ones by the cells that
    occur."""
    return 8 * rows + 1000


def occurring(cells: Integers, space: int, weight: Array | None) -> tuple[Integers, Array]:
    """The cells that occur, out of this many, and their counts; no row has weight 0.

    >>> occurring(np.array([7, 2, 7]), 10, None)
    (array([2, 7]), array([1., 2.]))
    """
    if space <= dense_cells(len(cells)):
        counts = np.bincount(cells, weight, space).astype(np.float64)
        found = np.flatnonzero(counts)
        return found, counts[found]
    found, which = np.unique(cells, return_inverse=True)
    return found, np.bincount(which, weight, len(found)).astype(np.float64)


def joint_states(codes: NDArray[Any], sizes: Sequence[int], members: Sequence[int], rows: int) -> tuple[Integers, int]:
    """The joint state of each row, as an index, and their number; only those that occur if there are more states than
    rows.

    >>> joint_states(np.array([[0, 1, 1], [2, 0, 2]]), (2, 3), (0, 1), 3)
    (array([0, 1, 2]), 3)
    """
    keys, states = np.zeros(rows, dtype=np.int64), 1
    for v in members:
        keys = keys * sizes[v] + codes[v]
        states *= sizes[v]
        if states > rows:
            occurring, keys = np.unique(keys, return_inverse=True)
            states = len(occurring)
    return keys, states


def _in_threads(work: Callable[[Integers], Array], places: Integers, nanoseconds: float) -> Array:
    """Do the work for all places, in several threads if it takes long enough."""
    parts = min(len(places), 1 + int(nanoseconds / THREAD_NANOSECONDS))
    count = parts if parts == 1 else min(parts, local.workers())
    if count == 1:
        return np.asarray(work(places))
    return np.concatenate([*_pool().map(work, np.array_split(places, count))])


_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _pool() -> ThreadPoolExecutor:
    """The shared thread pool, created at first use, and again after a fork."""
    key = os.getpid(), local.workers()
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(key[1], thread_name_prefix="credo-counting")
    return _pools[key]


def _log_gammas(a: Array) -> Array:
    """log Γ(a), 0 where a is 0."""
    from scipy.special import gammaln

    return np.where(a > 0, gammaln(np.where(a > 0, a, 1.0)), 0.0)


def summed(counts: Array, a: float) -> float:
    """Σ over the cells with rows."""
    from scipy.special import gammaln, xlogy

    counts = counts[counts > 0]
    return float((gammaln(counts + a) - gammaln(a)).sum() if a > 0 else xlogy(counts, counts).sum())
