"""The log-likelihoods of held-out rows by each term of a model, which tuning weights.

Rows of the evidence are left out one by one, in closed form; rows of a held-out fold are scored by the evidence of the
other folds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import Likelihood, Settings
from credo.blocks.capabilities import Averageable, Weighable
from credo.blocks.scoring import Cells, Scorer, whole_numbers
from credo.core.membership import Codes, Hard
from credo.core.statistics import Positions
from credo.data.fingerprints import mixed
from credo.models.forms import CELL_FORMS, TEXT_FORMS
from credo.numerics.arrays import less_mean, over_short
from credo.numerics.exact import Array
from credo.selection.jobs import HeldOutTerms, LeftOutTerms
from credo.selection.sample import Sample
from credo.selection.tuned import missing_share

LEAST_SCORE = -1e3  # nats, for what is impossible: finite, so that a weight of 0 can cancel it
INNER_FOLDS = 10  # folds by which rows are scored that can't be left out one by one

Forms = Mapping[str, Sequence[str]]


class ColumnTerm(NamedTuple):
    """A column in one of its forms, or a block of columns that are read jointly."""

    form: str
    name: str  # of the column, or ALL


@dataclass(frozen=True, eq=False)
class TermScores:
    """log p(cells | class) of each term, for rows that aren't in the term's evidence."""

    terms: tuple[ColumnTerm, ...]
    log_likelihood: Array  # (rows, classes, terms)
    log_prior: Array  # (rows, classes)
    truth: Codes  # (rows,)
    weight: Array  # (rows,)

    @property
    def rows(self) -> int:
        return len(self.truth)

    @property
    def classes(self) -> int:
        return int(self.log_prior.shape[1])

    def only(self, places: Sequence[int]) -> TermScores:
        """The scores of the terms at these positions."""
        kept = list(places)
        if kept == [*range(len(self.terms))]:
            return self
        return replace(self, terms=tuple(self.terms[j] for j in kept), log_likelihood=self.log_likelihood[:, :, kept])

    def of(self, terms: Sequence[ColumnTerm]) -> TermScores:
        """The scores of these terms."""
        places = {term: j for j, term in enumerate(self.terms)}
        return self.only([places[term] for term in terms])

    def replaced(self, others: TermScores) -> TermScores:
        """The scores with some of the terms' log-likelihoods replaced."""
        places, found = {term: j for j, term in enumerate(self.terms)}, self.log_likelihood.copy()
        found[:, :, [places[term] for term in others.terms]] = others.log_likelihood
        return replace(self, log_likelihood=found)

    def named(self, name: str) -> TermScores:
        """The scores of one column's terms."""
        return self.only([j for j, term in enumerate(self.terms) if term.name == name])

    def take(self, rows: NDArray[np.bool_]) -> TermScores:
        parts = (self.log_likelihood[rows], self.log_prior[rows], self.truth[rows], self.weight[rows])
        return TermScores(self.terms, *parts)


def side_by_side(scores: Sequence[TermScores]) -> TermScores:
    """The scores of several blocks' terms, for the same rows."""
    terms = tuple(term for each in scores for term in each.terms)
    return replace(scores[0], terms=terms, log_likelihood=np.concatenate([s.log_likelihood for s in scores], axis=2))


class Trained(ABC):
    """A model during tuning: its evidence without some rows of the sample."""

    model: Any  # for its views and settings; its evidence may have more rows
    class_weights: Array
    in_cells: bool = True  # whether joint cells of several columns are scored, where the model counts them

    @abstractmethod
    def without_cells(self) -> Trained:
        """The model without forms that count joint cells of several columns."""

    @abstractmethod
    def without(self, sample: Sample, gone: NDArray[np.bool_]) -> Trained:
        """The model without some rows of the sample; their classes stay known."""

    @abstractmethod
    def left_out(self, sample: Sample, forms: Forms, settings: Settings) -> TermScores:
        """The scores of rows of the evidence, each left out."""

    @abstractmethod
    def held_out(self, sample: Sample, forms: Forms, settings: Settings) -> TermScores:
        """The scores of rows that aren't in the evidence."""

    @abstractmethod
    def missing_shares(self, sample: Sample, names: Sequence[str]) -> Array:
        """The share of each row's cells, among these columns, that are missing or an unseen category. (rows,)"""

    @abstractmethod
    def log_bayes_factors(self, forms: Forms, settings: Settings) -> dict[ColumnTerm, float]:
        """log p(cells | classes)/p(cells) of each column: the Bayes factor of dependence on the class.

        Unlike a score of left-out rows, it is calibrated for many rows.
        """

    def by_folds(self, sample: Sample, forms: Forms, settings: Settings) -> TermScores:
        """The scores of rows of the evidence, each fold left out in turn."""
        count = max(2, min(INNER_FOLDS, sample.rows if sample.groups is None else len(np.unique(sample.groups))))
        fold = sample.folds(count, seed=0)
        order, parts = [], []
        for k in range(count):
            rows = fold == k
            if rows.any():
                parts.append(self.without(sample, rows).held_out(sample.take(rows), forms, settings))
                order.append(np.flatnonzero(rows))
        place = np.argsort(np.concatenate(order))
        arrays = [[p.log_likelihood, p.log_prior, p.truth, p.weight] for p in parts]
        joined = [np.concatenate(each)[place] for each in zip(*arrays, strict=True)]
        return TermScores(parts[0].terms, *joined)

    def shuffled(self, sample: Sample, salt: int) -> Trained | None:  # noqa: ARG002 - for overriding methods
        """The single columns' terms under shuffled classes; None if that takes another pass over the rows."""
        return None


