"""Bootstrap (Friedman, Goldszmidt and Wyner 1999): a search on resampled rows, and how often it finds each arrow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from credo.networks.equivalence import cpdag_of
from credo.networks.structure.score import Constraints, Parents
from credo.numerics.exact import Array

REPLICATES = 100


def bootstrap(
    found: Callable[[Array, int], Parents],
    weight: Array,
    constraints: Constraints,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> tuple[Array, tuple[Parents, ...]]:
    """P(u -> v) as the share of replicates, and the graph that is found for each, given its rows' weights and a seed.

    A replicate draws as many rows as there are, with replacement: how often each is drawn is its weight. An edge whose
    direction the equivalence class leaves open counts half in each.
    """
    random, n = np.random.default_rng(seed), len(constraints.variables)
    share = np.zeros((n, n))
    graphs = list[Parents]()
    for replicate in range(replicates):
        drawn = random.multinomial(round(float(weight.sum())), weight / weight.sum()).astype(np.float64)
        graph = found(drawn, seed + replicate)
        graphs.append(graph)
        share += directed_shares(graph, constraints) / replicates
    return share, tuple(graphs)


def directed_shares(graph: Parents, constraints: Constraints) -> Array:
    """1 for an arrow that its equivalence class has, 1/2 for each direction that it leaves open.

    >>> directed_shares(((), (0,)), Constraints.none(("a", "b")))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    found = np.zeros((len(graph),) * 2)
    known = bool(constraints.required or constraints.forbidden or constraints.tiers)
    if known:  # constraints direct edges that the data leave open
        for v, own in enumerate(graph):
            found[[*own], v] = 1.0
        return found
    whole = cpdag_of(graph)
    for v in range(len(graph)):
        found[[*whole.parents[v]], v] = 1.0
        found[[*whole.neighbours[v]], v] = 0.5
    return found
