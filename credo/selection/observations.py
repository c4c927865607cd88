"""Rows as observations: the meaning of weights and repeated rows.

A row of weight 3 is the row three times. Rows that are equal by chance are separate observations; copies are one
(models.copies), held out together. A copy in the table counts once, a row with a weight as often as the weight says;
all weights together count as Kish's effective sample size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.membership import Codes
from credo.data.fingerprints import Fingerprints, earlier
from credo.models.repeated_rows import Repeats
from credo.numerics.exact import Array


class Parts(NamedTuple):
    """Rows, each as often as its weight says."""

    rows: NDArray[np.intp]  # which row it is
    weight: Array  # its part of the row's weight: those of whole numbers are whole
    times: Array  # how often the row is here

    @classmethod
    def of(cls, rows: NDArray[np.intp], weight: Array, unit: float) -> Parts:
        """Of some rows, by the weights of all: one of weight w comes w times, or of too many about w/unit times.

        >>> Parts.of(np.arange(2), np.array([5.0, 1.0]), 2.0).weight.tolist()
        [2.0, 3.0, 1.0]
        """
        times = np.maximum(np.rint(weight[rows] / unit), 1.0)
        rows, times = np.repeat(rows, times.astype(np.intp)), np.repeat(times, times.astype(np.intp))
        each = weight[rows]
        if (times > 1).any():
            which = earlier(rows)
            whole = np.floor(each * (which + 1) / times) - np.floor(each * which / times)
            each = np.where(np.floor(each) == each, whole, each / times)
        return cls(rows, each, times)

    def take(self, kept: NDArray[np.bool_]) -> Parts:
        return Parts(self.rows[kept], self.weight[kept], self.times[kept])


class Observations(NamedTuple):
    """The observations among the parts, and their weights."""

    chosen: NDArray[np.bool_]  # (parts,)
    mass: Array  # (chosen,) of all its copies, as the evidence has it
    weight: Array  # (chosen,) copies counting as one

    @classmethod
    def of(
        cls, weight: Array, times: Array, prints: Fingerprints, codes: Codes, cells: Fingerprints,
        texts: NDArray[np.bool_], stride: int = 1, expected: Array | None = None,
    ) -> Observations:  # fmt: skip
        """Of parts of rows: see `Parts` and `Repeats`."""
        found = Repeats.of(prints, codes, cells, texts, stride, expected)
        if len(found.prints) == len(prints):
            return cls(np.ones(len(prints), dtype=bool), weight, _rescaled(weight))
        total, given = np.bincount(found.which, weight), np.rint(np.bincount(found.which, 1 / times))
        chosen, copied = earlier(found.which) < found.left[found.which], (found.left < found.count)[found.which]
        mass = np.where(copied, (total / found.left)[found.which], weight)[chosen]
        own = np.where(copied, (total / np.maximum(given, found.left))[found.which], weight)[chosen]
        return cls(chosen, mass, _rescaled(own))


def _rescaled(weight: Array) -> Array:
    """Weights whose sum is at most the effective sample size: (Σw)²/Σw²"""
    return weight * min(1.0, float(weight.sum() / (weight**2).sum()))
