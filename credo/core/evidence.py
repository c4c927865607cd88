"""Evidence: a schema and the statistics over its levels. It adds and subtracts.

Large evidence plus little is a lazy sum, computed when its value is first read. So an update takes time and memory in
proportion to the new rows. Statistics over few levels, such as the number of rows of each class, are read without
computing the rest of the sum.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from credo.core.labels import ROWS, Label
from credo.core.lazy import lazy
from credo.core.statistics import Positions, Statistics, exceeds
from credo.data.arrow_arrays import number_array
from credo.data.fingerprints import column_prints
from credo.data.schema import ADDED_SHARE, Axis, Column, Schema, agree, currencies, currency, unite
from credo.engines.partitions import SHARDS
from credo.errors import EvidenceError
from credo.numerics.exact import Array

NEVER_LEARNED = "can't forget what was never learned: these rows aren't all in the evidence"
MANY_LEVELS = 2**12  # above this many levels, small additions are merged lazily
WAITING_TERMS = 8  # small additions that wait; more of them are merged with each other


@dataclass(frozen=True, eq=False)
class Part:
    """Statistics whose first axes run over the levels of columns; None is an axis of fixed length."""

    axes: tuple[Axis | None, ...]
    statistics: Any


@dataclass(frozen=True, eq=False, init=False)
class Evidence:
    """A schema and the statistics over its levels. Evidence of other rows adds to it."""

    schema: lazy[Schema] = lazy(lambda evidence: evidence._added_up().schema)  # noqa: RUF009 - a descriptor
    parts: lazy[Mapping[Label, Part]] = lazy(lambda evidence: evidence._added_up().parts)  # noqa: RUF009

    waiting: ClassVar[tuple[Evidence, ...]] = ()  # the terms of a lazy sum: the large one first

    def __init__(self, schema: Schema, parts: Mapping[Label, Part] | None = None) -> None:
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "parts", {} if parts is None else parts)

    @classmethod
    def _sum(cls, waiting: Sequence[Evidence]) -> Evidence:
        """The lazy sum in natural order, computed when its schema or its parts are read."""
        found = object.__new__(cls)
        object.__setattr__(found, "waiting", tuple(waiting))
        return found

    def _added_up(self) -> Evidence:
        if waiting := self.waiting:
            whole = Evidence.total(waiting).ordered()
            for name, value in (("schema", whole.schema), ("parts", whole.parts), ("waiting", ())):
                object.__setattr__(self, name, value)  # `waiting` last: two threads at worst compute it twice
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Evidence, (self.schema, self.parts)

    @classmethod
    def total(cls, evidences: Sequence[Evidence]) -> Evidence:
        """The sum of several, added in their order; its levels are the union of theirs."""
        if len(evidences) == 1:
            return evidences[0]
        schema, positions = unite([evidence.schema for evidence in evidences])
        labels = dict.fromkeys(label for evidence in evidences for label in evidence.parts)
        return cls(schema, {label: _gathered(schema, evidences, positions, label) for label in labels})

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence.total([self, other])

    def grown(self, new: Evidence) -> Evidence:
        """The sum with levels in natural order; lazy if `new` is small compared with this."""
        much, *little = self.waiting or (self,)
        if much.size < MANY_LEVELS or new.size + sum(each.size for each in little) > ADDED_SHARE * much.size:
            return self._added_up().grown(new) if little else (self + new).ordered()
        for each in (much, *little):
            agree([each.schema, new.schema])
        return Evidence._sum(
            [much, *little, new] if len(little) < WAITING_TERMS else [much, Evidence.total([*little, new])]
        )

    @property
    def size(self) -> int:
        """The number of levels of all columns."""
        return sum(len(column.levels) for column in self.schema if column.levels is not None)

    def __mul__(self, factor: float) -> Evidence:
        scaled = {label: Part(part.axes, part.statistics * factor) for label, part in self.parts.items()}
        return Evidence(self.schema, scaled)

    def __getitem__(self, label: Label) -> Any:
        """The statistics of a part."""
        axes = next((each.parts[label].axes for each in self.waiting if label in each.parts), ())
        return self._only_columns(axes, label).parts[label].statistics

    def column(self, axis: Axis) -> Column:
        """The column of the schema."""
        return self._only_columns([axis]).schema[axis]

    def _only_columns(self, axes: Collection[Axis | None], label: Label | None = None) -> Evidence:
        """The schema of some columns, and a part over them; a lazy sum computes only these if they have few levels."""
        few = [
            Evidence(
                Schema(tuple(column for column in each.schema if column.axis in axes)),
                {one: part for one, part in each.parts.items() if one == label},
            )
            for each in self.waiting
        ]
        return Evidence.total(few).ordered() if few and few[0].size < MANY_LEVELS else self

    def without(self, other: Evidence) -> Evidence:
        """This minus other; refused if other can't have been part of it."""
        schema, (_, positions) = unite([self.schema, other.schema])
        for before, after in zip(self.schema, schema, strict=False):
            if before.levels is not None and len(after.levels) > len(before.levels):
                never = after.levels[len(before.levels)].as_py()
                if not before.name:
                    raise EvidenceError(NEVER_LEARNED)
                raise EvidenceError(f"can't forget what was never learned: column {before.name!r} has no {never!r:.60}")
        left = dict(self.parts)
        for label in other.parts:
            if label not in self.parts:
                raise EvidenceError(NEVER_LEARNED)
            part = self.parts[label]
            taken = _gathered(self.schema, [other], [positions], label).statistics
            statistics = part.statistics.without(taken)
            if statistics is None:
                raise EvidenceError(NEVER_LEARNED)
            left[label] = Part(part.axes, statistics)
        return Evidence(self.schema, left)._without_empty_levels()

    def in_currencies(self, signs: Mapping[str, str]) -> Evidence:
        """The evidence with the currency signs of amounts in its schema."""
        if not signs:
            return self
        return Evidence.total([self, Evidence(Schema(tuple(currency(*each) for each in signs.items())))])

    @property
    def currencies(self) -> dict[str, str]:
        """The currency sign of each column of amounts; a lazy sum stays lazy."""
        terms = self.waiting or (self,)
        return {name: sign for term in terms for name, sign in currencies(term.schema).items()}

    def crowded(self, slack: float = 0.0) -> Label | None:
        """A part with more observations of a group than the group has rows, which is impossible; None if there is none.

        Slack is the weight that rounding may have taken from rows.
        """
        if ROWS not in self.parts:
            return None
        (groups, *_), rows = self.parts[ROWS].axes, self[ROWS].weight
        own = (label for label, part in self.parts.items() if part.axes[:1] == (groups,))
        return next((label for label in own if exceeds(self[label].weight, rows, slack)), None)

    def _without_empty_levels(self) -> Evidence:
        kept = {}
        for column in self.schema:
            if column.levels is not None:
                seen = self.level_weights(column.axis) > 0
                kept[column.axis] = np.flatnonzero(seen | (np.arange(len(seen)) < column.declared))
        return self._at(kept)

    def knowing(self, other: Evidence) -> Evidence:
        """The evidence with the other's levels added, without their statistics."""
        return Evidence.total([self, Evidence(other.schema)]).ordered()

    def level_weights(self, axis: Axis) -> Array:
        """The weight of the rows behind each level of a column."""
        total = np.zeros(len(self.schema[axis].levels))
        for part in self.parts.values():
            if axis in part.axes:
                total = np.maximum(total, part.statistics.n.along(part.axes.index(axis)))
        return total

    def ordered(self) -> Evidence:
        """The evidence with each column's levels in natural order; words keep their order."""
        known = (c for c in self.schema if c.levels is not None and c.kind != "text")
        return self._at({c.axis: c.ordered()[1] for c in known if not c.is_ascending})

    def only(self, *labels: Label) -> Evidence:
        """Some of the parts, and their columns."""
        parts = {label: self.parts[label] for label in labels}
        about = {axis for part in parts.values() for axis in part.axes} | {label.name for label in labels}
        return Evidence(Schema(tuple(column for column in self.schema if column.axis in about)), parts)

    @property
    def word_columns(self) -> list[str]:
        """The category columns whose values are words."""
        waiting = self.waiting  # all terms have the same types
        schema = waiting[0].schema if waiting else self.schema
        known = [column for column in schema if column.kind == "category" and column.levels is not None]
        own = (column for column in known if len(column.levels) and not column.derived)
        return [column.name for column in own if pa.types.is_string(column.levels.type)]

    def beside(self, other: Evidence) -> Evidence:
        """The evidence with other parts about the same rows."""
        schema, (own, new) = unite([self.schema, other.schema])
        rest = {label: part for label, part in other.parts.items() if label not in self.parts}
        sides = ((self, own, self.parts), (other, new, rest))
        parts = {label: _gathered(schema, [e], [place], label) for e, place, some in sides for label in some}
        return Evidence(schema, parts).ordered()

    def keeping(self, labels: Collection[Label]) -> Evidence:
        """These parts and the levels that they run over, with all currency signs."""
        parts = {label: part for label, part in self.parts.items() if label in labels}
        over = {axis for part in parts.values() for axis in part.axes}
        over |= {column.axis for column in self.schema if column.derived == "currency"}
        columns = (replace(c, levels=None, declared=0) if c.axis not in over else c for c in self.schema)
        return Evidence(Schema(tuple(columns)), parts)

    def renamed(self, old: str, new: str) -> Evidence:
        """The evidence with a column renamed, in its label, too."""

        def name(other: object) -> Any:
            return new if other == old else other

        parts = {
            label._replace(name=name(label.name)): Part(tuple(map(name, part.axes)), part.statistics)
            for label, part in self.parts.items()
        }
        return Evidence(Schema(tuple(replace(c, name=name(c.name)) for c in self.schema)), parts)

    def only_levels(self, axis: Axis, positions: Positions) -> Evidence:
        """The evidence of some levels of a column; other columns keep their levels."""
        return self._at({axis: positions})

    def at_levels(self, axis: Axis, positions: Positions) -> Evidence:
        """The evidence of some levels of a column; other columns keep the levels that have evidence."""
        return self._at({axis: positions})._without_empty_levels()

    def _at(self, positions: Mapping[Axis, Positions]) -> Evidence:
        """The evidence of some levels of columns, in this order."""
        sizes = {axis: len(self.schema[axis].levels) for axis in positions}
        positions = {axis: p for axis, p in positions.items() if not np.array_equal(p, np.arange(sizes[axis]))}
        if not positions:
            return self
        parts = {}
        for label, part in self.parts.items():
            statistics: Statistics = part.statistics
            for i, axis in enumerate(part.axes):
                if axis is not None and axis in positions:
                    statistics = statistics.take(i, positions[axis])
            parts[label] = Part(part.axes, statistics)
        return Evidence(self.schema.replaced(_column_at(self.schema[axis], p) for axis, p in positions.items()), parts)


