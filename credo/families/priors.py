"""Priors from the data: a default, and one fitted to all groups (empirical Bayes)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from credo._kernels.core.sums import SCATTER_UNDERFLOW
from credo.core.moments import Moments
from credo.core.statistics import Counts, Totals
from credo.data import Source
from credo.data.cells import TRUTH_WORDS
from credo.data.profile import Profile, profile, tell_of_words
from credo.data.schema import Kind, checked_kinds
from credo.errors import DataError, EvidenceError, suggest
from credo.families import BetaBernoulli, DirichletCategorical, Family, GammaPoisson, NormalInverseGamma
from credo.families.family import Rule
from credo.families.normal import require_scale
from credo.families.normal_inverse_wishart import JointParameters
from credo.notices import tell
from credo.numerics.exact import Array


def families(
    table: Source, names: Sequence[str], prior: object, kinds: Mapping[str, str] | None, success: object = None
) -> dict[str, Family]:
    """The family of each column: the given one, or one by the column's kind."""
    asked = checked_kinds(kinds, table.names)
    if isinstance(prior, Family):
        return dict.fromkeys(names, prior)
    if prior not in (None, "default", "empirical"):
        raise DataError(
            f"prior must be a family (such as BetaBernoulli(1, 1)), 'default' or 'empirical', but is {prior!r}"
        )
    unsure = [name for name in names if success is not None or asked.get(name) not in ("number", "count")]
    profiles = profile(table, unsure, every=unsure if success is not None else ()) if unsure else {}
    if success is None:
        tell_of_words({name: found for name, found in profiles.items() if name not in asked})
    return {name: _family_of_column(name, asked.get(name), profiles.get(name), success) for name in names}


def _family_of_column(name: str, asked: Kind | None, found: Profile | None, success: object) -> Family:
    kind = asked or (found.kind if found else "number")
    if success is not None and found:  # whatever the column's kind
        values = [str(value) for value in found.values.to_pylist()]
        if str(success) not in values:
            raise DataError(f"column {name!r} has no value {success!r}; {suggest(success, values)}")
        return BetaBernoulli(1, 1)
    if kind == "category" and found:
        words = {str(value).strip().lower() for value in found.values.to_pylist()} if len(found.values) <= 2 else {""}
        if words <= set(TRUTH_WORDS):
            return BetaBernoulli(1, 1)
        if len(found.values) == 1:
            tell(
                f"column {name!r} has a single value, {found.values[0].as_py()!r:.60}, so its probability is always "
                "1: declare the others in a prior, as in DirichletCategorical(1, levels=[...])"
            )
        return DirichletCategorical(1)
    if kind == "count":
        return GammaPoisson(1, 1)
    if kind == "date":
        tell(f"column {name!r} holds dates, which are estimated as days since 1970-01-01 (2024-01-01 is day 19,723)")
    if kind in ("number", "date"):
        return NormalInverseGamma(0, 1, 1, 1)
    if found and not found.known:
        raise DataError(f"column {name!r} is empty: there is nothing to estimate")
    what = "text" if kind == "text" else "names of rows"
    raise DataError(f"column {name!r} looks like {what}; to estimate it, use kinds={{{name!r}: 'category'}}")


def resolved(rule: Rule, family: Family, statistics: object) -> Family:
    """The prior of each group; unless it is given, from all groups."""
    if rule == "given":
        return family
    return default(family, statistics) if rule == "default" else empirical(family, statistics)


def default(family: Family, statistics: Any) -> Family:
    """The reference prior if only one group has observations, otherwise a prior that all groups share.

    A prior at the mean and variance of the single group would count its rows twice, and intervals would be too narrow.
    Probabilities have a uniform prior, which doesn't depend on the data.
    """
    shared = of_new_groups(family, statistics)
    observed = np.asarray(statistics.weight) > 0
    if not family.reference or observed.sum() != 1:
        return shared
    names = [field.name for field in fields(family)]
    numbers = ((family.reference.get(name, 0.0), getattr(shared, name)) for name in names)
    if observed.all():
        return type(family)(*(alone for alone, _ in numbers))
    return type(family)(*(np.where(observed, alone, pooled) for alone, pooled in numbers))


def of_new_groups(family: Family, statistics: Any) -> Family:
    """The default prior of a group without observations: about one row, at the pooled location and scale.

    Numbers: NormalInverseGamma(pooled mean, 1, ½, pooled variance). Counts: GammaPoisson(½, 1/4r) with the pooled rate
    r under Jeffreys' prior. A group's rows are among the pooled rows, so both are vague enough for intervals to keep
    their coverage with two groups of two rows (tests/laws/test_coverage.py).
    """
    if not family.reference:
        return family
    pooled = statistics.pooled()[0]
    if isinstance(family, NormalInverseGamma):
        require_spread(pooled)
        return NormalInverseGamma(pooled.mean[..., 0], 1.0, 0.5, _variance(pooled)[..., 0])
    jeffreys = GammaPoisson(0.5, 0.0).posterior(pooled)
    return GammaPoisson(0.5, jeffreys.rate / jeffreys.shape / 4)


