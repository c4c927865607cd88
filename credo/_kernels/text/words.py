"""Words of documents: tokenised, numbered and counted. (`vocabulary` writes them as strings.)

Documents are processed in pieces that stay in the cache, each piece in steps:

    clean   the bytes of words, lower-cased; 0 where no word is
    cut     the starts and ends of words
    pack    each word as a key, its 16 bytes in two numbers, and the key's hash
    find    each key's number in a table
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
from numpy.typing import NDArray

from credo._kernels.arrays import Codes, Integers
from credo._kernels.jit import kernel

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
    Integers,  # progress, with the positions named below
]
DOCUMENT, DONE_OF_IT, PLACE, BEFORE, WORDS_TO_COME, BYTES_TO_COME = range(6)
NOTHING = -2  # before the first word of a document
DONE, FULL, LONG_WORD = range(3)  # why counting stops

LONG, PAIR = Key(0xFF << 56), Key(0xFE << 56)
ZERO, ONE, THREE, SEVEN, EIGHT, SIXTEEN, HALF, LAST = (Key(n) for n in (0, 1, 3, 7, 8, 16, 32, 63))
BYTE, LOW = Key(0xFF), Key(2**32 - 1)
WIDTHS = np.array([1] * 0xC0 + [2] * 0x20 + [3] * 0x10 + [4] * 0x10, np.uint64)  # of a character, by its first byte
FIRST_BYTES = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(17)], np.uint64)  # of a word of n
LAST_BYTES = np.array([(1 << 8 * max(n - 8, 0)) - 1 for n in range(17)], np.uint64)
CRC = np.array([zlib.crc32(bytes([b ^ 0xFF])) ^ 0xFF000000 for b in range(256)])
SPACE, ONES = 32, 2**32 - 1
NONE = np.int64(0)  # for a plain 0, Numba would compile the callee once more


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
def mark_non_ascii(text: Bytes, starts: Integers, ends: Integers, out: Truths) -> None:
    """out = whether each document isn't ASCII."""
    for d in range(len(starts)):
        union, start = np.uint8(0), Key(starts[d])
        for i in range(ends[d] - starts[d]):
            union |= text[start + Key(i)]
        out[d] = union > 127


@kernel
def clean_ascii(text: Bytes, start: int, end: int, letters: Bytes, clean: Bytes, at: int) -> None:
    """clean = the lower-case letters of ASCII characters, 0 between words."""
    i, stop, apart = Key(start), Key(end), Key(at) - Key(start)
    while i < stop:
        clean[apart + i] = letters[text[i]]
        i += ONE


@kernel
def clean_utf8(text: Bytes, start: int, end: int, letters: Bytes, alphabet: Truths, clean: Bytes, at: int) -> int:
    """`clean_ascii` for UTF-8, without a character that crosses the end. The result is the number of bytes."""
    i, apart = start, at - start
    while i < end:
        b = np.int64(text[i])
        width = np.int64(WIDTHS[b])
        if i + width > end:
            break
        if width == 1:
            clean[apart + i] = letters[b]
        else:
            code = b & (0x7F >> width)
            for k in range(i + 1, i + width):
                code = code << 6 | np.int64(text[k]) & 0x3F
            inside = code < len(alphabet) and alphabet[code]
            for k in range(i, i + width):
                clean[apart + k] = text[k] if inside else 0
        i += width
    return i - start


@kernel
def clean_piece(text: Text, d: int, done: int, scratch: Scratch) -> tuple[int, int, int]:
    """Clean documents, starting at d, of which `done` bytes are done. The result is the number of bytes in the piece,
    the next document, and the bytes of it that are done.

    Each is followed by 0. A document that doesn't fit is left for later, unless it is the first: then all words that
    fit are taken.
    """
    ascii_bytes, utf8_bytes, starts, ends, not_ascii, letters, alphabet = text
    clean, _, limits, edges, _, _, _, _, _ = scratch
    filled, first, room = NONE, d, len(edges)
    while d < len(starts):
        start, end = starts[d] + done, ends[d]
        whole = filled + end - start < room
        if not whole and d > first:
            break
        end = end if whole else start + room
        if not_ascii[d]:
            filled += clean_utf8(utf8_bytes, start, end, letters, alphabet, clean, filled)
        else:
            clean_ascii(ascii_bytes, start, end, letters, clean, filled)
            filled += end - start
        if not whole:
            while filled > 0 and clean[filled - 1]:
                filled -= 1
            limits[0] = filled
            return filled, d, done + filled
        clean[filled] = 0
        filled += 1
        limits[d - first] = filled
        d, done = d + 1, 0
    return filled, d, 0


@kernel
def cut_piece(clean: Bytes, n: int, edges: Codes) -> int:
    """edges = the starts and ends of words in n clean bytes, the last of which is 0. The result is their number."""
    found, inside = 0, False
    for i in range(n):
        edges[found] = i  # branchless, since it can't be predicted
        found += (clean[i] != 0) != inside
        inside = clean[i] != 0
    return found


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
