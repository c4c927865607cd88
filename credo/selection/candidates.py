"""Candidates: ways to weight a model's terms, each with its forms and settings, from left-out rows.

Everything is chosen again for each fold, so the fold's rows also judge the choice.
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
from credo.numerics.exact import Array
from credo.numerics.logistic import ROUGHLY
from credo.selection.in_step import Run
from credo.selection.requests import Factors, ScoresOfTerms
from credo.selection.sample import Sample
from credo.selection.terms import Forms, Term, TermScores, Trained, beside
from credo.selection.texts import chosen_readings, gains, only_forms
from credo.selection.weighting import Group, Regression, Weighting, relevances

# What is tried beside what was asked for, less or more of it, while it helps. (More smoothing: rare levels of a column
# whose other levels tell the class are known from a few rows each, and chance shows in them.)
OTHERS: dict[str, tuple[tuple[float, ...], ...]] = {
    "smoothing": ((0.1, 0.01), (10.0, 100.0)),
    "strength": ((10.0,),),
    "shrinkage": ((0.1, 0.01),),
}
DEPENDING: dict[str, set[str]] = {  # forms whose log-likelihoods depend on a setting
    "smoothing": {"category", "binned", "coarse", *CALENDAR_FORMS, *WORD_FORMS},
    "strength": {"gaussian", "log", "count", "date"},
    "shrinkage": set(GAUSSIAN_FORMS),
}
FEW_ROWS = 500  # up to which Bayes factors are compared with those of shuffled classes
SHUFFLED, MOST_SHUFFLES = 1000, 10  # columns with shuffled classes that are wanted, and at most so often each
FAR = 5.0  # nats: a Bayes factor of noise is larger once in e⁵ times, if it is calibrated
IRRELEVANT = 0.02  # the probability of dependence on the class below which a column isn't looked at

ONE_WEIGHT, TIED, EVERY_TERM = "naive Bayes", "tied Gaussian", "individually weighted terms"
PAIRS_TOO = "all terms and pairs of columns"
ALONE = {
    "tree": "tree-augmented naive Bayes",
    "one-dependence": "averaged one-dependence",
    FAMILY_FORM: "k-dependence",
}
FAST = ("tree", FAMILY_FORM)  # of the forms in cells: they are scored in time proportional to the columns
BACKOFFS, FEW_TO_BACK_OFF = (1.0,), 400  # tried beside what was asked for, on about so many rows
OF_PAIRS = frozenset({PAIRS_TOO, *ALONE.values()})  # candidates whose columns depend on each other


@dataclass(frozen=True, eq=False)
class Candidates:
    """Weightings of the same terms: columns in their forms, under the same settings."""

    forms: dict[str, tuple[str, ...]]
    settings: Settings
    weightings: dict[str, Weighting]


def candidates(trained: Trained, sample: Sample, excess: Mapping[str, float] | None = None) -> Run[Candidates]:
    """The candidates from a sample's leave-one-out log-likelihoods.

    The excess of columns' log Bayes factors is taken from them.
    """
    model = trained.model
    settings, chosen_texts, odds = chosen_readings(trained, sample)
    views = model.choices
    texts = only_forms(views, TEXT_FORMS) | chosen_texts
    columns = _columns(trained)
    relevance: dict[str, float] = {}
    if settings.estimate != "ml":
        factors = yield Factors(trained, columns, settings)
        relevance = relevances(_averaged(factors), excess or {})
    columns = {name: forms if relevance.get(name, 1.0) >= IRRELEVANT else () for name, forms in columns.items()}
    joint = only_forms(views, GAUSSIAN_FORMS)
    pairs = only_forms(views, CELL_FORMS if trained.in_cells else ())
    every = {name: (*columns[name], *texts[name], *joint[name]) for name in views}
    known = set() if odds is None else set(odds.terms)
    asked = {name: [form for form in own if Term(form, name) not in known] for name, own in every.items()}
    scores = yield ScoresOfTerms(trained, sample, asked, settings)
    scores = scores if odds is None else beside([scores, odds])
    chosen = chosen_forms(scores, columns)
    forms = {name: (*chosen[name], *texts[name], *joint[name]) for name in views}
    scores = scores.of([term for term in scores.terms if term.name == ALL or term.form in forms[term.name]])
    settings, scores, start = yield from _resettled(trained, sample, forms, settings, scores, relevance)
    found = yield from _weightings(scores, relevance, start)
    if any(pairs.values()):
        settings = _with_backoff(trained, sample, pairs, settings)
        jointly = trained.left_out(sample, pairs, settings)
        together = beside([scores, jointly]) if scores.terms else jointly
        found = (found if scores.terms else {}) | _weightings_of_pairs(together, relevance, found)
        forms = {name: (*own, *pairs[name]) for name, own in forms.items()}
    return Candidates(forms, settings, found)


def _with_backoff(trained: Trained, sample: Sample, pairs: Forms, settings: Settings) -> Settings:
    """With the back-off that predicts best, as far as some rows tell, and the forms that are scored fast."""
    fast = {name: [form for form in own if form in FAST] for name, own in pairs.items()}
    few, found = sample.thinned(FEW_TO_BACK_OFF), {}
    for value in (settings.backoff, *BACKOFFS) if any(fast.values()) else ():
        scores = trained.left_out(few, fast, replace(settings, backoff=value))
        found[value] = np.average(Regression(scores, _groups(scores.terms, {}, own=False)).losses(), weights=few.weight)
    return replace(settings, backoff=min(found, key=lambda value: found[value])) if found else settings


def _weightings_of_pairs(
    scores: TermScores, relevance: Mapping[str, float], before: Mapping[str, Weighting]
) -> dict[str, Weighting]:
    """Each alone, and all terms together."""
    found = {}
    for form, name in ALONE.items():
        terms = tuple(term for term in scores.terms if term.form == form)
        if terms:
            found[name] = Regression(scores.of(terms), [Group(terms, np.ones(len(terms)))]).fitted()
    if len(scores.terms) > 1:
        tied = next((term for term in scores.terms if term.form == "tied"), None)
        regression = Regression(scores, _groups(scores.terms, relevance, own=True), mixed=tied)
        start = regression.continued(before[EVERY_TERM]) if EVERY_TERM in before else None
        found[PAIRS_TOO] = regression.fitted(_textual(scores), start)
    return found


def excess_of_factors(trained: Trained, sample: Sample) -> dict[str, float]:
    """The excess of log Bayes factors: log of their mean over shuffled classes, where that is above 0.

    Priors and bins know the pooled rows, so that Bayes factors of few rows are too large. What all columns have in
    common is taken from each. A column that is far beyond it, as one with many equal numbers, has an excess of its own.
    """
    columns, settings = _columns(trained), trained.model.settings
    if sample.rows > FEW_ROWS or settings.estimate == "ml":
        return {}
    shuffles = max(1, min(-(-SHUFFLED // max(len(columns), 1)), MOST_SHUFFLES))
    others = [other for salt in range(shuffles) if (other := trained.shuffled(sample, salt)) is not None]
    if not others:
        return {}
    factors = [_averaged(each) for each in Factors.answered([Factors(other, columns, settings) for other in others])]
    if not factors[0]:
        return {}
    means = _log_means(np.array([[each[name] for name in factors[0]] for each in factors]))
    usual = means[means <= FAR]
    shared = max(0.0, float(_log_means(usual))) if len(usual) else 0.0
    return {name: shared if mean <= FAR else float(mean) for name, mean in zip(factors[0], means, strict=True)}


def _columns(trained: Trained) -> dict[str, tuple[str, ...]]:
    """The forms in which each column is read by itself."""
    views = trained.model.choices
    return only_forms(views, {form for own in set(views.values()) for form in own} - {*TEXT_FORMS, *JOINT_FORMS})


def _averaged(log_factors: Mapping[Term, float]) -> dict[str, float]:
    """Bayes factors of columns, averaged over their forms."""
    names = {name: j for j, name in enumerate(dict.fromkeys(term.name for term in log_factors))}
    forms = {form: i for i, form in enumerate(dict.fromkeys(term.form for term in log_factors))}
    at = np.array([(forms[form], names[name]) for form, name in log_factors], dtype=np.intp).reshape(-1, 2).T
    table = np.full((len(forms), len(names)), -np.inf)  # of a form that a column doesn't have: a factor of 0
    table[*at] = list(log_factors.values())
    means = np.logaddexp.reduce(table, axis=0) - np.log(np.bincount(at[1], minlength=len(names)))
    return dict(zip(names, means.tolist(), strict=True))


def _log_means(logs: Array) -> Array:
    """log of the mean of each column."""
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)))


def chosen_forms(scores: TermScores, columns: Forms) -> dict[str, tuple[str, ...]]:
    """For each column the form that best predicts the class alone.

    A less simple one must win by more than a standard error of the difference.
    """
    found = {name: tuple(forms) for name, forms in columns.items()}
    for ordered, names in _by_forms(columns).items():
        losses = [_losses(scores.of([Term(form, name) for name in names])) for form in ordered]  # (columns, rows)
        least, best = losses[0], np.zeros(len(names), dtype=np.intp)
        for i, other in enumerate(losses[1:], 1):
            better = gains(least - other, scores.weight)
            best, least = np.where(better, i, best), np.where(better[:, None], other, least)
        found |= {name: (ordered[i],) for name, i in zip(names, best, strict=True)}
    return found


def _by_forms(columns: Forms) -> dict[tuple[str, ...], list[str]]:
    """Columns that have a choice of forms, by what there is to choose from, the plainest first."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, forms in columns.items():
        ordered = tuple(form for form in NUMBER_FORMS if form in forms)
        if len(ordered) > 1:
            found.setdefault(ordered, []).append(name)
    return found


