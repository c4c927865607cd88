"""Words of documents: cut out, numbered, counted, spelt.

A document passes in pieces that stay near, and a piece in steps that each do one thing to all of it:

    clean   the bytes of words, lower-cased; 0 where no word is
    cut     where words begin and end
    pack    each word as a key, its 16 bytes in two numbers, and the key's hash
    find    each key's number in a table: reads that wait for memory wait together
    count   the numbers within their document

A key's last byte tells what it is, since no UTF-8 has a byte above 0xF4: a word of at most 16 bytes, as it stands; a
longer one, whose bytes are in an arena; a pair of words, by their numbers. So one table numbers them all.

Nothing grows in here: a kernel that runs out of room returns, and goes on when it is called again with more of it. Loops
over bytes and words index by unsigned numbers, since Numba asks of others each time whether they count from the end.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import kernel

Bytes = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]
Key = np.uint64

LONG, PAIR = Key(0xFF << 56), Key(0xFE << 56)
ZERO, ONE, EIGHT, HALF, LAST = Key(0), Key(1), Key(8), Key(32), Key(63)
BYTE, LOW = Key(0xFF), Key(2**32 - 1)
FIRST_BYTES = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(17)], np.uint64)  # of a word of n bytes
LAST_BYTES = np.array([(1 << 8 * max(n - 8, 0)) - 1 for n in range(17)], np.uint64)
CRC = np.array([zlib.crc32(bytes([b ^ 0xFF])) ^ 0xFF000000 for b in range(256)])
WIDTHS = np.array([1] * 0xC0 + [2] * 0x20 + [3] * 0x10 + [4] * 0x10)  # of a character, by its first byte
SPACE, ONES = 32, 2**32 - 1

DONE, FULL, LONG_WORD = 0, 1, 2  # why counting stopped
DOCUMENT, BYTE_OF_IT, PLACE, BEFORE, WORDS_TO_COME, BYTES_TO_COME = range(6)
NOTHING = -2  # instead of the word before, at the start of a document


class Text(NamedTuple):
    """Documents, and what their characters are."""

    plain: Bytes  # those that are ASCII
    foreign: Bytes  # those that aren't
    starts: Integers  # (documents,)
    ends: Integers
    is_foreign: Truths
    letters: Bytes  # (128,) what an ASCII character of a word becomes; 0 where it is of none
    alphabet: Truths  # which code points are of words; those beyond aren't


class Rules(NamedTuple):
    """What counts."""

    learns: bool  # whether words that aren't in the table get numbers
    pairs: bool
    buckets: int  # which are counted instead of words, so that nothing is learned; 0: none
    stops: int  # how many stop words there are: theirs are the first numbers


class Table(NamedTuple):
    """Keys and their numbers."""

    slots: Keys  # a power of two of them, at least half of them empty (0); else a hash's top half, and 1 + the number
    keys: Keys  # (numbers, 2)
    arena: Bytes  # the long words
    used: Integers  # how many numbers there are, and bytes of the arena
    seeds: Keys  # drawn at random, so that nobody can choose words whose hashes are the same


class Desk(NamedTuple):
    """Where a piece of text is worked on: room for its bytes, and for what is made of them."""

    clean: Bytes
    eights: Keys  # the same bytes, eight at a time
    ends: Codes  # where its documents end in there
    turns: Codes  # where a word begins, where it ends, where the next begins, ...
    places: Codes  # (words, 3) where words begin and end, and which of the documents here they are of
    keys: Keys  # (words, 2)
    tags: Keys  # (words,) top halves of hashes
    numbers: Codes  # (words,) from the table; those of buckets follow those of stop words
    pairs: Codes  # the same of pairs


class Counted(NamedTuple):
    """What has been found, and how far counting has come."""

    starts: Integers  # (documents + 1,)
    words: Codes  # numbers after those of stop words; or buckets
    counts: Codes
    strange: Integers  # (documents,)
    latest: Keys  # (words,) 1 + the last place in `words` that a word has; 0 where it has none
    progress: Integers  # document, byte of it, place in `words`, word before; words and bytes that there isn't room for


@kernel
def mark_foreign(text: Bytes, starts: Integers, ends: Integers, out: Truths) -> None:
    """Which documents aren't ASCII."""
    for d in range(len(starts)):
        union, start = np.uint8(0), Key(starts[d])
        for i in range(ends[d] - starts[d]):
            union |= text[start + Key(i)]
        out[d] = union > 127


