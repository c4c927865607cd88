"""Which columns of a table a regression reads, and whether its target is a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from credo.core.learning import Weight
from credo.data import Source, cells
from credo.data.spelling import dates
from credo.data.string_columns import SPELLING_ROWS
from credo.errors import DataError, SchemaError
from credo.models.forms import TEXT_FORMS, Kinds, settled_views
from credo.models.regression.features import Interactions, Readings
from credo.models.targets import DATE_ADVICE
from credo.notices import tell_of_columns


def settled_readings(
    table: Source, target: str, weight: Weight, kinds: Kinds, interactions: Interactions,
    as_numbers: bool = False,
) -> tuple[Source, Readings]:  # fmt: skip
    """How each column is read, as requested or by its kind over all rows; and the table, which may be an iterator.

    as_numbers: columns of numbers are numbers even if they have only two values.
    """
    others = without_target(kinds, target)
    names = tuple(name for name in table.without(weight).names if name != target)
    if not table.once:
        first = table.first([target, *names], SPELLING_ROWS)
        if first is not None:
            check_target(first.column(target), target)
            if as_numbers:
                numeric = {name: "number" for name in names if _holds_numbers(first.column(name).type)}
                others = {**numeric, **(others or {})}
    if not names:
        return table, Readings(())
    table, views = settled_views(table, names, others)
    texts = [name for name, forms in views.items() if forms[0] in TEXT_FORMS]
    why = "a linear regression doesn't read texts. credo.learn and credo.LogisticRegression do"
    tell_of_columns(((name, why) for name in texts), "ignored")
    readings = Readings.of(views, interactions)
    if not readings.names:
        raise SchemaError("there is no column to learn from: all of them are ignored")
    return table, readings


def without_target(kinds: Kinds, target: str) -> Kinds:
    """`kinds` without the target, which must be a number."""
    if not isinstance(kinds, Mapping) or target not in kinds:
        return kinds
    if kinds[target] not in ("number", "count"):
        raise SchemaError(f"kinds has {kinds[target]!r:.60} for the target {target!r}, which must be a number")
    return {name: kind for name, kind in kinds.items() if name != target}


def check_target(array: Any, target: str) -> None:
    """Raise an error if the target holds classes, which have no mean."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary
    if pa.types.is_string(array.type) or pa.types.is_boolean(array.type):
        known = array.drop_null()
        shown = f", as {known[0].as_py()!r:.40}" if len(known) else ""
        if len(known) and pa.types.is_string(array.type) and dates(known) is not None:
            raise DataError(f"column {target!r} holds dates{shown}. {DATE_ADVICE}")
        raise DataError(
            f"column {target!r} holds {'words' if pa.types.is_string(array.type) else 'true and false'}{shown}: a "
            "linear regression predicts numbers. To predict classes, use credo.LogisticRegression, credo.NaiveBayes or "
            "credo.learn"
        )


def _holds_numbers(kind: object) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or cells.is_moment(kind)
    )