def require_spread(pooled: Moments) -> None:
    """Refuse equal numbers: they give no scale for a default prior."""
    n = pooled.n.value[..., 0]
    require_scale(np.where(n > 0, np.inf, n), pooled.mean[..., 0], pooled.scatter[..., 0])


def of_joint_numbers(mean: Array, variance: Array, strength: float, rows: float) -> JointParameters:
    """A prior of `strength` rows for the means, and of `rows` rows for the covariance. mean, variance: (..., d)"""
    d, before = mean.shape[-1], mean.shape[:-1]
    scale = rows * variance[..., None] * np.eye(d)
    return JointParameters(mean, np.full(before, strength), np.full(before, d + 1.0 + rows), scale)


def of_numbers(pooled: Moments, strength: float = 1.0) -> NormalInverseGamma:
    """The prior of classifiers: NormalInverseGamma(pooled mean, s, 1 + s/2, s · pooled variance/2), for a strength s.

    The posterior expects (s · pooled mean + n x̄)/(s + n) for the mean, and
    (s · pooled variance + Σ(x - x̄)² + ...)/(s + n) for the variance.
    """
    return NormalInverseGamma(pooled.mean[..., 0], strength, 1 + strength / 2, strength / 2 * _variance(pooled)[..., 0])


def of_counts(pooled: Totals, strength: float = 1.0) -> GammaPoisson:
    """The prior of classifiers: Gamma(s, s/pooled rate), for a strength of s events."""
    rate = np.nan_to_num(GammaPoisson(1, 1).maximum_likelihood(pooled))
    return GammaPoisson(strength, strength / np.where(rate > 0, rate, 1.0))


def _variance(pooled: Moments) -> Array:
    """The variance of the pooled rows; for a constant column, its squared float resolution (1 if all are 0)."""
    unresolved = np.where(pooled.mean != 0, np.maximum(np.spacing(np.abs(pooled.mean)) ** 2, SCATTER_UNDERFLOW), 1.0)
    rows = np.where(pooled.n.value > 0, pooled.n.value, 1.0)
    return np.where(pooled.scatter > 0, pooled.scatter / rows, unresolved)


def empirical(family: Family, statistics: Any) -> Family:
    """The prior that maximises the evidence of all groups: the means of small groups shrink towards the pooled mean.

    Its strength, in rows, is kept between 1/n and n for n observations. Groups that differ less than by chance have an
    infinite optimum, as if their common value were known exactly, but it is known from n rows: with a strength of n,
    every group's belief is about that of all rows as one group. Groups that are all yes or all no have the optimum 0,
    which n rows can't distinguish from 1/n.
    """
    from scipy.optimize import minimize

    weight = np.asarray(statistics.weight)
    if (weight > 0).sum() < 2:
        raise DataError("an empirical prior needs at least two groups with observations")
    most = max(float(np.log(weight.sum())), 0.0)
    search = _search(_start(family, statistics), statistics, most)
    found = minimize(
        search.cost, search.first, jac=search.has_slope, method="L-BFGS-B", bounds=search.bounds,
        options={"ftol": 1e-13, "gtol": 1e-9},
    )  # fmt: skip
    fitted: Family = search.build(found.x)
    return fitted


def _start(family: Family, statistics: Any) -> Family:
    """The start of the search, and the unit of its steps: the strength of one pooled row."""
    if isinstance(family, NormalInverseGamma):
        pooled = statistics.pooled()[0]
        require_spread(pooled)
        return of_numbers(pooled)
    return of_counts(statistics.pooled()[0]) if isinstance(family, GammaPoisson) else family


class PriorSearch(NamedTuple):
    """An optimisation: its start, its bounds, and the family and the cost at a point."""

    first: Sequence[float]
    bounds: Sequence[tuple[float, float]]
    build: Callable[[Array], Family]
    cost: Callable[[Array], Any]  # minus the mean log-evidence of a group, up to a constant
    has_slope: bool = False  # the cost comes with its gradient


