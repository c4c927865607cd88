"""Words of documents and how often each has them: cut and counted as by scikit-learn's CountVectorizer, only faster.

Much text goes through kernels, straight from Arrow's memory; little of it, while these aren't compiled, and all that a
pattern of the caller's cuts, through Python's `re`. Both give the same.
"""

from __future__ import annotations

import os
import re
import zlib
from array import array as packed
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate, chain, compress, count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import credo._kernels.text as kernels
from credo._kernels.jit import Price
from credo.data.arrow_arrays import number_array, numpy_array, scalar, string_array
from credo.errors import DataError
from credo.numerics.arrays import Codes

if TYPE_CHECKING:
    from credo._kernels.text.words import Text

Bytes = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
INDEXED_WORDS, MOST_SEARCHES = (
    1 << 14,
    8,
)  # of so many words, those of a few documents are found sooner without an index
SHORT_DOCUMENT = 1 << 16  # bytes of a document that are kept, or read alone
PIECE_BYTES = 8192  # bytes that a kernel processes at a time, so that its output stays in the cache
WORD_CODE_POINTS = 0x40000  # code points from here on belong to no word: tags, private use, unassigned
STEPS_PER_BYTE = 0.2  # that Python takes for a byte
CACHED_BYTES, CACHED_COLUMNS = 1 << 20, 16  # of columns whose words are kept
LARGEST_INT32 = 2**31 - 1  # words that codes can tell apart, and bytes of Arrow's usual strings

NO_ALPHABET = np.zeros(0, np.bool_)  # for documents that are ASCII

_price = Price(Path(kernels.__file__).parent, "words.count_documents-", compiling=15e6)  # with all that goes with it


@dataclass(frozen=True)
class Reading:
    """How a string becomes words.

    >>> Reading(ngrams=2, stop_words=frozenset({"in"})).words("Rain in New York")
    ['rain', 'new', 'rain new', 'york', 'new york']
    """

    lowercase: bool = True
    ngrams: int = 1  # 2: also pairs of neighbours, stop words having been dropped
    stop_words: frozenset[str] = frozenset()
    token_pattern: str | None = None  # None: runs of two or more letters, digits and underscores
    buckets: int | None = None  # a word is called after its bucket: CRC-32 of its UTF-8, modulo this

    def words(self, document: str) -> list[str]:
        """As they are counted: a pair follows its second word."""
        return self.named(self.pattern.findall(document.lower() if self.lowercase else document))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        pattern = re.compile(TOKEN_PATTERN if self.token_pattern is None else self.token_pattern)
        if pattern.groups > 1:
            raise DataError(f"a token pattern must have at most one capturing group, but {pattern.pattern!r} has more")
        return pattern

    def named(self, tokens: list[str]) -> list[str]:
        """The words as they are counted, from tokens."""
        if self.stop_words:
            tokens = [token for token in tokens if token not in self.stop_words]
        if self.ngrams == 2:
            pairs = zip(tokens[1:], map(" ".join, pairwise(tokens)), strict=False)
            tokens = [*tokens[:1], *chain.from_iterable(pairs)]
        if self.buckets:
            tokens = [f"#{zlib.crc32(token.encode()) % self.buckets}" for token in tokens]
        return tokens


@dataclass(frozen=True, eq=False)
class Documents:
    """The words of each document, and their counts."""

    starts: Integers  # (documents + 1,) where each one's words begin
    words: Codes  # its different words, in the order in which they come first in it; a pair follows its second word
    counts: Codes
    known: Truths  # (documents,) False where the cell is missing: null, or empty
    unseen: Integers  # (documents,) how many of its words aren't in the vocabulary

    def take(self, rows: NDArray[np.intp]) -> Documents:
        """Some of the documents."""
        sizes = np.diff(self.starts)[rows]
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        at = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        return Documents(starts, self.words[at], self.counts[at], self.known[rows], self.unseen[rows])


class Rules(NamedTuple):
    """What kernels count; their module says more of these three."""

    learns: bool
    pairs: bool
    buckets: int
    stops: int


class Table(NamedTuple):
    """Words and their numbers."""

    slots: Keys
    keys: Keys
    arena: Bytes
    used: Integers
    seeds: Keys


class Counted(NamedTuple):
    """What has been counted, and how far."""

    starts: Integers
    words: Codes
    counts: Codes
    unseen: Integers
    latest: Keys
    progress: Integers


