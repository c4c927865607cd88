"""Words of documents: tokenised, numbered and counted. (`vocabulary` writes them as strings.)

Documents are processed in pieces that stay in the cache, each piece in steps:

    clean   the bytes of words, lower-cased; 0 where no word is (word_cutting)
    cut     the starts and ends of words (word_cutting)
    pack    each word as a key, its 16 bytes in two numbers, and the key's hash (word_keys)
    find    each key's number in a table (word_keys)
    pair    adjacent words, whose keys are their numbers; and find these
    count   the numbers within their document

A key's last byte gives its kind, since UTF-8 has no byte above 0xF4: a word of at most 16 bytes, as it is; a longer
one, whose bytes are in an arena; or a pair of words. So one table numbers them all.

No array grows here: a kernel that runs out of room returns, and continues when called with more. Loops over bytes and
words use unsigned indices, since Numba checks whether signed ones are negative.
"""

# mypy: disable-error-code="no-any-return, assignment, arg-type, return-value"
# (NumPy's integers and Python's are the same for Numba.)

from __future__ import annotations

import zlib

import numpy as np

from credo._kernels.arrays import Codes
from credo._kernels.jit import kernel
from credo._kernels.text.word_arrays import (
    HALF,
    NONE,
    ONE,
    PAIR,
    ZERO,
    Bytes,
    Counted,
    Key,
    Rules,
    Scratch,
    Table,
    Text,
    Truths,
)
from credo._kernels.text.word_cutting import clean_ascii, clean_piece, clean_utf8, cut_piece
from credo._kernels.text.word_keys import find_keys, mix, pack_piece

DOCUMENT, DONE_OF_IT, PLACE, BEFORE, WORDS_TO_COME, BYTES_TO_COME = range(6)
NOTHING = -2  # before the first word of a document
DONE, FULL, LONG_WORD = range(3)  # why counting stops

CRC = np.array([zlib.crc32(bytes([b ^ 0xFF])) ^ 0xFF000000 for b in range(256)])
SPACE, ONES = 32, 2**32 - 1


