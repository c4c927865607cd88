"""A table's columns in the form that structure searches read: categories as state codes, numbers as floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.core.learning import RowWeights, Weights
from credo.data import Batch, Source, cells, source
from credo.data.profile import Profile, Profiles, infer_schema, listed, schema_of
from credo.data.schema import Schema, checked_kinds
from credo.data.tables import NO_DATA
from credo.errors import DataError, NetworkError
from credo.networks.bins import bin_codes, bins_between
from credo.networks.inference.rows import states_array
from credo.networks.inference.state_index import StateIndex
from credo.networks.learning import NUMERIC_KINDS, state_codes
from credo.networks.structure.conditional_gaussian import Mixed, MixedTable
from credo.networks.structure.constraints import Constraints, Parents
from credo.networks.structure.counting import CodedTable, Countable
from credo.networks.structure.number_scores import Measured, NumberTable
from credo.networks.tables import states_of
from credo.notices import tell_of_columns
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTE_STATES = 256  # states whose codes fit in a byte
MOST_NUMBERED_STATES = 2**62  # joint states that an integer can number


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """The state code of each row, -1 for missing cells."""

    name: str
    codes: NDArray[np.int32]
    levels: Any  # an Arrow array
    states: tuple[Any, ...] | None = None  # declared states in order: the levels, as bins or as given

    def with_codes(self, codes: NDArray[np.int32]) -> CategoryColumn:
        return replace(self, codes=codes)


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Floats, NaN for missing cells."""

    name: str
    values: Array


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that are variables, in order, and the weights of the rows if they differ."""

    variables: tuple[str, ...]
    categories: tuple[CategoryColumn, ...]
    numbers: tuple[NumberColumn, ...]
    weight: Array | None

    here: ClassVar[bool] = True  # whether the rows are in memory

    @property
    def incomplete(self) -> NDArray[np.bool_]:
        """Whether each row has a missing cell."""
        found = np.zeros(self.rows, dtype=bool)
        for category in self.categories:
            found |= category.codes < 0
        for number in self.numbers:
            found |= np.isnan(number.values)
        return found

    @property
    def is_complete(self) -> bool:
        return not self.incomplete.any()

    def check_complete(self) -> None:
        """Refuse missing cells: scores read complete rows."""
        for category in self.categories:
            _refuse_missing(category.name, category.codes < 0)
        for number in self.numbers:
            _refuse_missing(number.name, np.isnan(number.values))

    @property
    def data(self) -> Any:
        """The data from which parameters are learned, with the given weights."""
        return self.arrow()

    @property
    def given_weight(self) -> Any:
        return self.weight

    def countable(self) -> Countable:
        """The categories, for counting joint tables; a missing cell is an error."""
        return self.coded()

    def coded(self) -> CodedTable:
        """The categories; a missing cell is an error."""
        self.check_complete()
        sizes = tuple(len(column.levels) for column in self.categories)
        kind = np.uint8 if max(sizes, default=0) <= MOST_BYTE_STATES else np.int32
        rows = len(self.categories[0].codes) if self.categories else self.rows
        codes = np.empty((len(sizes), rows), dtype=kind)
        for j, column in enumerate(self.categories):
            codes[j] = column.codes
        return CodedTable(tuple(column.name for column in self.categories), codes, sizes, self.weight)

    def arrow(self, rows: NDArray[np.intp] | None = None) -> pa.Table:
        """An Arrow table of all rows or of some."""
        import pyarrow as pa

        made = {}
        for column in self.categories:
            codes = column.codes if rows is None else column.codes[rows]
            absent = codes < 0
            indices = pa.array(codes, mask=absent if absent.any() else None)
            made[column.name] = pa.DictionaryArray.from_arrays(indices, column.levels)
        for number in self.numbers:
            values = number.values if rows is None else number.values[rows]
            made[number.name] = pa.array(values, mask=np.isnan(values))
        return pa.table(made)

    @property
    def states(self) -> dict[str, list[Any]] | None:
        """The states, declared if some of them are."""
        if all(column.states is None for column in self.categories):
            return None
        return {column.name: [*(column.states or column.levels.to_pylist())] for column in self.categories}

    def measured(self) -> Measured:
        """The numbers, of which sums are known; a missing cell is an error."""
        return self.numbered()

    def mixed(self) -> Mixed:
        """Categories and numbers; a missing cell is an error."""
        return MixedTable(self.variables, self.coded(), self.numbered())

    def numbered(self) -> NumberTable:
        """The numbers; a missing cell is an error."""
        self.check_complete()
        x = np.stack([column.values for column in self.numbers], axis=1) if self.numbers else np.empty((self.rows, 0))
        return NumberTable(tuple(column.name for column in self.numbers), x, self.weight)

    def where(self, kept: NDArray[np.bool_ | np.intp]) -> Columns:
        """Some of the rows, by flags or by index."""
        categories = tuple(replace(column, codes=column.codes[kept]) for column in self.categories)
        numbers = tuple(replace(column, values=column.values[kept]) for column in self.numbers)
        return replace(
            self, categories=categories, numbers=numbers, weight=None if self.weight is None else self.weight[kept]
        )

    @property
    def rows(self) -> int:
        first = self.categories[0].codes if self.categories else self.numbers[0].values
        return len(first)

    def binned(self, bins: int) -> Columns:
        """The columns with numbers cut into bins of about equally many rows."""
        made = {column.name: _binned(column, bins) for column in self.numbers}
        made |= {column.name: column for column in self.categories}
        return replace(self, categories=tuple(made[name] for name in self.variables), numbers=())


@runtime_checkable
class ColumnSearch(Protocol):
    """A search that reads columns and has no score."""

    def of_columns(self, columns: Columns, constraints: Constraints) -> Parents: ...


def read_columns(
    data: object,
    kinds: Mapping[str, str] | None = None,
    weight: Any = None,
    states: Mapping[str, Sequence[object]] | None = None,
    only_counts: bool = False,
    only_sums: bool = False,
) -> Columns:
    """All columns except ignored ones, texts and weights. Columns with declared states allow no others. `only_counts`:
    whether rows may stay on the workers if joint tables are counted there; `only_sums`: the same for numbers, if sums
    of their squares and products are enough."""
    if not isinstance(states, Mapping | None):
        raise NetworkError(f"states must be {{column: its states}}, but is {states!r:.60}")
    declared = {name: states_of(name, given, None) for name, given in (states or {}).items()}
    kinds = {**(kinds or {}), **dict.fromkeys(declared, "category")}
    table, weights = source(data).repeatable(), Weights.of(weight)
    if weights.column is not None:
        table.require([weights.column])
    schema, coded = _inferred(table.without(weights.column) if weights.column is not None else table, kinds)
    tell_of_columns(((column.name, "it is text") for column in schema if column.kind == "text"), "ignored")
    names = [column.name for column in schema if column.kind not in ("ignore", "text")]
    if not names:
        raise DataError("no column is a category or a number: there is nothing to draw arrows between")
    read = ReadColumns(schema, tuple(names), weights.of_a_row, declared)
    if (found := _read_elsewhere(table, weights, read, only_counts, only_sums)) is not None:
        return found
    left = [name for name in names if name in declared or name not in coded]
    job = ReadColumns(schema, tuple(left), weights.of_a_row, declared)
    parts = [*engines.map(job, weights.partitions(table, left or names[:1]))]
    whole = coded | {name: np.concatenate([part[0][name] for part in parts]) for name in left}
    weight = np.concatenate([part[1] for part in parts])
    kept = weight > 0
    if not kept.any():
        raise DataError("the weights of all rows are 0: there is nothing to learn from")
    if not kept.all():
        whole, weight = {name: whole[name][kept] for name in names}, weight[kept]
    categories = tuple(
        _level_column(name, schema, declared).with_codes(whole[name])
        for name in names
        if schema[name].kind == "category"
    )
    numbers = tuple(_number(name, whole[name]) for name in names if schema[name].kind in NUMERIC_KINDS)
    return Columns(tuple(names), categories, numbers, None if (weight == 1).all() else weight)


def _read_elsewhere(
    table: Source, weights: Weights, read: ReadColumns, only_counts: bool, only_sums: bool
) -> Columns | None:
    """Without rows, or with different rows alone, where that is enough. The rows of numbers stay where they are on any
    engine: one pass sums all that scores need."""
    from credo.networks.structure import frame_columns

    kinds, away = {*map(read.kind, read.names)}, not table.nearby
    levels = [_level_column(name, read.schema, read.states) for name in read.names if read.kind(name) == "category"]
    if away and kinds == {"category"}:
        return frame_columns.frame_columns(table, weights, read, levels, only_counts)
    if only_sums and not kinds.isdisjoint(NUMERIC_KINDS) and (away or not levels):
        return frame_columns.summed_columns(table, weights, read, levels)
    return None


def _inferred(table: Source, kinds: Mapping[str, str]) -> tuple[Schema, dict[str, NDArray[np.int32]]]:
    """The kind of each column; and the codes of categories that were coded to infer it, unless they stay on the
    workers."""
    asked = checked_kinds(kinds, table.names)
    if not table.nearby:
        return infer_schema(table, kinds), {}
    job = ProfiledCodes(Profiles(table.names, listed(asked), strict=False))
    parts = [*engines.map(job, table.partitions(table.names))]
    if not parts:
        raise DataError(NO_DATA)
    schema, coded = schema_of(job.profiles.total([own for own, _ in parts]), asked), {}
    for column in schema:
        own = [codes[column.name] for _, codes in parts if column.name in codes]
        if column.kind == "category" and len(own) == len(parts):
            coded[column.name] = np.concatenate([_among(*each, column.levels) for each in own])
    return schema, coded


def _among(codes: NDArray[np.int32], own: Any, levels: pa.Array) -> NDArray[np.int32]:
    """Codes translated to other levels."""
    return codes if own.equals(levels) else cells.recoded(codes, own, levels)[0]


@dataclass(frozen=True)
class ProfiledCodes:
    """The job of one batch: the profile of each column, and the codes that it needs with their own levels; without
    texts, which would fill the memory."""

    profiles: Profiles

    def __call__(self, batch: Batch) -> tuple[dict[str, Profile], dict[str, tuple[NDArray[np.int32], Any]]]:
        found = {name: self.profiles.coded(batch, name) for name in self.profiles.names}
        coded = {name: codes for name, (own, codes) in found.items() if codes is not None and own.kind != "text"}
        return {name: own for name, (own, _) in found.items()}, coded


@dataclass(frozen=True, eq=False)
class ReadColumns:
    """The job of one batch: codes of categories, numbers, and the rows' weights."""

    schema: Schema
    names: tuple[str, ...]
    weights: RowWeights
    states: Mapping[str, tuple[Any, ...]]  # of columns with declared states

    def kind(self, name: str) -> str:
        return self.schema[name].kind

    def __call__(self, batch: Batch) -> tuple[dict[str, NDArray[Any]], Array]:
        index = StateIndex(tuple(self.states), tuple(self.states.values()))
        found: dict[str, NDArray[Any]] = {}
        for name in self.names:
            if name in self.states:
                found[name] = state_codes(index, [name], batch)[0]
            elif self.kind(name) == "category":
                found[name] = cells.codes_among(batch.column(name), self.schema[name].levels)[0]
            else:
                found[name] = batch.numbers(name)
        return found, self.weights.of_rows(batch)


