"""Tuning by nested cross-validation: choices are scored on rows used neither to fit nor to tune.

Each fold's evidence is subtracted exactly. Candidates are tuned on leave-one-out scores of the other rows and predict
the fold's rows. These predictions give the mixing weights; a fold is scored with mixing weights from the other folds.
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
from credo.numerics.arrays import over_short
from credo.numerics.exact import Array
from credo.selection.candidate_forms import with_candidate_forms
from credo.selection.candidates import Candidates, candidates, excess_of_factors
from credo.selection.design import NUMBER_COLUMN_FORMS
from credo.selection.discriminative import LOGISTIC, TREE, Discriminative, with_features
from credo.selection.fold_requests import ScoreRequest
from credo.selection.linear_terms import DiscriminativeTerm, LinearTerm
from credo.selection.lockstep import Run, run_alone, run_in_lockstep
from credo.selection.near_copies import with_near_copies
from credo.selection.pooling import Abandoned, Pool, ScoredFold, chosen_pool, futile_pairs
from credo.selection.report import TriedCandidate
from credo.selection.sample import UNSTRATIFIED_CLASSES, Sample, drawn, encoded
from credo.selection.stacking import HeldOut, Stack, cross_fitted_alone
from credo.selection.terms import ColumnTerm, TermScores, Trained, trained
from credo.selection.tree_terms import TreeTerm
from credo.selection.tuned import TunedClassifier
from credo.selection.tuning import Tuning
from credo.selection.weighting import Weighting, pooled

SMALL_SAMPLE_FOLDS, LARGE_SAMPLE_FOLDS = 10, 5
RARE_CLASS_FOLDS, RARE_CLASS_ROWS = 20, 10  # folds where many classes have fewer rows each: a tenth would be missed
SMALL_SAMPLE, SMALL_PAIR_SAMPLE = 2000, 999  # rows of a small sample; the same where pairs of columns are counted
HELD_OUT_ROWS, HELD_OUT_PAIR_ROWS, HELD_OUT_SLOW_ROWS = 2000, 1500, 1100  # enough to stop; with pairs; and many scores
FUTILITY_LOOKS = 2  # first folds, after each of which pairs of columns may be abandoned
MANY_SCORES = 2**21  # rows x classes x terms, above which a fold takes long
FOLD_SUFFICES = 2000  # rows, above which a fold's candidates are as good as those of all rows
BLANKED_ROWS, BLANKED_FOLDS = 100, 4  # rows of a fold with cells blanked, and folds that have such rows
LOCKSTEP_SCORES = 2**22  # scores (rows x classes x terms) of all folds, up to which these are tuned in lockstep
CLASS_SHARES = "class shares"


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of tuning: candidates, their mixing weights, and the scores of the average."""

    model: Classifier  # untuned, with columns counted in all forms that were tried
    candidates: Candidates
    stack: Stack
    weighting: Weighting
    scores: Scores
    tried: tuple[TriedCandidate, ...]
    parts: tuple[DiscriminativeTerm, ...] = ()  # logistic regression and a tree, where they help
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of numbers

    def tuned(self, joint: bool = False) -> TunedClassifier:
        """The tuned model, with the views that the tuning needs."""
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
        return TunedClassifier(model.narrowed(views), tuning).replaced(joint=joint)


def tune(model: Classifier, table: Source, weight: Weight, seed: int) -> TunedClassifier:
    """The model with forms of columns, settings, weights of terms and label noise chosen by nested validation."""
    table.check_rereadable("tuning reads the data again")
    if len(model.classes) < 2:
        raise EvidenceError("there is only one class: nothing to tune")
    features = table.held()
    table, groups = with_near_copies(features, None, model.feature_names, str(model.target), model.kinds)
    with local.small_matrices():
        return outcome(with_candidate_forms(model, features, weight), table, weight, seed, groups).tuned()


