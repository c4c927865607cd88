"""DirichletCategorical and DirichletMultinomial: the probabilities of several values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from credo.core.membership import Codes, Membership
from credo.core.statistics import Counts, Statistics, Totals
from credo.errors import PriorError
from credo.families.family import Family
from credo.numerics.arrays import Positions
from credo.numerics.categorical import Categorical
from credo.numerics.distributions import Beta, Distribution, Seed, checked_mass
from credo.numerics.exact import Array
from credo.numerics.special import log_rising

Estimate = Literal["bayes", "mean", "map", "ml"]  # "bayes" integrates θ out, which predicts by the mean


def offset(concentration: Array | float, estimate: Estimate) -> Array:
    """The pseudo-counts of an estimate: α for the posterior mean, α - 1 for its mode, 0 for maximum likelihood."""
    alpha = np.asarray(concentration, dtype=np.float64)
    return alpha * 0.0 if estimate == "ml" else alpha - 1.0 if estimate == "map" else alpha


def shares(n: Array, added: Array | float, axis: int = -1) -> Array:
    """θ = (n + a)/Σ(n + a) with pseudo-counts a; a negative n + a counts as 0. Uniform if no value has weight.

    >>> shares(np.array([[2.0, 1.0], [0.0, 0.0]]), 1.0).tolist()
    [[0.6, 0.4], [0.5, 0.5]]
    """
    above = np.maximum(n + added, 0.0)
    return shared_out(above, above.sum(axis, keepdims=True), above.shape[axis])


def shared_out(above: Array, total: Array, size: Array | Positions | float, least: float = 0.0) -> Array:
    """above/total; 1/size where the total is at most `least`."""
    some = total > least
    return np.where(some, above / np.where(some, total, 1.0), 1 / np.maximum(size, 1))


def _over_values(x: Array) -> Array:
    return np.asarray(x.sum(-1))


def log_evidence(n: Array, concentration: Array, summed: Callable[[Array], Array] = _over_values) -> Array:
    """log p(values | α) = Σᵥ log Γ(αᵥ + nᵥ)/Γ(αᵥ) - log Γ(A + N)/Γ(A), over the values with αᵥ > 0. (...)

    >>> round(float(log_evidence(np.array([1.0, 1.0]), np.array([1.0, 1.0]))), 4)  # log 1/2 · 1/3
    -1.7918
    """
    alpha = np.broadcast_to(concentration, n.shape)
    known = alpha > 0
    each = np.where(known, log_rising(np.where(known, alpha, 1.0), np.where(known, n, 0.0)), 0.0)
    total = summed(np.where(known, alpha, 0.0))
    whole = log_rising(np.where(total > 0, total, 1.0), summed(np.where(known, n, 0.0)))
    return np.asarray(summed(each) - np.where(total > 0, whole, 0.0))


def log_kernel(theta: Array, concentration: Array | float) -> Array:
    """log Πᵥ θᵥ^(αᵥ - 1), the prior's density without its normaliser. (..., values)"""
    from scipy.special import xlogy

    return np.asarray(xlogy(np.asarray(concentration) - 1, theta))