def trained(model: Any, sample: Sample) -> Trained:
    """A model for tuning: with scorers, if the sample's cells are encoded, otherwise with evidence."""
    if sample.encoded is None:
        if sample.stride == 1 and not whole_numbers([sample.mass, model.class_weights]):
            evidence = sample.evidence(model)  # summed in the same way, so that differences are exactly 0
            return TrainedByEvidence(model.fitted_to(evidence, evidence))
        return TrainedByEvidence(model)
    found = TrainedByScorers(model, model.class_weights, sample.encoded.scorers)
    whole = float(sample.mass.sum()) == float(model.n)
    return found.without(sample, np.zeros(sample.rows, dtype=bool)) if whole else found  # sums become floats


@dataclass(frozen=True, eq=False)
class TrainedByEvidence(Trained):
    """A model whose rows are summarised, and their evidence subtracted: this works for all models."""

    model: Any
    in_cells: bool = True

    @property
    def class_weights(self) -> Array:  # type: ignore[override]
        found: Array = self.model.class_weights
        return found

    def without_cells(self) -> TrainedByEvidence:
        return replace(self, in_cells=False)

    def without(self, sample: Sample, gone: NDArray[np.bool_]) -> TrainedByEvidence:
        evidence = sample.take(gone).evidence(self.model)
        return replace(self, model=self.model.fitted_to(self.model.seen.without(evidence), evidence))

    def left_out(self, sample: Sample, forms: Forms, settings: Settings) -> TermScores:
        """The scores of rows, each left out; by folds, if that takes a refit or if groups are held out together."""
        model = self.model
        if model.refits or sample.groups is not None:
            return self.by_folds(sample, forms, model.settings if model.refits else settings)
        likelihoods = model.terms_of(forms, settings).likelihoods
        return _scores(_terms(likelihoods), sample.mapped(LeftOutTerms(model, likelihoods), len(model.classes)))

    def held_out(self, sample: Sample, forms: Forms, settings: Settings) -> TermScores:
        model, terms = self.model, self._terms_of(forms, settings)
        return _scores(_terms(terms.likelihoods), sample.mapped(HeldOutTerms(model, terms), len(model.classes)))

    def _terms_of(self, forms: Forms, settings: Settings) -> Any:
        """The model's terms; the latest are kept, since held-out rows are scored with and without blanked cells."""
        for before, found in self._latest:
            if before == (forms, settings):
                return found
        found = self.model.terms_of(forms, settings)
        self._latest[:] = [((forms, settings), found)]
        return found

    @cached_property
    def _latest(self) -> list[tuple[tuple[Forms, Settings], Any]]:
        return []

    def log_bayes_factors(self, forms: Forms, settings: Settings) -> dict[ColumnTerm, float]:
        found: dict[ColumnTerm, float] = {}
        for form, likelihood in self.model.terms_of(forms, settings).likelihoods:
            if (columns := Averageable.of(likelihood)) is not None:
                each = columns.log_evidence() - columns.as_one().log_evidence()
                found |= {
                    ColumnTerm(form, name): float(value) for name, value in zip(likelihood.names, each, strict=True)
                }
        return found

    def missing_shares(self, sample: Sample, names: Sequence[str]) -> Array:
        return np.concatenate([missing_share(self.model, batch, names) for batch in sample.parts])


@dataclass(frozen=True, eq=False)
class ChosenColumns:
    """A scorer, the cells that it scores, and the chosen columns."""

    form: str
    base: Scorer
    settings: Settings | None  # None: those of the scorer
    cells: Cells
    places: Positions  # of the chosen columns

    @cached_property
    def scorer(self) -> Scorer:
        return self.base if self.settings is None else self.base.under(self.settings)


