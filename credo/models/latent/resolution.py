"""The resolution of a column of numbers: the spacing of the lattice that its values lie on, if there is one.

Ages are whole years and lengths come in tenths. The density of a Gaussian on one repeated value is unbounded. But a
number rounded to x lies anywhere in x ± δ/2, so the variance of a group of such numbers is at least δ²/12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credo import engines
from credo.data import Batch, Source
from credo.numerics.exact import Array

CATEGORY_VALUES, CATEGORY_REPEATS = 10, 5  # so few distinct numbers, so often on average, are a category
SAMPLED_ROWS = 2000  # of a batch: enough to rule out a category or a lattice for most columns
FINEST_STEP = 1e-6  # relative to a column's range: finer lattices are ignored
FLOAT_ERROR = 8 * np.finfo(np.float64).eps  # relative rounding error of a number
LATTICE_ERROR = 1e-5  # relative to a lattice's spacing: rounding error of its values


@dataclass(frozen=True, eq=False)
class Recorded:
    """A summary of a column's numbers. Summaries of batches add."""

    values: Array | None  # the distinct numbers; None if there are many
    known: int  # cells
    missing: int
    ends: tuple[float, float]  # the smallest and the largest number
    step: float  # spacing of the lattice through the smallest; 0 if there is none, ∞ if all numbers are equal

    @property
    def is_few(self) -> bool:
        """Whether there are so few distinct numbers that the column is a category."""
        return self.values is not None and len(self.values) > 1 and self.known >= CATEGORY_REPEATS * len(self.values)

    @property
    def resolution(self) -> float:
        """The spacing of the lattice; 0 if so few numbers may lie on one by chance."""
        shown = self.values is None or (len(self.values) > 2 and self.is_few)
        return self.step if shown and np.isfinite(self.step) else 0.0

    @classmethod
    def of(cls, x: Array) -> Recorded:
        known = x[~np.isnan(x)]
        missing = len(x) - len(known)
        if not len(known):
            return cls(known, 0, missing, (np.inf, -np.inf), np.inf)
        ends = float(known.min()), float(known.max())
        first = np.unique(known[:SAMPLED_ROWS])
        many, step = len(first) > CATEGORY_VALUES, lattice_step(_differences(first))
        if many and not step:
            return cls(None, len(known), missing, ends, 0.0)
        values = np.unique(known)
        few = values if len(values) <= CATEGORY_VALUES else None
        return cls(few, len(known), missing, ends, lattice_step(_differences(values)))

    def __add__(self, other: Recorded) -> Recorded:
        both = None if self.values is None or other.values is None else np.union1d(self.values, other.values)
        few = both if both is not None and len(both) <= CATEGORY_VALUES else None
        ends = min(self.ends[0], other.ends[0]), max(self.ends[1], other.ends[1])
        apart = abs(self.ends[0] - other.ends[0])
        steps = np.array([each for each in (self.step, other.step, apart) if np.isfinite(each)])
        ended = not (self.step and other.step)
        step = 0.0 if ended else lattice_step(np.append(steps, ends[1] - ends[0]))
        return Recorded(few, self.known + other.known, self.missing + other.missing, ends, step)


def _differences(values: Array) -> Array:
    """Differences from the smallest value and between neighbours (a distant value would hide the others'), without
    those due to rounding."""
    gaps = np.diff(values)
    return np.append(values - values[0], gaps[gaps > FLOAT_ERROR * np.abs(values).max()])


def lattice_step(away: Array) -> float:
    """The largest spacing of which all these distances are multiples, up to rounding (Euclid's algorithm); 0 if it is
    too fine, ∞ without distances.

    >>> round(lattice_step(np.array([0.0, 0.6, 1.0])), 12), lattice_step(np.array([1.0, np.sqrt(2)]))
    (0.2, 0.0)
    """
    largest = float(away.max(initial=0.0))
    step = float(away[away > 0].min(initial=np.inf))
    while np.isfinite(step):
        if step < FINEST_STEP * largest:
            return 0.0
        left = np.abs(away - step * np.rint(away / step))
        left = left[left > LATTICE_ERROR * step]
        if not len(left):
            return step
        step = float(left.min())
    return step


@dataclass(frozen=True)
class FindRecorded:
    """The job of a batch: a summary of each column's numbers."""

    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> list[Recorded]:
        return [Recorded.of(batch.numbers(name)) for name in self.names]


def recorded(table: Source, names: Sequence[str]) -> dict[str, Recorded]:
    """Summaries of the number columns, from one more pass over the table."""
    found: list[Recorded] | None = None
    for part in engines.map(FindRecorded(tuple(names)), table.partitions(names)):
        found = part if found is None else [one + other for one, other in zip(found, part, strict=True)]
    return {} if found is None else dict(zip(names, found, strict=True))