def learned(array: pa.Array, how: Reading) -> tuple[Documents, Any]:
    """Documents and their vocabulary, as Arrow strings, in the order in which they come first.

    >>> documents, words = learned(pa.array(["To be, or not to be", None]), Reading())
    >>> words.to_pylist(), documents.counts.tolist(), documents.known.tolist()
    (['to', 'be', 'or', 'not'], [2, 2, 1, 1], [True, False])
    """
    if (cut := _latest.find(array, how)) is not None:
        return cut
    if _plainly(array.nbytes, how):
        return _latest.keep(array, how, _counted_plainly(array, how))
    table, rules = _started(how)
    documents, table = _counted(array, how.lowercase, rules, table)
    if how.buckets:
        found = pa.array(documents.words).dictionary_encode()
        names = pc.binary_join_element_wise("#", found.dictionary.cast(pa.string()), "")
        return replace(documents, words=numpy_array(found.indices)), names
    if rules.pairs:
        return documents, _spelt(_settled(documents, table, rules), table.arena)
    return documents, _spelt(_own_keys(table, rules), table.arena)


def pairs_alone(documents: Documents, words: pa.Array) -> tuple[Documents, Any]:
    """Without the words that are no pairs.

    >>> documents, words = pairs_alone(*learned(pa.array(["to be or"]), Reading(ngrams=2)))
    >>> words.to_pylist(), documents.words.tolist()
    (['to be', 'be or'], [0, 1])
    """
    return _only(documents, words, numpy_array(pc.match_substring(words, " ")))


def of_some(documents: Documents, words: pa.Array) -> tuple[Documents, Any]:
    """Without the words that none of the documents has: they are some of those the words are of."""
    there = np.zeros(len(words), dtype=np.bool_)
    there[documents.words] = True
    return _only(documents, words, there)


def _only(documents: Documents, words: pa.Array, there: Truths) -> tuple[Documents, Any]:
    codes = np.where(there, np.cumsum(there) - 1, -1).astype(np.int32)
    return _recoded(documents, codes), words.filter(number_array(there))


