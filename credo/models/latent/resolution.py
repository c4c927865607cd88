"""The resolution of a column of numbers: the step of the lattice of its values, if there is one.

Ages are whole years and lengths come in tenths. A Gaussian on one repeated value would have unbounded density; but a
number that was rounded to x lies anywhere in x ± δ/2, and its variance δ²/12 is the least that a group of such numbers
has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credo import engines
from credo.data import Batch, Source
from credo.numerics.exact import Array

FEW_VALUES, FEW_TIMES = 10, 5  # so few numbers, each in so many rows on average, are a category
FIRST_ROWS = 2000  # of a batch, which show most columns to have more values, and no lattice
FINEST = 1e-6  # of a column's range: a lattice finer than that is none
ROUNDED = 8 * np.finfo(np.float64).eps  # of a number: by which calculations may move it
NEARLY = 1e-5  # of a lattice's step: by which rounding may move its values


@dataclass(frozen=True, eq=False)
class Recorded:
    """What a column's numbers are. All of it is pooled: that of several batches follows from that of each."""

    values: Array | None  # the different numbers, None where they are many
    known: int  # cells
    missing: int
    ends: tuple[float, float]  # the smallest and the largest number
    step: float  # of the lattice from the smallest; 0 where there is none, ∞ where all numbers are equal

    @property
    def is_few(self) -> bool:
        """Whether the numbers are so few that they are a category."""
        return self.values is not None and len(self.values) > 1 and self.known >= FEW_TIMES * len(self.values)

    @property
    def resolution(self) -> float:
        """The lattice's step; 0 where the numbers are so few that they may lie on one by chance."""
        shown = self.values is None or (len(self.values) > 2 and self.is_few)
        return self.step if shown and np.isfinite(self.step) else 0.0

    @classmethod
    def of(cls, x: Array) -> Recorded:
        known = x[~np.isnan(x)]
        missing = len(x) - len(known)
        if not len(known):
            return cls(known, 0, missing, (np.inf, -np.inf), np.inf)
        ends = float(known.min()), float(known.max())
        first = np.unique(known[:FIRST_ROWS])
        many, step = len(first) > FEW_VALUES, lattice_step(_differences(first))
        if many and not step:
            return cls(None, len(known), missing, ends, 0.0)
        values = np.unique(known)
        few = values if len(values) <= FEW_VALUES else None
        return cls(few, len(known), missing, ends, lattice_step(_differences(values)))

    def __add__(self, other: Recorded) -> Recorded:
        both = None if self.values is None or other.values is None else np.union1d(self.values, other.values)
        few = both if both is not None and len(both) <= FEW_VALUES else None
        ends = min(self.ends[0], other.ends[0]), max(self.ends[1], other.ends[1])
        apart = abs(self.ends[0] - other.ends[0])
        steps = np.array([each for each in (self.step, other.step, apart) if np.isfinite(each)])
        ended = not (self.step and other.step)
        step = 0.0 if ended else lattice_step(np.append(steps, ends[1] - ends[0]))
        return Recorded(few, self.known + other.known, self.missing + other.missing, ends, step)


def _differences(values: Array) -> Array:
    """From the smallest, and from neighbour to neighbour: with a distant value, others would coincide. Differences of
    rounding alone are excluded."""
    gaps = np.diff(values)
    return np.append(values - values[0], gaps[gaps > ROUNDED * np.abs(values).max()])


def lattice_step(away: Array) -> float:
    """The largest step of which all these distances are multiples, up to rounding (Euclid's algorithm); 0 where it is
    too fine to be one, ∞ of no distance.

    >>> round(lattice_step(np.array([0.0, 0.6, 1.0])), 12), lattice_step(np.array([1.0, np.sqrt(2)]))
    (0.2, 0.0)
    """
    largest = float(away.max(initial=0.0))
    step = float(away[away > 0].min(initial=np.inf))
    while np.isfinite(step):
        if step < FINEST * largest:
            return 0.0
        left = np.abs(away - step * np.rint(away / step))
        left = left[left > NEARLY * step]
        if not len(left):
            return step
        step = float(left.min())
    return step


@dataclass(frozen=True)
class FindRecorded:
    """The job of a batch: what the numbers of each column are."""

    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> list[Recorded]:
        return [Recorded.of(batch.numbers(name)) for name in self.names]


def recorded(table: Source, names: Sequence[str]) -> dict[str, Recorded]:
    """Of number columns; the table is read once more."""
    found: list[Recorded] | None = None
    for part in engines.map(FindRecorded(tuple(names)), table.partitions(names)):
        found = part if found is None else [one + other for one, other in zip(found, part, strict=True)]
    return {} if found is None else dict(zip(names, found, strict=True))
