"""The strength of the prior of numbers: that of EM by the evidence, that of predictions by held-out rows.

The evidence chooses well if the prior describes how components differ. But components may be correlated and narrow in
ways that one isotropic prior doesn't describe: then the evidence prefers too strong a prior, which widens every
component. So rows that are left out of the components' statistics decide how much of it predictions take.
Responsibilities stay as they are: no refit.

Numbers of components are compared under stronger priors, too: where columns are many and rows few, one component is
poorly described by a prior of one row, which would favour components of a few rows each. A strong prior at the pooled
means and variances, however, has taken them from the same rows, and pays for it (`cost_of_pooling`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from credo.core.evidence import Evidence
from credo.families import dirichlet
from credo.families.normal_inverse_wishart import Covariance
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.mixture.fitting import Problem
    from credo.models.mixture.optima import Fit

# In rows of the pooled means and variances. The weakest are for clusters that are narrow beside the distance of others,
# or of outliers.
TRIED_STRENGTHS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, *(10.0**-i for i in range(5, 17)))
COMPARED_STRENGTHS = (100.0, 30.0, 10.0, 3.0, *TRIED_STRENGTHS)  # where numbers of components are compared
WEAKENED = 1e-3  # a prior this much weaker than that of the starts may separate clusters that theirs joined
STRENGTH_FOLDS = 3


def best_strength(score: Callable[[float], float], own: float, tried: Sequence[float] = TRIED_STRENGTHS) -> float:
    """The one with the highest score, by hill climbing from the current one."""
    of = cache(score)
    at = min(range(len(tried)), key=lambda i: abs(np.log(tried[i] / own)))
    while True:
        near = [i for i in (at, at - 1, at + 1) if 0 <= i < len(tried)]
        best = max(near, key=lambda i: of(tried[i]))  # the first of equal ones
        if best == at:
            return tried[at]
        at = best


def cost_of_pooling(n: Array, columns: int, strength: float, covariance: Covariance) -> float:
    """By how much the evidence is too high because the prior's own mean and variance of each column were estimated from
    the same rows: ½ log(1 + the rows that they are known from) each, by Laplace's method.

    A mean x̄ of n rows is n s/(n + s) rows' worth of the prior's mean, and a variance likewise of the prior's variance,
    with s + 2 degrees of freedom, half as much. For n = 10, that is at most ½ log 11 + ½ log 6.

    >>> n = np.array([10.0])
    >>> round(cost_of_pooling(n, 1, 1e-9, "full"), 2), round(cost_of_pooling(n, 1, 1e9, "full"), 2)
    (0.3, 2.09)
    """
    own = np.array([n.sum()]) if covariance in ("tied", "spherical") else n
    of_mean = (n * strength / (n + strength)).sum()
    of_variance = (own * (strength + 2) / (own + strength + 2)).sum() / 2
    return float(columns * (np.log1p(of_mean) + np.log1p(of_variance)) / 2)


def held_out_score(problem: Problem, found: Fit) -> Callable[[float], float]:
    """The score of a strength of the prior: Σ log p(rows of a fold | the other folds' expected statistics), in the
    sample. Constant if there are too few rows."""
    model = found.model
    every = model.read(problem.sample)[0]
    folds = [
        np.arange(i, every.rows, STRENGTH_FOLDS) for i in range(STRENGTH_FOLDS if every.rows >= STRENGTH_FOLDS else 0)
    ]
    rows = [model.read(every.take(fold))[:2] for fold in folds]
    own = [model.expect(batch)[0] for batch, _ in rows]
    others = [Evidence.total([*own[:i], *own[i + 1 :]]) for i in range(len(own))]

    def score(strength: float) -> float:
        settings, total = replace(problem.settings, strength=strength), 0.0
        for (batch, weight), evidence in zip(rows, others, strict=True):
            left = replace(model.conditional, settings=settings, evidence=evidence)
            log_shares = np.log(dirichlet.shares(left.weights, problem.concentration))
            total += float(weight @ np.logaddexp.reduce(left.log_joint(batch, log_shares), axis=1))
        return total

    return score
