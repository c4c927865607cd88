"""Pairs of rows that are more alike than chance explains: numbers that lie far closer together than others around them,
and documents that share far more words than documents do otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from credo.data.fingerprints import Fingerprints, mixed
from credo.numerics.arrays import Positions
from credo.numerics.exact import Array

NEIGHBOURS, LEAST_NEIGHBOURS = 10, 5  # density: the distance of the 10th nearest row of a class, or the 5th of few
NEAREST = 0.2  # of that distance, the largest one of a near copy
BY_CHANCE = 1e-3  # the expected number of rows that are as near, where the density is even
LEAST_COPIED = 0.05  # the least share of rows with near copies
SEARCHED_ROWS = 300  # rows whose neighbours are looked at first
CHUNK = 1 << 22  # distances at a time
SIGNS, BAND = 30, 3  # hashes of a document's words, and how many must agree before two documents are compared
COMMON, LEAST_WORDS = 0.1, 6  # words of more documents tell none apart; others, without which they may be alike
CLEARLY_SHARED, SHARED_WORDS = 0.7, 0.5  # shares of either document's words: a sign of copying; of any copy, if so
RANDOM_PAIRS, USUAL = 2000, 0.9  # pairs of documents, and the share of them that are no copies


class RowPairs(NamedTuple):
    """Pairs of similar rows."""

    first: Positions
    second: Positions


@dataclass(frozen=True, eq=False)
class RankedNumbers:
    """Numbers as shares of rows below them, in which densities are even whatever the units."""

    ranks: Array  # (rows, columns)
    ties: Array  # (rows,) the squared distance that equal values leave open
    known: Array  # (rows,) the share of known cells

    @classmethod
    def of(cls, columns: Array) -> RankedNumbers:
        """From the columns' cells, NaN where missing. (columns, rows)"""
        ranks, ties = list[Array](), np.zeros(columns.shape[1])
        for column in columns:
            missing = np.isnan(column)
            _, which, count = np.unique(column, return_inverse=True, return_counts=True, equal_nan=True)
            share = count / len(column)
            ranks.append(np.where(missing, 0.5, (np.cumsum(share) - share / 2)[which]))
            ties += share[which] ** 2 / 12
            if missing.any():
                ranks.append(missing.astype(np.float64))
        return cls(np.stack(ranks, axis=1), ties, 1 - np.isnan(columns).mean(0))

    def pairs(self, classes: Positions) -> RowPairs:
        """Pairs of rows of a class that are nearer than chance explains; none if there are few such rows."""
        members = [np.flatnonzero(classes == k) for k in range(classes.max() + 1)]
        members = [own for own in members if len(own) >= 3 * LEAST_NEIGHBOURS]
        step = max(1, sum(map(len, members)) // SEARCHED_ROWS)
        looked_at = [(own[::step], own) for own in members]
        near = sum(len(np.unique(first)) for rows, own in looked_at for first, _ in self._near(rows, own))
        if near <= LEAST_COPIED * sum(len(rows) for rows, _ in looked_at):
            return RowPairs(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
        found = [pairs for own in members for pairs in self._near(own, own)]
        return RowPairs(np.concatenate([each.first for each in found]), np.concatenate([each.second for each in found]))

    def _near(self, rows: Positions, others: Positions) -> Iterator[RowPairs]:
        """The other rows near each of these.

        In d dimensions, k (r/R)^d rows are expected within r, if k are within R; 2k within R' give d. A row with
        missing cells has fewer dimensions.
        """
        k = min(NEIGHBOURS, len(others) // 3)
        points = self.ranks[others]
        squares = (points**2).sum(1)
        for part in np.array_split(rows, -(-len(rows) * len(others) // CHUNK)):
            own = self.ranks[part]
            squared = np.maximum((own**2).sum(1)[:, None] + squares - 2 * own @ points.T, 0.0)
            squared[part[:, None] == others] = np.inf
            inner, outer = np.partition(squared, (k - 1, 2 * k - 1), axis=1)[:, [k - 1, 2 * k - 1]].T
            growth = float(np.median(np.log(np.maximum(outer, 1e-300) / np.maximum(inner, 1e-300)))) / 2
            dimensions = self.known[part] * np.log(2) / max(growth, 1e-9)
            least = np.minimum(NEAREST, (BY_CHANCE / k) ** (1 / np.maximum(dimensions, 1e-9)))
            near = squared + self.ties[part][:, None] < (least**2 * inner)[:, None]
            first, second = np.nonzero(near)
            yield RowPairs(part[first], others[second])


@dataclass(frozen=True, eq=False)
class WordSigns:
    """Documents by MinHash: two agree in a sign with probability |A ∩ B| / |A ∪ B| of their words (Broder 1997)."""

    rows: Positions  # documents of enough words
    signs: Fingerprints  # (signs, rows)

    @classmethod
    def of(cls, sizes: Positions, words: Positions, vocabulary: Fingerprints) -> WordSigns:
        """From each document's number of distinct words, and its words: codes of the vocabulary's fingerprints."""
        rare = (np.bincount(words, minlength=len(vocabulary)) <= COMMON * len(sizes))[words]
        sizes = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[rare], minlength=len(sizes))
        enough = sizes >= LEAST_WORDS
        rows, kept = np.flatnonzero(enough), words[rare][np.repeat(enough, sizes)]
        if not len(rows):
            return cls(rows, np.empty((SIGNS, 0), dtype=np.uint64))
        begin = np.cumsum(sizes[rows]) - sizes[rows]
        return cls(rows, np.stack([np.minimum.reduceat(mixed(vocabulary, s)[kept], begin) for s in range(SIGNS)]))

    def pairs(self, strata: Positions) -> RowPairs:
        """Pairs of documents that share more of their words than twice what nine in ten pairs do. Where few share most
        of them, there are none: replies that quote share half."""
        n = len(self.rows)
        if n < 2:
            return RowPairs(self.rows[:0], self.rows[:0])
        rng = np.random.default_rng(0)
        any_two = rng.integers(0, n, RANDOM_PAIRS), rng.integers(0, n, RANDOM_PAIRS)
        different = any_two[0] != any_two[1]
        usual = np.quantile(self._alike(any_two[0][different], any_two[1][different]), USUAL)
        own, found = strata[self.rows].astype(np.uint64), list[Positions]()
        for band in range(0, SIGNS, BAND):
            prints = mixed(own, salt=band)
            for sign in self.signs[band : band + BAND]:
                prints = mixed(prints ^ sign)
            order = np.argsort(prints, kind="stable")
            at = np.flatnonzero(prints[order][1:] == prints[order][:-1])
            found.append(np.stack([order[at], order[at + 1]], axis=1))
        first, second = np.unique(np.concatenate(found), axis=0).T
        alike = self._alike(first, second)
        clear = np.unique(np.stack([first, second])[:, alike >= max(CLEARLY_SHARED, 2 * usual)])
        near = alike >= (max(SHARED_WORDS, 2 * usual) if len(clear) > LEAST_COPIED * n else np.inf)
        return RowPairs(self.rows[first[near]], self.rows[second[near]])

    def _alike(self, first: Positions, second: Positions) -> Array:
        return np.asarray((self.signs[:, first] == self.signs[:, second]).mean(0))
