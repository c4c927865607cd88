"""The words of documents and their counts, found by kernels that read Arrow's memory or by plain Python."""

from __future__ import annotations

import os
import re
from array import array as packed
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.data.arrow_arrays import numpy_array, string_array
from credo.data.tokens import TOKEN_PATTERN, Tokeniser
from credo.errors import DataError
from credo.numerics.arrays import Codes, Integers

if TYPE_CHECKING:
    from credo._kernels.text.word_arrays import Text

Bytes = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Truths = NDArray[np.bool_]

PIECE_BYTES = 8192  # of text that a kernel processes at a time, so that its output stays in the cache
WORD_CODE_POINTS = 0x40000  # code points from here on belong to no word: tags, private use, unassigned
LARGEST_INT32 = 2**31 - 1  # the largest code, and the most bytes of an Arrow string array
NO_ALPHABET = np.zeros(0, np.bool_)  # for ASCII documents


@dataclass(frozen=True, eq=False)
class Documents:
    """The words of each document, and their counts."""

    starts: Integers  # (documents + 1,) offsets of each document's words
    words: Codes  # distinct words of each document, by first occurrence; a pair follows its second word
    counts: Codes
    known: Truths  # (documents,) False if the cell is null or empty
    unseen: Integers  # (documents,) the number of words outside the vocabulary

    def take(self, rows: NDArray[np.intp]) -> Documents:
        """A selection of the documents."""
        sizes = np.diff(self.starts)[rows]
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        at = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        return Documents(starts, self.words[at], self.counts[at], self.known[rows], self.unseen[rows])


class Rules(NamedTuple):
    """What the kernels count; see their module about these three classes."""

    learns: bool
    pairs: bool
    buckets: int
    stops: int


class WordTable(NamedTuple):
    """The hash table from words to numbers."""

    slots: Keys
    keys: Keys
    arena: Bytes
    used: Integers
    seeds: Keys


class CountsSoFar(NamedTuple):
    """The counts so far, and the progress."""

    starts: Integers
    words: Codes
    counts: Codes
    unseen: Integers
    latest: Keys
    progress: Integers


def counted_in_python(array: pa.Array, how: Tokeniser) -> tuple[Documents, Any]:
    codes = defaultdict[str, int](count().__next__)
    starts, words, counts, known = packed("q", [0]), packed("i"), packed("i"), []
    for cell in array:
        document = cell.as_py() or ""
        found = Counter(map(codes.__getitem__, how.words(document))) if document else Counter[int]()
        known.append(document != "")
        words.extend(found)
        counts.extend(found.values())
        starts.append(len(words))
    documents = Documents(
        np.array(starts, np.int64),
        np.array(words, np.int32),
        np.array(counts, np.int32),
        np.array(known, np.bool_),
        np.zeros(len(known), np.int64),
    )
    kind = pa.string() if sum(map(len, codes)) <= LARGEST_INT32 // 4 else pa.large_string()
    return documents, string_array(list(codes), kind)


