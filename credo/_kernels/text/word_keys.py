"""The keys of words, and the hash table that numbers them: the steps `pack` and `find` of `words`."""

# mypy: disable-error-code="no-any-return, assignment, arg-type, return-value"
# (NumPy's integers and Python's are the same for Numba.)

from __future__ import annotations

import numpy as np

from credo._kernels.arrays import Codes
from credo._kernels.jit import kernel
from credo._kernels.text.word_arrays import (
    BYTE,
    EIGHT,
    HALF,
    LAST,
    LONG,
    LOW,
    ONE,
    SEVEN,
    SIXTEEN,
    THREE,
    WIDTHS,
    ZERO,
    Key,
    Keys,
    Scratch,
    Table,
)

FIRST_BYTES = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(17)], np.uint64)  # of a word of n
LAST_BYTES = np.array([(1 << 8 * max(n - 8, 0)) - 1 for n in range(17)], np.uint64)


@kernel
def mix(a: np.uint64, b: np.uint64, seeds: Keys) -> np.uint64:
    """(s₀ + a₀)(s₁ + a₁) + (s₂ + b₀)(s₃ + b₁) mod 2⁶⁴, where a = 2³² a₁ + a₀: its top half is a universal hash.

    Multilinear-HM of Lemire & Kaser, Strongly universal string hashing is fast (2014).
    """
    return (seeds[0] + (a & LOW)) * (seeds[1] + (a >> HALF)) + (seeds[2] + (b & LOW)) * (seeds[3] + (b >> HALF))


@kernel
def eight_bytes(eights: Keys, start: np.uint64) -> np.uint64:
    """Eight bytes, starting at any byte."""
    i, shift = start >> THREE, (start & SEVEN) << THREE
    return eights[i] >> shift | (eights[i + ONE] << ONE) << (LAST - shift)


@kernel
def mix_long(eights: Keys, start: np.uint64, end: np.uint64, seeds: Keys) -> np.uint64:
    """A hash of a long word."""
    h = ZERO
    while start < end:
        h = mix(h, eight_bytes(eights, start) & FIRST_BYTES[min(end - start, EIGHT)], seeds)
        h ^= h >> HALF
        start += EIGHT
    return h


@kernel
def pack_piece(scratch: Scratch, n: int, seeds: Keys) -> int:
    """Write positions, keys and hashes of the words between n edges, except those of one character. The result is their
    number."""
    _, eights, limits, edges, places, keys, tags, _, _ = scratch
    found, d = ZERO, ZERO
    for t in range(0, n, 2):
        start, end = Key(edges[t]), Key(edges[t + 1])
        length = min(end - start, SIXTEEN)
        a, b = eight_bytes(eights, start), eight_bytes(eights, start + EIGHT)
        a, b, single = a & FIRST_BYTES[length], b & LAST_BYTES[length], length == WIDTHS[a & BYTE]
        if end - start > SIXTEEN:
            a, b = mix_long(eights, start, end, seeds), LONG | (end - start)
        while end > Key(limits[d]):
            d += ONE
        places[found, 0], places[found, 1], places[found, 2] = start, end, d
        keys[found, 0], keys[found, 1] = a, b
        tags[found] = mix(a, b, seeds) >> HALF
        found += Key(not single)
    return np.int64(found)


@kernel
def shift_of(slots: Keys) -> np.uint64:
    """The shift from a tag to its slot."""
    shift = HALF
    while ONE << (HALF - shift) < Key(len(slots)):
        shift -= ONE
    return shift


@kernel
def find_keys(scratch: Scratch, n: int, table: Table, learns: bool, numbers: Codes) -> None:
    """numbers = the numbers of n keys; new keys get the next numbers, or -1.

    Keys in their first slot are found without branches, so that memory accesses overlap; then the rest.
    """
    clean, _, _, _, places, wanted, tags, _, _ = scratch
    slots, keys, arena, used, _ = table
    mask, shift = Key(len(slots) - 1), shift_of(slots)
    for t in range(n):
        slot = slots[tags[t] >> shift]
        numbers[t] = np.int64(slot & LOW) - 1 if slot >> HALF == tags[t] else -1
    for t in range(n):
        a, b, k = wanted[t, 0], wanted[t, 1], max(numbers[t], 0)
        numbers[t] = numbers[t] if (keys[k, 0] == a) & (keys[k, 1] == b) & (b < LONG) else -1
    for t in range(n):
        if numbers[t] >= 0:
            continue
        a, b, at, number = wanted[t, 0], wanted[t, 1], tags[t] >> shift, -1
        while number < 0 and slots[at] != ZERO:
            if slots[at] >> HALF == tags[t]:
                k = np.int64(slots[at] & LOW) - 1
                if keys[k, 1] == b and b >= LONG:
                    i, apart = places[t, 0], np.int64(keys[k, 0]) - places[t, 0]
                    while i < places[t, 1] and clean[i] == arena[apart + i]:
                        i += 1
                    number = k if i == places[t, 1] else -1
                elif keys[k, 1] == b and keys[k, 0] == a:
                    number = k
            at = (at + ONE) & mask
        if number < 0 and learns:
            number = used[0]
            used[0] += 1
            slots[at] = tags[t] << HALF | Key(number + 1)
            keys[number, 0], keys[number, 1] = a, b
            if b >= LONG:
                keys[number, 0] = Key(used[1])
                for i in range(places[t, 0], places[t, 1]):
                    arena[used[1]] = clean[i]
                    used[1] += 1
        numbers[t] = number


@kernel
def move_slots(old: Keys, new: Keys) -> None:
    """Copy the slots to a larger table."""
    mask, shift = Key(len(new) - 1), shift_of(new)
    for i in range(len(old)):
        if old[i] != ZERO:
            at = old[i] >> HALF >> shift
            while new[at] != ZERO:
                at = (at + ONE) & mask
            new[at] = old[i]
