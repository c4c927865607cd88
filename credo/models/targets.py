"""Whether a column can hold classes: checked before counting, since every class has its own tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from credo.core.membership import Codes
from credo.data import Batch, Source, cells
from credo.data.free_names import free_name
from credo.data.profile import profile
from credo.data.spelling import DATE, NUMBER, is_token
from credo.errors import DataError, SchemaError
from credo.notices import tell

NUMBERS_AS_CLASSES = 20  # at most this many distinct numbers are always accepted
NAMES_AS_CLASSES = 100  # more distinct words get a notice
ROWS_PER_CLASS = 10  # numbers with fewer rows each are quantities
QUANTITY_ADVICE = "To predict a quantity, cut it into bins first, as pandas.qcut does, or use credo.LinearRegression"
DATE_ADVICE = "To predict a date, write it as a number, such as days since a start, and use credo.LinearRegression"
ANSWERS = ("none", "nil")  # classes, though such words may mean missing cells
TARGET_NAME = "target"  # the name of a class column given as an array
MOST_CLASSES = 10_000  # classes: their tables, and the probabilities of a batch's rows, must fit into memory


def check_classes(table: Source, target: str, kinds: object) -> Any:
    """Raise an error for quantities, which would make a class of nearly every row; a notice if there are still many
    classes. Returns the kinds of the other columns.

    Numbers and dates may have at most max(20, rows/10) values, unless `kinds` makes them categories; nothing may
    have more than 10,000. More than 20 numbers, or more than max(100, rows/10) words, get a notice.
    """
    if not isinstance(kinds, Mapping | None):  # the error is raised where kinds are read
        return kinds
    others = dict(kinds or {})
    asked = others.pop(target, None)
    if asked not in (None, "category"):
        raise SchemaError(f"kinds has {asked!r:.60} for {target!r}, which holds the classes: they are a category")
    if table.once or not _are_many(table, target):
        return others
    found = profile(table, [target], every=[target])[target]
    classes, rows = found.known - found.repeated, found.known
    quantities = asked is None and _are_quantities(found.values)
    advice = DATE_ADVICE if found.dated else QUANTITY_ADVICE
    most = max(NUMBERS_AS_CLASSES, rows / ROWS_PER_CLASS) if quantities else MOST_CLASSES
    what = "different values" if not quantities or pa.types.is_string(found.values.type) else "different numbers"
    if classes > min(most, MOST_CLASSES):
        why = _refusal(target, quantities, classes, advice)
        raise DataError(f"column {target!r} has {classes:,} {what} in {rows:,} rows: {why}")
    if quantities:
        tell(f"column {target!r} has {classes:,} {what}, each of which becomes a class. {_advice(target, advice)}")
    elif asked is None and classes > max(NAMES_AS_CLASSES, rows / ROWS_PER_CLASS):
        tell(f"column {target!r} has {classes:,} {what} in {rows:,} rows: each becomes a class, most with few rows")
    return others


def tell_of_missing_codes(target: str, classes: Iterable[object]) -> None:
    """A notice of classes that usually mean a missing cell, as NA in R's tables does; `none` may be an answer."""
    found = [value for value in classes if is_token(value) and str(value).strip().lower() not in ANSWERS]
    if found:
        shown, are = ", ".join(f"{value!r:.60}" for value in found), "is a class" if len(found) == 1 else "are classes"
        tell(f"{shown} {are} of column {target!r}; if a missing cell is meant, use credo.read(data, missing=[{shown}])")


def check_number(target: str, classes: int) -> None:
    """Check the number of classes of a batch, for data that couldn't be checked before, such as an iterator."""
    if classes > MOST_CLASSES:
        raise DataError(f"column {target!r} has {classes:,} different values: {_refusal(target, True, classes)}")


def _are_many(table: Source, target: str) -> bool:
    """Whether there may be many classes, judged by the first batch."""
    first = table.first([target])
    if first is None:
        return False
    array = first.column(target)
    if pa.types.is_dictionary(array.type):
        array = array.indices
    elif pa.types.is_floating(array.type):
        array = cells.missing(array)  # fractions raise an error where classes are counted
        if pc.any(pc.not_equal(array, pc.floor(array))).as_py():
            return False
    if pa.types.is_integer(array.type) and len(array):
        ends = pc.min_max(array).as_py()
        if ends["min"] is None or ends["max"] - ends["min"] < NUMBERS_AS_CLASSES:
            return False
    return int(pc.count_distinct(array).as_py()) > NUMBERS_AS_CLASSES


def _are_quantities(values: Any) -> bool:
    if not pa.types.is_string(values.type):
        return not pa.types.is_boolean(values.type)
    return any(pc.all(pc.match_substring_regex(values, spelling)).as_py() for spelling in (NUMBER, DATE))


def _refusal(target: str, quantities: bool, classes: int, advice: str = QUANTITY_ADVICE) -> str:
    if quantities:
        limits = f"at most {NUMBERS_AS_CLASSES}, or one for {ROWS_PER_CLASS} rows, up to {MOST_CLASSES:,}"
        return f"too many to be classes ({limits}). {_advice(target, advice) if classes <= MOST_CLASSES else advice}"
    return f"too many to be classes (at most {MOST_CLASSES:,}); does it name the rows?"


def _advice(target: str, advice: str) -> str:
    return f"{advice}; if they are names, use kinds={{{target!r}: 'category'}}"


def with_target(table: Source, target: object) -> tuple[Source, str]:
    """The table with its classes, and the name of the column that holds them."""
    if isinstance(target, str):
        table.require([target])
        return table, target
    if target is None:
        raise SchemaError("name the column that holds the classes, as in fit(data, target='play')")
    name = free_name(TARGET_NAME, table.names)
    return table.beside(name, target), name


def with_known_target(table: Source, known: str, target: object, holds: str) -> Source:
    """A further table with its targets, in the known target column or given as an array."""
    if target is not None and not (isinstance(target, str) and target == known):
        if isinstance(target, str):
            raise SchemaError(f"{holds} in column {known!r} so far, not in {target!r}")
        table = table.without(known).beside(known, target)
    table.require([known])
    return table


def class_codes(batch: Batch, target: str) -> tuple[Codes, Any]:
    """The class of each row, -1 where it has none, and the classes in an Arrow array."""
    codes, levels = batch.categories(target)
    if pa.types.is_floating(levels.type):
        raise DataError(
            f"column {target!r} holds numbers with fractions, as {levels[0].as_py():g}; a class is one of a few "
            f"values. {QUANTITY_ADVICE}"
        )
    check_number(target, len(levels))
    return codes, levels
