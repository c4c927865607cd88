"""The choice of candidates to pool: simple ones always, each other one if it clearly improves held-out predictions.

Trees and pairs of columns take long. They are abandoned if the first folds leave little chance of a clear gain
(stopping for futility; Lan, Simon and Halperin 1982).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.data.fingerprints import Fingerprints
from credo.numerics.exact import Array
from credo.selection.candidates import DEPENDENCE_CANDIDATES, Candidates
from credo.selection.discriminative import LOGISTIC, TREE, Discriminative, FoldModel
from credo.selection.sample import Sample
from credo.selection.significance import CLEAR_ERRORS, clear_gain, effective_size
from credo.selection.stacking import HeldOut, Stack, cross_fitted, stacked, with_discount
from credo.selection.terms import TermScores

FUTILITY_ROWS = 50  # held-out rows before the first test for futility
SECOND_LOOK = 3  # times as many folds before the second test
FUTILITY_DEVIATIONS = 1.28  # standard deviations: one in ten abandoned candidates would have helped after all
RELEVANT_GAIN = 0.01  # of the log-loss: a smaller gain doesn't matter


class FoldPredictions(NamedTuple):
    """A candidate's predictions of a fold's rows, and of those with blanked cells. (rows, classes) each"""

    held_out: Array
    blanked: Array


@dataclass(frozen=True, eq=False)
class ScoredFold:
    """A fold's rows as predicted by candidates of the other rows."""

    candidates: Candidates
    sample: Sample
    every: TermScores  # of all the fold's rows
    log_odds: dict[str, Array]  # (rows, classes) of each candidate, for rows whose class is among the training rows
    missing: Array  # (rows,) the share of missing cells
    class_weights: Array  # of the training rows
    blanked: ScoredFold | None = None  # some of the rows, with cells blanked

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        return self.class_weights[self.every.truth] > 0

    @cached_property
    def rows(self) -> TermScores:
        """Rows whose class is among the training rows."""
        return self.every.take(self._known)

    @property
    def unknown(self) -> TermScores:
        """Rows whose class no training row has."""
        return self.every.take(~self._known)

    def groups(self, known: bool) -> Fingerprints:
        """The groups of the rows whose class is among the training rows, or of the others."""
        assert self.sample.groups is not None
        return self.sample.groups[self._known if known else ~self._known]

    def without(self, names: Collection[str]) -> ScoredFold:
        """The fold without some of the candidates."""
        left = {name: each for name, each in self.candidates.weightings.items() if name not in names}
        return replace(
            self, candidates=replace(self.candidates, weightings=left),
            log_odds={name: self.log_odds[name] for name in left},
            blanked=self.blanked and self.blanked.without(names),
        )  # fmt: skip

    def log_odds_by(self, model: FoldModel) -> Array:
        """Another candidate's log-odds of the rows. (rows, classes)"""
        return np.asarray(model.log_odds(self.sample)[self._known])

    def predictions_by(self, model: FoldModel) -> FoldPredictions:
        """Another candidate's predictions of the rows, and of those with blanked cells."""
        nothing = np.empty((0, len(self.class_weights)))
        return FoldPredictions(
            self.log_odds_by(model), nothing if self.blanked is None else self.blanked.log_odds_by(model)
        )

    def candidates_as_terms(self, names: Sequence[str], fold: int) -> HeldOut:
        """Each candidate's log-odds of the rows; 0 for a candidate that this fold lacks."""
        absent = np.zeros_like(self.rows.log_prior)
        log_odds = np.stack([self.log_odds.get(name, absent) for name in names], axis=2)
        return HeldOut.of(names, log_odds, self.rows, self.missing[self._known], fold)


