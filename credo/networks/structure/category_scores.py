"""Score-equivalent scores of families of categories, from counts."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from credo.errors import PriorError
from credo.networks.structure.counting import Countable
from credo.networks.structure.set_score import Members, SetScore
from credo.numerics.exact import Array


class CategorySetScore(SetScore):
    """A score of categories, as a difference of a function of sets."""

    def __init__(self, table: Countable) -> None:
        super().__init__(table.variables)
        self.n, self.sizes = table.n, np.array(table.sizes, dtype=np.float64)
        self._counter = table.counter()

    def values(self, base: Members, others: Sequence[int]) -> Array:
        cells = prod(self.sizes[v] for v in base) * self.sizes[list(others)]
        return self.combined(self._counter.sums(base, others, self.prior(cells)), cells, len(base) + 1)

    def prior(self, cells: Array) -> Array:
        """The prior count of each cell, given the numbers of cells; 0 for Σ n log n."""
        return np.zeros_like(cells)

    def combined(self, sums: Array, cells: Array, members: int) -> Array:  # noqa: ARG002 - of use to some
        """The values of sets, from sums over the cells of their tables and the numbers of their members."""
        return sums


class BDeuScore(CategorySetScore):
    """log p(data | graph) under Dirichlet priors with an equivalent sample size, spread evenly over each family's
    cells: Σⱼ log Γ(e/q)/Γ(e/q + nⱼ) + Σⱼₖ log Γ(e/qr + nⱼₖ)/Γ(e/qr). (Heckerman, Geiger and Chickering 1995)

    >>> from credo.networks.structure.counting import CodedTable
    >>> table = CodedTable(("x",), np.array([[0, 0, 1]], dtype=np.uint8), (2,))
    >>> BDeuScore(table, 2.0).family(0, ())  # Laplace's rule: 1/2 · 2/3 · 1/4
    -2.4849066497880004
    """

    def __init__(self, table: Countable, equivalent: float = 1.0) -> None:
        super().__init__(table)
        self.equivalent = checked_size(equivalent)

    def prior(self, cells: Array) -> Array:
        return np.maximum(self.equivalent / cells, np.finfo(float).tiny)

    def nothing(self) -> float:
        from scipy.special import gammaln

        return float(gammaln(self.equivalent + self.n) - gammaln(self.equivalent))


class Penalised(CategorySetScore):
    """The log-likelihood minus a penalty for each free parameter.

    The value of a set is Σ n log n/N minus the penalty for each cell: q(r - 1) parameters are qr cells minus q.
    """

    def __init__(self, table: Countable, penalty: float) -> None:
        super().__init__(table)
        self.penalty = penalty

    def nothing(self) -> float:
        return -self.penalty

    def combined(self, sums: Array, cells: Array, members: int) -> Array:  # noqa: ARG002 - of use to some
        return np.asarray(sums - self.n * np.log(self.n) - self.penalty * cells)


def bic(table: Countable) -> Penalised:
    """The Bayesian information criterion: log-likelihood - ½ log n · parameters. (Schwarz 1978)"""
    return Penalised(table, 0.5 * np.log(table.n))


def aic(table: Countable) -> Penalised:
    """Akaike's information criterion: log-likelihood - parameters. (Akaike 1974)"""
    return Penalised(table, 1.0)


def checked_size(equivalent: Any) -> float:
    """The equivalent sample size of a prior."""
    if isinstance(equivalent, bool) or not np.isreal(equivalent) or not 0 < equivalent < np.inf:
        raise PriorError(f"the equivalent sample size must be a number above 0, but is {equivalent!r:.60}")
    return float(equivalent)


class MDL(Penalised):
    """The description length, negated: BIC, and log d for the name of each parent among d variables. (Lam and Bacchus
    1994)"""

    def __init__(self, table: Countable) -> None:
        super().__init__(table, 0.5 * float(np.log(table.n)))
        self.naming = float(np.log(len(table.variables)))

    def combined(self, sums: Array, cells: Array, members: int) -> Array:
        return super().combined(sums, cells, members) - self.naming * members * (members - 1) / 2


class QNML(CategorySetScore):
    """The quotient of normalised maximum likelihoods of the family and of its parents. (Silander et al. 2018)"""

    def __init__(self, table: Countable) -> None:
        from credo.networks.structure.normalised_likelihood import Regret

        super().__init__(table)
        self._regret = Regret(table.n)

    def nothing(self) -> float:
        return 0.0

    def combined(self, sums: Array, cells: Array, members: int) -> Array:  # noqa: ARG002 - of use to some
        return np.asarray(sums - self.n * np.log(self.n) - self._regret.of(cells))
