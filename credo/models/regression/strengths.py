"""The strength of a Gaussian prior of weights: given, or chosen by evidence or held-out rows.

Each group of features has a strength α: w ~ N(0, 1/(α s²)), s being the standard deviation of a number, else 1.
MacKay's rule α ← γ/Σ s²w², with γ = Σ (1 - α s² var w) the number of weights that the data determine, leads to the α
that makes the classes most probable, weights integrated out (Laplace).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.engines.local import small_matrices
from credo.numerics.exact import Array
from credo.numerics.softmax_modes import MODE_TOLERANCE, Mode, Sums, WeightPrior, newton_mode, settled, solved

MACKAY_ROUNDS = 50  # of MacKay's rule, at most
STRENGTH_TOLERANCE = 1e-3  # it ends when log α moves by less
PSEUDO_WEIGHTS, PSEUDO_SQUARES = 0.1, 0.01  # of a weak Gamma prior on α, which keeps it finite
EVIDENCE_TOLERANCE = 1e-6  # of the log-posterior, until the strengths have settled
STRENGTH_FACTOR, MOST_STRENGTHS = 10**-0.5, 12  # of successive strengths tried on held-out rows


@dataclass(frozen=True, eq=False)
class WeightGroups:
    """The group and the scale of each feature, which determine the prior."""

    group_of: NDArray[np.intp]  # (features,)
    scale: Array  # (features,)
    columns: int  # of coefficients

    @property
    def shape(self) -> tuple[int, int]:
        return 1 + len(self.scale), self.columns

    @property
    def count(self) -> int:
        return int(self.group_of.max(initial=-1)) + 1

    def prior(self, strengths: Array) -> WeightPrior:
        """The prior of independent weights; flat for the intercepts."""
        precision = np.zeros(self.shape)
        precision[1:] = (strengths[self.group_of] * self.scale**2)[:, None]
        return WeightPrior(np.zeros(self.shape), precision)

    def by_group(self, values: Array) -> Array:
        """Sums over the weights of each group. (1 + features, columns) -> (groups,)"""
        return np.asarray(np.bincount(self.group_of, values[1:].sum(1), self.count), dtype=np.float64)

    def sharpened(self, strengths: Array, coefficients: Array, variances: Array) -> Array:
        """One round of MacKay's rule."""
        determined = self.by_group(1 - self.prior(strengths).precision * variances)
        squares = self.by_group(np.vstack([np.zeros(self.columns), self.scale[:, None] ** 2 * coefficients[1:] ** 2]))
        return np.asarray((np.maximum(determined, 0.0) + PSEUDO_WEIGHTS) / (squares + PSEUDO_SQUARES))


@small_matrices()
def mode_by_evidence(
    sums: Sums, groups: WeightGroups, start: Array, roughly: Array | None = None
) -> tuple[Mode, Array]:
    """The mode, and the strengths of greatest evidence, by Newton's method.

    MacKay's rule runs on the quadratic that each Newton step rests on, so that it takes no more passes over the rows.
    """
    strengths, theta = np.ones(groups.count), start
    mode = newton_mode(sums, groups.prior(strengths), theta, EVIDENCE_TOLERANCE, roughly)
    history = list(mode.history)
    for _ in range(MACKAY_ROUNDS):
        before = strengths
        curvature = mode.curvature if mode.curvature is not None else sums(mode.coefficients, "curvature").curvature
        assert curvature is not None
        strengths, theta = _settled_strengths(mode.coefficients, curvature, strengths, groups)
        moved = float(np.abs(np.log(strengths / before)).max(initial=0.0))
        tolerance = MODE_TOLERANCE if moved < 0.1 else EVIDENCE_TOLERANCE
        mode = newton_mode(sums, groups.prior(strengths), theta, tolerance, curvature)
        history += mode.history
        if moved < STRENGTH_TOLERANCE:
            break
    return Mode(mode.coefficients, mode.log_likelihood, mode.curvature, tuple(history), mode.converged), strengths


def _settled_strengths(theta: Array, curvature: Array, strengths: Array, groups: WeightGroups) -> tuple[Array, Array]:
    """MacKay's rule until it converges, with a quadratic log-likelihood about the mode; and the new mode. At the mode,
    the gradients of log-likelihood and log prior cancel.
    """
    pull = (groups.prior(strengths).precision * theta).ravel() + curvature @ theta.ravel()
    rounds = MACKAY_ROUNDS if len(pull) <= 300 else 5
    for _ in range(rounds):
        whole = settled(groups.prior(strengths).added_to(curvature), groups.columns)
        inverse = solved(whole, np.eye(len(whole)))
        theta = (inverse @ pull).reshape(theta.shape)
        before, strengths = strengths, groups.sharpened(strengths, theta, np.diag(inverse).reshape(theta.shape))
        if np.abs(np.log(strengths / before)).max() < STRENGTH_TOLERANCE / 4:
            break
    return strengths, theta


def strength_by_held_out_rows(score: Callable[[float], float]) -> float:
    """The strength that predicts held-out rows best: weaker while that helps, else stronger while that helps; then the
    maximum of the parabola through the best three.

    >>> round(strength_by_held_out_rows(lambda strength: -(np.log(strength / 0.02) ** 2)), 6)
    0.02
    """
    scores = {0: score(1.0), 1: score(STRENGTH_FACTOR)}
    way = 1 if scores[1] > scores[0] else -1
    last = max(way, 0)
    while scores[last] >= max(scores.values()) and abs(last) < MOST_STRENGTHS:
        last += way
        scores[last] = score(STRENGTH_FACTOR**last)
    places = sorted(scores)
    best = _top(np.array(places, dtype=np.float64), np.array([scores[place] for place in places]))
    found: float = STRENGTH_FACTOR**best
    return found


def _top(places: Array, scores: Array) -> float:
    """The maximum of the parabola through the best point and its neighbours."""
    k = int(scores.argmax())
    if k in (0, len(scores) - 1):
        return float(places[k])
    a, b, c = scores[k - 1 : k + 2].tolist()
    bend = a - 2 * b + c
    return float(places[k]) + (0.5 * (a - c) / bend if bend < 0 else 0.0)
