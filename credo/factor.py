"""Factors, the second algebra: learning adds statistics; inference multiplies factors and sums out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from credo.exact import Array


@dataclass(frozen=True, eq=False)
class Factor:
    """A non-negative function of some variables: an axis of the table for each name in the scope.

    >>> import numpy as np
    >>> rain = Factor(("rain",), np.array([0.2, 0.8]))
    >>> wet = Factor(("rain", "wet"), np.array([[0.9, 0.1], [0.3, 0.7]]))
    >>> (rain * wet).sum_out(["rain"]).table
    array([0.42, 0.58])
    """

    scope: tuple[str, ...]
    table: Array

    def __mul__(self, other: Factor) -> Factor:
        scope = (*self.scope, *(name for name in other.scope if name not in self.scope))
        return Factor(scope, self._over(scope) * other._over(scope))

    def sum_out(self, names: Collection[str]) -> Factor:
        return Factor(self._without(names), self.table.sum(self._axes(names)))

    def over(self, scope: tuple[str, ...]) -> Factor:
        """The same, its axes in another order."""
        return Factor(scope, self.table.transpose([self.scope.index(name) for name in scope]))

    def _without(self, names: Collection[str]) -> tuple[str, ...]:
        return tuple(name for name in self.scope if name not in names)

    def _axes(self, names: Collection[str]) -> tuple[int, ...]:
        return tuple(i for i, name in enumerate(self.scope) if name in names)

    def _over(self, scope: tuple[str, ...]) -> Array:
        """With an axis of length 1 for each name that it doesn't have."""
        own = [name for name in scope if name in self.scope]
        lengths = [self.table.shape[self.scope.index(name)] if name in self.scope else 1 for name in scope]
        return self.over(tuple(own)).table.reshape(lengths)
