"""Joint counts of a node and its parents, over the observed configurations only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from credo.core.evidence import Part
from credo.core.membership import Codes, Hard
from credo.core.statistics import Counts, Positions, Statistics
from credo.numerics.exact import Array, Exact

Configurations = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ConfigurationCounts(Statistics):
    """n[c] = Σᵢ wᵢ [row i has the configuration c], for the configurations of a family with positive weight.

    A noisy-OR and a logistic node have no smaller statistics from which rows can be forgotten. They take memory in
    proportion to the distinct rows of the family, not to the table.

    >>> seen = ConfigurationCounts.of({"x": np.array([0, 1, 1]), "y": np.array([0, 1, 1])}, ["x", "y"], np.ones(3))
    >>> seen.cells.tolist(), seen.n.value.tolist()
    ([[0, 0], [1, 1]], [1.0, 2.0])
    """

    cells: Configurations  # (configurations, parents and the node), in lexicographic order

    @classmethod
    def of(cls, codes: Mapping[str, Codes], scope: Sequence[str], weight: Array) -> Self:
        rows = np.stack([np.asarray(codes[each], dtype=np.int32) for each in scope], axis=1)
        cells, which = np.unique(rows, axis=0, return_inverse=True)
        member = Hard.of(which.reshape(-1).astype(np.int32), len(cells), weight)
        return cls(Counts.of_rows(member).n[:, 0], cells)

    @property
    def sums(self) -> tuple[Any, ...]:
        return (self.n,)

    def __add__(self, other: Self) -> Self:
        return self.gather([self, other], (), ())

    def __sub__(self, other: Self) -> Self:
        return self + other * -1.0

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.n * factor, self.cells)._without_empty()

    __rmul__ = __mul__

    @classmethod
    def gather(cls, parts: Sequence[Self], places: Sequence[Sequence[Positions]], sizes: Sequence[int]) -> Self:  # noqa: ARG003 - its configurations name themselves
        cells, which = np.unique(np.concatenate([part.cells for part in parts]), axis=0, return_inverse=True)
        ends = np.cumsum([len(part.cells) for part in parts])[:-1]
        at = np.split(which.reshape(-1).astype(np.int64), ends)
        total = Exact.gather([part.n for part in parts], at, len(cells))
        return cls(total.reshape((len(cells),)), cells)._without_empty()

    def without(self, other: Self) -> Self | None:
        """This minus other; None if other can't have been part of it."""
        left = self - other
        return left if left.possible() and len(left.cells) <= len(self.cells) else None

    def possible(self) -> bool:
        """Whether each configuration has positive weight and occurs once, in order."""
        again = np.unique(self.cells, axis=0)
        return (
            bool((self.n.value > 0).all()) and len(self.cells) == len(self.n.high) and np.array_equal(again, self.cells)
        )

    def _without_empty(self) -> Self:
        """The counts without configurations of weight 0."""
        kept = self.n.value != 0
        return self if kept.all() else type(self)(self.n[kept], self.cells[kept])


def fits_family(part: Part, shape: tuple[int, ...]) -> bool:
    """Whether a part of evidence holds counts of configurations for a table of this shape."""
    counts = part.statistics
    if type(counts) is not ConfigurationCounts or part.axes != (None,) or counts.cells.ndim != 2:
        return False
    return counts.cells.shape[1] == len(shape) and bool(((counts.cells >= 0) & (counts.cells < shape)).all())
