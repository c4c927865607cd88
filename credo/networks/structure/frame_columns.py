"""Columns whose rows stay where they are, as searches for arrows read them: counts and sums come back.

Of categories, workers count equal rows. If the different ones are few, they come here, each with its weight; if they
are many, a pass over the table counts the joint tables that a search asks for. Of numbers, one pass sums squares and
products; where there are categories beside them, one more for each set of categories that a search asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, groupby
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo import engines
from credo.core.learning import Weights
from credo.core.moments import CrossMoments
from credo.data import Batch, Source
from credo.errors import SizeError
from credo.networks.structure.columns import (
    MOST_NUMBERED_STATES,
    CategoryColumn,
    Columns,
    NumberColumn,
    ReadColumns,
)
from credo.networks.structure.conditional_gaussian import Mixed
from credo.networks.structure.counting import distinct, occurring, summed
from credo.networks.structure.number_scores import NumberSums, Standard
from credo.networks.structure.state_sums import StateSums, SumNumbers
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

MOST_DISTINCT_BYTES = 2**26  # bytes of distinct rows collected from the workers
MOST_PAIR_CELLS = 2_000_000  # cells of the joint tables of all pairs, counted in one pass

Members = tuple[int, ...]
Counts = tuple[Integers, Array]  # joint states that occur, in order, and the weights of their rows


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Distinct rows and their weights; no rows if there are too many or if some have missing cells."""

    weight: float
    complete: bool
    codes: NDArray[Any] | None  # (variables, rows)
    weights: Array  # (rows,)

    @classmethod
    def of(cls, codes: NDArray[Any], weights: Array) -> DistinctRows:
        if (codes < 0).any():
            return cls(float(weights.sum()), False, None, np.zeros(0))
        first, which = distinct(codes)
        if len(first) * (codes.itemsize * len(codes) + weights.itemsize) > MOST_DISTINCT_BYTES:
            return cls(float(weights.sum()), True, None, np.zeros(0))
        found = np.bincount(which, weights, len(first)).astype(np.float64)
        return cls(float(found.sum()), True, np.ascontiguousarray(codes[:, first]), found)

    @classmethod
    def total(cls, parts: Sequence[DistinctRows]) -> DistinctRows:
        codes = [part.codes for part in parts if part.codes is not None]
        if len(codes) < len(parts):
            complete = all(part.complete for part in parts)
            return cls(sum(part.weight for part in parts), complete, None, np.zeros(0))
        return cls.of(np.concatenate(codes, axis=1), np.concatenate([part.weights for part in parts]))


@dataclass(frozen=True, eq=False)
class CountDistinctRows:
    """The job of one batch: its distinct rows with positive weight."""

    read: ReadColumns
    sizes: tuple[int, ...]

    def __call__(self, batch: Batch) -> DistinctRows:
        codes, weights = coded(self.read, batch, np.min_scalar_type(-max(self.sizes)))
        return DistinctRows.of(codes, weights)


def coded(read: ReadColumns, batch: Batch, kind: Any = np.int32) -> tuple[NDArray[Any], Array]:
    """The codes of rows with positive weight, (variables, rows), and their weights."""
    found, weights = read(batch)
    kept = weights > 0
    codes = np.empty((len(read.names), int(kept.sum())), dtype=kind)
    for j, name in enumerate(read.names):
        codes[j] = found[name][kept]
    return codes, weights[kept]


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameColumns(Columns):
    """Complete columns whose codes stay on the workers."""

    table: FrameTable  # of the categories
    sums: NumberSums | None = None  # of the numbers

    here = False

    @property
    def incomplete(self) -> NDArray[np.bool_]:
        return np.zeros(0, dtype=bool)

    @property
    def rows(self) -> int:
        """By their weight, where they weren't counted."""
        return round(self.table.n) if self.sums is None else self.sums.rows

    def countable(self) -> FrameTable:
        return self.table

    def measured(self) -> NumberSums:
        assert self.sums is not None
        return self.sums

    def mixed(self) -> FrameMixed:
        return FrameMixed(self.variables, self.table, self.measured())

    @property
    def data(self) -> Source:
        return self.table.source

    @property
    def given_weight(self) -> Any:
        own = self.table.weights
        return own.column or (own.every if own.values is None else own.values)


@dataclass(frozen=True, eq=False)
class FrameMixed(Mixed):
    """Categories and numbers, complete."""

    variables: tuple[str, ...]
    categories: FrameTable
    sums: NumberSums

    def moments(self, categories: Members, numbers: Members) -> CrossMoments:
        """By one pass over the table."""
        table = self.categories
        table.check_numbered([categories])
        names = tuple(table.variables[v] for v in categories)
        own = tuple(self.sums.variables[j] for j in numbers)
        units = Standard(self.sums.mean[list(numbers)], self.sums.scales[list(numbers)])
        job = SumNumbers(table.reading((*names, *own)), names, tuple(table.sizes[v] for v in categories), own, units)
        found = engines.reduce(job, table.weights.partitions(table.source, job.read.names), StateSums.total)
        assert found is not None
        return found.moments