@kernel
def clean_plain(text: Bytes, start: int, end: int, letters: Bytes, clean: Bytes, at: int) -> None:
    """What ASCII characters become."""
    i, stop, apart = Key(start), Key(end), Key(at) - Key(start)
    while i < stop:
        clean[apart + i] = letters[text[i]]
        i += ONE


@kernel
def clean_foreign(text: Bytes, start: int, end: int, letters: Bytes, alphabet: Truths, clean: Bytes, at: int) -> int:
    """The same for UTF-8, without a character that lies across the end: how many bytes."""
    i, apart = start, at - start
    while i < end:
        b = np.int64(text[i])
        width = WIDTHS[b]
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
def clean_piece(text: Text, d: int, done: int, desk: Desk) -> tuple[int, int, int]:
    """Documents from d on, of which some bytes are done: how many bytes are here, then the next document and its byte.

    Documents that don't fit are left, unless it is the first: of it, all words that fit. 0 bytes if none does.
    """
    clean, filled, first, room = desk.clean, 0, d, len(desk.turns) - 2
    while d < len(text.starts):
        start, end = text.starts[d] + done, text.ends[d]
        whole = filled + end - start < room
        if not whole and d > first:
            break
        end = end if whole else start + room
        if text.is_foreign[d]:
            filled += clean_foreign(text.foreign, start, end, text.letters, text.alphabet, clean, filled)
        else:
            clean_plain(text.plain, start, end, text.letters, clean, filled)
            filled += end - start
        if not whole:
            while filled > 0 and clean[filled - 1]:
                filled -= 1
            desk.ends[0] = filled
            return filled, d, done + filled
        clean[filled] = 0
        filled += 1
        desk.ends[d - first] = filled
        d, done = d + 1, 0
    return filled, d, 0


@kernel
def cut_piece(desk: Desk, n: int) -> int:
    """Where words begin and end in n clean bytes, the last of which is 0: how many such turns there are."""
    clean, turns = desk.clean, desk.turns
    found, inside = 0, False
    for i in range(n):
        turns[found] = i  # without a branch, since nobody could foretell it
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
    """Those from any byte on."""
    i, shift = start >> Key(3), (start & Key(7)) << Key(3)
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
def pack_piece(desk: Desk, turns: int, seeds: Keys) -> int:
    """Keys, hashes and places of the words between turns, but for those of one character: how many there are."""
    keys, tags, places, eights = desk.keys, desk.tags, desk.places, desk.eights
    found, d = ZERO, ZERO
    for t in range(0, turns, 2):
        start, end = Key(desk.turns[t]), Key(desk.turns[t + 1])
        n = min(end - start, Key(16))
        a, b = eight_bytes(eights, start) & FIRST_BYTES[n], eight_bytes(eights, start + EIGHT) & LAST_BYTES[n]
        single = n <= WIDTHS[a & BYTE]
        if end - start > Key(16):
            a, b = mix_long(eights, start, end, seeds), LONG | (end - start)
        while end > Key(desk.ends[d]):
            d += ONE
        keys[found, 0], keys[found, 1] = a, b
        tags[found] = mix(a, b, seeds) >> HALF
        places[found, 0], places[found, 1], places[found, 2] = start, end, d
        found += Key(not single)
    return np.int64(found)


@kernel
def shift_of(slots: Keys) -> np.uint64:
    """By how much a hash's top half is shifted to be a slot."""
    shift = HALF
    while ONE << (HALF - shift) < Key(len(slots)):
        shift -= ONE
    return shift


