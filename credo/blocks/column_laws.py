"""The marginal distribution of each column in each group, for mixtures such as forecasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from credo.blocks.block import Likelihood
from credo.blocks.categories import CategoriesLikelihood
from credo.blocks.conjugate import ConjugateLikelihood
from credo.blocks.counts import CountsLikelihood
from credo.blocks.numbers.gaussian_likelihood import JointLikelihood
from credo.blocks.numbers.independent_likelihood import NumbersLikelihood
from credo.blocks.numbers.spherical import SphericalLikelihood
from credo.numerics.categorical import Categorical
from credo.numerics.distributions import Distribution, Normal, StudentT
from credo.numerics.exact import Array
from credo.numerics.mixture_distribution import MixtureDistribution, Poisson


@dataclass(frozen=True, eq=False)
class CategoryLaw:
    """P(value | group) of a category. (groups, values)"""

    values: tuple[object, ...]
    shares: Array

    def mixed(self, weights: Array) -> Categorical:
        """The mixture of all groups with these weights."""
        return Categorical(self.values, weights @ self.shares)


@dataclass(frozen=True, eq=False)
class NumberLaw:
    """p(x | group): the distribution's parameters are arrays over groups."""

    each: Distribution
    whole: bool = False  # whether x is a count

    def mixed(self, weights: Array) -> MixtureDistribution:
        return MixtureDistribution(weights, self.each, self.whole)


Law = CategoryLaw | NumberLaw


@singledispatch
def column_laws(likelihood: Likelihood) -> Mapping[str, Law]:  # noqa: ARG001 - texts and bins have none
    """The law of each column that has one; texts and columns without variance don't."""
    return {}


@column_laws.register
def _(likelihood: CategoriesLikelihood) -> Mapping[str, Law]:
    pairs = zip(likelihood.columns, likelihood.shares, strict=True)
    return {column.name: CategoryLaw(column.values, shares) for column, shares in pairs if shares.shape[1]}


@column_laws.register
def _(likelihood: CountsLikelihood) -> Mapping[str, Law]:
    found: dict[str, Law] = {}
    for name, belief, seen in zip(likelihood.names, likelihood.beliefs, likelihood.statistics, strict=True):
        if seen.n.value.any():
            bayes = likelihood.settings.estimate == "bayes"
            found[name] = NumberLaw(
                belief.predictive() if bayes else Poisson(likelihood._rate(belief, seen)), whole=True
            )
    return found


@column_laws.register
def _(likelihood: ConjugateLikelihood) -> Mapping[str, Law]:
    return {likelihood.names[0]: NumberLaw(likelihood.law, whole=likelihood.family.reads == "count")}


@column_laws.register
def _(likelihood: NumbersLikelihood) -> Mapping[str, Law]:
    if likelihood.logs or likelihood.dates:
        return {}
    found: dict[str, Law] = {}
    for j in np.flatnonzero(likelihood.varying):
        shift = likelihood.shift[j]
        if likelihood.settings.estimate == "bayes":
            own = likelihood.posterior.predictive()
            degrees, place, scale = (np.asarray(part)[:, j] for part in (own.degrees, own.location, own.scale))
            each: Distribution = StudentT(degrees, place + shift, scale)
        else:
            mean, variance = (part[:, j] for part in likelihood.gaussian)
            each = Normal(mean + shift, np.sqrt(variance))
        found[likelihood.names[j]] = NumberLaw(each)
    return found


@column_laws.register
def _(likelihood: JointLikelihood) -> Mapping[str, Law]:
    if not likelihood.size:
        return {}
    if likelihood.settings.estimate == "ml":
        (mean, matrix), degrees = likelihood.gaussians, np.full(likelihood.classes, np.inf)
    else:
        mean, matrix, degrees = likelihood._law(likelihood.belief)
    found: dict[str, Law] = {}
    for at, j in enumerate(np.flatnonzero(likelihood.varying)):
        place, scale = mean[:, at] + likelihood.shift[j], np.sqrt(matrix[:, at, at])
        wide = np.isfinite(degrees).all()
        found[likelihood.names[j]] = NumberLaw(StudentT(degrees, place, scale) if wide else Normal(place, scale))
    return found


@column_laws.register
def _(likelihood: SphericalLikelihood) -> Mapping[str, Law]:
    """The marginals with the shared variance; Student's t if it is integrated out."""
    if not likelihood._varies:
        return {}
    mean, strength, shape, spread = likelihood.ball
    if likelihood.settings.estimate == "bayes":
        scale = np.sqrt(spread / shape / 2 * (1 + 1 / strength))
        laws = [StudentT(2 * shape + 0 * mean[:, 0], mean[:, j], _of_column(scale, j)) for j in range(mean.shape[1])]
    else:
        sd = np.sqrt(likelihood._variance(likelihood.ball))
        laws = [Normal(mean[:, j], sd + 0 * mean[:, j]) for j in range(mean.shape[1])]  # type: ignore[misc]
    shifted = zip(likelihood.names, laws, likelihood.shift, strict=True)
    return {name: NumberLaw(_shifted(law, float(shift))) for name, law, shift in shifted}


def _of_column(scale: Array, j: int) -> Array:
    return scale[:, j] if scale.ndim == 2 else scale


def _shifted(law: StudentT | Normal, shift: float) -> Distribution:
    if isinstance(law, Normal):
        return Normal(law.location + shift, law.sd)
    return StudentT(law.degrees, law.location + shift, law.scale)
