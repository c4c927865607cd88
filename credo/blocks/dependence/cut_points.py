"""Cut points of number columns, chosen so that bins are informative about the class.

The most probable partition (Boullé 2006, "MODL"), with uniform priors on the number of bins, their boundaries, and the
class distribution within a bin. Cut points are among √n quantiles, at most 64.
"""

from __future__ import annotations

import numpy as np

from credo.core.statistics import Positions
from credo.families import dirichlet
from credo.numerics.exact import Array
from credo.numerics.special import log_rising

INITIAL_BINS = 64  # quantile bins that are merged, at most
INFORMATIVE_BINS = 24  # bins after merging, at most


def finest(n: float) -> int:
    """The number of initial bins for n rows, to be merged."""
    return int(np.clip(np.sqrt(n), 2, INITIAL_BINS))


def informative_cuts(values: Array, counts: Array, bins: int | None = None) -> tuple[float, ...]:
    """The cut points of the most probable partition, given the class counts of ascending values, which are
    first put into `bins` bins.

    log p(I bins, their boundaries, classes) = -log (N + I - 1)!/(N! (I - 1)!) + Σ log p(classes within the bin)

    >>> informative_cuts(np.arange(12.0), np.repeat(np.eye(2), 6, axis=1), bins=12)
    (6.0,)
    """
    values, counts = values[counts.sum(0) > 0], counts[:, counts.sum(0) > 0]
    if len(values) < 2:
        return ()
    starts = quantile_starts(counts.sum(0), finest(float(counts.sum())) if bins is None else bins)
    reached = np.concatenate(
        [np.zeros((len(counts), 1)), np.cumsum(counts, axis=1)[:, np.append(starts[1:], 0) - 1]], 1
    )
    between = reached[:, None, :] - reached[:, :, None]  # (classes, first, last)
    size, most = len(starts), min(len(starts), INFORMATIVE_BINS)
    evidence = dirichlet.log_evidence(np.maximum(between, 0.0).transpose(1, 2, 0), np.ones(len(counts)))
    evidence[np.tril_indices(size + 1)] = -np.inf
    best, back = [evidence[0]], list[Positions]()
    for _ in range(1, most):
        joined = best[-1][:, None] + evidence  # (start of the last bin, its end)
        back.append(joined.argmax(0))
        best.append(joined.max(0))
    n, others = float(counts.sum()), np.arange(0.0, most)
    prior = -log_rising(np.full(most, n + 1), others) + log_rising(np.ones(most), others)
    at, edges = size, list[int]()
    for i in reversed(range(1, int(np.argmax([b[size] for b in best] + prior)) + 1)):
        at = int(back[i - 1][at])
        edges.append(at)
    return tuple(float(values[starts[edge]]) for edge in reversed(edges))


def quantile_cuts(values: Array, counts: Array, bins: int) -> tuple[float, ...]:
    """Cut points of bins with about equal numbers of rows.

    >>> quantile_cuts(np.arange(6.0), np.ones((1, 6)), 3)
    (2.0, 4.0)
    """
    values, weight = values[counts.sum(0) > 0], counts.sum(0)[counts.sum(0) > 0]
    return tuple(float(values[start]) for start in quantile_starts(weight, bins)[1:])


def candidate_cuts(values: Array, counts: Array) -> tuple[float, ...]:
    """All cut points that `informative_cuts` chooses from."""
    return quantile_cuts(values, counts, finest(float(counts.sum())))


def quantile_starts(weight: Array, bins: int) -> Positions:
    """The first value of each bin; a heavy value has a separate bin."""
    below = np.concatenate([[0.0], np.cumsum(weight)[:-1]])
    return np.flatnonzero(np.diff(np.floor(below * bins / weight.sum()), prepend=-1.0))
