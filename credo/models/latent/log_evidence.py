"""Approximate evidence of models with hidden groups (Cheeseman and Stutz 1996).

log p(rows) ≈ log p(rows | θ) + log p(completed rows) - log p(completed rows | θ)

where the completed rows have the statistics that are expected at the mode θ: their marginal likelihood has a closed
form, and the last two terms correct for the completion. (Chickering and Heckerman 1997 compare it with others.)
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from credo.blocks.block import Settings
from credo.blocks.capabilities import LogEvidence
from credo.core.evidence import Evidence
from credo.families import dirichlet
from credo.models.conditional import Conditional
from credo.numerics.exact import Array


def of_columns(parameters: Conditional, expected: Evidence, settings: Settings) -> float:
    """log p(completed cells) - log p(completed cells | parameters), given their groups.

    `expected` are the expected statistics at the parameters; `settings` are those of the prior.
    """
    total = 0.0
    for block, at in zip(parameters.blocks, parameters.likelihoods, strict=True):
        completed = LogEvidence.needed(block.likelihood(expected, settings))
        total += float(completed.log_evidence().sum()) - completed.log_likelihood_at(at)  # type: ignore[arg-type]
    return total


def of_completed(parameters: Conditional, expected: Evidence, settings: Settings) -> float:
    """log p(completed cells), given their groups: the term of `of_columns` that depends on the prior."""
    own = (LogEvidence.needed(block.likelihood(expected, settings)) for block in parameters.blocks)
    return float(sum(likelihood.log_evidence().sum() for likelihood in own))


def of_shares(n: Array, shares: Array, concentration: float) -> float:
    """The same for the groups' shares θ ~ Dirichlet(concentration), or for several such rows (transitions). (...,
    groups)

    >>> round(of_shares(np.array([1.0, 1.0]), np.array([0.5, 0.5]), 1.0), 4)  # log 1/2 · 1/3 - log 1/4
    -0.4055
    """
    integrated = dirichlet.log_evidence(n, np.asarray(concentration))
    return float(np.sum(integrated) - xlogy(n, shares).sum())
