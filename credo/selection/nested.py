"""Tuning by nested cross-validation: choices are scored on rows used neither to fit nor to tune.

For each fold: evidence without it (an exact subtraction), candidates tuned on leave-one-out scores of the other rows,
and their predictions of the fold's rows. Candidates are averaged on these; the reported score of each fold uses mixing
weights from the other folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import ALL
from credo.core.learning import Weight, Weights
from credo.data import Source
from credo.engines import local
from credo.errors import DataError, EvidenceError
from credo.models.classifier import Classifier
from credo.models.forms import CALENDAR_FORMS, CELL_FORMS
from credo.models.metrics import Scores
from credo.notices import tell
from credo.numerics.exact import Array
from credo.selection.candidates import Candidates, candidates, excess_of_factors
from credo.selection.design import NUMBERS
from credo.selection.discriminative import LOGISTIC, TREE, Discriminative, with_features
from credo.selection.in_step import Run, alone, together
from credo.selection.linear_terms import DiscriminativeTerm, LinearTerm
from credo.selection.pooling import GivenUp, Judged, Pool, chosen_pool, hopeless_pairs
from credo.selection.report import Tried
from credo.selection.requests import ScoresOfTerms
from credo.selection.sample import MANY_CLASSES, Sample, drawn, encoded
from credo.selection.stacking import HeldOut, Stack, cross_fitted_alone
from credo.selection.terms import Term, TermScores, Trained, trained
from credo.selection.tree_terms import TreeTerm
from credo.selection.tuned import TunedClassifier
from credo.selection.tuning import Tuning
from credo.selection.weighting import Weighting, pooled
from credo.selection.widening import widened

FOLDS, FEW_FOLDS = 10, 5
MANY_FOLDS, FEW_OF_A_CLASS = 20, 10  # folds of many classes with fewer rows each: a tenth of them would be missed
FEW, FEW_IN_CELLS = 2000, 999  # rows up to which there are more folds; the same where cells are counted together
ENOUGH, ENOUGH_IN_CELLS, ENOUGH_OF_MANY = 2000, 1500, 1100  # held-out rows, after which no further fold is looked at
LOOKS = 2  # folds, after each of which it is asked whether there is hope for pairs of columns
MANY_SCORES = 2**21  # rows x classes x terms, above which a fold takes long
MANY = 2000  # rows, above which the candidates of a fold are as good as those of all rows
BLANKED, BLANKED_FOLDS = 100, 4  # rows of a fold with cells blanked, and folds in which some are
MOST_IN_STEP = 2**22  # scores (rows x classes x terms) of all folds, up to which these are tuned in step
SHARES = "class shares"


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of tuning: candidates, their mixing weights, and the scores of the average."""

    model: Classifier  # untuned, with columns counted in all forms that were tried
    candidates: Candidates
    stack: Stack
    weighting: Weighting
    scores: Scores
    tried: tuple[Tried, ...]
    parts: tuple[DiscriminativeTerm, ...] = ()  # logistic regression and a tree, where they are worth it
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of numbers

    def tuned(self, joint: bool = False) -> TunedClassifier:
        """The model with this tuning, and with the views that it needs."""
        model, weighting, settings = self.model, self.weighting, self.candidates.settings
        weights: dict[str, dict[str, float]] = {}
        for term, weight in zip(weighting.terms, weighting.weights, strict=True):
            weights.setdefault(term.form, {})[term.name] = float(weight)
        mixed = None if weighting.mixed is None else weighting.mixed.form
        used = {form for form, own in weights.items() if any(own.values()) or form == mixed}
        views = {
            name: tuple(v for i, v in enumerate(each) if i == 0 or v in used) for name, each in model.views.items()
        }
        forms = {name: tuple(v for v in own if v in used) for name, own in self.candidates.forms.items()}
        mixture = () if weighting.mixture is None else tuple(tuple(map(float, row)) for row in weighting.mixture)
        tuning = Tuning(
            forms, weights, model.classes, tuple(map(float, weighting.biases)), settings.smoothing, settings.strength,
            model.n, self.scores.log_loss, mixed, mixture, settings.odds, settings.shrinkage,
            self.stack.discount, settings.backoff, self.stack.noise, self.parts, self.ranges,
        )  # fmt: skip
        return TunedClassifier(model.narrowed(views), tuning, joint=joint)


