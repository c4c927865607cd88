"""A conjunctive concept over attributes, such as <Sunny, Warm, ?, Strong, ?, ?>, and the attributes it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.data import Batch, cells
from credo.data.schema import Schema
from credo.errors import DataError, SchemaError, suggest

ConceptCodes = tuple[int, ...]  # for each attribute: the code of the required value, or ANY
ANY = -1
CATEGORIES_ONLY = "concepts are about categories: cut numbers into bins first, as pandas.cut does"


@dataclass(frozen=True)
class Concept:
    """A conjunction of attribute values; an attribute without a constraint may have any value, written "?".

    >>> warm = Concept(("sky", "air"), (("air", "warm"),))
    >>> warm, warm.covers({"sky": "sunny", "air": "warm"}), warm >= Concept(("sky", "air"), None)
    (<?, warm>, True, True)
    """

    attributes: tuple[str, ...]
    constraints: tuple[tuple[str, Any], ...] | None  # (attribute, value); None: the concept covers nothing

    def covers(self, row: Mapping[str, object]) -> bool:
        """Whether a row is a positive example of it."""
        return self.constraints is not None and all(row[name] == value for name, value in self.constraints)

    def __ge__(self, other: Concept) -> bool:
        """Whether it is at least as general: it covers every row that the other covers."""
        if self.constraints is None or other.constraints is None:
            return other.constraints is None
        return {*self.constraints} <= {*other.constraints}

    def __gt__(self, other: Concept) -> bool:
        return self >= other and self != other

    def __repr__(self) -> str:
        if self.constraints is None:
            return f"<{', '.join('∅' for _ in self.attributes)}>"
        known = dict(self.constraints)
        return f"<{', '.join(str(known.get(name, '?')) for name in self.attributes)}>"


@dataclass(frozen=True, eq=False)
class Attributes:
    """The attributes and the values that each may have.

    >>> sport = Attributes({"sky": ("sunny", "cloudy", "rainy"), "air": ("warm", "cold")})
    >>> sport.concepts, sport.written
    (13, 20)
    """

    values: Mapping[str, tuple[Any, ...]]

    @classmethod
    def of(cls, given: Schema | Mapping[str, Iterable[object]], target: str | None) -> Attributes:
        """From a schema or {attribute: values}, without the target's column."""
        columns = _categories(given) if isinstance(given, Schema) else {k: _listed(k, v) for k, v in given.items()}
        found = {name: values for name, values in columns.items() if name != target}
        if not found:
            raise SchemaError("there is no attribute: give a schema, or {attribute: [value, ...]}")
        return cls(found)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def concepts(self) -> int:
        """The number of semantically distinct concepts: 1 + Π (values + 1), one of which covers nothing."""
        return 1 + prod(len(each) + 1 for each in self.values.values())

    @property
    def written(self) -> int:
        """The number of syntactically distinct concepts: Π (values + 2), with "?", a value or ∅ in each place."""
        return prod(len(each) + 2 for each in self.values.values())

    @cached_property
    def _levels(self) -> dict[str, Any]:
        """Each attribute's values as an Arrow array."""
        try:
            return {name: pa.array(each) for name, each in self.values.items()}
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise SchemaError("the values of an attribute must be of one type: all words, or all numbers") from None

    @property
    def words(self) -> list[str]:
        """The attributes with string values, even where a file's strings spell something else."""
        return [name for name, each in self._levels.items() if pa.types.is_string(each.type)]

    def read(self, batch: Batch) -> NDArray[np.int64]:
        """The codes of the cells' values. (rows, attributes)"""
        return np.stack([self._column(batch, name) for name in self.values], axis=1)

    def _column(self, batch: Batch, name: str) -> NDArray[np.int64]:
        column = batch.column(name)
        codes, _ = cells.codes_among(column, self._levels[name])
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            value = cells.missing(column)[row].as_py()
            if value is None:
                raise DataError(
                    f"row {batch.number(row)} has no {name!r}: a concept may or may not cover it. "
                    "Drop the row, or fill in the cell"
                )
            advice = f"; {CATEGORIES_ONLY}" if isinstance(value, float) else ""
            raise DataError(
                f"column {name!r} has the value {value!r:.60} (row {batch.number(row)}); "
                f"{suggest(value, self.values[name])}{advice}"
            )
        return codes.astype(np.int64)

    def row(self, codes: Iterable[int]) -> dict[str, Any]:
        return {name: each[code] for (name, each), code in zip(self.values.items(), codes, strict=True)}

    def concept(self, codes: ConceptCodes | None) -> Concept:
        if codes is None:
            return Concept(self.names, None)
        asked = [(name, code) for name, code in zip(self.values, codes, strict=True) if code != ANY]
        return Concept(self.names, tuple((name, self.values[name][code]) for name, code in asked))

    def codes(self, concept: Concept | Mapping[str, object]) -> ConceptCodes | None:
        """The codes of a concept, or of {attribute: value} for the constrained attributes."""
        if isinstance(concept, Concept) and concept.constraints is None:
            return None
        asked = dict(concept.constraints or ()) if isinstance(concept, Concept) else dict(concept)
        for name, value in asked.items():
            if name not in self.values:
                raise SchemaError(f"no attribute {name!r}; {suggest(name, self.values)}")
            if value not in self.values[name]:
                raise DataError(f"{name!r} has no value {value!r:.60}; {suggest(value, self.values[name])}")
        return tuple(each.index(asked[name]) if name in asked else ANY for name, each in self.values.items())


def _categories(schema: Schema) -> dict[str, tuple[Any, ...]]:
    columns = [column for column in schema if column.kind != "ignore" and not column.derived]
    for column in columns:
        if column.kind != "category":
            raise SchemaError(
                f"column {column.name!r} is a {column.kind}, and {CATEGORIES_ONLY}; if its values are names, use "
                f"kinds={{{column.name!r}: 'category'}}"
            )
    return {column.name: column.values for column in columns}


def _listed(name: str, values: Iterable[object]) -> tuple[Any, ...]:
    found = (values,) if isinstance(values, str) else tuple(values)
    if not found:
        raise SchemaError(f"attribute {name!r} has no values")
    if len({*found}) < len(found) or None in found:
        raise SchemaError(f"the values of attribute {name!r} must be different, and none may be missing")
    return found
