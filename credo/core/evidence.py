"""Evidence: a schema and the statistics over its levels. It adds, and what was added can be taken away."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from credo.core.statistics import LITTLE, Positions, Statistics, exceeds
from credo.data.schema import Column, Schema, agree, unite
from credo.errors import EvidenceError
from credo.numerics.exact import Array

NEVER = "can't forget what was never learned: these rows aren't all in the evidence"
ROWS = "(rows)"  # the part that counts the rows themselves; no column may be called so
MANY = 2**12  # levels from which on what little is added to them waits until someone looks
WAITING = 8  # additions that wait one by one; then they are one


@dataclass(frozen=True, eq=False)
class Part:
    """Statistics whose first axes run over columns' levels (None: over something fixed)."""

    axes: tuple[str | None, ...]
    statistics: Any


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was seen: a schema and the statistics over its levels. Evidence of other rows adds to it."""

    schema: Schema
    parts: Mapping[str, Part] = field(default_factory=dict)

    @classmethod
    def total(cls, evidences: Sequence[Evidence]) -> Evidence:
        """The sum of many, added in their order; their levels unite."""
        if len(evidences) == 1:
            return evidences[0]
        schema, positions = unite([evidence.schema for evidence in evidences])
        names = dict.fromkeys(name for evidence in evidences for name in evidence.parts)
        return cls(schema, {name: _gathered(schema, evidences, positions, name) for name in names})

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence.total([self, other])

    def grown(self, new: Evidence) -> Evidence:
        """The sum, levels in their natural order. Where new is little beside this, it costs what new is: it waits."""
        if new.size > LITTLE * self.size or self.size < MANY:
            return (self + new).ordered()
        agree([self.schema, new.schema])
        return Growing([self, new])

    @property
    def size(self) -> int:
        """How many levels there are, of all columns."""
        return sum(len(column.levels) for column in self.schema if column.levels is not None)

    def __mul__(self, factor: float) -> Evidence:
        scaled = {name: Part(part.axes, part.statistics * factor) for name, part in self.parts.items()}
        return Evidence(self.schema, scaled)

    def __getitem__(self, name: str) -> Any:
        """The statistics of a part."""
        return self.parts[name].statistics

    def without(self, other: Evidence) -> Evidence:
        """What is left when other is taken away; refused where it can't have been part of this."""
        schema, (_, positions) = unite([self.schema, other.schema])
        for before, after in zip(self.schema, schema, strict=False):
            if before.levels is not None and len(after.levels) > len(before.levels):
                never = after.levels[len(before.levels)].as_py()
                name = before.name.rpartition(") ")[2]  # "(pairs) text" is what the text has
                raise EvidenceError(f"can't forget what was never learned: column {name!r} has no {never!r:.60}")
        left = dict(self.parts)
        for name in other.parts:
            if name not in self.parts:
                raise EvidenceError(NEVER)
            part = self.parts[name]
            taken = _gathered(self.schema, [other], [positions], name).statistics
            statistics = part.statistics.without(taken)
            if statistics is None:
                raise EvidenceError(NEVER)
            left[name] = Part(part.axes, statistics)
        return Evidence(self.schema, left)._without_empty_levels()

    def crowded(self, slack: float = 0.0) -> str | None:
        """The part, if there is one, with more observations of a group than the group has rows: no rows have such sums.

        Slack is the weight that rounding may have taken from rows.
        """
        if ROWS not in self.parts:
            return None
        (groups, *_), rows = self.parts[ROWS].axes, self[ROWS].weight
        own = (name for name, part in self.parts.items() if part.axes[:1] == (groups,))
        return next((name for name in own if exceeds(self[name].weight, rows, slack)), None)

    def _without_empty_levels(self) -> Evidence:
        kept = {}
        for column in self.schema:
            if column.levels is not None:
                seen = self.level_weights(column.name) > 0
                kept[column.name] = np.flatnonzero(seen | (np.arange(len(seen)) < column.declared))
        return self._at(kept)

    def knowing(self, other: Evidence) -> Evidence:
        """With the other's levels, but nothing else of it."""
        return Evidence.total([self, Evidence(other.schema)]).ordered()

    def level_weights(self, name: str) -> Array:
        """The weight of the rows behind each level of a column."""
        total = np.zeros(len(self.schema[name].levels))
        for part in self.parts.values():
            if name in part.axes:
                total = np.maximum(total, part.statistics.n.along(part.axes.index(name)))
        return total

    def ordered(self) -> Evidence:
        """With every column's levels in their natural order, however the rows came; words stay as they came."""
        return self._at({c.name: c.ordered()[1] for c in self.schema if c.levels is not None and c.kind != "text"})

    def only(self, *names: str) -> Evidence:
        """Some of the parts, and the columns that they speak of."""
        parts = {name: self.parts[name] for name in names}
        spoken = {axis for part in parts.values() for axis in part.axes} | set(names)
        return Evidence(Schema(tuple(column for column in self.schema if column.name in spoken)), parts)

    def column(self, name: str) -> Column:
        """As the schema has it."""
        return self.schema[name]

    @property
    def word_columns(self) -> list[str]:
        """The category columns whose values are words."""
        return _word_columns(self.schema)

    def beside(self, other: Evidence) -> Evidence:
        """With other parts about the same rows."""
        schema, (own, new) = unite([self.schema, other.schema])
        rest = {name: part for name, part in other.parts.items() if name not in self.parts}
        sides = ((self, own, self.parts), (other, new, rest))
        parts = {name: _gathered(schema, [e], [place], name) for e, place, some in sides for name in some}
        return Evidence(schema, parts).ordered()

    def keeping(self, names: Collection[str]) -> Evidence:
        """Those parts, and levels of what they speak of."""
        parts = {name: part for name, part in self.parts.items() if name in names}
        spoken = {axis for part in parts.values() for axis in part.axes}
        columns = (replace(c, levels=None, declared=0) if c.name not in spoken else c for c in self.schema)
        return Evidence(Schema(tuple(columns)), parts)

    def renamed(self, old: str, new: str) -> Evidence:
        """With a part, and the column of that name, called otherwise."""

        def name(other: str | None) -> str | None:
            return new if other == old else other

        parts = {name(n) or n: Part(tuple(map(name, part.axes)), part.statistics) for n, part in self.parts.items()}
        return Evidence(Schema(tuple(replace(c, name=name(c.name) or c.name) for c in self.schema)), parts)

    def only_levels(self, name: str, positions: Positions) -> Evidence:
        """Only those levels of a column; what is about others stays."""
        return self._at({name: positions})

    def at_levels(self, name: str, positions: Positions) -> Evidence:
        """Only those levels of a column, and of the others those that still have evidence."""
        return self._at({name: positions})._without_empty_levels()

    def _at(self, positions: Mapping[str, Positions]) -> Evidence:
        """Only those levels, in that order."""
        sizes = {name: len(self.schema[name].levels) for name in positions}
        positions = {n: p for n, p in positions.items() if not np.array_equal(p, np.arange(sizes[n]))}
        if not positions:
            return self
        parts = {}
        for name, part in self.parts.items():
            statistics: Statistics = part.statistics
            for axis, column in enumerate(part.axes):
                if column is not None and column in positions:
                    statistics = statistics.take(axis, positions[column])
            parts[name] = Part(part.axes, statistics)
        return Evidence(self.schema.replaced(_taken(self.schema[name], p) for name, p in positions.items()), parts)


