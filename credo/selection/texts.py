"""Tuning of text: the settings of log-odds, and which likelihood is added, if any.

Everything is chosen by leave-one-out predictions of a few thousand documents. For long texts, log-odds of words and
pairs carry all the information; for short ones, which words occur and which don't may carry more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from credo.blocks.block import Settings
from credo.data.schema import Axis
from credo.models.forms import ODDS_FORMS, WORD_FORMS
from credo.numerics.exact import Array
from credo.selection.jobs import Grid, GridScores
from credo.selection.sample import Sample
from credo.selection.terms import Forms, Term, TermScores, Trained, beside, centred
from credo.selection.weighting import Group, Regression, losses_of_each

CELLS, ROWS = 40_000, (500, 6000)  # documents x classes that choices are made on; the fewest and the most documents
CLEARLY = 2.0  # standard errors by which a likelihood must be better where documents are many: it takes time, too
COARSE: Grid = (0.25, 2.0, 16.0, 128.0, 1024.0), (0.0, 1.0, 2.0, 3.0)
SMOOTHING = 0.1  # of likelihoods that are compared: 1, the default, is far too much for most, and tuning lowers it


class Readings(NamedTuple):
    """The settings, with those of log-odds; the forms that each text column may have; and what log-odds say, where they
    were found of all rows."""

    settings: Settings
    forms: dict[str, tuple[str, ...]]
    odds: TermScores | None


def chosen_readings(trained: Trained, sample: Sample) -> Readings:
    model = trained.model
    texts = {name: views for name, views in model.views.items() if any(form in ODDS_FORMS for form in views)}
    if not texts:
        return Readings(model.settings, {}, None)
    thin = sample.thinned(int(np.clip(CELLS // len(model.classes), *ROWS)))
    odds, best = _chosen_odds(model, thin, only_forms(texts, ODDS_FORMS))
    settings, words = replace(model.settings, odds=odds), only_forms(texts, WORD_FORMS)
    smoothed = settings.smoothing if settings.estimate == "map" else min(settings.smoothing, SMOOTHING)
    scores = trained.left_out(thin, words, replace(settings, smoothing=smoothed))
    readings = {}
    for name, views in texts.items():
        likelihood = _likelihood(scores.named(name), best.named(name), CLEARLY if thin.stride > 1 else 0.0)
        readings[name] = (*likelihood, *(form for form in views if form in ODDS_FORMS))
    return Readings(settings, readings, best if thin is sample else None)


def only_forms(views: Mapping[str, Sequence[str]], forms: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Some of the forms of each column. Many columns have the same ones."""
    found = {own: tuple(form for form in own if form in forms) for own in set(map(tuple, views.values()))}
    return {name: found[tuple(own)] for name, own in views.items()}


def _chosen_odds(model: Any, sample: Sample, forms: Forms) -> tuple[dict[Axis, tuple[float, float]], TermScores]:
    """The c and p of words and of pairs that predict best by themselves, and their scores.

    A coarse grid is searched on a quarter of the documents (at least 500), then a fine one about its best point on all.
    """
    likelihoods = model.terms_of(forms, model.settings).likelihoods
    rough = _best_of_grids(
        model, sample.thinned(max(-(-sample.rows // 4), ROWS[0])), likelihoods, [COARSE] * len(likelihoods)
    )
    found = _best_of_grids(model, sample, likelihoods, [_about(*setting) for setting, _ in rough])
    odds = {each.block.axis: setting for (_, each), (setting, _) in zip(likelihoods, found, strict=True)}
    return odds, beside([scores for _, scores in found])


def _about(c: float, p: float) -> Grid:
    """The points half a coarse step away."""
    return (c / 8**0.5, c, c * 8**0.5), (p - 0.5, p, p + 0.5)


def _best_of_grids(
    model: Any, sample: Sample, likelihoods: Sequence[tuple[str, Any]], grids: Sequence[Grid]
) -> list[tuple[tuple[float, float], TermScores]]:
    """The c and p of each likelihood's grid that predict best, and their scores."""
    *said, prior, truth, weight = sample.mapped(GridScores(model, likelihoods, grids), len(model.classes))
    found = []
    for (form, likelihood), scores, grid in zip(likelihoods, said, grids, strict=True):
        points, term = list(product(*grid)), Term(form, likelihood.block.name)
        every = TermScores((term,) * len(points), centred(scores.reshape(*scores.shape[:2], -1)), prior, truth, weight)
        best = int(np.argmin(losses_of_each(every) @ weight))
        found.append((points[best], every.only([best])))
    return found


def _losses(scores: TermScores) -> Array:
    """The loss of each row, the terms having their best weights."""
    groups = [Group((term,), np.ones(1)) for term in scores.terms]
    return Regression(scores, groups).losses()


def _likelihood(scores: TermScores, odds: TermScores, errors: float) -> tuple[str, ...]:
    """The likelihood that adds most to log-odds; none, unless the gain exceeds `errors` standard errors."""
    best: tuple[str, ...] = ()
    losses = _losses(odds)
    for j, term in enumerate(scores.terms):
        own = _losses(beside([scores.only([j]), odds]))
        if gains(losses - own, odds.weight, errors):
            best, losses = (term.form,), own
    return best


def gains(gain: Array, weight: Array, errors: float = 1.0, held_out_ratio: float = 0.0) -> Any:
    """Whether the mean gain of rows exceeds so many standard errors: the best of many looks good by chance.

    gain: (..., rows); held_out_ratio: the ratio of held-out to training rows (see `variance_of_mean`)
    """
    share = weight / weight.sum()
    mean = gain @ share
    return mean > errors * np.sqrt(
        (1 + held_out_ratio) * ((gain - mean[..., None]) ** 2 @ share) / effective_size(weight)
    )


def effective_size(weight: Array) -> float:
    """Of rows whose weights differ: (Σw)²/Σw²"""
    return float(weight.sum() ** 2 / (weight**2).sum())
