"""The arrays that kernels of words share, and the parts of a key: see `words`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Codes, Integers

Bytes = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Truths = NDArray[np.bool_]
Key = np.uint64

# Plain tuples: Numba's cache would keep the names of classes, and fail to load if one is removed.

Text = tuple[
    Bytes,  # documents that are ASCII
    Bytes,  # documents that aren't
    Integers,  # (documents,) their starts
    Integers,  # (documents,) their ends
    Truths,  # (documents,) whether they aren't ASCII
    Bytes,  # (128,) the lower-case form of an ASCII character of words; 0 for other characters
    Truths,  # whether a code point is of words; those beyond aren't
]
Rules = tuple[
    bool,  # whether new words get numbers
    bool,  # whether pairs are counted, too
    int,  # the number of hash buckets to count instead of words, so that no words are learned; 0: none
    int,  # the number of stop words, which have the first numbers
]
Table = tuple[
    Keys,  # slots, a power of two, at least half of them empty (0); others have a hash's top half, and 1 + the number
    Keys,  # (numbers, 2) keys
    Bytes,  # the arena of long words
    Integers,  # the numbers in use, and the bytes of the arena in use
    Keys,  # random seeds, so that nobody can choose words with equal hashes
]
Scratch = tuple[
    Bytes,  # clean bytes of the piece
    Keys,  # the same memory, eight bytes at a time
    Codes,  # the ends of its documents
    Codes,  # edges: the start of a word, its end, the start of the next, ...
    Codes,  # (words, 3) their starts and ends, and their document in the piece
    Keys,  # (words, 2) keys of words, then of pairs
    Keys,  # (words,) tags: the top halves of their hashes
    Codes,  # (words,) numbers; those of buckets follow those of stop words
    Codes,  # (words,) numbers of pairs
]
Counted = tuple[
    Integers,  # (documents + 1,) the start of each one's words
    Codes,  # words: numbers after those of stop words; or buckets
    Codes,  # counts
    Integers,  # (documents,) the number of words without a number
    Keys,  # (words,) 1 + the latest position of a word among the words; 0 without any
    Integers,  # progress: see the positions in `words`
]

LONG, PAIR = Key(0xFF << 56), Key(0xFE << 56)
ZERO, ONE, THREE, SEVEN, EIGHT, SIXTEEN, HALF, LAST = (Key(n) for n in (0, 1, 3, 7, 8, 16, 32, 63))
BYTE, LOW = Key(0xFF), Key(2**32 - 1)
WIDTHS = np.array([1] * 0xC0 + [2] * 0x20 + [3] * 0x10 + [4] * 0x10, np.uint64)  # of a character, by its first byte
NONE = np.int64(0)  # for a plain 0, Numba would compile the callee once more
