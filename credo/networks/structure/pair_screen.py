"""Screening pairs of variables that may be neighbours, among very many variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.networks.structure.score import Constraints, Parents, Score

LEAST_GAIN = 1e-7  # for which two variables count as dependent


@dataclass(frozen=True, eq=False)
class PairScreen:
    """Pairs that are dependent, marginally or given the parents that a search found for one of them.

    Counting all candidates for every parent set takes time quadratic in the number of variables per step. A dependence
    that appears only given other parents is hidden at first; `widen` finds these.
    """

    score: Score
    constraints: Constraints
    near: NDArray[np.bool_]  # (variables, variables), symmetric

    @classmethod
    def of(cls, score: Score, constraints: Constraints) -> PairScreen:
        size = len(score.variables)
        found = cls(score, constraints, np.zeros((size, size), dtype=bool))
        found.widen(constraints.required_parents)
        return found

    def widen(self, parents: Parents) -> bool:
        """Admit pairs in which one variable would be a further parent of the other; returns whether there are any."""
        before = int(self.near.sum())
        for node, above in enumerate(parents):
            others = np.flatnonzero(self._hidden(node, above))
            if len(others) and len(above) < self.constraints.most:
                gains = self.score.grown(node, above, others.tolist()) - self.score.family(node, above)
                found = others[gains > LEAST_GAIN]
                self.near[node, found] = self.near[found, node] = True
        return int(self.near.sum()) > before

    def _hidden(self, node: int, above: tuple[int, ...]) -> NDArray[np.bool_]:
        allowed = self.constraints.allowed[:, node] & ~self.near[[node, *above]].any(0)
        allowed[list(above)] = False
        return np.asarray(allowed)
