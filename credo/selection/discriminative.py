"""Logistic regression as a candidate: fitted without each fold, with a penalty chosen on the other folds.

The path from strong to weak penalties ends where held-out rows are predicted worse. Each fold's penalty is the one that
predicts the rows of the other folds best. The weights are tuning, not evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.numerics.arrays import over_short
from credo.numerics.exact import Array
from credo.numerics.ridge_logistic import Coefficients, RidgeLogistic
from credo.selection.design import LinearDesign, design_of
from credo.selection.linear_terms import LinearTerm
from credo.selection.sample import Sample
from credo.selection.tree_terms import TreeFolds, tree_rows

PENALTIES = tuple(10.0 ** (2 - k) for k in range(5))  # from strong to weak
TEXT_PENALTIES = tuple(10.0 ** (-k / 2) for k in range(6))  # for texts alone, whose features have length 1
PATH_TOLERANCE = 1e-4  # of the fits that choose a penalty
WORSE_PENALTIES = 2  # consecutive penalties worse than the best, after which no weaker one is tried
LOGISTIC, TREE = "logistic regression", "averaged decision tree"
DISCRIMINATIVE_CLASSES = 100  # above this many classes, no discriminative model is tried


@dataclass(frozen=True, eq=False)
class FittedLogistic:
    """A fitted logistic regression, the log class shares subtracted from its biases."""

    design: LinearDesign
    weights: Array  # (features, classes)
    biases: Array  # (classes,)

    def log_odds(self, sample: Sample) -> Array:
        """The log-odds of rows, without the class prior. (rows, classes)"""
        assert sample.design is not None
        return np.asarray(sample.design.matrix.products(self.weights.T).T + self.biases)

    @property
    def terms(self) -> tuple[LinearTerm, ...]:
        own = np.split(self.weights, self.design.ends)
        return tuple(term.fitted(weights) for term, weights in zip(self.design.terms, own, strict=True))


class FoldModel(Protocol):
    """A model fitted without a fold, which predicts the fold's rows."""

    def log_odds(self, sample: Sample) -> Array: ...


@dataclass(frozen=True, eq=False)
class Discriminative:
    """The discriminative candidates; None for one that isn't tried."""

    logistic: LogisticPath | None = None
    trees: TreeFolds | None = None

    @classmethod
    def of(cls, model: Any, sample: Sample, fold: NDArray[np.intp], folds: range) -> Discriminative:
        trees = None if sample.trees is None else TreeFolds(model, sample.trees, fold)
        return cls(logistic_path(model, sample, fold, folds), trees)


def with_features(model: Any, sample: Sample) -> Sample:
    """The sample with the features of logistic regression and trees."""
    if len(model.classes) > DISCRIMINATIVE_CLASSES:
        return sample
    parts, weight = sample.parts, sample.weight
    return replace(sample, design=design_of(model, parts, weight), trees=tree_rows(model, parts, weight))


def logistic_path(model: Any, sample: Sample, fold: NDArray[np.intp], folds: range) -> LogisticPath | None:
    """The fits of logistic regression without each fold; None without features."""
    return None if sample.design is None else LogisticPath(sample, len(model.classes), fold, folds)


class LogisticPath:
    """Fits without each of some folds, under decreasing penalties."""

    def __init__(self, sample: Sample, classes: int, fold: NDArray[np.intp], folds: range) -> None:
        assert sample.design is not None
        self._sample, self._classes, self._fold, self._folds = sample, classes, fold, folds
        self._problem = RidgeLogistic(sample.design.matrix, sample.codes, classes)

    @cached_property
    def _path(self) -> list[tuple[float, Coefficients, Array]]:
        """Each penalty, the coefficients of each fold, and the losses of held-out rows."""
        assert self._sample.design is not None
        weights = np.where(self._fold == np.array(self._folds)[:, None], 0.0, self._sample.weight)
        current, found, worse = self._problem.start(weights), list[tuple[float, Coefficients, Array]](), 0
        for penalty in PENALTIES if self._sample.design.reads_cells else TEXT_PENALTIES:
            current = self._problem.fitted(weights, penalty, current, PATH_TOLERANCE)
            losses = self._losses(current)
            best = min((each[2].sum() for each in found), default=np.inf)
            found.append((penalty, current, losses))
            worse = worse + 1 if losses.sum() > best else 0
            if worse >= WORSE_PENALTIES:
                break
        return found

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        """The held-out rows of the folds that are evaluated."""
        return np.flatnonzero(np.isin(self._fold, self._folds))

    def _losses(self, found: Coefficients) -> Array:
        """The weighted log-loss of each held-out row, by the fit without its fold."""
        rows, fits = self._rows, np.searchsorted(self._folds, self._fold[self._rows])
        logits = _per_class(self._problem.logits(found)[fits, :, rows])
        logits -= over_short(np.logaddexp, logits)
        return np.asarray(-logits[np.arange(len(rows)), self._sample.codes[rows]] * self._sample.weight[rows])

    def of_fold(self, k: int) -> FittedLogistic:
        """The fit without a fold, under the penalty that the other folds choose; a single fold chooses its own."""
        others = self._fold[self._rows] != k if len(self._folds) > 1 else np.ones(len(self._rows), dtype=bool)
        _, found, _ = min(self._path, key=lambda each: each[2][others].sum())
        return self._logistic(found[self._folds.index(k)], self._sample.weight * (self._fold != k))

    def whole(self) -> FittedLogistic:
        """The fit to all rows, under the penalty that all held-out rows choose."""
        penalty, found, _ = min(self._path, key=lambda each: each[2].sum())
        weight = self._sample.weight[None]
        return self._logistic(self._problem.fitted(weight, penalty, found[:1])[0], weight[0])

    def _logistic(self, found: Coefficients, weight: Array) -> FittedLogistic:
        assert self._sample.design is not None
        n = np.bincount(self._sample.codes, weight, self._classes)
        biases = _per_class(found.biases[None])[0] - np.log((n + 1) / (n.sum() + self._classes))
        return FittedLogistic(self._sample.design, _per_class(found.weights.T), biases - biases.mean())


def _per_class(vectors: Array) -> Array:
    """Values for each class; for two, ∓ half the log-odds of the second. (..., vectors) -> (..., classes)"""
    return np.concatenate([-vectors / 2, vectors / 2], axis=-1) if vectors.shape[-1] == 1 else vectors