@kernel
def find_keys(desk: Desk, n: int, table: Table, learns: bool, numbers: Codes) -> None:
    """The numbers of n keys; of those that aren't in the table, the next ones, or -1.

    What is in its first slot is found without a branch, so that all may wait for memory at once; then the rest.
    """
    slots, keys, used, arena = table.slots, table.keys, table.used, table.arena
    tags, clean = desk.tags, desk.clean
    mask, shift = Key(len(slots) - 1), shift_of(slots)
    for t in range(n):
        slot = slots[tags[t] >> shift]
        numbers[t] = np.int64(slot & LOW) - 1 if slot >> HALF == tags[t] else -1
    for t in range(n):
        k = max(numbers[t], 0)
        a, b = desk.keys[t, 0], desk.keys[t, 1]
        numbers[t] = numbers[t] if (keys[k, 0] == a) & (keys[k, 1] == b) & (b < LONG) else -1
    for t in range(n):
        if numbers[t] >= 0:
            continue
        tag, a, b = tags[t], desk.keys[t, 0], desk.keys[t, 1]
        at, number = tag >> shift, -1
        while number < 0 and slots[at] != ZERO:
            if slots[at] >> HALF == tag:
                k = np.int64(slots[at] & LOW) - 1
                if keys[k, 1] == b and b >= LONG:
                    i, apart = desk.places[t, 0], np.int64(keys[k, 0]) - desk.places[t, 0]
                    while i < desk.places[t, 1] and clean[i] == arena[apart + i]:
                        i += 1
                    number = k if i == desk.places[t, 1] else -1
                elif keys[k, 0] == a and keys[k, 1] == b:
                    number = k
            at = (at + ONE) & mask
        if number < 0 and learns:
            number = used[0]
            slots[at] = tag << HALF | Key(number + 1)
            keys[number, 0], keys[number, 1] = a, b
            used[0] += 1
            if b >= LONG:
                keys[number, 0] = Key(used[1])
                for i in range(desk.places[t, 0], desk.places[t, 1]):
                    arena[used[1]] = clean[i]
                    used[1] += 1
        numbers[t] = number


@kernel
def feed(register: int, byte: int) -> int:
    """A step of CRC-32."""
    return CRC[(register ^ byte) & 0xFF] ^ register >> 8


@kernel
def hash_piece(desk: Desk, n: int, rules: Rules, before: int) -> int:
    """Buckets instead of n words, but for stop words, and of their pairs: what the last word leaves in the register.

    A bucket is the CRC-32, modulo the number of buckets. A pair's begins with what its first word left.
    """
    clean, places, numbers, pairs = desk.clean, desk.places, desk.numbers, 0
    for t in range(n):
        before = before if t == 0 or places[t, 2] == places[t - 1, 2] else NOTHING
        if numbers[t] >= 0:
            continue
        word, pair = np.int64(ONES), feed(before, SPACE)
        for i in range(places[t, 0], places[t, 1]):
            word, pair = feed(word, np.int64(clean[i])), feed(pair, np.int64(clean[i]))
        numbers[t] = rules.stops + (word ^ ONES) % rules.buckets
        if before != NOTHING:
            desk.pairs[pairs] = rules.stops + (pair ^ ONES) % rules.buckets
            pairs += 1
        before = word
    return before


@kernel
def pair_piece(desk: Desk, n: int, rules: Rules, table: Table, before: int) -> int:
    """The numbers of the pairs that n words make, none where a word of it has none: the last word's number."""
    places, numbers, pairs = desk.places, desk.numbers, 0
    for t in range(n):
        before = before if t == 0 or places[t, 2] == places[t - 1, 2] else NOTHING
        number = np.int64(numbers[t])
        if 0 <= number < rules.stops:
            continue
        if before != NOTHING:
            a, b = (Key(before) << HALF | Key(number), PAIR) if before >= 0 and number >= 0 else (ZERO, ZERO)
            desk.keys[pairs, 0], desk.keys[pairs, 1] = a, b
            desk.tags[pairs] = mix(a, b, table.seeds) >> HALF
            pairs += 1
        before = number
    find_keys(desk, pairs, table, rules.learns, desk.pairs)
    return before


@kernel
def count_piece(desk: Desk, n: int, last: int, rules: Rules, counted: Counted) -> None:
    """Count n words, each followed by the pair of which it is the second, in documents up to before the last."""
    words, counts, latest, starts = counted.words, counted.counts, counted.latest, counted.starts
    progress, numbers, pairs = counted.progress, desk.numbers, 0
    first, paired = progress[DOCUMENT], rules.pairs and progress[BEFORE] != NOTHING
    d, begin, at = first, Key(starts[first]), Key(progress[PLACE])
    for t in range(n):
        while d < first + desk.places[t, 2]:
            d += 1
            starts[d] = at
            begin, paired = at, False
        if 0 <= numbers[t] < rules.stops:
            continue
        for k in range(1 + paired):
            number = desk.pairs[pairs] if k else numbers[t]
            pairs += k
            if number < 0:
                counted.strange[d] += 1
                continue
            word = Key(number - rules.stops)
            place = latest[word]
            if place > begin:
                counts[place - ONE] += 1
            else:
                words[at], counts[at] = word, 1
                at += ONE
                latest[word] = at
        paired = rules.pairs
    for d in range(d, last):
        starts[d + 1] = at
    progress[PLACE] = at


