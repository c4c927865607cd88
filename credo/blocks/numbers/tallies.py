"""Tallies of numbers: sums in pairs of floats, by the kernels for tables.

So rows that come one by one give the same bits as the same rows in a table.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np

from credo._kernels.blocks.live import (
    add_moments_of_row,
    add_products_of_row,
    add_students_of_row,
    add_sums_now,
    count_beyond_now,
)
from credo.blocks.block import Settings
from credo.blocks.numbers.logarithms import logarithms
from credo.blocks.tally import PredictingTally, Row, Tally, grown
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.moments import CrossMoments, Moments
from credo.core.statistics import Totals
from credo.data.cells import LARGEST_NUMBER, check_finite, check_positive, entered, numbered, numbers
from credo.data.conversion import array_of
from credo.data.schema import Column, Kind, Schema
from credo.numerics.distributions import NegativeBinomial
from credo.numerics.exact import Array

Change = Callable[[Array, int], Array]  # transforms numbers (1, columns), given the number of their row


def getter(names: Sequence[str]) -> Callable[[Row], tuple[Any, ...]]:
    """A function that gets these cells of a row."""
    if len(names) == 1:
        return lambda row, name=names[0]: (row[name],)  # type: ignore[misc]
    return itemgetter(*names)


class NumberCells:
    """The numbers of a row, in an array that is reused for each row. (1, columns)"""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.x = np.empty((1, len(names)))
        self._place = self.x.data
        self._get = getter(names)
        self._write = struct.Struct(f"{len(names)}d").pack_into

    def read(self, row: Row, number: int) -> Array:
        """The numbers, NaN where a cell is missing; a cell that isn't a number, or too large to be squared, is an
        error."""
        values, plain = self._get(row), True
        try:
            self._write(self._place, 0, *values)
        except struct.error:
            plain = False
        if not plain:
            self._write(self._place, 0, *map(_number, values, self.names, repeat(number)))
        if count_beyond_now(self.x, LARGEST_NUMBER):
            for j, name in enumerate(self.names):
                check_finite(self.x[:, j], name, numbered(number))
        return self.x


def _number(value: object, name: str, number: int) -> float:
    """The value as a number, as tables are read."""
    if value is None:
        return np.nan
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 64):
        return value
    return float(numbers(entered(array_of([value], name, number), name), name, numbered(number))[0])


class NumbersTally(PredictingTally):
    """n, Σx and Σx² of each column."""

    def __init__(
        self, names: Sequence[str], label: Label, before: Moments, change: Change | None = None, kind: Kind = "number"
    ) -> None:
        self._names, self._label, self._change, self._kind = names, label, change, kind
        self._cells = NumberCells(names)
        self._sums, self._room = np.zeros((3, 3, *before.n.shape)), before.n.shape[0]  # the number of classes with room
        pooled = before.pooled()  # prediction needs moments of all classes and of each, about a shift
        self._shift = np.ascontiguousarray(pooled.mean[0])
        about = [each.about(self._shift) for each in (pooled, before)]
        self._moments = np.concatenate([(each.n.value, each.mean, each.scatter) for each in about], axis=1)

    def read(self, row: Row, number: int) -> None:
        self._x = self._cells.read(row, number)
        if self._change is not None:
            self._x = self._change(self._x, number)

    def add(self, k: int, weight: float) -> None:
        if k >= self._room:
            self._sums, self._moments = grown(self._sums, 2), grown(self._moments, 1)
            self._room = self._sums.shape[2]
        add_moments_of_row(self._x, k, weight, self._sums, self._shift, self._moments)

    def evidence(self, classes: Column) -> Evidence:
        moments = Moments.of_pairs(*self._sums[:, :, : len(classes.levels)])
        schema = Schema((classes, *(Column(name, self._kind) for name in self._names)))
        return Evidence(schema, {self._label: Part((classes.name, None), moments)})

    def look(self, row: Row, number: int) -> None:
        self._x = self._cells.read(row, number)
        if self._change is not None:
            self._x = logarithms(self._x)

    def score(self, settings: Settings, out: Array) -> None:
        strength = float(settings.strength)  # one type, so that the kernel is compiled once
        add_students_of_row(self._x, self._shift, self._moments, strength, out)


class CountsTally(PredictingTally):
    """n, Σx and Σ log h(x) of each count column."""

    def __init__(self, names: Sequence[str], before: Sequence[Totals], log_base: Callable[[Array], Array]) -> None:
        self._names, self._log_base = names, log_base
        self._cells = NumberCells(names)
        self._rows, self._weight = np.ones((len(names), 3)), np.ones(len(names))
        known = [[each.n.value, each.log_base.value, each.total.value[:, 0]] for each in before]
        self._sums = np.zeros((3, len(names), len(known[0][0]), 3))  # (high, low and before, columns, classes, 3)
        self._sums[2] = np.array(known).swapaxes(1, 2)

    def read(self, row: Row, number: int) -> None:
        x = self._x = self._cells.read(row, number)[0]
        if not (np.isnan(x) | ((x >= 0) & (x == np.floor(x)))).all():
            for j, name in enumerate(self._names):
                check_positive(x[j : j + 1], name, numbered(number), whole=True)

    look = read

    def add(self, k: int, weight: float) -> None:
        x = self._x
        if k >= self._sums.shape[2]:
            self._sums = grown(self._sums, 2)
        room = self._sums.shape[2]
        self._rows[:, 1], self._rows[:, 2], self._weight[:] = self._log_base(x), x, weight
        codes = np.where(np.isnan(x), -1, np.arange(len(x)) * room + k)
        add_sums_now(self._rows, codes, self._weight, *self._sums[:2].reshape(2, -1, 3))

    def evidence(self, classes: Column) -> Evidence:
        sums = self._sums[:2, :, : len(classes.levels)]
        parts = {
            Label("column", name): Part((classes.name,), Totals.of_pairs(*sums[:, j]))
            for j, name in enumerate(self._names)
        }
        return Evidence(Schema((classes, *(Column(name, "count") for name in self._names))), parts)

    def score(self, settings: Settings, out: Array) -> None:
        known = np.flatnonzero(~np.isnan(self._x))
        sums = self._sums.sum(0)[known, : len(out)]
        n, total = sums[:, :, 0], sums[:, :, 2]
        pooled = n.sum(1, keepdims=True)
        rate = total.sum(1, keepdims=True) / np.where(pooled > 0, pooled, 1.0)
        prior = settings.strength / np.where(rate > 0, rate, 1.0)
        law = NegativeBinomial(settings.strength + total, prior + n)
        out += np.asarray(law.log_prob(self._x[known, None])).sum(0)


class JointTally(Tally):
    """n, Σx and Σxx′ for each pattern of missing cells."""

    def __init__(self, names: Sequence[str], label_of: Callable[[Any], Label], room: int) -> None:
        self._names, self._label_of, self._room = names, label_of, max(room, 1)
        self._cells = NumberCells(names)
        self._patterns: dict[bytes, Array] = {}  # sums, by which columns are known

    def read(self, row: Row, number: int) -> None:
        self._x = self._cells.read(row, number)[0]

    def add(self, k: int, weight: float) -> None:
        known = ~np.isnan(self._x)
        if not known.any():
            return
        inside = np.concatenate([[1.0], self._x[known]])[None]
        key, size = known.tobytes(), inside.shape[1]
        sums = self._patterns.get(key)
        if sums is None:
            sums = self._patterns[key] = np.zeros((2, self._room, size, size))
        while k >= sums.shape[1]:
            sums = self._patterns[key] = grown(sums, 1)
        add_products_of_row(inside, k, weight, sums)

    def evidence(self, classes: Column) -> Evidence:
        parts, count = {}, len(classes.levels)
        for key, sums in self._patterns.items():
            padded = np.zeros((2, count, *sums.shape[2:]))
            padded[:, : sums.shape[1]] = sums[:, :count]
            label = self._label_of(np.frombuffer(key, dtype=bool))
            parts[label] = Part((classes.name,), CrossMoments.of_pairs(*padded))
        return Evidence(Schema((classes, *(Column(name, "number") for name in self._names))), parts)
