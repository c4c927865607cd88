"""Rows as observations: the meaning of weights and repeated rows.

A row of weight 3 is three rows. Rows that are equal by chance are separate observations. Copies (models.copies) are one
observation and are held out together. The total weight is at most Kish's effective sample size.
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
    """Rows repeated by their weights."""

    rows: NDArray[np.intp]  # the row of each part
    weight: Array  # the part's share of the row's weight: a whole number if the weight is one
    times: Array  # the number of parts of the row

    @classmethod
    def of(cls, rows: NDArray[np.intp], weight: Array, unit: float) -> Parts:
        """The parts of some rows, given the weights of all: a row of weight w has about w/unit parts, at least one.

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
    """The parts that are observations, and their weights."""

    chosen: NDArray[np.bool_]  # (parts,)
    mass: Array  # (chosen,) the weight of all copies, as in the evidence
    weight: Array  # (chosen,) copies count as one

    @classmethod
    def of(
        cls, weight: Array, times: Array, prints: Fingerprints, codes: Codes, cells: Fingerprints,
        texts: NDArray[np.bool_], stride: int = 1, expected: Array | None = None,
    ) -> Observations:  # fmt: skip
        """The observations among parts of rows (see `Parts` and `Repeats`)."""
        found = Repeats.of(prints, codes, cells, texts, stride, expected)
        if len(found.prints) == len(prints):
            return cls(np.ones(len(prints), dtype=bool), weight, _rescaled(weight))
        total, given = np.bincount(found.which, weight), np.rint(np.bincount(found.which, 1 / times))
        chosen, copied = earlier(found.which) < found.left[found.which], (found.left < found.count)[found.which]
        mass = np.where(copied, (total / found.left)[found.which], weight)[chosen]
        own = np.where(copied, (total / np.maximum(given, found.left))[found.which], weight)[chosen]
        return cls(chosen, mass, _rescaled(own))


def _rescaled(weight: Array) -> Array:
    """Weights scaled so that their sum is at most the effective sample size (Σw)²/Σw²."""
    return weight * min(1.0, float(weight.sum() / (weight**2).sum()))
