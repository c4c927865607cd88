"""Noisy nodes with two grades: expected effects of causes in complete rows, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class SeenCauses:
    """Observed configurations of a noisy-OR, by their active causes.

    P(no effect) = ∏ (1 - p) over the active causes, the leak among them. If there is an effect, a cause produced it
    with probability p / P(effect); otherwise no cause did.
    """

    place: NDArray[np.int64]  # the configuration of each active cause
    cause: NDArray[np.int64]  # the parameter row of each active cause
    effect: NDArray[np.bool_]  # (configurations,)
    weight: Array  # (configurations,)
    rows: int  # of the parameters

    @classmethod
    def of(
        cls, cells: NDArray[np.integer], weight: Array, starts: list[int], neutral: tuple[int, ...], high: int
    ) -> SeenCauses:
        """Built from codes of the parents and the node, the start of each parent's parameter rows, and the state of the
        effect."""
        above = cells[:, :-1]
        place, parent = np.nonzero(above != np.array(neutral))
        cause = np.array(starts[:-1])[parent] + above[place, parent]
        return cls(place, cause.astype(np.int64), cells[:, -1] == high, weight, starts[-1])

    def log_spared(self, parameters: Array) -> Array:
        """log P(no effect). (configurations,)"""
        with np.errstate(divide="ignore"):
            logs = np.log(parameters[:, 0])
        return np.asarray(np.bincount(self.place, logs[self.cause], len(self.weight)) + logs[0])

    def counts(self, parameters: Array) -> Array:
        """Expected counts of the parameters."""
        had = -np.expm1(self.log_spared(parameters))
        share = np.divide(self.weight, had, out=np.zeros(len(had)), where=self.effect & (had > 0))
        found = np.zeros((self.rows, 2))
        found[:, 1] = np.bincount(self.cause, share[self.place], self.rows)
        found[0, 1] = share.sum()
        found[:, 1] *= parameters[:, 1]
        total = np.bincount(self.cause, self.weight[self.place], self.rows)
        total[0] = self.weight.sum()
        found[:, 0] = np.maximum(total - found[:, 1], 0.0)
        return found

    def log_likelihood(self, parameters: Array) -> float:
        spared = self.log_spared(parameters)
        with np.errstate(divide="ignore"):
            logs = np.where(self.effect, np.log(-np.expm1(spared)), spared)
        return float(self.weight @ logs)
