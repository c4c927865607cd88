"""Bootstrap (Friedman, Goldszmidt and Wyner 1999): how often a search on resampled rows finds each arrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from credo import engines
from credo.engines.partitions import Loaded
from credo.networks.structure.essential_graph import random_members
from credo.networks.structure.score import Constraints, Parents
from credo.numerics.exact import Array

REPLICATES = 100
MEMBERS_PER_REPLICATE = 10  # graphs drawn from the equivalence class that a search finds


def bootstrap(
    found: Callable[[Array, int], Parents],
    weight: Array,
    constraints: Constraints,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> tuple[Parents, ...]:
    """Graphs found for resampled rows, given their weights and a seed.

    Each replicate gives several random members of the equivalence class found, so that an edge without a compelled
    direction occurs in both.
    """
    job = SearchResampled(found, weight, constraints)
    each = engines.map(job, [Replicate(seed, number, len(weight)) for number in range(replicates)])
    return tuple(graph for members in each for graph in members)


@dataclass(frozen=True)
class Replicate(Loaded):
    """One replicate: its seed and number determine the rows drawn."""

    seed: int
    number: int
    rows: int


@dataclass(frozen=True, eq=False)
class SearchResampled:
    """The job of one replicate: members of the equivalence class that a search finds for resampled rows."""

    found: Callable[[Array, int], Parents]
    weight: Array
    constraints: Constraints

    def __call__(self, replicate: Replicate) -> list[Parents]:
        random = np.random.default_rng([replicate.seed, replicate.number])
        graph = self.found(resampled(self.weight, random), replicate.seed + replicate.number)
        return random_members(graph, self.constraints, MEMBERS_PER_REPLICATE, random)


def resampled(weight: Array, random: np.random.Generator) -> Array:
    """New weights with the same sum: how often each row is drawn, with replacement. At least as many rows are drawn as
    there are, however small the weights.

    >>> float(resampled(np.full(4, 0.25), np.random.default_rng(0)).sum())
    1.0
    """
    whole = float(weight.sum())
    draws = max(round(whole), len(weight))
    return random.multinomial(draws, weight / whole).astype(np.float64) * (whole / draws)
