"""Small networks: the joint distribution is one table, and every answer sums over it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from credo.networks.inference.potentials import Potentials
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

LOG_UNDERFLOW = -600.0  # products with a larger logarithm don't underflow, even times likelihoods
LARGEST_JOINT_TABLE, MOST_JOINT_VARIABLES = 2**12, 16  # up to here, one table is as fast as a tree


def is_small(potentials: Potentials) -> bool:
    """Whether the joint table is small, and no product in it can underflow."""
    few = len(potentials.card) <= MOST_JOINT_VARIABLES and prod(potentials.card.tolist()) <= LARGEST_JOINT_TABLE
    return few and float(np.log(potentials.factors.least).sum()) > LOG_UNDERFLOW


class JointTable:
    """The same interface as Trees, for small networks."""

    def __init__(self, potentials: Potentials) -> None:
        self.potentials = potentials
        shape = potentials.card.tolist()
        self._table = np.ones(shape)
        for f, scope in enumerate(potentials.scopes):
            wide = [shape[v] if v in scope else 1 for v in range(len(shape))]
            self._table = self._table * potentials.table(f).transpose(np.argsort(scope)).reshape(wide)

    def log_total(self, codes: Integers, weights: Array) -> float:
        """log P(evidence), for a Markov network log Z; -inf if the evidence is impossible."""
        return self._log(self._reduced(codes, weights).sum())

    def marginals(self, codes: Integers, weights: Array, out: Array) -> float:
        """log P(evidence); out = P(variable | evidence) of each variable, in the order of the states."""
        table = self._reduced(codes, weights)
        total = table.sum()
        if total > 0:
            axes = range(table.ndim)
            for v in axes:
                own = out[self.potentials.places[v] : self.potentials.places[v + 1]]
                own[:] = 0.0
                found = table.sum(tuple(u for u in axes if u != v)) / total
                own[slice(None) if codes[v] < 0 else slice(codes[v], codes[v] + 1)] = found
        return self._log(total)

    def joint(self, codes: Integers, weights: Array, variables: Sequence[int]) -> tuple[Array, float]:
        """P(variables | evidence), an axis for each; and log P(evidence)."""
        table = self._reduced(codes, weights)
        total = table.sum()
        found = table.sum(tuple(v for v in range(table.ndim) if v not in variables))
        found = found.transpose([sorted(variables).index(v) for v in variables])
        whole = np.zeros([int(self.potentials.card[v]) for v in variables])
        whole[tuple(slice(None) if codes[v] < 0 else slice(codes[v], codes[v] + 1) for v in variables)] = found
        return whole / total if total > 0 else whole, self._log(total)

    def best(self, codes: Integers, weights: Array, variables: Sequence[int] | None) -> tuple[Integers, float]:
        """The most probable joint state of some variables (None: of all), and the log of its joint probability."""
        table, chosen = self._reduced(codes, weights), codes.copy()
        kept = sorted(range(table.ndim) if variables is None else variables)
        found = table.sum(tuple(v for v in range(table.ndim) if v not in kept))
        place = np.unravel_index(int(found.argmax()), found.shape)
        for v, code in zip(kept, place, strict=True):
            chosen[v] = code if codes[v] < 0 else codes[v]
        return chosen, self._log(found[place])

    def _reduced(self, codes: Integers, weights: Array) -> Array:
        """The joint table reduced by the evidence; an observed variable's axis has length 1."""
        table = self._table[tuple(slice(None) if code < 0 else slice(code, code + 1) for code in codes.tolist())]
        for v in range(table.ndim) if len(weights) else ():
            own = weights[self.potentials.places[v] : self.potentials.places[v + 1]]
            if (own != 1.0).any():
                known = own if codes[v] < 0 else own[codes[v] : codes[v] + 1]
                table = table * known.reshape([-1 if u == v else 1 for u in range(table.ndim)])
        return table

    def _log(self, value: float) -> float:
        with np.errstate(divide="ignore"):
            return float(np.log(value)) + self.potentials.log_scale
