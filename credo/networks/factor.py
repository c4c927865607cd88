"""Factors, the second algebra: learning adds statistics; inference multiplies factors and sums out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from credo.core.records import Shown
from credo.numerics.exact import Array

LARGEST_LOG_RATIO = 600.0  # of a factor's largest value to its smallest: floats hold about 708


@dataclass(frozen=True, eq=False)
class Factor(Shown):
    """A non-negative function of some variables: a read-only table with an axis for each name in the scope.

    >>> import numpy as np
    >>> rain = Factor(("rain",), np.array([0.2, 0.8]))
    >>> wet = Factor(("rain", "wet"), np.array([[0.9, 0.1], [0.3, 0.7]]))
    >>> (rain * wet).sum_out(["rain"]).table
    array([0.42, 0.58])
    """

    scope: tuple[str, ...]
    table: Array

    def __post_init__(self) -> None:
        table = np.asarray(self.table, dtype=np.float64)
        if table.flags.writeable:  # a caller could change it later
            table = table.copy()
            table.flags.writeable = False
        object.__setattr__(self, "table", table)

    def split(self) -> tuple[Factor, ...]:
        """Factors whose product this is, each with a range of values that floats can hold.

        >>> [[f"{x:.1e}" for x in part.table] for part in Factor(("x",), np.array([1e250, 1e-250])).split()]
        [['1.0e+250', '2.7e-11'], ['1.0e+00', '3.8e-240']]
        """
        positive = self.table > 0
        top, least = self.table.max(initial=0.0), self.table[positive].min(initial=np.inf)
        if top == 0.0 or np.log(least) - np.log(top) > -LARGEST_LOG_RATIO:
            return (self,)
        with np.errstate(divide="ignore"):
            left = np.where(positive, np.log(self.table) - np.log(top), 0.0)
        first = np.where(left < -LARGEST_LOG_RATIO, top * np.exp(-LARGEST_LOG_RATIO), self.table)
        rest = np.exp(np.where(left < -LARGEST_LOG_RATIO, left + LARGEST_LOG_RATIO, 0.0))
        return (Factor(self.scope, first), *Factor(self.scope, rest).split())

    def __mul__(self, other: Factor) -> Factor:
        scope = (*self.scope, *(name for name in other.scope if name not in self.scope))
        return Factor(scope, self._over(scope) * other._over(scope))

    def sum_out(self, names: Collection[str]) -> Factor:
        return Factor(self._without(names), self.table.sum(self._axes(names)))

    def over(self, scope: tuple[str, ...]) -> Factor:
        """The same factor with its axes in another order."""
        return Factor(scope, self.table.transpose([self.scope.index(name) for name in scope]))

    def _without(self, names: Collection[str]) -> tuple[str, ...]:
        return tuple(name for name in self.scope if name not in names)

    def _axes(self, names: Collection[str]) -> tuple[int, ...]:
        return tuple(i for i, name in enumerate(self.scope) if name in names)

    def _over(self, scope: tuple[str, ...]) -> Array:
        """The table, with an axis of length 1 for each name that isn't in the scope."""
        own = [name for name in scope if name in self.scope]
        lengths = [self.table.shape[self.scope.index(name)] if name in self.scope else 1 for name in scope]
        return self.over(tuple(own)).table.reshape(lengths)
