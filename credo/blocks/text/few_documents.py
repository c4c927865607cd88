"""Words of few documents scored by NumPy, which is faster than loading Numba.

The formulas are those of credo._kernels.text.documents, for all words of all documents at once; arrays whose last axis
is words are summed by document. The choice depends on sizes alone, so that the same documents are always scored in the
same way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.core.membership import Codes, Hard
from credo.core.statistics import RESIDUAL_WEIGHT, Positions
from credo.data.word_counts import Documents
from credo.numerics.exact import Array
from credo.numerics.special import log_rising

# Scores of words (words of documents x classes x settings): for fewer, plain Python is as fast; for more, loading Numba
# pays.
FEW_SCORES = range(2**9, 2**21)
FEW_TABLE_CELLS = 2**20  # cells (words x classes), up to which a table is dense


def are_few(documents: Documents, classes: int, settings: int = 1) -> bool:
    """Whether NumPy scores these documents."""
    return len(documents.words) * classes * settings in FEW_SCORES


def document_of_each(documents: Documents) -> Positions:
    """The document of each word. (words,)"""
    return np.repeat(np.arange(len(documents.known)), np.diff(documents.starts))


def summed(values: Array, row: Positions, count: int) -> Array:
    """Sums over the words of each document; rows ascend. (..., words) -> (documents, ...)"""
    out = np.zeros((count, *values.shape[:-1]))
    if len(row):
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        out[row[starts]] = np.moveaxis(np.add.reduceat(values, starts, axis=-1), -1, 0)
    return out


def summed_by_class(values: Array, row: Positions, codes: Codes, shape: tuple[int, ...]) -> Array:
    """Sums over the words of each document and class. (words,) -> (documents, classes)"""
    documents, classes = shape
    return np.asarray(np.bincount(row * classes + codes, values, documents * classes), dtype=np.float64).reshape(shape)


def add_words_of_few(
    documents: Documents, amounts: Array, n: Array, logs: Array, weights: Array, least: float, a: float, drawn: bool,
    own: Hard, out: Array, lost: Array, tokens: Array, gone: NDArray[np.int64],
) -> None:  # fmt: skip
    """`add_words` for few documents."""
    there, count = np.flatnonzero(weights[documents.words] >= least), own.rows
    row, v, x = document_of_each(documents)[there], documents.words[there], amounts[there]
    mine = own.codes[row]
    taken = np.where(mine >= 0, own.weight[row] * x, 0.0)
    goes = weights[v] - taken < least
    gone += np.bincount(row[goes], minlength=count)
    lost += summed(n.T[:, v[goes]], row[goes], count)
    stays = np.flatnonzero(~goes)
    row, v, x = row[stays], v[stays], x[stays]
    mine, taken = mine[stays], taken[stays]
    tokens += np.bincount(row, x, count)
    here = np.flatnonzero(mine >= 0)
    lost += summed_by_class(taken[here], row[here], mine[here], lost.shape)
    z = n.T[:, v] + a  # (classes, words)
    z[mine[here], here] = np.maximum(z[mine[here], here] - taken[here], a)
    with np.errstate(divide="ignore"):
        found = logs.T[:, v]
        found[mine[here], here] = np.log(z[mine[here], here])
    found *= x
    again = np.flatnonzero(x > 1) if drawn else here[:0]
    if len(again):
        found[:, again] = np.where(z[:, again] > 0, log_rising(z[:, again], x[again]), -np.inf)
    out += summed(found, row, count)


def add_presences_of_few(
    documents: Documents, n: Array, odds: Array, absent: Array, weights: Array, least: float, a: float, texts: Array,
    own: Hard, out: Array, unseen: NDArray[np.int64], zeros: NDArray[np.int64],
) -> None:  # fmt: skip
    """`add_presences` for few documents."""
    row, v, count = document_of_each(documents), documents.words, own.rows
    alone = (own.codes[row] >= 0) & (weights[v] - own.weight[row] < least)
    never = alone & (n[v].sum(1) - own.weight[row] < RESIDUAL_WEIGHT)
    unseen += np.bincount(row[never], minlength=count)
    there = np.flatnonzero(weights[v] >= least)
    row, v, alone = row[there], v[there], alone[there]
    found = np.where(alone, -absent.T[:, v], odds.T[:, v])  # (classes, words)
    here = np.flatnonzero(own.codes[row] >= 0)
    mine, w, only = own.codes[row[here]], own.weight[row[here]], alone[here]
    held, others = n[v[here], mine] - w + a, texts[mine] - n[v[here], mine] + a - w
    size = np.log(texts[mine] - w + 2 * a)
    np.subtract.at(zeros, row[here], (others == 0).astype(np.int64))
    with np.errstate(divide="ignore"):
        present = np.where(only, 0.0, np.log(np.maximum(held, 0.0)) - size)
        found[mine, here] = present - (np.log(np.where(others > 0, others, 1.0)) - size)
    out += summed(found, row, count)
