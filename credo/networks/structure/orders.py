"""Orders of variables allowed by constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.networks import graph
from credo.networks.structure.score import Constraints, Parents, ancestors


def precedence(constraints: Constraints) -> NDArray[np.bool_]:
    """Whether i must come before j, by required arrows and tiers, in row i and column j.

    >>> precedence(Constraints.of("abc", required="c -> b; b -> a")).astype(int)
    array([[0, 0, 0],
           [1, 0, 0],
           [1, 1, 0]])
    """
    must = ancestors(constraints.required_parents).T & ~np.eye(len(constraints.variables), dtype=bool)
    if constraints.tiers:
        tier = np.array(constraints.tiers)
        must |= tier[:, None] < tier[None, :]
    return np.asarray(must)


def first_order(start: Parents, constraints: Constraints) -> tuple[int, ...]:
    """An order in which parents precede children, in the starting graph and among required arrows."""
    must = precedence(constraints)
    above = (tuple(np.flatnonzero(must[:, v]).tolist()) for v in range(len(start)))
    both = {v: tuple({*own, *start[v]}) for v, own in enumerate(above)}
    return graph.in_order(both)
