"""Tokens of a document, cut as by scikit-learn's CountVectorizer, and their positions in it."""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, compress, pairwise

from credo.errors import DataError

TOKEN_PATTERN = r"(?u)\b\w\w+\b"


@dataclass(frozen=True)
class Tokeniser:
    """Cuts a string into words.

    >>> Tokeniser(ngrams=2, stop_words=frozenset({"in"})).words("Rain in New York")
    ['rain', 'new', 'rain new', 'york', 'new york']
    """

    lowercase: bool = True
    ngrams: int = 1  # 2: also pairs of neighbours, after dropping stop words
    stop_words: frozenset[str] = frozenset()
    token_pattern: str | None = None  # None: runs of two or more letters, digits and underscores
    buckets: int | None = None  # feature hashing: a word's name is the CRC-32 of its UTF-8, modulo this

    def words(self, document: str) -> list[str]:
        """The words of a document as they are counted: a pair follows its second word."""
        return self.named(self.pattern.findall(document.lower() if self.lowercase else document))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        pattern = re.compile(TOKEN_PATTERN if self.token_pattern is None else self.token_pattern)
        if pattern.groups > 1:
            raise DataError(f"a token pattern must have at most one capturing group, but {pattern.pattern!r} has more")
        return pattern

    def named(self, tokens: list[str]) -> list[str]:
        """The names under which tokens are counted."""
        if self.stop_words:
            tokens = [token for token in tokens if token not in self.stop_words]
        if self.ngrams == 2:
            pairs = zip(tokens[1:], map(" ".join, pairwise(tokens)), strict=False)
            tokens = [*tokens[:1], *chain.from_iterable(pairs)]
        if self.buckets:
            tokens = [f"#{zlib.crc32(token.encode()) % self.buckets}" for token in tokens]
        return tokens


def places(document: str, how: Tokeniser) -> list[tuple[int, int, str]]:
    """The start, the end and the counted name of each word; a pair follows its second word.

    >>> places("in New York", Tokeniser(ngrams=2))
    [(0, 2, 'in'), (3, 6, 'new'), (0, 6, 'in new'), (7, 11, 'york'), (3, 11, 'new york')]
    """
    text, pattern = document.lower() if how.lowercase else document, how.pattern
    own = pattern.groups
    found = pattern.finditer(text)
    if own:  # an absent group is an empty word, as in findall
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
    """Positions in the document, from those in its lower case, in which one character may become two (İ)."""
    ends = list(accumulate(len(character.lower()) for character in document))
    return [
        (bisect_right(ends, start), bisect_right(ends, end - 1) + 1 if start < end else bisect_right(ends, start))
        for start, end in spans
    ]