@dataclass(frozen=True, eq=False)
class FrameTable:
    """The columns in the form that searches read."""

    source: Source
    weights: Weights
    read: ReadColumns
    variables: tuple[str, ...]
    sizes: tuple[int, ...]
    n: float

    def counter(self) -> FrameCounter:
        return FrameCounter(self)

    def reading(self, names: tuple[str, ...]) -> ReadColumns:
        """Of some columns."""
        return replace(self.read, names=names)

    def check_numbered(self, sets: Sequence[Members]) -> None:
        for each in sets:
            if prod(self.sizes[v] for v in each) > MOST_NUMBERED_STATES:
                these = ", ".join(self.variables[v] for v in each)
                raise SizeError(
                    f"{these} have more joint states than can be numbered: give max_parents={len(each) - 2}"
                )

    def counted(self, sets: Sequence[Members]) -> dict[Members, Counts]:
        """The joint tables of sets of variables, by one pass over the table."""
        self.check_numbered(sets)
        used = sorted({v for each in sets for v in each})
        names = tuple(self.variables[v] for v in used) or self.variables[:1]
        place = {v: i for i, v in enumerate(used)}
        job = CountTables(
            self.reading(names),
            tuple(self.sizes[v] for v in used),
            tuple(tuple(place[v] for v in each) for each in sets),
        )
        found = engines.reduce(job, self.weights.partitions(self.source, names), job.total)
        assert found is not None
        return dict(zip(sets, found, strict=True))


@dataclass(frozen=True, eq=False)
class CountTables:
    """The job of one batch: joint tables of sets of variables."""

    read: ReadColumns
    sizes: tuple[int, ...]
    sets: tuple[Members, ...]

    def __call__(self, batch: Batch) -> list[Counts]:
        codes, weights = coded(self.read, batch)
        return [*self._tables(codes, weights)]

    def _tables(self, codes: NDArray[Any], weights: Array) -> Iterator[Counts]:
        for base, sets in groupby(self.sets, key=lambda each: each[:-1]):
            keys = np.zeros(codes.shape[1], dtype=np.int64)
            for v in base:
                keys = keys * self.sizes[v] + codes[v]
            states = prod(self.sizes[v] for v in base)
            for each in sets:
                last = each[-1:]
                cells = keys * self.sizes[last[0]] + codes[last[0]] if last else keys
                yield occurring(cells, states * prod(self.sizes[v] for v in last), weights)

    def total(self, parts: Sequence[list[Counts]]) -> list[Counts]:
        found = []
        for each in zip(*parts, strict=True):
            keys, which = np.unique(np.concatenate([own for own, _ in each]), return_inverse=True)
            weights = np.bincount(which, np.concatenate([own for _, own in each]), len(keys))
            found.append((keys.astype(np.int64), weights.astype(np.float64)))
        return found


class FrameCounter:
    """The same as `Counter`, by passes over the frame; one pass counts all pairs."""

    def __init__(self, table: FrameTable) -> None:
        self._table = table

    def sums(self, base: Sequence[int], others: Sequence[int], prior: Array) -> Array:
        sets = [tuple(sorted((*base, v))) for v in others]
        found = self._counts(sets)
        return np.array([summed(found[each][1], a) for each, a in zip(sets, prior, strict=True)])

    def family(self, node: int, parents: Sequence[int]) -> tuple[Array, Array]:
        above, cells = tuple(sorted(parents)), tuple(sorted((*parents, node)))
        found = self._counts([above, cells])
        return found[above][1], found[cells][1]

    def _counts(self, sets: Sequence[Members]) -> Mapping[Members, Counts]:
        if all(each in self._pairs for each in sets):
            return self._pairs
        return self._table.counted([*dict.fromkeys(sets)])

    @cached_property
    def _pairs(self) -> Mapping[Members, Counts]:
        """The tables of the empty set, of each variable and of each pair, if they are small."""
        sizes = self._table.sizes
        if (sum(sizes) ** 2 - sum(size**2 for size in sizes)) / 2 > MOST_PAIR_CELLS:
            return {}
        places = range(len(sizes))
        return self._table.counted([(), *((v,) for v in places), *combinations(places, 2)])


def frame_columns(
    source: Source, weights: Weights, read: ReadColumns, levels: Sequence[CategoryColumn], only_counts: bool
) -> Columns | None:
    """The columns of a frame whose variables are categories, given as columns without rows; None if all cells must be
    collected: some are missing, and searches complete them row by row; or there are too many distinct rows, and counts
    alone aren't enough."""
    sizes = tuple(len(column.levels) for column in levels)
    found = engines.reduce(CountDistinctRows(read, sizes), weights.partitions(source, read.names), DistinctRows.total)
    if found is None or not found.weight or not found.complete:
        return None
    if found.codes is not None:
        own = (column.with_codes(codes.astype(np.int32)) for column, codes in zip(levels, found.codes, strict=True))
        return Columns(read.names, tuple(own), (), found.weights)
    if not only_counts or _fractions(levels):
        return None
    table = FrameTable(source, weights, read, read.names, sizes, found.weight)
    return FrameColumns(variables=read.names, categories=tuple(levels), numbers=(), weight=None, table=table)


def summed_columns(
    source: Source, weights: Weights, read: ReadColumns, levels: Sequence[CategoryColumn]
) -> FrameColumns | None:
    """Of a table with numbers, and with categories, given as columns without rows; None if some cells are missing."""
    categories = tuple(column.name for column in levels)
    numbers = tuple(name for name in read.names if name not in categories)
    job = SumNumbers(read, (), (), numbers)
    found = engines.reduce(job, weights.partitions(source, read.names), StateSums.total)
    if found is None or not found.complete or not found.rows or _fractions(levels):
        return None
    sums, sizes = NumberSums(numbers, found.rows, found.moments), tuple(len(column.levels) for column in levels)
    return FrameColumns(
        variables=read.names,
        categories=tuple(levels),
        numbers=tuple(NumberColumn(name, np.zeros(0)) for name in numbers),
        weight=None,
        table=FrameTable(source, weights, read, categories, sizes, sums.n),
        sums=sums,
    )


def _fractions(levels: Sequence[CategoryColumn]) -> bool:
    """Whether some states are: networks refuse these, unless they come as categories."""
    return any(pa.types.is_floating(column.levels.type) for column in levels)
