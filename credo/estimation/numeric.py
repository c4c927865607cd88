"""Numeric: any likelihood and any prior of one or two parameters, integrated by adaptive quadrature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial, reduce
from math import inf, nan
from numbers import Real as Number
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from credo.core.description import DescriptionLength, integrated_out
from credo.core.learning import Weights
from credo.core.records import Shown
from credo.data import source
from credo.errors import CredoError, DataError, EvidenceError, PriorError, check_discount, counted
from credo.estimation.observations import only_column
from credo.numerics.distributions import Real, Seed, plain
from credo.numerics.exact import Array
from credo.numerics.quadrature import (
    Axis,
    Density,
    Function,
    Mesh,
    integrate,
    negligible_density,
    summit,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from credo.estimation.numeric_predictive import Predictive

__all__ = ["Numeric"]

CELLS_AT_ONCE = 1 << 18  # parameters x observations, so that they fit the cache
IMPOSSIBLE_DATA = "the observations are impossible: their log-likelihood is -inf at every parameter that was tried"


def called(function: Function, name: str, error: type[CredoError], *arguments: Array) -> Array:
    """A user's function on arrays, with its result checked."""
    shape = np.broadcast_shapes(*(a.shape for a in arguments))
    try:
        with np.errstate(all="ignore"):
            result = np.broadcast_to(np.asarray(function(*arguments), dtype=np.float64), shape)
    except (TypeError, ValueError) as problem:
        given = ", ".join(str(a.shape) for a in arguments)
        raise error(f"{name} must broadcast: of arrays shaped {given} make one of {shape}; but {problem}") from problem
    if not (result < inf).all():
        at = tuple(np.argwhere(~(result < inf))[0])
        where = ", ".join(f"{np.broadcast_to(a, shape)[at]:.6g}" for a in arguments)
        raise error(f"{name}({where}) is {result[at]}: it must be a number, or -inf where something is impossible")
    return result


@lru_cache(maxsize=16)
def normalised(log_prior: Function, axes: tuple[Axis, ...]) -> Mesh:
    """The normalised prior."""
    sizes = (20_001,) if len(axes) == 1 else (121, 401)  # a prior is cheap, and may have narrow peaks
    grids = tuple(axis.grid(size) for axis, size in zip(axes, sizes, strict=True))
    mesh = integrate(lambda *theta: called(log_prior, "log_prior", PriorError, *theta), axes, grids)
    if mesh.log_total == -inf:
        raise PriorError("log_prior is -inf at every parameter that was tried: the prior excludes them all")
    if mesh.first.diverges(0) or mesh.joint.diverges(0):
        raise PriorError(
            "the prior is improper, its integral over the support diverges: bound the support, or use lighter tails"
        )
    return mesh


def observed(xs: object, weight: object) -> tuple[Array, Array]:
    """Observations (a column of any form, one number, or {value: count}) and their weights, missing ones left out."""
    if isinstance(xs, Mapping) and all(isinstance(count, Number) for count in xs.values()):
        if weight is not None:
            raise DataError("counts are weights already: give either {value: count}, or observations and weight")
        xs, weight = {"x": list(xs)}, list(xs.values())
    if hasattr(xs, "__len__") and not len(xs):
        return np.empty(0), np.empty(0)
    table = source([xs] if isinstance(xs, Number) else xs)
    name, weights = only_column(table.without(weight).names), Weights.of(weight)
    batches = list(weights.batches(table, [name]))
    values = np.concatenate([np.empty(0), *(batch.numbers(name) for batch in batches)])
    each = np.concatenate([np.empty(0), *(weights.of_rows(batch) for batch in batches)])
    kept = ~np.isnan(values) & (each > 0)
    return values[kept], each[kept]


