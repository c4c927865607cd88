"""Label noise: with a small probability a row's class is independent of its cells.

P(class | row) = (1 - Σ ε P(class)) softmax(log-joint + log(1 - ε)) + ε P(class), so no finite number of correct
predictions makes a model certain, and one mislabelled row doesn't outweigh all others. Uninformative cells leave the
class prior.
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
    top = over_last(np.maximum, log_joint)
    if (impossible := np.isneginf(top)).any():
        known = with_label_noise(np.where(impossible, 0.0, log_joint), log_prior, rates)
        return np.where(impossible, log_joint, known)
    told = log_joint - top
    if not rates.any():
        return np.asarray(told - np.log(over_last(np.add, np.exp(told))))
    told = (1 - rates) * np.exp(told)
    total = over_last(np.add, told)
    alone = np.exp(log_prior - over_last(np.maximum, log_prior))
    noise = rates * (alone / over_last(np.add, alone))
    told *= (1 - over_last(np.add, noise)) / total
    with np.errstate(divide="ignore"):  # of a class without a prior
        return np.asarray(np.log(told + noise))
