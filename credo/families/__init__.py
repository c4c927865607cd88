"""Conjugate pairs, one file each. Tests run over all families that are registered here."""

from __future__ import annotations

from credo.families.beta_bernoulli import BetaBernoulli
from credo.families.dirichlet import DirichletCategorical, DirichletMultinomial
from credo.families.family import Family
from credo.families.gamma import GammaExponential, GammaPoisson
from credo.families.linear_gaussian import LinearGaussian
from credo.families.normal import NormalInverseGamma, NormalMean
from credo.families.normal_inverse_wishart import NormalInverseWishart
from credo.families.pareto_uniform import ParetoUniform

FAMILIES: dict[str, type[Family]] = {
    family.__name__: family
    for family in (
        BetaBernoulli,
        DirichletCategorical,
        DirichletMultinomial,
        GammaExponential,
        GammaPoisson,
        LinearGaussian,
        NormalInverseGamma,
        NormalInverseWishart,
        NormalMean,
        ParetoUniform,
    )
}

__all__ = [
    "FAMILIES",
    "BetaBernoulli",
    "DirichletCategorical",
    "DirichletMultinomial",
    "Family",
    "GammaExponential",
    "GammaPoisson",
    "LinearGaussian",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalMean",
    "ParetoUniform",
]
