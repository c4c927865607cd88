"""The values of a category column whose rows come one by one: a dict that grows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from credo.data import cells
from credo.data.schema import Column, Schema, unite
from credo.data.tables import array_of

MISSING, UNSEEN = -1, -2
TRUTHS = (bool, np.bool_)


class Levels(dict[Any, int]):
    """{value: its code}. To look one up is a dict's work, but for values of another type, or unseen ones.

    >>> sky = Levels(Column("sky", "category", pa.array(["rain", "sun"])))
    >>> sky["sun"], sky[None], sky["fog"], sky.find("fog", 0), sky.admit(2), sky["fog"]
    (1, -1, -2, -2, 2, 2)
    """

    def __init__(self, column: Column, first: int = 0) -> None:
        values = column.values
        self._before, self._since = column, list[Any]()
        self.codes = list(range(first, first + len(values)))  # of all levels, as they came
        super().__init__(zip(values, self.codes, strict=True))
        self[None] = self[""] = MISSING
        self._waiting: Any = None  # a value that `admit` makes a level: an Arrow array of one
        self._settle(column.levels)

    def __missing__(self, value: object) -> int:
        return MISSING if isinstance(value, float) and value != value else UNSEEN

    def _settle(self, levels: Any) -> None:
        """What type of values the column holds."""
        self._sample = replace(self._before, levels=levels[:1], declared=0)
        self.doubtful = not pa.types.is_string(levels.type)  # equal keys may be different values: to Python, True is 1
        self._truths = bool(pa.types.is_boolean(levels.type))

    def find(self, value: object, number: int) -> int:
        """The code of a value to be learned: UNSEEN where no row had it, an error where it is of another type."""
        try:
            code = self[value]
        except TypeError:  # a list, say
            code = UNSEEN
        if code == MISSING or (code >= 0 and (not self.doubtful or isinstance(value, TRUTHS) is self._truths)):
            return code
        level = self._level(value, number)
        if not len(level):
            return MISSING
        unite([Schema((self._sample,)), Schema((replace(self._sample, levels=level),))])  # refused, if they differ
        code = self.get(level[0].as_py(), UNSEEN)
        if code == UNSEEN:
            self._waiting = level
        else:
            with suppress(TypeError):  # some types can't be hashed
                self[value] = code
        return code

    def admit(self, code: int) -> int:
        """Make the value that was found to be new a level."""
        self[self._waiting[0].as_py()] = code
        self.codes.append(code)
        self._since.append(self._waiting)
        if not len(self._sample.levels):
            self._settle(self._waiting)
        self.__dict__.pop("column", None)
        return code

    def among(self, value: object, number: int) -> int:
        """The code of a value that isn't to be learned: MISSING, too, where no row had it."""
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
        """With all levels, as they came."""
        new = (Schema((replace(self._before, levels=level, declared=0),)) for level in self._since)
        return unite([Schema((self._before,)), *new])[0][self._before.name]

    def _level(self, value: object, number: int) -> Any:
        """The value as tables are read; nothing where it means a missing cell."""
        name = self._before.name
        return cells.categories(cells.entered(array_of([value], name, number), name))[1]
