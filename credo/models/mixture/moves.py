"""Moves out of poor optima, as groups of rows: components split in two, pairs merged, or both (Ueda et al. 2000)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import log, pi
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from credo.core.membership import Codes
from credo.families.normal_inverse_wishart import Covariance
from credo.models.latent.starts import split_group
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.mixture.fitting import Problem

TRIED_SPLITS, TRIED_MERGES = 4, 4  # splits and merges tried, the most promising first
TRIED_SPLIT_MERGES = 3  # moves tried that split and merge at once
LARGEST_LOSS = 0.2  # nats a row: moves that lose more before EM haven't been seen to gain after it
# nats a row that splitting Gaussian rows at their mean loses: log 2 for the shares, less what the variance within, 2/π
# smaller along the axis, gains; where a covariance is shared, to first order.
GAUSSIAN_LOSS = (log(2) + log(1 - 2 / pi) / 2, log(2) - 1 / pi)
REGULARISING_ROWS = 0.1  # rows' worth of the pooled variances, which keep covariances regular


def splits(problem: Problem, shares: Array, covariance: Covariance) -> list[Codes]:
    """Components in two: those whose rows look least like one Gaussian, and the largest."""
    codes, size = shares.argmax(1), shares.shape[1]
    found = _halved(problem, codes, size, covariance)
    promising = sorted(found, key=lambda k: -found[k].gain)[: TRIED_SPLITS - 1]
    largest = [k for k in _largest(problem, codes, size) if k in found and k not in promising]
    return [found[k].codes for k in [*promising, *largest][:TRIED_SPLITS]]


def merges(problem: Problem, shares: Array) -> Iterator[Codes]:
    """Merges of the pairs of components with the most similar responsibilities. Labelled components stay apart."""
    codes = shares.argmax(1)
    for a, b in _pairs(problem, shares)[:TRIED_MERGES]:
        merged = np.where(codes == b, a, codes)
        yield np.where(merged > b, merged - 1, merged).astype(np.int32)


def split_and_merged(
    problem: Problem, shares: Array, covariance: Covariance, strength: float | None = None
) -> list[Codes]:
    """A pair is merged, and a third component is split in two: the moves that promise most."""
    size, codes = shares.shape[1], shares.argmax(1)
    points, weight, _ = problem.places
    halves = [(k, half) for k in range(size) if (half := split_group(points, weight, codes, k, size)) is not None]
    pairs = [pair for pair in combinations(range(size), 2) if pair[1] >= len(problem.known)]
    if not halves or not pairs:
        return []
    groups = Groups.of(points, weight, codes, size)
    halved = [Groups.of(points, weight, half, size + 1) for _, half in halves]
    gain = _gains(groups, halved, pairs, covariance, strength or REGULARISING_ROWS)
    for i, (k, _) in enumerate(halves):
        gain[i, [k in pair for pair in pairs]] = -np.inf
    best = [np.unravel_index(at, gain.shape) for at in np.argsort(-gain, axis=None, kind="stable")[:TRIED_SPLIT_MERGES]]
    least = -LARGEST_LOSS * groups.n.sum()
    return [_merged(halves[i][1], *pairs[j], size) for i, j in best if gain[i, j] > least]


def _merged(codes: Codes, a: int, b: int, last: int) -> Codes:
    """Groups with b merged into a, and the last group renumbered b."""
    return np.where(codes == b, a, np.where(codes == last, b, codes)).astype(np.int32)


class Groups(NamedTuple):
    """The moments of groups of points, missing coordinates being at the mean."""

    n: Array  # (groups,)
    mean: Array  # (groups, d)
    scatter: Array  # (groups, d, d)

    @classmethod
    def of(cls, points: Array, weight: Array, codes: NDArray[Any], size: int) -> Groups:
        x = np.nan_to_num(points)
        member = (codes == np.arange(size)[:, None]) * weight
        n = member.sum(1)
        mean = member @ x / np.where(n > 0, n, 1.0)[:, None]
        products = np.stack([(x.T * own) @ x for own in member])
        return cls(n, mean, products - n[:, None, None] * mean[:, :, None] * mean[:, None, :])

    def of_pairs(self, pairs: Sequence[tuple[int, int]]) -> Groups:
        """The moments of two groups merged."""
        a, b = np.array(pairs).T
        n = self.n[a] + self.n[b]
        both = np.where(n > 0, n, 1.0)
        away = self.mean[a] - self.mean[b]
        between = (self.n[a] * self.n[b] / both)[:, None, None] * away[:, :, None] * away[:, None, :]
        mean = (self.n[a, None] * self.mean[a] + self.n[b, None] * self.mean[b]) / both[:, None]
        return Groups(n, mean, self.scatter[a] + self.scatter[b] + between)

    def log_likelihood(self, covariance: Covariance, added: float) -> Array:
        """The log-likelihood of each group's rows under its share and Gaussian, up to a constant. (groups,)"""
        return np.asarray(xlogy(self.n, self.n) - 0.5 * self.n * _log_sizes(self.n, self.scatter, covariance, added))


