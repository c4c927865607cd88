"""Log-odds of the words of few documents by NumPy, which is faster than loading Numba.

The formulas are those of credo._kernels.text.log_odds, for all words of all documents at once (see few_documents).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.text.log_odds import GRID
from credo.blocks.text.few_documents import (
    FEW_SCORES,
    FEW_TABLE_CELLS,
    are_few,
    document_of_each,
    summed,
    summed_by_class,
)
from credo.core.membership import Hard
from credo.core.sparse import Sparse
from credo.data.word_counts import Documents
from credo.numerics.exact import Array

MOST_REPETITIONS = 1000  # of a word in a document, at most


class WordStatistics(NamedTuple):
    """The statistics of words."""

    table: Sparse  # (words, classes)
    holding: Array  # (words,) documents that contain each word; 0 for words that are cut
    least: float  # with fewer documents, a word is absent
    totals: Array  # (classes,)
    everything: Array  # V, Σd, D: words, documents that contain them, all documents


def are_few_scores(documents: Documents, table: Sparse, settings: int = 1) -> bool:
    """Whether NumPy scores these documents."""
    return hold_little(documents) and is_small(table) and are_few(documents, table.width, settings)


def hold_little(documents: Documents) -> bool:
    """Whether NumPy computes the shares of words in these documents."""
    return len(documents.words) < FEW_SCORES.stop and int(documents.counts.max(initial=0)) <= MOST_REPETITIONS


def is_small(table: Sparse) -> bool:
    return table.shape[0] * table.width <= FEW_TABLE_CELLS


def shares_of_words(documents: Documents) -> Array:
    """log(1 + x)/‖log(1 + x)‖ for each word with count x in a document, with the same bits as the kernel."""
    logs, row = _logs(documents.counts), document_of_each(documents)
    return _on_grid(logs / np.sqrt(np.bincount(row, logs * logs, len(documents.known)))[row])


class OddsLeftOut(NamedTuple):
    """Log-odds of the words of documents before damping, each document left out of its class."""

    shape: tuple[int, int]  # (documents, classes)
    row: NDArray[np.intp]  # (words,) the document of each
    logs: Array  # (words,) log(1 + x)
    rarity: Array  # (words,) idf
    odds: Array  # (classes, words)
    sure: Array  # (classes, words) z²


def odds_left_out(documents: Documents, own: Hard, sums: WordStatistics) -> OddsLeftOut:
    table, row, v, logs = sums.table.value, document_of_each(documents), documents.words, _logs(documents.counts)
    weight = np.where(own.codes >= 0, own.weight, 0.0)
    left, given = _sums_left_out(documents, own, sums, table, weight)
    seen = sums.holding[v] - weight[row]
    kept = np.flatnonzero((sums.holding[v] >= sums.least) & (seen >= sums.least) & left.some[row])
    row, v, logs, given, seen = row[kept], v[kept], logs[kept], given[kept], seen[kept]
    rarity = np.log((left.number[row] + 1) / (seen + 1)) + 1
    n, mine = table.T[:, v], own.codes[row]  # (classes, words)
    here = np.flatnonzero(mine >= 0)
    n[mine[here], here] = np.maximum(n[mine[here], here] - given[here], 0.0)
    a, t = left.a[row], n.sum(0)
    above, below = n + a, t - n + a
    odds = np.log(above / below) - left.base.T[:, row]
    sure = above * below / ((t + 2 * a) * (10 * a)) * odds * odds
    return OddsLeftOut((own.rows, len(sums.totals)), row, logs, rarity, odds, sure)


def scores_left_out(words: OddsLeftOut, damping: Array, powers: Array) -> Array:
    """The scores of `add_odds`. (documents, classes, damping, powers)"""
    shape, row, logs, rarity, odds, sure = words
    out = np.zeros((*shape, len(damping), len(powers)))
    if not len(row):
        return out
    share = logs * rarity ** powers[:, None]  # (powers, words)
    damped = odds * sure / (sure + damping[:, None, None])  # (damping, classes, words)
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    for p, q in enumerate(share):
        total = np.add.reduceat(damped * q, starts, axis=2) / np.sqrt(np.add.reduceat(q * q, starts))
        out[row[starts], :, :, p] = total.transpose(2, 1, 0)
    return out


class _Left(NamedTuple):
    """The sums, each document left out."""

    some: NDArray[np.bool_]  # (documents,) whether other documents are left
    number: Array  # (documents,) of other documents
    a: Array  # (documents,)
    base: Array  # (documents, classes)


def _sums_left_out(
    documents: Documents, own: Hard, sums: WordStatistics, table: Array, weight: Array
) -> tuple[_Left, Array]:
    """The sums, each document left out; and the contribution of each word's document to its class. (words,)"""
    row, v, count = document_of_each(documents), documents.words, own.rows
    there, belongs = sums.holding[v] >= sums.least, (own.codes >= 0)[row]
    goes = there & belongs & (sums.holding[v] - weight[row] < sums.least)  # the word is absent without this document
    stays = there & belongs & ~goes
    given = np.where(belongs, weight[row] * shares_of_words(documents), 0.0)
    lost = np.zeros((count, table.shape[1]))
    lost += summed(table.T[:, v[goes]], row[goes], count)
    lost += summed_by_class(given[stays], row[stays], own.codes[row[stays]], lost.shape)
    places = np.bincount(row, np.where(goes, sums.holding[v], np.where(stays, weight[row], 0.0)), count)
    mass, places = sums.totals.sum() - lost.sum(1), sums.everything[1] - places
    some = (mass > 0) & (places > 0)
    a = 0.1 * np.where(some, mass, 1.0) / np.where(some, places, 1.0)
    room = a * (sums.everything[0] - np.bincount(row[goes], minlength=count))
    some &= room > 0
    size, room = np.maximum(sums.totals - lost, 0.0), np.where(some, room, 1.0)[:, None]
    base = np.log(np.where(some[:, None], (size + room) / (mass[:, None] - size + room), 1.0))
    return _Left(some, sums.everything[2] - weight, a, base), given


