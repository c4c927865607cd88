"""Priors that can be dragged: by their mean and their strength, an equivalent sample size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from credo.errors import DataError, PriorError
from credo.explorer.screens.screen import number_in
from credo.families import BetaBernoulli, Family, GammaExponential, GammaPoisson, NormalInverseGamma
from credo.families.dirichlet import Dirichlet
from credo.numerics.exact import Array

MOST_SHARES = 8  # with more values, only the prior's strength can be dragged


@dataclass(frozen=True)
class Handles:
    """The mean and the strength of a prior, and the range of the mean."""

    mean: float | list[float]  # for categories one per value; none if they are many
    strength: float
    low: float
    high: float


def dragged(prior: Family, given: Mapping[str, Any]) -> Family:
    """The prior with the mean and the strength of a request."""
    strength = number_in(given, "strength", 1.0)
    if not strength > 0:
        raise PriorError(f"a prior's strength must be above 0, but is {strength:g}")
    if isinstance(prior, Dirichlet):  # one mean per value
        return type(prior)(strength * _shares(prior, given), prior.levels)
    return prior_at(prior, number_in(given, "mean", 0.0), strength)


@singledispatch
def handles(prior: Family) -> Handles | None:  # noqa: ARG001 - these have further parameters
    """The prior's mean and strength; None if it has further parameters."""
    return None


@singledispatch
def prior_at(prior: Family, mean: float, strength: float) -> Family:  # noqa: ARG001 - these have further parameters
    """A prior of the same family with this mean and strength."""
    raise PriorError(f"the prior of a {type(prior).__name__} has more than a mean and a strength")


@handles.register
def _(prior: Dirichlet) -> Handles:
    shares: list[float] = prior.mean().tolist()
    return Handles(shares if 1 < len(shares) <= MOST_SHARES else [], float(prior.alpha.sum()), 0.001, 0.999)


@handles.register
def _(prior: BetaBernoulli) -> Handles:
    a, b = float(prior.a), float(prior.b)
    return Handles(a / (a + b), a + b, 0.001, 0.999)


@prior_at.register
def _(prior: BetaBernoulli, mean: float, strength: float) -> Family:  # noqa: ARG001 - both parameters are replaced
    return BetaBernoulli(mean * strength, (1 - mean) * strength)


@handles.register
def _(prior: GammaPoisson) -> Handles:
    shape, rate = float(prior.shape), float(prior.rate)
    return Handles(shape / rate, rate, 0.0, 4 * shape / rate)


@prior_at.register
def _(prior: GammaPoisson, mean: float, strength: float) -> Family:  # noqa: ARG001 - both parameters are replaced
    return GammaPoisson(mean * strength, strength)


@handles.register
def _(prior: GammaExponential) -> Handles:
    shape, rate = float(prior.shape), float(prior.rate)
    return Handles(shape / rate, shape, 0.0, 4 * shape / rate)


@prior_at.register
def _(prior: GammaExponential, mean: float, strength: float) -> Family:  # noqa: ARG001 - both parameters are replaced
    return GammaExponential(strength, strength / mean)


@handles.register
def _(prior: NormalInverseGamma) -> Handles:
    spread, mean = 4 * float(np.sqrt(prior.scale / prior.shape)), float(prior.location)
    return Handles(mean, float(prior.strength), mean - spread, mean + spread)


@prior_at.register
def _(prior: NormalInverseGamma, mean: float, strength: float) -> Family:
    return NormalInverseGamma(mean, strength, float(prior.shape), float(prior.scale))


def _shares(prior: Dirichlet, given: Mapping[str, Any]) -> Array:
    """Each value's share of the prior, from a request, or unchanged."""
    mean = given.get("mean") or prior.mean().tolist()
    size = prior.alpha.size
    if not isinstance(mean, list) or len(mean) != size:
        raise DataError(
            f"the mean of a prior about {size} values must be a list of {size} numbers, but is {mean!r:.60}"
        )
    shares = np.array([number_in({"mean": each}, "mean", 0.0) for each in mean], dtype=np.float64)
    if not (shares > 0).all():
        raise PriorError(f"shares of a prior must be above 0, but one is {shares.min():g}")
    return np.asarray(shares / shares.sum())