@dataclass(frozen=True, eq=False)
class TrainedByScorers(Trained):
    """A model whose rows are encoded, and subtracted as arrays."""

    model: Any
    class_weights: Array
    scorers: tuple[tuple[str, Scorer], ...]  # each with its form
    in_cells: bool = True

    def without_cells(self) -> TrainedByScorers:
        return replace(self, in_cells=False)

    def without(self, sample: Sample, gone: NDArray[np.bool_]) -> TrainedByScorers:
        assert sample.encoded is not None
        own, left = sample.member(len(self.class_weights)), dict[int, Scorer]()
        scorers = list[tuple[str, Scorer]]()
        for (form, scorer), i in zip(self.scorers, sample.encoded.which, strict=True):
            if form in CELL_FORMS and not self.in_cells:  # it won't be used
                scorers.append((form, scorer))
                continue
            new = scorer.knowing(left[i]) if i in left else scorer.without(sample.encoded.arrays[i], own, gone)
            left.setdefault(i, new)
            scorers.append((form, new))
        weights = self.class_weights - np.bincount(own.codes[gone], own.weight[gone], own.groups)
        return replace(self, class_weights=weights, scorers=tuple(scorers))

    def left_out(self, sample: Sample, forms: Forms, settings: Settings) -> TermScores:
        if sample.groups is not None:
            return self.by_folds(sample, forms, settings)
        chosen, own = list(self.chosen(sample, forms, settings).values()), sample.member(len(self.class_weights))
        found = [each.scorer.each_left_out(each.cells, own, each.places) for each in chosen]
        return self.scores_of(sample, chosen, found, left_out=True)

    def held_out(self, sample: Sample, forms: Forms, settings: Settings) -> TermScores:
        chosen = list(self.chosen(sample, forms, settings).values())
        return self.scores_of(
            sample, chosen, [each.scorer.each(each.cells, each.places) for each in chosen], left_out=False
        )

    def scores_of(
        self, sample: Sample, chosen: Sequence[ChosenColumns], found: Sequence[Array], left_out: bool
    ) -> TermScores:
        """Scores of rows, left out or held out, as found by the chosen scorers."""
        terms = tuple(ColumnTerm(each.form, name) for each in chosen for name in each.base.term_names(each.places))
        if left_out:
            log_prior = self._log_prior_left_out(sample.member(len(self.class_weights)))
        else:
            shape = (sample.rows, len(self.class_weights))
            log_prior = np.broadcast_to(self._log_prior(self.class_weights), shape)
        joined = np.concatenate([np.empty((*log_prior.shape, 0)), *found], axis=2)
        return _scores(terms, (joined, log_prior, sample.codes, sample.weight))

    def log_bayes_factors(self, forms: Forms, settings: Settings) -> dict[ColumnTerm, float]:
        found: dict[ColumnTerm, float] = {}
        for form, scorer in self.under(settings):
            each = scorer.log_bayes_factors()
            if each is not None:
                found |= factors_of(form, scorer.names, each.tolist(), forms)
        return found

    def shuffled(self, sample: Sample, salt: int) -> TrainedByScorers | None:
        own = sample.member(len(self.class_weights))
        if not np.array_equal(np.bincount(own.codes, own.weight, own.groups), self.class_weights):
            return None  # the evidence has more rows than the sample
        codes = np.empty_like(own.codes)
        codes[np.argsort(sample.prints)] = own.codes[np.argsort(mixed(sample.prints, salt))]
        other = Hard(codes, own.groups, own.weight)
        pairs = zip(self.scorers, _cells(sample), strict=True)
        found = ((form, scorer.reclassified(cells, other)) for (form, scorer), cells in pairs)
        scorers = tuple((form, scorer) for form, scorer in found if scorer is not None)
        return TrainedByScorers(self.model, np.bincount(codes, own.weight, own.groups).astype(np.float64), scorers)

    def missing_shares(self, sample: Sample, names: Sequence[str]) -> Array:
        assert sample.encoded is not None
        absent = sample.encoded.missing.copy()
        for (form, scorer), cells in zip(self.scorers, sample.encoded.cells, strict=True):
            if form == "category":
                absent[:, [sample.encoded.names[name] for name in scorer.names]] |= scorer.unseen(cells)
        chosen = [sample.encoded.names[name] for name in names]
        return np.asarray(absent[:, chosen].sum(1) / max(len(chosen), 1))

    def under(self, settings: Settings) -> list[tuple[str, Scorer]]:
        """The scorers under these settings, each with its form."""
        other = self._other(settings)
        return [(form, scorer if other is None else scorer.under(other)) for form, scorer in self.scorers]

    def _other(self, settings: Settings) -> Settings | None:
        """The settings, or None if they are the model's: scorers keep their results under these."""
        return None if settings == self.model.settings else settings

    def chosen(self, sample: Sample, forms: Forms, settings: Settings) -> dict[int, ChosenColumns]:
        """The scorers of these forms, by their position among all."""
        found, other, asked = {}, self._other(settings), {name: own for name, own in forms.items() if own}
        for slot, ((form, scorer), cells) in enumerate(zip(self.scorers, _cells(sample), strict=True)):
            places = [j for j, name in enumerate(scorer.names) if name in asked and form in asked[name]]
            if places:
                found[slot] = ChosenColumns(form, scorer, other, cells, np.array(places, dtype=np.intp))
        return found

    def joined(self, scorers: Sequence[Scorer]) -> Scorer | None:
        """Several scorers as one (see Scorer.beside), made once."""
        key = tuple(map(id, scorers))
        if key not in self._joined:
            self._joined[key] = scorers, scorers[0].beside(scorers)
        return self._joined[key][1]

    @cached_property
    def _joined(self) -> dict[tuple[int, ...], tuple[Sequence[Scorer], Scorer | None]]:
        return {}

    def _log_prior(self, n: Array) -> Array:
        found: Array = self.model.log_class_prior(n)
        return found

    def _log_prior_left_out(self, own: Hard) -> Array:
        """log P(class), each row left out. (rows, classes)"""
        if (own.weight == 1).all():  # rows of a class are alike
            return np.asarray(self._log_prior_less_one[own.codes])
        return self._log_prior_less(own.codes, own.weight)

    @cached_property
    def _log_prior_less_one(self) -> Array:
        """log P(class), one row of each class left out. (classes, classes)"""
        classes = len(self.class_weights)
        return self._log_prior_less(np.arange(classes), np.ones(classes))

    def _log_prior_less(self, codes: NDArray[np.integer], weight: Array) -> Array:
        """log P(class) without these rows, each left out by itself. (rows, classes)"""
        n, rows = np.repeat(self.class_weights[None], len(codes), axis=0), np.arange(len(codes))
        n[rows, codes] = np.maximum(n[rows, codes] - weight, 0.0)
        return self._log_prior(n)


