"""Stacking: candidates are pooled by their predictions of rows used neither to fit nor to tune.

log P(class | row) = log P(class) + Σ π (log-odds by a candidate) - log Σ, π ≥ 0, π ~ N(1/m, 1/m) for m candidates. The
prior probability that no candidate is useful is ½: π is averaged over both cases, by their evidence. Label noise bounds
the certainty from few rows. The pool has one weight for each term, like its candidates.

Held-out rows are also training rows for other folds, so chance similarities count twice. In the evidence, the
log-likelihood of m rows predicted from t training rows is therefore divided by 1 + m/t, as composite likelihoods are
(Pauli, Racugno & Ventura 2011; for the factor see `variance_of_mean`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credo.numerics.exact import Array
from credo.numerics.logistic import FEATURE_CELLS_AT_ONCE, LOOSE_TOLERANCE, GaussianPrior, LogisticPosterior
from credo.selection.label_noise import noise_rates, with_label_noise
from credo.selection.terms import ColumnTerm, TermScores
from credo.selection.tuning import discount_factor
from credo.selection.weighting import products, with_noise

STACKING_ROUNDS = 3  # of EM for label noise
LARGEST_DISCOUNT, GRID_DISCOUNTS, GRID_REFINEMENTS = 4.0, 9, 3  # a grid of discounts, refined around the best
MOST_PROBABILITIES = 2**20  # of blanked rows, computed at once
LARGEST_LOG_ODDS = 50.0  # beyond this, the smaller probability is lost in rounding


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The candidates' predictions of held-out rows, as terms; the shares of missing cells; and the folds."""

    rows: TermScores
    missing: Array  # (rows,) the share of missing cells among those that are read
    fold: NDArray[np.intp]  # (rows,)
    held_out_ratio: float = 0.0  # the ratio of held-out to training rows

    @classmethod
    def of(cls, names: Sequence[str], log_odds: Array, rows: TermScores, missing: Array, fold: int) -> HeldOut:
        """The predictions of one fold's rows. log_odds: (rows, classes, candidates)"""
        terms = tuple(ColumnTerm("", name) for name in names)
        scores = TermScores(terms, log_odds, rows.log_prior, rows.truth, rows.weight)
        return cls(scores, missing, np.full(rows.rows, fold))

    @classmethod
    def joined(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """The held-out rows of several folds."""
        arrays = [[p.rows.log_likelihood, p.rows.log_prior, p.rows.truth, p.rows.weight] for p in parts]
        scores = TermScores(parts[0].rows.terms, *(np.concatenate(each) for each in zip(*arrays, strict=True)))
        return cls(scores, np.concatenate([p.missing for p in parts]), np.concatenate([p.fold for p in parts]))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(term.name for term in self.rows.terms)

    def with_candidate(self, name: str, log_odds: Sequence[Array]) -> HeldOut:
        """The same rows with another candidate, given its log-odds of each fold's rows. (rows, classes) each"""
        scores, new = self.rows, np.concatenate(log_odds)[:, :, None]
        both = np.concatenate([scores.log_likelihood, new], axis=2)
        return replace(self, rows=replace(scores, terms=(*scores.terms, ColumnTerm("", name)), log_likelihood=both))

    def take(self, rows: NDArray[np.bool_]) -> HeldOut:
        return replace(self, rows=self.rows.take(rows), missing=self.missing[rows], fold=self.fold[rows])

    def only(self, places: Sequence[int]) -> HeldOut:
        """The predictions of some candidates."""
        return replace(self, rows=self.rows.only(places))


@dataclass(frozen=True, eq=False)
class Stack:
    """The share of each candidate, the rate of label noise, and the discount of rows with missing cells."""

    shares: Array  # (candidates,)
    noise: float
    discount: float = 0.0


def with_discount(stack: Stack, blanked: HeldOut, class_weights: Array) -> Stack:
    """The stack with the most probable discount d, given rows with blanked cells; the prior is d ~ Exponential(1)."""
    return with_discounts([stack], blanked, blanked.rows.weight[None], class_weights)[0]


def with_discounts(stacks: Sequence[Stack], blanked: HeldOut, weights: Array, class_weights: Array) -> list[Stack]:
    """Several stacks with their discounts, each for other weights of the blanked rows. weights: (stacks, rows)"""
    if not blanked.rows.rows or not any(stack.shares.any() for stack in stacks):
        return list(stacks)
    step = max(1, MOST_PROBABILITIES // (GRID_DISCOUNTS * blanked.rows.log_prior.size))
    return [
        replace(stack, discount=float(discount))
        for first in range(0, len(stacks), step)
        for stack, discount in zip(
            stacks[first : first + step],
            _discounts(stacks[first : first + step], blanked, weights[first : first + step], class_weights),
            strict=True,
        )
    ]


def _discounts(stacks: Sequence[Stack], blanked: HeldOut, weights: Array, class_weights: Array) -> Array:
    """The most probable discount of each stack, by a refined grid. (stacks,)"""
    rows, own = blanked.rows, np.arange(blanked.rows.rows)
    rates = np.stack([noise_rates(stack.noise, class_weights) for stack in stacks])[:, None, None]
    log_odds = np.stack([rows.log_likelihood @ stack.shares for stack in stacks])[:, None]  # (stacks, 1, rows, classes)

    def log_posteriors(d: Array) -> Array:
        """log p(truth | d) + log p(d). (stacks, discounts)"""
        log_joint = rows.log_prior + discount_factor(blanked.missing, d[:, :, None])[..., None] * log_odds
        log_truth = with_label_noise(log_joint, rows.log_prior, rates)[:, :, own, rows.truth]
        return np.asarray(np.matmul(log_truth, weights[:, :, None])[:, :, 0] - d)

    best, step = np.zeros(len(stacks)), np.full(len(stacks), LARGEST_DISCOUNT)
    for _ in range(GRID_REFINEMENTS):
        bounds = np.maximum(best - step, 0.0), np.minimum(best + step, LARGEST_DISCOUNT)
        tried, step = np.linspace(*bounds, GRID_DISCOUNTS, retstep=True, axis=1)
        best = tried[np.arange(len(stacks)), np.argmax(log_posteriors(tried), axis=1)]
    return best


def stacked(held_out: HeldOut) -> Stack:
    """The MAP mixing weights, averaged with "no candidate is useful" by evidence."""
    return stacks(held_out, held_out.rows.weight[None])[0]


def stacks(held_out: HeldOut, weights: Array) -> list[Stack]:
    """Stacks for several weightings of the rows. weights: (fits, rows)"""
    return _stacks(held_out, held_out.rows.log_likelihood, weights)


def stacks_of_each(held_out: HeldOut, weights: Array) -> list[list[Stack]]:
    """Stacks of each candidate alone, for several weightings of the rows. weights: (fits, rows)"""
    count, fits = len(held_out.names), len(weights)
    step = max(1, FEATURE_CELLS_AT_ONCE // max(fits * held_out.rows.log_prior.size, 1))
    found: list[list[Stack]] = []
    for first in range(0, count, step):
        each = np.moveaxis(held_out.rows.log_likelihood[:, :, first : first + step], 2, 0)[..., None]
        own = _stacks(held_out, np.repeat(each, fits, axis=0), np.tile(weights, (len(each), 1)))
        found += [own[j * fits : (j + 1) * fits] for j in range(len(each))]
    return found


def _stacks(held_out: HeldOut, features: Array, weights: Array) -> list[Stack]:
    """Stacks by the candidates' log-odds. features: (rows, classes, candidates) for all fits, or (fits, ...)"""
    scores, times = held_out.rows, 1 + held_out.held_out_ratio  # how often chance similarities count
    count, many = features.shape[-1], np.full(scores.classes, np.inf)  # rows of each class: all have the same noise
    prior = GaussianPrior(np.full(count, 1 / count), np.eye(count) * count, np.ones(count, dtype=bool))
    regression = LogisticPosterior(features, scores.log_prior, scores.truth, prior)
    start = regression.modes(weights, tolerance=LOOSE_TOLERANCE)
    shares, noise, clean = with_noise(regression, features, scores, start, weights, STACKING_ROUNDS)
    rates = np.stack([noise_rates(float(rate), many) for rate in noise])[:, None]
    rows, log_prior = np.arange(scores.rows), scores.log_prior
    alone = with_label_noise(log_prior, log_prior, np.zeros(scores.classes))[rows, scores.truth]
    known = with_label_noise(log_prior + products(features, shares), log_prior, rates)[:, rows, scores.truth]
    gained = np.einsum("fr,fr->f", weights, known - alone)
    log_factors = gained / times + regression.log_occam_factors(shares, clean / times)
    averaged = shares / (1 + np.exp(-np.clip(log_factors, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)))[:, None]
    return [Stack(own, float(rate)) for own, rate in zip(averaged, noise, strict=True)]


def cross_fitted(held_out: HeldOut, blanked: HeldOut, class_weights: Array) -> Array:
    """log P(class | row), each fold by shares from the other folds; one fold alone is halved. (rows, classes)"""
    held_out, blanked = _in_several_folds(held_out, blanked)
    found = stacks(held_out, _weights_of_others(held_out))
    if held_out.missing.any():
        others = np.where(blanked.fold == np.unique(held_out.fold)[:, None], 0.0, blanked.rows.weight)
        found = with_discounts(found, blanked, others, class_weights)
    return _predicted(held_out, class_weights, found)


def cross_fitted_alone(held_out: HeldOut, discount: float, class_weights: Array) -> list[Array]:
    """log P(class | row) by each candidate alone, under the pool's discount. (rows, classes) each"""
    (held_out,) = _in_several_folds(held_out)
    each = stacks_of_each(held_out, _weights_of_others(held_out))
    found = ([replace(stack, discount=discount) for stack in own] for own in each)
    return [_predicted(held_out.only([j]), class_weights, own) for j, own in enumerate(found)]


def _in_several_folds(held_out: HeldOut, *others: HeldOut) -> list[HeldOut]:
    """The rows in their folds, or in halves if all held-out rows are in one fold."""
    every = [held_out, *others]
    if len(np.unique(held_out.fold)) > 1:
        return every
    return [replace(each, fold=np.arange(each.rows.rows) % 2) for each in every]


def _weights_of_others(held_out: HeldOut) -> Array:
    """The weights of rows outside each fold; 0 for the fold's rows. (folds, rows)"""
    folds = np.unique(held_out.fold)
    return np.where(held_out.fold == folds[:, None], 0.0, held_out.rows.weight)


def _predicted(held_out: HeldOut, class_weights: Array, stacks: Sequence[Stack]) -> Array:
    """log P(class | row) by the stack of each row's fold. (rows, classes)"""
    rows, own = held_out.rows, np.unique(held_out.fold, return_inverse=True)[1]
    shares, discounts = np.stack([each.shares for each in stacks])[own], np.array([each.discount for each in stacks])
    rates = np.stack([noise_rates(each.noise, class_weights) for each in stacks])[own]
    factors = discount_factor(held_out.missing, discounts[own])[:, None]
    log_odds = factors * np.einsum("rkc,rc->rk", rows.log_likelihood, shares)
    return with_label_noise(rows.log_prior + log_odds, rows.log_prior, rates)
