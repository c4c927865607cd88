"""Moves out of poor optima, as groups of rows: components split in two, pairs merged, or both (Ueda et al. 2000)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo.core.membership import Codes
from credo.models.latent.starts import Points, seeded_groups
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.mixture.fitting import Fit, Problem

SPLITS, MERGES = 4, 4  # components that are split, and pairs that are merged, the most promising first
TOGETHER = 3  # the same, where both are done at once


def splits(problem: Problem, fit: Fit) -> Iterator[Codes]:
    """Each of the largest components in two, by two distant seeds among its rows."""
    codes = problem.responsibilities(fit.model).argmax(1)
    for k in _largest(problem, codes, fit.model.size)[:SPLITS]:
        if (split := _split(problem, codes, k, fit.model.size)) is not None:
            yield split


def merges(problem: Problem, fit: Fit) -> Iterator[Codes]:
    """Pairs of components as one: those that share most of their rows. Labels stay apart."""
    shares = problem.responsibilities(fit.model)
    codes = shares.argmax(1)
    for a, b in _pairs(problem, shares)[:MERGES]:
        merged = np.where(codes == b, a, codes)
        yield np.where(merged > b, merged - 1, merged).astype(np.int32)


def split_and_merged(problem: Problem, fit: Fit) -> Iterator[Codes]:
    """A pair is merged, and a third component is split in two."""
    size, shares = fit.model.size, problem.responsibilities(fit.model)
    codes = shares.argmax(1)
    for a, b in _pairs(problem, shares)[:TOGETHER]:
        merged = np.where(codes == b, a, codes)
        for k in [k for k in _largest(problem, codes, size) if k not in (a, b)][:TOGETHER]:
            if (split := _split(problem, merged, k, b)) is not None:
                yield split


def _largest(problem: Problem, codes: NDArray[Any], size: int) -> list[int]:
    """Components, by the weight of their rows."""
    found: list[int] = np.argsort(-np.bincount(codes, problem.places.weight, size), kind="stable").tolist()
    return found


def _split(problem: Problem, codes: NDArray[Any], k: int, new: int) -> Codes | None:
    """With some of component k's rows in a new one; None if there is one row only."""
    points, weight, _ = problem.places
    rows = np.flatnonzero(codes == k)
    if len(rows) < 2:
        return None
    rng = np.random.default_rng([problem.how.seed, new, k])
    split = codes.astype(np.int32)
    split[rows[seeded_groups(Points(points[rows]), weight[rows], 2, rng) == 1]] = new
    return split


def _pairs(problem: Problem, shares: Array) -> list[tuple[int, int]]:
    """Pairs of components that aren't both labels, by the cosine of their responsibilities."""
    length = np.sqrt(np.maximum((shares**2).sum(0), np.finfo(float).tiny))
    together = shares.T @ shares / length / length[:, None]
    pairs = [pair for pair in combinations(range(shares.shape[1]), 2) if pair[1] >= len(problem.known)]
    return sorted(pairs, key=lambda pair: -together[pair])
