"""From a sum of terms to a tuned score: biases, a discount for missing cells, and label noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.numerics.exact import Array
from credo.selection.label_noise import with_label_noise


@dataclass(frozen=True, eq=False)
class Correction:
    """log P(class | row) from log P(class) + bias + Σ w log p(block | class).

    Biases correct the terms' weights, so they need a known cell; missing cells discount the evidence.
    """

    log_prior: Array  # (classes,), or of rows that are left out (rows, classes)
    biases: Array  # (classes,)
    discount: Array | None  # the factor of each row's evidence; None where no cell is missing. (rows, 1)
    noise: Array | None  # the rate of label noise of each class, as log_prior; None without noise

    @property
    def start(self) -> Array:
        """The first term of the sum."""
        return self.log_prior + self.biases

    def of_terms(self, log_likelihood: Array) -> Array:
        """The scores given Σ w log p(block | class). (rows, classes)"""
        return self.applied(self.start + log_likelihood)

    def applied(self, log_joint: Array) -> Array:
        """The scores given the sum of all terms, `start` included. (rows, classes)"""
        if self.biases.any():
            silent = (log_joint == self.start).all(-1, keepdims=True)
            log_joint = np.where(silent, self.start - self.biases, log_joint) if silent.any() else log_joint
        if self.discount is not None:
            with np.errstate(invalid="ignore"):
                discounted = self.discount * (log_joint - self.log_prior)
            log_joint = self.log_prior + np.where(np.isneginf(log_joint), log_joint, discounted)
        return log_joint if self.noise is None else with_label_noise(log_joint, self.log_prior, self.noise)
