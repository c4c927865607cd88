"""Weights for what speaks for a class: a small logistic regression on leave-one-out log-likelihoods.

logit(class) = log P(class) + bias + Σ w · (what each voice says), with a prior that holds the weights together:
w = τ + δ, τ ~ N(1/groups, 1) for each group of voices, δ ~ N(0, 1/16), bias ~ N(0, 1), and w ≥ 0. (Weighing naive
Bayes' columns by conditional likelihood: Zaidi, Cerquides, Carman & Webb 2013.)

Of texts, a few rows are told by the prior alone (slips): all words of a document may mislead, as those of a message in
the wrong group do, and without slips such rows would silence what others say. P = (1 - ε) softmax(logit) + ε P(class).
Of a class that few rows are known of, more slip: what they have in common says little of the rows to come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.exact import Array

APART, TOGETHER, BIAS, MIXING = 16.0, 1.0, 1.0, 16.0  # precisions of δ, τ, biases and mixtures
STEPS, ENOUGH, ROUGHLY = 60, 1e-7, 1e-4  # of Newton's; gains, relative to the log-likelihood, at which they end
ROUNDS = 4  # of EM for slips
SURPRISE = 0.5  # over n + 1: the share of a class's rows that are unlike the n that are known of it, at least
FEW_CLASSES = 50  # up to which each has a bias
MIXED_CLASSES = range(3, 11)  # numbers of classes between which a voice may be mixed


def chosen_rows(start: int, rows: int, stride: int) -> NDArray[np.intp]:
    """One of `stride` rows, by a hash of its number: rows may lie in any order, and the choice stays the same."""
    mixed = (np.arange(start, start + rows, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.flatnonzero((mixed >> np.uint64(33)) % np.uint64(stride) == 0)


@dataclass(frozen=True, eq=False)
class Sheet:
    """What each voice says of rows that hadn't taught it, and the truth."""

    said: Array  # (rows, classes, voices) log-likelihoods
    prior: Array  # (rows, classes)
    truth: NDArray[np.int32]  # (rows,)
    weight: Array  # (rows,)
    voices: tuple[tuple[str, str], ...]  # (form, name)
    groups: tuple[int, ...]  # of voices whose weights are held together
    stride: int = 1  # one of how many rows of the table is here

    @property
    def class_weights(self) -> Array:
        """Of the table's rows, as far as those here tell."""
        return np.asarray(np.bincount(self.truth, self.weight, self.prior.shape[1]) * self.stride)

    def only(self, voices: Sequence[int]) -> Sheet:
        places = list(voices)
        used = sorted({self.groups[j] for j in places})
        return replace(
            self,
            said=self.said[:, :, places],
            voices=tuple(self.voices[j] for j in places),
            groups=tuple(used.index(self.groups[j]) for j in places),
        )

    def of(self, name: str) -> Sheet:
        """What one column says."""
        return self.only([j for j, (_, own) in enumerate(self.voices) if own == name])

    def rows(self, kept: Any) -> Sheet:
        parts = (self.said[kept], self.prior[kept], self.truth[kept], self.weight[kept])
        return Sheet(*parts, self.voices, self.groups, self.stride)


@dataclass(frozen=True, eq=False)
class Weighing:
    """A weight for each voice, a bias for each class, and how one voice is mixed between classes."""

    weights: Array  # (voices,)
    biases: Array  # (classes,)
    mixed: int | None = None  # the voice that is mixed
    mixture: Array | None = None  # (classes, classes), added to its weight
    slips: Any = 0.0  # the share of (each class's) rows that are told by the prior alone

    def log_joint(self, sheet: Sheet) -> Array:
        """But for slips."""
        total = sheet.prior + self.biases + sheet.said @ self.weights
        if self.mixture is not None and self.mixed is not None:
            total = total + sheet.said[:, :, self.mixed] @ self.mixture.T
        return np.asarray(total)

    def probabilities(self, sheet: Sheet) -> Array:
        found, slipped = shares(self.log_joint(sheet) + np.log1p(-self.slips)), self.slips * shares(sheet.prior)
        return np.asarray((1 - slipped.sum(1, keepdims=True)) * found + slipped)


def slip_shares(slips: float, n: Array) -> Array:
    """The share of each class's rows that slip, of which n are known; of none, where there are no slips at all.

    The others are told by softmax(logit + log (1 - ε)): so, where nothing is said, classes keep their shares.
    """
    return np.maximum(slips, SURPRISE / (n + 1)) if slips else np.zeros_like(n)


