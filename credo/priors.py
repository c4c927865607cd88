"""Priors that aren't given: a default at the pooled rows' place and scale, and one fitted to all groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from credo.data import Source
from credo.errors import DataError
from credo.exact import Array
from credo.families import BetaBernoulli, DirichletCategorical, Family, GammaPoisson, NormalInverseGamma
from credo.profile import Profile, profile
from credo.schema import Kind, checked_kinds
from credo.statistics import Moments, Totals

Prior = Literal["given", "default", "empirical"]


def families(
    table: Source, names: Sequence[str], prior: object, kinds: Mapping[str, str] | None
) -> dict[str, Family]:
    """Each column's family: the one given, or the one that fits its kind."""
    asked = checked_kinds(kinds, table.names)
    if isinstance(prior, Family):
        return dict.fromkeys(names, prior)
    if prior not in (None, "default", "empirical"):
        raise DataError(f"prior must be a family (as BetaBernoulli(1, 1)), 'default' or 'empirical', but is {prior!r}")
    profiles = profile(table, names)
    return {name: _fitting(name, asked.get(name), profiles[name]) for name in names}


def _fitting(name: str, asked: Kind | None, found: Profile) -> Family:
    from credo.cells import TRUTHS

    kind = asked or found.kind
    if kind == "category":
        words = {str(value).strip().lower() for value in found.values.to_pylist()} if len(found.values) <= 2 else {""}
        return BetaBernoulli(1, 1) if words <= set(TRUTHS) else DirichletCategorical(1)
    if kind == "count":
        return GammaPoisson(1, 1)
    if kind == "number":
        return NormalInverseGamma(0, 1, 1, 1)
    why = "is empty" if not found.known else f"looks like {'text' if kind == 'text' else 'names of rows'}"
    raise DataError(f"column {name!r} {why}: nothing to estimate. If there is, say kinds={{{name!r}: 'category'}}")


def resolved(prior: Prior, family: Family, statistics: Any) -> Family:
    """The prior's numbers, from all groups together where they aren't given."""
    if prior == "given":
        return family
    start = default(family, statistics)
    return start if prior == "default" else empirical(start, statistics)


def default(family: Family, statistics: Any) -> Family:
    """A prior worth about one row, at the pooled rows' place and scale; uniform for probabilities.

    A mean is N(pooled mean, variance), a variance InverseGamma(1, pooled variance), a rate Gamma(1, 1/pooled rate).
    """
    if isinstance(family, NormalInverseGamma):
        pooled: Moments = statistics.pooled()
        return NormalInverseGamma(pooled.mean[0, 0], 1, 1, _scale(pooled))
    if isinstance(family, GammaPoisson):
        totals: Totals = statistics.pooled()
        rate = float(GammaPoisson(1, 1).maximum_likelihood(totals)[0])
        return GammaPoisson(1, 1 / rate if rate > 0 else 1.0)
    return family


def _scale(pooled: Moments) -> float:
    """The variance; of a constant column, what its floats can't resolve (and 1 where all are 0)."""
    n, mean, scatter = pooled.n.value[0, 0], pooled.mean[0, 0], pooled.scatter[0, 0]
    if scatter > 0:
        return float(scatter / n)
    return float(np.spacing(abs(mean)) ** 2) if mean else 1.0


def empirical(start: Family, statistics: Any) -> Family:
    """The prior under which all groups' observations are most probable: small groups then shrink to the crowd."""
    from scipy.optimize import minimize

    rows, repeats = _distinct(statistics)
    if len(repeats) < 2:
        raise DataError("an empirical prior needs at least two groups with observations")
    origin, build = _coordinates(start, statistics)

    def cost(logs: Array) -> float:
        value = -float(np.sum(build(logs).log_evidence(rows) * repeats))
        return value if np.isfinite(value) else np.finfo(float).max

    scale = 1 / max(1.0, float(np.sum(repeats)))
    found = minimize(lambda x: cost(x) * scale, origin, method="L-BFGS-B", bounds=[(v - 25, v + 25) for v in origin])
    found = minimize(lambda x: cost(x) * scale, found.x, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-12})
    fitted: Family = build(found.x)
    return fitted


def _distinct(statistics: Any) -> tuple[Any, Array]:
    """Groups with observations; of groups with the same statistics one, and how many there are."""
    seen = np.flatnonzero(statistics.weight > 0)
    sums = np.column_stack([part.value.reshape(len(part.value), -1)[seen] for part in statistics.sums])
    _, first, repeats = np.unique(sums, axis=0, return_index=True, return_counts=True)
    return statistics[seen[first]], repeats.astype(np.float64)


def _coordinates(start: Family, statistics: Any) -> tuple[Array, Any]:
    """Numbers without bounds, and the family that they stand for."""
    if isinstance(start, BetaBernoulli):
        return np.zeros(2), lambda x: BetaBernoulli(*np.exp(x))
    if isinstance(start, GammaPoisson):
        return np.log(np.array([start.shape, start.rate])), lambda x: GammaPoisson(*np.exp(x))
    if isinstance(start, DirichletCategorical):
        return np.zeros(statistics.n.shape[1]), lambda x: DirichletCategorical(np.exp(x))
    if isinstance(start, NormalInverseGamma):
        place, unit = float(start.location), float(start.scale)
        spread = np.sqrt(unit)
        return np.zeros(4), lambda x: NormalInverseGamma(
            place + spread * x[0], np.exp(x[1]), np.exp(x[2]), unit * np.exp(x[3])
        )
    raise DataError(f"there is no empirical prior for {type(start).__name__}; give its numbers")


