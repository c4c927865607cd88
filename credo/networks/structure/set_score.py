"""Score-equivalent scores: differences of a function of sets.

score(node | parents) = value(parents ∪ node) - value(parents). A set counted for one of its members serves all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from credo.numerics.exact import Array

Members = tuple[int, ...]  # in order
CACHED_SCORES = 3_000_000


class SetScore(ABC):
    """A score that is a difference of a function of sets, whose values are cached."""

    def __init__(self, variables: Sequence[str]) -> None:
        self.variables = tuple(variables)
        self._values: dict[int, float] = {}  # keyed by the set's bit mask: variable j is bit j

    @abstractmethod
    def values(self, base: Members, others: Sequence[int]) -> Array:
        """value(base ∪ {v}) for each v of others."""

    @abstractmethod
    def nothing(self) -> float:
        """The value of the empty set."""

    def value(self, members: Members) -> float:
        """The value of a set, given in order."""
        key = _bits(members)
        found = self._values.get(key)
        if found is None:
            found = float(self.values(members[:-1], members[-1:])[0]) if members else self.nothing()
            self._values[key] = found
        return found

    def family(self, node: int, parents: Sequence[int]) -> float:
        above = tuple(sorted(parents))
        return self.value(tuple(sorted((*above, node)))) - self.value(above)

    def grown(self, node: int, parents: Sequence[int], others: Sequence[int]) -> Array:
        above = tuple(sorted(parents))
        return self._extended(tuple(sorted((*above, node))), others) - self._extended(above, others)

    def families(self, node: int, candidates: Sequence[Sequence[int]]) -> Array:
        """Sets that differ in their last member only are counted together."""
        above = [tuple(sorted(parents)) for parents in candidates]
        for members in (above, [tuple(sorted((*parents, node))) for parents in above]):
            together: dict[Members, list[int]] = {}
            for each in members:
                if each and _bits(each) not in self._values:
                    together.setdefault(each[:-1], []).append(each[-1])
            for base, last in together.items():
                self._extended(base, last)
        return np.array([self.family(node, parents) for parents in above])

    def _extended(self, base: Members, others: Sequence[int]) -> Array:
        """The same as `values`, from the cache where possible."""
        own, known = _bits(base), self._values
        keys = [own | 1 << v for v in others]
        found = [*map(known.get, keys)]
        if None in found:
            new = [i for i, value in enumerate(found) if value is None]
            if len(known) > CACHED_SCORES:
                known.clear()
            for i, value in zip(new, self.values(base, [others[i] for i in new]).tolist(), strict=True):
                found[i] = known[keys[i]] = value
        return np.array(found, dtype=np.float64)


def _bits(members: Members) -> int:
    """
    >>> _bits((0, 3))
    9
    """
    return sum(1 << v for v in members)
