"""EM's E-step of rows of numbers with hidden groups in one pass: the expected moments.

Log-densities, responsibilities and sums are computed while a few rows are in the processor's cache. The log-likelihoods
of other blocks are known before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo.blocks.joint_codes import Lookup
from credo.core.moments import Moments
from credo.core.soft_sums import CentredSums, symmetric
from credo.numerics.exact import Array

PADDING = 3  # columns after each matrix: kernels take four at a time


class HiddenGroups(NamedTuple):
    """The group sizes and log-probabilities of rows with hidden groups."""

    n: Array  # (groups,) the expected number of rows
    log_prob: Array  # (rows,) log Σₖ shareₖ p(row | k)


class Before(NamedTuple):
    """The log-likelihoods and weights of rows before their numbers are read."""

    log_shares: Array  # (groups,)
    weight: Array  # (rows,)
    others: Array | None = None  # (rows, groups) log-likelihoods, which responsibilities overwrite
    lookup: Lookup | None = None  # log-likelihoods of joint values, which are counted


class NormalColumns(NamedTuple):
    """N(shift + mean, variance) of columns that are independent given the group."""

    shift: Array  # (columns,)
    mean: Array  # (groups, columns)
    variance: Array  # (groups, columns)
    log_peaks: Array  # (groups, columns) the log-density at the mean


def expected_moments(x: Array, before: Before, law: NormalColumns) -> tuple[Moments, HiddenGroups]:
    from credo._kernels.blocks.hidden_groups import expect_moments

    shift, mean, variance, log_peaks = law
    scale = np.sqrt(0.5 / variance)
    n, (known, first, second) = np.zeros(len(mean)), np.zeros((3, *mean.shape))
    tops, totals = np.empty((2, len(x)))
    log_shares, weight, others, lookup = before
    own = np.ascontiguousarray(x), np.ascontiguousarray(weight), shift, scale, scale * mean, log_peaks, log_shares
    nothing = np.empty((0, len(mean)))
    others = nothing if others is None else others
    lookup = Lookup(np.empty((0, 0), dtype=np.int32), nothing, nothing) if lookup is None else lookup
    expect_moments(*own, others, *lookup, tops, totals, n, known, first, second)
    sums = CentredSums(known, first / scale, second / scale**2, np.ascontiguousarray(mean))
    return Moments.of_centred(sums, shift), HiddenGroups(n, _log_prob(tops, totals))


def expected_tied(
    x: Array, before: Before, shift: Array, mean: Array, white: Array, log_peak: float
) -> tuple[CentredSums, HiddenGroups]:
    """The sums for N(shift + mean, Σ) with a shared Σ, W′W = Σ⁻¹ and W triangular, about the shift and the groups'
    means.

    No cell is missing; log_peak is the log-density at the mean. A tied covariance needs only the sum of all groups'
    scatters, which is faster than each of them: each group gets its share of the sum.
    """
    from credo._kernels.blocks.hidden_groups import expect_tied_products

    groups, d = mean.shape
    n, first, flat_mean = np.zeros(groups), np.zeros((groups, d)), mean @ white.T
    second, together = np.zeros((d, d + PADDING)), np.zeros((groups, groups + PADDING))
    tops, totals = np.empty((2, len(x)))
    own = np.ascontiguousarray(x), np.ascontiguousarray(before.weight), shift, np.ascontiguousarray(white)
    peak = before.log_shares + log_peak
    expect_tied_products(*own, flat_mean, peak, tops, totals, n, first, second, together)
    total = symmetric(second[:, :d])
    for k in range(1, groups):
        away = flat_mean[k] - flat_mean[:k]
        total += (away.T * together[k, :k]) @ away
    return _in_columns(n, first, total, white, mean), HiddenGroups(n, _log_prob(tops, totals))


def _in_columns(n: Array, first: Array, total: Array, white: Array, mean: Array) -> CentredSums:
    """Sums over z from those over u = Wz; the shared scatter is divided among groups by their rows."""
    moved = np.where(n > 0, 1 / np.where(n > 0, n, 1.0), 0.0)[:, None, None] * first[:, :, None] * first[:, None, :]
    within = total - moved.sum(0)
    root = np.linalg.inv(white)
    second = moved + (n / max(float(n.sum()), np.finfo(float).tiny))[:, None, None] * within
    return CentredSums(n, first @ root.T, symmetric(root @ second @ root.T), mean)


def _log_prob(tops: Array, totals: Array) -> Array:
    """log Σ = top + log total, in place."""
    with np.errstate(divide="ignore"):
        np.log(totals, out=totals)
    tops += totals
    return tops
