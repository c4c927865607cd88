"""Scores that compute each family separately."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from credo.networks.structure.set_score import CACHED_SCORES, Members
from credo.numerics.exact import Array


class FamilyScore(ABC):
    """A score that counts each family separately, and caches it."""

    def __init__(self, variables: Sequence[str]) -> None:
        self.variables = tuple(variables)
        self._values: dict[tuple[int, Members], float] = {}

    @abstractmethod
    def value(self, node: int, parents: Members) -> float:
        """The score of a family, the parents in order."""

    def family(self, node: int, parents: Sequence[int]) -> float:
        key = node, tuple(sorted(parents))
        found = self._values.get(key)
        if found is None:
            if len(self._values) > CACHED_SCORES:
                self._values.clear()
            found = self._values[key] = self.value(*key)
        return found

    def families(self, node: int, candidates: Sequence[Sequence[int]]) -> Array:
        return np.array([self.family(node, parents) for parents in candidates], dtype=np.float64)

    def grown(self, node: int, parents: Sequence[int], others: Sequence[int]) -> Array:
        return self.families(node, [(*parents, other) for other in others])
