"""All families of a few variables: the allowed parent sets of each, and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from credo.errors import SizeError
from credo.networks.structure.score import Constraints, Score
from credo.notices import tell
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

MOST_FAMILIES = 600_000  # families scored by default
FEASIBLE_FAMILIES = 6_000_000  # families scored if the user sets a limit to the parents


@dataclass(frozen=True, eq=False)
class ScoredFamilies:
    """For each variable, its sets of parents as masks (bit j: variable j), the smaller ones first, and their scores."""

    masks: tuple[Integers, ...]
    scores: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.masks)

    @classmethod
    def of(cls, score: Score, constraints: Constraints, what: str) -> ScoredFamilies:
        """The families of all parent sets up to the largest allowed and feasible size; a notice reports a limit."""
        most = most_parents(constraints, what)
        found = [_of_variable(score, constraints, node, most) for node in range(len(score.variables))]
        return cls(tuple(masks for masks, _ in found), tuple(scores for _, scores in found))

    def pruned(self) -> ScoredFamilies:
        """The families without those dominated by a smaller one with at least the same score: no best graph needs
        them."""
        kept = [_undominated(*each) for each in zip(self.masks, self.scores, strict=True)]
        return ScoredFamilies(
            tuple(masks[keep] for masks, keep in zip(self.masks, kept, strict=True)),
            tuple(scores[keep] for scores, keep in zip(self.scores, kept, strict=True)),
        )


def most_parents(constraints: Constraints, what: str) -> int:
    """The largest number of parents that the constraints allow and for which the number of families is feasible."""
    sizes = [_free(constraints, node) for node in range(len(constraints.variables))]
    most = min(constraints.most, max((len(free) + len(own) for own, free in sizes), default=0))
    fewest = max((len(own) for own, _ in sizes), default=0)

    def count(limit: int) -> int:
        return sum(sum(comb(len(free), k) for k in range(max(limit - len(own), 0) + 1)) for own, free in sizes)

    if constraints.max_parents is not None:
        if count(most) > FEASIBLE_FAMILIES:
            raise SizeError(
                f"{what} would score {count(most):,} sets of up to {most} parents: lower max_parents={most}, or leave "
                'it out for a limit that is feasible, or use search="boss"'
            )
        return most
    limit = most
    while limit > max(fewest, 1) and count(limit) > MOST_FAMILIES:
        limit -= 1
    if limit < most:
        tell(f"{what} tries sets of up to {limit} parents: max_parents= sets another limit")
    return limit


def _free(constraints: Constraints, node: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The parents that a variable must have, and those that it may have."""
    own = constraints.required_parents[node]
    free = tuple(int(v) for v in np.flatnonzero(constraints.allowed[:, node]) if v not in own)
    return own, free


def _of_variable(score: Score, constraints: Constraints, node: int, most: int) -> tuple[Integers, Array]:
    own, free = _free(constraints, node)
    most = max(0, min(most - len(own), len(free)))
    sets = [(*own, *some) for size in range(most + 1) for some in combinations(free, size)]
    masks = np.array([sum(1 << v for v in each) for each in sets], dtype=np.int64)
    return masks, np.asarray(score.families(node, sets), dtype=np.float64)


def _undominated(masks: Integers, scores: Array) -> NDArray[np.bool_]:
    """Whether each family's score is above that of every subset; smaller families come first."""
    best: dict[int, float] = {}
    keep = np.ones(len(masks), dtype=bool)
    for j, (mask, own) in enumerate(zip(masks.tolist(), scores.tolist(), strict=True)):
        below, left = -np.inf, mask
        while left:
            bit = left & -left
            left ^= bit
            below = max(below, best.get(mask ^ bit, -np.inf))
        keep[j] = own > below
        best[mask] = max(own, below)
    return keep
