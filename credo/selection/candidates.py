"""The candidates of tuning: weightings of a model's terms, with the forms of its columns and its settings.

Every choice is made again without each fold, so that the fold's held-out rows score the choices, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from credo.blocks.block import ALL, Settings
from credo.models.forms import (
    CALENDAR_FORMS,
    CELL_FORMS,
    FAMILY_FORM,
    GAUSSIAN_FORMS,
    JOINT_FORMS,
    NUMBER_FORMS,
    TEXT_FORMS,
    WORD_FORMS,
)
from credo.numerics.arrays import over_short
from credo.numerics.exact import Array
from credo.numerics.logistic import LOOSE_TOLERANCE
from credo.selection.fold_requests import BayesFactorRequest, ScoreRequest
from credo.selection.lockstep import Run
from credo.selection.sample import Sample
from credo.selection.significance import clear_gain
from credo.selection.terms import ColumnTerm, Forms, TermScores, Trained, side_by_side
from credo.selection.text_tuning import chosen_texts, only_forms
from credo.selection.weighting import Group, Regression, Weighting, relevances

# Values tried besides the one asked for, in each direction as long as they help. (More smoothing helps columns with
# rare levels: these are known from a few rows each, and chance shows in them.)
OTHER_VALUES: dict[str, tuple[tuple[float, ...], ...]] = {
    "smoothing": ((0.1, 0.01), (10.0, 100.0)),
    "strength": ((10.0,),),
    "shrinkage": ((0.1, 0.01),),
}
FORMS_UNDER: dict[str, set[str]] = {  # forms whose log-likelihoods depend on a setting
    "smoothing": {"category", "binned", "coarse", *CALENDAR_FORMS, *WORD_FORMS},
    "strength": {"gaussian", "log", "count", "date"},
    "shrinkage": set(GAUSSIAN_FORMS),
}
SHUFFLED_ROWS = 500  # up to this many rows, Bayes factors are compared with those of shuffled classes
SHUFFLED_COLUMNS, MOST_SHUFFLES = 1000, 10  # shuffled columns that are wanted, and shuffles at most
UNUSUAL_FACTOR = 5.0  # nats: a calibrated log Bayes factor of noise exceeds it with a probability of at most e⁻⁵
LEAST_RELEVANCE = 0.02  # columns that depend on the class with a lower probability are dropped

ONE_WEIGHT, TIED, EVERY_TERM = "naive Bayes", "tied Gaussian", "individually weighted terms"
TERMS_AND_PAIRS = "all terms and pairs of columns"
DEPENDENCE_NAMES = {
    "tree": "tree-augmented naive Bayes",
    "one-dependence": "averaged one-dependence",
    FAMILY_FORM: "k-dependence",
}
FAST_FORMS = ("tree", FAMILY_FORM)  # dependence forms whose scoring takes time proportional to the columns
OTHER_BACKOFFS, BACKOFF_ROWS = (1.0,), 400  # tried besides the one asked for, on about this many rows
DEPENDENCE_CANDIDATES = frozenset(
    {TERMS_AND_PAIRS, *DEPENDENCE_NAMES.values()}
)  # candidates whose columns depend on each other


@dataclass(frozen=True, eq=False)
class Candidates:
    """Weightings of the same terms, under the same settings."""

    forms: dict[str, tuple[str, ...]]
    settings: Settings
    weightings: dict[str, Weighting]


def candidates(trained: Trained, sample: Sample, excess: Mapping[str, float] | None = None) -> Run[Candidates]:
    """Candidates from a sample's leave-one-out log-likelihoods; the excess is subtracted from log Bayes factors."""
    model = trained.model
    settings, text_forms, odds = chosen_texts(trained, sample)
    views = model.choices
    texts = only_forms(views, TEXT_FORMS) | text_forms
    columns = _single_column_forms(trained)
    relevance: dict[str, float] = {}
    if settings.estimate != "ml":
        factors = yield BayesFactorRequest(trained, columns, settings)
        relevance = relevances(_averaged(factors), excess or {})
    columns = {name: forms if relevance.get(name, 1.0) >= LEAST_RELEVANCE else () for name, forms in columns.items()}
    joint = only_forms(views, GAUSSIAN_FORMS)
    pairs = only_forms(views, CELL_FORMS if trained.in_cells else ())
    every = {name: (*columns[name], *texts[name], *joint[name]) for name in views}
    known = set() if odds is None else set(odds.terms)
    asked = {name: [form for form in own if ColumnTerm(form, name) not in known] for name, own in every.items()}
    scores = yield ScoreRequest(trained, sample, asked, settings)
    scores = scores if odds is None else side_by_side([scores, odds])
    chosen = chosen_forms(scores, columns)
    forms = {name: (*chosen[name], *texts[name], *joint[name]) for name in views}
    scores = scores.of([term for term in scores.terms if term.name == ALL or term.form in forms[term.name]])
    settings, scores, start = yield from _with_chosen_settings(trained, sample, forms, settings, scores, relevance)
    found = yield from _weightings(scores, relevance, start)
    if any(pairs.values()):
        settings = _with_backoff(trained, sample, pairs, settings)
        jointly = trained.left_out(sample, pairs, settings)
        both = side_by_side([scores, jointly]) if scores.terms else jointly
        found = (found if scores.terms else {}) | _weightings_of_pairs(both, relevance, found)
        forms = {name: (*own, *pairs[name]) for name, own in forms.items()}
    return Candidates(forms, settings, found)


