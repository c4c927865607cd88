"""The levels of a category column whose rows come one by one: a growing dict."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from credo.data import cells
from credo.data.conversion import array_of
from credo.data.schema import Column, Schema, unite

MISSING, UNSEEN = -1, -2
TRUTHS = (bool, np.bool_)


class Levels(dict[Any, int]):
    """{value: code}: a plain dict lookup, except for values of another type and unseen ones.

    >>> sky = Levels(Column("sky", "category", pa.array(["rain", "sun"])))
    >>> sky["sun"], sky[None], sky["fog"], sky.find("fog", 0), sky.admit(2), sky["fog"]
    (1, -1, -2, -2, 2, 2)
    """

    def __init__(self, column: Column, first: int = 0) -> None:
        values = column.values
        self._before, self._since = column, list[Any]()
        self.codes = list(range(first, first + len(values)))  # of all levels, in order of appearance
        super().__init__(zip(values, self.codes, strict=True))
        self[None] = self[""] = MISSING
        self._waiting: Any = None  # the value that `admit` would add, as an Arrow array
        self._settle(column.levels)

    def __missing__(self, value: object) -> int:
        return MISSING if isinstance(value, float) and value != value else UNSEEN

    def _settle(self, levels: Any) -> None:
        """Set the type of the column's values."""
        self._sample = replace(self._before, levels=levels[:1], declared=0)
        self.doubtful = not pa.types.is_string(levels.type)  # equal keys may be different values: to Python, True is 1
        self._truths = bool(pa.types.is_boolean(levels.type))

    def find(self, value: object, number: int) -> int:
        """The code of a value to be learned; UNSEEN if it is new, an error if it has another type."""
        try:
            code = self[value]
        except TypeError:  # an unhashable value, such as a list
            code = UNSEEN
        if code == MISSING or (code >= 0 and (not self.doubtful or isinstance(value, TRUTHS) is self._truths)):
            return code
        level = self._level(value, number)
        if not len(level):
            return MISSING
        unite([Schema((self._sample,)), Schema((replace(self._sample, levels=level),))])  # an error if the types differ
        code = self.get(level[0].as_py(), UNSEEN)
        if code == UNSEEN:
            self._waiting = level
        else:
            with suppress(TypeError):  # for unhashable types
                self[value] = code
        return code

    def admit(self, code: int) -> int:
        """Add the last unseen value as a level."""
        self[self._waiting[0].as_py()] = code
        self.codes.append(code)
        self._since.append(self._waiting)
        if not len(self._sample.levels):
            self._settle(self._waiting)
        self.__dict__.pop("column", None)
        return code

    def among(self, value: object, number: int) -> int:
        """The code of a value that isn't to be learned; MISSING if it is missing or unseen."""
        with suppress(TypeError):
            if (code := self[value]) != UNSEEN:
                return code
        if isinstance(value, str) and not self.doubtful:
            return MISSING
        level = cells.entered(array_of([value], self._before.name, number), self._before.name)
        (place,), _ = cells.codes_among(level, self.column.levels)
        return self.codes[place] if place >= 0 else MISSING

    @cached_property
    def column(self) -> Column:
        """The column with all levels in order of appearance."""
        new = (Schema((replace(self._before, levels=level, declared=0),)) for level in self._since)
        return unite([Schema((self._before,)), *new])[0][self._before.name]

    def _level(self, value: object, number: int) -> Any:
        """The value as an Arrow array, as tables are read; empty for a missing cell."""
        name = self._before.name
        return cells.categories(cells.entered(array_of([value], name, number), name))[1]