class Vocabulary:
    """Words that are known already, to look documents' words up in; a word's code is its place.

    >>> vocabulary = Vocabulary.of(pa.array(["be", "to"]), Reading())
    >>> vocabulary.read_one("To be, or not to be")
    ([1, 0], [2, 2], 2)
    """

    def __init__(self, words: pa.Array, how: Reading) -> None:
        self.words = words
        self.how = how
        self._latest: tuple[str, Codes] = "", np.zeros(0, np.int32)  # several ask for the same document in turn
        self._searches = 0 if len(words) > INDEXED_WORDS else MOST_SEARCHES  # that came before it was indexed
        self._indexed = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self.words, self.how)

    @classmethod
    def of(cls, words: pa.Array, how: Reading) -> Vocabulary:
        """Of Arrow strings; they are indexed once, when that is needed first."""
        return cls(words, how)

    def read(self, array: pa.Array) -> Documents:
        if (cut := _latest.find(array, self.how)) is not None:
            return self.recoded(*cut)
        if _plainly(array.nbytes, self.how):
            return self.recoded(*_latest.keep(array, self.how, _counted_plainly(array, self.how)))
        if len(array) == 1 and array.nbytes < SHORT_DOCUMENT:
            return self._read_alone(array[0].as_py() or "")
        table, rules, codes = self._index
        documents, _ = _counted(array, self.how.lowercase, rules, table)
        return documents if codes is None else _recoded(documents, codes)

    def recoded(self, documents: Documents, words: pa.Array) -> Documents:
        """The same for documents whose words are known already, by other codes."""
        codes = pc.index_in(words, value_set=self.words.cast(words.type)).fill_null(scalar(-1, pa.int32()))
        return _recoded(documents, numpy_array(codes))

    def read_one(self, document: str) -> tuple[list[int], list[int], int]:
        """The same for one document: codes, counts, and how many of its words are unseen."""
        found = Counter(self.codes_in(document).tolist())
        unseen = found.pop(-1, 0)
        return list(found), list(found.values()), unseen

    def codes_in(self, document: str) -> Codes:
        """The code of each of its words, one after another; -1 where it isn't known."""
        latest, codes = self._latest
        if document is not latest:
            if self._searches < MOST_SEARCHES and not self._indexed:
                codes = self._searched(document)
            elif _plainly(len(document), self.how):
                codes = np.array([self._codes.get(word, -1) for word in self.how.words(document)], np.int32)
            else:
                codes = self._codes_by_kernel(document)
            if len(document) < SHORT_DOCUMENT:
                self._latest = document, codes
        return codes

    def _searched(self, document: str) -> Codes:
        """The same without an index: of all words, those that are in the document."""
        self._searches += 1
        words = self.how.words(document)
        there = pc.is_in(self.words, value_set=pa.array(list(dict.fromkeys(words)), self.words.type))
        at = pc.indices_nonzero(there)
        codes = dict(zip(self.words.take(at).to_pylist(), at.to_pylist(), strict=True))
        return np.array([codes.get(word, -1) for word in words], np.int32)

    def _read_alone(self, document: str) -> Documents:
        """The fast path for one document: preparing tables for many takes longer than reading one."""
        words, counts, unseen = self.read_one(document)
        return Documents(
            np.array([0, len(words)]),
            np.array(words, np.int32),
            np.array(counts, np.int32),
            np.array([document != ""]),
            np.array([unseen]),
        )

    def _codes_by_kernel(self, document: str) -> Codes:
        read_document, letters, rules, table, codes = self._reader
        foreign = not document.isascii()
        if foreign and self.how.lowercase:
            document = document.lower()
        text, alphabet = np.frombuffer(document.encode(), np.uint8), _alphabet() if foreign else NO_ALPHABET
        found: Codes = read_document(text, foreign, letters, alphabet, rules, table)
        return found if codes is None else codes[found]

    @cached_property
    def _reader(self) -> tuple[Any, ...]:
        """The kernel, and what it takes beside a document: plain tuples, as it gets those sooner."""
        from credo._kernels.text.words import read_document

        table, rules, codes = self._index
        return read_document, _letters(self.how.lowercase), (*rules,), (*table,), codes

    @cached_property
    def _codes(self) -> dict[str, int]:
        self._indexed, codes = True, dict[str, int]()
        for code, word in enumerate(self.words.to_pylist()):
            codes.setdefault(word, code)
        return codes

    @cached_property
    def _index(self) -> tuple[Table, Rules, Codes | None]:
        """A table, how to read by it, and what its numbers are as codes: None if they are codes."""
        self._indexed, (table, rules) = True, _started(self.how)
        if self.how.buckets:
            buckets = numpy_array(pc.utf8_slice_codeunits(self.words, 1).cast(pa.int64()))
            return table, rules, _places(buckets, np.arange(len(buckets)), self.how.buckets)
        # Each is a document, the last word of which should be all of it: else it is nothing that a document can have.
        # A pair's words get numbers too if they aren't in the vocabulary, as it couldn't be found without.
        documents, table = _counted(self.words, False, rules, table)
        spelt = _spelt(_own_keys(table, rules), table.arena, rules.stops).cast(pa.large_string())
        rows = np.flatnonzero(np.diff(documents.starts))
        numbers = documents.words[documents.starts[rows + 1] - 1]
        same = pc.equal(spelt.take(pa.array(numbers)), self.words.take(pa.array(rows)).cast(pa.large_string()))
        right = numpy_array(same)
        codes = _places(numbers[right], rows[right], len(spelt))
        in_order = np.array_equal(codes[:-1], np.arange(len(self.words)))
        return table, rules._replace(learns=False), None if in_order else codes


def places(document: str, how: Reading) -> list[tuple[int, int, str]]:
    """Where each word stands: its start, its end, and what it is counted as; a pair follows its second word.

    >>> places("in New York", Reading(ngrams=2))
    [(0, 2, 'in'), (3, 6, 'new'), (0, 6, 'in new'), (7, 11, 'york'), (3, 11, 'new york')]
    """
    text, pattern = document.lower() if how.lowercase else document, how.pattern
    own = pattern.groups
    found = pattern.finditer(text)
    if own:  # a group that isn't there is an empty word, as findall has it
        spans = [match.span(own) if match[own] else (match.start(), match.start()) for match in found]
    else:
        spans = [match.span() for match in found]
    tokens = [text[start:end] for start, end in spans]
    if how.stop_words:
        kept = [token not in how.stop_words for token in tokens]
        spans, tokens = [*compress(spans, kept)], [*compress(tokens, kept)]
    if len(text) != len(document):
        spans = _originals(spans, document)
    if how.ngrams == 2:
        pairs = ((second, (first[0], second[1])) for first, second in pairwise(spans))
        spans = spans[:1] + [span for both in pairs for span in both]
    return [(start, end, word) for (start, end), word in zip(spans, how.named(tokens), strict=True)]