@dataclass(frozen=True, eq=False)
class Pooled:
    """The candidates that are pooled: their predictions of held-out rows, and of some with blanked cells."""

    held_out: HeldOut
    blanked: HeldOut
    class_weights: Array

    @cached_property
    def log_probabilities(self) -> Array:
        """log P(class | row), each fold by shares from the other folds. (rows, classes)"""
        return cross_fitted(self.held_out, self.blanked, self.class_weights)

    @cached_property
    def stack(self) -> Stack:
        return with_discount(stacked(self.held_out), self.blanked, self.class_weights)


@dataclass(frozen=True, eq=False)
class Pool:
    """Predictions of held-out rows, and of some with blanked cells, by all candidates; and those that are pooled."""

    held_out: HeldOut
    blanked: HeldOut
    pooled: Pooled

    @classmethod
    def of(cls, scored: Sequence[ScoredFold], class_weights: Array, held_out_ratio: float) -> Pool:
        """The pool of the simple candidates of some folds; of all candidates, if none is simple."""
        names = tuple(dict.fromkeys(name for each in scored for name in each.log_odds))
        folds = [each.candidates_as_terms(names, k) for k, each in enumerate(scored)]
        held_out = replace(HeldOut.joined(folds), held_out_ratio=held_out_ratio)
        no_rows = held_out.take(np.zeros_like(held_out.fold, dtype=bool))
        blanks = [
            each.blanked.candidates_as_terms(names, k) for k, each in enumerate(scored) if each.blanked is not None
        ]
        simple = tuple(name for name in names if name not in DEPENDENCE_CANDIDATES)
        return cls._pooling(simple or names, held_out, HeldOut.joined([no_rows, *blanks]), class_weights)

    @classmethod
    def _pooling(cls, names: Collection[str], held_out: HeldOut, blanked: HeldOut, class_weights: Array) -> Pool:
        places = [place for place, name in enumerate(held_out.names) if name in names]
        return cls(held_out, blanked, Pooled(held_out.only(places), blanked.only(places), class_weights))

    @property
    def names(self) -> tuple[str, ...]:
        return self.held_out.names

    def only(self, names: Sequence[str]) -> HeldOut:
        """The predictions of some candidates."""
        return self.held_out.only([self.names.index(name) for name in names])

    @property
    def kept(self) -> tuple[str, ...]:
        """The names of the pooled candidates."""
        return self.pooled.held_out.names

    @property
    def shares(self) -> dict[str, float]:
        """The share of each candidate; 0 for those that aren't pooled."""
        return dict.fromkeys(self.names, 0.0) | dict(zip(self.kept, self.pooled.stack.shares.tolist(), strict=True))

    def keeping(self, names: Collection[str]) -> Pool:
        """The pool with these candidates, too."""
        return self._pooling({*self.kept, *names}, self.held_out, self.blanked, self.pooled.class_weights)

    def with_candidate(self, name: str, predictions: Iterable[FoldPredictions]) -> Pool:
        """The pool with another candidate, which isn't pooled yet, given its predictions of each fold."""
        parts = [*predictions]
        held_out = self.held_out.with_candidate(name, [each.held_out for each in parts])
        blanked = self.blanked.with_candidate(name, [each.blanked for each in parts])
        return replace(self, held_out=held_out, blanked=blanked)

    def of_folds(self, count: int) -> Pool:
        """The first `count` folds alone."""
        held_out, blanked = (each.take(each.fold < count) for each in (self.held_out, self.blanked))
        return self._pooling(self.kept, held_out, blanked, self.pooled.class_weights)

    def with_held_out(self, held_out: HeldOut) -> Pool:
        """The pool with other held-out rows."""
        return self._pooling(self.kept, held_out, self.blanked, self.pooled.class_weights)

    @property
    def log_truth(self) -> Array:
        """log P(truth) of each held-out row. (rows,)"""
        rows = self.held_out.rows
        return np.asarray(self.pooled.log_probabilities[np.arange(rows.rows), rows.truth])


