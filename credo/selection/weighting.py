"""Weights of a model's terms: a logistic regression on the log-likelihoods of held-out rows, with a prior.

log P(class | row) = log P(class) + bias + Σ w s + M s′ - log Σ. Here s are a term's log-likelihoods, and s′ those of a
term that may be mixed between classes. A column's weight is r (τ + δ) ≥ 0: r is the probability that it depends on the
class, τ ~ N(1/groups, 1) is shared by a group of terms, and δ ~ N(0, 1/16) is individual; bias ~ N(0, 1) and
M ~ N(0, 1/16).
(Naive Bayes with columns weighted by conditional likelihood: Zaidi, Cerquides, Carman & Webb 2013.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from credo.numerics.arrays import less_mean, over_short
from credo.numerics.exact import Array
from credo.numerics.logistic import (
    FEATURE_CELLS_AT_ONCE,
    LOOSE_TOLERANCE,
    MEDIUM_TOLERANCE,
    TIGHT_TOLERANCE,
    GaussianPrior,
    LogisticPosterior,
)
from credo.selection.fold_requests import ModeRequest
from credo.selection.lockstep import Run, run_alone
from credo.selection.terms import ColumnTerm, TermScores

OWN_PRECISION, SHARED_PRECISION, BIAS_PRECISION, MIXING_PRECISION = 16.0, 1.0, 1.0, 16.0  # of δ, τ, biases and M
MIXED_CLASSES = range(3, 11)  # numbers of classes between which a term may be mixed
PRECISE_COEFFICIENTS = 20  # up to this many coefficients, the mode is found precisely
BIASED_CLASSES = 50  # up to this many classes, each has a bias
MOST_OWN_WEIGHTS = 200  # the most relevant terms have an individual δ; the others share τ
NOISE_ROUNDS, RATE_STEPS = 2, 4  # rounds of EM for label noise, and steps of its rate in each
DEPENDENT_SHARES = (np.arange(200) + 0.5) / 200  # of columns that depend on the class: nodes of the midpoint rule


@dataclass(frozen=True, eq=False)
class Weighting:
    """A weight for each term, a bias for each class, and how one term is mixed between classes."""

    terms: tuple[ColumnTerm, ...]
    weights: Array  # (terms,)
    biases: Array  # (classes,)
    mixed: ColumnTerm | None = None
    mixture: Array | None = None  # (classes, classes), in addition to the term's weight

    def log_odds(self, scores: TermScores) -> Array:
        """The weighted sum of the terms, without the prior. (rows, classes)"""
        total = scores.of(self.terms).log_likelihood @ self.weights + self.biases
        if self.mixture is not None and self.mixed is not None:
            total = total + scores.of([self.mixed]).log_likelihood[:, :, 0] @ self.mixture.T
        return less_mean(total)

    def with_term(self, term: ColumnTerm, weight: float, biases: Array) -> Weighting:
        """The weighting with another term and its weighted biases."""
        terms, weights = (*self.terms, term), np.append(self.weights, weight)
        return replace(self, terms=terms, weights=weights, biases=self.biases + weight * biases)


def pooled(weightings: Sequence[Weighting], shares: Sequence[float]) -> Weighting:
    """The logarithmic pool of several weightings: the sum of their weights, times shares."""
    weights: dict[ColumnTerm, float] = {}
    biases, mixture, mixed = np.zeros_like(weightings[0].biases), None, None
    for each, share in zip(weightings, shares, strict=True):
        for term, weight in zip(each.terms, each.weights, strict=True):
            weights[term] = weights.get(term, 0.0) + share * float(weight)
        biases = biases + share * each.biases
        if each.mixture is not None and share:
            mixed, mixture = each.mixed, share * each.mixture + (0.0 if mixture is None else mixture)
    return Weighting(tuple(weights), np.array(list(weights.values())), biases, mixed, mixture)


@dataclass(frozen=True, eq=False)
class Group:
    """Terms whose weights share a τ, and the relevance of each; with `own`, each has a δ, too."""

    terms: tuple[ColumnTerm, ...]
    relevance: Array
    own: bool = True

    def coefficients(self) -> list[dict[ColumnTerm, float]]:
        """The coefficients to estimate: for each, the relevance of its terms."""
        ranked = sorted(range(len(self.terms)), key=lambda j: -self.relevance[j])
        alone = ranked[:MOST_OWN_WEIGHTS] if self.own else []
        rest = [j for j in range(len(self.terms)) if j not in set(alone)]
        found = [{self.terms[j]: float(self.relevance[j])} for j in sorted(alone)]
        return [*found, {self.terms[j]: float(self.relevance[j]) for j in rest}] if rest else found


@dataclass(frozen=True, eq=False)
class Regression:
    """The terms of some groups as one logistic regression."""

    scores: TermScores
    groups: Sequence[Group]
    mixed: ColumnTerm | None = None

    def fitted(self, label_noise: bool = False, start: Array | None = None) -> Weighting:
        """The most probable weights; label noise, if allowed, is estimated jointly by EM."""
        return run_alone(self.fitting(label_noise, start))

    def fitting(self, label_noise: bool = False, start: Array | None = None) -> Run[Weighting]:
        """The most probable weights, as a run in lockstep."""
        tolerance = (
            LOOSE_TOLERANCE
            if label_noise
            else TIGHT_TOLERANCE
            if len(self._prior.mean) <= PRECISE_COEFFICIENTS
            else MEDIUM_TOLERANCE
        )
        asked = self.mode(start, tolerance)
        theta = yield asked
        if label_noise:
            weight = self.scores.weight[None]
            theta = with_noise(asked.regression, self._features, self.scores, theta[None], weight)[0][0]
        return self._weighting(theta)

    def mode(self, start: Array | None = None, tolerance: float = TIGHT_TOLERANCE) -> ModeRequest:
        """The request for the most probable coefficients."""
        return ModeRequest(self._regression(), self.scores.weight, start, tolerance)

    def roughly(self) -> Array:
        """The coefficients at the mode, to the tolerance that comparisons need."""
        return self._regression().mode(self.scores.weight, tolerance=LOOSE_TOLERANCE)

    def widened(self, theta: Array) -> Array:
        """A start from the coefficients of groups whose terms share one weight each, and of biases."""
        groups = [g for g, _ in self._coefficients]
        count, size = len(self.groups), len(self._prior.mean)
        found = np.zeros(size)
        found[: len(groups)] = theta[groups]
        biases = len(theta) - count
        found[len(groups) : len(groups) + biases] = theta[count:]
        return found

    def continued(self, found: Weighting) -> Array:
        """A start from a weighting of some of the terms; the others start at 0."""
        known = dict(zip(found.terms, found.weights.tolist(), strict=True))
        factors = [{term: factor for term, factor in own.items() if factor} for _, own in self._coefficients]
        start = [sum(known.get(t, 0.0) / f for t, f in own.items()) / max(len(own), 1) for own in factors]
        biases = found.biases.tolist() if self._has_biases else []
        mixture = [0.0 if found.mixture is None else float(found.mixture[pair]) for pair in self._pairs]
        return np.array([*start, *biases, *mixture])

    def losses(self, theta: Array | None = None) -> Array:
        """-log P(class) of each row, by default at the mode. (rows,)"""
        theta = self.roughly() if theta is None else theta
        found = true_probabilities(self._features, self.scores, theta[None])[0]
        return np.asarray(-np.log(np.maximum(found, np.finfo(float).tiny)))

    def _regression(self) -> LogisticPosterior:
        return LogisticPosterior(self._features, self.scores.log_prior, self.scores.truth, self._prior)

    @cached_property
    def _coefficients(self) -> list[tuple[int, dict[ColumnTerm, float]]]:
        return [(g, each) for g, group in enumerate(self.groups) for each in group.coefficients()]

    @property
    def _mixes(self) -> bool:
        return self.mixed is not None and self.scores.classes in MIXED_CLASSES

    @property
    def _has_biases(self) -> bool:
        return self.scores.classes <= BIASED_CLASSES

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        classes = range(self.scores.classes)
        return [(a, b) for a in classes for b in classes if a != b] if self._mixes else []

    @cached_property
    def _features(self) -> Array:
        """The features of the regression. (rows, classes, coefficients)"""
        scores, rows, classes = self.scores, self.scores.rows, self.scores.classes
        place = {term: j for j, term in enumerate(scores.terms)}
        combined = np.zeros((len(scores.terms), len(self._coefficients)))
        for c, (_, factors) in enumerate(self._coefficients):
            for term, factor in factors.items():
                combined[place[term], c] = factor
        parts = [scores.log_likelihood @ combined]
        if self._has_biases:
            parts.append(np.broadcast_to(np.eye(classes), (rows, classes, classes)))
        if self._mixes and self.mixed is not None:
            cells = np.zeros((rows, classes, len(self._pairs)))
            for m, (to, source) in enumerate(self._pairs):
                cells[:, to, m] = scores.log_likelihood[:, source, place[self.mixed]]
            parts.append(cells)
        return np.concatenate(parts, axis=2)

    @cached_property
    def _prior(self) -> GaussianPrior:
        groups = np.array([g for g, _ in self._coefficients], dtype=np.intp)
        biases = self.scores.classes if self._has_biases else 0
        count, size = len(groups), len(groups) + biases + len(self._pairs)
        mean, precision = np.zeros(size), np.zeros((size, size))
        mean[:count] = 1 / max(len(self.groups), 1)
        shared = OWN_PRECISION**2 / (
            SHARED_PRECISION + OWN_PRECISION * np.bincount(groups)
        )  # δ + τ has the covariance I/OWN + 1/SHARED
        precision[:count, :count] = OWN_PRECISION * np.eye(count) - (groups[:, None] == groups) * shared[groups]
        rest = np.arange(count, size)
        precision[rest, rest] = np.where(rest < count + biases, BIAS_PRECISION, MIXING_PRECISION)
        return GaussianPrior(mean, precision, np.arange(size) < count)

    def _weighting(self, theta: Array) -> Weighting:
        weights: dict[ColumnTerm, float] = {}
        for (_, factors), value in zip(self._coefficients, theta, strict=False):
            weights |= {term: factor * float(value) for term, factor in factors.items()}
        count, classes = len(self._coefficients), self.scores.classes
        biases = theta[count : count + classes] if self._has_biases else np.zeros(classes)
        mixture = None
        if self._mixes:
            mixture = np.zeros((classes, classes))
            for (a, b), value in zip(self._pairs, theta[len(theta) - len(self._pairs) :], strict=True):
                mixture[a, b] = value
        mixed = self.mixed if mixture is not None else None
        return Weighting(tuple(weights), np.array(list(weights.values())), biases, mixed, mixture)


def losses_of_each(scores: TermScores) -> Array:
    """-log P(class) of each row by each term alone, with its best weight. (terms, rows)"""
    first = scores.only([0])
    one = Regression(first, [Group(first.terms, np.ones(1))])
    step, found = max(1, FEATURE_CELLS_AT_ONCE // one._features.size), []
    for start in range(0, len(scores.terms), step):
        own_scores = np.moveaxis(scores.log_likelihood[:, :, start : start + step], 2, 0)
        features = np.repeat(one._features[None], len(own_scores), axis=0)
        features[..., 0] = own_scores
        regression = LogisticPosterior(features, scores.log_prior, scores.truth, one._prior)
        theta = regression.modes(np.repeat(scores.weight[None], len(own_scores), axis=0), tolerance=LOOSE_TOLERANCE)
        found.append(true_probabilities(features, scores, theta))
    return np.asarray(-np.log(np.maximum(np.concatenate(found), np.finfo(float).tiny)))


def products(features: Array, theta: Array) -> Array:
    """features · θ of several fits. (fits, coefficients) -> (fits, rows, classes)

    features: (rows, classes, coefficients) for all fits, or (fits, rows, classes, coefficients)
    """
    rows, classes, size = features.shape[-3:]
    flat = features.reshape(*features.shape[:-3], -1, size)
    found = theta @ flat.T if features.ndim == 3 else np.matmul(flat, theta[:, :, None])
    return np.asarray(found.reshape(-1, rows, classes))


def true_probabilities(features: Array, scores: TermScores, theta: Array) -> Array:
    """P(truth) of each row by several fits. (fits, coefficients) -> (fits, rows)"""
    logits = products(features, theta) + scores.log_prior
    top = over_short(np.maximum, logits)
    own = logits[:, np.arange(scores.rows), scores.truth] - top[..., 0]
    logits -= top
    return np.asarray(np.exp(own) / over_short(np.add, np.exp(logits, out=logits))[..., 0])


def with_noise(
    regression: LogisticPosterior, features: Array, scores: TermScores, theta: Array, weights: Array,
    rounds: int = NOISE_ROUNDS,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The coefficients, the rate of label noise, and the weights of rows that aren't noise, by EM, for several fits.

    theta: (fits, coefficients), weights: (fits, rows). A row is explained by the terms or, if it is noise, by the prior
    alone. The rate has a uniform prior: n well predicted rows leave about 1/(n + 2). The coefficients change little
    with the rate, so they are updated after several steps of it.
    """
    n = weights.sum(1)
    prior = scores.log_prior - over_short(np.logaddexp, scores.log_prior)
    alone = np.exp(prior[np.arange(scores.rows), scores.truth])
    rate = 1 / (n + 2)
    for again in reversed(range(rounds)):
        fitted = true_probabilities(features, scores, theta)
        for _ in range(RATE_STEPS):
            noisy = rate[:, None] * alone
            noisy /= np.maximum((1 - rate)[:, None] * fitted + noisy, np.finfo(float).tiny)
            rate = (np.einsum("fr,fr->f", weights, noisy) + 1) / (n + 2)
        theta = regression.modes(weights * (1 - noisy), theta, LOOSE_TOLERANCE if again else TIGHT_TOLERANCE)
    return theta, rate, weights * (1 - noisy)


