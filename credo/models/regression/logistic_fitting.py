"""Fitting a logistic regression: the strengths of its prior, the most probable weights, and their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from credo.core.folds import FoldDraw
from credo.core.learning import Weight
from credo.data import Source
from credo.errors import SizeError
from credo.models.regression.laplace import LaplacePosterior, laplace_evidence
from credo.models.regression.strengths import WeightGroups, mode_by_evidence, strength_by_held_out_rows
from credo.models.regression.table_rows import TableRows
from credo.notices import tell
from credo.numerics.exact import Array
from credo.numerics.softmax_modes import (
    MODE_TOLERANCE,
    WIDEST,
    Mode,
    WeightPrior,
    conjugate_mode,
    gradient_mode,
    lbfgs_mode,
    newton_mode,
    settled,
)

if TYPE_CHECKING:
    from credo.models.regression.logistic import LogisticRegression

Method = Literal["auto", "newton", "lbfgs", "gradient"]
START_ROWS = 20_000  # rows for a start, if there are many more
MANY_ROWS_TOLERANCE = 1e-10  # of the log-posterior, for very many rows: a hundredth of a weight's deviation
STRENGTH_FOLDS, SCORED_FOLDS = 5, 3  # folds for choosing strengths, and how many of them are scored
HELD_OUT_TOLERANCE = 1e-5  # of the log-posterior, for fits that only compare strengths
ONE_FOLD_ENTRIES = 2_000_000  # entries times classes: with more, only one fold is scored
SEPARATED_DEVIATIONS = 15.0  # a feature that moves a logit this far has no finite weight without a prior


class LearnedWeights(NamedTuple):
    """The posterior, the strengths of the groups of features, and the log-posterior step by step."""

    posterior: LaplacePosterior
    strengths: dict[str, float]
    history: tuple[float, ...]


class Begun(NamedTuple):
    """The start of a fit and, if known, its approximate curvature there."""

    coefficients: Array
    curvature: Array | None = None


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """One fit: the model with its encoding and classes, and the rows of a table."""

    model: LogisticRegression
    table: Source
    weight: Weight
    draw: FoldDraw | None = None  # the draw of folds, if not the one for choosing strengths

    @property
    def columns(self) -> int:
        return 1 if len(self.model.classes) == 2 else len(self.model.classes)

    @cached_property
    def groups(self) -> WeightGroups:
        encoding = self.model.encoding
        scale = encoding.scales if self.model.scaled else np.ones(encoding.width)
        return WeightGroups(encoding.group_of, scale, self.columns)

    @property
    def wide(self) -> bool:
        """Whether there are too many coefficients for a full covariance."""
        rows, columns = self.groups.shape
        return rows * columns > WIDEST

    @cached_property
    def rows(self) -> TableRows:
        by_folds = isinstance(self.model.strength, str) and not self._by_evidence
        draw = FoldDraw(STRENGTH_FOLDS, 0) if self.draw is None and by_folds else self.draw
        return TableRows.of(self.model, self.table, self.weight, draw)

    def learned(self) -> LearnedWeights:
        """The fit from scratch."""
        model, start = self.model, self.start
        if model.estimate == "ml":
            strengths = np.zeros(self.groups.count)
            found = self._concluded(self.mode(self.groups.prior(strengths), start), strengths)
            if not _fell(found.history):
                self._tell_separated(found.posterior)
            return found
        if self._by_evidence:
            begun = self._begun(start, self.groups.prior(np.ones(self.groups.count)))
            mode, strengths = mode_by_evidence(self.rows.sums, self.groups, *begun)
            return self._concluded(mode, strengths)
        strengths = self._strengths(start)
        return self._concluded(self.mode(self.groups.prior(strengths), start), strengths)

    @cached_property
    def start(self) -> Array:
        """Weights of 0, and the most probable intercepts given these."""
        found, weights = np.zeros(self.groups.shape), np.maximum(self.model.class_weights, 1e-300)
        logs = np.log(weights / weights.sum())
        found[0] = logs[1:] - logs[0] if self.columns == 1 else logs - logs.mean()
        return found

    @property
    def _by_evidence(self) -> bool:
        asked = self.model.strength
        if asked == "evidence" and self.wide:
            rows, columns = self.groups.shape
            raise SizeError(
                f"the evidence needs the covariances of {rows * columns:,} weights, and at most {WIDEST:,} are kept: "
                "leave strength to 'auto', which chooses it by held-out rows"
            )
        return asked == "evidence" or (asked == "auto" and not self.wide and not self.model.encoding.texts)

    @property
    def prior(self) -> WeightPrior:
        """The prior of a model with known strengths."""
        return self.groups.prior(np.array([self.model.strengths[name] for name in self.model.encoding.groups]))

    # Modes

    def mode(
        self, prior: WeightPrior, start: Array, rows: TableRows | None = None, enough: float = MODE_TOLERANCE,
        roughly: Array | None = None,
    ) -> Mode:  # fmt: skip
        """The mode, by the requested method or the one that suits the size."""
        rows, method = rows or self.rows, self.model.method
        if method == "gradient":
            return gradient_mode(rows.sums, prior, start, self._rate(prior, rows), self.model.steps, enough * 1e-3)
        if method in ("auto", "newton") and not self.wide:
            if rows.fold is not None:
                return newton_mode(rows.sums, prior, start, enough, roughly)
            begun = self._begun(start, prior)
            enough = enough if begun.curvature is None else max(enough, MANY_ROWS_TOLERANCE)
            return newton_mode(rows.sums, prior, begun.coefficients, enough, begun.curvature)
        if method == "lbfgs":
            return lbfgs_mode(rows.sums, prior, start, enough)
        return conjugate_mode(rows.sums, rows.curvature_at, prior, start, enough)

    def _begun(self, start: Array, prior: WeightPrior) -> Begun:
        """A better start, fitted to a subsample if there are very many rows: that costs little."""
        thin = self.rows.thinned(START_ROWS)
        if thin is None:
            return Begun(start)
        found, share = newton_mode(thin.sums, prior, start, 1e-5), thin.n / self.rows.n
        return Begun(found.coefficients, None if found.curvature is None else found.curvature / share)

    def _rate(self, prior: WeightPrior, rows: TableRows) -> Array:
        """η of the gradient's steps, for features of unit scale: as requested, or small enough that no step overshoots.
        The second derivatives are at most Σ w z′z/4 for two classes, or twice that.
        """
        scale = np.concatenate([[1.0], self.groups.scale])[:, None]
        if self.model.rate is not None:
            return np.asarray(self.model.rate / scale**2)
        found = rows.sums(np.zeros(self.groups.shape), "diagonal").curvature
        assert found is not None
        steepest = float(((found + prior.diagonal) / scale**2).sum(0).max()) * (1 if self.columns == 1 else 2)
        return np.asarray(1 / (steepest * scale**2))

    # Strengths

    def _strengths(self, start: Array) -> Array:
        """The given strength, or the one chosen by held-out rows, for all groups."""
        asked, count = self.model.strength, self.groups.count
        if not isinstance(asked, str):
            return np.full(count, float(asked))
        return np.full(count, strength_by_held_out_rows(_HeldOutScore(self, start)))

    def _concluded(self, mode: Mode, strengths: Array) -> LearnedWeights:
        if not mode.converged and _fell(mode.history):
            tell("the log-likelihood fell: the gradient steps are too large. Decrease rate=, or use method='newton'")
        elif not mode.converged:
            steps = min(len(mode.history), self.model.steps)  # the history of gradient steps includes the start
            tell(f"the {steps:,} steps didn't reach the most probable weights: increase steps=")
        posterior = self.posterior(mode, self.groups.prior(strengths), flat_intercept=True)
        named = dict(zip(self.model.encoding.groups, strengths.tolist(), strict=True))
        return LearnedWeights(posterior, named, mode.history)

    def posterior(
        self, mode: Mode, prior: WeightPrior, flat_intercept: bool, rows: TableRows | None = None
    ) -> LaplacePosterior:
        """The Laplace posterior at a mode."""
        theta, rows = mode.coefficients, rows or self.rows
        if self.wide:
            bend = rows.sums(theta, "diagonal").curvature
            assert bend is not None
            precision = np.maximum(bend + prior.diagonal, np.finfo(float).tiny)
            return LaplacePosterior(theta, precision, mode.log_likelihood, None)
        curvature = mode.curvature if mode.curvature is not None else rows.sums(theta, "curvature").curvature
        assert curvature is not None
        precision, evidence = settled(prior.added_to(curvature), self.columns), None
        if not flat_intercept or (prior.precision[1:] > 0).all():
            evidence = laplace_evidence(mode.log_likelihood, theta, prior, precision, flat_intercept)
        return LaplacePosterior(theta, precision, mode.log_likelihood, evidence)

    def _tell_separated(self, posterior: LaplacePosterior) -> None:
        moved = np.abs(posterior.mode[1:]).max(1, initial=0.0) * self.model.encoding.scales
        if (moved > SEPARATED_DEVIATIONS).any():
            name = self.model.encoding.names[int(moved.argmax())]
            tell(
                f"the classes are separable, by {name!r} and perhaps others: the likelihood has no maximum, and the "
                "fit stopped where it hardly increased any more. Use a prior: estimate='bayes'"
            )

    def updated(self, posterior: LaplacePosterior) -> LearnedWeights:
        """The fit of further rows, with the posterior so far as their prior."""
        prior = posterior.as_prior()
        mode = self.mode(prior, posterior.mode)
        found = self.posterior(mode, prior, flat_intercept=False)
        evidence = None
        if found.log_evidence is not None and posterior.log_evidence is not None:
            evidence = posterior.log_evidence + found.log_evidence
        likelihood = posterior.log_likelihood + found.log_likelihood
        return LearnedWeights(replace(found, log_likelihood=likelihood, log_evidence=evidence), {}, mode.history)


def _fell(history: Sequence[float]) -> bool:
    """Whether the log-posterior of a fit fell, by more than rounding."""
    return max(history) - history[-1] > 1e-9 * max(1.0, abs(history[-1]))


@dataclass(eq=False)
class _HeldOutScore:
    """The held-out log-likelihood of some folds given the strength; each fit starts from the last."""

    fitting: LogisticFit
    start: Array

    def __post_init__(self) -> None:
        held, columns = self.fitting.rows.held or (), self.fitting.columns
        much = not held or sum(rows.entries for rows in held) * columns > ONE_FOLD_ENTRIES
        self.folds = range(1 if much else SCORED_FOLDS)
        self.found: Sequence[Array] = [self.start] * len(self.folds)

    def __call__(self, strength: float) -> float:
        fitting, score, found = self.fitting, 0.0, list[Array]()
        prior = fitting.groups.prior(np.full(fitting.groups.count, strength))
        for k, start in zip(self.folds, self.found, strict=True):
            rows = replace(fitting.rows, fold=k)
            found.append(fitting.mode(prior, start, rows, HELD_OUT_TOLERANCE).coefficients)
            score += rows.held_out(found[-1])
        self.found = found
        return score
