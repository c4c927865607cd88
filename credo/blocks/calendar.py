"""Weekdays, months and hours of dates, as categories: patterns that a date as a number doesn't show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from credo.blocks.block import Block, Settings, column_labels
from credo.blocks.categories import Categories, TableLikelihood, concentration
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Codes, Membership
from credo.data import Batch
from credo.data.schema import CalendarPart, Derived, Schema
from credo.numerics.exact import Array

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
CALENDAR_VALUES: dict[CalendarPart, tuple[str, ...]] = {
    "weekday": WEEKDAYS,
    "month": MONTHS,
    "hour": tuple(f"{hour:02} h" for hour in range(24)),
}
DAY_SECONDS = 86_400


def part_codes(days: Array, part: CalendarPart) -> Any:
    """The weekday, month or hour of each time, given in days since 1970; -1 where it is missing.

    >>> part_codes(np.array([0.0, 1.5, np.nan]), "weekday").tolist()  # a Thursday and a Friday
    [3, 4, -1]
    """
    known = np.isfinite(days)
    seconds = np.round(np.where(known, days, 0.0) * DAY_SECONDS).astype(np.int64)  # rounded: days as floats are inexact
    whole, rest = np.divmod(seconds, DAY_SECONDS)
    if part == "weekday":
        codes = (whole + 3) % 7
    elif part == "month":
        codes = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    else:
        codes = rest // 3600
    return np.where(known, codes, -1)


@dataclass(frozen=True)
class Calendar(Block):
    """P(weekday | class), P(month | class) or P(hour | class) of each column of dates, with a Dirichlet prior."""

    names: tuple[str, ...]
    part: CalendarPart

    @property
    def counted(self) -> frozenset[Any]:
        return frozenset({(self.part, self.names)})

    def keeps(self, label: Label) -> bool:
        return self.keeps_column(label, self.part)

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        found = Categories(self.names).summarise(_derived(batch, self.names, self.part), member, groups)
        parts = {
            label._replace(derived=self.part): Part((groups, Derived(self.part, label.name)), part.statistics)
            for label, part in found.parts.items()
        }
        return Evidence(Schema(tuple(replace(column, derived=self.part) for column in found.schema)), parts)

    def likelihood(self, evidence: Evidence, settings: Settings) -> CalendarLikelihood:
        columns = tuple(replace(evidence.schema[Derived(self.part, name)], derived="") for name in self.names)
        counts = tuple(evidence[label].n.value for label in column_labels(self.names, self.part))
        prior = tuple(concentration(column, settings) for column in columns)
        return CalendarLikelihood(columns, counts, prior, settings, part=self.part)


@dataclass(frozen=True, eq=False)
class CalendarLikelihood(TableLikelihood):
    """log θ of each weekday, month or hour; an unseen one is ignored. Dates are sampled as numbers, not from here."""

    part: CalendarPart = "weekday"

    def read(self, batch: Batch) -> Codes:
        return super().read(_derived(batch, self.names, self.part))


def _derived(batch: Batch, names: Sequence[str], part: CalendarPart) -> Batch:
    """The weekday, month or hour of each date, as a column of words."""
    words = pa.array(CALENDAR_VALUES[part])
    columns = {}
    for name in names:
        codes = part_codes(batch.numbers(name), part)
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0, type=pa.int32()), words)
    return Batch(batch.start, batch.rows, columns, taken=batch.taken)