@dataclass(frozen=True, eq=False)
class Tables:
    """Several columns' values side by side, with a Dirichlet prior on the distribution of each column.

    >>> sky_and_wind = Tables(np.array([[2.0, 1.0, 0.0, 3.0]]), np.ones(4), np.array([2, 2]))
    >>> sky_and_wind.shares(1.0).tolist()
    [[0.6, 0.4, 0.2, 0.8]]
    """

    counts: Array  # (groups, values)
    concentration: Array  # (values,)
    sizes: Positions  # (columns,) the number of values of each column

    @cached_property
    def starts(self) -> Positions:
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def column(self) -> Positions:
        """The column of each value. (values,)"""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def summed(self, values: Array) -> Array:
        """The sum over the values of each column. (..., values) -> (..., columns)"""
        found, filled = np.zeros((*values.shape[:-1], len(self.sizes))), self.sizes > 0
        if filled.any():
            found[..., filled] = np.add.reduceat(values, self.starts[filled], axis=-1)
        return found

    @cached_property
    def totals(self) -> Array:
        """The counts of each column. (groups, columns)"""
        return self.summed(self.counts)

    def shares(self, added: Array | float, levels: Array | None = None) -> Array:
        """θ of each value, as in `shares`; 1/levels (by default all of a column's) if no value has weight."""
        above = np.maximum(self.counts + added, 0.0)
        size = self.sizes if levels is None else levels
        return shared_out(above, self.summed(above)[..., self.column], size[self.column])

    def log_evidence(self) -> Array:
        """The log evidence of each column. (groups, columns)"""
        return log_evidence(self.counts, self.concentration, self.summed)

    def pooled(self) -> Tables:
        """All groups as one."""
        return replace(self, counts=self.counts.sum(0, keepdims=True))


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Dirichlet(Family):
    """θ ~ Dirichlet(concentration): the common part of DirichletCategorical and DirichletMultinomial."""

    concentration: Array  # (levels,), or one number for all
    levels: tuple[Any, ...] | None

    def __init__(
        self, concentration: Mapping[Any, float] | ArrayLike = 1.0, levels: tuple[object, ...] | None = None
    ) -> None:
        if isinstance(concentration, Mapping):
            if not concentration:
                raise PriorError(f"{type(self).__name__}: there must be at least one value, but the mapping is empty")
            levels, concentration = tuple(map(_plain, concentration)), list(concentration.values())
        if not isinstance(levels, tuple | None):
            raise PriorError(f"{type(self).__name__}: levels must be a tuple of values, but are {levels!r}")
        kinds = {type(level).__name__ for level in levels or ()}
        if len(kinds) > 1 and kinds != {"int", "float"}:
            mixed = " and ".join(sorted(kinds))
            raise PriorError(f"{type(self).__name__}: values must be of one type, but are {mixed}")
        self._require("concentration", concentration, lambda x: x > 0, "positive")
        size = self.concentration.shape[-1:]
        if levels is not None and size and size != (len(levels),):
            raise PriorError(
                f"there must be one concentration for each of the {len(levels)} values, but there are {size[0]}"
            )
        object.__setattr__(self, "levels", levels)

    @abstractmethod
    def counts(self, statistics: Any) -> Array:
        """The counts of each value. (groups, levels)"""

    @property
    def alpha(self) -> Array:
        """The concentration of each value. (groups, levels)"""
        if self.concentration.ndim:
            return self.concentration
        if self.levels is None:
            raise PriorError(
                f"{type(self).__name__}({self.concentration:g}) doesn't know its values yet: update it, "
                "or give a concentration for each, as in {'red': 1, 'blue': 1}"
            )
        return np.full(len(self.levels), float(self.concentration))

    @property
    def names(self) -> tuple[Any, ...]:
        """The values, or their positions if they have no names."""
        return tuple(range(self.alpha.shape[-1])) if self.levels is None else self.levels

    def posterior(self, statistics: Statistics) -> Self:
        alpha = self.concentration + self.counts(statistics)
        return type(self)(alpha, self.levels if len(self.levels or ()) == alpha.shape[-1] else None)

    def log_evidence(self, statistics: Statistics) -> Array:
        """log Γ(A)/Γ(A + n) + Σᵥ log Γ(αᵥ + nᵥ)/Γ(αᵥ), A = Σ α."""
        return log_evidence(self.counts(statistics), self.concentration)

    def marginals(self) -> tuple[Distribution, ...]:
        return (Beta(self.alpha, self.alpha.sum(-1, keepdims=True) - self.alpha),)

    def mean(self) -> Array:
        """αᵥ/A."""
        return shares(self.alpha, 0.0)

    def mode(self) -> Array:
        """(αᵥ - 1)/(A - J) for J values if every αᵥ ≥ 1; 0 for a value with αᵥ < 1; uniform for a flat density."""
        above = np.maximum(self.alpha - 1, 0)
        total = above.sum(-1, keepdims=True)
        flat = (self.alpha == 1).all(-1, keepdims=True)
        even = np.where(flat, 1 / self.alpha.shape[-1], np.nan)
        return np.where(total > 0, above / np.where(total > 0, total, 1), even)

    def maximum_likelihood(self, statistics: Statistics) -> Array:
        n = self.counts(statistics)
        total = n.sum(-1, keepdims=True)
        return np.where(total > 0, n / np.where(total > 0, total, 1), np.nan)

    def log_prior(self, parameters: Array) -> Array:
        alpha = np.broadcast_to(self.concentration, parameters.shape)
        return np.asarray(log_kernel(parameters, alpha).sum(-1) - log_normaliser(alpha))

    def sample(self, size: int, seed: Seed = None) -> Array:
        gammas = np.random.default_rng(seed).standard_gamma(self.alpha, (size, *self.alpha.shape))
        return np.asarray(gammas / gammas.sum(-1, keepdims=True))

    def group(self, k: int) -> Self:
        alpha = self.concentration
        return type(self)(alpha[k] if alpha.ndim > 1 else alpha, self.levels)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class DirichletCategorical(Dirichlet):
    """p(x = v | θ) = θᵥ, θ ~ Dirichlet(concentration); the posterior mean is (nᵥ + αᵥ) / Σᵤ (nᵤ + αᵤ).

    One number is the concentration of every value that is seen or declared; a mapping declares values.

    >>> DirichletCategorical({"red": 1, "blue": 1}).update(["red"]).mean()
    {'red': 0.6666666666666666, 'blue': 0.3333333333333333}
    """

    reads = "category"

    def counts(self, statistics: Counts) -> Array:
        return statistics.n.value

    def log_evidence(self, statistics: Counts) -> Array:  # type: ignore[override]
        """The log evidence, summed over nonzero cells."""
        if statistics.n.ndim == 1:
            return super().log_evidence(statistics)
        group, value, n = statistics.entries()
        alpha = np.broadcast_to(self.concentration, statistics.n.shape[1:])
        total, weight = alpha.sum(), statistics.weight
        cells = log_rising(alpha[value], n)
        return np.asarray(np.bincount(group, cells, len(weight)) - log_rising(total, weight))

    def after(self, statistics: Counts, group: Codes, value: Codes) -> tuple[Array, Array]:
        """αᵥ + nₖᵥ and A + nₖ of some groups and values; a group below 0 has no counts."""
        alpha = np.broadcast_to(self.concentration, statistics.n.shape[1:])
        known = np.flatnonzero(group >= 0)
        n, weight = np.zeros((2, len(group)))
        n[known] = statistics.at(group[known], value[known])
        weight[known] = statistics.weight[group[known]]
        return alpha[value] + n, alpha.sum() + weight

    def log_predictive_after(self, statistics: Counts, group: Codes, value: Codes) -> Array:
        """log (αᵥ + nₖᵥ)/(A + nₖ) of each row in group k; NaN for a missing value."""
        found, known = np.full(len(value), np.nan), value >= 0
        cell, total = self.after(statistics, group[known], value[known])
        found[known] = np.log(cell) - np.log(total)
        return found

    def statistics(self, x: Codes, member: Membership) -> Counts:
        """The counts of codes. x: codes ≥ 0, or -1 for a missing cell"""
        known = self.concentration.shape[-1] if self.concentration.ndim else len(self.levels or ())
        return Counts.of(x, max(known, int(x.max(initial=-1)) + 1), member)

    def log_density(self, x: Codes, parameters: Array) -> Array:
        with np.errstate(divide="ignore"):
            table = np.log(parameters)  # (groups, levels)
        return np.concatenate([table, np.zeros_like(table[..., :1])], axis=-1).T[x]

    def log_predictive(self, x: Codes) -> Array:
        return self.log_density(x, np.atleast_2d(self.mean()))

    def predictive(self) -> Categorical:
        """P(x = v) = αᵥ/A."""
        return Categorical(self.names, self.mean())