def _log_sizes(n: Array, scatter: Array, covariance: Covariance, added: float) -> Array:
    """log |Σ| of each group, a little of the pooled variances being added."""
    d = scatter.shape[-1]
    spread = (scatter + added * np.eye(d)) / (n + added)[:, None, None]
    if covariance in ("full", "tied"):
        return np.asarray(np.linalg.slogdet(spread)[1])
    return np.asarray(np.log(np.diagonal(spread, axis1=1, axis2=2)).sum(1))


def _gains(
    groups: Groups, halved: Sequence[Groups], pairs: Sequence[tuple[int, int]], covariance: Covariance, added: float
) -> Array:
    """In log-likelihood, by splitting a group and merging a pair. (halved, pairs)"""
    merged = groups.of_pairs(pairs)
    if covariance != "tied":
        own = groups.log_likelihood(covariance, added)
        split = np.array([half.log_likelihood(covariance, added).sum() - own.sum() for half in halved])
        return np.asarray(split[:, None] + (merged.log_likelihood(covariance, added) - own[np.array(pairs)].sum(1)))
    rows, within = np.array([groups.n.sum()]), groups.scatter.sum(0)
    wider = merged.scatter - groups.scatter[np.array(pairs)].sum(1)
    sizes = [_log_sizes(rows, half.scatter.sum(0) + wider, covariance, added) for half in halved]
    shares = xlogy(groups.n, groups.n)
    split = np.array([xlogy(half.n, half.n).sum() - shares.sum() for half in halved])
    together = xlogy(merged.n, merged.n) - shares[np.array(pairs)].sum(1)
    wider_by = np.array(sizes) - _log_sizes(rows, within[None], covariance, added)
    return np.asarray(split[:, None] + together - 0.5 * rows * wider_by)


class Halved(NamedTuple):
    """Groups with one of them in two."""

    codes: Codes
    gain: float  # in log-likelihood, above what splitting Gaussian rows would gain


def _halved(problem: Problem, codes: NDArray[Any], size: int, covariance: Covariance) -> dict[int, Halved]:
    """Each group in two, if its rows differ: along its longest axis, or its longest relative to all groups' rows about
    their means, whichever gains more."""
    points, weight, _ = problem.places
    whole = Groups.of(points, weight, codes, size)
    within = whole.scatter.sum(0) / whole.n.sum() + REGULARISING_ROWS / whole.n.sum() * np.eye(points.shape[1])
    found: dict[int, Halved] = {}
    for k in range(size):
        rows = codes == k
        for unit in (None, within):
            if (half := split_group(points, weight, codes, k, size, unit)) is not None:
                parts = Groups.of(points[rows], weight[rows], half[rows] != k, 2)
                each = Halved(half, _gain_of_split(whole, parts, k, covariance))
                found[k] = max(each, found.get(k, each), key=lambda halved: halved.gain)
    return found


def _gain_of_split(whole: Groups, parts: Groups, k: int, covariance: Covariance) -> float:
    """Of group k in two parts, above what splitting Gaussian rows would gain."""
    if covariance != "tied":
        own = whole.log_likelihood(covariance, REGULARISING_ROWS)[k]
        gain = parts.log_likelihood(covariance, REGULARISING_ROWS).sum() - own
    else:
        n, before = whole.n.sum(), whole.scatter.sum(0)
        scatters = np.stack([before, before - whole.scatter[k] + parts.scatter.sum(0)])
        wider, narrower = _log_sizes(np.array([n, n]), scatters, covariance, REGULARISING_ROWS)
        gain = xlogy(parts.n, parts.n).sum() - xlogy(whole.n[k], whole.n[k]) + 0.5 * n * (wider - narrower)
    return float(gain + GAUSSIAN_LOSS[covariance == "tied"] * whole.n[k])


def _largest(problem: Problem, codes: NDArray[Any], size: int) -> list[int]:
    """The components, by the weight of their rows."""
    found: list[int] = np.argsort(-np.bincount(codes, problem.places.weight, size), kind="stable").tolist()
    return found


def _pairs(problem: Problem, shares: Array) -> list[tuple[int, int]]:
    """Pairs of components that aren't both labels, by the cosine of their responsibilities."""
    length = np.sqrt(np.maximum((shares**2).sum(0), np.finfo(float).tiny))
    together = shares.T @ shares / length / length[:, None]
    pairs = [pair for pair in combinations(range(shares.shape[1]), 2) if pair[1] >= len(problem.known)]
    return sorted(pairs, key=lambda pair: -together[pair])
