"""The K2 search: parents are added one by one from the preceding variables in a given order."""

from __future__ import annotations

import numpy as np

from credo.networks.structure.orders import first_order
from credo.networks.structure.score import Constraints, Parents, Score

LEAST_GAIN = 1e-7  # of adding a parent


def k2_search(score: Score, constraints: Constraints, start: Parents, seed: int = 0) -> Parents:  # noqa: ARG001
    """Each variable's parents are the best of those before it, added while that raises the score. The order is that of
    the columns, or of the starting network. (Cooper and Herskovits 1992)"""
    found: dict[int, tuple[int, ...]] = {}
    for node in first_order(start, constraints):
        above = list(dict.fromkeys((*constraints.required_parents[node], *start[node])))
        now = score.family(node, above)
        while len(above) < constraints.most:
            others = [v for v in found if constraints.allows(v, node) and v not in above]
            scores = score.grown(node, above, others) if others else np.empty(0)
            if not len(scores) or scores.max() <= now + LEAST_GAIN:
                break
            now = float(scores.max())
            above.append(others[int(scores.argmax())])
        found[node] = tuple(sorted(above))
    return tuple(found[node] for node in range(len(start)))
