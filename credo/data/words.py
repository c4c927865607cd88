"""Vocabularies: words learned from documents, and documents read by words that are already known.

Much text goes through kernels. Python's `re` reads small amounts while the kernels aren't compiled, and every text that
has a token pattern of its own. Both give the same result.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import credo._kernels.text as kernels
from credo._kernels.jit import Price
from credo.data.arrow_arrays import number_array, numpy_array, scalar
from credo.data.tokens import TOKEN_PATTERN, Tokeniser
from credo.data.word_counts import (
    NO_ALPHABET,
    Documents,
    Rules,
    Truths,
    WordTable,
    ascii_letters,
    counted_by_kernels,
    counted_in_python,
    empty_table,
    number_codes,
    own_keys,
    recoded,
    settled_keys,
    spelt_keys,
    word_characters,
)
from credo.numerics.arrays import Codes

INDEXED_WORDS, MOST_SEARCHES = 1 << 14, 8  # smaller vocabularies are searched this often before they are indexed
SHORT_DOCUMENT = 1 << 16  # bytes of a document that is cached, or read by itself
STEPS_PER_BYTE = 0.2  # of Python's interpreter
CACHED_BYTES, CACHED_COLUMNS = 1 << 20, 16  # of columns cut by plain Python

_price = Price(Path(kernels.__file__).parent, "words.count_documents-", compiling=15e6)  # with the kernels it calls


def learned(array: pa.Array, how: Tokeniser) -> tuple[Documents, Any]:
    """The counted documents, and their vocabulary (Arrow strings) by first occurrence.

    >>> documents, words = learned(pa.array(["To be, or not to be", None]), Tokeniser())
    >>> words.to_pylist(), documents.counts.tolist(), documents.known.tolist()
    (['to', 'be', 'or', 'not'], [2, 2, 1, 1], [True, False])
    """
    if (cut := _cut_columns.find(array, how)) is not None:
        return cut
    if _reads_in_python(array.nbytes, how):
        return _cut_columns.keep(array, how, counted_in_python(array, how))
    table, rules = empty_table(how)
    documents, table = counted_by_kernels(array, how.lowercase, rules, table)
    if how.buckets:
        found = pa.array(documents.words).dictionary_encode()
        names = pc.binary_join_element_wise("#", found.dictionary.cast(pa.string()), "")
        return replace(documents, words=numpy_array(found.indices)), names
    if rules.pairs:
        return documents, spelt_keys(settled_keys(documents, table, rules), table.arena)
    return documents, spelt_keys(own_keys(table, rules), table.arena)


def pairs_alone(documents: Documents, words: pa.Array) -> tuple[Documents, Any]:
    """The documents with pairs of words only.

    >>> documents, words = pairs_alone(*learned(pa.array(["to be or"]), Tokeniser(ngrams=2)))
    >>> words.to_pylist(), documents.words.tolist()
    (['to be', 'be or'], [0, 1])
    """
    return _only(documents, words, numpy_array(pc.match_substring(words, " ")))


def of_some(documents: Documents, words: pa.Array) -> tuple[Documents, Any]:
    """The documents with a vocabulary reduced to the words that occur in them."""
    there = np.zeros(len(words), dtype=np.bool_)
    there[documents.words] = True
    return _only(documents, words, there)


def _only(documents: Documents, words: pa.Array, there: Truths) -> tuple[Documents, Any]:
    codes = np.where(there, np.cumsum(there) - 1, -1).astype(np.int32)
    return recoded(documents, codes), words.filter(number_array(there))


class Vocabulary:
    """Known words, by which documents are read; a word's code is its index.

    >>> vocabulary = Vocabulary.of(pa.array(["be", "to"]), Tokeniser())
    >>> vocabulary.read_one("To be, or not to be")
    ([1, 0], [2, 2], 2)
    """

    def __init__(self, words: pa.Array, how: Tokeniser) -> None:
        self.words = words
        self.how = how
        self._latest: tuple[str, Codes] = "", np.zeros(0, np.int32)  # callers often read one document several times
        self._searches = 0 if len(words) > INDEXED_WORDS else MOST_SEARCHES  # so far, before it is indexed
        self._indexed = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self.words, self.how)

    @classmethod
    def of(cls, words: pa.Array, how: Tokeniser) -> Vocabulary:
        """The vocabulary of Arrow strings, indexed at first need."""
        return cls(words, how)

    def read(self, array: pa.Array) -> Documents:
        if (cut := _cut_columns.find(array, self.how)) is not None:
            return self.recoded(*cut)
        if _reads_in_python(array.nbytes, self.how):
            return self.recoded(*_cut_columns.keep(array, self.how, counted_in_python(array, self.how)))
        if len(array) == 1 and array.nbytes < SHORT_DOCUMENT:
            return self._read_alone(array[0].as_py() or "")
        table, rules, codes = self._index
        documents, _ = counted_by_kernels(array, self.how.lowercase, rules, table)
        return documents if codes is None else recoded(documents, codes)

    def recoded(self, documents: Documents, words: pa.Array) -> Documents:
        """Counted documents with other codes, recoded by this vocabulary."""
        return recoded(documents, self._codes_of(words))

    def _codes_of(self, words: pa.Array) -> Codes:
        """The code of each of some distinct words; -1 if unknown. The smaller set is hashed."""
        known = self.words.cast(words.type)
        if len(words) >= len(known):
            return np.asarray(numpy_array(pc.index_in(words, value_set=known).fill_null(scalar(-1, pa.int32()))))
        found = pc.index_in(known, value_set=words)
        codes = numpy_array(pc.indices_nonzero(found.is_valid()))
        return number_codes(numpy_array(found.drop_null()), codes, len(words))[:-1]

    def read_one(self, document: str) -> tuple[list[int], list[int], int]:
        """Codes, counts, and the number of unseen words of one document."""
        found = Counter(self.codes_in(document).tolist())
        unseen = found.pop(-1, 0)
        return list(found), list(found.values()), unseen

    def codes_in(self, document: str) -> Codes:
        """The code of each word of a document, in order; -1 if unknown."""
        latest, codes = self._latest
        if document is not latest:
            if self._searches < MOST_SEARCHES and not self._indexed:
                codes = self._searched(document)
            elif _reads_in_python(len(document), self.how):
                codes = np.array([self._codes.get(word, -1) for word in self.how.words(document)], np.int32)
            else:
                codes = self._codes_by_kernel(document)
            if len(document) < SHORT_DOCUMENT:
                self._latest = document, codes
        return codes

    def _searched(self, document: str) -> Codes:
        """`codes_in` without an index, by searching the vocabulary for the document's words."""
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
        not_ascii = not document.isascii()
        if not_ascii and self.how.lowercase:
            document = document.lower()
        text, alphabet = np.frombuffer(document.encode(), np.uint8), word_characters() if not_ascii else NO_ALPHABET
        found: Codes = read_document(text, not_ascii, letters, alphabet, rules, table)
        return found if codes is None else codes[found]

    @cached_property
    def _reader(self) -> tuple[Any, ...]:
        """The kernel and its other arguments, as plain tuples, which Numba unboxes faster."""
        from credo._kernels.text.words import read_document

        table, rules, codes = self._index
        return read_document, ascii_letters(self.how.lowercase), (*rules,), (*table,), codes

    @cached_property
    def _codes(self) -> dict[str, int]:
        self._indexed, codes = True, dict[str, int]()
        for code, word in enumerate(self.words.to_pylist()):
            codes.setdefault(word, code)
        return codes

    @cached_property
    def _index(self) -> tuple[WordTable, Rules, Codes | None]:
        """The hash table, its rules, and the codes of its numbers (None if they are equal)."""
        self._indexed, (table, rules) = True, empty_table(self.how)
        if self.how.buckets:
            buckets = numpy_array(pc.utf8_slice_codeunits(self.words, 1).cast(pa.int64()))
            return table, rules, number_codes(buckets, np.arange(len(buckets)), self.how.buckets)
        # Each word is read as a document, whose last word should be the whole of it; otherwise no document can have it.
        # The words of a pair get numbers even if they aren't in the vocabulary: the pair is found through them.
        documents, table = counted_by_kernels(self.words, False, rules, table)
        spelt = spelt_keys(own_keys(table, rules), table.arena, rules.stops).cast(pa.large_string())
        rows = np.flatnonzero(np.diff(documents.starts))
        numbers = documents.words[documents.starts[rows + 1] - 1]
        same = pc.equal(spelt.take(pa.array(numbers)), self.words.take(pa.array(rows)).cast(pa.large_string()))
        right = numpy_array(same)
        codes = number_codes(numbers[right], rows[right], len(spelt))
        in_order = np.array_equal(codes[:-1], np.arange(len(self.words)))
        return table, rules._replace(learns=False), None if in_order else codes