def tune(model: Classifier, table: Source, weight: Weight, seed: int) -> TunedClassifier:
    """Forms of number columns, smoothing and strength, weights of terms, label noise."""
    if table.once:
        raise DataError("tuning reads the data again, and an iterator can be read only once: give a table")
    if len(model.classes) < 2:
        raise EvidenceError("there is only one class: nothing to tune")
    table = table.held()
    with local.one_blas_thread():
        return outcome(widened(model, table, weight), table, weight, seed).tuned()


def outcome(
    whole_model: Classifier, table: Source, weight: Weight, seed: int, groups: str | None = None, *,
    discriminative: bool = False,
) -> Outcome:  # fmt: skip
    """A model whose columns are counted in all their forms, tuned on its training rows; with logistic regression, if
    that improves it. groups: a column; rows with the same value are held out together."""
    model, terms = whole_model, sum(len(set(views) - set(CELL_FORMS)) for views in whole_model.choices.values())
    sample = drawn(model, table, Weights.of(weight), terms, groups)
    if groups is not None and sample.stride > 1:  # other rows of a held-out group would stay in the evidence
        model, sample = _of_sample(model, sample)
    sample = encoded(model, sample)
    if sample.rows < 2:
        raise DataError("tuning needs at least two different rows that have a class")
    fold, folds = _folds(sample, seed, len(model.classes), terms, model.counts_cells)
    sample = with_features(model, sample) if discriminative else sample
    fitted = Discriminative.of(model, sample, fold, folds)
    learned = trained(model, sample)
    excess = excess_of_factors(learned, sample)
    count = len(np.unique(fold))
    held_out_ratio = len(folds) / (count * sample.stride - 1)  # the ratio of held-out to training rows
    judged, given_up = list[Judged](), list[GivenUp]()
    for k in folds[: min(LOOKS, len(folds) - 1)] if model.counts_cells else ():
        judged.append(alone(_judged(learned, sample, fold == k, excess, blanks=True)))
        rest = sample.weight[np.isin(fold, folds[len(judged) :])]
        hopeless = hopeless_pairs(Pool.of(judged, model.class_weights, held_out_ratio), rest)
        if hopeless is not None:
            learned, given_up = learned.without_cells(), [hopeless]
            judged = [each.without(hopeless.names) for each in judged]
            break
    runs = [_judged(learned, sample, fold == k, excess, k < BLANKED_FOLDS) for k in folds[len(judged) :]]
    in_step = sample.rows * len(model.classes) * terms * len(folds) <= MOST_IN_STEP
    whole = [candidates(learned, sample, excess)] if sample.rows <= MANY else []
    found: list[Any] = together([*runs, *whole]) if in_step else [alone(run) for run in (*runs, *whole)]
    judged += found[: len(runs)]
    final: Candidates = found[-1] if whole else judged[0].candidates
    pool = Pool.of(judged, model.class_weights, held_out_ratio)
    if pool.held_out.rows.rows:
        pool, others = chosen_pool(judged, pool, fitted)
        given_up += others
    else:
        tell("each class has one row (copies counted once): none can be held out, so there are no held-out scores")
        pool = replace(pool, held_out=_by_shares(model, sample, pool.names))
    how = f"nested {count}-fold" if len(folds) == count else f"nested, {len(folds)} of {count} folds"
    how = how if groups is None else f"{how} by groups"
    shared = 2 * (len(model.classes) - 1) / sample.rows**2  # the variance of χ²/n: how far off the class shares are
    unknown = [each.unknown for each in judged]
    scores = _scores(model, pool.held_out.rows, pool.log_probabilities, unknown, how)
    own = None if sample.groups is None else _groups(judged)
    scores, shares = replace(scores, estimated=shared, held_out_ratio=held_out_ratio, groups=own), pool.shares
    pooled_ones = [name for name in pool.names if name in final.weightings and (shares[name] or name in pool.kept)]
    weighting = pooled([final.weightings[name] for name in pooled_ones], [shares[name] for name in pooled_ones])
    tried = _tried(model, pool, given_up, len(folds), scores)
    weighting, parts = _with_parts(weighting, sample, fitted, shares)
    return Outcome(whole_model, final, pool.stack, weighting, scores, tried, parts, _ranges(model, sample))


