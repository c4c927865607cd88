"""Tokens of a text and their places, for the formats that aren't XML or JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import islice

import numpy as np

from credo.errors import NetworkError
from credo.formats.names import cut, unquoted
from credo.numerics.exact import Array

STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\Z)'
NUMBER_CHARACTERS = frozenset("0123456789.eE+-")  # float() accepts more: 1_000, nan, infinity
MOST_LISTED_TOKENS = 2**24  # tokens of a table or a list
MOST_SKIPPED_TOKENS = 2**20  # tokens of a part that is ignored
TOKENS_AT_ONCE = 50_000  # tokens scanned at a time: a malformed file is refused long before its end


def tokens_of(skipped: str, punctuation: str, word: str) -> re.Pattern[str]:
    """A pattern for the next token: a string, a sign, a word, or any other character.

    It includes what it skips, and matches at the end of the text, too, so scanning takes linear time for any text.
    """
    return re.compile(rf"(?:{skipped})*+({STRING}|{punctuation}|{word}|.|\Z)", re.DOTALL)


class Scanner:
    """The tokens of a text, in order; a token's index is its place in errors.

    >>> scanner = Scanner("net { size = (80 40); }", "a.net", tokens_of(r"\\s++", r"[{}()=;]", r"[^\\s{}()=;]++"))
    >>> scanner.take(), scanner.take(), scanner.until("=")
    ('net', '{', ['size'])
    >>> scanner.fault(scanner.at, "expected nothing more")
    NetworkError('a.net, line 1, column 14: expected nothing more')
    """

    def __init__(self, text: str, file: str, pattern: re.Pattern[str]) -> None:
        self._text, self._file, self._pattern = text, file, pattern
        self._matches = pattern.finditer(text)
        self._tokens: list[str] = []
        self._next = 0  # index of the next token in the buffer
        self._gone = 0  # number of tokens before the buffer

    @property
    def at(self) -> int:
        """The index of the next token."""
        return self._gone + self._next

    def peek(self) -> str:
        """The next token, or "" at the end."""
        return self._tokens[self._next] if self._next < len(self._tokens) or self._more() else ""

    def take(self) -> str:
        token = self.peek()
        if token:
            self._next += 1
        return token

    def word(self, what: str, signs: Collection[str]) -> str:
        """The next word or string, without quotes; a sign is an error."""
        at = self.at
        token = self.take()
        if not token or token in signs:
            raise self.fault(at, f"expected {what}, but found {shown(token)}")
        return unquoted(token)

    def expect(self, wanted: str, what: str = "") -> None:
        at = self.at
        if (found := self.take()) != wanted:
            raise self.fault(at, f"expected {wanted!r}{what}, but found {shown(found)}")

    def until(self, stop: str) -> list[str]:
        """The tokens before the next `stop`, which is taken too."""
        if self._next > TOKENS_AT_ONCE:
            self._forget()
        searched = self._next
        while True:
            try:
                end = self._tokens.index(stop, searched)
                break
            except ValueError:
                searched = len(self._tokens)
                if searched - self._next > MOST_LISTED_TOKENS or not self._more():
                    raise self.fault(self.at, f"expected {stop!r} after this, but the file ends") from None
        found = self._tokens[self._next : end]
        self._next = end + 1
        return found

    def skip_to(self, stops: Collection[str]) -> str:
        """Skip to the first of these signs, which is taken, too."""
        start = self.at
        for _ in range(MOST_SKIPPED_TOKENS):
            if (word := self.take()) in stops:
                return word
            if not word:
                break
        raise self.fault(start, f"expected {' or '.join(map(repr, sorted(stops)))} after this, but the file ends")

    def exactly(self, count: int, what: str) -> list[str]:
        """A number of tokens; the file must have them."""
        if self._next > TOKENS_AT_ONCE:
            self._forget()
        while len(self._tokens) - self._next < count:
            if not self._more():
                there = len(self._tokens) - self._next
                raise self.fault(self.at, f"expected {count} {what} from here, but the file has {there}")
        found = self._tokens[self._next : self._next + count]
        self._next += count
        return found

    def numbers(self, words: Sequence[str], at: Callable[[int], int], around: str = "") -> Array:
        """The words as floats, without those in `around`; `at` gives the index of the i-th word."""
        kept = [word for word in words if word not in around] if around else words
        try:
            return floats(kept)
        except ValueError:
            bad = next(i for i, word in enumerate(words) if not (around and word in around) and not _is_number(word))
            raise self.fault(at(bad), f"expected a number, but found {shown(words[bad])}") from None

    def fault(self, at: int, message: str) -> NetworkError:
        """An error at the token with this index, found by scanning the text again."""
        found = next(islice((match for match in self._pattern.finditer(self._text) if match[1]), at, None), None)
        start = found.start(1) if found else len(self._text)
        line = self._text.count("\n", 0, start) + 1
        column = start - self._text.rfind("\n", 0, start)
        return NetworkError(f"{self._file}, line {line}, column {column}: {message}")

    def _more(self) -> bool:
        piece = [token for match in islice(self._matches, TOKENS_AT_ONCE) if (token := match[1])]
        self._tokens += piece
        if piece and piece[-1][0] == '"' and not _is_closed(piece[-1]):
            raise self.fault(self._gone + len(self._tokens) - 1, "this quote is never closed")
        return bool(piece)

    def _forget(self) -> None:
        del self._tokens[: self._next]
        self._gone, self._next = self._gone + self._next, 0


def shown(token: str) -> str:
    """A token for an error message."""
    return repr(cut(token)) if token else "the end of the file"


def floats(words: Sequence[str]) -> Array:
    """Words as numbers; a ValueError shows the first that isn't one.

    >>> floats(["1", ".5", "1e-3"])
    array([1.   , 0.5  , 0.001])
    """
    try:
        if NUMBER_CHARACTERS.issuperset("".join(words)):
            return np.array(list(map(float, words)), dtype=np.float64)
    except ValueError:
        pass
    raise ValueError(shown(next(word for word in words if not _is_number(word))))


def _is_closed(string: str) -> bool:
    """Whether a string ends in an unescaped quote."""
    inner = string[1:-1]
    return len(string) > 1 and string[-1] == '"' and (len(inner) - len(inner.rstrip("\\"))) % 2 == 0


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return NUMBER_CHARACTERS.issuperset(word)
