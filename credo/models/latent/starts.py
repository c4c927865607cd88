"""Where EM begins: rows as points in space, and groups around seeds that lie far apart (k-means++)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.blocks.capabilities import Points
from credo.core.membership import Codes, Hard
from credo.data import Batch
from credo.models.conditional import Conditional
from credo.numerics.exact import Array

ROUNDS = 5  # of moving centres, after seeds were chosen


def points_of(conditional: Conditional, batch: Batch, weight: Array, levels: object) -> Array:
    """Coordinates of rows, NaN where cells are missing; the conditional needs no evidence. (rows, coordinates)"""
    everyone = Hard.whole(batch.rows, weight)
    seen = conditional.with_evidence(conditional.expected(batch, everyone, levels))
    rows = batch.filled(conditional.names)
    found = [Points.needed(likelihood).points(likelihood.read(rows)) for likelihood in seen.likelihoods]
    return np.concatenate([np.empty((batch.rows, 0)), *found], axis=1)


def seeded_groups(points: Array, weight: Array, groups: int, rng: np.random.Generator, rounds: int = ROUNDS) -> Codes:
    """The nearest seed of each row. Seeds are rows, each drawn with a probability in proportion to its squared distance
    from those before it (Arthur and Vassilvitskii 2007); then they are moved to the middle of their rows."""
    known = ~np.isnan(points)
    filled = np.where(known, points, 0.0)
    first = rng.choice(len(points), p=weight / weight.sum())
    seeds = [int(first)]
    nearest = squared_distances(filled, known, filled[seeds], known[seeds])[:, 0]
    while len(seeds) < groups:
        odds = weight * nearest
        odds = odds if odds.sum() > 0 else weight  # fewer distinct rows than groups
        seeds.append(int(rng.choice(len(points), p=odds / odds.sum())))
        nearest = np.minimum(nearest, squared_distances(filled, known, filled[seeds[-1:]], known[seeds[-1:]])[:, 0])
    centres, shown = filled[seeds], known[seeds]
    codes = squared_distances(filled, known, centres, shown).argmin(1)
    for _ in range(rounds):
        centres, shown = _middles(filled, known, weight, codes, centres, shown)
        codes = squared_distances(filled, known, centres, shown).argmin(1)
    return np.asarray(codes, dtype=np.int32)


def squared_distances(x: Array, known: NDArray[np.bool_], centres: Array, shown: NDArray[np.bool_]) -> Array:
    """The mean over coordinates that both have, times their number; of rows with none, 0. (rows, centres)

    >>> x = np.array([[3.0, 0.0], [1.0, 1.0]])
    >>> squared_distances(x, x > 0, np.array([[1.0, 1.0]]), np.array([[True, True]]))  # the first row: 2 · 2²
    array([[8.],
           [0.]])
    """
    there, here = known.astype(np.float64), shown.astype(np.float64)
    squares = (x**2 * there) @ here.T - 2.0 * (x * there) @ (centres * here).T + there @ (centres**2 * here).T
    both = there @ here.T
    mean = np.where(both > 0, squares / np.maximum(both, 1.0), 0.0)
    return np.asarray(np.maximum(mean, 0.0) * x.shape[1])


def _middles(
    x: Array, known: NDArray[np.bool_], weight: Array, codes: NDArray[np.intp], old: Array, shown: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """The mean of each group's known coordinates; a group without rows stays where it is."""
    member = (codes[:, None] == np.arange(len(old))) * weight[:, None]
    n, total = member.T @ known, member.T @ (x * known)
    return np.where(n > 0, total / np.where(n > 0, n, 1.0), old), (n > 0) | (shown & ~(n > 0).any(1, keepdims=True))
