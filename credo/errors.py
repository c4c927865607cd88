"""The exception tree: every error that credo raises on purpose is a CredoError, in one clear sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from math import inf
from numbers import Integral, Real
from typing import Any

QUOTED_CHARACTERS = 60  # of a question that an error repeats
ERROR_CHARACTERS = 1200  # longer messages are shortened
SEARCHED_NAMES = 10_000  # for a similar one
DELIMITERS = ",;\t|"  # that a column's name seldom contains
# Control characters but line feed and tab; marks that change the direction of writing; halves of surrogate pairs.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with a replacement character for each control character: safe to show on a terminal.

    >>> printable("caf\u00e9 \\x1b[31mred\\n")
    'café �[31mred\\n'
    """
    return CONTROLS.sub("�", text)


class CredoError(Exception):
    """Any error that credo raises on purpose. Its text has no control characters."""

    def __str__(self) -> str:
        said = super().__str__()
        if len(said) > ERROR_CHARACTERS:  # a long name or value: keep the beginning and the end
            said = f"{said[: ERROR_CHARACTERS * 2 // 3]} ... {said[-ERROR_CHARACTERS // 3 :]}"
        return printable(said)


class DataError(CredoError, ValueError):
    """The data can't be read, or a cell doesn't fit its column."""


class SchemaError(CredoError, ValueError):
    """Columns don't fit: one is missing, duplicate, or of another kind."""


class PriorError(CredoError, ValueError):
    """A prior is outside its domain, or two beliefs have different priors."""


class EvidenceError(CredoError, ValueError):
    """Evidence was never learned and can't be forgotten, is impossible, or is too little for an answer.

    `findings` are those of a network that contradict each other.
    """

    def __init__(self, message: str = "", findings: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.findings = dict(findings or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.findings)


class NetworkError(CredoError, ValueError):
    """Arrows, states or tables don't form a network, or a file has none."""


class UnsupportedError(CredoError, AttributeError):
    """This kind of model can't support the verb: the message says why, and what to use instead."""


class SizeError(CredoError):
    """An exact answer needs more memory than there is."""


class QuestionError(CredoError, ValueError):
    """A question can't be parsed, or the model has no answer to it."""

    def __init__(self, what: str, question: str, at: int) -> None:
        super().__init__(f"{what} (character {at + 1} of the question)")
        self.what, self.question, self.at = what, question, at

    def pointed(self) -> str:
        """The part of the question around the error, with a caret below it.

        >>> print(QuestionError("expected a name", "P()", 2).pointed())
        P()
          ^
        """
        first = max(0, min(self.at - QUOTED_CHARACTERS // 2, len(self.question) - QUOTED_CHARACTERS))
        part = self.question[first : first + QUOTED_CHARACTERS]
        shown = "".join(letter if letter.isprintable() else " " for letter in part)
        return f"{shown}\n{' ' * (self.at - first)}^"


class StorageError(CredoError):
    """A file can't be written, or isn't a complete, unchanged credo file of a known version."""


def suggest(name: object, known: Iterable[object], limit: int = 8) -> str:
    """The end of an error about an unknown name: known names, and the one probably meant.

    >>> suggest("petl", ["petal", "sepal"])
    "known: petal, sepal. Did you mean 'petal'?"
    >>> suggest("petal", ["petal;sepal"])  # a table that was read with another delimiter
    "known: petal;sepal. If ';' is the delimiter, use credo.read(data, delimiter=';')"
    """
    names = [str(k) for k in known]
    if len(names) == 1 and (mark := next((mark for mark in DELIMITERS if mark in names[0]), "")):
        return f"known: {names[0]}. If {mark!r} is the delimiter, use credo.read(data, delimiter={mark!r})"
    near = nearest(str(name), names)
    shown = ", ".join(names[:limit]) + (f", ... ({len(names)} in all)" if len(names) > limit else "")
    if near and near[0] == str(name):
        return f"known: {shown}, which are of another type."
    return f"known: {shown or 'none'}." + (f" Did you mean {near[0]!r}?" if near else "")


def nearest(name: str, names: Sequence[str]) -> list[str]:
    """The name that was probably meant, if there is one: the same in another case, or a similar one.

    >>> nearest("hr", ["CVP", "HR"]), nearest("Thundre", ["Thunder"]), nearest("x", ["Thunder"])
    (['HR'], ['Thunder'], [])
    """
    same = [each for each in names if each.casefold() == name.casefold()]
    return same[:1] or get_close_matches(name, names[:SEARCHED_NAMES], n=1)


def counted(n: float, noun: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2500, "row"), counted(2, "hypothesis")
    ('1 row', '2500 rows', '2 hypotheses')
    """
    if n == 1:
        return f"{n:.10g} {noun}"
    return f"{n:.10g} {noun.removesuffix('is')}es" if noun.endswith("sis") else f"{n:.10g} {noun}s"


def check_seed(seed: object) -> int:
    """The same seed, if it is one: a whole number of at least 0.

    >>> check_seed(7)
    7
    """
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise DataError(f"a seed must be a whole number of at least 0, but is {seed!r:.60}")
    return int(seed)


def check_whole(name: str, value: object, least: int, error: type[CredoError] = NetworkError) -> int:
    """An option that is a whole number, as Python's own: NumPy's are taken, too.

    >>> check_whole("rounds", 3, 1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise error(f"{name} must be a whole number of at least {least}, but is {value!r:.60}")
    return int(value)


def check_positive_number(name: str, value: object, error: type[CredoError]) -> None:
    """An option that is a finite number above 0."""
    if not isinstance(value, Real) or not 0 < float(value) < inf:
        raise error(f"{name} must be positive, but is {value!r:.60}")


def check_mapping(wanted: str, value: object, error: type[CredoError]) -> None:
    """Refuse what isn't a mapping. `wanted` is the sentence up to the value.

    >>> check_mapping("evidence must be {name: state}, but is", {"Storm": "yes"}, DataError)
    """
    if not isinstance(value, Mapping):
        raise error(f"{wanted} {value!r:.60}")


def check_discount(factor: object) -> float:
    """A factor that evidence is multiplied by."""
    if isinstance(factor, bool) or not isinstance(factor, Real) or not 0 < float(factor) <= 1:
        raise EvidenceError(f"a discount must be above 0 and at most 1, but is {factor!r:.60}")
    return float(factor)


class EngineError(CredoError, RuntimeError):
    """An engine isn't available, or its workers failed."""


class Notice(UserWarning):
    """A warning that credo did something unexpected."""
