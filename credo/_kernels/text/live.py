"""One text at a time: words learned in place, and log-likelihoods from sums.

A sparse table (words, classes) of sums is (starts, ends, columns, values): the cells of word v are those from startsᵥ
to endsᵥ, in any order.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.arrays import Array, Codes, Integers
from credo._kernels.blocks.live import two_sum
from credo._kernels.jit import at_once, kernel
from credo._kernels.text.documents import FEW_REPETITIONS, STIRLING_FROM
from credo._kernels.text.log_odds import add_odds, add_settled_odds

Table = tuple[Integers, Integers, Codes, Array]
Smoothed = tuple[float, int]
Unchanging = tuple[Array, Array, float, Array, Array]
Settled = tuple[Array, Array, Array, Array, Array]

KNUTH = 2654435761  # 2³² divided by the golden ratio, for multiplicative hashing
SPARE_CELLS = 3  # free cells that a row gets when it is moved

# Kernels that are called for every row are compiled at once: checking whether they are takes too long.
add_odds_now = at_once(add_odds)
add_settled_odds_now = at_once(add_settled_odds)


@kernel
def add_to_rows(
    codes: Codes, first: int, k: int, amounts: Array, table: Table, rooms: Integers, since: tuple[Array, Array],
    used: Integers, old: Array,
) -> int:  # fmt: skip
    """Add an amount of each word to class k, from word `first`; old = the amounts before. The result is the word at
    which there was no room.

    Rows that change are moved to the end, with room up to roomsᵥ (0: not moved); additions are kept in pairs of floats
    (numerics.exact). used: the number of cells before, and now
    """
    (starts, ends, columns, values), (high, low) = table, since
    before = used[0]
    for i in range(first, len(codes)):
        v = codes[i]
        at = starts[v]
        while at < ends[v] and columns[at] != k:
            at += 1
        if not rooms[v] or (at == ends[v] and at == rooms[v]):
            start, size = used[1], ends[v] - starts[v]
            room = start + size + size // 2 + SPARE_CELLS
            if room > len(columns):
                return i
            for e in range(size):
                cell = starts[v] + e
                columns[start + e], values[start + e] = columns[cell], values[cell]
                if cell >= before:
                    high[start + e - before], low[start + e - before] = high[cell - before], low[cell - before]
            at += start - starts[v]
            starts[v], ends[v], rooms[v], used[1] = start, start + size, room, room
        if at == ends[v]:
            columns[at] = k
            ends[v] += 1
        cell, w = at - before, amounts[i]
        high[cell], error = two_sum(high[cell], w)
        low[cell] += error
        old[i] = values[at]
        values[at] += w
    return len(codes)


@kernel
def distinct(tokens: Codes) -> tuple[Codes, Codes]:
    """The distinct codes except -1, and their counts."""
    codes, counts, size, room = np.empty(len(tokens), np.int32), np.zeros(len(tokens), np.int32), 0, 2
    while room < 2 * len(tokens):
        room *= 2
    slots = np.full(room, -1, np.int32)  # the position of a code among those found, at its hash
    for code in tokens:
        if code >= 0:
            at = (code * KNUTH >> 16) & (room - 1)
            while slots[at] >= 0 and codes[slots[at]] != code:
                at = (at + 1) & (room - 1)
            if slots[at] < 0:
                slots[at] = size
                codes[size] = code
                size += 1
            counts[slots[at]] += 1
    return codes[:size], counts[:size]


@kernel
def log_rising(z: float, x: float) -> float:
    """log z(z + 1)...(z + x - 1) for an integer x; by Stirling's series of both ends where log Γ would lose digits."""
    if x <= FEW_REPETITIONS:
        product = 1.0
        for t in range(int(x)):
            product *= z + t
        return math.log(product)
    if z < STIRLING_FROM:
        return math.lgamma(z + x) - math.lgamma(z)
    y = z + x
    series = (z - 0.5) * math.log1p(x / z) + x * math.log(y) - x
    return series + (1.0 / y - 1.0 / z) / 12.0 - (1.0 / y**3 - 1.0 / z**3) / 360.0