def relevances(log_bayes_factors: Mapping[str, float], excess: Mapping[str, float]) -> dict[str, float]:
    """The probability that each column depends on the class, averaged over the unknown share π of those that do.

    P(depends | π) = π BF/(π BF + 1 - π), averaged over p(π | all columns) ∝ p(π) Π(π BF + 1 - π). The prior of π has
    the mass ½ at 0 and is otherwise uniform, so that no column is believed among any number of columns of noise. The
    excess is subtracted from log BF.
    """
    log_factors = np.array([value - excess.get(name, 0.0) for name, value in log_bayes_factors.items()])
    log_odds = log_factors + np.log(DEPENDENT_SHARES / (1 - DEPENDENT_SHARES))[:, None]  # (shares, columns)
    against = np.exp(-np.abs(log_odds))  # the odds of the less probable case
    log_evidence = (np.maximum(log_odds, 0.0) + np.log1p(against) + np.log1p(-DEPENDENT_SHARES)[:, None]).sum(1)
    log_posterior = np.append(log_evidence - np.log(len(DEPENDENT_SHARES)), 0.0)  # the last: no column depends
    posterior = np.exp(log_posterior - np.logaddexp.reduce(log_posterior))[:-1]
    depends = np.where(log_odds >= 0, 1.0, against) / (1 + against)
    return dict(zip(log_bayes_factors, (posterior @ depends).tolist(), strict=True))