@lru_cache(maxsize=16)
def terms_of_columns(form: str, names: tuple[str, ...]) -> tuple[ColumnTerm, ...]:
    """The terms of columns in one form, kept: all folds need them, and columns may be thousands."""
    return tuple(ColumnTerm(form, name) for name in names)


def factors_of(form: str, names: tuple[str, ...], values: Sequence[float], forms: Forms) -> dict[ColumnTerm, float]:
    """The values of columns in one form, for those that are asked for in that form."""
    pairs = zip(terms_of_columns(form, names), values, strict=True)
    return {term: value for term, value in pairs if form in forms.get(term.name, ())}


def _cells(sample: Sample) -> tuple[Cells, ...]:
    assert sample.encoded is not None
    return sample.encoded.cells


def _terms(likelihoods: Sequence[tuple[str, Likelihood]]) -> tuple[ColumnTerm, ...]:
    return tuple(ColumnTerm(form, name) for form, each in likelihoods for name in Weighable.needed(each).term_names)


def _scores(terms: tuple[ColumnTerm, ...], found: Sequence[NDArray[Any]]) -> TermScores:
    """Finite scores from (log-likelihoods, log prior, codes, weights)."""
    scores, log_prior, codes, weight = found
    texts = np.array([term.form in TEXT_FORMS for term in terms], dtype=bool)
    for j in np.flatnonzero(texts):
        scores[:, :, j] = centred(_bounded(scores[:, :, j]))
    if not texts.all():
        others = slice(None) if not texts.any() else ~texts
        scores[:, :, others] = _within(scores[:, :, others])
    return TermScores(terms, scores, _within(log_prior), codes.astype(np.int32), weight)


def _within(log_values: Array) -> Array:
    """Log-values at most LEAST_SCORE below the row's largest, whatever the units."""
    top = over_short(np.maximum, log_values, axis=1)
    return np.asarray(np.maximum(log_values, np.where(np.isneginf(top), 0.0, top) + LEAST_SCORE))


def centred(scores: Array) -> Array:
    """Scores minus their mean over classes, which is large and uninformative for a long text."""
    return less_mean(scores, axis=1)


def _bounded(scores: Array) -> Array:
    """Scores relative to the row's largest, with impossible classes at the row's lowest score or LEAST_SCORE."""
    known = np.isfinite(scores)
    top = np.where(known, scores, -np.inf).max(1, keepdims=True)
    below = scores - np.where(np.isfinite(top), top, 0.0)
    least = np.minimum(np.where(known, below, 0.0).min(1, keepdims=True), LEAST_SCORE)
    return np.where(known, below, least)
