"""Bootstrap (Friedman, Goldszmidt and Wyner 1999): a search on resampled rows, and how often it finds each arrow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from credo.networks.structure.essential_graph import random_members
from credo.networks.structure.score import Constraints, Parents
from credo.numerics.exact import Array

REPLICATES = 100
MEMBERS = 10  # graphs that stand for the class of equivalent ones that a search finds


def bootstrap(
    found: Callable[[Array, int], Parents],
    weight: Array,
    constraints: Constraints,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> tuple[Parents, ...]:
    """Graphs that are found for resampled rows, given their weights and a seed.

    Of each replicate, several random members of the class of equivalent graphs: an edge whose direction the data and
    the constraints leave open is found in either.
    """
    random, graphs = np.random.default_rng(seed), list[Parents]()
    for replicate in range(replicates):
        graph = found(resampled(weight, random), seed + replicate)
        graphs += random_members(graph, constraints, MEMBERS, random)
    return tuple(graphs)


def resampled(weight: Array, random: np.random.Generator) -> Array:
    """New weights with the same sum: how often each row is drawn, with replacement. At least as many are drawn as there
    are rows, however small the weights.

    >>> resampled(np.full(4, 0.25), np.random.default_rng(0)).sum()
    1.0
    """
    whole = float(weight.sum())
    draws = max(round(whole), len(weight))
    return random.multinomial(draws, weight / whole).astype(np.float64) * (whole / draws)
