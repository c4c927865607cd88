"""Mixed tables: categories given categories, and numbers given categories and, linearly, other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.networks.structure.category_scores import BDeuScore
from credo.networks.structure.counting import CodedTable, joint_states
from credo.networks.structure.family_score import FamilyScore
from credo.networks.structure.number_scores import NormalWishart, NumberTable, grouped_scatter
from credo.networks.structure.set_score import Members


@dataclass(frozen=True, eq=False)
class MixedTable:
    """Categories and numbers of the same rows."""

    variables: tuple[str, ...]
    categories: CodedTable
    numbers: NumberTable

    @property
    def places(self) -> tuple[int, ...]:
        """The index of each variable among the categories, or -1 - its index among the numbers."""
        own = {name: i for i, name in enumerate(self.categories.variables)}
        own |= {name: -1 - i for i, name in enumerate(self.numbers.variables)}
        return tuple(own[name] for name in self.variables)


class ConditionalGaussian(FamilyScore):
    """log p(data | graph): BDeu for categories; for numbers BGe within each joint state of the categories among their
    parents. Categories have no numbers among their parents. (Lauritzen and Wermuth 1989; Bøttcher 2001)"""

    def __init__(self, table: MixedTable, equivalent: float = 1.0) -> None:
        super().__init__(table.variables)
        self._table, self._places = table, table.places
        self._discrete = BDeuScore(table.categories, equivalent)
        self._prior = NormalWishart(self._discrete.equivalent)
        numbers = table.numbers
        self._scales = np.log(numbers.scales)
        weight = np.ones(len(numbers.x)) if numbers.weight is None else numbers.weight
        self._weight, self._n = weight, numbers.n
        self._z = (numbers.x - np.average(numbers.x, axis=0, weights=weight)) / numbers.scales

    def value(self, node: int, parents: Members) -> float:
        own, above = self._places[node], [self._places[parent] for parent in parents]
        numbers, categories = [-1 - p for p in above if p < 0], [p for p in above if p >= 0]
        if own >= 0:
            return -np.inf if numbers else self._discrete.family(own, categories)
        codes = self._table.categories
        keys, states = joint_states(codes.codes, codes.sizes, categories, len(self._z))
        whole = self._log_evidence([*numbers, -1 - own], keys, states)
        part = self._log_evidence(numbers, keys, states) if numbers else 0.0
        return whole - part - self._n * float(self._scales[-1 - own])

    def _log_evidence(self, members: Sequence[int], keys: NDArray[np.int64], states: int) -> float:
        """The log-evidence of some numbers, summed over the joint states of categories."""
        n, mean, scatter = grouped_scatter(self._z[:, members], self._weight, keys, states)
        log_determinant = np.linalg.slogdet(self._prior.posterior_scale(n, mean, scatter))[1]
        return float(self._prior.log_evidence(n, len(members), log_determinant).sum())
