"""The vocabulary: words, numbered by `words`, in order of appearance, and written as strings."""

# mypy: disable-error-code="no-any-return, assignment, arg-type, return-value"
# (NumPy's integers and Python's are the same for Numba.)

from __future__ import annotations

import numpy as np

from credo._kernels.arrays import Codes, Integers
from credo._kernels.jit import kernel
from credo._kernels.text.word_arrays import BYTE, EIGHT, HALF, LONG, LOW, ONE, PAIR, ZERO, Bytes, Key, Keys
from credo._kernels.text.words import SPACE


@kernel
def renumber_words(words: Codes, keys: Keys, stops: int, codes: Codes, out: Keys) -> None:
    """Renumber words in order of appearance, and put their keys in that order.

    codes = the new number of an old one, -1 at first. A pair comes after its words.
    """
    found = 0
    for i in range(len(words)):
        k = words[i]
        if codes[k] < 0:
            a, b = keys[stops + k, 0], keys[stops + k, 1]
            if PAIR <= b < LONG:
                first, second = codes[np.int64(a >> HALF) - stops], codes[np.int64(a & LOW) - stops]
                a = Key(first) << HALF | Key(second)
            out[found, 0], out[found, 1] = a, b
            codes[k] = found
            found += 1
        words[i] = codes[k]


@kernel
def bytes_in(key: np.uint64) -> int:
    """The number of a word's bytes in half of its key."""
    n = 0
    while key != ZERO:
        key >>= EIGHT
        n += 1
    return n


@kernel
def measure_words(keys: Keys, stops: int, ends: Integers) -> None:
    """ends[1:] = the end of each word if all are concatenated; a pair's words are before it."""
    for k in range(len(keys)):
        a, b = keys[k, 0], keys[k, 1]
        if b >= LONG:
            length = np.int64(b - LONG)
        elif b >= PAIR:
            first, second = np.int64(a >> HALF) - stops, np.int64(a & LOW) - stops
            length = ends[first + 1] - ends[first] + 1 + ends[second + 1] - ends[second]
        else:
            length = bytes_in(a) + bytes_in(b)
        ends[k + 1] = ends[k] + length


@kernel
def copy_bytes(text: Bytes, start: int, end: int, out: Bytes, at: int) -> int:
    """Copy bytes to `out`. The result is their end."""
    i, stop, apart = Key(start), Key(end), Key(at) - Key(start)
    while i < stop:
        out[apart + i] = text[i]
        i += ONE
    return at + end - start


@kernel
def spell_words(keys: Keys, stops: int, arena: Bytes, ends: Integers, out: Bytes) -> None:
    """out = the concatenated words."""
    for k in range(len(keys)):
        a, b, at = keys[k, 0], keys[k, 1], ends[k]
        if b >= LONG:
            copy_bytes(arena, np.int64(a), np.int64(a + b - LONG), out, at)
        elif b >= PAIR:
            first, second = np.int64(a >> HALF) - stops, np.int64(a & LOW) - stops
            at = copy_bytes(out, ends[first], ends[first + 1], out, at)
            out[at] = SPACE
            copy_bytes(out, ends[second], ends[second + 1], out, at + 1)
        else:
            for i in range(ends[k + 1] - at):
                out[at + i] = a & BYTE
                a = a >> EIGHT if i != 7 else b