def outcome(
    whole_model: Classifier, table: Source, weight: Weight, seed: int, groups: str | None = None, *,
    discriminative: bool = False,
) -> Outcome:  # fmt: skip
    """The outcome of tuning a model, whose columns are counted in all forms, on its training rows.

    discriminative: logistic regression and a tree are candidates, too. groups: a column; rows with the same value are
    held out together.
    """
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
    count = len(np.unique(fold))
    held_out_ratio = len(folds) / (count * sample.stride - 1)  # the ratio of held-out to training rows
    scored, final, abandoned = _scored_folds(model, sample, fold, folds, terms, held_out_ratio)
    pool = Pool.of(scored, model.class_weights, held_out_ratio)
    known = pool.held_out.rows.rows > 0
    if known:
        pool, others = chosen_pool(scored, pool, fitted)
        abandoned += others
    else:
        only = "one row (copies counted once)" if groups is None else "the rows of one group only"
        tell(f"each class has {only}: none can be held out, so there are no held-out scores")
        pool = pool.with_held_out(_by_shares(model, sample, pool.names))
    how = f"nested {count}-fold" if len(folds) == count else f"nested, {len(folds)} of {count} folds"
    how = how if groups is None else f"{how} by groups"
    share_variance = 2 * (len(model.classes) - 1) / sample.rows**2  # of χ²/n: the class shares are estimates
    own = None if sample.groups is None else _groups(scored)
    unknown = [each.unknown for each in scored]
    scores = _scores(model, pool.held_out.rows, pool.pooled.log_probabilities, unknown, how, known)
    scores, shares = replace(scores, estimated=share_variance, held_out_ratio=held_out_ratio, groups=own), pool.shares
    kept = [name for name in pool.names if name in final.weightings and (shares[name] or name in pool.kept)]
    weighting = pooled([final.weightings[name] for name in kept], [shares[name] for name in kept])
    tried = _tried(model, pool, abandoned, len(folds), scores) if known else ()
    weighting, parts = _with_parts(weighting, sample, fitted, shares)
    return Outcome(whole_model, final, pool.pooled.stack, weighting, scores, tried, parts, _ranges(model, sample))


def _scored_folds(
    model: Classifier, sample: Sample, fold: NDArray[np.intp], folds: range, terms: int, held_out_ratio: float
) -> tuple[list[ScoredFold], Candidates, list[Abandoned]]:
    """The scored folds, the candidates of all rows, and pairs of columns that were abandoned after the first folds."""
    learned = trained(model, sample)
    excess = excess_of_factors(learned, sample)
    scored, abandoned = list[ScoredFold](), list[Abandoned]()
    for k in folds[: min(FUTILITY_LOOKS, len(folds) - 1)] if model.counts_cells else ():
        scored.append(run_alone(_scored_fold(learned, sample, fold == k, excess, blanks=True)))
        rest = sample.weight[np.isin(fold, folds[len(scored) :])]
        futile = futile_pairs(Pool.of(scored, model.class_weights, held_out_ratio), rest)
        if futile is not None:
            learned, abandoned = learned.without_cells(), [futile]
            scored = [each.without(futile.names) for each in scored]
            break
    runs = [_scored_fold(learned, sample, fold == k, excess, k < BLANKED_FOLDS) for k in folds[len(scored) :]]
    lockstep = sample.rows * len(model.classes) * terms * len(folds) <= LOCKSTEP_SCORES
    whole = [candidates(learned, sample, excess)] if sample.rows <= FOLD_SUFFICES else []
    found: list[Any] = run_in_lockstep([*runs, *whole]) if lockstep else [run_alone(run) for run in (*runs, *whole)]
    scored += found[: len(runs)]
    return scored, found[-1] if whole else scored[0].candidates, abandoned


def _of_sample(model: Classifier, sample: Sample) -> tuple[Classifier, Sample]:
    """The model fitted to the sample's rows alone, and the sample as all of its rows."""
    found = model.fitted_to(sample.evidence(model), model.seen)
    assert found.classes == model.classes
    return found, replace(sample, stride=1)


