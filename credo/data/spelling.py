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
WHOLE = r"^\s*-?(0|[1-9][0-9]{0,17})\s*$"
DECIMAL = r"((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+|0|[1-9][0-9]{0,17})([eE][-+]?[0-9]+)?"
NUMBER = rf"^\s*[-+]?({DECIMAL}|(?i:nan|inf|infinity))\s*$"
# 3,14 and 1.234,5 have a decimal comma, 1,234.5 has commas between thousands; 1,234 may be either.
WHOLE_PART = r"(0|[1-9][0-9]{0,17}|[1-9][0-9]{0,2}"  # or groups of three digits
COMMA = rf"^\s*[-+]?{WHOLE_PART}(\.[0-9]{{3}})+)(,[0-9]+)?\s*$"
THOUSANDS = rf"^\s*[-+]?{WHOLE_PART}(,[0-9]{{3}})+)(\.[0-9]*)?\s*$"
DOTTED_THOUSANDS = rf"^\s*[-+]?{WHOLE_PART}(\.[0-9]{{3}})+)\s*$"

# As ISO 8601 has it: 2024-05-31, 2024-05-31 17:30, 2024-05-31T17:30:00.5+02:00; or 31.5.2024 and 2024/5/31, which leave
# no doubt. 31/05/2024 might be another day.
ZONE = r"(Z|[-+][0-9]{2}(:?[0-9]{2})?)"
TIME = rf"([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,9}})?)?{ZONE}?)?\s*$"
ISO = rf"^\s*[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{TIME}"
DOTTED = r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"
SLASHED = r"[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}"
DATE = rf"^\s*([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|{DOTTED}|{SLASHED}){TIME}"
TO_ISO = (
    (r"^([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})", r"\3-\2-\1"),
    (r"^([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})", r"\1-\2-\3"),
    (r"^([0-9]{4})-([0-9])-", r"\1-0\2-"),
    (r"^([0-9]{4}-[0-9]{2})-([0-9])($|[T ])", r"\1-0\2\3"),
)

SIGNS = "$€£¥%"  # that stand before or after an amount
SIGNED = rf"^\s*([-+]?)\s*[{SIGNS}]\s*|\s*[{SIGNS}]\s*$"

# Common spellings of missing values, in lower case. Among words they may be ordinary values.
TOKENS = frozenset(
    ["", "na", "n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", "?", ".", "#n/a", "#na", "<na>", "nat"]
)
FEW_CELLS, FIRST_CELLS = 4, 1024  # cells that suffice to tell words from numbers: often, and nearly always
A_DATE = re.compile(DATE)
A_SIGN = re.compile(SIGNED)
READABLE = re.compile(rf"{NUMBER}|{DATE}|{COMMA}|{THOUSANDS}")

Spelt = Literal["whole", "number", "comma", "thousands", "date", "words"]


def are_tokens(array: object) -> pa.Array:
    """Which strings spell a missing value."""
    return pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(array)), pa.array(sorted(TOKENS)))


also_missing: ContextVar[frozenset[str]] = ContextVar("also_missing", default=frozenset())  # while columns are made


def is_token(cell: object) -> bool:
    """
    >>> is_token(" N/A "), is_token("0"), is_token(None)
    (True, False, False)
    """
    return isinstance(cell, str) and (cell.strip().lower() in TOKENS or cell.strip() in also_missing.get())


def without_tokens(array: object) -> pa.Array:
    return pc.if_else(are_tokens(array), scalar(None, pa.string()), array)


@dataclass(frozen=True)
class Spelling:
    """How the cells of some rows of a column are spelt; spellings of parts add."""

    cells: int = 0  # that hold something, tokens apart
    whole: bool = True
    number: bool = True
    date: bool = True
    tokens: Counter[str] = field(default_factory=Counter)
    comma: bool = True  # numbers, decimals after a comma, perhaps with dots between thousands
    thousands: bool = True  # numbers, decimals after a dot, perhaps with commas between thousands
    dotted: bool = True  # whole numbers, perhaps with dots between thousands
    commas: bool = False  # whether a cell has one
    sign: str = ""  # of a currency, or %, that every cell has

    @classmethod
    def of(cls, array: pa.Array) -> Spelling:
        """Of strings."""
        try:
            if any(map(_is_word, array[:FEW_CELLS].to_pylist())) or cls._of(array[:FIRST_CELLS]).is_words:  # as mostly
                return ALL_WORDS
            return cls._of(array)
        except (pa.ArrowInvalid, UnicodeDecodeError):  # not UTF-8, which is an error where the cells are used
            return ALL_WORDS

    @classmethod
    def _of(cls, array: pa.Array) -> Spelling:
        array = array.drop_null()
        missing = are_tokens(array)
        known, tokens = array.filter(pc.invert(missing)), Counter[str]()
        for each in pc.value_counts(pc.utf8_trim_whitespace(array.filter(missing))).to_pylist():
            if each["values"]:  # an empty field is no surprise
                tokens[each["values"]] = each["counts"]
        sign = _sign(known)
        known = _unsigned(known) if sign else known
        whole = _all_spelt(known, WHOLE)  # which all but dates may be
        number = whole or _all_spelt(known, NUMBER)
        date = not number and not sign and dates(known) is not None
        dotted = whole or (not date and _all_spelt(known, DOTTED_THOUSANDS))
        return cls(
            len(known),
            whole or not len(known),
            number,
            date or not len(known),
            tokens,
            dotted or (not number and not date and _all_spelt(known, COMMA)),
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
        """A column of missing-value tokens alone is ambiguous, and stays words."""
        if not self.cells or self.is_words:
            return "words"
        if self._plainly_numbers or self.date:
            return "whole" if self.whole else "date" if self.date else "number"
        if self.unclear or not (self.sign or self.commas):  # 12.345.678 may be a name
            return "words"
        return "comma" if self.comma else "thousands"

    @property
    def _plainly_numbers(self) -> bool:
        """1.234 is one, but 1.234 € may be a thousand."""
        return self.number and (self.whole or not (self.sign and self.dotted))

    @property
    def unclear(self) -> bool:
        """Whether commas, or the dots of amounts, may be decimal or thousands separators."""
        return self.cells > 0 and self.comma and self.thousands and not (self._plainly_numbers or self.date)


ALL_WORDS = Spelling(1, False, False, False, comma=False, thousands=False, dotted=False)


def _is_word(cell: str | None) -> bool:
    return cell is not None and not (READABLE.match(A_SIGN.sub(r"\1", cell)) or is_token(cell))


def _all_spelt(values: object, spelling: str) -> bool:
    return pc.all(pc.match_substring_regex(values, spelling)).as_py() is not False


def _sign(known: Any) -> str:
    """The sign of a currency, or %, that every cell has once, at one of its ends."""
    first = known[0].as_py().strip() if len(known) else ""
    sign = next((each for each in SIGNS if each in (first[:1], first[-1:], first.lstrip("+-")[:1])), "")
    return sign if sign and pc.all(pc.equal(pc.count_substring(known, sign), 1)).as_py() else ""


def _unsigned(array: object) -> pa.Array:
    """The amounts without it, as far as it stands at an end."""
    return pc.replace_substring_regex(array, SIGNED, r"\1")


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
    if any(cell is not None and not A_DATE.match(cell) for cell in array[:FEW_CELLS].to_pylist()):
        return None  # mostly; Arrow takes longer to compile its expression
    if not (_all_spelt(array[:FIRST_CELLS], DATE) and _all_spelt(array, DATE)):
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
    """Which cells of an Arrow array are one of those that were asked for, however they are spelt; None if none is."""
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
