"""Tests of conditional independence: G² for categories, partial correlation for numbers.

Each test uses the rows in which all of its variables are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import atanh, sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.networks.structure.counting import occurring
from credo.networks.structure.number_scores import Measured
from credo.numerics.exact import Array


class IndependenceTest(Protocol):
    """P(data at least as dependent as these | a and b are independent given others)."""

    @property
    def variables(self) -> tuple[str, ...]: ...

    def p_value(self, a: int, b: int, given: Sequence[int]) -> float: ...


@dataclass(frozen=True, eq=False)
class CategoryTest:
    """G² = 2 Σ n log(n n_z / n_az n_bz), which is χ² distributed where a and b are independent given z.

    The degrees of freedom are Σ over the states of z of (states of a seen there - 1)(states of b seen there - 1).

    >>> codes = np.array([[0] * 40 + [1] * 60, [0] * 30 + [1] * 10 + [0] * 20 + [1] * 40])
    >>> round(CategoryTest(("a", "b"), codes, (2, 2)).p_value(0, 1, ()), 6)
    3.3e-05
    """

    variables: tuple[str, ...]
    codes: NDArray[Any]  # (variables, rows); -1 is missing
    sizes: tuple[int, ...]
    weight: Array | None = None

    def p_value(self, a: int, b: int, given: Sequence[int]) -> float:
        from scipy.special import chdtrc, xlogy

        keep = self._complete_rows([a, b, *given])
        z, states = self._joint(given, keep)
        of_a, of_b = (self._column(v, keep) for v in (a, b))
        r, c = self.sizes[a], self.sizes[b]
        weight = self.weight if self.weight is None or keep is None else self.weight[keep]
        both = occurring((z * r + of_a) * c + of_b, states * r * c, weight)
        with_a, with_b = occurring(z * r + of_a, states * r, weight), occurring(z * c + of_b, states * c, weight)
        total = occurring(z, states, weight)
        terms = [float(xlogy(counts, counts).sum()) for _, counts in (both, with_a, with_b, total)]
        g = 2.0 * (terms[0] - terms[1] - terms[2] + terms[3])
        seen_a, seen_b = np.bincount(with_a[0] // r, minlength=states), np.bincount(with_b[0] // c, minlength=states)
        freedom = int((np.maximum(seen_a - 1, 0) * np.maximum(seen_b - 1, 0)).sum())
        return 1.0 if freedom == 0 else float(chdtrc(freedom, max(g, 0.0)))

    def _joint(self, given: Sequence[int], keep: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], int]:
        """The joint state of some variables in each row, and the number of joint states."""
        key, states = np.zeros(self.codes.shape[1] if keep is None else len(keep), dtype=np.int64), 1
        for v in given:
            key = key * self.sizes[v] + self._column(v, keep)
            states *= self.sizes[v]
            if states > max(len(key), 1024):
                found, key = np.unique(key, return_inverse=True)
                states = len(found)
        return key, states

    def _column(self, v: int, keep: NDArray[np.int64] | None) -> NDArray[Any]:
        own = self.codes[v].astype(np.int64)
        return own if keep is None else np.asarray(own[keep])

    @cached_property
    def _incomplete(self) -> NDArray[np.bool_]:
        return np.asarray((self.codes < 0).any(1))

    def _complete_rows(self, members: list[int]) -> NDArray[np.int64] | None:
        """The rows in which all of these variables are known; None: all rows."""
        some = [v for v in members if self._incomplete[v]]
        return np.flatnonzero((self.codes[some] >= 0).all(0)) if some else None


@dataclass(frozen=True, eq=False)
class CorrelationTest:
    """Fisher's z = √(n - |given| - 3) artanh r of the partial correlation r: normal where a and b are independent.

    >>> x = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.1, 3.9, 6.2, 8.1, 9.8, 12.1]])
    >>> CorrelationTest(("a", "b"), x).p_value(0, 1, ()) < 1e-6
    True
    """

    variables: tuple[str, ...]
    values: Array  # (variables, rows); NaN is missing
    weight: Array | None = None

    def p_value(self, a: int, b: int, given: Sequence[int]) -> float:
        return correlation_p_value(*self._covariance([a, b, *given]))

    @cached_property
    def _complete(self) -> tuple[Array, float] | None:
        """The covariance matrix, if no cell is missing."""
        return None if np.isnan(self.values).any() else self._of_rows(self.values, self.weight)

    def _covariance(self, members: list[int]) -> tuple[Array, float]:
        if self._complete is not None:
            return self._complete[0][np.ix_(members, members)], self._complete[1]
        known = ~np.isnan(self.values[members]).any(0)
        weight = None if self.weight is None else self.weight[known]
        return self._of_rows(self.values[members][:, known], weight)

    @staticmethod
    def _of_rows(values: Array, weight: Array | None) -> tuple[Array, float]:
        n = float(values.shape[1] if weight is None else weight.sum())
        if values.shape[1] < 2 or n <= 1:
            return np.eye(len(values)), n
        return np.atleast_2d(np.cov(values, aweights=weight, bias=True)), n


@dataclass(frozen=True, eq=False)
class SummedCorrelationTest:
    """The same of complete rows, from sums over them."""

    variables: tuple[str, ...]
    covariance: Array
    n: float

    @classmethod
    def of(cls, table: Measured) -> SummedCorrelationTest:
        return cls(table.variables, table.correlations, table.n)

    def p_value(self, a: int, b: int, given: Sequence[int]) -> float:
        members = [a, b, *given]
        return correlation_p_value(self.covariance[np.ix_(members, members)], self.n)


def correlation_p_value(covariance: Array, n: float) -> float:
    """Of the first two variables given the others, with the weight of all rows."""
    from scipy.special import ndtr

    freedom = n - (len(covariance) - 2) - 3
    if freedom <= 0:
        return 1.0
    r = partial_correlation(covariance)
    z = sqrt(freedom) * atanh(min(max(r, -1 + 1e-15), 1 - 1e-15))
    return float(2.0 * ndtr(-abs(z)))


def partial_correlation(covariance: Array) -> float:
    """The partial correlation of the first two variables given the others; 0 if one of them doesn't vary.

    >>> round(partial_correlation(np.array([[2.0, 1.0, 1.0], [1.0, 1.0, 0.5], [1.0, 0.5, 1.0]])), 4)
    0.5774
    """
    own, rest = covariance[:2, :2], covariance[2:, :2]
    if len(rest):
        own = own - rest.T @ np.linalg.lstsq(covariance[2:, 2:], rest, rcond=None)[0]
    scale = own[0, 0] * own[1, 1]
    tiny = 1e-12 * covariance[0, 0] * covariance[1, 1]
    return 0.0 if scale <= tiny else float(own[0, 1] / sqrt(scale))