def _of_sample(model: Classifier, sample: Sample) -> tuple[Classifier, Sample]:
    """The model of the sample's rows alone, of which none is missing."""
    found = model.fitted_to(sample.evidence(model), model.seen)
    assert found.classes == model.classes
    return found, replace(sample, stride=1)


def _groups(judged: Sequence[Judged]) -> NDArray[np.intp]:
    """Of scored rows: first those whose class the other rows show, fold by fold, then the others."""
    known = [each.groups(known=True) for each in judged]
    found = np.concatenate([*known, *(each.groups(known=False) for each in judged)])
    return np.unique(found, return_inverse=True)[1]


def _ranges(model: Classifier, sample: Sample) -> dict[str, tuple[float, float]]:
    """The least and the largest number of each column that isn't constant; not of dates whose weekday or month is read,
    which later dates have, too."""
    numbers = [name for name, forms in model.views.items() if forms[0] in NUMBERS]
    names = [name for name in numbers if set(model.views[name]).isdisjoint(CALENDAR_FORMS)]
    x = np.concatenate([part.filled(model.views).raw_matrix(names) for part in sample.parts])
    low, high = np.fmin.reduce(x, axis=0, initial=np.inf), np.fmax.reduce(x, axis=0, initial=-np.inf)
    each = zip(names, low.tolist(), high.tolist(), strict=True)
    return {name: (least, largest) for name, least, largest in each if least < largest}


def _with_parts(
    weighting: Weighting, sample: Sample, fitted: Discriminative, shares: Mapping[str, float]
) -> tuple[Weighting, tuple[DiscriminativeTerm, ...]]:
    """With logistic regression and a tree, fitted to all rows, if they have shares."""
    parts: tuple[DiscriminativeTerm, ...] = ()
    if fitted.logistic is not None and (share := shares.get(LOGISTIC)):
        regression = fitted.logistic.whole()
        weighting = weighting.beside(Term(LinearTerm.form, ALL), share, regression.biases)
        parts = regression.terms
    if fitted.trees is not None and (share := shares.get(TREE)):
        weighting = weighting.beside(Term(TreeTerm.form, ALL), share, np.zeros_like(weighting.biases))
        parts = (*parts, fitted.trees.whole(sample.parts, sample.weight))
    return weighting, parts


