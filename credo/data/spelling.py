"""How strings spell numbers, dates and missing values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from credo.data.arrow_arrays import scalar

# 01234 and 1_000 are names, and so are integers too long for 64 bits: as floats they would be mixed up with others.
WHOLE_NUMBER = r"^\s*-?(0|[1-9][0-9]{0,17})\s*$"
DECIMAL = r"((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+|0|[1-9][0-9]{0,17})([eE][-+]?[0-9]+)?"
NUMBER = rf"^\s*[-+]?({DECIMAL}|(?i:nan|inf|infinity))\s*$"
# 3,14 and 1.234,5 have a decimal comma, 1,234.5 has commas between thousands; 1,234 may be either.
WHOLE_PART = r"(0|[1-9][0-9]{0,17}|[1-9][0-9]{0,2}"  # or groups of three digits
DECIMAL_COMMA = rf"^\s*[-+]?{WHOLE_PART}(\.[0-9]{{3}})+)(,[0-9]+)?\s*$"
THOUSANDS = rf"^\s*[-+]?{WHOLE_PART}(,[0-9]{{3}})+)(\.[0-9]*)?\s*$"
DOTTED_THOUSANDS = rf"^\s*[-+]?{WHOLE_PART}(\.[0-9]{{3}})+)\s*$"

# ISO 8601: 2024-05-31, 2024-05-31 17:30, 2024-05-31T17:30:00.5+02:00; or 31.5.2024 and 2024/5/31, which are
# unambiguous. 31/05/2024 isn't: 4/5/2024 beside it may be in April or in May.
ZONE = r"(Z|[-+][0-9]{2}(:?[0-9]{2})?)"
TIME = rf"([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,9}})?)?{ZONE}?)?\s*$"
ISO = rf"^\s*[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{TIME}"
DOTTED = r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"
SLASHED = r"[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}"
DATE = rf"^\s*([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|{DOTTED}|{SLASHED}){TIME}"
DAY = r"(0?[1-9]|[12][0-9]|3[01])"
UNCLEAR_DATE = rf"^\s*({DAY}/{DAY}/([0-9]{{2}})?[0-9]{{2}}|{DAY}-{DAY}-[0-9]{{4}}){TIME}"
TO_ISO = (
    (r"^([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})", r"\3-\2-\1"),
    (r"^([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})", r"\1-\2-\3"),
    (r"^([0-9]{4})-([0-9])-", r"\1-0\2-"),
    (r"^([0-9]{4}-[0-9]{2})-([0-9])($|[T ])", r"\1-0\2\3"),
)

CURRENCY_SIGNS = "$€£¥%"  # before or after an amount
SIGN_AT_END = rf"^\s*([-+]?)\s*[{CURRENCY_SIGNS}]\s*|\s*[{CURRENCY_SIGNS}]\s*$"

# Common spellings of missing values, in lower case. Among words they may be ordinary values.
MISSING_TOKENS = frozenset(
    ["", "na", "n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", "?", ".", "#n/a", "#na", "<na>", "nat"]
)
BLANK = " "  # a cell of whitespace, however long
PEEKED_CELLS, SAMPLED_CELLS = 4, 1024  # cells that often, and nearly always, suffice to tell words from numbers
DATE_EXPRESSION = re.compile(DATE)
SIGN_EXPRESSION = re.compile(SIGN_AT_END)
NOT_WORDS = re.compile(rf"{NUMBER}|{DATE}|{DECIMAL_COMMA}|{THOUSANDS}")

Spelt = Literal["whole", "number", "comma", "thousands", "date", "words"]


def are_tokens(array: object) -> pa.Array:
    """Which strings spell a missing value."""
    return pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(array)), pa.array(sorted(MISSING_TOKENS)))


also_missing: ContextVar[frozenset[str]] = ContextVar("also_missing", default=frozenset())  # set while columns are made


def is_token(cell: object) -> bool:
    """
    >>> is_token(" N/A "), is_token("0"), is_token(None)
    (True, False, False)
    """
    return isinstance(cell, str) and (cell.strip().lower() in MISSING_TOKENS or cell.strip() in also_missing.get())


def without_tokens(array: object) -> pa.Array:
    return pc.if_else(are_tokens(array), scalar(None, pa.string()), array)


@dataclass(frozen=True)
class Spelling:
    """How the cells of some rows of a column are spelt; spellings of parts add."""

    cells: int = 0  # non-empty cells that aren't tokens
    whole: bool = True
    number: bool = True
    date: bool = True
    tokens: Counter[str] = field(default_factory=Counter)
    comma: bool = True  # numbers, decimals after a comma, perhaps with dots between thousands
    thousands: bool = True  # numbers, decimals after a dot, perhaps with commas between thousands
    dotted: bool = True  # whole numbers, perhaps with dots between thousands
    commas: bool = False  # whether a cell has a fraction
    sign: str = ""  # of a currency, or %, that every cell has

    @classmethod
    def of(cls, array: pa.Array) -> Spelling:
        """The spelling of an array of strings."""
        try:
            if (
                any(map(_is_word, array[:PEEKED_CELLS].to_pylist())) or cls._of(array[:SAMPLED_CELLS]).is_words
            ):  # mostly
                return ALL_WORDS
            return cls._of(array)
        except (pa.ArrowInvalid, UnicodeDecodeError):  # not UTF-8: an error where the cells are used
            return ALL_WORDS

    @classmethod
    def _of(cls, array: pa.Array) -> Spelling:
        array = array.drop_null()
        missing = are_tokens(array)
        known, tokens = array.filter(pc.invert(missing)), Counter[str]()
        for each in pc.value_counts(array.filter(missing)).to_pylist():
            if each["values"]:  # empty fields are common
                tokens[each["values"].strip() or BLANK] += each["counts"]
        sign = _sign(known)
        known = _unsigned(known) if sign else known
        whole = _all_spelt(known, WHOLE_NUMBER)  # a whole number fits every pattern but dates
        number = whole or _all_spelt(known, NUMBER)
        date = not number and not sign and dates(known) is not None
        dotted = whole or (not date and _all_spelt(known, DOTTED_THOUSANDS))
        return cls(
            len(known),
            whole or not len(known),
            number,
            date or not len(known),
            tokens,
            dotted or (not number and not date and _all_spelt(known, DECIMAL_COMMA)),
            whole or (not date and _all_spelt(known, THOUSANDS)),
            dotted,
            not number and pc.any(pc.match_substring(known, ",")).as_py() is True,
            sign,
        )

    def __add__(self, other: Spelling) -> Spelling:
        if self.cells and other.cells and self.sign != other.sign:
            return ALL_WORDS
        return Spelling(
            self.cells + other.cells,
            self.whole and other.whole,
            self.number and other.number,
            self.date and other.date,
            self.tokens + other.tokens,
            self.comma and other.comma,
            self.thousands and other.thousands,
            self.dotted and other.dotted,
            self.commas or other.commas,
            self.sign or other.sign,
        )

    @property
    def is_words(self) -> bool:
        return not (self.number or self.date or self.comma or self.thousands)

    @property
    def kind(self) -> Spelt:
        """What the cells spell; a column of missing-value tokens alone stays words."""
        if not self.cells or self.is_words:
            return "words"
        if self._plainly_numbers or self.date:
            return "whole" if self.whole else "date" if self.date else "number"
        if self.unclear or not (self.sign or self.commas):  # 12.345.678 may be an identifier
            return "words"
        return "comma" if self.comma else "thousands"

    @property
    def _plainly_numbers(self) -> bool:
        """Whether cells are unambiguous numbers: 1.234 is one, but 1.234 € may be a thousand."""
        return self.number and (self.whole or not (self.sign and self.dotted))

    @property
    def unclear(self) -> bool:
        """Whether commas, or the dots of amounts, may be decimal or thousands separators."""
        return self.cells > 0 and self.comma and self.thousands and not (self._plainly_numbers or self.date)


ALL_WORDS = Spelling(1, False, False, False, comma=False, thousands=False, dotted=False)


def _is_word(cell: str | None) -> bool:
    return cell is not None and not (NOT_WORDS.match(SIGN_EXPRESSION.sub(r"\1", cell)) or is_token(cell))


def _all_spelt(values: object, spelling: str) -> bool:
    return pc.all(pc.match_substring_regex(values, spelling)).as_py() is not False


def _sign(known: Any) -> str:
    """The currency sign, or %, that every cell has once, at one of its ends."""
    first = known[0].as_py().strip() if len(known) else ""
    sign = next((each for each in CURRENCY_SIGNS if each in (first[:1], first[-1:], first.lstrip("+-")[:1])), "")
    return sign if sign and pc.all(pc.equal(pc.count_substring(known, sign), 1)).as_py() else ""


def _unsigned(array: object) -> pa.Array:
    """The amounts without the sign at either end."""
    return pc.replace_substring_regex(array, SIGN_AT_END, r"\1")


def as_numbers(array: object, kind: Spelt = "number") -> pa.Array:
    """Strings as numbers, missing-value tokens as nulls, amounts without their currency sign."""
    known = pc.utf8_trim_whitespace(without_tokens(array))
    if _sign(known.drop_null()):
        known = _unsigned(known)
    if kind == "comma":
        known = pc.replace_substring(pc.replace_substring(known, ".", ""), ",", ".")
    elif kind == "thousands":
        known = pc.replace_substring(known, ",", "")
    return known.cast(pa.int64() if kind == "whole" else pa.float64())


def dates(array: pa.Array) -> Any:
    """Strings that spell dates as timestamps, in UTC where they name a zone; None where one of them isn't a date."""
    if any(cell is not None and not DATE_EXPRESSION.match(cell) for cell in array[:PEEKED_CELLS].to_pylist()):
        return None  # mostly decides; faster than compiling Arrow's expression
    if not (_all_spelt(array[:SAMPLED_CELLS], DATE) and _all_spelt(array, DATE)):
        return None
    words = pc.utf8_trim_whitespace(array)
    if not _all_spelt(words, ISO):
        for written, iso in TO_ISO:
            words = pc.replace_substring_regex(words, written, iso)
    cut = pc.replace_substring_regex(words, r"(\.[0-9]{6})[0-9]+", r"\1")  # a microsecond is enough
    zoned = pc.match_substring_regex(cut, rf":[0-9.]+{ZONE}$")
    try:
        plain = pc.if_else(zoned, scalar(None, pa.string()), cut).cast(pa.timestamp("us"))
        there = pc.if_else(zoned, cut, scalar(None, pa.string())).cast(pa.timestamp("us", "UTC"))
        return pc.coalesce(plain, there.cast(pa.timestamp("us")))
    except pa.ArrowInvalid:
        return None


def among(cells: Any, asked: Collection[object]) -> Any:
    """Which cells of an Arrow array equal one of the values, whatever their spelling; None if none does."""
    kind = cells.type
    words = {str(each).strip() for each in asked}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        found = pc.is_in(pc.utf8_trim_whitespace(cells.cast(pa.string())), pa.array(sorted(words)))
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = [each for each in map(_number, words) if each is not None]
        found = pc.is_in(cells.cast(pa.float64(), safe=False), pa.array(numbers, pa.float64()))
    else:
        return None
    return found if pc.any(found).as_py() else None


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