def _groups(scored: Sequence[ScoredFold]) -> NDArray[np.intp]:
    """The groups of scored rows: first, fold by fold, rows whose class is among the training rows, then the others."""
    known = [each.groups(known=True) for each in scored]
    found = np.concatenate([*known, *(each.groups(known=False) for each in scored)])
    return np.unique(found, return_inverse=True)[1]


def _ranges(model: Classifier, sample: Sample) -> dict[str, tuple[float, float]]:
    """The smallest and the largest number of each column that isn't constant, except dates whose weekday or month is
    read: later dates have these, too."""
    numbers = [name for name, forms in model.views.items() if forms[0] in NUMBER_COLUMN_FORMS]
    names = [name for name in numbers if set(model.views[name]).isdisjoint(CALENDAR_FORMS)]
    x = np.concatenate([part.filled(model.views).raw_matrix(names) for part in sample.parts])
    low, high = np.fmin.reduce(x, axis=0, initial=np.inf), np.fmax.reduce(x, axis=0, initial=-np.inf)
    each = zip(names, low.tolist(), high.tolist(), strict=True)
    return {name: (least, largest) for name, least, largest in each if least < largest}


def _with_parts(
    weighting: Weighting, sample: Sample, fitted: Discriminative, shares: Mapping[str, float]
) -> tuple[Weighting, tuple[DiscriminativeTerm, ...]]:
    """The weighting with logistic regression and a tree, fitted to all rows, if they have shares."""
    parts: tuple[DiscriminativeTerm, ...] = ()
    if fitted.logistic is not None and (share := shares.get(LOGISTIC)):
        regression = fitted.logistic.whole()
        weighting = weighting.with_term(ColumnTerm(LinearTerm.form, ALL), share, regression.biases)
        parts = regression.terms
    if fitted.trees is not None and (share := shares.get(TREE)):
        weighting = weighting.with_term(ColumnTerm(TreeTerm.form, ALL), share, np.zeros_like(weighting.biases))
        parts = (*parts, fitted.trees.whole(sample.parts, sample.weight))
    return weighting, parts


