"""Copies of rows: rows with equal cells and class, more than chance explains.

A copied row would predict itself if its copies stayed in the training rows. So copies are held out together. Rows may
also be equal by chance, as with two boolean columns or dependent columns; these are treated as any other rows. Rows
that differ in a single cell tell the two apart: chance produces them, copying doesn't.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.core.membership import Codes
from credo.data.fingerprints import MISSING_PRINT, Fingerprints, mixed
from credo.numerics.exact import Array

MOST_ROWS_SEARCHED = 20_000  # larger tables aren't searched for copies
DISTINCT_COUNTS = 12  # with this many distinct rows, a common factor of all counts is no accident: 2⁻¹²
FALSE_DISCOVERY_RATE = 0.5  # among the rows reported as copies


@dataclass(frozen=True, eq=False)
class Repeats:
    """The distinct rows of a table, by their fingerprints, and how many rows there are of each."""

    prints: Fingerprints  # (distinct rows,) in order
    which: NDArray[np.intp]  # (rows,) the distinct row that each is
    count: NDArray[np.intp]  # (distinct rows,)
    left: NDArray[np.intp]  # (distinct rows,) copies counted as one

    @classmethod
    def of(
        cls,
        prints: Fingerprints,
        codes: Codes,
        cells: Fingerprints,
        texts: NDArray[np.bool_],
        stride: int = 1,
        by_model: Array | None = None,
    ) -> Repeats:
        """From one in `stride` distinct rows of the table. cells: (columns, rows); texts: (columns,)

        by_model: the number of equal rows that a model of the columns' dependence expects. (rows,)
        """
        distinct, first, which, count = np.unique(prints, return_index=True, return_inverse=True, return_counts=True)
        if len(distinct) == len(prints):
            return cls(distinct, which, count, count)
        times = _whole_table(count)
        once = count // times
        shares = _shares(codes, cells, texts)
        alike = stride / times * _same_by_chance(codes, shares)[first]
        if by_model is not None:
            alike = np.maximum(alike, by_model[first] / times)
        many = _beyond(once - 1, alike)  # expected if columns are independent
        rests, suspects = _rests(codes[first], cells[:, first]) if many.any() else [], 0
        while many.any() and many.sum() != suspects:
            suspects = many.sum()
            left = np.where(many, 1, once)  # near twins that may be copies are counted once
            near = np.stack([float(stride) * (np.bincount(rest, left)[rest] - left) for rest in rests])
            alike = np.maximum(alike, _same_by_near_twins(near, shares[:, first]))
            many &= _beyond(once - 1, alike)
        return cls(distinct, which, count, np.where(many, 1, once))

    @property
    def copied(self) -> Fingerprints:
        """The fingerprints of rows that have copies, in order."""
        return self.prints[self.left < self.count]


def _whole_table(count: NDArray[np.intp]) -> int:
    """The number of repetitions of the whole table: the common divisor of all counts. Round counts of few distinct
    rows, as in printed tables, aren't copies."""
    times = int(np.gcd.reduce(count))
    return times if len(count) >= DISTINCT_COUNTS or (count == times).mean() > 0.5 else 1


def _beyond(others: NDArray[np.intp], expected: Array) -> NDArray[np.bool_]:
    """Which counts exceed chance: clearly, and with a false discovery rate below one half (Benjamini and Hochberg 1995;
    counts are Poisson).
    """
    clearly = others > 2 * (expected + np.sqrt(expected))
    if not clearly.any():
        return clearly
    from scipy.special import gammainc

    chance = np.ones(len(others))
    chance[clearly] = gammainc(others[clearly], expected[clearly])  # P(at least this count)
    order = np.argsort(chance, kind="stable")
    few = np.flatnonzero(chance[order] <= FALSE_DISCOVERY_RATE / len(others) * np.arange(1, len(others) + 1))
    found = np.zeros(len(others), dtype=bool)
    found[order[: few[-1] + 1 if len(few) else 0]] = True
    return found & clearly


def _shares(codes: Codes, cells: Fingerprints, texts: NDArray[np.bool_]) -> Array:
    """The share of each row's cells in its class and, last, of its class in the table; texts are never equal by chance.
    (columns + 1, rows)"""
    found, n = np.empty((len(cells) + 1, len(codes))), np.bincount(codes)[codes]
    found[-1] = n / len(codes)
    for j, (column, text) in enumerate(zip(cells, texts, strict=True)):
        pairs = mixed(column) ^ mixed(codes.astype(np.uint64), salt=3)
        _, which, count = np.unique(pairs, return_inverse=True, return_counts=True)
        found[j] = np.where((column == MISSING_PRINT) | (not text), count[which] / n, 0.0)
    return found


def _same_by_chance(codes: Codes, shares: Array) -> Array:
    """The expected number of other rows that are the same as each, if columns are independent given the class. (rows,)

    (n - 1) Π (the share of its class's n rows that have the same cell)
    """
    n = np.bincount(codes)[codes]
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(np.log(np.maximum(n - 1, 1e-9)) + np.log(shares[:-1]).sum(0)))


def _rests(codes: Codes, cells: Fingerprints) -> list[NDArray[np.intp]]:
    """For each column and, last, the class: codes of rows that agree in all the others. (rows,) each"""
    salted = [mixed(column, salt=j + 4) for j, column in enumerate([*cells, codes.astype(np.uint64)])]
    total = np.zeros(len(codes), dtype=np.uint64)
    for column in salted:
        total += column
    return [np.unique(total - column, return_inverse=True)[1] for column in salted]


def _same_by_near_twins(near: Array, shares: Array) -> Array:
    """The expected number of rows that are the same, by how many differ in one cell only. Both: (columns + 1, rows)

    If a share s of rows has this cell, whatever the others are, k rows that differ in it alone go with k s/(1 - s) that
    don't. The other columns may depend on each other in any way. The result is the largest estimate, by one column or
    by all together; k is reduced by its standard error.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        odds_against = (1 - shares) / shares
        each = np.where(odds_against > 0, _less_error(near) / odds_against, 0.0).max(0)
        together = np.where(odds_against.sum(0) > 0, _less_error(near.sum(0)) / odds_against.sum(0), 0.0)
    return np.where((shares > 0).all(0), np.maximum(each, together), 0.0)  # equal texts are copies


def _less_error(count: Array) -> Array:
    return np.asarray(np.maximum(count - np.sqrt(count), 0.0))
