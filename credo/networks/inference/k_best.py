"""The k most probable explanations: the best solution, then the best of the rest, which is split into disjoint parts.

After a solution x of a part, the rest of the part is the union of disjoint ones: x₁ … xᵢ₋₁ as before and xᵢ different,
for each i (Lawler 1972; Nilsson 1998). The best solution of each part is found like the best of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush

import numpy as np

from credo.networks.inference.findings import Findings
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

Best = Callable[[Integers, Array], tuple[Integers, float]]


def best_solutions(
    findings: Findings, places: Integers, asked: Sequence[int], best: Best
) -> Iterator[tuple[Integers, float]]:
    """States of the queried variables with the logs of their joint probabilities, the most probable first.

    Parts are encoded as likelihoods of 0 and 1, never as observed states, so one compiled tree serves all.
    """
    weights = findings.weights if len(findings.weights) else np.ones(int(places[-1]))
    waiting: list[tuple[float, int, Integers, Array, int]] = []  # equally probable ones in the order they were found
    count = 0

    def enter(part: Array, first: int) -> None:
        nonlocal count
        codes, log_joint = best(findings.codes, part)
        if log_joint > -np.inf:
            heappush(waiting, (-log_joint, count, codes, part, first))
            count += 1

    enter(weights, 0)
    while waiting:
        log, _, codes, part, first = heappop(waiting)
        yield codes, -log
        fixed = part.copy()
        for i in range(first, len(asked)):
            v = asked[i]
            own, chosen = slice(int(places[v]), int(places[v + 1])), int(places[v] + codes[v])
            if findings.codes[v] >= 0:
                continue
            other = fixed.copy()
            other[chosen] = 0.0
            if other[own].any():
                enter(other, i)
            kept = fixed[chosen]
            fixed[own] = 0.0
            fixed[chosen] = kept