def _search(start: Family, statistics: Any, most: float) -> PriorSearch:
    free = (-25.0, 25.0)
    build: Callable[[Array], Family]
    if isinstance(start, DirichletCategorical):
        return _dirichlet_search(statistics, most)
    if isinstance(start, BetaBernoulli):
        first, bounds, build = [0.0, 0.0], [free, (-most, most)], _beta
    elif isinstance(start, GammaPoisson):
        mean = float(np.log(start.shape / start.rate))
        first, bounds, build = [mean, 0.0], [(mean - 25, mean + 25), (-25.0, most)], _gamma
    elif isinstance(start, NormalInverseGamma):
        if not (statistics.scatter > 0).any():
            raise EvidenceError(
                "the empirical prior is undetermined: no group has two different numbers, so the variance within "
                "groups is unknown. Use prior='default', or give a prior"
            )
        strength = (-25.0, most)
        first, bounds, build = [0.0] * 4, [free, strength, free, strength], partial(_gaussian, start)
    else:
        raise DataError(f"there is no empirical prior for {type(start).__name__}; give its numbers")
    rows, repeats = _distinct(statistics)

    before = build(np.array(first)).log_evidence(rows)  # units add a constant, which cancels

    def cost(x: Array) -> float:
        value = -float(np.sum((build(x).log_evidence(rows) - before) * repeats) / np.sum(repeats))
        return value if np.isfinite(value) else np.finfo(float).max

    return PriorSearch(first, bounds, build, cost)


def _dirichlet_search(statistics: Counts, most: float) -> PriorSearch:
    """The search over the logs of the shares, up to a constant, and the log of their sum A.

    log p = Σₖ log Γ(A)/Γ(A + nₖ) + Σₖᵥ log Γ(αᵥ + nₖᵥ)/Γ(αᵥ). Empty cells contribute 0; equal cells are computed once.
    """
    from scipy.special import digamma, gammaln

    rows, columns, values = statistics.entries()
    pairs, alike = np.unique(np.column_stack([columns, values]), axis=0, return_counts=True)
    level, n = pairs[:, 0].astype(np.intp), pairs[:, 1]
    totals, groups = np.unique(np.asarray(statistics.weight)[np.unique(rows)], return_counts=True)
    levels, size = statistics.n.shape[1], float(groups.sum())

    def cost(x: Array) -> tuple[float, Array]:
        alpha = _concentration(x)
        shares, total = alpha / alpha.sum(), alpha.sum()
        value = groups @ (gammaln(total) - gammaln(total + totals))
        value += alike @ (gammaln(alpha[level] + n) - gammaln(alpha[level]))
        slope = np.bincount(level, alike * (digamma(alpha[level] + n) - digamma(alpha[level])), levels)
        slope += groups @ (digamma(total) - digamma(total + totals))
        by_shares = alpha * (slope - slope @ shares)
        if not np.isfinite(value):
            return np.finfo(float).max, np.zeros_like(x)
        return -float(value) / size, -np.append(by_shares, slope @ alpha) / size

    common = np.log1p(np.bincount(level, alike * n, levels))
    first = [*(common - common.mean()), float(np.clip(np.log(levels), -most, most))]
    return PriorSearch(first, [*[(-25.0, 25.0)] * levels, (-most, most)], _dirichlet, cost, has_slope=True)


def _distinct(statistics: Any) -> tuple[Any, Array]:
    """The distinct statistics of groups with observations, and the number of groups with each."""
    seen = np.flatnonzero(statistics.weight > 0)
    sums = np.column_stack([part.value.reshape(len(part.value), -1)[seen] for part in statistics.sums])
    order = np.lexsort(sums.T)
    first = np.flatnonzero(np.append(True, (sums[order[1:]] != sums[order[:-1]]).any(axis=1)))
    repeats = np.diff(np.append(first, len(order))).astype(np.float64)
    return statistics[seen[order[first]]], repeats


def _beta(x: Array) -> BetaBernoulli:
    """The Beta with this logit of the mean and log of a + b."""
    share = 1 / (1 + np.exp(-x[0]))
    return BetaBernoulli(share * np.exp(x[1]), (1 - share) * np.exp(x[1]))


def _dirichlet(x: Array) -> DirichletCategorical:
    """The Dirichlet with these logs of the shares, up to a constant, and log of their sum."""
    return DirichletCategorical(_concentration(x))


def _concentration(x: Array) -> Array:
    shares = np.exp(x[:-1] - np.max(x[:-1]))
    return np.asarray(shares / shares.sum() * np.exp(x[-1]))


def _gamma(x: Array) -> GammaPoisson:
    """The Gamma with these logs of the mean and of the rate."""
    return GammaPoisson(np.exp(x[0] + x[1]), np.exp(x[1]))


def _gaussian(start: NormalInverseGamma, x: Array) -> NormalInverseGamma:
    """The NormalInverseGamma with this mean in pooled deviations, and logs of strength, variance and shape."""
    variance, shape = float(start.scale) * np.exp(x[2]), np.exp(x[3]) / 2
    return NormalInverseGamma(start.location + np.sqrt(start.scale) * x[0], np.exp(x[1]), shape, variance * shape)
