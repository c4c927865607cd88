"""How priors are stored. Their constructors check the numbers."""

from __future__ import annotations

from credo.storage import field_types as t
from credo.storage.stored import Stored

FAMILY = t.class_at("credo.families.family:Family")
REAL = t.either(t.NUMBER, t.FLOATS)
GAMMA = {"shape": REAL, "rate": REAL}
DIRICHLET = {"concentration": t.FLOATS, "levels": t.optional(t.VALUES)}


def floats(*names: str) -> dict[str, t.FieldType]:
    return dict.fromkeys(names, t.FLOATS)


LINEAR_GAUSSIAN = Stored(
    "LinearGaussian",
    "credo.families.linear_gaussian:LinearGaussian",
    floats("location", "precision", "shape", "scale"),
    arguments={"location": "mean"},
)
SCHEMAS = (
    Stored("BetaBernoulli", "credo.families.beta_bernoulli:BetaBernoulli", {"a": REAL, "b": REAL}),
    Stored("DirichletCategorical", "credo.families.dirichlet:DirichletCategorical", DIRICHLET),
    Stored("DirichletMultinomial", "credo.families.dirichlet:DirichletMultinomial", DIRICHLET),
    Stored("GammaExponential", "credo.families.gamma:GammaExponential", GAMMA),
    Stored("GammaPoisson", "credo.families.gamma:GammaPoisson", GAMMA),
    LINEAR_GAUSSIAN,
    Stored(
        "NormalInverseGamma",
        "credo.families.normal:NormalInverseGamma",
        floats("location", "strength", "shape", "scale"),
        arguments={"location": "mean"},
    ),
    Stored(
        "NormalInverseWishart",
        "credo.families.normal_inverse_wishart:NormalInverseWishart",
        {
            **floats("location", "strength", "degrees", "scale"),
            "covariance": t.one_of("full", "tied", "diagonal", "spherical"),
        },
        arguments={"location": "mean"},
    ),
    Stored(
        "NormalMean",
        "credo.families.normal:NormalMean",
        floats("location", "sd", "noise_sd"),
        arguments={"location": "mean"},
    ),
    Stored("ParetoUniform", "credo.families.pareto_uniform:ParetoUniform", {"scale": REAL, "shape": REAL}),
)
