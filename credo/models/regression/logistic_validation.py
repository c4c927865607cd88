"""Validation of logistic regression: refitted folds, and approximate leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from credo.core.learning import Weight
from credo.core.membership import Codes
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.core.summed_scores import SumScores
from credo.data import Source
from credo.errors import DataError, EvidenceError
from credo.models.class_predictor import NO_CLASS
from credo.models.drawn_folds import DrawnFolds
from credo.models.metrics import Scores, fold_ratio
from credo.models.regression.laplace import LaplacePosterior
from credo.models.regression.logistic_fitting import LogisticFit
from credo.models.regression.table_rows import TableRows
from credo.models.summed_scores import SummedScores, summed_batch
from credo.numerics.exact import Array
from credo.numerics.softmax import FeatureRows
from credo.numerics.softmax_modes import WeightPrior

if TYPE_CHECKING:
    from credo.models.regression.logistic import LogisticRegression

HELD_FIXED = "strength held fixed"


@dataclass(frozen=True, eq=False)
class PosteriorShares:
    """log P(class | row) by the other folds' model, the row's class, and its weight."""

    posteriors: tuple[LaplacePosterior, ...]
    known: Array  # (folds, classes): the weight of each class outside the fold
    integrated: bool

    def __call__(self, rows: FeatureRows) -> tuple[Array, Codes, Array]:
        assert rows.folds is not None
        found = np.empty((rows.rows, self.known.shape[1]))
        for k, posterior in enumerate(self.posteriors):
            own = np.flatnonzero(rows.folds == k)
            found[own] = posterior.log_shares(rows.take(own), self.integrated)
        unknown = np.flatnonzero(self.known[rows.folds, rows.codes] <= RESIDUAL_WEIGHT)
        found[unknown, rows.codes[unknown]] = np.nan
        return found, rows.codes, rows.weight

    def judged(self, log_shares: Array, codes: Codes, weights: Array) -> Array:  # noqa: ARG002 - they were taken out
        """The log-shares, with NaN at a class that the other folds don't have."""
        return log_shares


@dataclass(frozen=True, eq=False)
class FoldWeights:
    """The weight of each class's rows in each fold."""

    folds: int
    classes: int

    def __call__(self, rows: FeatureRows) -> Array:
        assert rows.folds is not None
        found = np.zeros((self.folds, self.classes))
        np.add.at(found, (rows.folds, rows.codes), rows.weight)
        return found


@dataclass(frozen=True, eq=False)
class LeftOutShares:
    """Approximate leave-one-out log P(class | row), the row's class, and its weight."""

    posterior: LaplacePosterior
    class_weights: Array
    integrated: bool

    def __call__(self, rows: FeatureRows) -> tuple[Array, Codes, Array]:
        return self.posterior.left_out(rows, self.integrated), rows.codes, rows.weight

    def judged(self, log_shares: Array, codes: Codes, weights: Array) -> Array:
        """The log-shares, with NaN at the class of rows that are the only ones of their class."""
        there = self.class_weights[codes]
        alone = np.flatnonzero(there - weights <= RESIDUAL_WEIGHT * there)
        log_shares[alone, codes[alone]] = np.nan
        return log_shares


def cross_validated(model: LogisticRegression, drawn: DrawnFolds, weight: Weight, seed: int) -> Scores:
    """Each fold is predicted by a fit of the others, which starts from the model's own weights."""
    fitting = LogisticFit(model, drawn.table, weight, drawn.draw(seed))
    prior = fitting.prior
    sizes = fitting.rows.reduce(FoldWeights(drawn.folds, len(model.classes)), _sum)
    if sum(rows.rows for rows in fitting.rows.held or ()) < drawn.folds and fitting.rows.held is not None:
        raise DataError(f"{drawn.folds} folds need at least {drawn.folds} rows")
    posteriors = []
    for k in range(drawn.folds):
        rows = replace(fitting.rows, fold=k)
        mode = fitting.mode(prior, model.seen.mode, rows, roughly=_curvature_of_others(model, prior, drawn.folds))
        posteriors.append(fitting.posterior(mode, prior, flat_intercept=True, rows=rows))
    job = PosteriorShares(tuple(posteriors), sizes.sum(0) - sizes, model.integrates)
    found = _scores(model, fitting.rows, job, f"{drawn.how}, {HELD_FIXED}")
    return drawn.with_groups(replace(found, held_out_ratio=fold_ratio(drawn.folds)), weight)


def _curvature_of_others(model: LogisticRegression, prior: WeightPrior, folds: int) -> Array | None:
    """The approximate curvature of all folds but one."""
    if not model.seen.whole:
        return None
    return (model.seen.precision - np.diag(prior.diagonal.ravel())) * (1 - 1 / folds)


def left_out(model: LogisticRegression, table: Source, weight: Weight) -> Scores:
    """Leave-one-out scores by one Newton step."""
    if not model.seen.whole:
        raise EvidenceError(
            "leave-one-out needs the covariances of all weights, and here these are too many: use cross_validate(data)"
        )
    rows = LogisticFit(model, table, weight).rows
    job = LeftOutShares(model.seen, model.class_weights, model.integrates)
    found = _scores(model, rows, job, f"leave-one-out, approximately, {HELD_FIXED}")
    there = found.class_weights
    if not np.allclose(there, model.class_weights, rtol=1e-9):
        raise EvidenceError(
            f"leave-one-out needs the rows that were learned: they are {model.n:g}, the data has {there.sum():g}"
        )
    return replace(found, held_out_ratio=fold_ratio(found.rows))


@dataclass(frozen=True, eq=False)
class JudgedShares:
    """The results of a job: log P(class | row) under the model's P(class) (NaN at a class unknown to the model), the
    row's class, and its weight."""

    job: PosteriorShares | LeftOutShares
    prior_shift: Array

    def __call__(self, rows: FeatureRows) -> tuple[Array, Codes, Array]:
        log_shares, codes, weights = self.job(rows)
        shifted = log_shares + self.prior_shift
        with np.errstate(invalid="ignore"):
            total = np.logaddexp.reduce(np.where(np.isnan(shifted), -np.inf, shifted), axis=1, keepdims=True)
        return self.job.judged(shifted - total, codes, weights), codes, weights


def _scores(model: LogisticRegression, rows: TableRows, job: PosteriorShares | LeftOutShares, how: str) -> Scores:
    shares = JudgedShares(job, model._prior_shift)
    if rows.table.sums_scores:
        added = rows.reduce(SumScores(shares, partial(summed_batch, model.classes)), SummedScores.total)
        if not added.rows:
            raise DataError(NO_CLASS.format(model.target))
        return added.instead_of_rows(how=how)
    log_shares, codes, weights = (np.concatenate(each) for each in zip(*rows.map(shares), strict=True))
    if not len(codes):
        raise DataError(NO_CLASS.format(model.target))
    return Scores(model.classes, log_shares, codes.astype(np.intp), weights, how)


def _sum(parts: Sequence[Array]) -> Array:
    return np.asarray(np.sum(parts, axis=0))