def _originals(spans: Sequence[tuple[int, int]], document: str) -> list[tuple[int, int]]:
    """Where in the document what stands in its lower case is, in which a character may have become two (İ)."""
    ends = list(accumulate(len(character.lower()) for character in document))
    return [
        (bisect_right(ends, start), bisect_right(ends, end - 1) + 1 if start < end else bisect_right(ends, start))
        for start, end in spans
    ]


class _Latest:
    """The last columns that were cut in plain Python, which takes a while: one reader after another asks for them."""

    def __init__(self) -> None:
        self._found: tuple[tuple[Any, Any, tuple[Documents, Any]], ...] = ()  # where it lies; the column; what it is

    def find(self, array: pa.Array, how: Reading) -> tuple[Documents, Any] | None:
        where = self._where(array, how) if self._found else None
        return next((found for known, _, found in self._found if known == where), None)

    def keep(self, array: pa.Array, how: Reading, found: tuple[Documents, object]) -> tuple[Documents, Any]:
        if array.nbytes <= CACHED_BYTES:
            self._found = (*self._found[1 - CACHED_COLUMNS :], (self._where(array, how), array, found))
        return found

    @staticmethod
    def _where(array: pa.Array, how: Reading) -> tuple[Any, ...]:
        """Arrow's buffers don't change, and no other one lies there while the column is kept."""
        buffers = tuple(None if buffer is None else buffer.address for buffer in array.buffers())
        return buffers, array.offset, len(array), array.type, how


_latest = _Latest()


def _plainly(length: int, how: Reading) -> bool:
    """Whether Python's `re` reads so much: because it must, or because kernels wouldn't be ready sooner."""
    if how.token_pattern not in (None, TOKEN_PATTERN):
        return True
    steps = STEPS_PER_BYTE * how.ngrams * length
    if _price.pays(steps):
        return False
    _price.spend(steps)
    return True


def _counted_plainly(array: pa.Array, how: Reading) -> tuple[Documents, Any]:
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