def _with_backoff(trained: Trained, sample: Sample, pairs: Forms, settings: Settings) -> Settings:
    """The settings with the back-off that predicts a few rows best, by the forms that are fast to score."""
    fast = {name: [form for form in own if form in FAST_FORMS] for name, own in pairs.items()}
    some, found = sample.thinned(BACKOFF_ROWS), {}
    for value in (settings.backoff, *OTHER_BACKOFFS) if any(fast.values()) else ():
        scores = trained.left_out(some, fast, replace(settings, backoff=value))
        found[value] = np.average(
            Regression(scores, _groups(scores.terms, {}, own=False)).losses(), weights=some.weight
        )
    return replace(settings, backoff=min(found, key=lambda value: found[value])) if found else settings


def _weightings_of_pairs(
    scores: TermScores, relevance: Mapping[str, float], before: Mapping[str, Weighting]
) -> dict[str, Weighting]:
    """Weightings of each dependence form alone, and of all terms together."""
    found = {}
    for form, name in DEPENDENCE_NAMES.items():
        terms = tuple(term for term in scores.terms if term.form == form)
        if terms:
            found[name] = Regression(scores.of(terms), [Group(terms, np.ones(len(terms)))]).fitted()
    if len(scores.terms) > 1:
        tied = next((term for term in scores.terms if term.form == "tied"), None)
        regression = Regression(scores, _groups(scores.terms, relevance, own=True), mixed=tied)
        start = regression.continued(before[EVERY_TERM]) if EVERY_TERM in before else None
        found[TERMS_AND_PAIRS] = regression.fitted(_has_texts(scores), start)
    return found


def excess_of_factors(trained: Trained, sample: Sample) -> dict[str, float]:
    """How much log Bayes factors are too large: the log of their mean over shuffled classes, where that is positive.

    Priors and bins use the pooled rows, so Bayes factors of few rows are too large. The columns share one excess. A
    column far above it, such as one with many equal numbers, has a separate one.
    """
    columns, settings = _single_column_forms(trained), trained.model.settings
    if sample.rows > SHUFFLED_ROWS or settings.estimate == "ml":
        return {}
    shuffles = max(1, min(-(-SHUFFLED_COLUMNS // max(len(columns), 1)), MOST_SHUFFLES))
    others = [other for salt in range(shuffles) if (other := trained.shuffled(sample, salt)) is not None]
    if not others:
        return {}
    factors = [
        _averaged(each)
        for each in BayesFactorRequest.answers([BayesFactorRequest(other, columns, settings) for other in others])
    ]
    if not factors[0]:
        return {}
    means = _log_means(np.array([[each[name] for name in factors[0]] for each in factors]))
    usual = means[means <= UNUSUAL_FACTOR]
    shared = max(0.0, float(_log_means(usual))) if len(usual) else 0.0
    return {
        name: shared if mean <= UNUSUAL_FACTOR else float(mean) for name, mean in zip(factors[0], means, strict=True)
    }


def _single_column_forms(trained: Trained) -> dict[str, tuple[str, ...]]:
    """The forms of each column that read no other column."""
    views = trained.model.choices
    return only_forms(views, {form for own in set(views.values()) for form in own} - {*TEXT_FORMS, *JOINT_FORMS})


def _averaged(log_factors: Mapping[ColumnTerm, float]) -> dict[str, float]:
    """The log of each column's mean Bayes factor over its forms."""
    names = {name: j for j, name in enumerate(dict.fromkeys(term.name for term in log_factors))}
    forms = {form: i for i, form in enumerate(dict.fromkeys(term.form for term in log_factors))}
    at = np.array([(forms[form], names[name]) for form, name in log_factors], dtype=np.intp).reshape(-1, 2).T
    table = np.full((len(forms), len(names)), -np.inf)  # a Bayes factor of 0 where a column lacks the form
    table[*at] = list(log_factors.values())
    means = np.logaddexp.reduce(table, axis=0) - np.log(np.bincount(at[1], minlength=len(names)))
    return dict(zip(names, means.tolist(), strict=True))


def _log_means(logs: Array) -> Array:
    """The log of each column's mean."""
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)))


def chosen_forms(scores: TermScores, columns: Forms) -> dict[str, tuple[str, ...]]:
    """The form of each column that best predicts the class by itself.

    A more complex form must win by more than one standard error of the difference.
    """
    found = {name: tuple(forms) for name, forms in columns.items()}
    for ordered, names in _by_forms(columns).items():
        losses = [_losses(scores.of([ColumnTerm(form, name) for name in names])) for form in ordered]  # (columns, rows)
        least, best = losses[0], np.zeros(len(names), dtype=np.intp)
        for i, other in enumerate(losses[1:], 1):
            better = clear_gain(least - other, scores.weight)
            best, least = np.where(better, i, best), np.where(better[:, None], other, least)
        found |= {name: (ordered[i],) for name, i in zip(names, best, strict=True)}
    return found