@dataclass(frozen=True, eq=False, repr=False)
class Numeric(Shown):
    """p(θ | x) ∝ p(θ) Πᵢ p(xᵢ | θ), for any likelihood and prior; the evidence is the weight of each distinct value.

    >>> def uniform(x, theta):  # x ~ U[0, θ]
    ...     return np.where(x <= theta, -np.log(theta), -np.inf)
    >>> post = Numeric(uniform, lambda theta: 0 * theta, support=(0, 10)).update([2, 4, 7, 8])
    >>> round(float(np.exp(post.log_evidence())), 12)  # ∫ θ⁻⁴/10 dθ from 8 to 10 is (8⁻³ - 10⁻³)/30
    3.1770833e-05
    """

    log_likelihood: Function
    log_prior: Function
    support: Any
    observations: range | tuple[float, float] | None = None
    values: Array = field(default_factory=lambda: np.empty(0))
    weights: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        try:
            fits = np.shape(self.support) in ((2,), (2, 2)) and all(axis.low < axis.high for axis in self.axes)
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise PriorError(f"support must be (low, high), or two such pairs, low below high; but is {self.support!r}")

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(Axis(float(low), float(high)) for low, high in np.reshape(self.support, (-1, 2)))

    def update(self, xs: object, weight: object = None) -> Numeric:
        """Learn from observations: numbers, or {value: count}. NaN is missing."""
        values, weights = observed(xs, weight)
        distinct, which = np.unique(np.append(self.values, values), return_inverse=True)
        added = np.bincount(which, np.append(self.weights, weights), distinct.size)
        return replace(self, values=distinct, weights=np.asarray(added, dtype=np.float64))

    def forget(self, xs: object, weight: object = None) -> Numeric:
        """Unlearn observations; those that were never seen are an error."""
        taken = self._blank.update(xs, weight)
        place = np.searchsorted(self.values, taken.values)
        seen = np.where(np.append(self.values, nan)[place] == taken.values, np.append(self.weights, 0)[place], 0)
        left = seen - taken.weights
        left[np.abs(left) <= 4 * np.spacing(seen)] = 0
        if (left < 0).any():
            i = int(np.argmax(left < 0))
            weight, value = taken.weights[i], taken.values[i]
            raise EvidenceError(f"can't forget {value:g} with weight {weight:g}: its weight is {seen[i]:g}")
        weights = self.weights.copy()
        weights[place] = left
        return replace(self, values=self.values[weights > 0], weights=weights[weights > 0])

    def __add__(self, other: Numeric) -> Numeric:
        if not isinstance(other, Numeric):
            return NotImplemented
        if (self.log_likelihood, self.log_prior, self.axes) != (other.log_likelihood, other.log_prior, other.axes):
            raise PriorError("only beliefs with the same log_likelihood, log_prior and support can be added")
        return self.update(other.values, other.weights)

    def merge(self, *others: Numeric) -> Numeric:
        """The same as `+`."""
        return reduce(add, others, self)

    def discount(self, factor: float) -> Numeric:
        """Multiply all evidence by a factor above 0 and at most 1."""
        return self._blank.update(self.values, self.weights * check_discount(factor))

    @property
    def _blank(self) -> Numeric:
        return replace(self, values=np.empty(0), weights=np.empty(0))

    @property
    def n(self) -> float:
        """The weight of the observations."""
        return float(self.weights.sum())

    def _log_likelihood(self, *theta: Array) -> Array:
        """Σᵢ wᵢ log p(xᵢ | θ), in blocks that bound the memory."""
        total, rows = np.zeros(theta[0].shape), CELLS_AT_ONCE // 16
        for start in range(0, self.values.size, rows):
            x, w = self.values[start : start + rows], self.weights[start : start + rows]
            size = CELLS_AT_ONCE // x.size
            for i in range(0, total.size, size):
                some = [part[i : i + size, None] for part in theta]
                total[i : i + size] += called(self.log_likelihood, "log_likelihood", DataError, x[None], *some) @ w
        return total

    def _log_joint(self, *theta: Array, prior: float = 1.0) -> Array:
        """log p(x | θ) + log p(θ); without the prior's part, the likelihood where the prior is positive."""
        total = np.array(called(self.log_prior, "log_prior", PriorError, *theta))
        possible = total > -inf
        total[possible] = prior * total[possible] + self._log_likelihood(*(part[possible] for part in theta))
        return total

    @cached_property
    def _prior(self) -> Mesh:
        return normalised(self.log_prior, self.axes)

    @cached_property
    def _grids(self) -> tuple[Array, ...]:
        """The first grids: over the whole support, at the prior's quantiles, and near the observations."""
        x, guesses, joint, fewer = self.values, np.empty(0), self._prior.joint, len(self.axes) ** 2
        if x.size:
            with np.errstate(all="ignore"):
                moments = [x.mean(), 1 / x.mean(), x.std(), x.var(), (x[0] + x[-1]) / 2]
            guesses = np.append(np.quantile(x, np.linspace(0, 1, 7)), moments)
        grids = []
        for axis, theta in zip(self.axes, [*joint.given[..., None], joint.theta], strict=True):
            theta = np.broadcast_to(theta, joint.theta.shape).ravel()
            order, mass = np.argsort(theta), joint.mass.ravel()
            below = np.cumsum(mass[order]) - mass[order] / 2
            quantiles = np.interp(np.arange(0.5, 128, fewer) / 128, below, theta[order])
            known = np.append(quantiles, guesses[(axis.low < guesses) & (guesses < axis.high)])
            grids.append(np.append(axis.grid(28 + 100 // fewer), axis.t(known)))
        return tuple(grids)

    @cached_property
    def _posterior(self) -> Mesh:
        mesh = integrate(self._log_joint, self.axes, self._grids) if self.values.size else self._prior
        if mesh.log_total == -inf:
            raise EvidenceError(IMPOSSIBLE_DATA)
        return mesh

    @cached_property
    def marginals(self) -> tuple[Density, ...]:
        """The marginal distribution of each parameter."""
        if len(self.axes) == 1:
            return (self._posterior.first,)
        turned = integrate(lambda b, a: self._log_joint(a, b), self.axes[::-1], self._grids[::-1])
        return self._posterior.first, turned.first

    def maximum_likelihood(self) -> Any:
        """The maximum-likelihood parameters within the prior's support."""
        if not self.values.size:
            raise EvidenceError("no observations yet: every parameter fits them equally well")
        return self._largest(partial(self._log_joint, prior=0.0))

    def mode(self) -> Any:
        """The most probable parameters (MAP), jointly."""
        return self._largest(self._log_joint)

    def _largest(self, log_density: Function) -> Any:
        top, theta = summit(
            log_density, self.axes, self._grids, negligible_density(log_density, self.axes, self._grids)
        )
        if top == -inf:
            raise EvidenceError(IMPOSSIBLE_DATA)
        if not np.isfinite(theta).all():
            raise EvidenceError(f"there is no maximum: it still grows towards {self._shaped(theta)}")
        return self._shaped(theta)

    def _shaped(self, values: list[Any]) -> Any:
        return values[0] if len(self.axes) == 1 else np.array(values)

    def mean(self) -> Any:
        return self._shaped([self._posterior.first.mean(), self._posterior.joint.mean()])

    def variance(self) -> Any:
        return self._shaped([self._posterior.first.variance(), self._posterior.joint.variance()])

    def interval(self, mass: float = 0.95) -> Any:
        """Equal-tailed marginal intervals of the parameters."""
        return self._shaped([marginal.interval(mass) for marginal in self.marginals])

    def highest_density(self, mass: float = 0.95) -> Any:
        """The shortest marginal intervals of the parameters."""
        return self._shaped([marginal.highest_density(mass) for marginal in self.marginals])

    def log_evidence(self) -> float:
        """log ∫ p(x | θ) p(θ) dθ, the prior normalised."""
        return self._posterior.log_total - self._prior.log_total

    def description_length(self, data: object = None) -> DescriptionLength:
        """−log₂ p(observations), of those that were learned or of the data: parameters integrated out."""
        model = self if data is None else replace(self, values=np.empty(0)).update(data)
        return integrated_out(model.log_evidence(), model.n)

    def log_prob(self, theta: ArrayLike) -> Real:
        """log p(θ | x); of two parameters, θ is a pair or an array of pairs. (..., 2)"""
        array = np.asarray(theta, dtype=np.float64)
        parts = [array] if len(self.axes) == 1 else [array[..., 0], array[..., 1]]
        pairs = list(zip(self.axes, parts, strict=True))
        inside = np.all([(axis.low <= part) & (part <= axis.high) for axis, part in pairs], axis=0)
        log = np.full(inside.shape, -inf)
        log[inside] = self._log_joint(*(axis.inside(part[inside]) for axis, part in pairs)) - self._posterior.log_total
        return plain(log)

    def sample(self, size: int, seed: Seed = None) -> Array:
        """Draws of the parameters: (size,), or (size, 2)."""
        generator, (_, outer, joint) = np.random.default_rng(seed), self._posterior
        first = outer.sample(size, generator)
        if len(self.axes) == 1:
            return first
        t, at, share = outer.axis.t(outer.theta.ravel()), outer.axis.t(first), outer.mass.ravel()
        after = np.clip(np.searchsorted(t, at), 1, t.size - 1)
        # Of the two grid lines around a draw, the nearer one is chosen more often.
        which = after - (generator.random(size) * (t[after] - t[after - 1]) > at - t[after - 1])
        second = joint.quantile(np.cumsum(share)[which] - share[which] * generator.random(size))
        return np.column_stack([first, second])

    def marginal(self) -> Density:
        """The distribution of the parameter used in comparisons: the only one, or the first."""
        return self._posterior.first

    def probability_greater(self, other: Any) -> Any:
        """P(this parameter > the other's, or a number), for independent parameters; for each of two parameters."""
        from credo.estimation.comparison import probability_greater

        if isinstance(other, Number):
            return 1 - float(self.marginal().cdf(float(other)))
        if len(self.axes) == 2 and isinstance(other, Numeric) and len(other.axes) == 2:
            return np.array([probability_greater(a, b) for a, b in zip(self.marginals, other.marginals, strict=True)])
        return probability_greater(self.marginal(), other.marginal())

    def predictive(self) -> Predictive:
        """The distribution of the next observation."""
        from credo.estimation.numeric_predictive import Predictive

        return Predictive(self)

    def __repr__(self) -> str:
        spans = " x ".join(f"[{axis.low:g}, {axis.high:g}]" for axis in self.axes)
        parts = [f"{len(self.axes)} parameter{'s' * (len(self.axes) - 1)} on {spans}", counted(self.n, "observation")]
        try:
            for mean, (low, high) in zip(np.atleast_1d(self.mean()), np.reshape(self.interval(), (-1, 2)), strict=True):
                digits = 3 + max(0, int(np.log10(max(abs(low), abs(high)) / (high - low))))
                parts.append(f"mean {mean:.{digits}g}, 95% interval [{low:.{digits}g}, {high:.{digits}g}]")
        except CredoError as problem:
            parts.append(str(problem))
        return f"Numeric({'; '.join(parts)})"

    def plot(self) -> Figure:
        """Prior, likelihood (scaled) and posterior of each parameter, and the predictive."""
        from credo.present.belief_charts import plot_numeric

        return plot_numeric(self)