@kernel
def new_scratch(room: int) -> Scratch:
    """Scratch for a piece of `room` bytes; a word takes three or more, with its separator."""
    eights, words = np.zeros(room // 8 + 4, np.uint64), room // 3 + 2
    return (
        eights.view(np.uint8),
        eights,
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty((words, 3), np.int32),
        np.empty((words, 2), np.uint64),
        np.empty(words, np.uint64),
        np.empty(words, np.int32),
        np.empty(words, np.int32),
    )


@kernel
def feed(register: int, byte: int) -> int:
    """A step of CRC-32."""
    return CRC[(register ^ byte) & 0xFF] ^ register >> 8


@kernel
def hash_piece(scratch: Scratch, n: int, rules: Rules, before: int) -> int:
    """Write hash buckets of n words, except stop words, and of their pairs. The result is the register after the last
    word.

    A bucket is the CRC-32 modulo the number of buckets. A pair's CRC continues that of its first word.
    """
    clean, _, _, _, places, _, _, numbers, pairs = scratch
    _, _, buckets, stops = rules
    found = 0
    for t in range(n):
        before = before if places[t, 2] == (places[t - 1, 2] if t else 0) else NOTHING
        if numbers[t] >= 0:
            continue
        word, pair = np.int64(ONES), feed(before, SPACE)
        for i in range(places[t, 0], places[t, 1]):
            word, pair = feed(word, clean[i]), feed(pair, clean[i])
        numbers[t] = stops + (word ^ ONES) % buckets
        if before != NOTHING:
            pairs[found] = stops + (pair ^ ONES) % buckets
            found += 1
        before = word
    return before


@kernel
def pair_piece(scratch: Scratch, n: int, rules: Rules, table: Table, before: int) -> int:
    """Write the numbers of the pairs of n words, -1 if a word has none. The result is the number of the last word."""
    _, _, _, _, places, keys, tags, numbers, pairs = scratch
    learns, _, _, stops = rules
    found = NONE
    for t in range(n):
        before = before if places[t, 2] == (places[t - 1, 2] if t else 0) else NOTHING
        number = np.int64(numbers[t])
        if 0 <= number < stops:
            continue
        if before != NOTHING:
            a, b = (Key(before) << HALF | Key(number), PAIR) if before >= 0 and number >= 0 else (ZERO, ZERO)
            keys[found, 0], keys[found, 1] = a, b
            tags[found] = mix(a, b, table[4]) >> HALF
            found += 1
        before = number
    find_keys(scratch, found, table, learns, pairs)
    return before


@kernel
def count_piece(scratch: Scratch, n: int, last: int, rules: Rules, counted: Counted) -> None:
    """Count n words, each followed by the pair that it ends, in documents before `last`."""
    _, _, _, _, places, _, _, numbers, pairs = scratch
    starts, words, counts, unseen, latest, progress = counted
    _, in_pairs, _, stops = rules
    first, paired, found = progress[DOCUMENT], in_pairs and progress[BEFORE] != NOTHING, 0
    d, begin, at = first, Key(starts[first]), Key(progress[PLACE])
    for t in range(n):
        while d < first + places[t, 2]:
            d += 1
            starts[d] = at
            begin, paired = at, False
        if 0 <= numbers[t] < stops:
            continue
        for k in range(1 + paired):
            number = pairs[found] if k else numbers[t]
            found += k
            if number < 0:
                unseen[d] += 1
                continue
            word = Key(number - stops)
            if latest[word] > begin:
                counts[latest[word] - ONE] += 1
            else:
                words[at], counts[at] = word, 1
                at += ONE
                latest[word] = at
        paired = in_pairs
    for later in range(d, last):
        starts[later + 1] = at
    progress[PLACE] = at


@kernel
def has_room(n: int, length: int, learns: bool, table: Table, counted: Counted) -> bool:
    """Whether there is room for n more words of `length` bytes; otherwise the needed room is noted."""
    slots, keys, arena, used, _ = table
    _, words, _, _, latest, progress = counted
    progress[WORDS_TO_COME], progress[BYTES_TO_COME] = n, length
    if progress[PLACE] + n > len(words):
        return False
    numbers = min(len(keys), len(latest), len(slots) // 2)
    return not learns or (used[0] + n <= numbers and used[1] + length <= len(arena))


@kernel
def count_documents(text: Text, rules: Rules, table: Table, scratch: Scratch, counted: Counted) -> int:
    """Continue counting until all is done or room is needed."""
    learns, in_pairs, buckets, _ = rules
    clean, _, _, edges, _, _, _, numbers, _ = scratch
    progress, seeds, documents = counted[5], table[4], len(text[2])
    while progress[DOCUMENT] < documents:
        length, d, done = clean_piece(text, progress[DOCUMENT], progress[DONE_OF_IT], scratch)
        if length == 0:
            return LONG_WORD
        n = pack_piece(scratch, cut_piece(clean, length, edges), seeds)
        if not has_room(2 * n if in_pairs else n, length, learns, table, counted):
            return FULL
        find_keys(scratch, n, table, learns, numbers)
        before = progress[BEFORE]
        if buckets:
            before = hash_piece(scratch, n, rules, before)
        elif in_pairs:
            before = pair_piece(scratch, n, rules, table, before)
        count_piece(scratch, n, d, rules, counted)
        progress[DOCUMENT], progress[DONE_OF_IT], progress[BEFORE] = d, done, before if done else NOTHING
    return DONE


@kernel
def read_document(text: Bytes, not_ascii: bool, letters: Bytes, alphabet: Truths, rules: Rules, table: Table) -> Codes:
    """The numbers of a document's words and pairs in order, as in `count_documents`; -1 for those without a number."""
    learns, in_pairs, buckets, stops = rules
    length, start = len(text) + 1, NONE
    scratch = new_scratch(length)
    clean, _, limits, edges, _, _, _, numbers, pairs = scratch
    if not_ascii:
        clean_utf8(text, start, length - 1, letters, alphabet, clean, start)
    else:
        clean_ascii(text, start, length - 1, letters, clean, start)
    limits[0] = length
    n, before = pack_piece(scratch, cut_piece(clean, length, edges), table[4]), np.int64(NOTHING)
    find_keys(scratch, n, table, learns, numbers)
    if buckets:
        hash_piece(scratch, n, rules, before)
    elif in_pairs:
        pair_piece(scratch, n, rules, table, before)
    out, found, pair = np.empty(2 * n, np.int32), 0, 0
    for t in range(n):
        if 0 <= numbers[t] < stops:
            continue
        out[found] = max(numbers[t] - stops, -1)
        found += 1
        if in_pairs and found > 1:
            out[found] = max(pairs[pair] - stops, -1)
            found, pair = found + 1, pair + 1
    return out[:found]