class _CutColumns:
    """A cache of the last columns cut by plain Python, which is slow: several readers ask for the same column."""

    def __init__(self) -> None:
        self._found: tuple[tuple[Any, Any, tuple[Documents, Any]], ...] = ()  # key, column, result

    def find(self, array: pa.Array, how: Tokeniser) -> tuple[Documents, Any] | None:
        where = self._where(array, how) if self._found else None
        return next((found for known, _, found in self._found if known == where), None)

    def keep(self, array: pa.Array, how: Tokeniser, found: tuple[Documents, object]) -> tuple[Documents, Any]:
        if array.nbytes <= CACHED_BYTES:
            self._found = (*self._found[1 - CACHED_COLUMNS :], (self._where(array, how), array, found))
        return found

    @staticmethod
    def _where(array: pa.Array, how: Tokeniser) -> tuple[Any, ...]:
        """The key of a column: its buffers' addresses, which stay valid while the column is kept."""
        buffers = tuple(None if buffer is None else buffer.address for buffer in array.buffers())
        return buffers, array.offset, len(array), array.type, how


_cut_columns = _CutColumns()


def _reads_in_python(length: int, how: Tokeniser) -> bool:
    """Whether Python's `re` reads this much text: because of its pattern, or since compiling kernels would take
    longer."""
    if how.token_pattern not in (None, TOKEN_PATTERN):
        return True
    steps = STEPS_PER_BYTE * how.ngrams * length
    if _price.pays(steps):
        return False
    _price.spend(steps)
    return True
