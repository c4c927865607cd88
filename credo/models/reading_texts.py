"""How tuning reads texts: the settings of odds, and which likelihood speaks beside them, if any.

All is chosen by what it foresees of a few thousand documents that are left out one by one. Of long texts, odds and
pairs say all that there is to say; of short ones, which words are there and which aren't may say more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from credo.blocks.block import Settings
from credo.blocks.odds import DOUBTS, POWERS
from credo.data import Batch, Source
from credo.engines import local
from credo.learning import Weights
from credo.models.forms import ODDS_FORMS, WORD_FORMS, Views
from credo.models.sheets import beside, centred, gains, row_count, sampled, scored
from credo.models.weighing import Sheet, losses_at_modes, losses_of_rows

CELLS, ROWS = 40_000, (500, 6000)  # of documents and classes, on which is chosen; the fewest and the most documents
CLEARLY = 2.0  # standard errors by which a likelihood must be better where documents are many: it takes long, too
CHOICES = tuple(product(DOUBTS, POWERS))
SMOOTHING = 0.1  # under which likelihoods are judged: 1, the usual, is far too much for most, and tuning lowers it


def chosen_readings(model: Any, table: Source, weights: Weights) -> tuple[Settings, dict[str, tuple[str, ...]]]:
    """Settings that have those of odds; of each column of texts, the forms that may speak."""
    texts = {name: views for name, views in model.views.items() if any(form in ODDS_FORMS for form in views)}
    if not texts:
        return model.settings, {}
    rows = int(np.clip(CELLS // len(model.classes), *ROWS))
    stride = max(1, int(np.ceil(row_count(model, table, weights) / rows)))
    odds, settled = _settled(model, table, weights, _only(texts, ODDS_FORMS), stride)
    settings, words = replace(model.settings, odds=odds), _only(texts, WORD_FORMS)
    smoothed = settings.smoothing if settings.estimate == "map" else min(settings.smoothing, SMOOTHING)
    sheet = scored(model, table, weights, words, replace(settings, smoothing=smoothed), stride)
    readings = {}
    for name, views in texts.items():
        likelihood = _likelihood(sheet.of(name), settled.of(name), CLEARLY if stride > 1 else 0.0)
        readings[name] = (*likelihood, *(form for form in views if form in ODDS_FORMS))
    return settings, readings


def _only(views: Views, forms: Sequence[str]) -> Views:
    return {name: tuple(form for form in own if form in forms) for name, own in views.items()}


def _settled(
    model: Any, table: Source, weights: Weights, forms: Views, stride: int
) -> tuple[dict[str, tuple[float, float]], Sheet]:
    """The c and p of words and of pairs that foresee best by themselves, and what they say then."""
    terms = model.terms_of(forms, model.settings)

    def of_batch(batch: Batch) -> tuple[Any, ...]:
        batch, own = model.members(*sampled(batch, weights, stride))
        batch = batch.filled(model.views)
        said = [each.scores(each.read(batch), own, DOUBTS, POWERS) for _, each in terms.likelihoods]
        return (*said, model.log_prior_left_out(own), own.codes, own.weight)

    names = weights.beside(model.needs(table.without(weights.column)))
    parts = zip(*local.mapped(of_batch, table.batches(names)), strict=True)
    *said, prior, truth, weight = (np.concatenate(part) for part in parts)
    odds, best = {}, []
    for (form, likelihood), each in zip(terms.likelihoods, said, strict=True):
        each = centred(each.reshape(*each.shape[:2], len(CHOICES)))
        sheets = [
            Sheet(each[:, :, m : m + 1], prior, truth, weight, ((form, likelihood.block.name),), (0,), stride)
            for m in range(len(CHOICES))
        ]
        m = int(np.argmin(losses_at_modes(sheets)))
        odds[likelihood.block.axis] = CHOICES[m]
        best.append(sheets[m])
    return odds, beside(best)


def _likelihood(sheet: Sheet, odds: Sheet, errors: float) -> tuple[str, ...]:
    """That which foresees best beside the odds; none, unless it gains more than so many standard errors."""
    best: tuple[str, ...] = ()
    losses = losses_of_rows(odds)
    for j, (form, _) in enumerate(sheet.voices):
        own = losses_of_rows(beside([sheet.only([j]), odds]))
        if gains(losses - own, odds.weight, errors):
            best, losses = (form,), own
    return best
