"""Checks that stored evidence has the form that a model produces: the same columns and kinds of statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from credo.core.evidence import Evidence, Part
    from credo.core.labels import Label
    from credo.data.schema import Column


def learned(evidence: Evidence, fresh: Evidence, beside: Mapping[Label, Part] | None = None) -> bool:
    """Whether evidence has the form of `fresh`, the evidence of a few rows; parts in `beside` are checked elsewhere."""
    own, new = ({column.axis: column for column in each.schema} for each in (evidence, fresh))
    spare = {axis for axis, column in own.items() if column.levels is None or column.derived == "currency"}
    own = {axis: column for axis, column in own.items() if axis in new or axis not in spare}
    parts = evidence.parts.keys() - (beside or {}).keys()
    return (
        own.keys() == new.keys()
        and parts == fresh.parts.keys() - (beside or {}).keys()
        and all(_same_column(own[axis], column) for axis, column in new.items())
        and all(_same_form(evidence.parts[label], fresh.parts[label]) for label in parts)
    )


def _same_column(own: Column, fresh: Column) -> bool:
    """Whether both columns have one kind, and declared values come first."""
    if (own.levels is None) != (fresh.levels is None) or (own.kind, own.declared) != (fresh.kind, fresh.declared):
        return False
    return own.levels is None or own.values[: own.declared] == fresh.values[: own.declared]


def _same_form(part: Part, fresh: Part) -> bool:
    """Whether both statistics have one type and the same axes; axes without levels have equal lengths."""
    if part.axes != fresh.axes or type(part.statistics) is not type(fresh.statistics):
        return False
    for own, new in zip(part.statistics.sums, fresh.statistics.sums, strict=True):
        free = [i for i in range(new.ndim) if i >= len(fresh.axes) or fresh.axes[i] is None]
        if own.ndim != new.ndim or any(own.shape[i] != new.shape[i] for i in free):
            return False
    return True
