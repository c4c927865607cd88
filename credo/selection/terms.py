"""What each term of a model says of held-out rows: the log-likelihoods that tuning weighs.

A term is a column in one of its forms, or a block of columns that are read together. Rows of the evidence are left out
one by one, in closed form; rows of a held-out fold are scored by the evidence of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import Independent, Likelihood, Settings
from credo.core.membership import Codes
from credo.models.forms import TEXT_FORMS
from credo.numerics.exact import Array
from credo.selection.sample import Piece, Sample

IMPOSSIBLE = -1e3  # nats: a weight of 0 must be able to silence what no class allows
INNER_FOLDS = 10  # by which rows are scored that can't be left out one by one

Forms = Mapping[str, Sequence[str]]


class Term(NamedTuple):
    form: str
    name: str  # of the column, or ALL


@dataclass(frozen=True, eq=False)
class TermScores:
    """log p(cells | class) of each term, for rows that the evidence behind it doesn't hold."""

    terms: tuple[Term, ...]
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
        """Some of the terms."""
        kept = list(places)
        return replace(
            self, terms=tuple(self.terms[j] for j in kept), log_likelihood=self.log_likelihood[:, :, kept]
        )

    def of(self, terms: Sequence[Term]) -> TermScores:
        places = {term: j for j, term in enumerate(self.terms)}
        return self.only([places[term] for term in terms])

    def named(self, name: str) -> TermScores:
        """The terms of one column."""
        return self.only([j for j, term in enumerate(self.terms) if term.name == name])

    def take(self, rows: NDArray[np.bool_]) -> TermScores:
        parts = (self.log_likelihood[rows], self.log_prior[rows], self.truth[rows], self.weight[rows])
        return TermScores(self.terms, *parts)


def beside(scores: Sequence[TermScores]) -> TermScores:
    """What several say of the same rows."""
    terms = tuple(term for each in scores for term in each.terms)
    return replace(scores[0], terms=terms, log_likelihood=np.concatenate([s.log_likelihood for s in scores], axis=2))


def left_out_scores(model: Any, sample: Sample, forms: Forms, settings: Settings) -> TermScores:
    """Of rows of the evidence, each as if it weren't there; by folds, where leaving one out means a refit."""
    if model.refits:
        return _by_folds(model, sample, forms)
    likelihoods = model.terms_of(forms, settings).likelihoods

    def of_piece(piece: Piece) -> tuple[NDArray[Any], ...]:
        batch, own = piece.batch.filled(model.views), piece.own
        found = [each.each_nearly_left_out(each.read(batch), own) for _, each in likelihoods]
        return _beside(found, piece), model.log_prior_left_out(own), own.codes, piece.weight

    return _scores(likelihoods, sample.mapped(of_piece, len(model.classes)))


def held_out_scores(model: Any, sample: Sample, forms: Forms, settings: Settings) -> TermScores:
    """Of rows that the evidence doesn't hold."""
    terms = model.terms_of(forms, settings)

    def of_piece(piece: Piece) -> tuple[NDArray[Any], ...]:
        batch, own, shape = piece.batch.filled(model.views), piece.own, (piece.rows, piece.own.groups)
        found = [each.each(each.read(batch), shape) for _, each in terms.likelihoods]
        return _beside(found, piece), np.broadcast_to(terms.log_prior, shape), own.codes, piece.weight

    return _scores(terms.likelihoods, sample.mapped(of_piece, len(model.classes)))


def _beside(found: Sequence[Array], piece: Piece) -> Array:
    return np.concatenate([np.empty((piece.rows, piece.own.groups, 0)), *found], axis=2)


def without(model: Any, sample: Sample) -> Any:
    """The model without these rows; their classes stay known."""
    evidence = sample.evidence(model)
    return model.taught_by(model.seen.without(evidence), evidence)


def log_bayes_factors(model: Any, forms: Forms, settings: Settings) -> dict[Term, float]:
    """log p(cells | classes)/p(cells) of each column by itself: whether it depends on the class.

    Unlike a score of left-out rows, it looks good by chance only as rarely as its size says.
    """
    found: dict[Term, float] = {}
    for form, likelihood in model.terms_of(forms, settings).likelihoods:
        if isinstance(likelihood, Independent):
            each = likelihood.log_evidence() - likelihood.as_one().log_evidence()
            found |= {Term(form, name): float(value) for name, value in zip(likelihood.names, each, strict=True)}
    return found


def _scores(likelihoods: Sequence[tuple[str, Likelihood]], found: Sequence[NDArray[Any]]) -> TermScores:
    terms = tuple(Term(form, name) for form, likelihood in likelihoods for name in likelihood.voices)
    scores, log_prior, codes, weight = found
    for j, term in enumerate(terms):
        each = scores[:, :, j]
        scores[:, :, j] = centred(_bounded(each)) if term.form in TEXT_FORMS else _within(each)
    return TermScores(terms, scores, _within(log_prior), codes.astype(np.int32), weight)


def _within(log_values: Array) -> Array:
    """What is impossible is very improbable beside the row's most probable class; so it doesn't depend on units."""
    top = log_values.max(1, keepdims=True)
    return np.asarray(np.maximum(log_values, np.where(np.isneginf(top), 0.0, top) + IMPOSSIBLE))


def _by_folds(model: Any, sample: Sample, forms: Forms) -> TermScores:
    count = max(2, min(INNER_FOLDS, sample.rows))
    fold = sample.folds(count, seed=0)
    order, parts = [], []
    for k in range(count):
        rows = fold == k
        if rows.any():
            part = sample.take(rows)
            taught = without(model, part)
            parts.append(held_out_scores(taught, part, forms, taught.settings))
            order.append(np.flatnonzero(rows))
    place = np.argsort(np.concatenate(order))
    arrays = [[p.log_likelihood, p.log_prior, p.truth, p.weight] for p in parts]
    joined = [np.concatenate(each)[place] for each in zip(*arrays, strict=True)]
    return TermScores(parts[0].terms, *joined)


def centred(scores: Array) -> Array:
    """Less what all classes share: for a long text it is large, and tells nothing."""
    return np.asarray(scores - scores.mean(1, keepdims=True))


def _bounded(scores: Array) -> Array:
    """Log-likelihoods of texts are far below 0: what is impossible is a little below all that a row allows."""
    known = np.isfinite(scores)
    top = np.where(known, scores, -np.inf).max(1, keepdims=True)
    below = scores - np.where(np.isfinite(top), top, 0.0)
    least = np.minimum(np.where(known, below, 0.0).min(1, keepdims=True), IMPOSSIBLE)
    return np.where(known, below, least)
