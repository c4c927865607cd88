"""Codes of categories: assigned, looked up, counted, and summed as log-likelihoods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array, Codes, Integers
from credo._kernels.core.sums import RESIDUAL_WEIGHT
from credo._kernels.jit import late_kernel, late_kernel_of

TURNED_ROWS = 64  # rows that are transposed together
TABLE_ROWS = 256  # rows whose sums stay in the cache while all columns are added


@late_kernel
def turn_block(x: Any, out: Any) -> None:
    """out = x′, in tiles that stay in the cache."""
    rows, columns = x.shape
    for start in range(0, rows, TURNED_ROWS):
        stop = min(start + TURNED_ROWS, rows)
        for j in range(columns):
            for i in range(start, stop):
                out[j, i] = x[i, j]


@late_kernel
def count_values(x: Integers, low: int, groups: Codes, out: Integers) -> None:
    """out (values, groups) += the counts of integers, relative to `low`, by group; negative groups are ignored."""
    for i in range(len(x)):
        if groups[i] >= 0:
            out[x[i] - low, groups[i]] += 1


@late_kernel
def find_bounds(x: Integers, low: Integers, high: Integers) -> None:
    """low, high (columns) = the smallest and the largest number of each column, and of the values before."""
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns):
            v = x[i, j]
            low[j] = v if v < low[j] else low[j]
            high[j] = v if v > high[j] else high[j]


@late_kernel
def count_block(x: Integers, low: Integers, starts: Integers, groups: Codes, out: Integers) -> bool:
    """`count_values` for several columns: column j is counted at startsⱼ to startsⱼ₊₁.

    The result is False, and not all are counted, if a number is out of range.
    """
    rows, columns = x.shape
    for i in range(rows):
        k = groups[i]
        if k >= 0:
            for j in range(columns):
                at = starts[j] + x[i, j] - low[j]
                if at < starts[j] or at >= starts[j + 1]:
                    return False
                out[at, k] += 1
    return True


@late_kernel
def code_block(x: Integers, low: Integers, starts: Integers, table: Codes, out: Codes, unseen: Integers) -> None:
    """out (columns, rows) = the codes of integers, from table[startsⱼ : startsⱼ₊₁] for column j; -1 for unseen ones.

    unseen (columns) += their numbers.
    """
    rows, columns = x.shape
    for start in range(0, rows, TURNED_ROWS):
        stop = min(start + TURNED_ROWS, rows)
        for j in range(columns):
            least, first, last = low[j], starts[j], starts[j + 1]
            none = np.intp(0)
            for i in range(start, stop):
                at = first + x[i, j] - least
                code = table[at] if first <= at < last else np.int32(-1)
                out[j, i] = code
                none += np.intp(code < 0)
            unseen[j] += none


@late_kernel
def mark_values(x: Any, low: int, seen: NDArray[np.bool_]) -> None:
    """seen[x - low] = True."""
    for i in range(len(x)):
        seen[x[i] - low] = True


@late_kernel
def look_up(x: Any, low: int, table: Codes, out: Codes) -> int:
    """out = table[x - low], -1 out of range. The result is the number of -1."""
    last, none = len(table), np.intp(0)
    for i in range(len(x)):
        at = x[i] - low
        code = table[at] if 0 <= at < last else np.int32(-1)
        out[i] = code
        none += np.intp(code < 0)
    return int(none)


@late_kernel
def code_words(words: NDArray[np.uint32], codes: Codes, first: Integers) -> int:
    """codes[i] = the code of row i's word, first = the first row of each distinct word. The result is their number; -1
    if there are too many.

    Open addressing: a slot has 1 + a code; there are four slots, rounded to a power of two, for each possible word.
    """
    rows, length = words.shape
    size = 4 * len(first)
    slots = np.zeros(size, dtype=np.int32)
    found = 0
    for i in range(rows):
        key = np.int64(0)
        for j in range(length):  # independent products
            key += np.int64(words[i, j]) * (np.int64(1099511628211) + (np.int64(j) << 20))
        slot = (key * np.int64(1469598103934665603) >> 40) & (size - 1)
        while True:
            code = slots[slot] - 1
            if code < 0:
                if found == len(first):
                    return -1
                first[found] = i
                codes[i] = found
                found += 1
                slots[slot] = found
                break
            differs, known = np.uint32(0), first[code]
            for j in range(length):  # to the end: an early exit costs more than it saves
                differs |= words[i, j] ^ words[known, j]
            if differs == 0:
                codes[i] = code
                break
            slot = (slot + 1) & (size - 1)
    return found


@late_kernel
def count_pairs(x: Codes, groups: Codes, out: Integers) -> None:
    """out (groups, levels) += the counts of pairs of codes; negative ones are ignored."""
    for i in range(len(x)):
        if x[i] >= 0 and groups[i] >= 0:
            out[groups[i], x[i]] += 1


@late_kernel_of(lambda codes, *rest: 0.5 * codes.size * rest[1].shape[1])
def add_tables(codes: Codes, starts: Integers, tables: Array, out: Array) -> None:
    """out (rows, classes) += Σⱼ tables[startsⱼ + codesⱼᵢ]; the row before a column's first level is 0, for missing
    cells."""
    columns, rows = codes.shape
    classes = tables.shape[1]
    fours = columns // 4 * 4
    for first in range(0, rows, TABLE_ROWS):
        last = min(first + TABLE_ROWS, rows)
        for j in range(0, fours, 4):  # four at a time: a quarter of the stores
            for i in range(first, last):
                a, b = starts[j] + codes[j, i], starts[j + 1] + codes[j + 1, i]
                c, d = starts[j + 2] + codes[j + 2, i], starts[j + 3] + codes[j + 3, i]
                for k in range(classes):
                    out[i, k] += (tables[a, k] + tables[b, k]) + (tables[c, k] + tables[d, k])
        for j in range(fours, columns):
            for i in range(first, last):
                a = starts[j] + codes[j, i]
                for k in range(classes):
                    out[i, k] += tables[a, k]


@late_kernel_of(lambda codes, *rest: 0.7 * codes.size * rest[2].shape[1])
def add_tables_but_own(codes: Codes, own: Codes, starts: Integers, tables: Array, without: Array, out: Array) -> None:
    """`add_tables` with another table for the row's class."""
    columns, rows = codes.shape
    classes = tables.shape[1]
    mine = np.empty(TABLE_ROWS)
    for first in range(0, rows, TABLE_ROWS):
        last = min(first + TABLE_ROWS, rows)
        for i in range(first, last):
            mine[i - first] = out[i, own[i]]
        for j in range(columns):
            for i in range(first, last):
                at = starts[j] + codes[j, i]
                for k in range(classes):
                    out[i, k] += tables[at, k]
                mine[i - first] += without[at, own[i]]
        for i in range(first, last):
            out[i, own[i]] = mine[i - first]


