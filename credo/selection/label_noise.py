"""Label noise: with a small probability a row's class is independent of its cells.

P(class | row) = (1 - Σ ε P(class)) softmax(log-joint + log(1 - ε)) + ε P(class), so no finite number of correct
predictions makes a model certain, and one mislabelled row doesn't outweigh all others. Uninformative cells leave the
class prior.
"""

from __future__ import annotations

import numpy as np

from credo.numerics.arrays import over_short
from credo.numerics.exact import Array

LEAST_NOISE = 0.5  # /(n + 1): the least noise rate of a class with n rows; rows unlike those n are to be expected


def noise_rates(noise: float, n: Array) -> Array:
    """The noise rate of classes with n rows each: at least 1/(2(n + 1)); 0 without label noise."""
    return np.maximum(noise, LEAST_NOISE / (n + 1)) if noise else np.zeros_like(n)


def with_label_noise(log_joint: Array, log_prior: Array, rates: Array) -> Array:
    """log P(class | row) under label noise; a row that is impossible under every class stays so. (rows, classes)"""
    top = over_short(np.maximum, log_joint)
    if (impossible := np.isneginf(top)).any():
        known = with_label_noise(np.where(impossible, 0.0, log_joint), log_prior, rates)
        return np.where(impossible, log_joint, known)
    relative = log_joint - top
    if not rates.any():
        return np.asarray(relative - np.log(over_short(np.add, np.exp(relative))))
    shares = (1 - rates) * np.exp(relative)
    total = over_short(np.add, shares)
    alone = np.exp(log_prior - over_short(np.maximum, log_prior))
    noise = rates * (alone / over_short(np.add, alone))
    shares *= (1 - over_short(np.add, noise)) / total
    with np.errstate(divide="ignore"):  # classes with prior probability 0
        return np.asarray(np.log(shares + noise))
