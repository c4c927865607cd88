"""Tuning of text: the settings of log-odds, and the likelihood that is added, if any.

Choices use leave-one-out predictions of a few thousand documents. For long texts, log-odds of words and pairs carry all
the information; for short ones, the presence and absence of words may carry more.
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
from credo.selection.significance import CLEAR_ERRORS, clear_gain
from credo.selection.terms import ColumnTerm, Forms, TermScores, Trained, centred, side_by_side
from credo.selection.weighting import Group, Regression, losses_of_each

DOCUMENT_SCORES, CHOICE_DOCUMENTS = 40_000, (500, 6000)  # documents x classes for choices; fewest and most documents
COARSE_GRID: Grid = (0.25, 2.0, 16.0, 128.0, 1024.0), (0.0, 1.0, 2.0, 3.0)
COMPARED_SMOOTHING = 0.1  # of likelihoods while they are compared: the default of 1 is too much, and tuning lowers it


class ChosenTexts(NamedTuple):
    """The settings, with those of log-odds; the forms of text columns; and the log-odds of all rows, if computed."""

    settings: Settings
    forms: dict[str, tuple[str, ...]]
    odds: TermScores | None


def chosen_texts(trained: Trained, sample: Sample) -> ChosenTexts:
    """The settings of log-odds and the forms of text columns that predict best."""
    model = trained.model
    texts = {name: views for name, views in model.views.items() if any(form in ODDS_FORMS for form in views)}
    if not texts:
        return ChosenTexts(model.settings, {}, None)
    thin = sample.thinned(int(np.clip(DOCUMENT_SCORES // len(model.classes), *CHOICE_DOCUMENTS)))
    odds, best = _chosen_odds(model, thin, only_forms(texts, ODDS_FORMS))
    settings, words = replace(model.settings, odds=odds), only_forms(texts, WORD_FORMS)
    smoothed = settings.smoothing if settings.estimate == "map" else min(settings.smoothing, COMPARED_SMOOTHING)
    scores = trained.left_out(thin, words, replace(settings, smoothing=smoothed))
    chosen = {}
    for name, views in texts.items():
        likelihood = _likelihood(scores.named(name), best.named(name), CLEAR_ERRORS if thin.stride > 1 else 0.0)
        chosen[name] = (*likelihood, *(form for form in views if form in ODDS_FORMS))
    return ChosenTexts(settings, chosen, best if thin is sample else None)


def only_forms(views: Mapping[str, Sequence[str]], forms: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Each column's forms that are among `forms`."""
    found = {own: tuple(form for form in own if form in forms) for own in set(map(tuple, views.values()))}
    return {name: found[tuple(own)] for name, own in views.items()}


def _chosen_odds(model: Any, sample: Sample, forms: Forms) -> tuple[dict[Axis, tuple[float, float]], TermScores]:
    """The c and p of words and of pairs that predict best by themselves, and their scores.

    A coarse grid is searched on a quarter of the documents (at least 500), then a fine grid around its best on all.
    """
    likelihoods = model.terms_of(forms, model.settings).likelihoods
    rough = _best_of_grids(
        model,
        sample.thinned(max(-(-sample.rows // 4), CHOICE_DOCUMENTS[0])),
        likelihoods,
        [COARSE_GRID] * len(likelihoods),
    )
    found = _best_of_grids(model, sample, likelihoods, [_fine_grid(*setting) for setting, _ in rough])
    odds = {each.block.axis: setting for (_, each), (setting, _) in zip(likelihoods, found, strict=True)}
    return odds, side_by_side([scores for _, scores in found])


def _fine_grid(c: float, p: float) -> Grid:
    """A grid around a point, with half the coarse steps."""
    return (c / 8**0.5, c, c * 8**0.5), (p - 0.5, p, p + 0.5)


def _best_of_grids(
    model: Any, sample: Sample, likelihoods: Sequence[tuple[str, Any]], grids: Sequence[Grid]
) -> list[tuple[tuple[float, float], TermScores]]:
    """The c and p of each likelihood's grid that predict best, and their scores."""
    *grid_scores, prior, truth, weight = sample.mapped(GridScores(model, likelihoods, grids), len(model.classes))
    found = []
    for (form, likelihood), scores, grid in zip(likelihoods, grid_scores, grids, strict=True):
        points, term = list(product(*grid)), ColumnTerm(form, likelihood.block.name)
        every = TermScores((term,) * len(points), centred(scores.reshape(*scores.shape[:2], -1)), prior, truth, weight)
        best = int(np.argmin(losses_of_each(every) @ weight))
        found.append((points[best], every.only([best])))
    return found


def _losses(scores: TermScores) -> Array:
    """The log-loss of each row under the terms' best weights."""
    groups = [Group((term,), np.ones(1)) for term in scores.terms]
    return Regression(scores, groups).losses()


def _likelihood(scores: TermScores, odds: TermScores, errors: float) -> tuple[str, ...]:
    """The likelihood that adds most to log-odds, if its gain exceeds `errors` standard errors."""
    best: tuple[str, ...] = ()
    losses = _losses(odds)
    for j, term in enumerate(scores.terms):
        own = _losses(side_by_side([scores.only([j]), odds]))
        if clear_gain(losses - own, odds.weight, errors):
            best, losses = (term.form,), own
    return best