def shares(log_joint: Array) -> Array:
    log_joint = log_joint - log_joint.max(1, keepdims=True)
    found = np.exp(log_joint)
    return np.asarray(found / found.sum(1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Design:
    """The same as one linear model: parameters are weights, then biases, then a mixture's off-diagonal cells."""

    sheet: Sheet
    mixed: int | None

    @property
    def classes(self) -> int:
        return int(self.sheet.prior.shape[1])

    @property
    def voices(self) -> int:
        return len(self.sheet.voices)

    @property
    def biases(self) -> int:
        return self.classes if self.classes <= FEW_CLASSES else 0

    @cached_property
    def features(self) -> Array:
        """What speaks for each other class against the first one. (rows, classes - 1, parameters)"""
        rows, classes = self.sheet.prior.shape
        parts = [self.sheet.said]
        if self.biases:
            parts.append(np.broadcast_to(np.eye(classes), (rows, classes, classes)))
        if self.mixed is not None:
            pairs = self.pairs
            cells = np.zeros((rows, classes, len(pairs)))
            for m, (to, source) in enumerate(pairs):
                cells[:, to, m] = self.sheet.said[:, source, self.mixed]
            parts.append(cells)
        return np.concatenate([part[:, 1:] - part[:, :1] for part in parts], axis=2)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return [(a, b) for a in range(self.classes) for b in range(self.classes) if a != b]

    @cached_property
    def prior(self) -> tuple[Array, Array]:
        """The mean of the parameters, and their precision."""
        size, voices = self.features.shape[2], self.voices
        groups = np.array(self.sheet.groups)
        same = groups[:, None] == groups
        mean, precision = np.zeros(size), np.zeros((size, size))
        mean[:voices] = 1 / (groups.max() + 1)
        precision[:voices, :voices] = np.linalg.inv(np.eye(voices) / APART + same / TOGETHER)
        rest = np.arange(voices, size)
        precision[rest, rest] = np.where(rest < voices + self.biases, BIAS, MIXING)
        return mean, precision

    def weighing(self, theta: Array) -> Weighing:
        biases = np.zeros(self.classes)
        if self.biases:
            biases = theta[self.voices : self.voices + self.classes]
        if self.mixed is None:
            return Weighing(theta[: self.voices], biases)
        mixture = np.zeros((self.classes, self.classes))
        for (a, b), value in zip(self.pairs, theta[self.voices + self.biases :], strict=True):
            mixture[a, b] = value
        return Weighing(theta[: self.voices], biases, self.mixed, mixture)


def weighed(sheet: Sheet, mixed: int | None, folds: int, seed: int, slips: bool = False) -> tuple[Weighing, Array]:
    """The most probable weights, none negative; and probabilities of rows by weights that other folds' rows gave."""
    design, weight, share = _design(sheet, mixed), sheet.weight, 0.0
    theta, free = _fitted(design, weight, design.prior[0], enough=ROUGHLY if slips else ENOUGH)
    if slips:
        theta, free, weight, share = _slipping(design, theta, free)
    newton, fold = _Newton(design, free), np.random.default_rng(seed).permutation(len(sheet.truth)) % folds
    found, slipping = np.empty_like(sheet.prior), slip_shares(share, sheet.class_weights)
    for k in range(folds):
        held_out = fold == k
        if held_out.any():
            others = replace(design.weighing(newton.mode(np.where(held_out, 0.0, weight), theta)), slips=slipping)
            found[held_out] = others.probabilities(sheet.rows(held_out))
    return replace(design.weighing(theta), slips=share), found


def _slipping(design: _Design, theta: Array, free: NDArray[np.bool_]) -> tuple[Array, NDArray[np.bool_], Array, float]:
    """By EM, from parameters without slips: the parameters, those that are free, what rows weigh that aren't slips, and
    the share of slips, which is worth 50 rows beforehand, half a slip among them."""
    sheet, share = design.sheet, 0.01
    each, weight = np.arange(len(sheet.truth)), sheet.weight
    alone = shares(sheet.prior)[each, sheet.truth]
    for again in reversed(range(ROUNDS)):
        own = (1 - share) * design.weighing(theta).probabilities(sheet)[each, sheet.truth]
        weight = sheet.weight * own / (own + share * alone)
        share = float((sheet.weight.sum() - weight.sum() + 0.5) / (sheet.weight.sum() + 50.0))
        # Each time anew, a voice may come back that slips had silenced.
        theta, free = _fitted(design, weight, theta, None, ROUGHLY if again else ENOUGH)
    return theta, free, weight, share


def losses_at_modes(sheets: Iterable[Sheet]) -> list[float]:
    """The log-loss of the rows that gave the weights, of sheets alike: of use where one is compared on many rows."""
    found: list[float] = []
    theta = None
    for sheet in sheets:
        design = _design(sheet, None)
        every = np.ones(design.features.shape[2], dtype=bool)
        theta = _Newton(design, every).mode(sheet.weight, design.prior[0] if theta is None else theta, ROUGHLY)
        found.append(float(np.average(_losses(design, theta), weights=sheet.weight)))
    return found


def losses_of_rows(sheet: Sheet) -> Array:
    """The log-loss of each row that gave the weights, none of which is negative."""
    design = _design(sheet, None)
    theta, _ = _fitted(design, sheet.weight, design.prior[0], enough=ROUGHLY)
    return _losses(design, theta)


def _losses(design: _Design, theta: Array) -> Array:
    sheet = design.sheet
    own = design.weighing(theta).probabilities(sheet)[np.arange(len(sheet.truth)), sheet.truth]
    return np.asarray(-np.log(np.maximum(own, np.finfo(float).tiny)))


def _design(sheet: Sheet, mixed: int | None) -> _Design:
    return _Design(sheet, mixed if sheet.prior.shape[1] in MIXED_CLASSES else None)


def _fitted(
    design: _Design, weight: Array, near: Array, free: NDArray[np.bool_] | None = None, enough: float = ENOUGH
) -> tuple[Array, NDArray[np.bool_]]:
    """The parameters, and which of them are free: a weight that would be negative is 0."""
    free = np.ones(design.features.shape[2], dtype=bool) if free is None else free.copy()
    voices, theta = design.voices, near
    while True:
        theta = _Newton(design, free).mode(weight, theta, enough)
        negative = free[:voices] & (theta[:voices] < 0)
        if not negative.any():
            return theta, free
        if negative.sum() == free[:voices].sum():  # at least one voice speaks
            negative[int(np.argmax(np.where(negative, theta[:voices], -np.inf)))] = False
            if not negative.any():
                theta[:voices] = np.maximum(theta[:voices], 0.0)
                return theta, free
        free[:voices] &= ~negative


class _Newton:
    """Steps to the mode of log-likelihood + log-prior over the free parameters, the others being 0."""

    def __init__(self, design: _Design, free: NDArray[np.bool_]) -> None:
        sheet, (mean, precision) = design.sheet, design.prior
        self.free, self.mean, self.precision = free, mean[free], precision[np.ix_(free, free)]
        self.features = design.features if free.all() else np.ascontiguousarray(design.features[:, :, free])
        self.flat = self.features.reshape(-1, self.features.shape[2])
        self.offset = sheet.prior[:, 1:] - sheet.prior[:, :1]
        self.truth = np.arange(1, design.classes) == sheet.truth[:, None]

    def objective(self, theta: Array, weight: Array) -> tuple[float, Array]:
        """The log-posterior, up to a constant, and the probabilities of all classes but the first."""
        logits = self.offset + (self.flat @ theta).reshape(self.offset.shape)
        top = np.maximum(logits.max(1), 0.0)
        odds = np.exp(logits - top[:, None])
        total = odds.sum(1) + np.exp(-top)
        fit = float(weight @ ((logits * self.truth).sum(1) - top - np.log(total)))
        away = theta - self.mean
        return fit - 0.5 * float(away @ self.precision @ away), odds / total[:, None]

    def mode(self, weight: Array, near: Array, enough: float = ENOUGH) -> Array:
        """All parameters, from somewhere near."""
        theta = near[self.free]
        best, probability = self.objective(theta, weight)
        for _ in range(STEPS):
            step = self._step(theta, probability, weight)
            size = 1.0
            while size > 1e-6:
                value, found = self.objective(theta + size * step, weight)
                if value >= best - 1e-12 * abs(best):
                    break
                size /= 2
            else:
                break
            theta, gained, best, probability = theta + size * step, value - best, value, found
            if gained <= enough * max(1.0, abs(best)):
                break
        whole = np.zeros(len(self.free))
        whole[self.free] = theta
        return whole

    def _step(self, theta: Array, probability: Array, weight: Array) -> Array:
        expected = np.matmul(probability[:, None, :], self.features)[:, 0]
        residual = (weight[:, None] * (self.truth - probability)).ravel()
        slope = residual @ self.flat - self.precision @ (theta - self.mean)
        scaled = self.flat * np.sqrt(probability * weight[:, None]).reshape(-1, 1)
        curvature = scaled.T @ scaled - expected.T @ (expected * weight[:, None]) + self.precision
        try:
            return np.asarray(np.linalg.solve(curvature, slope))
        except np.linalg.LinAlgError:  # as where rows weigh so much that the prior drowns
            return np.asarray(np.linalg.lstsq(curvature, slope, rcond=None)[0])