def _folds(sample: Sample, seed: int, classes: int, terms: int, in_cells: bool) -> tuple[NDArray[np.intp], range]:
    """The fold of each row, and the folds that are evaluated: fewer for many scores or pairs of columns."""
    scores = sample.rows * classes * terms
    enough = HELD_OUT_ROWS if not in_cells else HELD_OUT_PAIR_ROWS if scores <= MANY_SCORES else HELD_OUT_SLOW_ROWS
    few = sample.rows <= (SMALL_PAIR_SAMPLE if in_cells else SMALL_SAMPLE)
    rare = classes >= UNSTRATIFIED_CLASSES and sample.rows * sample.stride < RARE_CLASS_ROWS * classes
    most = sample.rows if sample.groups is None else len(np.unique(sample.groups))
    if most < 2:
        raise DataError("all rows are of one group: none can be held out")
    count = max(2, min(RARE_CLASS_FOLDS if rare else SMALL_SAMPLE_FOLDS if few else LARGE_SAMPLE_FOLDS, most))
    evaluated = min(count, max(1, -(-enough * count // sample.rows)))
    return sample.folds(count, seed), range(evaluated)


def _scored_fold(
    learned: Trained, sample: Sample, held_out: NDArray[np.bool_], excess: Mapping[str, float], blanks: bool
) -> Run[ScoredFold]:
    """A fold's rows as predicted by candidates of the other rows; with `blanks`, some have cells blanked, too."""
    part, rest = sample.take(held_out), replace(sample, design=None, trees=None).take(~held_out)
    others = learned.without(sample, held_out)
    found = yield from candidates(others, rest, excess)
    own = yield from _predictions(others, part, found)
    used = [name for name, forms in found.forms.items() if forms]
    if not blanks or not used:
        return own
    blanked = yield from _predictions(others, part.thinned(BLANKED_ROWS).blanked(used, seed=0), found)
    return replace(own, blanked=blanked)


def _predictions(trained: Trained, part: Sample, found: Candidates) -> Run[ScoredFold]:
    """The candidates' predictions of held-out rows."""
    every = yield ScoreRequest(trained, part, found.forms, found.settings, left_out=False)
    used = [name for name, forms in found.forms.items() if forms]
    missing = trained.missing_shares(part, used)
    fold = ScoredFold(found, part, every, {}, missing, trained.class_weights)
    return replace(fold, log_odds={name: each.log_odds(fold.rows) for name, each in found.weightings.items()})


def _scores(
    model: Classifier, held_out: TermScores, log_probabilities: Array, unknown: Sequence[TermScores], how: str,
    known: bool,
) -> Scores:  # fmt: skip
    """The scores of all held-out rows; P(truth) is unknown where no training row has the class, as for all of them
    unless `known`."""
    truth, weight, found = list[NDArray[Any]](), list[Array](), list[Array]()
    if known:
        truth, weight, found = [held_out.truth], [held_out.weight], [log_probabilities]
    for rows in unknown:
        if rows.rows:
            prior = rows.log_prior - over_short(np.logaddexp, rows.log_prior)
            prior[np.arange(rows.rows), rows.truth] = np.nan
            truth, weight, found = [*truth, rows.truth], [*weight, rows.weight], [*found, prior]
    codes = np.concatenate(truth).astype(np.intp)
    return Scores(model.classes, np.concatenate(found), codes, np.concatenate(weight), how)


def _by_shares(model: Classifier, sample: Sample, names: tuple[str, ...]) -> HeldOut:
    """Predictions of all rows by the class shares alone."""
    prior = np.repeat(model.log_class_prior(model.class_weights)[None], sample.rows, axis=0)
    nothing = np.zeros((*prior.shape, len(names)))
    rows = TermScores((), nothing[:, :, :0], prior, sample.codes, sample.weight)
    return HeldOut.of(names, nothing, rows, np.zeros(sample.rows), fold=0)


def _tried(
    model: Classifier, pool: Pool, abandoned: Sequence[Abandoned], folds: int, whole: Scores
) -> tuple[TriedCandidate, ...]:
    """Every candidate, pooled with the class shares only: the best first, abandoned ones last, scored on their folds.

    The accuracy of the class shares is that of always predicting the class commonest in all rows: folds may differ in
    it.
    """
    rows, shares = pool.held_out.rows, pool.shares
    prior = rows.log_prior - over_short(np.logaddexp, rows.log_prior)
    alone = [*cross_fitted_alone(pool.held_out, pool.pooled.stack.discount, model.class_weights), prior]
    scores = [replace(_alone(model, rows, own), held_out_ratio=whole.held_out_ratio) for own in alone]
    best = min(scores, key=lambda each: each.log_loss)
    weights = {**{name: shares[name] for name in pool.names}, CLASS_SHARES: max(0.0, 1 - sum(shares.values()))}
    found = []
    for (name, share), each in zip(weights.items(), scores, strict=True):
        accuracy = whole.commonest[1] if name == CLASS_SHARES else each.accuracy
        found.append(TriedCandidate(name, each.log_loss, accuracy, share, each.log_loss_difference(best)[1]))
    found.sort(key=lambda each: each.log_loss)
    for each_abandoned in abandoned:
        seen, names = each_abandoned.pool, each_abandoned.names
        last = [
            _alone(model, seen.held_out.rows, own)
            for own in cross_fitted_alone(seen.only(names), pool.pooled.stack.discount, model.class_weights)
        ]
        stopped = f"(stopped after {each_abandoned.folds} of {folds} folds)"
        each_one = zip(names, last, strict=True)
        less = (TriedCandidate(f"{name} {stopped}", own.log_loss, own.accuracy) for name, own in each_one)
        found += sorted(less, key=lambda tried: tried.log_loss)
    return tuple(found)


def _alone(model: Classifier, held_out: TermScores, log_probabilities: Array) -> Scores:
    return Scores(model.classes, log_probabilities, held_out.truth.astype(np.intp), held_out.weight)
