"""A sample of rows that have a target and a weight: drawn where they are, so that no others travel."""

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
from credo.models.mixture.rows import of_one_type
from credo.numerics.exact import Array


class Lots(NamedTuple):
    """How many rows there are, how many could be drawn, and the lowest numbers that these drew."""

    rows: int
    known: int
    lowest: Array  # in order


@dataclass(frozen=True, eq=False)
class DrawLots:
    """The job of one batch: a number between 0 and 1 for each row, which follows from the batch's place."""

    weights: RowWeights
    target: str
    most: int

    def __call__(self, batch: Batch) -> Lots:
        lots = self.of(batch)
        known = lots[np.isfinite(lots)]
        return Lots(batch.rows, len(known), np.sort(known)[: self.most])

    def of(self, batch: Batch) -> Array:
        """∞ of rows that can't be drawn. (rows,)"""
        lots = np.random.default_rng([0, batch.start]).random(batch.rows)
        known = numpy_array(cells.missing(batch.column(self.target)).is_valid())
        return np.where(known & (self.weights.of_rows(batch) > 0), lots, np.inf)

    def total(self, parts: Sequence[Lots]) -> Lots:
        lowest = np.sort(np.concatenate([part.lowest for part in parts]))[: self.most]
        return Lots(sum(part.rows for part in parts), sum(part.known for part in parts), lowest)


@dataclass(frozen=True, eq=False)
class TakeDrawn:
    """The job of one batch: its rows that drew no more than a number, and their weights."""

    draw: DrawLots
    most: float

    def __call__(self, batch: Batch) -> tuple[Batch, Array]:
        rows = np.flatnonzero(self.draw.of(batch) <= self.most)
        return batch.take(rows), self.draw.weights.of_rows(batch)[rows]


def sampled_rows(
    table: Source, target: str, weights: Weights, most: int, few: bool = False
) -> tuple[Source, Array] | None:
    """So many rows, or all that have a target and a weight, in memory, and their weights. None if there are none; and
    if the table has no more rows than that, whatever they are, unless `few` is true."""
    draw = DrawLots(weights.of_a_row, target, most)
    lots = engines.reduce(draw, weights.partitions(table, [target]), draw.total)
    if lots is None or not lots.known or (lots.rows <= most and not few):
        return None
    drawn = engines.map(TakeDrawn(draw, float(lots.lowest[-1])), weights.partitions(table, table.names))
    parts = [part for part in drawn if part[0].rows]
    whole = joined(of_one_type([batch.only(table.names) for batch, _ in parts]))
    return Source.of_batch(replace(whole, weight=None)), np.concatenate([weight for _, weight in parts])
