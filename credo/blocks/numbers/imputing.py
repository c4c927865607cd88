"""Imputation of missing cells of correlated numbers, given the known ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.blocks.numbers.covariances import regression
from credo.blocks.numbers.patterns import patterns
from credo.families.normal_inverse_wishart import JointGaussian
from credo.numerics.arrays import Flags
from credo.numerics.exact import Array


def expected_rows(x: Array, shares: Array, law: JointGaussian) -> Array:
    """Rows with the expectations of missing cells, given P(group) of each row (rows, groups)."""
    filled = x.copy()
    for known, rows in patterns(x):
        if not known.all():
            each, _ = regressed(x[rows], known, *law)
            own = np.arange(len(x))[rows]
            filled[np.ix_(own, ~known)] = np.einsum("nk,knj->nj", shares[rows], each)
    return filled


def drawn_rows(x: Array, classes: Any, law: JointGaussian, degrees: Array, rng: np.random.Generator) -> Array:
    """Rows with missing cells drawn given the known ones and the group: normal, or Student's t for finite degrees.

    Given p cells at the squared distance q, a t with ν degrees of freedom has ν + p, and its matrix is (ν + q)/(ν + p)
    times the residual covariance.
    """
    filled = x.copy()
    for known, rows in patterns(x):
        given, absent, at = np.flatnonzero(known), np.flatnonzero(~known), np.arange(len(x))[rows]
        for k in np.unique(classes[at]) if len(absent) else ():
            own = at[classes[at] == k]
            mean, covariance = law.mean[k : k + 1], law.covariance[k : k + 1]
            centre, left = regressed(x[own], known, mean, covariance)
            noise = rng.standard_normal((len(own), len(absent))) @ np.linalg.cholesky(left[0]).T
            if np.isfinite(degrees[k]):
                away = (x[own] - mean[0])[:, given]
                inverse = np.linalg.inv(covariance[0][np.ix_(given, given)])
                after = degrees[k] + len(given)
                wider = (degrees[k] + np.einsum("ni,ij,nj->n", away, inverse, away)) / after
                noise *= np.sqrt(wider * after / rng.chisquare(after, len(own)))[:, None]
            filled[np.ix_(own, absent)] = centre[0] + noise
    return filled


def regressed(x: Array, known: Flags, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """The expectations of missing cells in rows of one pattern, and the residual covariance, for each group.

    (groups, rows, missing), (groups, missing, missing)
    """
    given, absent = np.flatnonzero(known), np.flatnonzero(~known)
    slope, left = regression(covariance, given, absent)
    away = x[:, given] - mean[:, None, given]
    return mean[:, None, absent] + away @ slope.swapaxes(1, 2), left
