"""Pairs of columns as separate terms: the interaction of two cells given the class.

log p(a, b | class) - log p(a | class) - log p(b | class) = log p(b | a, class)/p(b | class), for each pair. Their sum
isn't a likelihood of the row; tuning weights them by their held-out predictions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from credo.blocks.dependence.likelihood import DependenceLikelihood, Tables
from credo.core.membership import Codes, Hard
from credo.errors import EvidenceError
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.blocks.dependence.scoring import DependenceScorer

WEIGHTED_PAIRS = 64  # pairs with weights, for two classes; fewer for more classes
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class PairwiseLikelihood(DependenceLikelihood):
    """Σ w log p(b | a, class)/p(b | class) over pairs of columns whose cells are both known."""

    weights: Array | None = None  # of all pairs

    @cached_property
    def pairs(self) -> list[Pair]:
        return list(combinations(range(len(self.names)), 2))

    @cached_property
    def chosen(self) -> list[Pair]:
        """The pairs most informative about the class, by the log-likelihood ratio of dependence on the class."""
        gains = self.log_bayes_factors - replace(self, counts=self.counts.sum(0, keepdims=True)).log_bayes_factors
        ranked = sorted(self.pairs, key=lambda pair: -gains[pair])
        return sorted(ranked[: max(1, WEIGHTED_PAIRS // max(len(self.counts) - 1, 1))])

    def name_of(self, pair: Pair) -> str:
        return json.dumps([self.names[pair[0]], self.names[pair[1]]])

    @property
    def term_names(self) -> tuple[str, ...]:
        return tuple(map(self.name_of, self.pairs))

    def weighted(self, weights: Array) -> Self:
        return replace(self, weights=weights)

    @property
    def _weighted_pairs(self) -> list[tuple[Pair, float]]:
        each = np.ones(len(self.pairs)) if self.weights is None else self.weights
        return [(pair, float(w)) for pair, w in zip(self.pairs, each, strict=True) if w]

    def term_of(self, pair: Pair, codes: Codes) -> Array:
        """The term of one pair. (rows, classes)"""
        a, b = codes[:, pair[0]], codes[:, pair[1]]
        known = ((a >= 0) & (b >= 0))[:, None]
        if not self.cells.sizes.any():
            return np.zeros((len(codes), len(self.counts)))
        return np.asarray(np.where(known, self._log_pair[a, b] - self._log_single[b], 0.0))

    def term_left_out(self, pair: Pair, codes: Codes, own: Hard) -> Array:
        """The term of one pair, each row left out of its class. (rows, classes)"""
        found, (i, j) = self.term_of(pair, codes), pair
        rows = np.flatnonzero((codes[:, i] >= 0) & (codes[:, j] >= 0))
        a, b, k, w = codes[rows, i], codes[rows, j], own.codes[rows], own.weight[rows]
        smoothing, backoff = self.settings.smoothing, self.settings.backoff
        total = np.maximum(self.known[k, j] - w, 0.0) + smoothing * self.levels[j]
        base = (np.maximum(self.counts[k, b, b] - w, 0.0) + smoothing) / total
        share = np.maximum(self.counts[k, a, b] - w, 0.0) + backoff * base
        found[rows, k] = np.log(share / (np.maximum(self.totals[k, a, j] - w, 0.0) + backoff)) - np.log(base)
        return found

    def _add(self, codes: Codes, out: Array) -> None:
        for pair, weight in self._weighted_pairs:
            out += weight * self.term_of(pair, codes)

    def _add_left_out(self, codes: Codes, own: Hard, tables: Tables, out: Array) -> None:  # noqa: ARG002
        for pair, weight in self._weighted_pairs:
            out += weight * self.term_left_out(pair, codes, own)

    def each(self, cells: Codes, shape: tuple[int, int]) -> Array:
        codes = self.seen(cells)
        return np.stack([np.zeros((*shape, 0)).sum(-1)] + [self.term_of(pair, codes) for pair in self.pairs], -1)[
            ..., 1:
        ]

    def each_nearly_left_out(self, cells: Codes, own: Hard) -> Array:
        codes, shape = self.seen(cells, own), (own.rows, own.groups)
        return np.stack([np.zeros(shape)] + [self.term_left_out(pair, codes, own) for pair in self.pairs], -1)[..., 1:]

    def add_weighted_left_out(self, cells: Codes, own: Hard, weights: Array, out: Array) -> None:
        self.weighted(weights).add_left_out(cells, own, out)

    def by_column(self, cells: Codes, shape: tuple[int, int]) -> dict[str, Array]:
        """Half of each pair's term for either column."""
        return {name: term / 2 for name, term in self.hidden(cells, np.zeros(shape)).items()}

    def hidden(self, cells: Codes, log_likelihood: Array) -> dict[str, Array]:
        """The terms of all pairs that contain the column."""
        found, codes = {name: np.zeros_like(log_likelihood) for name in self.names}, self.seen(cells)
        for pair, weight in self._weighted_pairs:
            term = weight * self.term_of(pair, codes)
            for j in pair:
                found[self.names[j]] += term
        return found

    def scorer(self) -> DependenceScorer:
        from credo.blocks.dependence.scoring import PairwiseScorer, scorer_of

        found = scorer_of(self)
        return PairwiseScorer(self, found.edges, found.codes, found.rows, self)

    @property
    def free_parameters(self) -> int:
        return 0

    def sample(self, classes: object, rng: np.random.Generator) -> dict[str, Any]:  # noqa: ARG002
        raise EvidenceError("pairwise terms aren't a distribution: no cells can be sampled")
