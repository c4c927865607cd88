"""The best model of one kind, as `credo learn --model ...` asks for: chosen and reported as credo.learn does it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from credo.choose import EXPLAINED, Read, Report, Tried
from credo.data import Source, source
from credo.data.profile import profile
from credo.errors import DataError, EvidenceError
from credo.families.normal_inverse_wishart import Covariance
from credo.learning import Weight, Weights
from credo.metrics import Scores
from credo.models.classifier import Classifier
from credo.models.discriminant import GaussianDiscriminant
from credo.models.explaining import contributions
from credo.models.naive_bayes import NaiveBayes
from credo.models.tuning import FOLDS, scored
from credo.models.weighing import weighed

CROSSED = 10  # folds


def learn_naive_bayes(data: object, target: str, *, kinds: Any = None, weight: Weight = None, seed: int = 0) -> Any:
    """Naive Bayes, as fitted or tuned.

    >>> rows = {"x": [1.0, 1.2, 0.9, 3.1, 2.9, 3.0] * 3, "y": ["a", "a", "a", "b", "b", "b"] * 3}
    >>> learn_naive_bayes(rows, target="y").predict({"x": [1.1, 2.8]}).tolist()
    ['a', 'b']
    """
    start, table = time.perf_counter(), source(data)
    plain = _fitted(NaiveBayes(kinds=kinds), table, target, weight)
    tuned = plain.tune(table, weight=weight, seed=seed)
    found = {
        "naive Bayes, tuned": (tuned, _foreseen(tuned, table, weight, seed)),
        "naive Bayes as fitted": (plain, plain.leave_one_out(table, weight=weight)),
    }
    return _winner(found, table, weight, start)


def learn_gaussian(data: object, target: str, *, kinds: Any = None, weight: Weight = None, seed: int = 0) -> Any:
    """One Gaussian for each class, with the covariance that foresees folds best; untuned.

    >>> rows = {"x": [1.0, 1.2, 0.9, 3.1, 2.9, 3.0] * 3, "y": ["a", "a", "a", "b", "b", "b"] * 3}
    >>> learn_gaussian(rows, target="y").predict({"x": [1.1, 2.8]}).tolist()
    ['a', 'b']
    """
    start, table, found = time.perf_counter(), source(data), {}
    folds = min(CROSSED, profile(table, [target])[target].rows)
    for covariance in get_args(Covariance):
        model = _fitted(GaussianDiscriminant(covariance, kinds=kinds), table, target, weight)
        scores = model.cross_validate(table, folds, weight=weight, seed=seed)
        found[f"Gaussian, {covariance} covariance"] = (model, scores)
    return _winner(found, table, weight, start)


def _fitted(model: Any, table: Source, target: str, weight: Weight) -> Any:
    if table.once:
        raise DataError("learning reads the data several times, and an iterator can be read only once: give a table")
    model = model.fit(table, target=target, weight=weight)
    if len(model.classes) < 2:
        one = f"column {target!r} holds one class only, {model.classes[0]!r}"
        raise EvidenceError(f"{one}: there is nothing to tell apart")
    return model


def _foreseen(model: Any, table: Source, weight: Weight, seed: int) -> Scores:
    """By leave-one-out, and by weights that other folds gave."""
    tuning = model.tuning
    sheet = scored(model, table, Weights.of(weight), tuning.forms, tuning.applied_to(model.settings))
    _, shown = weighed(sheet, None, FOLDS, seed)
    return Scores(model.classes, np.log(shown), sheet.truth.astype(np.intp), sheet.weight, "leave-one-out")


def _winner(found: Mapping[str, tuple[Any, Scores]], table: Source, weight: Weight, start: float) -> Any:
    tried = [Tried(name, scores.log_loss, scores.accuracy) for name, (_, scores) in found.items()]
    tried = sorted(tried, key=lambda each: each.log_loss)
    best, second = tried[:2]
    model, scores = found[best.name]
    next_best = f"next: {second.name}, {second.log_loss:.4f}"
    report = Report(
        str(model.target),
        model.n,
        model.unlabelled,
        _columns(model, table, weight),
        tuple(tried),
        f"{best.name}: its log-loss on rows left out is {best.log_loss:.4f} ({next_best})",
        scores,
        time.perf_counter() - start,
    )
    return replace(model, report=report)


def _columns(model: Classifier, table: Source, weight: Weight) -> tuple[Read, ...]:
    names = [name for name in table.names if name not in (model.target, weight)]
    profiles, sizes = profile(table, names), contributions(model, table, EXPLAINED)
    chosen = model.views if model.tuning is None else model.tuning.forms
    kinds = {"category": "category", "count": "count"}
    found = []
    for name in names:
        asked = (model.kinds or {}).get(name, profiles[name].kind)
        kind = kinds.get(model.views[name][0], "number") if name in model.views else str(asked)
        forms = " + ".join(chosen.get(name, ()))
        found.append(Read(name, kind, forms, profiles[name].missing_share, sizes.get(name, 0.0)))
    return tuple(found)