@dataclass(frozen=True, eq=False, repr=False, init=False)
class DirichletMultinomial(Dirichlet):
    """Rows of counts: p(x | θ) = (m!/Πxᵥ!) Πθᵥˣᵛ with m = Σx, θ ~ Dirichlet(concentration).

    >>> DirichletMultinomial([1, 1]).update([[3, 0], [1, 2]]).mean()
    {'x0': 0.625, 'x1': 0.375}
    """

    reads = "counts"

    def counts(self, statistics: Totals) -> Array:
        return statistics.total.value

    def statistics(self, x: Array, member: Membership) -> Totals:
        """The total counts of rows. x: (rows, levels)"""
        return Totals.of(x, log_coefficient(x), member)

    def log_evidence(self, statistics: Totals) -> Array:  # type: ignore[override]
        """The evidence of the single values times the multinomial coefficients, as a logarithm."""
        return super().log_evidence(statistics) + statistics.log_base.value

    def log_density(self, x: Array, parameters: Array) -> Array:
        from scipy.special import xlogy

        return np.asarray(xlogy(x[:, None, :], parameters).sum(-1)) + log_coefficient(x)[:, None]

    def log_predictive(self, x: Array) -> Array:
        """The Dirichlet-multinomial: log m!/Πxᵥ! + log B(α + x)/B(α)."""
        alpha = np.atleast_2d(self.alpha)
        return log_normaliser(alpha + x[:, None, :]) - log_normaliser(alpha) + log_coefficient(x)[:, None]

    @property
    def width(self) -> int | None:
        return self.concentration.shape[-1] if self.concentration.ndim else None

    def predictive(self, trials: int = 1) -> RowOfCounts:
        """The next row of counts, given the number of trials."""
        return RowOfCounts(self, trials)


