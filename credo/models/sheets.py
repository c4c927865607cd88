"""Sheets of what each voice says of rows that hadn't taught it: they are left out one by one, or fold by fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credo.blocks.block import ALL, Settings
from credo.data import Batch, Source
from credo.engines import local
from credo.evidence import Evidence
from credo.exact import Array
from credo.learning import Weights, fold_scores
from credo.models.forms import TEXT_FORMS, Views
from credo.models.weighing import Sheet, chosen_rows
from credo.notices import tell
from credo.statistics import ALONE

ROWS, CELLS = 20_000, 4_000_000  # of a sheet: more rows are sampled
OUT_OF_FOLD = (10, 5)  # folds by which rows are scored that can't be left out one by one: of few rows, of many
IMPOSSIBLE = -1e3  # nats


def scored(
    model: Any, table: Source, weights: Weights, forms: Views, settings: Settings, stride: int | None = None
) -> Sheet:
    """What each voice says of rows that are left out one by one; of a sample, where there are many."""
    terms = model.terms_of(forms, settings)
    voices = [(form, name) for form, likelihood in terms.likelihoods for name in likelihood.voices]
    every = stride or sample_stride(model, table, weights, len(voices))

    def of_batch(batch: Batch) -> tuple[Array, Array, Any, Array]:
        batch, own = model.members(*sampled(batch, weights, every))
        batch = batch.filled(model.views)
        said = np.zeros((batch.rows, len(model.classes), len(voices)))
        j = 0
        for _, likelihood in terms.likelihoods:
            cells = likelihood.read(batch)
            for v in range(len(likelihood.voices)):
                out = np.zeros(said.shape[:2])
                likelihood.pick([v]).add_left_out(likelihood.cells_of(cells, [v]), own, out)
                said[:, :, j] = centred(bounded(out)) if voices[j][0] in TEXT_FORMS else out
                j += 1
        return said, model.log_prior_left_out(own), own.codes, own.weight

    names = weights.beside(model.needs(table.without(weights.column)))
    parts = list(local.mapped(of_batch, table.batches(names)))
    said, prior, truth, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    if (weight >= (1 - ALONE) * model.class_weights[truth]).all():
        tell("each class has one row: left out, none can be foreseen, so figures of how good it is say nothing")
    return Sheet(_finite(said), prior, truth, weight, tuple(voices), _groups(voices), every)


def crossed(model: Any, table: Source, weight: Any, forms: Views, seed: int, stride: int = 1) -> tuple[Sheet, Evidence]:
    """What each voice says of (every so many) rows by the other folds' evidence, and the evidence of all."""
    voices: list[tuple[str, str]] = []

    def score(taught: Any, batch: Batch, weights: Array) -> tuple[Any, ...]:
        terms, batch = taught.terms_of(forms, taught.settings), batch.filled(model.views)
        said: dict[tuple[str, str], Array] = {}
        for form, likelihood in terms.likelihoods:
            cells = likelihood.read(batch)
            for v, name in enumerate(likelihood.voices):
                said[form, name] = out = np.zeros((batch.rows, len(taught.classes)))
                likelihood.pick([v]).add(likelihood.cells_of(cells, [v]), out)
        voices[:] = said
        prior = np.broadcast_to(terms.log_prior, (batch.rows, len(taught.classes)))
        return np.stack(list(said.values()), axis=2), prior, taught.codes_of(batch), weights

    def chosen(batch: Batch) -> Any:
        return chosen_rows(batch.start, batch.rows, stride)

    count = row_count(model, table, Weights.of(weight))
    folds = max(2, min(OUT_OF_FOLD[count > ROWS], count))
    (said, prior, codes, weights), evidence = fold_scores(model, table, folds, weight, seed, score, chosen=chosen)
    kept = (codes >= 0) & (weights > 0)
    rows = (_finite(said[kept]), prior[kept], codes[kept], weights[kept])
    return Sheet(*rows, tuple(voices), _groups(voices), stride), evidence


def beside(sheets: Sequence[Sheet]) -> Sheet:
    """What several say of the same rows."""
    groups: list[int] = []
    for sheet in sheets:
        first = max(groups, default=-1) + 1
        groups += [first + each for each in sheet.groups]
    said = np.concatenate([sheet.said for sheet in sheets], axis=2)
    voices = tuple(voice for sheet in sheets for voice in sheet.voices)
    return replace(sheets[0], said=said, voices=voices, groups=tuple(groups))


def gains(gain: Array, weight: Array, errors: float = 1.0) -> bool:
    """Whether rows gain more than so many standard errors: chance makes one of many look good."""
    mean = np.average(gain, weights=weight)
    size = weight.sum() ** 2 / (weight**2).sum()  # so many rows of equal weight would say as much
    return bool(mean > errors * np.sqrt(np.average((gain - mean) ** 2, weights=weight) / size))


def sample_stride(model: Any, table: Source, weights: Weights, voices: int) -> int:
    """One of how many rows is scored."""
    rows = min(ROWS, max(100, CELLS // (len(model.classes) * max(voices, 1))))
    return max(1, int(np.ceil(row_count(model, table, weights) / rows)))


def row_count(model: Any, table: Source, weights: Weights) -> int:
    """How many rows there are, whatever they weigh."""
    if table.rows is not None:
        return table.rows
    if weights == Weights():
        learned: int = round(model.n + model.unlabelled)
        return learned
    return sum(batch.rows for batch in table.batches([str(model.target)]))


def sampled(batch: Batch, weights: Weights, stride: int) -> tuple[Batch, Weights]:
    """One of so many rows, with their weights."""
    rows = chosen_rows(batch.start, batch.rows, stride)
    own = weights.of_rows(batch)[rows]
    return replace(batch.take(rows), start=0), Weights(values=own)


def centred(said: Array) -> Array:
    """Less what is said of all classes alike, which of a long text is much and tells nothing."""
    return np.asarray(said - said.mean(1, keepdims=True))


def _finite(said: Array) -> Array:
    """What is impossible is very improbable: a weight of 0 must be able to silence it."""
    return np.where(np.isfinite(said), said, np.maximum(said, IMPOSSIBLE))


def bounded(said: Array) -> Array:
    """The same of texts, whose log-likelihoods are far below 0: impossible is less than all that a row allows."""
    known = np.isfinite(said)
    top = np.where(known, said, -np.inf).max(1, keepdims=True)
    below = said - np.where(np.isfinite(top), top, 0.0)
    least = np.minimum(np.where(known, below, 0.0).min(1, keepdims=True), IMPOSSIBLE)
    return np.where(known, below, least)


def _groups(voices: Sequence[tuple[str, str]]) -> tuple[int, ...]:
    """Columns by themselves are one group; each block of several is one of its own, and each form of texts."""
    blocks = list(dict.fromkeys(form for form, name in voices if name == ALL or form in TEXT_FORMS))
    groups = [1 + blocks.index(form) if form in blocks else 0 for form, name in voices]
    used = sorted(set(groups))
    return tuple(used.index(group) for group in groups)
