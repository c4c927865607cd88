"""Log-odds of words, each damped by its uncertainty: documents are summed, scored, and left out one by one.

The words of document i are at starts[i] to starts[i + 1], and the classes of word v at rows[v] to rows[v + 1].
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.arrays import Array, Codes, Integers
from credo._kernels.jit import late_kernel, late_kernel_of

GRID = 2.0**30  # shares are integer multiples of 1/GRID, so that sums of millions are exact in any order


@late_kernel
def contribute(counts: Codes, starts: Integers, weight: Array, out: Array) -> None:
    """out = weight · log(1 + x)/‖log(1 + x)‖ for each word with count x in a document."""
    for i in range(len(starts) - 1):
        squares = 0.0
        for at in range(starts[i], starts[i + 1]):
            own = math.log1p(counts[at])
            squares += own * own
        for at in range(starts[i], starts[i + 1]):
            share = math.log1p(counts[at]) / math.sqrt(squares)
            out[at] = weight[i] * (math.floor(share * GRID + 0.5) / GRID)


@late_kernel_of(lambda rows, *rest: 2 * (rows.size + rest[0].size))
def settle_odds(
    rows: Integers, columns: Codes, values: Array, documents: Array, least: float, base: Array,
    everything: Array, a: float, c: float, p: float,
    rarity: Array, never: Array, nothing: Array, more: Array,
) -> None:  # fmt: skip
    """The parts of `add_odds` that are the same for all documents outside the evidence: for each word its idf, and ℓ
    (without the base) and 1/var of classes without the word; for each cell, the difference from these.
    """
    unit = 10.0 * a
    for v in range(len(documents)):
        t = 0.0
        for e in range(rows[v], rows[v + 1]):
            t += values[e]
        spread = (t + 2.0 * a) * unit
        there = documents[v] >= least
        rarity[v] = (math.log((everything[2] + 1.0) / (documents[v] + 1.0)) + 1.0) ** p if there else 0.0
        never[v], nothing[v] = math.log(a / (t + a)), a * (t + a) / spread
        for e in range(rows[v], rows[v + 1]):
            k = columns[e]
            odds = never[v] - base[k]
            sure = odds * odds * nothing[v]
            less = odds * sure / (sure + c)
            here, rest = values[e] + a, t - values[e] + a
            odds = math.log(here / rest) - base[k]
            sure = odds * odds * here * rest / spread
            more[e] = odds * sure / (sure + c) - less


@late_kernel_of(lambda words, *rest: words.size * len(rest[7]))
def add_settled_odds(
    words: Codes, counts: Codes, starts: Integers, rows: Integers, columns: Codes, rarity: Array, never: Array,
    nothing: Array, base: Array, more: Array, c: float, out: Array,
) -> None:  # fmt: skip
    """out (documents, classes) += the scores of `add_odds` for documents outside the evidence."""
    classes = len(base)
    score = np.zeros(classes)
    for i in range(len(starts) - 1):
        squares = 0.0
        for k in range(classes):
            score[k] = 0.0
        for at in range(starts[i], starts[i + 1]):
            v = words[at]
            q = math.log1p(counts[at]) * rarity[v]
            if q == 0.0:
                continue
            squares += q * q
            odds, sure = never[v], nothing[v]
            for k in range(classes):
                o = odds - base[k]
                s = o * o * sure
                score[k] += q * o * s / (s + c)
            for e in range(rows[v], rows[v + 1]):
                score[columns[e]] += q * more[e]
        if squares > 0.0:
            f = 1.0 / math.sqrt(squares)
            for k in range(classes):
                out[i, k] += f * score[k]


@late_kernel_of(lambda words, *rest: words.size * (4 + len(rest[6]) * (1 + 0.4 * len(rest[8]) * len(rest[9]))))
def add_odds(
    words: Codes,
    counts: Codes,
    rows: Integers,
    columns: Codes,
    values: Array,
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
    """out (documents, classes, doubts, powers) += Σ q ℓ z²/(z² + c) / ‖q‖ over a document's words.

    ℓ = log (n + a)/(r + a) - log (N + aV)/(R + aV), where n is the class's part of a word's sum t = n + r, N that of
    all V words' sum, and a is a tenth of a word's mean contribution u to a document. 1/var(ℓ) = (n + a)(r + a)/(t +
    2a)/u; z² = ℓ²/var. q = log(1 + x)·(log (D + 1)/(d + 1) + 1)^p, if d of D documents contain the word. c is one of
    the doubts, p one of the powers.

    A sparse table has the nonzero n. documents (words,) is d; a word below `least` is absent. totals (classes,) is N;
    everything is [V, Σd, D]. A document of class `own` (-1: none) is first subtracted from all of these, with its
    weight.
    """
    classes, many, more = len(totals), len(doubts), len(powers)
    base, odds, sure = np.zeros(classes), np.zeros(classes), np.zeros(classes)
    score, damped = np.zeros((many, more, classes)), np.zeros(classes)
    squares, share, lost = np.zeros(more), np.zeros(more), np.zeros(classes)
    whole = 0.0
    for k in range(classes):
        whole += totals[k]
    for i in range(len(starts) - 1):
        mine, w = own[i], weight[i]
        norm, taken, gone, places = 0.0, 0.0, 0, 0.0
        for k in range(classes):
            lost[k] = 0.0
        if mine >= 0:
            for at in range(starts[i], starts[i + 1]):
                each = math.log1p(counts[at])
                norm += each * each
            norm = math.sqrt(norm)
            for at in range(starts[i], starts[i + 1]):
                v = words[at]
                if documents[v] < least:
                    continue
                if documents[v] - w < least:  # the word is absent without this document
                    gone += 1
                    places += documents[v]
                    for e in range(rows[v], rows[v + 1]):
                        lost[columns[e]] += values[e]
                else:
                    places += w
                    lost[mine] += w * (math.floor(math.log1p(counts[at]) / norm * GRID + 0.5) / GRID)
            for k in range(classes):
                taken += lost[k]
        mass, places = whole - taken, everything[1] - places
        if mass <= 0.0 or places <= 0.0:
            continue
        unit = mass / places
        a = 0.1 * unit
        room = a * (everything[0] - gone)
        if room <= 0.0:  # no word is left
            continue
        number = everything[2] - (w if mine >= 0 else 0.0)
        for k in range(classes):
            size = max(totals[k] - lost[k], 0.0)
            base[k] = math.log((size + room) / (mass - size + room))
        for p in range(more):
            squares[p] = 0.0
            for m in range(many):
                for k in range(classes):
                    score[m, p, k] = 0.0
        for at in range(starts[i], starts[i + 1]):
            v = words[at]
            seen = documents[v] - (w if mine >= 0 else 0.0)
            if documents[v] < least or seen < least:
                continue
            x = math.log1p(counts[at])
            rare = math.log((number + 1.0) / (seen + 1.0)) + 1.0
            for p in range(more):
                share[p] = x * rare ** powers[p]
                squares[p] += share[p] * share[p]
            given = w * (math.floor(x / norm * GRID + 0.5) / GRID) if mine >= 0 else 0.0
            t = 0.0
            for e in range(rows[v], rows[v + 1]):
                t += max(values[e] - given, 0.0) if columns[e] == mine else values[e]
            spread = (t + 2.0 * a) * unit
            never, nothing = math.log(a / (t + a)), a * (t + a) / spread  # for classes without the word
            for k in range(classes):
                odds[k] = never
                sure[k] = nothing
            for e in range(rows[v], rows[v + 1]):
                k = columns[e]
                n = max(values[e] - given, 0.0) if k == mine else values[e]
                here, there = n + a, t - n + a
                odds[k] = math.log(here / there)
                sure[k] = here * there / spread
            for k in range(classes):
                odds[k] -= base[k]
                sure[k] *= odds[k] * odds[k]
            for m in range(many):
                c = doubts[m]
                for k in range(classes):
                    damped[k] = odds[k] * sure[k] / (sure[k] + c)
                for p in range(more):
                    q = share[p]
                    for k in range(classes):
                        score[m, p, k] += q * damped[k]
        for p in range(more):
            if squares[p] > 0.0:
                f = 1.0 / math.sqrt(squares[p])
                for k in range(classes):
                    for m in range(many):
                        out[i, k, m, p] += f * score[m, p, k]