def _refuse_missing(name: str, missing: NDArray[np.bool_]) -> None:
    if missing.any():
        raise DataError(
            f"{name!r} is missing in row {int(missing.argmax()) + 1}: scores of given arrows need complete rows. Leave "
            "such rows out"
        )


def _level_column(name: str, schema: Schema, declared: Mapping[str, tuple[Any, ...]]) -> CategoryColumn:
    """A column without rows."""
    none = np.zeros(0, dtype=np.int32)
    if name in declared:
        return CategoryColumn(name, none, states_array(declared[name]), declared[name])
    _refuse_empty(name, not len(schema[name].levels))
    return CategoryColumn(name, none, schema[name].levels)


def _number(name: str, values: Array) -> NumberColumn:
    _refuse_empty(name, bool(np.isnan(values).all()))
    return NumberColumn(name, values)


def _refuse_empty(name: str, empty: bool) -> None:
    if empty:
        raise DataError(f"every cell of column {name!r} is missing: leave it out with kinds={{{name!r}: 'ignore'}}")


def _binned(column: NumberColumn, bins: int) -> CategoryColumn:
    known = column.values[~np.isnan(column.values)]
    cuts = np.unique(np.quantile(known, np.arange(1, bins) / bins))
    cuts = cuts[cuts > known.min()]  # a cut point belongs to the bin above it
    states = bins_between(cuts.tolist())
    return CategoryColumn(column.name, bin_codes(cuts, column.values), states_array(states), states)
