"""The strength of the prior of numbers: that of EM by the evidence, that of predictions by held-out rows.

The evidence chooses well if the prior describes how components differ. But components may be correlated and narrow in
ways that one isotropic prior doesn't describe: then the evidence prefers too strong a prior, which widens every
component. So rows that are left out of the components' statistics decide how much of it predictions take.
Responsibilities stay as they are: no refit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from credo.core.evidence import Evidence
from credo.families import dirichlet

if TYPE_CHECKING:
    from credo.models.mixture.fitting import Problem
    from credo.models.mixture.optima import Fit

TRIED_STRENGTHS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4)  # in rows of the pooled means and variances
STRENGTH_FOLDS = 3


def best_strength(score: Callable[[float], float], own: float) -> float:
    """The one with the highest score, by hill climbing from the current one."""
    of = cache(score)
    at = min(range(len(TRIED_STRENGTHS)), key=lambda i: abs(np.log(TRIED_STRENGTHS[i] / own)))
    while True:
        near = [i for i in (at, at - 1, at + 1) if 0 <= i < len(TRIED_STRENGTHS)]
        best = max(near, key=lambda i: of(TRIED_STRENGTHS[i]))  # the first of equal ones
        if best == at:
            return TRIED_STRENGTHS[at]
        at = best


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
