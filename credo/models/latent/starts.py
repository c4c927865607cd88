"""Starts of EM: rows as points, grouped around distant seeds (k-means++)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.blocks import capabilities
from credo.core.membership import Codes, Hard
from credo.data import Batch
from credo.models.conditional import Conditional
from credo.numerics.exact import Array

CENTRE_ROUNDS = 5  # of k-means, after the seeds
ZERO_VARIANCE = 1e-6  # variances below this, in standardised units, count as 0


def points_of(conditional: Conditional, batch: Batch, weight: Array, levels: object) -> Array:
    """Coordinates of rows, NaN where cells are missing; the conditional needs no evidence. (rows, coordinates)"""
    everyone = Hard.whole(batch.rows, weight)
    seen = conditional.with_evidence(conditional.expected(batch, everyone, levels))
    rows = batch.filled(conditional.names)
    found = [capabilities.Points.needed(likelihood).points(likelihood.read(rows)) for likelihood in seen.likelihoods]
    return np.concatenate([np.empty((batch.rows, 0)), *found], axis=1)


@dataclass(frozen=True, eq=False)
class SeedPoints:
    """Rows as points, NaN where cells are missing, prepared for several draws of seeds."""

    coordinates: Array  # (rows, columns)

    @cached_property
    def there(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.coordinates)

    @cached_property
    def filled(self) -> Array:
        return np.where(self.there, self.coordinates, 0.0)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """An order of the points that doesn't depend on the order of the rows."""
        filled = self.filled
        return np.lexsort(filled.T[::-1]) if filled.shape[1] else np.arange(len(filled))

    @cached_property
    def squares(self) -> Array | None:
        """|x|², if no cell is missing. (rows,)"""
        return np.einsum("ij,ij->i", self.filled, self.filled) if self.there.all() else None

    def distances(self, centres: Array, shown: NDArray[np.bool_]) -> Array:
        """Squared distances from the centres, over the observed coordinates. (centres, rows)"""
        if self.squares is None or not shown.all():
            return squared_distances(self.filled, self.there, centres, shown)
        found = centres @ self.filled.T
        found *= -2.0
        found += self.squares
        found += np.einsum("ij,ij->i", centres, centres)[:, None]
        return np.maximum(found, 0.0, out=found)


def seeded_groups(
    points: SeedPoints, weight: Array, groups: int, draws: Sequence[np.random.Generator], *,
    rounds: int = CENTRE_ROUNDS, known: Codes | None = None,
) -> Codes:  # fmt: skip
    """The nearest seed of each row, for each of several draws. Seeds are rows, each drawn with a probability in
    proportion to its squared distance from those before it (Arthur and Vassilvitskii 2007); then they move to the mean
    of their rows. (draws, rows)

    `known` are the groups of some rows (-1 for others): they stay, and the means of these rows are the first seeds.
    """
    size, starts = points.filled.shape, len(draws)
    own = np.full(size[0], -1, dtype=np.int32) if known is None else known
    named = np.unique(own[own >= 0])
    nowhere = np.zeros((1, groups, size[1]))
    centres, shown = _middles(points, weight, own[None], nowhere, nowhere > 0)
    centres, shown = np.repeat(centres, starts, axis=0), np.repeat(shown, starts, axis=0)
    nearest = np.full((starts, size[0]), np.inf)
    if len(named):
        nearest[:] = points.distances(centres[0, named], shown[0, named]).min(0)
    for k in [k for k in range(groups) if k not in named]:
        odds = np.where(own < 0, weight * np.where(np.isinf(nearest), 1.0, nearest), 0.0)
        odds[~(odds.sum(1) > 0)] = weight  # fewer distinct rows than groups
        seeds = [_drawn(each, points.order, rng) for each, rng in zip(odds, draws, strict=True)]
        centres[:, k], shown[:, k] = points.filled[seeds], points.there[seeds]
        nearest = np.minimum(nearest, points.distances(centres[:, k], shown[:, k]))
    codes = _nearest(points, centres, shown, own)
    for _ in range(rounds):
        centres, shown = _middles(points, weight, codes, centres, shown)
        before, codes = codes, _nearest(points, centres, shown, own)
        if np.array_equal(before, codes):
            break
    return codes


def _nearest(points: SeedPoints, centres: Array, shown: NDArray[np.bool_], own: Codes) -> Codes:
    """The nearest of each start's centres (starts, groups, d), unless a row's group is known. (starts, rows)"""
    starts, groups, d = centres.shape
    flat = starts * groups, d
    away = points.distances(centres.reshape(flat), shown.reshape(flat)).reshape(starts, groups, len(own))
    return np.where(own >= 0, own, away.argmin(1)).astype(np.int32)