@dataclass(frozen=True)
class RowOfCounts:
    """The predictive of a row of counts under a Dirichlet-multinomial: each value's count is beta-binomial."""

    belief: DirichletMultinomial
    trials: int

    def log_prob(self, x: Any) -> Any:
        """log p of a row, or of each row."""
        rows = self.belief.log_predictive(np.atleast_2d(np.asarray(x, dtype=np.float64)))[:, 0]
        return float(rows[0]) if np.ndim(x) == 1 else rows

    def mean(self) -> Array:
        return self.trials * np.asarray(self.belief.mean())

    def variance(self) -> Array:
        """m p (1 - p) (A + m)/(A + 1)."""
        share, total = np.asarray(self.belief.mean()), self.belief.alpha.sum()
        return np.asarray(self.trials * share * (1 - share) * (total + self.trials) / (total + 1))

    def interval(self, mass: float = 0.95) -> tuple[Array, Array]:
        """The equal-tailed interval of each value's count."""
        tail = (1 - checked_mass(mass)) / 2
        counts = np.arange(self.trials + 1.0)
        alpha = self.belief.alpha
        rest = alpha.sum() - alpha
        ways = log_coefficient(np.column_stack([counts, self.trials - counts]))
        pairs = np.stack([alpha[:, None] + counts, rest[:, None] + counts[::-1]], axis=-1)
        before = log_normaliser(np.stack([alpha, rest], axis=-1))
        reached = np.cumsum(np.exp(ways + log_normaliser(pairs) - before[:, None]), axis=1)  # (levels, counts)
        low, high = ((reached < edge - 1e-12).sum(axis=1).astype(float) for edge in (tail, 1 - tail))
        return low, np.minimum(high, self.trials)

    def sample(self, size: int, seed: Seed = None) -> Array:
        rng = np.random.default_rng(seed)
        return rng.multinomial(self.trials, self.belief.sample(size, rng)).astype(float)


def _plain(value: object) -> Any:
    """A NumPy scalar as a Python scalar, so that equal values are equal levels."""
    return value.item() if isinstance(value, np.generic) else value


def log_normaliser(alpha: Array) -> Array:
    """log B(α) = Σ log Γ(αᵥ) - log Γ(Σ αᵥ)."""
    from scipy.special import gammaln

    return np.asarray(gammaln(alpha).sum(-1) - gammaln(alpha.sum(-1)))


def log_coefficient(x: Array) -> Array:
    """log (Σx)!/Πxᵥ! of each row."""
    from scipy.special import gammaln

    return np.asarray(gammaln(x.sum(-1) + 1) - gammaln(x + 1).sum(-1))
