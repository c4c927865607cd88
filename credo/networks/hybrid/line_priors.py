"""Priors of Gaussian nodes: of intercept, weights and variance."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from credo.core.labels import Label
from credo.core.moments import CrossMoments
from credo.errors import DataError, PriorError, suggest
from credo.families.linear_gaussian import Line, LinearGaussian
from credo.networks.missing_information import missing_information
from credo.networks.table_priors import ML, TablePriors
from credo.numerics.exact import Array

CORRELATION_SHRINKAGE = 1e-6  # of the number parents' correlations: keeps the default prior proper if collinear
ROUNDING_VARIANCE = 1e-12  # share of a number's variance that rounding leaves where its parents determine it

LinePrior = float | LinearGaussian | None  # number of pseudo-rows; conjugate prior; None: maximum likelihood


@dataclass(frozen=True)
class HybridPriors:
    """Dirichlet priors of tables, and LinePriors of Gaussian nodes.

    >>> HybridPriors.of("ml", ["Fever"], ["Flu"]).line("Fever") is None
    True
    """

    tables: TablePriors = field(default_factory=TablePriors)
    default: LinePrior = 1.0
    lines: Mapping[str, LinePrior] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any, numbers: Collection[str], categories: Collection[str]) -> HybridPriors:
        """From a number of cases, "ml", or {name: either, a DirichletCategorical, a BDeu or a LinearGaussian}."""
        if isinstance(given, HybridPriors):
            return given
        if given is None:
            given = 1.0
        if not isinstance(given, Mapping):
            return cls(TablePriors.of(given, categories), _line(given, "prior") if numbers else 1.0)
        known = {*numbers, *categories}
        for unknown in (name for name in given if name not in known):
            raise PriorError(f"a prior is for {unknown!r}, which isn't a node; {suggest(unknown, known)}")
        lines = {name: _line(each, f"the prior of {name!r}") for name, each in given.items() if name in numbers}
        tables = {name: each for name, each in given.items() if name in categories}
        return cls(TablePriors.of(tables, categories), 1.0, lines)

    def line(self, name: str) -> LinePrior:
        return self.lines.get(name, self.default)


def _line(given: object, what: str) -> LinePrior:
    if isinstance(given, LinearGaussian):
        return given
    if isinstance(given, str) and given == ML:
        return None
    if not isinstance(given, bool) and isinstance(given, Real) and 0 < float(given) < np.inf:
        return float(given)
    raise PriorError(
        f"{what} of a number must be 'ml', a number of cases above 0 or a LinearGaussian, but is {given!r:.60}"
    )


class PooledLine(NamedTuple):
    """The regression of all rows, pooled over configurations."""

    weights: Array  # the intercept first
    variance: float
    inside: float  # the residual variance about the configurations' own regressions
    mean: Array  # of the number parents and of the number itself
    spread: Array  # the covariance of the number parents
    spent: Array  # degrees of freedom that the regression used in each configuration. (configurations,)

    @property
    def second(self) -> Array:
        """E[zz′], where z is 1 for the intercept and the number parents minus their means."""
        spread = self.spread * (1.0 - CORRELATION_SHRINKAGE) + CORRELATION_SHRINKAGE * np.diag(np.diagonal(self.spread))
        still = np.diagonal(spread) <= 0
        spread = spread + np.diag(np.where(still, np.maximum(self.mean[:-1] ** 2, 1.0), 0.0))  # for a constant parent
        found = np.zeros((len(self.weights),) * 2)
        found[0, 0], found[1:, 1:] = 1.0, spread
        return found


def pooled_line(name: str, statistics: CrossMoments) -> PooledLine:
    """Least squares over all configurations of category parents, with minimum-norm weights if several fit equally well.
    The residual variance has n - weights degrees of freedom; if none is left, it is the number's own variance."""
    whole = statistics
    for _ in range(statistics.n.ndim):
        whole = whole._map(lambda x: x.sum(0))
    whole = whole._map(lambda x: x[None])
    n = float(whole.n.value[0])
    if not n > 0:
        raise DataError(f"there are no rows to learn the line of {name!r} from")
    weights, variance = (np.asarray(each)[0] for each in LinearGaussian().maximum_likelihood(whole))
    scatter, mean = whole.scatter[0] / n, whole.mean[0]
    own = float(scatter[-1, -1])
    if not own > ROUNDING_VARIANCE * float(mean[-1]) ** 2 * 1e-6:
        raise DataError(
            f"column {name!r} is constant, {mean[-1]:.6g}: a Gaussian of it would have variance 0, so drop it"
        )
    taken = min(float(len(weights)), n)
    left = float(variance) * n / (n - taken) if n > taken else own * n / max(n - 1.0, 1.0)
    left, parts = max(left, ROUNDING_VARIANCE * own), flat(statistics)
    inside = min(max(_own_residual_variance(parts, left), ROUNDING_VARIANCE * own), left)
    return PooledLine(weights, left, inside, mean, scatter[:-1, :-1], taken / n * parts.n.value)