def _losses(scores: TermScores) -> Array:
    """-log P(class) of each row by each term alone. (terms, rows)"""
    log_joint = scores.log_prior[:, :, None] + scores.log_likelihood
    top = log_joint.max(1)
    own = log_joint[np.arange(scores.rows), scores.truth]
    log_joint -= top[:, None]
    return np.asarray((np.log(np.exp(log_joint, out=log_joint).sum(1)) + top - own).T)


def _resettled(
    trained: Trained,
    sample: Sample,
    forms: Forms,
    settings: Settings,
    scores: TermScores,
    relevance: Mapping[str, float],
) -> Run[tuple[Settings, TermScores, Array | None]]:
    """With smoothing, strength and shrinkage, one after the other, as they predict best; and the coefficients of one
    weight a group, if they were needed."""
    best: _OneWeight | None = None
    for name, ways in OTHERS.items() if not trained.model.refits else ():
        depends = DEPENDING[name]
        open_ = settings.m is None if name == "smoothing" else settings.estimate != "ml"
        own = [term for term in scores.terms if term.form in depends and (term.name == ALL) == (name == "shrinkage")]
        if not own or not open_:
            continue
        touched = {name: tuple(form for form in each if form in depends) for name, each in forms.items()}
        if best is None:
            best = yield from _one_weight(scores, relevance)
        asked = getattr(settings, name)
        for values in ways:
            for value in values if getattr(settings, name) == asked else ():  # else the other way helped
                if value == asked:
                    continue
                other = replace(settings, **{name: value})  # type: ignore[arg-type]
                own_scores = yield ScoresOfTerms(trained, sample, touched, other)
                moved = scores.replaced(own_scores.of(own))
                found = yield from _one_weight(moved, relevance)
                if found.loss >= best.loss:
                    break
                settings, scores, best = other, moved, found
    return settings, scores, None if best is None else best.theta


