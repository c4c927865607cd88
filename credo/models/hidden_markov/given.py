"""Given states: a column, possibly partly filled, or columns of probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from credo import engines
from credo.core.membership import Codes, Hard, Membership, Soft
from credo.data import Batch, Source
from credo.data.free_names import free_name
from credo.errors import DataError, SchemaError, suggest
from credo.numerics.exact import Array

TARGET, START = "state", "start"  # names of columns for states given as an array
SUM_TOLERANCE = 1e-6  # tolerance of a sum of probabilities


@dataclass(frozen=True)
class Given:
    """Given states: the value of a column, or P(state) in a column for each state."""

    states: tuple[Any, ...]
    column: str | None = None
    probabilities: tuple[str, ...] = ()  # in the order of the states

    @property
    def names(self) -> tuple[str, ...]:
        return self.probabilities if self.column is None else (self.column,)

    def codes(self, batch: Batch) -> Codes:
        """The codes of given states; -1 if unknown."""
        return batch.encoded(GivenCodes(self.states, str(self.column)))

    def logs(self, batch: Batch) -> Array:
        """log P(state), 0 where nothing is given. (rows, states)"""
        shares = self._shares(batch)
        with np.errstate(divide="ignore"):
            return np.where(np.isnan(shares), 0.0, np.log(shares))

    def _shares(self, batch: Batch) -> Array:
        x = np.column_stack([batch.numbers(name) for name in self.probabilities])
        known = ~np.isnan(x)
        wrong = known.any(1) & ~(known.all(1) & (x >= 0).all(1) & (np.abs(x.sum(1) - 1) <= SUM_TOLERANCE))
        if wrong.any():
            row = int(np.argmax(wrong))
            shown = ", ".join(f"{value:g}" for value in x[row])
            raise DataError(
                f"row {batch.number(row)}: the probabilities of its states are {shown}; they must sum to 1, or be "
                "missing all together"
            )
        return x

    def apply(self, batch: Batch, logs: Array) -> None:
        """Set the log-likelihoods of other states than the given one to -∞, in place."""
        if self.column is None:
            logs += self.logs(batch)
            return
        codes = self.codes(batch)
        rows = np.flatnonzero(codes >= 0)
        if len(rows):
            own = logs[rows, codes[rows]]
            logs[rows] = -np.inf
            logs[rows, codes[rows]] = own

    def member(self, batch: Batch, weight: Array) -> Membership:
        """The membership of rows with given states; the others belong to no state."""
        if self.column is None:
            return Soft(np.nan_to_num(self._shares(batch)) * weight[:, None])
        return Hard(self.codes(batch), len(self.states), weight)


@dataclass(frozen=True)
class GivenCodes:
    """The codes of a column of states, among those that the model has."""

    states: tuple[Any, ...]
    column: str

    def of(self, batch: Batch) -> Codes:
        own, levels = batch.categories(self.column)
        place = {value: k for k, value in enumerate(self.states)}
        values = levels.to_pylist()
        table = np.array([*(place.get(value, -2) for value in values), -1], dtype=np.int32)
        codes = table[own]
        if (codes == -2).any():
            row = int(np.argmax(codes == -2))
            value = values[own[row]]
            raise DataError(
                f"column {self.column!r} has the state {value!r:.60} (row {batch.number(row)}); "
                f"{suggest(value, self.states)}"
            )
        return codes


def with_given(
    table: Source, target: object, states: Sequence[Any] | None, called: str = TARGET
) -> tuple[Source, Given | None]:
    """The table with the given states as columns: `target` is a column's name, an array of states, a
    matrix of probabilities, or {state: column of probabilities}. `called`: the column of an array."""
    if target is None:
        return table, None
    if isinstance(target, str):
        table.require([target])
        return table, Given(tuple(states) if states is not None else levels_of(table, target), target)
    if isinstance(target, Mapping):
        table.require(target.values())
        if states is not None and [*target] != [*states]:
            raise SchemaError(f"probabilities are given of the states {[*target]}, but the model's are {[*states]}")
        return table, Given(tuple(target), None, tuple(target.values()))
    if getattr(target, "ndim", 1) == 2 or _is_nested(target):
        return _with_probabilities(table, _as_matrix(target), states)
    name = free_name(called, table.names)
    table = table.beside(name, target)
    return table, Given(tuple(states) if states is not None else levels_of(table, name), name)


def _is_nested(target: object) -> bool:
    """Whether it is a list of lists, one for each row."""
    return isinstance(target, list | tuple) and len(target) > 0 and isinstance(target[0], list | tuple | np.ndarray)


def _as_matrix(target: Any) -> Array:
    try:
        return np.asarray(target, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "probabilities of states must be a matrix: in each row as many numbers as there are states"
        ) from None


def _with_probabilities(table: Source, shares: Array, states: Sequence[Any] | None) -> tuple[Source, Given]:
    own = tuple(states) if states is not None else tuple(range(shares.shape[1]))
    if len(own) != shares.shape[1]:
        raise DataError(f"{len(own)} states have as many probabilities in each row, but there are {shares.shape[1]}")
    names = []
    for k, state in enumerate(own):
        names.append(free_name(f"P({state})", table.names))
        table = table.beside(names[-1], shares[:, k])
    return table, Given(own, None, tuple(names))


def levels_of(table: Source, column: str) -> tuple[Any, ...]:
    """The states of a column, in their order."""
    from credo.models.targets import check_number

    each = engines.map(ColumnLevels(column), table.partitions([column]))
    found = [*dict.fromkeys(value for own in each for value in own)]
    check_number(column, len(found))
    if not found:
        raise DataError(f"column {column!r} gives no state: every cell is missing. Leave it out, and give states=N")
    return tuple(sorted(found, key=lambda value: (isinstance(value, str), value)))


@dataclass(frozen=True)
class ColumnLevels:
    """The values of a batch's column."""

    column: str

    def __call__(self, batch: Batch) -> list[Any]:
        _, levels = batch.categories(self.column)
        if pa.types.is_floating(levels.type):
            raise DataError(f"column {self.column!r} holds numbers with fractions; a state is one of a few values")
        found: list[Any] = levels.to_pylist()
        return found
