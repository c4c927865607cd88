"""Where EM begins: rows as points in space, and groups around seeds that lie far apart (k-means++)."""

from __future__ import annotations

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

ROUNDS = 5  # of moving centres, after seeds were chosen
FLAT = 1e-6  # a variance, in units of 1, that is none


def points_of(conditional: Conditional, batch: Batch, weight: Array, levels: object) -> Array:
    """Coordinates of rows, NaN where cells are missing; the conditional needs no evidence. (rows, coordinates)"""
    everyone = Hard.whole(batch.rows, weight)
    seen = conditional.with_evidence(conditional.expected(batch, everyone, levels))
    rows = batch.filled(conditional.names)
    found = [capabilities.Points.needed(likelihood).points(likelihood.read(rows)) for likelihood in seen.likelihoods]
    return np.concatenate([np.empty((batch.rows, 0)), *found], axis=1)


@dataclass(frozen=True, eq=False)
class Points:
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
        """The same however the rows came."""
        filled = self.filled
        return np.lexsort(filled.T[::-1]) if filled.shape[1] else np.arange(len(filled))

    @cached_property
    def squares(self) -> Array | None:
        """|x|², if no cell is missing. (rows, 1)"""
        return np.einsum("ij,ij->i", self.filled, self.filled)[:, None] if self.there.all() else None

    def distances(self, centres: Array, shown: NDArray[np.bool_]) -> Array:
        """Squared ones, from centres of which some coordinates are shown. (rows, centres)"""
        if self.squares is None or not shown.all():
            return squared_distances(self.filled, self.there, centres, shown)
        found = self.squares - 2.0 * (self.filled @ centres.T) + np.einsum("ij,ij->i", centres, centres)
        return np.asarray(np.maximum(found, 0.0))


def seeded_groups(
    points: Points, weight: Array, groups: int, rng: np.random.Generator, *, rounds: int = ROUNDS,
    known: Codes | None = None,
) -> Codes:  # fmt: skip
    """The nearest seed of each row. Seeds are rows, each drawn with a probability in proportion to its squared distance
    from those before it (Arthur and Vassilvitskii 2007); then they are moved to the middle of their rows.

    `known` are groups of some rows (-1 of others): they stay, and their groups' first seeds are their middles.
    """
    there, filled, size = points.there, points.filled, len(points.coordinates)
    own = np.full(size, -1, dtype=np.int32) if known is None else known
    named = np.unique(own[own >= 0])
    nowhere = np.zeros((groups, filled.shape[1]))
    centres, shown = _middles(filled, there, weight, own, nowhere, nowhere > 0)
    nearest = np.full(size, np.inf)
    if len(named):
        nearest = points.distances(centres[named], shown[named]).min(1)
    for k in [k for k in range(groups) if k not in named]:
        odds = np.where(own < 0, weight * np.where(np.isinf(nearest), 1.0, nearest), 0.0)
        odds = odds if odds.sum() > 0 else weight  # fewer distinct rows than groups
        seed = _drawn(odds, points.order, rng)
        centres[k], shown[k] = filled[seed], there[seed]
        nearest = np.minimum(nearest, points.distances(centres[k : k + 1], shown[k : k + 1])[:, 0])
    codes = np.where(own >= 0, own, points.distances(centres, shown).argmin(1))
    for _ in range(rounds):
        centres, shown = _middles(filled, there, weight, codes, centres, shown)
        before, codes = codes, np.where(own >= 0, own, points.distances(centres, shown).argmin(1))
        if np.array_equal(before, codes):
            break
    return np.asarray(codes, dtype=np.int32)


def _drawn(odds: Array, order: NDArray[np.intp], rng: np.random.Generator) -> int:
    """A row, by the odds of each: the same whether a row has weight 2 or comes twice."""
    reached = np.cumsum(odds[order])
    return int(order[min(int(np.searchsorted(reached, rng.random() * reached[-1], side="right")), len(order) - 1)])


def whitened(points: Array, weight: Array) -> Array:
    """Coordinates whose covariance is about the unit matrix; missing ones stay missing. A direction in which rows don't
    differ stays as it is."""
    there = ~np.isnan(points)
    filled = np.where(there, points, 0.0)
    centred = filled - weight @ filled / weight.sum()
    covariance = (centred * weight[:, None]).T @ centred / weight.sum()
    size, directions = np.linalg.eigh(covariance)
    scale = np.where(size > FLAT * max(float(size.max(initial=0.0)), 1.0), 1 / np.sqrt(np.maximum(size, FLAT)), 1.0)
    return np.where(there, centred @ (directions * scale) @ directions.T, np.nan)


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
    x: Array, known: NDArray[np.bool_], weight: Array, codes: NDArray[Any], old: Array, shown: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """The mean of each group's known coordinates; a group without rows stays where it is."""
    member = (codes[:, None] == np.arange(len(old))) * weight[:, None]
    n, total = member.T @ known, member.T @ (x * known)
    return np.where(n > 0, total / np.where(n > 0, n, 1.0), old), (n > 0) | (shown & ~(n > 0).any(1, keepdims=True))
