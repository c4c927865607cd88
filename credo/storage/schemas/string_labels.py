"""Evidence of version 1: its parts and axes had strings for labels, such as "(rows)" or "(pairs) text".

Such a string can also be the name of a column: of a classifier's target, or of a column whose groups are estimated. So
it is read as a label only in the evidence of a classifier, and only if the column that it names is of the right kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from credo.core.evidence import Part
from credo.core.labels import ROWS, UNGROUPED, UNLABELLED, Label
from credo.data.schema import Axis, Column, Derived, Schema
from credo.storage.stored import Values

CLASSIFIER = {
    "(rows)": ROWS,
    "(rows without a class)": UNLABELLED,
    "(numbers)": Label("numbers"),
    "(logarithms)": Label("logarithms"),
    "(dates)": Label("dates"),
    "(together)": Label("one-hot"),
}
GROUPS = {"(rows)": ROWS, "(rows without a group)": UNGROUPED}
JOINT = re.compile(r"\(joint ([01]+)\)")
OF_TEXT = re.compile(r"\((texts|documents|odds|logs)\) (.*)", re.DOTALL)
DERIVED = re.compile(r"\((pairs|weekday|month|hour)\) (.*)", re.DOTALL)


def with_labels(values: Values) -> Values:
    """Version 2 of evidence: labels and axes have types of their own."""
    schema, parts = values["schema"], values["parts"]
    typed = isinstance(schema, Schema) and isinstance(parts, Mapping)
    if not typed or not all(isinstance(k, str) and isinstance(v, Part) for k, v in parts.items()):
        return values  # their types are checked next
    if "(rows without a class)" in parts:
        names = _Names(schema, parts)
        columns = tuple(map(names.column, schema))
        return {"schema": Schema(columns), "parts": {names.label(k): names.part(v) for k, v in parts.items()}}
    known = GROUPS if "(rows without a group)" in parts else {}
    return {"schema": schema, "parts": {known.get(k) or Label("column", k): v for k, v in parts.items()}}


def odds_by_axis(values: Values) -> Values:
    """Version 2 of a tuning: the pairs of a text column have an axis of their own."""
    odds = values["odds"]
    if not isinstance(odds, Mapping) or not all(isinstance(name, str) for name in odds):
        return values
    return {**values, "odds": {_derived(name) or name: each for name, each in odds.items()}}


class _Names:
    """The meaning of the strings in the evidence of a classifier."""

    def __init__(self, schema: Schema, parts: Mapping[str, Part]) -> None:
        self.kinds = schema.kinds
        self.target = next(iter(parts["(rows)"].axes), None) if "(rows)" in parts else None

    def axis(self, name: str) -> Axis:
        """A column, or what is derived from one of the right kind."""
        if name == self.target:
            return name
        if name == "(features)":
            return Derived("features")
        found = _derived(name)
        if found is None or self.kinds.get(found.column) != ("text" if found.what == "pairs" else "date"):
            return name
        return found

    def column(self, column: Column) -> Column:
        axis = self.axis(column.name)
        return column if isinstance(axis, str) else replace(column, name=axis.column, derived=axis.what)

    def part(self, part: Part) -> Part:
        axes = (self.axis(axis) if isinstance(axis, str) else axis for axis in part.axes)
        return Part(tuple(axes), part.statistics)

    def label(self, name: str) -> Label:
        if name in CLASSIFIER:
            return CLASSIFIER[name]
        if joint := JOINT.fullmatch(name):
            return Label("joint", pattern=tuple(digit == "1" for digit in joint[1]))
        if text := OF_TEXT.fullmatch(name):
            counted: Any = text[1]
            label = self._of_column(text[2])._replace(counted=counted)
            return label if self.kinds.get(label.name) == "text" else Label("column", name)
        return self._of_column(name)

    def _of_column(self, name: str) -> Label:
        axis = self.axis(name)
        return Label("column", axis) if isinstance(axis, str) else Label("column", axis.column, axis.what)


def _derived(name: str) -> Derived | None:
    """The derived axis that the string denotes, if any."""
    found = DERIVED.fullmatch(name)
    what: Any = found and found[1]
    return Derived(what, found[2]) if found else None
