"""Mixed tables: categories given categories, and numbers given categories and, linearly, other numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from credo.core.membership import Hard
from credo.core.moments import CrossMoments
from credo.networks.structure.category_scores import BDeuScore
from credo.networks.structure.counting import CodedTable, Countable, joint_states
from credo.networks.structure.family_score import FamilyScore
from credo.networks.structure.number_scores import NormalWishart, NumberSums, NumberTable, Standard
from credo.networks.structure.set_score import Members
from credo.numerics.exact import Array

KEPT_SCATTER_CELLS = 2**23  # of scatter matrices that are kept


class Mixed(ABC):
    """Categories and numbers of the same rows, complete, here or elsewhere."""

    if TYPE_CHECKING:  # fields, or properties

        @property
        def variables(self) -> tuple[str, ...]: ...

        @property
        def categories(self) -> Countable: ...

        @property
        def sums(self) -> NumberSums:
            """Of the numbers."""
            ...

    @abstractmethod
    def moments(self, categories: Members, numbers: Members) -> CrossMoments:
        """Of some numbers, in units in which all rows have mean 0 and variance 1, in each joint state of some
        categories that occurs, in order."""

    @property
    def places(self) -> tuple[int, ...]:
        """The index of each variable among the categories, or -1 - its index among the numbers."""
        own = {name: i for i, name in enumerate(self.categories.variables)}
        own |= {name: -1 - i for i, name in enumerate(self.sums.variables)}
        return tuple(own[name] for name in self.variables)


@dataclass(frozen=True, eq=False)
class MixedTable(Mixed):
    """Categories and numbers whose rows are here."""

    variables: tuple[str, ...]
    categories: CodedTable
    numbers: NumberTable

    @cached_property
    def sums(self) -> NumberSums:
        """In pairs of floats, as where rows are elsewhere, so that scores are the same to the last bit."""
        x, weight = self.numbers.x, self.numbers.weight
        return NumberSums(self.numbers.variables, len(x), CrossMoments.of(x, Hard.whole(len(x), weight)))

    def moments(self, categories: Members, numbers: Members) -> CrossMoments:
        own, z = self.categories, self._z[:, list(numbers)]
        keys, states = joint_states(own.codes, own.sizes, categories, len(z))
        found = CrossMoments.of(z, Hard.of(keys, states, self.numbers.weight))
        return found[np.flatnonzero(found.n.high)]

    @cached_property
    def _z(self) -> Array:
        return Standard(self.sums.mean, self.sums.scales)(self.numbers.x)


class ConditionalGaussian(FamilyScore):
    """log p(data | graph): BDeu for categories; for numbers BGe within each joint state of the categories among their
    parents. Categories have no numbers among their parents. (Lauritzen and Wermuth 1989; Bøttcher 2001)

    Sums of all numbers in the joint states of some categories serve every family with these among its parents.
    """

    def __init__(self, table: Mixed, equivalent: float = 1.0) -> None:
        super().__init__(table.variables)
        self._table, self._places = table, table.places
        self._discrete = BDeuScore(table.categories, equivalent)
        self._prior = NormalWishart(self._discrete.equivalent)
        self._scales, self._n = np.log(table.sums.scales), table.sums.n
        self._sums: dict[Members, StateMoments] = {}

    def value(self, node: int, parents: Members) -> float:
        own, above = self._places[node], [self._places[parent] for parent in parents]
        numbers, categories = [-1 - p for p in above if p < 0], [p for p in above if p >= 0]
        if own >= 0:
            return -np.inf if numbers else self._discrete.family(own, categories)
        spread = self._spread(tuple(sorted(categories)), (*numbers, -1 - own))
        whole = self._log_evidence(spread)
        part = self._log_evidence(spread.of(range(len(numbers)))) if numbers else 0.0
        return whole - part - self._n * float(self._scales[-1 - own])

    def _spread(self, categories: Members, numbers: Members) -> StateMoments:
        """Of some numbers, in each joint state of some categories."""
        every = len(self._scales)
        states = min(prod(self._table.categories.sizes[v] for v in categories), self._table.sums.rows)
        if states * every**2 > KEPT_SCATTER_CELLS:
            return StateMoments.from_moments(self._table.moments(categories, numbers))
        if categories not in self._sums:
            if sum(kept.scatter.size for kept in self._sums.values()) > KEPT_SCATTER_CELLS:
                self._sums.clear()
            self._sums[categories] = StateMoments.from_moments(self._table.moments(categories, tuple(range(every))))
        return self._sums[categories].of(numbers)

    def _log_evidence(self, spread: StateMoments) -> float:
        """Summed over the joint states of categories."""
        log_determinant = np.linalg.slogdet(self._prior.posterior_scale(spread.n, spread.mean, spread.scatter))[1]
        return float(self._prior.log_evidence(spread.n, spread.mean.shape[1], log_determinant).sum())


class StateMoments(NamedTuple):
    """The weight, the mean and the scatter of some numbers in each joint state."""

    n: Array  # (states,)
    mean: Array  # (states, numbers)
    scatter: Array  # (states, numbers, numbers)

    @classmethod
    def from_moments(cls, moments: CrossMoments) -> StateMoments:
        return cls(moments.n.value, moments.mean, moments.scatter)

    def of(self, numbers: Sequence[int]) -> StateMoments:
        some = list(numbers)
        return StateMoments(self.n, self.mean[:, some], self.scatter[:, some][:, :, some])
