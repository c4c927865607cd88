"""Labelled examples: the distinct rows, and how often each was a negative and a positive example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from credo.errors import EvidenceError
from credo.numerics.arrays import Integers

LARGEST_INT64 = np.iinfo(np.int64).max
NO_ROW = LARGEST_INT64  # stands for the number of a row that doesn't exist


def different_rows(codes: Integers) -> tuple[Integers, NDArray[np.intp]]:
    """The distinct rows, in order, and the index of each row among them; rows are compared as one integer where it
    fits.

    >>> different_rows(np.array([[1, 0], [0, 2], [1, 0]]))[1].tolist()
    [1, 0, 1]
    """
    sizes = codes.max(axis=0, initial=0) + 1
    if prod(sizes.tolist()) < LARGEST_INT64:
        keys, which = np.unique(np.ravel_multi_index(tuple(codes.T), tuple(sizes)), return_inverse=True)
        return np.stack(np.unravel_index(keys, tuple(sizes)), axis=1).astype(np.int64), which.ravel()
    different, which = np.unique(codes, axis=0, return_inverse=True)
    return different, which.ravel()


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Counts of rows by their values and label. They add; counts are forgotten exactly."""

    codes: Integers  # (different rows, attributes), in order
    counts: Integers  # (different rows, 2): negative, positive
    first: Integers  # (different rows, 2): the number of the first row of that label, for error messages
    unlabelled: int = 0  # rows without a label, which were left out

    @classmethod
    def none(cls, attributes: int) -> LabelledRows:
        return cls(np.zeros((0, attributes), np.int64), np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64))

    @classmethod
    def of(cls, codes: Integers, positive: Integers, numbers: Integers) -> LabelledRows:
        """From codes and labels (1, 0; -1 where there is none)."""
        known = positive >= 0
        labels = np.eye(2, dtype=np.int64)[positive[known]]
        first = np.where(labels > 0, numbers[known][:, None], NO_ROW)
        return cls._united(codes[known], labels, first, int((~known).sum()))

    @classmethod
    def total(cls, parts: Sequence[LabelledRows]) -> LabelledRows:
        codes, counts, first = (
            np.concatenate(each) for each in zip(*((p.codes, p.counts, p.first) for p in parts), strict=True)
        )
        return cls._united(codes, counts, first, sum(part.unlabelled for part in parts))

    @classmethod
    def _united(cls, codes: Integers, counts: Integers, first: Integers, unlabelled: int) -> LabelledRows:
        different, which = different_rows(codes)
        total, earliest = np.zeros((len(different), 2), np.int64), np.full((len(different), 2), NO_ROW)
        np.add.at(total, which, counts)
        np.minimum.at(earliest, which, first)
        return cls(different, total, earliest, unlabelled)

    @property
    def n(self) -> int:
        """Rows with a label."""
        return int(self.counts.sum())

    @property
    def positives(self) -> Integers:
        """The different positive rows. (rows, attributes)"""
        return self.codes[self.counts[:, 1] > 0]

    @property
    def negatives(self) -> Integers:
        return self.codes[self.counts[:, 0] > 0]

    def __add__(self, later: LabelledRows) -> LabelledRows:
        """The sum; the other's rows are numbered after these."""
        begun = self.n + self.unlabelled
        first = np.where(later.first == NO_ROW, NO_ROW, later.first + begun)
        return LabelledRows.total([self, LabelledRows(later.codes, later.counts, first, later.unlabelled)])

    def __sub__(self, other: LabelledRows) -> LabelledRows:
        unlearned = LabelledRows(other.codes, -other.counts, np.full_like(other.first, NO_ROW), -other.unlabelled)
        left = LabelledRows.total([self, unlearned])
        if (left.counts < 0).any():
            raise EvidenceError("these rows weren't learned: they can't be forgotten")
        kept = left.counts.any(axis=1)
        first = np.where(left.counts > 0, left.first, NO_ROW)
        return LabelledRows(left.codes[kept], left.counts[kept], first[kept], max(left.unlabelled, 0))
