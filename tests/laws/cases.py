"""Each registered family with a prior and a way to make observations: the laws run over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.estimation.belief import Belief
from credo.families import (
    FAMILIES,
    BetaBernoulli,
    DirichletCategorical,
    DirichletMultinomial,
    Family,
    GammaExponential,
    GammaPoisson,
    LinearGaussian,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalMean,
    ParetoUniform,
)

Rng = np.random.Generator


@dataclass(frozen=True)
class Case:
    """A prior, and cells as `statistics` takes them."""

    prior: Family
    draw: Callable[[Rng, int], Any]
    forgets: bool = True
    mixes: bool = True  # can be weighted by responsibilities

    @property
    def belief(self) -> Belief:
        """That has seen nothing; of a regression, the last column is the target."""
        columns = ("x0", "x1", "x2") if self.prior.has_target else None
        return Belief(self.prior, columns=columns)

    @property
    def shared(self) -> bool:
        """Groups aren't independent."""
        return getattr(self.prior, "covariance", None) in ("tied", "spherical")


def _wishart(covariance: Any) -> Case:
    prior = NormalInverseWishart([0.5, -1, 2], 1.5, 5, np.diag([1.0, 2, 3]) + 0.3, covariance)
    return Case(prior, lambda rng, n: rng.normal([1, 2, 3], [1, 2, 3], (n, 3)))


def _line(rng: Rng, n: int) -> Any:
    x = rng.normal(size=(n, 2))
    return np.column_stack([x, 1 + x @ [2, -1] + rng.normal(size=n)])


CASES: dict[str, Case] = {
    "BetaBernoulli": Case(BetaBernoulli(2, 3), lambda rng, n: rng.integers(0, 2, n).astype(np.int32)),
    "DirichletCategorical": Case(
        DirichletCategorical([1.5, 2.0, 1.0]), lambda rng, n: rng.integers(0, 3, n).astype(np.int32)
    ),
    "DirichletMultinomial": Case(
        DirichletMultinomial([1.5, 2.0, 1.0]), lambda rng, n: rng.multinomial(5, [0.2, 0.3, 0.5], n).astype(float)
    ),
    "GammaPoisson": Case(GammaPoisson(2, 0.5), lambda rng, n: rng.poisson(4, n).astype(float)),
    "GammaExponential": Case(GammaExponential(2, 0.5), lambda rng, n: rng.exponential(3, n)),
    "NormalMean": Case(NormalMean(1, 2, 1.5), lambda rng, n: rng.normal(3, 1.5, n)),
    "NormalInverseGamma": Case(NormalInverseGamma(1, 2, 1.5, 3), lambda rng, n: rng.normal(3, 2, n)),
    "NormalInverseWishart": _wishart("full"),
    "NormalInverseWishart tied": _wishart("tied"),
    "NormalInverseWishart diagonal": _wishart("diagonal"),
    "NormalInverseWishart spherical": _wishart("spherical"),
    "ParetoUniform": Case(ParetoUniform(1, 2), lambda rng, n: rng.uniform(0, 5, n), forgets=False, mixes=False),
    "LinearGaussian": Case(LinearGaussian([0.5, 1, -1], np.diag([1.0, 2, 3]), 1.5, 2), _line),
}

assert {name.split()[0] for name in CASES} == set(FAMILIES), "every registered family needs a case here"
