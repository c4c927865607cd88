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

from credo.numerics.exact import Array
from credo.numerics.logistic import GaussianPrior, LogisticRegression
from credo.selection.label_noise import noise_rates, with_label_noise
from credo.selection.terms import Term, TermScores
from credo.selection.tuning import worth
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

    def only(self, places: Sequence[int]) -> HeldOut:
        """Some of the candidates."""
        return HeldOut(self.rows.only(places), self.missing, self.fold)


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

    def true_log_probabilities(self, held_out: HeldOut, class_weights: Array) -> Array:
        """log P(truth) of held-out rows. (rows,)"""
        found = self.log_probabilities(held_out, class_weights)
        return np.asarray(found[np.arange(held_out.rows.rows), held_out.rows.truth])


def with_discount(stack: Stack, blanked: HeldOut, class_weights: Array) -> Stack:
    """With the most probable discount d, by rows with cells blanked; d ~ Exponential(1) beforehand."""
    if not blanked.rows.rows or not stack.shares.any():
        return stack

    rows, rates = blanked.rows, noise_rates(stack.noise, class_weights)
    log_odds, own = rows.log_likelihood @ stack.shares, np.arange(rows.rows)

    def log_posterior(d: Array) -> Array:
        log_joint = rows.log_prior + worth(blanked.missing, d[:, None])[:, :, None] * log_odds
        return with_label_noise(log_joint, rows.log_prior, rates)[:, own, rows.truth] @ rows.weight - d

    best, step = 0.0, LARGEST_DISCOUNT
    for _ in range(ROUNDS_OF_DISCOUNTS):
        tried, step = np.linspace(max(best - step, 0.0), min(best + step, LARGEST_DISCOUNT), DISCOUNTS, retstep=True)
        best = float(tried[np.argmax(log_posterior(tried))])
    return replace(stack, discount=best)


def stacked(held_out: TermScores) -> Stack:
    """The most probable shares, averaged with "worth nothing" by their evidence. Rows count as whole."""
    return stacks(held_out, held_out.weight[None])[0]


def stacks(held_out: TermScores, weights: Array, rounds: int = ROUNDS) -> list[Stack]:
    """The same for several weightings of the rows. weights: (fits, rows)"""
    count = len(held_out.terms)
    prior = GaussianPrior(np.full(count, 1 / count), np.eye(count) * count, np.ones(count, dtype=bool))
    regression = LogisticRegression(held_out.log_likelihood, held_out.log_prior, held_out.truth, prior)
    theta = regression.modes(weights)
    found = with_noise(regression, held_out.log_likelihood, held_out, theta, weights, rounds)
    whole = HeldOut(held_out, np.zeros(held_out.rows), np.zeros(held_out.rows, dtype=np.intp))
    many = np.full(held_out.classes, np.inf)  # rows of each class: all have the same rate of noise
    alone = Stack(np.zeros(count), 0.0).true_log_probabilities(whole, many)
    stacks = []
    for own, shares, noise, told in zip(weights, *found, strict=True):
        gained = float(own @ (Stack(shares, float(noise)).true_log_probabilities(whole, many) - alone))
        log_factor = gained + regression.log_occam_factor(shares, told)
        stacks.append(Stack(shares / (1 + np.exp(-np.clip(log_factor, -ENOUGH, ENOUGH))), float(noise)))
    return stacks


def cross_fitted(held_out: HeldOut, blanked: HeldOut, class_weights: Array, rounds: int = ROUNDS) -> Array:
    """log P(class | row), rows of each fold by shares that the other folds gave; of one fold, by halves of it."""
    found = np.empty_like(held_out.rows.log_prior)
    if len(np.unique(held_out.fold)) == 1:
        held_out, blanked = (replace(each, fold=np.arange(each.rows.rows) % 2) for each in (held_out, blanked))
    folds = np.unique(held_out.fold)
    weights = np.stack([np.where(held_out.fold == k, 0.0, held_out.rows.weight) for k in folds])
    for k, stack in zip(folds, stacks(held_out.rows, weights, rounds), strict=True):
        rows = held_out.fold == k
        if held_out.missing[rows].any():
            stack = with_discount(stack, blanked.take(blanked.fold != k), class_weights)
        found[rows] = stack.log_probabilities(held_out.take(rows), class_weights)
    return found
