"""Cells of a table as state codes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.networks.counting import code_strings
from credo.data import Batch
from credo.data.conversion import is_missing
from credo.engines.partitions import Loaded
from credo.errors import DataError
from credo.networks.bins import bin_codes, cuts_of
from credo.networks.inference.findings import find_state
from credo.networks.inference.state_index import StateIndex
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

MANY_BATCH_ROWS, MANY_TABLE_ROWS = 1000, 100_000  # rows of a batch, and of a table, for which compiled code pays
FEWEST_COMPILED_STRINGS = 2**14  # with fewer strings, Arrow is faster than a kernel that must first be compiled
MOST_COMPARED_STATES = 32  # states that strings are compared with one by one
MOST_MAPPED_VALUES = 10_000  # values of a dictionary column that are looked up one by one


class Unseen(NamedTuple):
    """The number of cells in a column with unseen values, and one of these values."""

    cells: int
    value: object


@dataclass(frozen=True, eq=False)
class Coded:
    """The cells of a batch as state codes."""

    batch: Batch
    columns: Codes  # (columns, rows), -1 where a cell is missing
    unknown: dict[str, Unseen]  # columns with values that aren't states

    @property
    def rows(self) -> int:
        return self.batch.rows


@dataclass(frozen=True, eq=False)
class CodedRows(Loaded):
    """Weighted rows of all variables as state codes: EM reads them in each step."""

    start: int | None  # the number of the first row; None if equal rows are merged
    codes: Codes  # (variables, rows), -1 where a cell is missing
    weight: Array  # (rows,)

    @property
    def rows(self) -> int:
        return len(self.weight)

    def chunks(self, size: int) -> Iterator[CodedRows]:
        """The rows in chunks of a size."""
        for at in range(0, self.rows, size):
            own = slice(at, at + size)
            start = None if self.start is None else self.start + at
            yield CodedRows(start, np.ascontiguousarray(self.codes[:, own]), self.weight[own])


@dataclass(frozen=True, eq=False)
class Coder:
    """Converts columns to state codes."""

    index: StateIndex
    names: Sequence[str]  # names of the columns

    def coded(self, batch: Batch) -> Coded:
        """The codes of a batch; unseen values count as missing."""
        columns, unknown = np.empty((len(self.names), batch.rows), dtype=np.int32), dict[str, Unseen]()
        fast = pays(batch.rows, batch.start)
        for i, name in enumerate(self.names):
            v = self.index.number[name]
            if fast and _code_strings(batch, name, self._spellings[v], columns[i]):
                continue
            if (cuts := self._cuts[v]) is not None and _holds_numbers(batch, name):
                columns[i] = bin_codes(cuts, batch.numbers(name))
                continue
            codes, values = _categories(batch, name)
            found = [find_state(self.index, v, value) for value in values]
            table = np.array([*(-1 if code is None else code for code in found), -1], dtype=np.int32)
            np.take(table, codes, out=columns[i], mode="wrap")
            if unseen := [k for k, value in enumerate(values) if found[k] is None and not is_missing(value)]:
                count = int(np.isin(codes, unseen).sum())
                there = [values[k] for k in unseen if (codes == k).any()]
                self._check_letters(name, there)
                self._check_numbers(name, there)
                unknown |= {name: Unseen(count, there[0])} if count else {}
        return Coded(batch, columns, unknown)

    @cached_property
    def _cuts(self) -> dict[int, Array | None]:
        """The cut points of variables whose states are bins."""
        return {v: cuts_of(self.index.states[v]) for v in (self.index.number[name] for name in self.names)}

    @cached_property
    def _spellings(self) -> dict[int, tuple[NDArray[np.int64], NDArray[np.uint8]] | None]:
        """For each column whose states are a few strings: their ends and their bytes."""
        numbers = [self.index.number[name] for name in self.names]
        return {v: _spelling(self.index.states[v]) for v in numbers}

    def _check_letters(self, name: str, values: list[Any]) -> None:
        """Refuse a value that differs from a state only by upper and lower case."""
        states = {str(state).casefold(): state for state in self.index.states[self.index.number[name]]}
        for value in values:
            if (meant := states.get(str(value).casefold())) is not None:
                raise DataError(
                    f"column {name!r} has the value {value!r}, which isn't a state. Did you mean {meant!r}?"
                )

    def _check_numbers(self, name: str, values: list[Any]) -> None:
        """Refuse fractions if all states are words, such as names of bins."""
        states = self.index.states[self.index.number[name]]
        fractions = [value for value in values if isinstance(value, float) and not value.is_integer()]
        if fractions and not any(map(_reads_as_number, states)):
            known = ", ".join(map(repr, states[:2]))
            raise DataError(
                f"column {name!r} has numbers, such as {fractions[0]:.6g}, and its states are names ({known}, ...): "
                "give the names; numbers that were cut in bins must be cut at the same places"
            )


def _holds_numbers(batch: Batch, name: str) -> bool:
    import pyarrow as pa

    kind = batch.column(name).type
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _reads_as_number(state: object) -> bool:
    try:
        float(str(state))
    except ValueError:
        return False
    return True


def pays(rows: int, start: int = 0) -> bool:
    """Whether compiled code is loaded already, or there are enough rows to pay for loading it."""
    return rows >= MANY_BATCH_ROWS and ("numba" in sys.modules or start >= MANY_TABLE_ROWS)


def _spelling(states: tuple[Any, ...]) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
    if len(states) > MOST_COMPARED_STATES or not all(isinstance(state, str) and state for state in states):
        return None
    letters = [state.encode() for state in states]
    ends = np.cumsum([0, *map(len, letters)], dtype=np.int64)
    return ends, np.frombuffer(b"".join(letters), dtype=np.uint8)


def _code_strings(
    batch: Batch, name: str, spelling: tuple[NDArray[np.int64], NDArray[np.uint8]] | None, out: Codes
) -> bool:
    """Whether a column of strings holds only states and missing cells; if so, the codes are in `out`."""
    import pyarrow as pa

    column = batch.columns.get(name)
    if spelling is None or not isinstance(column, pa.StringArray | pa.LargeStringArray) or not len(column):
        return False
    if len(column) < FEWEST_COMPILED_STRINGS and not code_strings.is_ready:  # its loop in Python is slower than Arrow's
        return False
    offset_type = np.int64 if pa.types.is_large_string(column.type) else np.int32
    _, offsets, text = column.buffers()
    if text is None:
        return False
    ends = np.frombuffer(offsets, dtype=offset_type)[column.offset : column.offset + len(column) + 1]
    unknown = code_strings(ends.astype(np.int64), np.frombuffer(text, dtype=np.uint8), *spelling, out)
    if column.null_count:
        absent = column.is_null().to_numpy(zero_copy_only=False)
        unknown -= int((out[absent] < 0).sum())
        out[absent] = -1
    return unknown == 0


def _categories(batch: Batch, name: str) -> tuple[NDArray[Any], list[Any]]:
    """A column's codes, -1 for missing cells, and their values; a dictionary column is used as it is."""
    import pyarrow as pa

    column = batch.column(name)
    if not pa.types.is_dictionary(column.type) or len(column.dictionary) > MOST_MAPPED_VALUES:
        codes, levels = batch.categories(name)
        return codes, levels.to_pylist()
    codes = column.indices
    codes = codes.fill_null(-1) if codes.null_count else codes
    return codes.to_numpy(zero_copy_only=False), column.dictionary.to_pylist()