def _folds(sample: Sample, seed: int, classes: int, terms: int, in_cells: bool) -> tuple[NDArray[np.intp], range]:
    """Which fold each row is in, and the folds that are looked at; fewer where a fold takes longer: where scores are
    many, or cells of several columns are counted together."""
    scores = sample.rows * classes * terms
    enough = ENOUGH if not in_cells else ENOUGH_IN_CELLS if scores <= MANY_SCORES else ENOUGH_OF_MANY
    few = sample.rows <= (FEW_IN_CELLS if in_cells else FEW)
    rare = classes >= MANY_CLASSES and sample.rows * sample.stride < FEW_OF_A_CLASS * classes
    most = sample.rows if sample.groups is None else len(np.unique(sample.groups))
    if most < 2:
        raise DataError("all rows are of one group: none can be held out")
    count = max(2, min(MANY_FOLDS if rare else FOLDS if few else FEW_FOLDS, most))
    looked_at = min(count, max(1, -(-enough * count // sample.rows)))
    return sample.folds(count, seed), range(looked_at)


def _judged(
    learned: Trained, sample: Sample, held_out: NDArray[np.bool_], excess: Mapping[str, float], blanks: bool
) -> Run[Judged]:
    part, rest = sample.take(held_out), replace(sample, design=None, trees=None).take(~held_out)
    others = learned.without(sample, held_out)
    found = yield from candidates(others, rest, excess)
    own = yield from _said(others, part, found)
    used = [name for name, forms in found.forms.items() if forms]
    if not blanks or not used:
        return own
    blanked = yield from _said(others, part.thinned(BLANKED).blanked(used, seed=0), found)
    return replace(own, blanked=blanked)


def _said(trained: Trained, part: Sample, found: Candidates) -> Run[Judged]:
    """The candidates' predictions of held-out rows."""
    every = yield ScoresOfTerms(trained, part, found.forms, found.settings, left_out=False)
    used = [name for name, forms in found.forms.items() if forms]
    missing = trained.missing_shares(part, used)
    judged = Judged(found, part, every, {}, missing, trained.class_weights)
    return replace(judged, log_odds={name: each.log_odds(judged.rows) for name, each in found.weightings.items()})


def _scores(
    model: Classifier, held_out: TermScores, log_probabilities: Array, unknown: Sequence[TermScores], how: str
) -> Scores:
    """Of all rows that were held out; P(truth) isn't known of those whose class no other row shows."""
    truth, weight, found = [held_out.truth], [held_out.weight], [log_probabilities]
    for rows in unknown:
        if rows.rows:
            prior = rows.log_prior - np.logaddexp.reduce(rows.log_prior, axis=1, keepdims=True)
            prior[np.arange(rows.rows), rows.truth] = np.nan
            truth, weight, found = [*truth, rows.truth], [*weight, rows.weight], [*found, prior]
    codes = np.concatenate(truth).astype(np.intp)
    return Scores(model.classes, np.concatenate(found), codes, np.concatenate(weight), how)


def _by_shares(model: Classifier, sample: Sample, names: tuple[str, ...]) -> HeldOut:
    """The class shares alone, for all rows."""
    prior = np.repeat(model.log_class_prior(model.class_weights)[None], sample.rows, axis=0)
    nothing = np.zeros((*prior.shape, len(names)))
    rows = TermScores((), nothing[:, :, :0], prior, sample.codes, sample.weight)
    return HeldOut.of(names, nothing, rows, np.zeros(sample.rows), fold=0)


def _tried(model: Classifier, pool: Pool, given_up: Sequence[GivenUp], folds: int, whole: Scores) -> tuple[Tried, ...]:
    """Every candidate, pooled with the class shares only; the best first, and abandoned ones last, by the folds on
    which they were judged.

    The accuracy of the class shares is that of always predicting the commonest class: where classes are equally common,
    each fold would have another one.
    """
    rows, shares = pool.held_out.rows, pool.shares
    prior = rows.log_prior - np.logaddexp.reduce(rows.log_prior, axis=1, keepdims=True)
    alone = [*cross_fitted_alone(pool.held_out, pool.stack.discount, model.class_weights), prior]
    scores = [replace(_alone(model, rows, own), held_out_ratio=whole.held_out_ratio) for own in alone]
    best = min(scores, key=lambda each: each.log_loss)
    weights = {**{name: shares[name] for name in pool.names}, SHARES: max(0.0, 1 - sum(shares.values()))}
    found = []
    for (name, share), each in zip(weights.items(), scores, strict=True):
        accuracy = whole.commonest[1] if name == SHARES else each.accuracy
        found.append(Tried(name, each.log_loss, accuracy, share, each.log_loss_difference(best)[1]))
    found.sort(key=lambda each: each.log_loss)
    for abandoned in given_up:
        seen, names = abandoned.pool, abandoned.names
        last = [
            _alone(model, seen.held_out.rows, own)
            for own in cross_fitted_alone(seen.only(names)[0], pool.stack.discount, model.class_weights)
        ]
        stopped = f"(stopped after {abandoned.folds} of {folds} folds)"
        each_one = zip(names, last, strict=True)
        less = (Tried(f"{name} {stopped}", own.log_loss, own.accuracy) for name, own in each_one)
        found += sorted(less, key=lambda tried: tried.log_loss)
    return tuple(found)


def _alone(model: Classifier, held_out: TermScores, log_probabilities: Array) -> Scores:
    return Scores(model.classes, log_probabilities, held_out.truth.astype(np.intp), held_out.weight)
