"""Maximum spanning trees: how Chow and Liu (1968) find the best tree of columns that depend on each other."""

from __future__ import annotations

import numpy as np

from credo.numerics.arrays import Positions
from credo.numerics.exact import Array


def spanning_tree(weights: Array, root: int = 0, least: float = -np.inf) -> Positions:
    """The parent of each node in a maximum spanning tree of symmetric weights (Prim 1957), directed away from the root;
    -1 where there is none. Edges of `least` weight and below are left out: the tree may fall apart.

    >>> spanning_tree(np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]])).tolist()
    [-1, 0, 1]
    """
    n = len(weights)
    best, parents, outside = np.full(n, -np.inf), np.full(n, -1, dtype=np.intp), np.ones(n, dtype=bool)
    at = root
    for _ in range(n):
        outside[at] = False
        heavier = outside & (weights[at] > best) & (weights[at] > least)
        best[heavier], parents[heavier] = weights[at][heavier], at
        if not outside.any():
            break
        reached = outside & (best > -np.inf)
        at = int(np.where(reached, best, -np.inf).argmax()) if reached.any() else int(outside.argmax())
    return parents