@dataclass(frozen=True, eq=False)
class Abandoned:
    """Abandoned candidates, and the folds on which they were scored."""

    names: tuple[str, ...]
    folds: int
    pool: Pool


def futile_pairs(pool: Pool, rest: Array) -> Abandoned | None:
    """The candidates whose columns depend on each other, if the first folds leave them little chance.

    rest: the weights of the other folds' rows
    """
    names = tuple(name for name in pool.names if name in DEPENDENCE_CANDIDATES and name not in pool.kept)
    rows = pool.held_out.rows
    if not names or rows.rows < FUTILITY_ROWS:
        return None
    gain, weight = pool.keeping(names).log_truth - pool.log_truth, np.append(rows.weight, rest)
    if _may_gain(gain, pool.log_truth, weight, pool.held_out.held_out_ratio):
        return None
    return Abandoned(names, len(np.unique(pool.held_out.fold)), pool)


def chosen_pool(scored: Sequence[ScoredFold], pool: Pool, fitted: Discriminative) -> tuple[Pool, list[Abandoned]]:
    """The pool with all candidates that improve it, and the abandoned ones.

    Logistic regression, candidates whose columns depend on each other, and a tree are pooled in turn if they improve
    held-out predictions by more than two standard errors.
    """
    if fitted.logistic is not None:
        pool = pool.with_candidate(
            LOGISTIC, [fold.predictions_by(fitted.logistic.of_fold(k)) for k, fold in enumerate(scored)]
        )
        pool = _if_clearly_better(pool, [LOGISTIC])
    pool = _if_clearly_better(pool, DEPENDENCE_CANDIDATES)
    if fitted.trees is None:
        return pool, []
    predictions = list[FoldPredictions]()
    looks = _looks(len(scored), pool.held_out.rows.rows)
    for k, fold in enumerate(scored):
        predictions.append(fold.predictions_by(fitted.trees.of_fold(k)))
        if k + 1 in looks:
            some = pool.of_folds(k + 1).with_candidate(TREE, predictions)
            gain = some.keeping([TREE]).log_truth - some.log_truth
            if not _may_gain(gain, some.log_truth, pool.held_out.rows.weight, pool.held_out.held_out_ratio):
                return pool, [Abandoned((TREE,), k + 1, some)]
    return _if_clearly_better(pool.with_candidate(TREE, predictions), [TREE]), []


def _if_clearly_better(pool: Pool, names: Collection[str]) -> Pool:
    """The pool with these candidates, too, if it is clearly better."""
    wider, held_out = pool.keeping(names), pool.held_out
    if wider.kept == pool.kept:
        return pool
    better = clear_gain(wider.log_truth - pool.log_truth, held_out.rows.weight, CLEAR_ERRORS, held_out.held_out_ratio)
    return wider if better else pool


def _looks(folds: int, rows: int) -> set[int]:
    """The numbers of folds after which futility is tested."""
    first = max(1, -(-FUTILITY_ROWS * folds // max(rows, 1)))
    return {count for count in (first, SECOND_LOOK * first) if count < folds}


def _may_gain(gain: Array, before: Array, weight: Array, held_out_ratio: float) -> bool:
    """Whether all rows may still show a clear and relevant gain, given that of the first rows.

    Given the mean gain g of m rows with standard deviation s, the mean gain of all n is N(g, s²(1/m - 1/n)). It must be
    able to exceed two standard errors, and a share of the log-loss.
    """
    own = weight[: len(gain)]
    some, every = effective_size(own), effective_size(weight)
    mean, loss = np.average(gain, weights=own), -np.average(before, weights=own)
    spread = np.sqrt(np.average((gain - mean) ** 2, weights=own))
    at_best = mean + FUTILITY_DEVIATIONS * spread * np.sqrt(max(1 / some - 1 / every, 0.0))
    return bool(at_best > max(CLEAR_ERRORS * spread * np.sqrt((1 + held_out_ratio) / every), RELEVANT_GAIN * loss))