class Settled(NamedTuple):
    """The results of `settle_odds` for each word, each class and each cell of the table."""

    rarity: Array
    never: Array
    nothing: Array
    base: Array
    more: Array


def settled(sums: WordStatistics, base: Array, a: float, choice: tuple[float, float]) -> Settled:
    """`settle_odds` by NumPy."""
    (c, p), table = choice, sums.table
    rows, values = table.rows, table.high
    t = np.bincount(rows, values, len(sums.holding))
    spread, there = (t + 2 * a) * (10 * a), sums.holding >= sums.least
    rarity = np.where(there, (np.log((sums.everything[2] + 1) / (sums.holding + 1)) + 1) ** p, 0.0)
    never, nothing = np.log(a / (t + a)), a * (t + a) / spread
    less = _damped(never[rows] - base[table.columns], nothing[rows], c)
    here, rest = values + a, t[rows] - values + a
    more = _damped(np.log(here / rest) - base[table.columns], here * rest / spread[rows], c) - less
    return Settled(rarity, never, nothing, base, more)


def scores_of_new(documents: Documents, table: Sparse, known: Settled, c: float) -> Array:
    """The scores of `add_settled_odds` for documents outside the evidence. (documents, classes)"""
    out = np.zeros((len(documents.known), table.width))
    q = _logs(documents.counts) * known.rarity[documents.words]
    kept = np.flatnonzero(q)
    if not len(kept):
        return out
    row, v, q = document_of_each(documents)[kept], documents.words[kept], q[kept]
    scores = _damped(known.never[:, None] - known.base, known.nothing[:, None], c)  # (words, classes)
    scores[table.rows, table.columns] += known.more
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    total = np.add.reduceat(scores.T[:, v] * q, starts, axis=1) / np.sqrt(np.add.reduceat(q * q, starts))
    out[row[starts]] = total.T
    return out


def _damped(odds: Array, precision: Array, c: float) -> Array:
    """ℓ z²/(z² + c) with z² = ℓ²/var."""
    sure = odds * odds * precision
    return np.asarray(odds * sure / (sure + c))


def _logs(counts: NDArray[np.int32]) -> Array:
    """log(1 + x) by the C library: NumPy's may differ in the last bit."""
    logs = np.array([math.log1p(x) for x in range(int(counts.max(initial=0)) + 1)])
    return np.asarray(logs[counts])


def _on_grid(shares: Array) -> Array:
    return np.asarray(np.floor(shares * GRID + 0.5) / GRID)
