"""Scores of families of categories, from counts.

Scores that are equal for Markov-equivalent graphs are differences of a function of sets:
score(node | parents) = value(parents ∪ node) - value(parents). A set that was counted for one of its members serves
all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from credo.errors import PriorError
from credo.networks.structure.counting import CodedTable, Counter
from credo.numerics.exact import Array

Members = tuple[int, ...]  # in order
KEPT = 3_000_000  # values of sets, at most: more would take the memory


class SetScore(ABC):
    """A score that is a difference of values of sets; these are kept."""

    def __init__(self, variables: Sequence[str]) -> None:
        self.variables = tuple(variables)
        self._values: dict[Members, float] = {}

    @abstractmethod
    def values(self, base: Members, others: Sequence[int]) -> Array:
        """value(base ∪ {v}) for each v of others."""

    @abstractmethod
    def nothing(self) -> float:
        """The value of the set without members."""

    def value(self, members: Members) -> float:
        """Of a set, given in order."""
        found = self._values.get(members)
        if found is None:
            found = float(self.values(members[:-1], members[-1:])[0]) if members else self.nothing()
            self._values[members] = found
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
                if each and each not in self._values:
                    together.setdefault(each[:-1], []).append(each[-1])
            for base, last in together.items():
                self._extended(base, last)
        return np.array([self.family(node, parents) for parents in above])

    def _extended(self, base: Members, others: Sequence[int]) -> Array:
        """The same as `values`, as far as they aren't known from what is kept."""
        keys = [tuple(sorted((*base, v))) for v in others]
        known = self._values
        found = [known.get(key) for key in keys]
        new = [i for i, value in enumerate(found) if value is None]
        if new:
            if len(known) > KEPT:
                known.clear()
            for i, value in zip(new, self.values(base, [others[i] for i in new]).tolist(), strict=True):
                found[i] = known[keys[i]] = value
        return np.array(found, dtype=np.float64)


class CategorySetScore(SetScore):
    """A score of categories that is a difference of values of sets."""

    def __init__(self, table: CodedTable) -> None:
        super().__init__(table.variables)
        self.n, self.sizes = table.n, np.array(table.sizes, dtype=np.float64)
        self._counter = Counter(table)

    def values(self, base: Members, others: Sequence[int]) -> Array:
        cells = prod(self.sizes[v] for v in base) * self.sizes[list(others)]
        return self.combined(self._counter.sums(base, others, self.prior(cells)), cells, len(base) + 1)

    def prior(self, cells: Array) -> Array:
        """The prior count of each cell of tables with so many; 0 for Σ n log n."""
        return np.zeros_like(cells)

    def combined(self, sums: Array, cells: Array, members: int) -> Array:  # noqa: ARG002 - of use to some
        """The value of sets of so many members, from sums over the cells of their tables."""
        return sums


class BDeu(CategorySetScore):
    """log p(data | graph) under Dirichlet priors worth `equivalent` rows, spread evenly over each family's cells:
    Σⱼ log Γ(e/q)/Γ(e/q + nⱼ) + Σⱼₖ log Γ(e/qr + nⱼₖ)/Γ(e/qr). (Heckerman, Geiger and Chickering 1995)

    >>> table = CodedTable(("x",), np.array([[0, 0, 1]], dtype=np.uint8), (2,))
    >>> BDeu(table, 2.0).family(0, ())  # Laplace's rule: 1/2 · 2/3 · 1/4
    -2.4849066497880004
    """

    def __init__(self, table: CodedTable, equivalent: float = 1.0) -> None:
        super().__init__(table)
        self.equivalent = checked_size(equivalent)

    def prior(self, cells: Array) -> Array:
        return np.maximum(self.equivalent / cells, np.finfo(float).tiny)

    def nothing(self) -> float:
        from scipy.special import gammaln

        return float(gammaln(self.equivalent + self.n) - gammaln(self.equivalent))


class Penalised(CategorySetScore):
    """The log-likelihood less a penalty for each free parameter.

    The value of a set is Σ n log n/N less the penalty for each cell: q(r - 1) parameters are qr cells less q.
    """

    def __init__(self, table: CodedTable, penalty: float) -> None:
        super().__init__(table)
        self.penalty = penalty

    def nothing(self) -> float:
        return -self.penalty

    def combined(self, sums: Array, cells: Array, members: int) -> Array:  # noqa: ARG002 - of use to some
        return np.asarray(sums - self.n * np.log(self.n) - self.penalty * cells)


def bic(table: CodedTable) -> Penalised:
    """The Bayesian information criterion: log-likelihood - ½ log n · parameters. (Schwarz 1978)"""
    return Penalised(table, 0.5 * np.log(table.n))


def aic(table: CodedTable) -> Penalised:
    """Akaike's information criterion: log-likelihood - parameters. (Akaike 1974)"""
    return Penalised(table, 1.0)


def checked_size(equivalent: Any) -> float:
    """The equivalent sample size of a prior."""
    if isinstance(equivalent, bool) or not np.isreal(equivalent) or not 0 < equivalent < np.inf:
        raise PriorError(f"the equivalent sample size must be a number above 0, but is {equivalent!r:.60}")
    return float(equivalent)
