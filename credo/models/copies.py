"""Copies of rows: the same cells and class, in more rows than chance explains.

A copied row would predict itself if its copies stayed behind when it is held out. So copies are held out together. Rows
may also be the same by chance, as where two yes/no columns are all there is; these are rows like any others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.core.membership import Codes
from credo.data.fingerprints import MISSING, Fingerprints, mixed
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class Repeats:
    """The distinct rows of a table, by their fingerprints, and how many rows there are of each."""

    prints: Fingerprints  # (distinct rows,) in order
    which: NDArray[np.intp]  # (rows,) the distinct row that each is
    count: NDArray[np.intp]  # (distinct rows,)
    left: NDArray[np.intp]  # (distinct rows,) copies counted as one

    @classmethod
    def of(
        cls, prints: Fingerprints, codes: Codes, cells: Fingerprints, texts: NDArray[np.bool_], stride: int = 1
    ) -> Repeats:
        """One in `stride` distinct rows of the table is here. cells: (columns, rows); texts: (columns,)"""
        distinct, first, which, count = np.unique(prints, return_index=True, return_inverse=True, return_counts=True)
        if len(distinct) == len(prints):
            return cls(distinct, which, count, count)
        times = int(np.gcd.reduce(count))  # the whole table, so often
        once = count // times
        alike = stride / times * _same_by_chance(codes, cells, texts)[first]
        return cls(distinct, which, count, np.where(once - 1 > 2 * (alike + np.sqrt(alike)), 1, once))

    @property
    def copied(self) -> Fingerprints:
        """Of the rows that have copies, in order."""
        return self.prints[self.left < self.count]


def _same_by_chance(codes: Codes, cells: Fingerprints, texts: NDArray[np.bool_]) -> Array:
    """The expected number of other rows that are the same as each, if columns are independent given the class. (rows,)

    (n - 1) Π (the share of its class's n rows that have the same cell); no two texts are the same by chance.
    """
    n = np.bincount(codes)[codes]
    log_share = np.log(np.maximum(n - 1, 1e-9))
    for column, text in zip(cells, texts, strict=True):
        pairs = mixed(column) ^ mixed(codes.astype(np.uint64), salt=3)
        _, which, count = np.unique(pairs, return_inverse=True, return_counts=True)
        shared = np.log(count[which] / n)
        log_share += np.where(column == MISSING, shared, -np.inf) if text else shared
    return np.asarray(np.exp(log_share))