@kernel
def add_words_of_row(
    table: Table, codes: Codes, amounts: Array, totals: Array, smoothed: Smoothed, drawn: bool, weight: float,
    out: Array,
) -> None:  # fmt: skip
    """out (classes) += weight · log p(words | class) of a Dirichlet-multinomial, or of the posterior mean unless
    `drawn`.

    Each word has an amount; its sums by class are at its code in the table, and the totals are those of all words.
    """
    (starts, ends, columns, values), (a, size) = table, smoothed
    positions, every = 0.0, 0.0
    for i in range(len(codes)):
        x = amounts[i]
        positions += x
        nothing = log_rising(a, x) if drawn else x * math.log(a)
        every += nothing
        for e in range(starts[codes[i]], ends[codes[i]]):
            z = values[e] + a
            out[columns[e]] += weight * ((log_rising(z, x) if drawn else x * math.log(z)) - nothing)
    for k in range(len(out)):
        z = totals[k] + a * size
        out[k] += weight * (every - (log_rising(z, positions) if drawn else positions * math.log(z)))


@kernel
def add_odds_of_row(
    table: Table, codes: Codes, counts: Codes, holding: Array, unchanging: Unchanging, weight: float, out: Array
) -> None:
    """out (classes) += weight times the score of `add_odds` for a text outside the evidence."""
    (starts, ends, columns, values), (totals, everything, least, doubts, powers) = table, unchanging
    rows, size = np.zeros(len(codes) + 1, np.int64), 0
    for i in range(len(codes)):
        size += ends[codes[i]] - starts[codes[i]]
        rows[i + 1] = size
    own, sums, held, at = np.empty(size, np.int32), np.empty(size), np.empty(len(codes)), 0
    for i in range(len(codes)):
        held[i] = holding[codes[i]]
        for e in range(starts[codes[i]], ends[codes[i]]):
            own[at], sums[at] = columns[e], values[e]
            at += 1
    alone, no_class, found = np.array([0, len(codes)]), np.full(1, -1, np.int32), np.zeros((1, len(out), 1, 1))
    add_odds_now(
        np.arange(len(codes)).astype(np.int32), counts, rows, own, sums, held, least, totals, everything, doubts,
        powers, alone, no_class, np.ones(1), found,
    )  # fmt: skip
    for k in range(len(out)):
        out[k] += weight * found[0, k, 0, 0]


@kernel
def add_settled_odds_of_row(
    tokens: Codes,
    rows: tuple[Integers, Codes],
    settled: Settled,
    c: float,
    weight: float,
    out: Array,
) -> None:
    """`add_odds_of_row` for unchanged tables, settled before, and for tokens in order."""
    codes, counts = distinct(tokens)
    (starts, columns), (rarity, never, nothing, base, more) = rows, settled
    ends, found = np.array([0, len(codes)]), np.zeros((1, len(out)))
    add_settled_odds_now(codes, counts, ends, starts, columns, rarity, never, nothing, base, more, c, found)
    for k in range(len(out)):
        out[k] += weight * found[0, k]


@kernel
def add_presences_of_row(
    table: Table, codes: Codes, texts: Array, absent: Array, a: float, unseen: bool, weight: float, out: Array
) -> None:
    """out (classes) += weight · log p(the set of words | class): that of no word (absent), and log (d + a)/(D - d + a)
    for each present word, if d of the D texts of a class contain it. All unseen words count as one.
    """
    starts, ends, columns, values = table
    for k in range(len(out)):
        none = math.log(texts[k] + a)
        out[k] += weight * (absent[k] + (math.log(a) if unseen else none) + len(codes) * (math.log(a) - none))
    for i in range(len(codes)):
        for e in range(starts[codes[i]], ends[codes[i]]):
            k = columns[e]
            out[k] += weight * math.log((values[e] + a) / (texts[k] - values[e] + a) * ((texts[k] + a) / a))