@kernel
def has_room(words: int, length: int, rules: Rules, table: Table, counted: Counted) -> bool:
    """Whether so many more words, of so many bytes, can be kept wherever they go; if not, they are noted."""
    progress = counted.progress
    progress[WORDS_TO_COME], progress[BYTES_TO_COME] = words, length
    if progress[PLACE] + words > len(counted.words):
        return False
    if not rules.learns:
        return True
    numbers = table.used[0] + words
    return (
        numbers <= min(len(table.keys), len(counted.latest), len(table.slots) >> 1)
        and table.used[1] + length <= len(table.arena)
    )


@kernel
def count_documents(text: Text, rules: Rules, table: Table, desk: Desk, counted: Counted) -> int:
    """Go on counting until it is done, or there isn't room."""
    progress = counted.progress
    while progress[DOCUMENT] < len(text.starts):
        length, d, done = clean_piece(text, progress[DOCUMENT], progress[BYTE_OF_IT], desk)
        if length == 0:
            return LONG_WORD
        n = pack_piece(desk, cut_piece(desk, length), table.seeds)
        if not has_room(2 * n if rules.pairs else n, length, rules, table, counted):
            return FULL
        find_keys(desk, n, table, rules.learns, desk.numbers)
        before = progress[BEFORE]
        if rules.buckets:
            before = hash_piece(desk, n, rules, before)
        elif rules.pairs:
            before = pair_piece(desk, n, rules, table, before)
        count_piece(desk, n, d, rules, counted)
        progress[BEFORE] = NOTHING if done == 0 else before
        progress[DOCUMENT], progress[BYTE_OF_IT] = d, done
    return DONE


@kernel
def settle_numbers(words: Codes, keys: Keys, stops: int, codes: Codes, out: Keys) -> None:
    """Number words anew, in the order in which they come first in `words`; and put their keys in that order.

    codes: -1 for each old number, to begin with. A pair comes after its words.
    """
    found = 0
    for i in range(len(words)):
        k = words[i]
        if codes[k] < 0:
            a, b = keys[stops + k, 0], keys[stops + k, 1]
            if PAIR <= b < LONG:
                x, y = codes[np.int64(a >> HALF) - stops], codes[np.int64(a & LOW) - stops]
                a = Key(x) << HALF | Key(y)
            out[found, 0], out[found, 1] = a, b
            codes[k] = found
            found += 1
        words[i] = codes[k]


@kernel
def move_slots(old: Keys, new: Keys) -> None:
    """Into more slots."""
    mask, shift = Key(len(new) - 1), shift_of(new)
    for i in range(len(old)):
        if old[i] != ZERO:
            at = old[i] >> HALF >> shift
            while new[at] != ZERO:
                at = (at + ONE) & mask
            new[at] = old[i]


@kernel
def width(key: np.uint64) -> int:
    """How many bytes of a word are in half of its key."""
    n = 0
    while key != ZERO:
        key >>= EIGHT
        n += 1
    return n


@kernel
def measure_words(keys: Keys, first: int, ends: Integers) -> None:
    """ends[1:] = where each word ends if all are written one after the other; it begins where the one before ends."""
    for k in range(len(keys)):
        a, b = keys[k, 0], keys[k, 1]
        if b >= LONG:
            length = np.int64(b - LONG)
        elif b >= PAIR:
            x, y = np.int64(a >> HALF) - first, np.int64(a & LOW) - first
            length = ends[x + 1] - ends[x] + 1 + ends[y + 1] - ends[y]
        else:
            length = width(a) + width(b)
        ends[k + 1] = ends[k] + length


@kernel
def spell_words(keys: Keys, first: int, arena: Bytes, ends: Integers, out: Bytes) -> None:
    """Write them there."""
    for k in range(len(keys)):
        a, b = keys[k, 0], keys[k, 1]
        at, end = ends[k], ends[k + 1]
        if b >= LONG:
            for i in range(at, end):
                out[i] = arena[np.int64(a) + i - at]
        elif b >= PAIR:
            x, y = np.int64(a >> HALF) - first, np.int64(a & LOW) - first
            middle = at + ends[x + 1] - ends[x]
            for i in range(at, middle):
                out[i] = out[ends[x] + i - at]
            out[middle] = SPACE
            for i in range(middle + 1, end):
                out[i] = out[ends[y] + i - middle - 1]
        else:
            for i in range(at, end):
                out[i] = a & BYTE
                a = a >> EIGHT if i - at != 7 else b
