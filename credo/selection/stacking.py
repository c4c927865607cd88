"""Stacking: candidates are pooled by how well they predict rows that neither taught nor tuned them.

log P(class | row) = log P(class) + Σ π (what a candidate says) - log Σ, π ≥ 0, π ~ N(1/m, 1/m) for m candidates. That
no candidate is worth anything is as probable beforehand as that some are: π is averaged over both, by their evidence.
Label noise beside it bounds how certain few rows can make it. The pool is again one weight for each term.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credo.models.label_noise import noise_rates, with_label_noise
from credo.models.tuning import worth
from credo.numerics.exact import Array
from credo.numerics.logistic import GaussianPrior, LogisticRegression
from credo.selection.terms import Term, TermScores
from credo.selection.weighting import with_noise

ROUNDS = 12  # of EM for label noise
LARGEST_DISCOUNT, DISCOUNTS, ROUNDS_OF_DISCOUNTS = 4.0, 9, 3  # tried at once, ever closer to the best
ENOUGH = 50.0  # nats, beyond which the other side is lost in rounding


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What candidates say of held-out rows, as terms; how many of their cells are missing; and their folds."""

    rows: TermScores
    missing: Array  # (rows,) shares of the cells that are read
    fold: NDArray[np.intp]  # (rows,)

    @classmethod
    def of(cls, names: Sequence[str], log_odds: Array, rows: TermScores, missing: Array, fold: int) -> HeldOut:
        """log_odds: (rows, classes, candidates)"""
        terms = tuple(Term("", name) for name in names)
        scores = TermScores(terms, log_odds, rows.log_prior, rows.truth, rows.weight)
        return cls(scores, missing, np.full(rows.rows, fold))

    @classmethod
    def joined(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """The rows of several folds."""
        arrays = [[p.rows.log_likelihood, p.rows.log_prior, p.rows.truth, p.rows.weight] for p in parts]
        scores = TermScores(parts[0].rows.terms, *(np.concatenate(each) for each in zip(*arrays, strict=True)))
        return cls(scores, np.concatenate([p.missing for p in parts]), np.concatenate([p.fold for p in parts]))

    def take(self, rows: NDArray[np.bool_]) -> HeldOut:
        return HeldOut(self.rows.take(rows), self.missing[rows], self.fold[rows])

    def only(self, place: int) -> HeldOut:
        """One of the candidates."""
        return HeldOut(self.rows.only([place]), self.missing, self.fold)


@dataclass(frozen=True, eq=False)
class Stack:
    """The share of each candidate, the rate of label noise, and the discount of rows with missing cells."""

    shares: Array  # (candidates,)
    noise: float
    discount: float = 0.0

    def log_probabilities(self, held_out: HeldOut, class_weights: Array) -> Array:
        rows = held_out.rows
        log_odds = worth(held_out.missing, self.discount)[:, None] * (rows.log_likelihood @ self.shares)
        return with_label_noise(rows.log_prior + log_odds, rows.log_prior, noise_rates(self.noise, class_weights))

    def log_likelihood(self, held_out: HeldOut, class_weights: Array | None = None) -> float:
        """Of the classes of held-out rows; all with the same rate of noise, unless their classes' weights are given."""
        n = np.full(held_out.rows.classes, np.inf) if class_weights is None else class_weights
        found = self.log_probabilities(held_out, n)
        return float(held_out.rows.weight @ found[np.arange(held_out.rows.rows), held_out.rows.truth])


def with_discount(stack: Stack, blanked: HeldOut, class_weights: Array) -> Stack:
    """With the most probable discount d, by rows with cells blanked; d ~ Exponential(1) beforehand."""
    if not blanked.rows.rows or not stack.shares.any():
        return stack

    def log_posterior(each: Stack) -> float:
        return each.log_likelihood(blanked, class_weights) - each.discount

    below, above = 0.0, LARGEST_DISCOUNT
    for _ in range(ROUNDS_OF_DISCOUNTS):
        tried, step = np.linspace(below, above, DISCOUNTS, retstep=True)
        stack = max((replace(stack, discount=float(d)) for d in tried), key=log_posterior)
        below, above = max(stack.discount - step, 0.0), min(stack.discount + step, LARGEST_DISCOUNT)
    return stack


def stacked(held_out: TermScores) -> Stack:
    """The most probable shares, averaged with "worth nothing" by their evidence. Rows count as whole."""
    count = len(held_out.terms)
    prior = GaussianPrior(np.full(count, 1 / count), np.eye(count) * count, np.ones(count, dtype=bool))
    regression = LogisticRegression(held_out.log_likelihood, held_out.log_prior, held_out.truth, prior)
    theta = regression.mode(held_out.weight)
    shares, noise, weight = with_noise(regression, held_out.log_likelihood, held_out, theta, ROUNDS)
    stack = Stack(shares, noise)
    whole = HeldOut(held_out, np.zeros(held_out.rows), np.zeros(held_out.rows, dtype=np.intp))
    gained = stack.log_likelihood(whole) - Stack(0 * shares, 0.0).log_likelihood(whole)
    log_factor = gained + regression.log_occam_factor(shares, weight)
    return Stack(shares / (1 + np.exp(-np.clip(log_factor, -ENOUGH, ENOUGH))), noise)


def cross_fitted(held_out: HeldOut, blanked: HeldOut, class_weights: Array) -> Array:
    """log P(class | row), rows of each fold by shares that the other folds gave; of one fold, by halves of it."""
    found = np.empty_like(held_out.rows.log_prior)
    if len(np.unique(held_out.fold)) == 1:
        held_out, blanked = (replace(each, fold=np.arange(each.rows.rows) % 2) for each in (held_out, blanked))
    for k in np.unique(held_out.fold):
        rows = held_out.fold == k
        stack = stacked(held_out.rows.take(~rows))
        if held_out.missing[rows].any():
            stack = with_discount(stack, blanked.take(blanked.fold != k), class_weights)
        found[rows] = stack.log_probabilities(held_out.take(rows), class_weights)
    return found