@dataclass(frozen=True)
class ByLevel:
    """Splits evidence into shards by the levels of a column; a level's shard depends on its value alone, and other
    parts are in the first."""

    axis: Axis

    def __call__(self, evidence: Evidence, shard: int, /) -> Evidence:
        levels = evidence.schema[self.axis].levels
        own = evidence.only_levels(self.axis, np.flatnonzero(column_prints(levels) % SHARDS == shard))
        kept = {label: part for label, part in own.parts.items() if not shard or self.axis in part.axes}
        return Evidence(own.schema, kept)


def _column_at(column: Column, positions: Positions) -> Column:
    return replace(column, levels=column.levels.take(number_array(positions)))


def _gathered(
    schema: Schema, evidences: Sequence[Evidence], positions: Sequence[Mapping[Axis, Positions]], label: Label
) -> Part:
    having = [(e.parts[label], p) for e, p in zip(evidences, positions, strict=True) if label in e.parts]
    axes = having[0][0].axes
    first = having[0][0].statistics
    sizes = [first.n.shape[i] if axis is None else len(schema[axis].levels) for i, axis in enumerate(axes)]
    every = [np.arange(size) for size in sizes]
    if len(having) == 1 and all(
        axis is None or np.array_equal(having[0][1][axis], all_) for axis, all_ in zip(axes, every, strict=True)
    ):
        return having[0][0]
    places = [
        [all_ if axis is None else place[axis] for axis, all_ in zip(axes, every, strict=True)] for _, place in having
    ]
    kind = max((type(part.statistics) for part, _ in having), key=lambda kind: len(kind.__mro__))
    return Part(axes, kind.gather([part.statistics for part, _ in having], places, sizes))