def _counted(array: pa.Array, lowercase: bool, rules: Rules, table: Table) -> tuple[Documents, Table]:
    """Documents by numbers from the table on, and the table with what was learned."""
    from credo._kernels.text.words import DONE, FULL, NOTHING, count_documents, new_desk

    text = _text(array, lowercase)
    lengths = text[3] - text[2]
    room = int(lengths.sum()) // (4 if rules.pairs else 8) + 64
    desk = new_desk(PIECE_BYTES)
    counted = Counted(
        np.zeros(len(array) + 1, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.zeros(len(array), np.int64),
        np.zeros(rules.buckets or len(table.keys), np.uint64),
        np.array([0, 0, 0, NOTHING, 0, 0]),
    )
    while (state := count_documents(text, (*rules,), (*table,), desk, (*counted,))) != DONE:
        if state == FULL:
            table, counted = _with_room(table, counted, rules)
        elif len(desk[0]) < LARGEST_INT32 // 2:
            desk = new_desk(2 * len(desk[0]))
        else:
            raise DataError(f"a document has a word of more than {LARGEST_INT32 // 2} bytes: it isn't text")
    end = int(counted.starts[-1])
    words, counts = counted.words[:end].copy(), counted.counts[:end].copy()
    return Documents(counted.starts, words, counts, lengths > 0, counted.unseen), table


def _text(array: pa.Array, lowercase: bool) -> Text:
    """Documents as kernels take them."""
    from credo._kernels.text.words import mark_foreign

    plain, starts, ends = _buffers(array)
    foreign, is_foreign = plain, np.zeros(len(array), np.bool_)
    mark_foreign(plain, starts, ends, is_foreign)
    rows = np.flatnonzero(is_foreign)
    if lowercase and len(rows):  # by Python: what a capital sigma becomes depends on its neighbours
        lowered = [document.lower() for document in array.take(pa.array(rows)).to_pylist()]
        foreign, starts[rows], ends[rows] = _buffers(pa.array(lowered, pa.large_string()))
    alphabet = _alphabet() if len(rows) else NO_ALPHABET
    return plain, foreign, starts, ends, is_foreign, _letters(lowercase), alphabet


def _buffers(array: pa.Array) -> tuple[Bytes, Integers, Integers]:
    """The bytes of Arrow strings as they lie there, and where each begins and ends; a null has none."""
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
    text.flags.writeable = False  # as most are, so that kernels meet one type
    return text, starts, ends


@cache
def _letters(lowercase: bool) -> Bytes:
    """The lower-case form of each ASCII character; 0 where it belongs to no word."""
    every = (chr(code) if re.match(r"\w", chr(code)) else "\0" for code in range(128))
    return np.frombuffer("".join(c.lower() if lowercase else c for c in every).encode(), np.uint8)


@cache
def _alphabet() -> Truths:
    """Which code points belong to words."""
    every = np.arange(WORD_CODE_POINTS, dtype="<u4")
    every[0xD800:0xE000] = 0  # surrogates, which aren't characters
    found = np.zeros(WORD_CODE_POINTS, np.bool_)
    for match in re.finditer(r"\w+", every.tobytes().decode("utf-32-le")):
        found[match.start() : match.end()] = True
    return found


def _started(how: Reading) -> tuple[Table, Rules]:
    """A table that knows the stop words only, and how to go on."""
    seeds = np.frombuffer(bytearray(os.urandom(32)), np.uint64)
    empty = np.zeros(2, np.uint64), np.zeros((1, 2), np.uint64), np.zeros(0, np.uint8), np.zeros(2, np.int64)
    stops = [word for word in sorted(how.stop_words) if re.fullmatch(TOKEN_PATTERN, word)]
    _, table = _counted(pa.array(stops, pa.string()), False, Rules(True, False, 0, 0), Table(*empty, seeds))
    return table, Rules(not how.buckets, how.ngrams == 2, how.buckets or 0, len(stops))


def _with_room(table: Table, counted: Counted, rules: Rules) -> tuple[Table, Counted]:
    """The same, larger where the words to come would overflow."""
    from credo._kernels.text.words import BYTES_TO_COME, PLACE, WORDS_TO_COME, move_slots

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
    """The array if it has room for so many, or a longer one, whose unused part takes no memory."""
    if size <= len(array):
        return array
    grown = np.zeros((max(size, 3 * len(array)), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def _own_keys(table: Table, rules: Rules) -> Keys:
    """Those of words that aren't stop words."""
    return table.keys[rules.stops : int(table.used[0])]


def _settled(documents: Documents, table: Table, rules: Rules) -> Keys:
    """Make codes of the documents' numbers, which have pairs after all words of a piece of text; the keys by code."""
    from credo._kernels.text.words import settle_numbers

    keys = np.empty_like(_own_keys(table, rules))
    settle_numbers(documents.words, table.keys, rules.stops, np.full(len(keys), -1, np.int32), keys)
    return keys


def _spelt(keys: Keys, arena: Bytes, first: int = 0) -> pa.Array:
    """The words of keys, as Arrow strings; pairs are of words before them, which are numbered from `first` on."""
    from credo._kernels.text.words import measure_words, spell_words

    ends = np.zeros(len(keys) + 1, np.int64)
    measure_words(keys, first, ends)
    text = np.empty(int(ends[-1]), np.uint8)
    spell_words(keys, first, arena, ends, text)
    if len(text) > LARGEST_INT32:
        return pa.LargeStringArray.from_buffers(len(keys), pa.py_buffer(ends), pa.py_buffer(text))
    return pa.StringArray.from_buffers(len(keys), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(text))


def _places(numbers: NDArray[Any], codes: NDArray[Any], size: int) -> Codes:
    """Which code a number stands for, the first if there are several; -1 for those that stand for none, and for -1."""
    found = np.full(size + 1, -1, np.int32)
    found[numbers[::-1]] = codes[::-1]
    return found


def _recoded(documents: Documents, codes: Codes) -> Documents:
    """Documents by codes instead of numbers, of which those that stand for none are unseen."""
    words = codes[documents.words]
    kept = words >= 0
    if kept.all():
        return replace(documents, words=words)
    rows = np.repeat(np.arange(len(documents.known)), np.diff(documents.starts))[~kept]
    unseen = np.bincount(rows, documents.counts[~kept], len(documents.known)).astype(np.int64)
    starts = np.append(0, np.cumsum(kept))[documents.starts]
    return Documents(starts, words[kept], documents.counts[kept], documents.known, documents.unseen + unseen)