def _own_residual_variance(parts: CrossMoments, total: float) -> float:
    """The residual variance about the configurations' own regressions, from all that have enough rows; else that about
    the common regression."""
    n, width = parts.n.value, parts.first.shape[-1]
    enough = np.flatnonzero(n > width)
    degrees = float((n[enough] - width).sum())
    if len(n) == 1 or degrees < width + 2:
        return total
    _, variance = LinearGaussian().maximum_likelihood(parts[enough])
    return float((np.asarray(variance) * n[enough]).sum()) / degrees


def as_all_rows(cases: float, pooled: PooledLine) -> LinearGaussian:
    """The prior with this many pseudo-rows, centred on the pooled regression, with E[σ²] = the residual variance about
    the configurations' own regressions.

    precision = cases/n Σzz′ E[σ²]/(the residual variance about the pooled regression). Without category parents, the
    posterior mean is the least-squares regression.
    """
    about = as_all_rows_about_means(cases, pooled)
    shift = np.eye(len(pooled.weights))
    shift[0, 1:] = pooled.mean[:-1]
    precision = shift.T @ about.precision @ shift
    return LinearGaussian(pooled.weights, (precision + precision.T) / 2, about.shape, about.scale)


def as_all_rows_about_means(cases: float, pooled: PooledLine) -> LinearGaussian:
    """The same for numbers minus their means, which keeps precision if these are far from 0."""
    line = np.concatenate([[0.0], pooled.weights[1:]])
    precision = cases * pooled.inside / pooled.variance * pooled.second
    return LinearGaussian(line, precision, 1.0 + cases / 2, cases / 2 * pooled.inside)


def resolved(prior: LinePrior, name: str, statistics: CrossMoments) -> LinearGaussian | None:
    """The prior's parameters; The posterior of each configuration; None for maximum likelihood."""
    return as_all_rows(prior, pooled_line(name, statistics)) if isinstance(prior, float) else prior


def resolved_at(prior: LinePrior, name: str, statistics: CrossMoments, where: tuple[int, ...]) -> LinearGaussian | None:
    """The same for one configuration, minus the degrees of freedom that the prior's regression used in its rows."""
    if not isinstance(prior, float):
        return prior
    pooled = pooled_line(name, statistics)
    spent = pooled.spent.reshape(statistics.n.shape)[where]
    found = as_all_rows(prior, pooled)
    return LinearGaussian(found.location, found.precision, found.shape - spent / 2, found.scale)


class LinePosterior(NamedTuple):
    """The posterior of the regression in each configuration, for numbers minus a pivot."""

    after: LinearGaussian
    pivot: Array  # of the number parents and of the number itself

    @property
    def weights(self) -> Array:
        """The expected weights in the original units; the intercept first. (configurations, weights)"""
        slopes = self.after.location[:, 1:]
        start = self.after.location[:, 0] + self.pivot[-1] - slopes @ self.pivot[:-1]
        return np.column_stack([start, slopes])

    @property
    def leverage(self) -> Array:
        """The mean of z′ precision⁻¹ z over the configuration's rows and the prior's: the variance due to uncertain
        weights, in units of σ². precision = Σzz′ over these rows; its first entry is their number. (configurations,)"""
        return np.asarray(self.after.location.shape[-1] / self.after.precision[:, 0, 0])


