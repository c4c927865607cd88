"""Stacking: candidates are pooled by how well they predict rows that neither taught nor tuned them.

log P(class | row) = log P(class) + Σ π (what a candidate says) - log Σ, π ≥ 0, π ~ N(1/m, 1/m) for m candidates. That
no candidate is worth anything is as probable beforehand as that some are: π is averaged over both, by their evidence.
Label noise beside it bounds how certain few rows can make it. The pool is again one weight for each term.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.models.label_noise import noise_rates, with_label_noise
from credo.numerics.exact import Array
from credo.numerics.logistic import GaussianPrior, LogisticRegression
from credo.selection.terms import Term, TermScores
from credo.selection.weighting import with_noise

ROUNDS = 12  # of EM for label noise
DISCOUNTS = np.linspace(0.0, 4.0, 41)
ENOUGH = 50.0  # nats, beyond which the other side is lost in rounding


@dataclass(frozen=True, eq=False)
class Stack:
    """The share of each candidate, and the rate of label noise."""

    shares: Array  # (candidates,)
    noise: float

    def log_probabilities(self, held_out: TermScores, class_weights: Array) -> Array:
        log_joint = held_out.log_prior + held_out.log_likelihood @ self.shares
        return with_label_noise(log_joint, held_out.log_prior, noise_rates(self.noise, class_weights))

    def log_likelihood(self, held_out: TermScores) -> float:
        """Of the classes of held-out rows, all with the same rate of noise."""
        found = self.log_probabilities(held_out, np.full(held_out.classes, np.inf))
        return float(held_out.weight @ found[np.arange(held_out.rows), held_out.truth])


def discounted(held_out: TermScores, missing: Array, stack: Stack, class_weights: Array) -> float:
    """The d ≥ 0 of (1 - missing)^d, by which what is said of rows with missing cells is multiplied: the most probable,
    with d ~ Exponential(1) beforehand."""
    said = held_out.log_likelihood @ stack.shares
    rates, rows = noise_rates(stack.noise, class_weights), np.arange(held_out.rows)

    def loss(d: float) -> float:
        log_joint = held_out.log_prior + ((1 - missing) ** d)[:, None] * said
        found = with_label_noise(log_joint, held_out.log_prior, rates)
        return float(d - held_out.weight @ found[rows, held_out.truth])

    losses = [loss(d) for d in DISCOUNTS]
    return float(DISCOUNTS[int(np.argmin(losses))])


def held_out_candidates(names: tuple[str, ...], log_odds: Array, rows: TermScores) -> TermScores:
    """Candidates as terms: what each says of rows that are held out. log_odds: (rows, classes, candidates)"""
    return TermScores(tuple(Term("", name) for name in names), log_odds, rows.log_prior, rows.truth, rows.weight)


def stacked(held_out: TermScores) -> Stack:
    """The most probable shares."""
    count = len(held_out.terms)
    prior = GaussianPrior(np.full(count, 1 / count), np.eye(count) * count, np.ones(count, dtype=bool))
    regression = LogisticRegression(held_out.log_likelihood, held_out.log_prior, held_out.truth, prior)
    theta = regression.mode(held_out.weight)
    shares, noise, weight = with_noise(regression, held_out.log_likelihood, held_out, theta, ROUNDS)
    stack = Stack(shares, noise)
    gained = stack.log_likelihood(held_out) - Stack(0 * shares, 0.0).log_likelihood(held_out)
    log_factor = gained + regression.log_occam_factor(shares, weight)
    return Stack(shares / (1 + np.exp(-np.clip(log_factor, -ENOUGH, ENOUGH))), noise)


def cross_fitted(held_out: TermScores, fold: NDArray[np.intp], class_weights: Array) -> Array:
    """log P(class | row), rows of each fold by shares that the other folds gave; of one fold, by halves of it."""
    found = np.empty_like(held_out.log_prior)
    if len(np.unique(fold)) == 1:
        fold = np.arange(len(fold)) % 2
    for k in np.unique(fold):
        rows = fold == k
        found[rows] = stacked(held_out.take(~rows)).log_probabilities(held_out.take(rows), class_weights)
    return found
