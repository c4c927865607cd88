"""A sample of the rows that have a target and a weight, drawn on the workers: no other row travels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from credo import engines
from credo.core.learning import RowWeights, Weights
from credo.data import Batch, Source, cells
from credo.data.arrow_arrays import numpy_array
from credo.data.cutting import joined
from credo.numerics.exact import Array


class Lots(NamedTuple):
    """The number of rows, the number that can be drawn, and the lowest of their random numbers."""

    rows: int
    known: int
    lowest: Array  # in order


@dataclass(frozen=True, eq=False)
class DrawLots:
    """The job of one batch: a random number for each row, seeded by the batch's first row."""

    weights: RowWeights
    target: str
    most: int

    def __call__(self, batch: Batch) -> Lots:
        lots = self.of(batch)
        known = lots[np.isfinite(lots)]
        return Lots(batch.rows, len(known), np.sort(known)[: self.most])

    def of(self, batch: Batch) -> Array:
        """Uniform between 0 and 1; ∞ for rows without a target or a weight. (rows,)"""
        lots = np.random.default_rng([0, batch.start]).random(batch.rows)
        known = numpy_array(cells.missing(batch.column(self.target)).is_valid())
        return np.where(known & (self.weights.of_rows(batch) > 0), lots, np.inf)

    def total(self, parts: Sequence[Lots]) -> Lots:
        lowest = np.sort(np.concatenate([part.lowest for part in parts]))[: self.most]
        return Lots(sum(part.rows for part in parts), sum(part.known for part in parts), lowest)


@dataclass(frozen=True, eq=False)
class TakeDrawn:
    """The job of one batch: its rows with a random number up to `most`, and their weights."""

    draw: DrawLots
    most: float

    def __call__(self, batch: Batch) -> tuple[Batch, Array]:
        rows = np.flatnonzero(self.draw.of(batch) <= self.most)
        return batch.take(rows), self.draw.weights.of_rows(batch)[rows]


def sampled_rows(
    table: Source, target: str, weights: Weights, most: int, few: bool = False
) -> tuple[Source, Array] | None:
    """At most `most` rows that have a target and a weight, in memory, and their weights. None if there are none; and,
    unless `few`, if the table has no more than `most` rows."""
    draw = DrawLots(weights.of_a_row, target, most)
    lots = engines.reduce(draw, weights.partitions(table, [target]), draw.total)
    if lots is None or not lots.known or (lots.rows <= most and not few):
        return None
    drawn = engines.map(TakeDrawn(draw, float(lots.lowest[-1])), weights.partitions(table, table.names))
    parts = [part for part in drawn if part[0].rows]
    whole = joined([batch.only(table.names) for batch, _ in parts])
    return Source.of_batch(replace(whole, weight=None)), np.concatenate([weight for _, weight in parts])