class Growing(Evidence):
    """The ordered sum of evidence, first much and then little, which are added up when someone looks.

    What is about few levels, as the number of each class's rows is, can be looked at before.
    """

    def __init__(self, waiting: Sequence[Evidence]) -> None:
        self._waiting, self._whole = tuple(waiting), Evidence(Schema(()))  # that of none, as long as some wait

    @property
    def whole(self) -> Evidence:
        if waiting := self._waiting:
            self._whole = Evidence.total(waiting).ordered()
            self._waiting = ()  # last, so that two threads at worst do it twice
        return self._whole

    def __reduce__(self) -> tuple[Any, ...]:
        return Evidence, (self.schema, self.parts)

    @property
    def schema(self) -> Schema:
        return self.whole.schema

    @property
    def parts(self) -> Mapping[str, Part]:
        return self.whole.parts

    def __getitem__(self, name: str) -> Any:
        axes = next((each.parts[name].axes for each in self._waiting if name in each.parts), ())
        return self._about(axes, name).parts[name].statistics

    def column(self, name: str) -> Column:
        return self._about([name]).schema[name]

    @property
    def word_columns(self) -> list[str]:
        waiting = self._waiting  # whose types agree
        return _word_columns(waiting[0].schema if waiting else self.schema)

    def _about(self, columns: Collection[str | None], part: str | None = None) -> Evidence:
        """All that is known of some columns, and a part over them, unless they have many levels: then everything."""
        few = [
            Evidence(
                Schema(tuple(column for column in each.schema if column.name in columns)),
                {name: own for name, own in each.parts.items() if name == part},
            )
            for each in self._waiting
        ]
        return Evidence.total(few).ordered() if few and few[0].size < MANY else self.whole

    def grown(self, new: Evidence) -> Evidence:
        waiting = self._waiting
        if not waiting:
            return self.whole.grown(new)
        much, *little = waiting
        if sum(each.size for each in (*little, new)) > LITTLE * much.size:
            return self.whole.grown(new)
        for each in waiting:
            agree([each.schema, new.schema])
        return Growing([much, *little, new] if len(little) < WAITING else [much, Evidence.total([*little, new])])


def _word_columns(schema: Schema) -> list[str]:
    known = [column for column in schema if column.kind == "category" and column.levels is not None]
    return [column.name for column in known if len(column.levels) and pa.types.is_string(column.levels.type)]


def _taken(column: Column, positions: Positions) -> Column:
    return Column(column.name, column.kind, column.levels.take(pa.array(positions)), column.declared)


def _gathered(
    schema: Schema, evidences: Sequence[Evidence], positions: Sequence[Mapping[str, Positions]], name: str
) -> Part:
    having = [(e.parts[name], p) for e, p in zip(evidences, positions, strict=True) if name in e.parts]
    axes = having[0][0].axes
    first = having[0][0].statistics
    sizes = [first.n.shape[i] if axis is None else len(schema[axis].levels) for i, axis in enumerate(axes)]
    every = [np.arange(size) for size in sizes]
    places = [
        [all_ if axis is None else place[axis] for axis, all_ in zip(axes, every, strict=True)] for _, place in having
    ]
    kind = max((type(part.statistics) for part, _ in having), key=lambda kind: len(kind.__mro__))
    return Part(axes, kind.gather([part.statistics for part, _ in having], places, sizes))
