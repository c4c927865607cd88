"""Which candidates are pooled: the simple ones; others, one after another, if they clearly improve the prediction of
held-out rows.

Candidates that take long, trees and pairs of columns, are abandoned if the folds so far leave little chance of a clear
gain (stopping for futility; Lan, Simon and Halperin 1982).
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
from credo.selection.candidates import OF_PAIRS, Candidates
from credo.selection.discriminative import LOGISTIC, TREE, Discriminative, Judge
from credo.selection.sample import Sample
from credo.selection.stacking import HeldOut, Stack, cross_fitted, stacked, with_discount
from credo.selection.terms import TermScores
from credo.selection.texts import effective_size, gains

CLEARLY = 2.0  # standard errors, by which the pool must be better with a candidate that isn't simple
ENOUGH_TO_LOOK = 50  # held-out rows, after which it is first asked whether there is hope
LATER = 3  # times as many folds, after which it is asked again
HOPE = 1.28  # standard deviations: of ten candidates with less hope, one would be worth it after all
MATTERS = 0.01  # of the log-loss: less of a gain wouldn't be missed


class Said(NamedTuple):
    """A candidate's predictions of a fold's rows, and of those with blanked cells. (rows, classes) each"""

    held_out: Array
    blanked: Array


@dataclass(frozen=True, eq=False)
class Judged:
    """A fold: candidates from the other rows, and their predictions of its own."""

    candidates: Candidates
    sample: Sample
    every: TermScores  # of all its rows
    log_odds: dict[str, Array]  # (rows, classes) each, of the rows whose class the other rows show
    missing: Array  # (rows,) the shares of their cells that are missing
    class_weights: Array  # of the other rows
    blanked: Judged | None = None  # some of the rows, with cells blanked

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        return self.class_weights[self.every.truth] > 0

    @cached_property
    def rows(self) -> TermScores:
        """Those whose class the other rows show."""
        return self.every.take(self._known)

    @property
    def unknown(self) -> TermScores:
        """The others."""
        return self.every.take(~self._known)

    def groups(self, known: bool) -> Fingerprints:
        """Of its rows whose class the other rows show, or of the others."""
        assert self.sample.groups is not None
        return self.sample.groups[self._known if known else ~self._known]

    def without(self, names: Collection[str]) -> Judged:
        """Without some of the candidates."""
        left = {name: each for name, each in self.candidates.weightings.items() if name not in names}
        return replace(
            self, candidates=replace(self.candidates, weightings=left),
            log_odds={name: self.log_odds[name] for name in left},
            blanked=self.blanked and self.blanked.without(names),
        )  # fmt: skip

    def by(self, judge: Judge) -> Array:
        """Another candidate's predictions of the rows. (rows, classes)"""
        return np.asarray(judge.log_odds(self.sample)[self._known])

    def said(self, judge: Judge) -> Said:
        nothing = np.empty((0, len(self.class_weights)))
        return Said(self.by(judge), nothing if self.blanked is None else self.blanked.by(judge))

    def candidates_as_terms(self, names: Sequence[str], fold: int) -> HeldOut:
        """Each candidate's predictions of the rows; 0 for one that this fold doesn't have."""
        absent = np.zeros_like(self.rows.log_prior)
        log_odds = np.stack([self.log_odds.get(name, absent) for name in names], axis=2)
        return HeldOut.of(names, log_odds, self.rows, self.missing[self._known], fold)


@dataclass(frozen=True, eq=False)
class Pool:
    """The candidates' predictions of held-out rows, and of some with blanked cells; and which of them are pooled."""

    held_out: HeldOut
    blanked: HeldOut
    class_weights: Array
    kept: tuple[str, ...]

    @classmethod
    def of(cls, judged: Sequence[Judged], class_weights: Array, held_out_ratio: float) -> Pool:
        """The simple candidates of some folds are pooled; where there are none, all of them."""
        names = tuple(dict.fromkeys(name for each in judged for name in each.log_odds))
        folds = [each.candidates_as_terms(names, k) for k, each in enumerate(judged)]
        held_out = replace(HeldOut.joined(folds), held_out_ratio=held_out_ratio)
        nobody = held_out.take(np.zeros_like(held_out.fold, dtype=bool))
        blanks = [
            each.blanked.candidates_as_terms(names, k) for k, each in enumerate(judged) if each.blanked is not None
        ]
        simple = tuple(name for name in names if name not in OF_PAIRS)
        return cls(held_out, HeldOut.joined([nobody, *blanks]), class_weights, simple or names)

    @property
    def names(self) -> tuple[str, ...]:
        return self.held_out.names

    def only(self, names: Sequence[str]) -> tuple[HeldOut, HeldOut]:
        """The predictions of some of them."""
        places = [self.names.index(name) for name in names]
        return self.held_out.only(places), self.blanked.only(places)

    @cached_property
    def log_probabilities(self) -> Array:
        """log P(class | row), by the shares that the other folds gave."""
        return cross_fitted(*self.only(self.kept), self.class_weights)

    @cached_property
    def stack(self) -> Stack:
        held_out, blanked = self.only(self.kept)
        return with_discount(stacked(held_out), blanked, self.class_weights)

    @property
    def shares(self) -> dict[str, float]:
        """Of each candidate, those that aren't pooled included."""
        return dict.fromkeys(self.names, 0.0) | dict(zip(self.kept, self.stack.shares.tolist(), strict=True))

    def keeping(self, names: Collection[str]) -> Pool:
        """With these pooled, too."""
        return replace(self, kept=tuple(name for name in self.names if name in {*self.kept, *names}))

    def beside(self, name: str, said: Iterable[Said]) -> Pool:
        """With another candidate, given its predictions of each fold; it isn't pooled yet."""
        parts = [*said]
        held_out = self.held_out.beside(name, [each.held_out for each in parts])
        return replace(self, held_out=held_out, blanked=self.blanked.beside(name, [each.blanked for each in parts]))

    def of_folds(self, count: int) -> Pool:
        """The first so many folds alone."""
        held_out, blanked = (each.take(each.fold < count) for each in (self.held_out, self.blanked))
        return replace(self, held_out=held_out, blanked=blanked)

    @property
    def log_truth(self) -> Array:
        """log P(truth) of each held-out row. (rows,)"""
        return np.asarray(self.log_probabilities[np.arange(self.held_out.rows.rows), self.held_out.rows.truth])


