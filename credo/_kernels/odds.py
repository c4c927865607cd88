"""Log-odds of words, each damped by its own uncertainty: documents added up, scored, and left out one by one.

The words of document i are at starts[i] to starts[i + 1]. Tables are (words, classes).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import late_kernel, late_kernel_of

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Integers = NDArray[np.int64]

GRID = 2.0**30  # contributions are whole multiples of 1/GRID, so that sums of millions are exact in any order


@late_kernel
def add_contributions(
    words: Codes, counts: Codes, starts: Integers, groups: Codes, weight: Array, out: Array, documents: Array
) -> None:
    """out (words, groups) += weight · log(1 + x)/‖log(1 + x)‖, x being how often a document holds a word; documents
    (words, groups) += weight, once for each document that holds it."""
    for i in range(len(starts) - 1):
        squares = 0.0
        for at in range(starts[i], starts[i + 1]):
            squares += math.log1p(counts[at]) ** 2
        for at in range(starts[i], starts[i + 1]):
            own = weight[i] * math.log1p(counts[at]) / math.sqrt(squares)
            out[words[at], groups[i]] += math.floor(own * GRID + 0.5) / GRID
            documents[words[at], groups[i]] += weight[i]


@late_kernel_of(lambda words, *rest: words.size * rest[1].shape[1])
def add_odds(
    words: Codes,
    counts: Codes,
    table: Array,
    documents: Array,
    least: float,
    totals: Array,
    everything: Array,
    doubts: Array,
    powers: Array,
    starts: Integers,
    own: Codes,
    weight: Array,
    out: Array,
) -> None:
    """out (documents, classes, choices) += Σ q ℓ z²/(z² + c) / ‖q‖ over a document's words.

    ℓ = log (n + a)/(r + a) - log (N + aV)/(R + aV): n of a word's sum t = n + r is the class's, N of all words' sum
    likewise, V words are known, and a is a tenth of what a word adds to a document on average, u. 1/var(ℓ) =
    (n + a)(r + a)/(t + 2a)/u; z² = ℓ²/var. q = log(1 + x)·(log (D + 1)/(d + 1) + 1)^p, d of D documents holding the
    word. Choices are pairs of c (doubts) and p (powers).

    documents (words,) is d; a word of less than `least` isn't there. totals (classes,) is N; everything is [V, Σd, D].
    A document of class `own` (-1: of none) is first taken out of all of these, with its weight.
    """
    classes, choices = table.shape[1], len(doubts)
    base, cell, size = np.zeros(classes), np.zeros(classes), np.zeros(classes)
    score, squares, share = np.zeros((classes, choices)), np.zeros(choices), np.zeros(choices)
    whole = 0.0
    for k in range(classes):
        whole += totals[k]
    for i in range(len(starts) - 1):
        mine, w = own[i], weight[i]
        norm, taken, gone, places = 0.0, 0.0, 0, 0.0
        if mine >= 0:
            for at in range(starts[i], starts[i + 1]):
                norm += math.log1p(counts[at]) ** 2
            norm = math.sqrt(norm)
            for at in range(starts[i], starts[i + 1]):
                v = words[at]
                if documents[v] >= least:
                    taken += math.floor(w * math.log1p(counts[at]) / norm * GRID + 0.5) / GRID
                    places += w
                    gone += documents[v] - w < least
        mass, places = whole - taken, everything[1] - places
        if mass <= 0.0 or places <= 0.0:
            continue
        unit = mass / places
        a = 0.1 * unit
        room = a * (everything[0] - gone)
        number = everything[2] - (w if mine >= 0 else 0.0)
        for k in range(classes):
            size[k] = max(totals[k] - (taken if k == mine else 0.0), 0.0)
            base[k] = math.log((size[k] + room) / (mass - size[k] + room))
        score[:] = 0.0
        squares[:] = 0.0
        for at in range(starts[i], starts[i + 1]):
            v = words[at]
            seen = documents[v] - (w if mine >= 0 else 0.0)
            if documents[v] < least or seen < least:
                continue
            x = math.log1p(counts[at])
            rare = math.log((number + 1.0) / (seen + 1.0)) + 1.0
            for m in range(choices):
                share[m] = x * rare ** powers[m]
                squares[m] += share[m] * share[m]
            t = 0.0
            for k in range(classes):
                cell[k] = table[v, k]
                if k == mine:
                    cell[k] = max(cell[k] - math.floor(w * x / norm * GRID + 0.5) / GRID, 0.0)
                t += cell[k]
            for k in range(classes):
                here, there = cell[k] + a, t - cell[k] + a
                odds = math.log(here / there) - base[k]
                sure = odds * odds * here * there / (t + 2.0 * a) / unit
                for m in range(choices):
                    score[k, m] += share[m] * odds * sure / (sure + doubts[m])
        for m in range(choices):
            if squares[m] > 0.0:
                f = 1.0 / math.sqrt(squares[m])
                for k in range(classes):
                    out[i, k, m] += f * score[k, m]