@late_kernel_of(lambda codes, *rest: codes.size * (2 + 0.5 * rest[3].shape[1]))
def add_tables_left_out(
    codes: Codes,
    own: Codes,
    weight: Array,
    starts: Integers,
    tables: Array,
    counts: Array,
    offset: Array,
    divisors: Array,
    out: Array,
) -> None:
    """`add_tables` with each row left out of its class: log (n - w + a)/(Σ(n + a) - w).

    counts (levels, classes + 1): of each class and of all; divisors (columns, classes). A value that no other row has
    is ignored.
    """
    columns, rows = codes.shape
    classes = tables.shape[1]
    for first in range(0, rows, TABLE_ROWS):
        for j in range(columns):
            for i in range(first, min(first + TABLE_ROWS, rows)):
                v = codes[j, i]
                at = starts[j] + v
                w = weight[i]
                if v < 0 or counts[at, classes] - w <= RESIDUAL_WEIGHT * w:
                    continue
                mine = own[i]
                before = max(counts[at, mine] + offset[at], 0.0)
                after = max(counts[at, mine] - w + offset[at], 0.0)
                total = divisors[j, mine] - before + after
                for k in range(classes):
                    if k != mine:
                        out[i, k] += tables[at, k]
                if total > RESIDUAL_WEIGHT * w:
                    out[i, mine] += math.log(after / total) if after > 1e-15 * w else -math.inf
                else:
                    out[i, mine] -= offset[len(offset) - columns + j]