def line_posterior(prior: LinePrior, name: str, statistics: CrossMoments) -> LinePosterior | None:
    """None for maximum likelihood."""
    if prior is None:
        return None
    pivot, spent = np.zeros(statistics.first.shape[-1]), np.zeros(1)
    if isinstance(prior, float):
        pooled = pooled_line(name, statistics)
        pivot, prior, spent = pooled.mean, as_all_rows_about_means(prior, pooled), pooled.spent
    moved = flat(statistics).about(pivot)
    after = _posterior(prior, name, moved)
    # the prior's regression is fitted to the same rows: subtract the degrees of freedom that it used
    after = LinearGaussian(after.location, after.precision, after.shape - spent / 2, after.scale)
    return LinePosterior(after, pivot)


def _posterior(prior: LinearGaussian, name: str, statistics: CrossMoments) -> LinearGaussian:
    try:
        return prior.posterior(statistics)
    except np.linalg.LinAlgError:
        raise DataError(
            f"the regression of {name!r} is numerically singular: its parents are too far from 0, or too strongly "
            "correlated"
        ) from None


def flat(statistics: CrossMoments) -> CrossMoments:
    """The statistics with the configurations of category parents as one axis."""
    shape = statistics.n.shape
    return statistics._map(lambda x: x.reshape((int(np.prod(shape)), *x.shape[len(shape) :])))


def observed_sums(evidence: Any, label: Label) -> CrossMoments:
    """Effective sums of the observed information: the sums of all rows, times the share that wasn't missing."""
    sums: CrossMoments = evidence[label]
    missing = missing_information(evidence, label)
    if missing is None:
        return sums
    n = sums.n.value
    share = np.divide(n - missing, n, out=np.zeros_like(n), where=n > 0).clip(0.0, 1.0)
    if not (share * n).any():
        return sums
    return CrossMoments(sums.n * share, sums.first * share[..., None], sums.second * share[..., None, None])


def predictive_line(prior: LinePrior, name: str, statistics: CrossMoments, observed: CrossMoments) -> Line:
    """The predictive mean and variance of each configuration: the posterior means of the weights (the intercept first),
    and E[σ²](1 + the leverage of an average row). Under maximum likelihood, least squares; pooled over all rows if a
    configuration has too few. Uncertainty follows from the observed part of the statistics. (configurations, ...)"""
    found = line_posterior(prior, name, statistics)
    if found is None:
        return _least_squares(name, flat(statistics))
    sure = found if observed is statistics else line_posterior(prior, name, observed) or found
    return Line(found.weights, expected_variance(sure.after.shape, sure.after.scale) * (1.0 + sure.leverage))


def expected_variance(shape: Array, scale: Array) -> Array:
    """E[σ²] = scale/(shape - 1); if that isn't finite, the mode, scale/(shape + 1)."""
    enough = shape > 1
    return np.asarray(np.where(enough, scale / np.where(enough, shape - 1, 1.0), scale / (shape + 1)))


def _least_squares(name: str, statistics: CrossMoments) -> Line:
    pooled = pooled_line(name, statistics)
    n = statistics.n.value
    with np.errstate(invalid="ignore", divide="ignore"):
        safe = statistics._map(lambda x: x) if (n > 0).all() else _pooled_where_empty(statistics)
        weights, variance = LinearGaussian().maximum_likelihood(safe)
    few = n <= statistics.first.shape[-1]  # a regression through this few points leaves no variance
    weights = np.where(few[:, None], pooled.weights, weights)
    variance = np.where(few | ~(variance > ROUNDING_VARIANCE * pooled.variance), pooled.variance, variance)
    return Line(weights, variance)


def _pooled_where_empty(statistics: CrossMoments) -> CrossMoments:
    """The statistics, with those of all configurations where one has no rows."""
    rows = np.where(statistics.n.value > 0, np.arange(len(statistics.n.value)), int(np.argmax(statistics.n.value)))
    return statistics[rows]


def mode_line(prior: LinearGaussian | None, name: str, statistics: CrossMoments) -> Line:
    """EM's M-step: the most probable weights and variance of each configuration."""
    if prior is None:
        return _least_squares(name, flat(statistics))
    return _posterior(prior, name, flat(statistics)).mode()