def _by_forms(columns: Forms) -> dict[tuple[str, ...], list[str]]:
    """Columns with a choice of forms, by these forms in order of complexity."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, forms in columns.items():
        ordered = tuple(form for form in NUMBER_FORMS if form in forms)
        if len(ordered) > 1:
            found.setdefault(ordered, []).append(name)
    return found


def _losses(scores: TermScores) -> Array:
    """-log P(class) of each row by each term alone. (terms, rows)"""
    log_joint = scores.log_prior[:, :, None] + scores.log_likelihood
    top = over_short(np.maximum, log_joint, axis=1)
    own = log_joint[np.arange(scores.rows), scores.truth]
    log_joint -= top
    total = over_short(np.add, np.exp(log_joint, out=log_joint), axis=1)
    return np.asarray((np.log(total[:, 0]) + top[:, 0] - own).T)


def _with_chosen_settings(
    trained: Trained,
    sample: Sample,
    forms: Forms,
    settings: Settings,
    scores: TermScores,
    relevance: Mapping[str, float],
) -> Run[tuple[Settings, TermScores, Array | None]]:
    """Smoothing, strength and shrinkage as they predict best, chosen in turn; the scores under them; and the
    coefficients with one weight per group, if these were needed."""
    best: _SharedWeights | None = None
    for name, directions in OTHER_VALUES.items() if not trained.model.refits else ():
        depends = FORMS_UNDER[name]
        open_ = settings.m is None if name == "smoothing" else settings.estimate != "ml"
        own = [term for term in scores.terms if term.form in depends and (term.name == ALL) == (name == "shrinkage")]
        if not own or not open_:
            continue
        touched = {name: tuple(form for form in each if form in depends) for name, each in forms.items()}
        if best is None:
            best = yield from _with_shared_weights(scores, relevance)
        asked = getattr(settings, name)
        for values in directions:
            for value in values if getattr(settings, name) == asked else ():  # not if the other direction helped
                if value == asked:
                    continue
                other = replace(settings, **{name: value})  # type: ignore[arg-type]
                own_scores = yield ScoreRequest(trained, sample, touched, other)
                moved = scores.replaced(own_scores.of(own))
                found = yield from _with_shared_weights(moved, relevance)
                if found.loss >= best.loss:
                    break
                settings, scores, best = other, moved, found
    return settings, scores, None if best is None else best.theta


class _SharedWeights(NamedTuple):
    """The coefficients of terms with one weight per group, and their log-loss."""

    loss: float
    theta: Array


def _with_shared_weights(scores: TermScores, relevance: Mapping[str, float]) -> Run[_SharedWeights]:
    regression = Regression(scores, _groups(scores.terms, relevance, own=False))
    theta = yield regression.mode(tolerance=LOOSE_TOLERANCE)
    return _SharedWeights(float(np.average(regression.losses(theta), weights=scores.weight)), theta)


def _weightings(scores: TermScores, relevance: Mapping[str, float], start: Array | None) -> Run[dict[str, Weighting]]:
    """Naive Bayes, the tied Gaussian alone, and individually weighted terms."""
    joint = [term for term in scores.terms if term.form in JOINT_FORMS]
    columns = scores.of([term for term in scores.terms if term.form not in JOINT_FORMS])
    textual = _has_texts(scores)
    found = {}
    if columns.terms:
        groups = _groups(columns.terms, relevance, own=False)
        found[ONE_WEIGHT] = yield from Regression(columns, groups).fitting(label_noise=textual)
    tied = next((term for term in joint if term.form == "tied"), None)
    if tied is not None:
        alone = scores.of([tied])
        found[TIED] = yield from Regression(alone, [Group((tied,), np.ones(1))], mixed=tied).fitting()
    groups = _groups(scores.terms, relevance, own=True)
    if joint or any(len(group.terms) > 1 for group in groups):  # otherwise it equals the first
        regression = Regression(scores, groups, mixed=tied)
        begun = None if start is None else regression.widened(start)
        found[EVERY_TERM] = yield from regression.fitting(textual, begun)
    return found or {ONE_WEIGHT: Weighting((), np.zeros(0), np.zeros(scores.classes))}  # where no column is relevant


def _has_texts(scores: TermScores) -> bool:
    return any(term.form in TEXT_FORMS for term in scores.terms)


def _groups(terms: Sequence[ColumnTerm], relevance: Mapping[str, float], own: bool) -> list[Group]:
    """Groups of terms: all single columns are one, each joint block and each form of texts is another."""
    sets: dict[str, list[ColumnTerm]] = {}
    for term in terms:
        apart = term.name == ALL or term.form in (*TEXT_FORMS, *CELL_FORMS)
        sets.setdefault(term.form if apart else "", []).append(term)
    return [
        Group(tuple(each), np.array([relevance.get(term.name, 1.0) if not form else 1.0 for term in each]), own)
        for form, each in sets.items()
    ]
