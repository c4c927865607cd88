"""Variable selection: the evidence of subsets of columns, and the inclusion probability of each column.

A column goes with all its terms; an interaction only with both of its columns. Each weight's prior has the weight of
one row (the unit-information prior, whose evidence BIC approximates). Each number of columns is equally probable a
priori.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import lgamma
from typing import Any

import numpy as np

from credo.core.moments import CrossMoments
from credo.core.statistics import Positions
from credo.models.regression.features import Features, product_name
from credo.models.regression.ridge import LEAST_RESIDUAL
from credo.numerics.exact import Array

MOST_ENUMERATED = 12  # columns and interactions: with more, subsets are sampled
CHAIN_STEPS, CHAIN_WARM_UP = 20_000, 2_000  # of the Metropolis chain over subsets
CHAIN_SEED = 0
Subset = frozenset[int]


@dataclass(frozen=True, eq=False)
class Inclusion:
    """The features of the most probable subset, and the inclusion probability of each column and interaction."""

    kept: Positions
    probability: Mapping[tuple[str, ...], float]
    exact: bool  # whether all subsets were enumerated

    def table(self) -> dict[str, float]:
        """The inclusion probabilities by name, the largest first."""
        order = sorted(self.probability, key=lambda name: -self.probability[name])
        return {product_name(name): self.probability[name] for name in order}


def inclusion(sums: CrossMoments, features: Features, varying: Positions, ridge: float | None) -> Inclusion:
    """From the moments of the varying features, scaled, and of the target."""
    place = {int(i): j for j, i in enumerate(varying)}
    own = {name: np.array([place[i] for i in every.tolist() if i in place]) for name, every in features.groups.items()}
    names = [name for name, places in own.items() if len(places)]
    weigh = SubsetEvidence(sums, names, [own[name].astype(np.intp) for name in names], ridge or 1.0)
    few = len(names) <= MOST_ENUMERATED
    chances, best = _weighed(weigh) if few else _walked(weigh)
    kept = np.sort(varying[np.concatenate([np.empty(0, np.intp), *(weigh.places[i] for i in best)])])
    return Inclusion(kept, dict(zip(names, chances.tolist(), strict=True)), few)


class SubsetEvidence:
    """log p(target | subset) + log P(subset), up to a constant; computed once for each subset."""

    def __init__(self, sums: CrossMoments, names: list[tuple[str, ...]], places: list[Positions], ridge: float) -> None:
        self.n, self.names, self.places, self.ridge = float(sums.n.value[0]), names, places, ridge
        size = len(sums.scatter[0])
        self.squares = sums.scatter[0] + np.diag(np.append(np.full(size - 1, ridge), 0.0))  # the last: the target
        index = {name: i for i, name in enumerate(names)}
        self.needs = [{index[(each,)] for each in name if len(name) > 1 and (each,) in index} for name in names]
        self._known: dict[Subset, float] = {}

    def allowed(self, subset: Subset) -> bool:
        """Whether interactions come with both of their columns."""
        return all(self.needs[i] <= subset for i in subset)

    def __call__(self, subset: Subset) -> float:
        if subset not in self._known:
            self._known[subset] = self._computed(subset)
        return self._known[subset]

    def _computed(self, subset: Subset) -> float:
        """½ log |λI|/|S + λI| - (n - 1)/2 log Q, and Beta(1, 1) on the probability of inclusion

        Q is what the target's sum of squares keeps in the Cholesky factor of both.
        """
        p, k = len(self.names), len(subset)
        prior = lgamma(1 + k) + lgamma(1 + p - k) - lgamma(2 + p)
        at = np.sort(np.concatenate([*(self.places[i] for i in subset), [len(self.squares) - 1]]))
        total, size = self.squares[-1, -1], len(at) - 1
        try:
            diagonal = np.diagonal(np.linalg.cholesky(self.squares[at][:, at]))
            residual = diagonal[-1] ** 2
        except np.linalg.LinAlgError:  # the subset fits exactly
            diagonal = np.append(np.diagonal(np.linalg.cholesky(self.squares[at[:-1]][:, at[:-1]])), 0.0)
            residual = 0.0
        residual = max(float(residual), LEAST_RESIDUAL * total, 1e-300)
        fits = size / 2 * np.log(self.ridge) - np.log(diagonal[:-1]).sum()
        return float(fits - (self.n - 1) / 2 * np.log(residual) + prior)


def _weighed(weigh: SubsetEvidence) -> tuple[Array, Subset]:
    """Inclusion by enumeration of all subsets."""
    every = range(len(weigh.names))
    subsets = [
        s for size in range(len(every) + 1) for s in map(frozenset, combinations(every, size)) if weigh.allowed(s)
    ]
    logs = np.array([weigh(subset) for subset in subsets])
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    inside = np.array([[i in subset for i in every] for subset in subsets], dtype=float).reshape(len(subsets), -1)
    return np.asarray(shares @ inside), subsets[int(logs.argmax())]


def _walked(weigh: SubsetEvidence) -> tuple[Array, Subset]:
    """Inclusion by a Metropolis chain that adds, drops and swaps columns, from a greedy start."""
    now = best = _climbed(weigh)
    rng, p = np.random.default_rng(CHAIN_SEED), len(weigh.names)
    seen = np.zeros(p)
    for step in range(CHAIN_WARM_UP + CHAIN_STEPS):
        proposed = _proposed(now, p, rng)
        if weigh.allowed(proposed) and np.log(rng.random()) < weigh(proposed) - weigh(now):
            now = proposed
            best = max(best, now, key=weigh)
        if step >= CHAIN_WARM_UP:
            seen[list(now)] += 1
    return seen / CHAIN_STEPS, best


def _proposed(subset: Subset, size: int, rng: Any) -> Subset:
    """A symmetric proposal: add, drop or swap a column."""
    i = int(rng.integers(size))
    if rng.random() < 0.5:
        return subset ^ {i}
    if not subset or len(subset) == size:
        return subset
    out = sorted(subset)[int(rng.integers(len(subset)))]
    others = [j for j in range(size) if j not in subset]
    return (subset - {out}) | {others[int(rng.integers(len(others)))]}


def _climbed(weigh: SubsetEvidence) -> Subset:
    """A greedy start: columns are added or dropped, from the empty subset, while that is more probable."""
    now: Subset = frozenset()
    while True:
        best = max(_neighbours(weigh, now), key=weigh)
        if weigh(best) <= weigh(now):
            return now
        now = best


def _neighbours(weigh: SubsetEvidence, subset: Subset) -> Iterator[Subset]:
    yield subset
    for i in range(len(weigh.names)):
        if weigh.allowed(changed := subset ^ {i}):
            yield changed