@dataclass(frozen=True, eq=False)
class GivenUp:
    """Abandoned candidates, and the folds on which they were judged."""

    names: tuple[str, ...]
    folds: int
    pool: Pool


def hopeless_pairs(pool: Pool, rest: Array) -> GivenUp | None:
    """The candidates whose columns depend on each other, if the first folds leave them little chance; rest: the weights
    of the other folds' rows."""
    names = tuple(name for name in pool.names if name in OF_PAIRS and name not in pool.kept)
    rows = pool.held_out.rows
    if not names or rows.rows < ENOUGH_TO_LOOK:
        return None
    gain, weight = pool.keeping(names).log_truth - pool.log_truth, np.append(rows.weight, rest)
    if _hopeful(gain, pool.log_truth, weight, pool.held_out.held_out_ratio):
        return None
    return GivenUp(names, len(np.unique(pool.held_out.fold)), pool)


def chosen_pool(judged: Sequence[Judged], pool: Pool, fitted: Discriminative) -> tuple[Pool, list[GivenUp]]:
    """With all candidates that improve the pool; and the abandoned ones.

    Logistic regression, candidates whose columns depend on each other, and a tree are pooled, one after another, if the
    pool predicts held-out rows better with them by more than two standard errors.
    """
    if fitted.logistic is not None:
        pool = pool.beside(LOGISTIC, [fold.said(fitted.logistic.of_fold(k)) for k, fold in enumerate(judged)])
        pool = _if_clearly_better(pool, [LOGISTIC])
    pool = _if_clearly_better(pool, OF_PAIRS)
    if fitted.trees is None:
        return pool, []
    said = list[Said]()
    looks = _looks(len(judged), pool.held_out.rows.rows)
    for k, fold in enumerate(judged):
        said.append(fold.said(fitted.trees.of_fold(k)))
        if k + 1 in looks:
            some = pool.of_folds(k + 1).beside(TREE, said)
            gain = some.keeping([TREE]).log_truth - some.log_truth
            if not _hopeful(gain, some.log_truth, pool.held_out.rows.weight, pool.held_out.held_out_ratio):
                return pool, [GivenUp((TREE,), k + 1, some)]
    return _if_clearly_better(pool.beside(TREE, said), [TREE]), []


def _if_clearly_better(pool: Pool, names: Collection[str]) -> Pool:
    """With these candidates pooled, too, if that is clearly better."""
    wider, held_out = pool.keeping(names), pool.held_out
    if wider.kept == pool.kept:
        return pool
    better = gains(wider.log_truth - pool.log_truth, held_out.rows.weight, CLEARLY, held_out.held_out_ratio)
    return wider if better else pool


def _looks(folds: int, rows: int) -> set[int]:
    """After how many folds it is asked whether there is hope."""
    first = max(1, -(-ENOUGH_TO_LOOK * folds // max(rows, 1)))
    return {count for count in (first, LATER * first) if count < folds}


def _hopeful(gain: Array, before: Array, weight: Array, held_out_ratio: float) -> bool:
    """Whether all rows may yet show a gain that is clear and matters, as far as the first of them tell.

    If the mean gain g of m rows, with standard deviation s, is all that is known, that of all n is N(g, s²(1/m - 1/n)).
    It must exceed two standard errors, and a share of the log-loss without it.
    """
    own = weight[: len(gain)]
    some, every = effective_size(own), effective_size(weight)
    mean, loss = np.average(gain, weights=own), -np.average(before, weights=own)
    spread = np.sqrt(np.average((gain - mean) ** 2, weights=own))
    at_best = mean + HOPE * spread * np.sqrt(max(1 / some - 1 / every, 0.0))
    return bool(at_best > max(CLEARLY * spread * np.sqrt((1 + held_out_ratio) / every), MATTERS * loss))
