"""How tuning reads texts: the settings of odds, and which likelihood is added to them, if any.

All is chosen by how well it predicts a few thousand documents that are left out one by one. For long texts, odds and
pairs carry all the information; for short ones, which words occur and which don't may carry more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import Settings
from credo.blocks.text.log_odds import DOUBTS, POWERS
from credo.data.schema import Axis
from credo.models.forms import ODDS_FORMS, WORD_FORMS
from credo.numerics.exact import Array
from credo.selection.sample import Piece, Sample
from credo.selection.terms import Forms, Term, TermScores, beside, centred, left_out_scores
from credo.selection.weighting import Group, Regression

CELLS, ROWS = 40_000, (500, 6000)  # of documents and classes, on which is chosen; the fewest and the most documents
CLEARLY = 2.0  # standard errors by which a likelihood must be better where documents are many: it takes time, too
CHOICES = tuple(product(DOUBTS, POWERS))
SMOOTHING = 0.1  # under which likelihoods are judged: 1, the usual, is far too much for most, and tuning lowers it


def chosen_readings(model: Any, sample: Sample) -> tuple[Settings, dict[str, tuple[str, ...]]]:
    """Settings that have those of odds; of each text column, the forms that may be used."""
    texts = {name: views for name, views in model.views.items() if any(form in ODDS_FORMS for form in views)}
    if not texts:
        return model.settings, {}
    thin = sample.thinned(int(np.clip(CELLS // len(model.classes), *ROWS)))
    odds, best = _chosen_odds(model, thin, _only(texts, ODDS_FORMS))
    settings, words = replace(model.settings, odds=odds), _only(texts, WORD_FORMS)
    smoothed = settings.smoothing if settings.estimate == "map" else min(settings.smoothing, SMOOTHING)
    scores = left_out_scores(model, thin, words, replace(settings, smoothing=smoothed))
    readings = {}
    for name, views in texts.items():
        likelihood = _likelihood(scores.named(name), best.named(name), CLEARLY if thin.stride > 1 else 0.0)
        readings[name] = (*likelihood, *(form for form in views if form in ODDS_FORMS))
    return settings, readings


def _only(views: Mapping[str, Sequence[str]], forms: Sequence[str]) -> Forms:
    return {name: tuple(form for form in own if form in forms) for name, own in views.items()}


def _chosen_odds(model: Any, sample: Sample, forms: Forms) -> tuple[dict[Axis, tuple[float, float]], TermScores]:
    """The c and p of words and of pairs that predict best by themselves, and what they say then."""
    likelihoods = model.terms_of(forms, model.settings).likelihoods

    def of_piece(piece: Piece) -> tuple[NDArray[Any], ...]:
        batch, own = piece.batch.filled(model.views), piece.own
        said = [each.scores(each.read(batch), own, DOUBTS, POWERS) for _, each in likelihoods]
        return (*said, model.log_prior_left_out(own), own.codes, piece.weight)

    *said, prior, truth, weight = sample.mapped(of_piece, len(model.classes))
    odds, best = {}, []
    for (form, likelihood), each in zip(likelihoods, said, strict=True):
        each = centred(each.reshape(*each.shape[:2], len(CHOICES)))
        term = Term(form, likelihood.block.name)
        choices = [TermScores((term,), each[:, :, m : m + 1], prior, truth, weight) for m in range(len(CHOICES))]
        losses = [float(np.average(_losses(choice), weights=weight)) for choice in choices]
        m = int(np.argmin(losses))
        odds[likelihood.block.axis] = CHOICES[m]
        best.append(choices[m])
    return odds, beside(best)


def _losses(scores: TermScores) -> Array:
    """Of rows, by the terms at their best weights."""
    groups = [Group((term,), np.ones(1)) for term in scores.terms]
    return Regression(scores, groups).losses()


def _likelihood(scores: TermScores, odds: TermScores, errors: float) -> tuple[str, ...]:
    """The one that predicts best beside the odds; none, unless it gains more than so many standard errors."""
    best: tuple[str, ...] = ()
    losses = _losses(odds)
    for j, term in enumerate(scores.terms):
        own = _losses(beside([scores.only([j]), odds]))
        if gains(losses - own, odds.weight, errors):
            best, losses = (term.form,), own
    return best


def gains(gain: Array, weight: Array, errors: float = 1.0) -> bool:
    """Whether rows gain more than so many standard errors: chance makes one of many look good."""
    mean = np.average(gain, weights=weight)
    size = weight.sum() ** 2 / (weight**2).sum()  # as many rows of equal weight would tell as much
    return bool(mean > errors * np.sqrt(np.average((gain - mean) ** 2, weights=weight) / size))
