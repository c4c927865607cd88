"""Frozen dataclasses some of whose fields are learned, and aren't the constructor's."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

Record = TypeVar("Record")


def with_fields(record: Record, **values: Any) -> Record:
    """The same with other values of some fields, also of those with init=False, which dataclasses.replace refuses.

    What was derived from the old values, such as a cached property, isn't taken along.
    """
    new = object.__new__(type(record))
    for each in fields(record):  # type: ignore[arg-type]
        object.__setattr__(new, each.name, values[each.name] if each.name in values else getattr(record, each.name))
    return new
