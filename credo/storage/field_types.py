"""The types that a stored field may have. They describe files, and don't change when Python annotations do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class FieldType:
    """A name for error messages, and a test of a value."""

    name: str
    fits: Callable[[Any], bool]


def instance(name: str, *kinds: type) -> FieldType:
    return FieldType(name, lambda value: isinstance(value, kinds))


def array(name: str, dtype: object) -> FieldType:
    return FieldType(name, lambda value: isinstance(value, np.ndarray) and value.dtype == dtype)


def class_at(place: str) -> FieldType:
    """Instances of a class at "module:Class", or of a subclass; the check imports nothing."""
    return FieldType(
        place.partition(":")[2], lambda value: any(place_of(kind) == place for kind in type(value).__mro__)
    )


def place_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def either(*types: FieldType) -> FieldType:
    return FieldType(" or ".join(each.name for each in types), lambda value: any(each.fits(value) for each in types))


def optional(inner: FieldType) -> FieldType:
    return either(inner, instance("None", type(None)))


def one_of(*texts: str) -> FieldType:
    return FieldType(f"one of {', '.join(texts)}", lambda value: isinstance(value, str) and value in texts)


def tuple_of(inner: FieldType) -> FieldType:
    """Tuples of any length."""
    return FieldType(f"a tuple of {inner.name}", lambda v: isinstance(v, tuple) and all(map(inner.fits, v)))


def pair_of(inner: FieldType) -> FieldType:
    fits = tuple_of(inner).fits
    return FieldType(f"a pair of {inner.name}", lambda value: fits(value) and len(value) == 2)


def mapping(keys: FieldType, values: FieldType) -> FieldType:
    def fits(value: object) -> bool:
        return isinstance(value, Mapping) and all(keys.fits(k) and values.fits(v) for k, v in value.items())

    return FieldType(f"a mapping from {keys.name} to {values.name}", fits)


ANYTHING = FieldType("anything", lambda _: True)
TEXT = instance("text", str)
WHOLE = instance("a whole number", int)
NUMBER = instance("a number", float, int)
FLAG = instance("true or false", bool)
FLOATS = array("Array of float64", np.float64)
INTEGERS = array("Array of int64", np.int64)
CODES = array("Array of int32", np.int32)

NAMES = tuple_of(TEXT)
NUMBERS = tuple_of(NUMBER)
VALUES = tuple_of(ANYTHING)  # values of categories
NAMES_BY_NAME = mapping(TEXT, NAMES)  # the parents of variables, the forms of columns
KINDS = optional(mapping(TEXT, ANYTHING))  # kinds of columns, as users give them
CLASS_PRIOR = optional(mapping(ANYTHING, NUMBER))