def _drawn(odds: Array, order: NDArray[np.intp], rng: np.random.Generator) -> int:
    """A row drawn by the odds; a row of weight 2 is like two equal rows."""
    reached = np.cumsum(odds[order])
    return int(order[min(int(np.searchsorted(reached, rng.random() * reached[-1], side="right")), len(order) - 1)])


def split_group(
    points: Array, weight: Array, codes: NDArray[Any], k: int, new: int, unit: Array | None = None
) -> Codes | None:
    """Groups with some rows of group k in a new one: those beyond its mean, along the direction in which they differ
    most, relative to a covariance if given. None if they don't differ.

    >>> split_group(np.array([[0.0], [0.2], [3.0], [np.nan]]), np.ones(4), np.zeros(4, dtype=int), 0, 1).tolist()
    [0, 0, 1, 0]
    """
    from scipy.linalg import eigh

    rows = np.flatnonzero(codes == k)
    x, own = np.nan_to_num(points[rows]), weight[rows]
    if len(rows) < 2 or not x.shape[1]:
        return None
    centred = x - own @ x / own.sum()
    products = (centred.T * own) @ centred
    longest = (np.linalg.eigh(products) if unit is None else eigh(products, unit))[1][:, -1]
    beyond = centred @ longest > 0
    if not beyond.any():
        return None
    split = codes.astype(np.int32)
    split[rows[beyond]] = new
    return split


def whitened(points: Array, weight: Array) -> Array:
    """Coordinates with about unit covariance; missing ones stay missing. Directions without variance are left
    unscaled."""
    there = ~np.isnan(points)
    filled = np.where(there, points, 0.0)
    centred = filled - weight @ filled / weight.sum()
    covariance = (centred * weight[:, None]).T @ centred / weight.sum()
    size, directions = np.linalg.eigh(covariance)
    varies = size > ZERO_VARIANCE * max(float(size.max(initial=0.0)), 1.0)
    scale = np.where(varies, 1 / np.sqrt(np.maximum(size, ZERO_VARIANCE)), 1.0)
    return np.where(there, centred @ (directions * scale) @ directions.T, np.nan)


def ranked(points: Array) -> Array:
    """Each column by the ranks of its values, from 0 to 1; missing ones stay missing.

    >>> ranked(np.array([[3.0], [1e9], [3.0], [np.nan], [4.0]])).T
    array([[0. , 1. , 0. , nan, 0.5]])
    """
    found = np.full_like(points, np.nan)
    for own, column in zip(found.T, points.T, strict=True):
        there = ~np.isnan(column)
        values, codes = np.unique(column[there], return_inverse=True)
        own[there] = codes / max(len(values) - 1, 1)
    return found


def squared_distances(x: Array, known: NDArray[np.bool_], centres: Array, shown: NDArray[np.bool_]) -> Array:
    """The mean over the shared coordinates, times the dimension; 0 for rows without any. (centres, rows)

    >>> x = np.array([[3.0, 0.0], [1.0, 1.0]])
    >>> squared_distances(x, x > 0, np.array([[1.0, 1.0]]), np.array([[True, True]]))  # the first row: 2 · 2²
    array([[8., 0.]])
    """
    there, here = known.T.astype(np.float64), shown.astype(np.float64)
    squares = here @ (x.T**2 * there) - 2.0 * (centres * here) @ (x.T * there) + (centres**2 * here) @ there
    both = here @ there
    mean = np.where(both > 0, squares / np.maximum(both, 1.0), 0.0)
    return np.asarray(np.maximum(mean, 0.0) * x.shape[1])


def _middles(
    points: SeedPoints, weight: Array, codes: Codes, old: Array, shown: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """The mean of each group's known coordinates, for each start; a group without rows stays where it is. (starts,
    groups, coordinates) both"""
    starts, groups, d = old.shape
    member = ((codes[:, None] == np.arange(groups)[:, None]) * weight).reshape(starts * groups, len(weight))
    total = (member @ points.filled).reshape(starts, groups, d)
    if points.squares is None:
        n = (member @ points.there).reshape(starts, groups, d)
    else:
        n = np.broadcast_to(member.sum(1).reshape(starts, groups, 1), total.shape)
    return np.where(n > 0, total / np.where(n > 0, n, 1.0), old), (n > 0) | (shown & ~(n > 0).any(-1, keepdims=True))