class _OneWeight(NamedTuple):
    """How well terms predict with one weight a group, and its coefficients."""

    loss: float
    theta: Array


def _one_weight(scores: TermScores, relevance: Mapping[str, float]) -> Run[_OneWeight]:
    regression = Regression(scores, _groups(scores.terms, relevance, own=False))
    theta = yield regression.mode(enough=ROUGHLY)
    return _OneWeight(float(np.average(regression.losses(theta), weights=scores.weight)), theta)


def _weightings(scores: TermScores, relevance: Mapping[str, float], start: Array | None) -> Run[dict[str, Weighting]]:
    joint = [term for term in scores.terms if term.form in JOINT_FORMS]
    columns = scores.of([term for term in scores.terms if term.form not in JOINT_FORMS])
    textual = _textual(scores)
    found = {}
    if columns.terms:
        groups = _groups(columns.terms, relevance, own=False)
        found[ONE_WEIGHT] = yield from Regression(columns, groups).fitting(label_noise=textual)
    tied = next((term for term in joint if term.form == "tied"), None)
    if tied is not None:
        alone = scores.of([tied])
        found[TIED] = yield from Regression(alone, [Group((tied,), np.ones(1))], mixed=tied).fitting()
    groups = _groups(scores.terms, relevance, own=True)
    if joint or any(len(group.terms) > 1 for group in groups):  # else it is the first again
        regression = Regression(scores, groups, mixed=tied)
        begun = None if start is None else regression.widened(start)
        found[EVERY_TERM] = yield from regression.fitting(textual, begun)
    return found or {ONE_WEIGHT: Weighting((), np.zeros(0), np.zeros(scores.classes))}  # where no column is relevant


def _textual(scores: TermScores) -> bool:
    return any(term.form in TEXT_FORMS for term in scores.terms)


def _groups(terms: Sequence[Term], relevance: Mapping[str, float], own: bool) -> list[Group]:
    """Columns by themselves are one group; each block of several is one of its own, and each form of texts."""
    sets: dict[str, list[Term]] = {}
    for term in terms:
        apart = term.name == ALL or term.form in (*TEXT_FORMS, *CELL_FORMS)
        sets.setdefault(term.form if apart else "", []).append(term)
    return [
        Group(tuple(each), np.array([relevance.get(term.name, 1.0) if not form else 1.0 for term in each]), own)
        for form, each in sets.items()
    ]
