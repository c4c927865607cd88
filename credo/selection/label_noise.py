"""Label noise: with a small probability a row's class has nothing to do with its cells.

P(class | row) = (1 - Σ ε P(class)) softmax(log-joint + log(1 - ε)) + ε P(class), so that no finite number of right
predictions makes a model certain, and one row with a wrong label doesn't outweigh all others. Where the cells say
nothing, classes keep their shares.
"""

from __future__ import annotations

import numpy as np

from credo.numerics.arrays import over_last
from credo.numerics.exact import Array

RARE = 0.5  # over n + 1: the least noise of a class with n rows, since rows unlike those n are to be expected


def noise_rates(noise: float, n: Array) -> Array:
    """The rate of each class, n being its rows: at least 1/(2(n + 1)); 0 where there is no noise at all."""
    return np.maximum(noise, RARE / (n + 1)) if noise else np.zeros_like(n)


def with_label_noise(log_joint: Array, log_prior: Array, rates: Array) -> Array:
    """log P(class | row) under label noise; a row that no class allows stays so. (rows, classes)"""
    possible = ~np.isneginf(over_last(np.maximum, log_joint))
    told = log_joint + np.log1p(-rates)
    told = told - over_last(np.logaddexp, np.where(possible, told, 0.0))
    alone = log_prior - over_last(np.logaddexp, log_prior)
    rest = np.log1p(-over_last(np.add, rates * np.exp(alone)))
    with np.errstate(divide="ignore"):
        return np.where(possible, np.logaddexp(rest + told, np.log(rates) + alone), log_joint)