def counted_by_kernels(array: pa.Array, lowercase: bool, rules: Rules, table: WordTable) -> tuple[Documents, WordTable]:
    """The documents' words as numbers of the table, and the table with new words."""
    from credo._kernels.text.words import DONE, FULL, NOTHING, count_documents, new_scratch

    text = _text(array, lowercase)
    lengths = text[3] - text[2]
    room = int(lengths.sum()) // (4 if rules.pairs else 8) + 64
    scratch = new_scratch(PIECE_BYTES)
    counted = CountsSoFar(
        np.zeros(len(array) + 1, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.zeros(len(array), np.int64),
        np.zeros(rules.buckets or len(table.keys), np.uint64),
        np.array([0, 0, 0, NOTHING, 0, 0]),
    )
    while (state := count_documents(text, (*rules,), (*table,), scratch, (*counted,))) != DONE:
        if state == FULL:
            table, counted = _with_room(table, counted, rules)
        elif len(scratch[0]) < LARGEST_INT32 // 2:
            scratch = new_scratch(2 * len(scratch[0]))
        else:
            raise DataError(f"a document has a word of more than {LARGEST_INT32 // 2} bytes: it isn't text")
    end = int(counted.starts[-1])
    words, counts = counted.words[:end].copy(), counted.counts[:end].copy()
    return Documents(counted.starts, words, counts, lengths > 0, counted.unseen), table


def _text(array: pa.Array, lowercase: bool) -> Text:
    """Documents in the kernels' form."""
    from credo._kernels.text.word_cutting import mark_non_ascii

    ascii_bytes, starts, ends = _buffers(array)
    utf8_bytes, not_ascii = ascii_bytes, np.zeros(len(array), np.bool_)
    mark_non_ascii(ascii_bytes, starts, ends, not_ascii)
    rows = np.flatnonzero(not_ascii)
    if lowercase and len(rows):  # by Python: the lower case of a capital sigma depends on its neighbours
        lowered = [document.lower() for document in array.take(pa.array(rows)).to_pylist()]
        utf8_bytes, starts[rows], ends[rows] = _buffers(pa.array(lowered, pa.large_string()))
    alphabet = word_characters() if len(rows) else NO_ALPHABET
    return ascii_bytes, utf8_bytes, starts, ends, not_ascii, ascii_letters(lowercase), alphabet


def _buffers(array: pa.Array) -> tuple[Bytes, Integers, Integers]:
    """The bytes of Arrow strings without a copy, and the start and end of each; a null is empty."""
    _, offsets, data = array.buffers()
    kind = np.int64 if pa.types.is_large_string(array.type) else np.int32
    bounds = np.zeros(1, np.int64)
    if len(array):
        bounds = np.frombuffer(offsets, kind)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    starts, ends = bounds[:-1].copy(), bounds[1:].copy()
    if array.null_count:
        absent = numpy_array(array.is_null())
        starts[absent] = ends[absent]
    text = np.frombuffer(data or b"", np.uint8)
    text.flags.writeable = False  # like most buffers, so that kernels are compiled for one type
    return text, starts, ends


@cache
def ascii_letters(lowercase: bool) -> Bytes:
    """The lower-case form of each ASCII character; 0 if it belongs to no word."""
    every = (chr(code) if re.match(r"\w", chr(code)) else "\0" for code in range(128))
    return np.frombuffer("".join(c.lower() if lowercase else c for c in every).encode(), np.uint8)


@cache
def word_characters() -> Truths:
    """Which code points belong to words."""
    every = np.arange(WORD_CODE_POINTS, dtype="<u4")
    every[0xD800:0xE000] = 0  # surrogates, which aren't characters
    found = np.zeros(WORD_CODE_POINTS, np.bool_)
    for match in re.finditer(r"\w+", every.tobytes().decode("utf-32-le")):
        found[match.start() : match.end()] = True
    return found


def empty_table(how: Tokeniser) -> tuple[WordTable, Rules]:
    """A table with only the stop words, and the rules of counting."""
    seeds = np.frombuffer(bytearray(os.urandom(32)), np.uint64)
    empty = np.zeros(2, np.uint64), np.zeros((1, 2), np.uint64), np.zeros(0, np.uint8), np.zeros(2, np.int64)
    stops = [word for word in sorted(how.stop_words) if re.fullmatch(TOKEN_PATTERN, word)]
    _, table = counted_by_kernels(
        pa.array(stops, pa.string()), False, Rules(True, False, 0, 0), WordTable(*empty, seeds)
    )
    return table, Rules(not how.buckets, how.ngrams == 2, how.buckets or 0, len(stops))


def _with_room(table: WordTable, counted: CountsSoFar, rules: Rules) -> tuple[WordTable, CountsSoFar]:
    """Table and counts, enlarged for the words to come."""
    from credo._kernels.text.word_keys import move_slots
    from credo._kernels.text.words import BYTES_TO_COME, PLACE, WORDS_TO_COME

    place, words, length = counted.progress[[PLACE, WORDS_TO_COME, BYTES_TO_COME]].tolist()
    counted = counted._replace(words=_grown(counted.words, place + words), counts=_grown(counted.counts, place + words))
    if not rules.learns:
        return table, counted
    numbers = int(table.used[0]) + words
    if numbers > LARGEST_INT32:
        raise DataError(
            f"the documents have more than {LARGEST_INT32} different words: read them in parts, or use buckets"
        )
    table = table._replace(keys=_grown(table.keys, numbers), arena=_grown(table.arena, int(table.used[1]) + length))
    if 2 * numbers > len(table.slots):
        slots = np.zeros(1 << (2 * numbers).bit_length(), np.uint64)
        move_slots(table.slots, slots)
        table = table._replace(slots=slots)
    return table, counted._replace(latest=_grown(counted.latest, len(table.keys)))


def _grown(array: NDArray[Any], size: int) -> Any:
    """The array if it is long enough, or a longer one, whose unused pages take no memory."""
    if size <= len(array):
        return array
    grown = np.zeros((max(size, 3 * len(array)), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def own_keys(table: WordTable, rules: Rules) -> Keys:
    """The keys of words that aren't stop words."""
    return table.keys[rules.stops : int(table.used[0])]


def settled_keys(documents: Documents, table: WordTable, rules: Rules) -> Keys:
    """Replace the documents' numbers, in place, by codes in order of first occurrence; returns the keys by code."""
    from credo._kernels.text.vocabulary import renumber_words

    keys = np.empty_like(own_keys(table, rules))
    renumber_words(documents.words, table.keys, rules.stops, np.full(len(keys), -1, np.int32), keys)
    return keys


def spelt_keys(keys: Keys, arena: Bytes, first: int = 0) -> pa.Array:
    """The words of keys as Arrow strings; a pair refers to earlier words, numbered from `first`."""
    from credo._kernels.text.vocabulary import measure_words, spell_words

    ends = np.zeros(len(keys) + 1, np.int64)
    measure_words(keys, first, ends)
    text = np.empty(int(ends[-1]), np.uint8)
    spell_words(keys, first, arena, ends, text)
    if len(text) > LARGEST_INT32:
        return pa.LargeStringArray.from_buffers(len(keys), pa.py_buffer(ends), pa.py_buffer(text))
    return pa.StringArray.from_buffers(len(keys), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(text))


def number_codes(numbers: NDArray[Any], codes: NDArray[Any], size: int) -> Codes:
    """The code of each number (the first of several), -1 for numbers without one; found[-1] is -1, too."""
    found = np.full(size + 1, -1, np.int32)
    found[numbers[::-1]] = codes[::-1]
    return found


def recoded(documents: Documents, codes: Codes) -> Documents:
    """Documents with codes instead of numbers; words without a code are unseen."""
    words = codes[documents.words]
    kept = words >= 0
    if kept.all():
        return replace(documents, words=words)
    rows = np.repeat(np.arange(len(documents.known)), np.diff(documents.starts))[~kept]
    unseen = np.bincount(rows, documents.counts[~kept], len(documents.known)).astype(np.int64)
    starts = np.append(0, np.cumsum(kept))[documents.starts]
    return Documents(starts, words[kept], documents.counts[kept], documents.known, documents.unseen + unseen)
