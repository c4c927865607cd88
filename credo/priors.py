"""Priors that aren't given: a default at the pooled rows' place and scale, and one fitted to all groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from credo._kernels.sums import FAINT
from credo.data import Source
from credo.data.cells import TRUTHS
from credo.data.profile import Profile, profile
from credo.errors import DataError, suggest
from credo.exact import Array
from credo.families import BetaBernoulli, DirichletCategorical, Family, GammaPoisson, NormalInverseGamma
from credo.families.family import Rule
from credo.schema import Kind, checked_kinds
from credo.statistics import Moments, Totals


def families(
    table: Source, names: Sequence[str], prior: object, kinds: Mapping[str, str] | None, success: object = None
) -> dict[str, Family]:
    """Each column's family: the one given, or the one that fits its kind."""
    asked = checked_kinds(kinds, table.names)
    if isinstance(prior, Family):
        return dict.fromkeys(names, prior)
    if prior not in (None, "default", "empirical"):
        raise DataError(f"prior must be a family (as BetaBernoulli(1, 1)), 'default' or 'empirical', but is {prior!r}")
    unsure = [name for name in names if success is not None or asked.get(name) not in ("number", "count")]
    profiles = profile(table, unsure, every=unsure if success is not None else ()) if unsure else {}
    return {name: _fitting(name, asked.get(name), profiles.get(name), success) for name in names}


def _fitting(name: str, asked: Kind | None, found: Profile | None, success: object) -> Family:
    kind = asked or (found.kind if found else "number")
    if success is not None and found:  # it counts, or it doesn't, whatever else the column holds
        values = [str(value) for value in found.values.to_pylist()]
        if str(success) not in values:
            raise DataError(f"column {name!r} has no value {success!r}; {suggest(success, values)}")
        return BetaBernoulli(1, 1)
    if kind == "category" and found:
        words = {str(value).strip().lower() for value in found.values.to_pylist()} if len(found.values) <= 2 else {""}
        return BetaBernoulli(1, 1) if words <= set(TRUTHS) else DirichletCategorical(1)
    if kind == "count":
        return GammaPoisson(1, 1)
    if kind in ("number", "date"):  # days since 1970
        return NormalInverseGamma(0, 1, 1, 1)
    why = "is empty" if found and not found.known else f"looks like {'text' if kind == 'text' else 'names of rows'}"
    raise DataError(f"column {name!r} {why}: nothing to estimate. If there is, say kinds={{{name!r}: 'category'}}")


def resolved(rule: Rule, family: Family, statistics: Any) -> Family:
    """The prior's numbers, from all groups together where they aren't given."""
    if rule == "given":
        return family
    start = default(family, statistics)
    return start if rule == "default" else empirical(start, statistics)


def default(family: Family, statistics: Any) -> Family:
    """A prior worth one row, at the pooled rows' place and scale; uniform for probabilities."""
    if isinstance(family, NormalInverseGamma):
        return of_numbers(statistics.pooled()[0])
    if isinstance(family, GammaPoisson):
        return of_counts(statistics.pooled()[0])
    return family


def of_numbers(pooled: Moments, strength: float = 1.0) -> NormalInverseGamma:
    """NormalInverseGamma(pooled mean, s, 1 + s/2, s · pooled variance/2): s rows like the pooled ones, seen before.

    Then the mean of the mean is (s · pooled mean + n x̄)/(s + n), and that of the variance
    (s · pooled variance + Σ(x - x̄)² + ...)/(s + n).
    """
    return NormalInverseGamma(pooled.mean[..., 0], strength, 1 + strength / 2, strength / 2 * _variance(pooled)[..., 0])


def of_counts(pooled: Totals, strength: float = 1.0) -> GammaPoisson:
    """Gamma(s, s/pooled rate): s counts of the pooled rate, seen before."""
    rate = np.nan_to_num(GammaPoisson(1, 1).maximum_likelihood(pooled))
    return GammaPoisson(strength, strength / np.where(rate > 0, rate, 1.0))


