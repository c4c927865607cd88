"""Label shift: class shares that differ between the training rows and the rows to predict.

If rows of each class look as before, P′(class | row) ∝ P(class | row) P′(class)/P(class): Bayes' rule with another
prior. The new shares are estimated from unlabelled rows by EM (Saerens, Latinne & Decaestecker 2002): they are the mean
of the probabilities, which in turn depend on them.
"""

from __future__ import annotations

import numpy as np

from credo.errors import DataError
from credo.numerics.exact import Array

EM_STEPS = 1000
SHARE_TOLERANCE = 1e-10  # EM ends when no share moves by more


def shifted_shares(log_probabilities: Array, log_prior: Array, smoothing: float) -> Array:
    """The MAP class shares of the rows, under a Dirichlet(1 + smoothing) prior. log_probabilities: (rows, classes)

    >>> rows = np.log([[0.9, 0.1], [0.8, 0.2], [0.9, 0.1], [0.2, 0.8]])
    >>> shifted_shares(rows, np.log([0.5, 0.5]), 0.0).round(2)
    array([0.95, 0.05])
    """
    if not len(log_probabilities):
        raise DataError("there are no rows to estimate the class shares from")
    with np.errstate(invalid="ignore"):
        evidence = np.where(np.isneginf(log_prior), -np.inf, log_probabilities - log_prior)
    shares = np.exp(log_prior - np.logaddexp.reduce(log_prior))
    known = shares > 0
    for _ in range(EM_STEPS):
        with np.errstate(divide="ignore"):
            log_joint = evidence + np.log(shares)
        expected = np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=1, keepdims=True)).sum(0)
        after = np.where(known, expected + smoothing, 0.0)
        after /= after.sum()
        moved, shares = float(np.abs(after - shares).max()), after
        if moved < SHARE_TOLERANCE:
            break
    return np.asarray(shares)