def _variance(pooled: Moments) -> Array:
    """Of the pooled rows; of a constant column, what its floats can't resolve (and 1 where all are 0)."""
    unresolved = np.where(pooled.mean != 0, np.maximum(np.spacing(np.abs(pooled.mean)) ** 2, FAINT), 1.0)
    rows = np.where(pooled.n.value > 0, pooled.n.value, 1.0)
    return np.where(pooled.scatter > 0, pooled.scatter / rows, unresolved)


def empirical(start: Family, statistics: Any) -> Family:
    """The prior under which all groups' observations are most probable: small groups then shrink to the crowd.

    It is at most as sure as all the observations together: groups that are alike would make it endlessly so.
    """
    from scipy.optimize import minimize

    rows, repeats = _distinct(statistics)
    if np.sum(repeats) < 2:
        raise DataError("an empirical prior needs at least two groups with observations")
    origin, build = _coordinates(start, statistics)
    most = np.log(float(np.sum(statistics.weight)))

    def cost(x: Array) -> float:
        value = -float(np.sum(build(x).log_evidence(rows) * repeats) / np.sum(repeats))
        return value if np.isfinite(value) else np.finfo(float).max

    bounds = [(v - 25, most if strength else v + 25) for v, strength in origin]
    first = [min(v, most) if strength else v for v, strength in origin]
    found = minimize(cost, first, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-13, "gtol": 1e-9})
    fitted: Family = build(found.x)
    return fitted


def _distinct(statistics: Any) -> tuple[Any, Array]:
    """Groups with observations; of groups with the same statistics one, and how many there are."""
    seen = np.flatnonzero(statistics.weight > 0)
    sums = np.column_stack([part.value.reshape(len(part.value), -1)[seen] for part in statistics.sums])
    order = np.lexsort(sums.T)
    first = np.flatnonzero(np.append(True, (sums[order[1:]] != sums[order[:-1]]).any(axis=1)))
    repeats = np.diff(np.append(first, len(order))).astype(np.float64)
    return statistics[seen[order[first]]], repeats


def _coordinates(start: Family, statistics: Any) -> tuple[list[tuple[float, bool]], Any]:
    """Numbers to search over, each with whether it is the log of a strength, and the family that they stand for."""
    if isinstance(start, BetaBernoulli):
        return [(0.0, False), (0.0, True)], _beta
    if isinstance(start, DirichletCategorical):
        levels = statistics.n.shape[1]
        return [*[(0.0, False)] * levels, (0.0, True)], _dirichlet
    if isinstance(start, GammaPoisson):
        mean = float(np.log(start.shape / start.rate))
        return [(mean, False), (0.0, True)], lambda x: GammaPoisson(np.exp(x[0] + x[1]), np.exp(x[1]))
    if isinstance(start, NormalInverseGamma):
        return [(0.0, False), (0.0, True), (0.0, False), (0.0, True)], partial(_gaussian, start)
    raise DataError(f"there is no empirical prior for {type(start).__name__}; give its numbers")


def _beta(x: Array) -> BetaBernoulli:
    """By the logit of the mean, and the log of a + b."""
    share = 1 / (1 + np.exp(-x[0]))
    return BetaBernoulli(share * np.exp(x[1]), (1 - share) * np.exp(x[1]))


def _dirichlet(x: Array) -> DirichletCategorical:
    """By the logs of the shares, up to a constant, and the log of their sum."""
    shares = np.exp(x[:-1] - np.max(x[:-1]))
    return DirichletCategorical(shares / shares.sum() * np.exp(x[-1]))


def _gaussian(start: NormalInverseGamma, x: Array) -> NormalInverseGamma:
    """By the mean in pooled deviations, the strength, the variance's size and how sure it is (both logs)."""
    variance, shape = float(start.scale) * np.exp(x[2]), np.exp(x[3]) / 2
    return NormalInverseGamma(start.location + np.sqrt(start.scale) * x[0], np.exp(x[1]), shape, variance * shape)
