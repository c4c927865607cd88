"""Classifiers: P(class | row) from class-conditional beliefs about blocks of columns, and the verbs that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import UNSEEN_VALUES
from credo.blocks.capabilities import ByColumn, Draws, Ignored, LeavesOut, read_counting_ignored
from credo.core.description import DescriptionLength
from credo.core.evidence import Evidence
from credo.core.folds import Groups
from credo.core.learning import FoldScores, RowWeights, Weight, fold_job, fold_scores
from credo.core.membership import Codes, Hard
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.data import Batch
from credo.data.cells import instants
from credo.errors import DataError, EvidenceError, check_seed
from credo.models.class_jobs import LogJoint, RowLogProb, to_log_shares
from credo.models.description_length import classifier_evidence, classifier_length
from credo.models.drawn_folds import DrawnFolds
from credo.models.explaining import Reasons, TextContributions
from credo.models.forms import TEXT_FORMS, Views
from credo.models.labelled import Labelled
from credo.models.metrics import Scores, fold_ratio
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.present.plotting import Figure
    from credo.selection.learning_curve import LearningCurve
    from credo.selection.tuned import TunedClassifier
    from credo.streaming.live import Live

IMPOSSIBLE_WITHOUT = "row {} is impossible under every class without {}: use estimate='bayes' or 'mean'"


@dataclass(frozen=True, eq=False)
class RowsLeftOut:
    """Learned rows, each left out in turn, and log P(class) without it."""

    batch: Batch
    own: Hard
    alone: NDArray[np.intp]  # rows that are the only ones of their class
    log_prior: Array  # (rows, classes)

    def log_shares(self, log_joint: Array) -> Array:
        """log P(class | row), in place; NaN at the class of a row that is alone in it."""
        if (row := _to_known_log_shares(log_joint, self.alone, self.own.codes)) >= 0:
            raise EvidenceError(IMPOSSIBLE_WITHOUT.format(self.batch.number(row), "itself"))
        return log_joint


class Classifier(Labelled):
    """P(class | row) ∝ P(class) p(columns | class), a generative classifier."""

    _internal: ClassVar[tuple[str, ...]] = (
        "class_weights_left_out", "log_prior_left_out", "scoring", "structure_bits", "terms_by_column",
    )  # fmt: skip

    @property
    def plain(self) -> Classifier:
        """The model as fitted, without tuning."""
        return self

    def untuned(self) -> Classifier:
        """The model as fitted, with only the evidence that it needs."""
        return self

    # Prediction

    def log_joint(self, data: object) -> Array:
        """log p(row, class), untuned, as in worked examples. (rows, classes)

        Of a Dask or Spark DataFrame: that frame, with a column for each class, computed lazily.
        """
        return self._found(data, LogJoint(self), "log P(row, {})")

    def log_prob(self, data: object) -> Array:
        """log p(row), untuned: low for outliers.

        Of a Dask or Spark DataFrame: that frame, with a column log_prob, computed lazily.
        """
        table = self.opened(data)
        if table.frame is not None:
            from credo.models.frame_columns import numbers

            frame: Array = numbers(table, self._present(table), RowLogProb(self), "log_prob")
            return frame
        return self._log_prob_here(table)

    def _log_prob_here(self, data: object) -> Array:
        """log p(row) as an array, also for a distributed frame. (rows,)"""
        return np.asarray(np.logaddexp.reduce(self._collected(data, LogJoint(self)), axis=1))

    def _log_joint(self, batch: Batch, count_ignored: bool = True) -> tuple[Array, Ignored]:
        """log P(class, row) up to a constant per row, and the ignored cells."""
        return self.terms.log_joint(batch.filled(self.views), count_ignored=count_ignored)

    def scoring(self, batch: Batch) -> Callable[[Array], Array]:  # noqa: ARG002 - a tuning discounts missing cells
        """log P(class | row) up to a constant, as a function of Σ log p(block | class), for the rows of a batch."""
        return partial(np.add, self.terms.log_prior)

    def impossible(self, batch: Batch) -> str:
        """The error for a row that no class allows, naming the cells."""
        never = {name: np.isneginf(each[0]) for name, each in self.terms_by_column(batch).items()}
        cells = []
        for name, under in never.items():
            if under.any():
                value = batch.column(name)[0].as_py() if name in batch.names else None
                where = ", ".join(str(self.classes[k]) for k in np.flatnonzero(under)[:3])
                cells.append(f"{name}={value!r:.60} (never with {where})")
        return (
            f"row {batch.number(0)} is impossible under every class: {'; '.join(cells) or 'no class has rows'}. "
            "Smoothing makes it possible: use estimate='bayes' or 'mean'"
        )

    def terms_by_column(self, batch: Batch) -> dict[str, Array]:
        """The weighted log-likelihoods of each column. (rows, classes) each"""
        batch = batch.filled(self.views)
        found: dict[str, Array] = {}
        for _, likelihood in self.terms.likelihoods:
            said = ByColumn.needed(likelihood).by_column(likelihood.read(batch), (batch.rows, len(self.classes)))
            for name, each in said.items():
                found[name] = found[name] + each if name in found else each
        return found

    # Validation

    def leave_one_out(self, data: object, *, target: object = None, weight: Weight = None) -> Scores:
        """The prediction for each row i of a model refitted without row i, exactly, but without a refit.

        If a row is the only one of its class, it counts as an error and is excluded from the log-loss. (Exceptions that
        do refit: missing cells under a full or tied covariance, and joint columns.) Rows without a class are left out.
        """
        return self._scores_left_out(data, target, weight)

    def log_prior_left_out(self, own: Hard) -> Array:
        if (own.weight == 1).all() and own.rows > len(self.classes):  # by one row per class
            one = Hard.of(np.arange(len(self.classes)), len(self.classes))
            return self.log_prior_left_out(one)[own.codes]
        return self.log_class_prior(self.class_weights_left_out(own))

    def class_weights_left_out(self, own: Hard) -> Array:
        """The weights of the classes without each row. (rows, classes)"""
        n = np.repeat(self.class_weights[None], own.rows, axis=0)
        rows = np.arange(own.rows)
        left = n[rows, own.codes] - own.weight
        n[rows, own.codes] = np.where(left <= RESIDUAL_WEIGHT * n[rows, own.codes], 0.0, left)
        return n

    def _left_out(self, weights: RowWeights, batch: Batch) -> tuple[Array, Hard]:
        rows = self._rows_left_out(weights, batch)
        out = rows.log_prior.copy()
        for _, likelihood in self.terms.likelihoods:
            LeavesOut.needed(likelihood).add_left_out(likelihood.read(rows.batch), rows.own, out)
        return rows.log_shares(out), rows.own

    def _rows_left_out(self, weights: RowWeights, batch: Batch) -> RowsLeftOut:
        """The labelled rows of a batch."""
        batch, own = self.members(batch, weights)
        log_prior, alone = self.log_prior_left_out(own), self._alone(own)
        if len(alone):
            log_prior = _rule_out_classes(log_prior.copy(), alone, own.codes)
        return RowsLeftOut(batch.filled(self.views), own, alone, log_prior)

    def plot(self, columns: Sequence[str] | None = None) -> Figure:
        """The distribution of each column in each class: of the named columns, or of the most important ones;
        where there are only texts, the strongest words of each class."""
        from credo.present.score_plot import plot_classifier

        return plot_classifier(self, columns)

    def learning_curve(
        self, data: object, *, target: object = None, weight: Weight = None, withheld: float = 1 / 3,
        sizes: Sequence[int] | None = None, seed: int = 0,
    ) -> LearningCurve:  # fmt: skip
        """Accuracy and log-loss on withheld rows against the number of training rows; a tuned model is tuned again at
        each size."""
        from credo.selection.learning_curve import learning_curve

        return learning_curve(self, self._labelled(data, target), weight, withheld, sizes, seed)

    def cross_validate(  # type: ignore[override]
        self, data: object, folds: int = 10, *, target: object = None, weight: Weight = None, seed: int = 0,
        groups: Groups = None,
    ) -> Scores:  # fmt: skip
        """Predictions for each row by models of the other folds: their evidence is added up, without refits.

        Rows of one group go to the same fold, where `groups` names a column or is an array. So do copies of a row (in
        tables of up to 20,000 rows), unless chance explains the repetition.
        """
        drawn = DrawnFolds.of(self, self._labelled(data, target), folds, weight, groups)
        table, together = drawn.table, drawn.together
        how, held_out_ratio = self._validation_name(drawn.how), fold_ratio(folds)
        if table.sums_scores:
            job, partitions, _ = fold_job(self, table, folds, weight, seed, _scored, together)
            added = self._summed(FoldShares(job), partitions)
            return added.instead_of_rows(how=how, held_out_ratio=held_out_ratio)
        (log_joint, codes, weights), _ = fold_scores(self, table, folds, weight, seed, _scored, together=together)
        log_shares, truth, weights = _shares_of_fold(log_joint, codes, weights, 1)
        own = drawn.codes(weight, len(truth))
        return Scores(self.classes, log_shares, truth.astype(np.intp), weights, how, 0.0, held_out_ratio, own)

    @property
    def text_columns(self) -> frozenset[str]:
        return frozenset(name for name, forms in self.views.items() if any(form in TEXT_FORMS for form in forms))

    # Reasons

    def _reasons(self, one: Batch) -> Reasons:
        """For a batch of one row: log P(class), each column's contribution, and their sum."""
        prior = self.terms.log_prior
        terms = {name: each[0] for name, each in self.terms_by_column(one).items()}
        return Reasons(prior, terms, prior + sum(terms.values(), np.zeros_like(prior)))

    def _word_contributions(self, one: Batch, first: int, second: int, size: float) -> TextContributions:
        from credo.models.explaining import word_contributions

        return word_contributions(self, one, first, second, size)

    def _unseen(self, one: Batch) -> frozenset[str]:
        filled = one.filled(self.views)
        ignored = (read_counting_ignored(each, filled)[1] for _, each in self.terms.likelihoods)
        return frozenset(name for found in ignored for name, why in found if why == UNSEEN_VALUES)

    def top_words(self, value: object, n: int = 10, *, column: str | None = None) -> pa.Table:
        """An Arrow table: the words with the largest total weight for a class against the others.

        count: the word's frequency in the class; in a tuned model with odds, the number of the class's texts that
        contain it. weight: its weight of evidence. Untuned it is log P(word | class)/P(word | other classes); tuned,
        about the average weight that `explain` gives it, over words and pairs. The order is weight · count.
        """
        from credo.models.top_words import strongest_words

        return strongest_words(self, self._code_of(value), n, column)

    def parameters(self) -> pa.Table:
        """An Arrow table: each column's parameters by class, as estimated."""
        from credo.models.explaining import parameter_table

        return parameter_table(self)

    @property
    def n_parameters(self) -> int:
        """The number of parameters: P(class), and the distributions of each class."""
        each = sum(likelihood.free_parameters for _, likelihood in self.plain.terms.likelihoods)
        return len(self.classes) - 1 + each

    def log_evidence(self) -> float:
        """log p(classes, columns) of the learned rows, all parameters integrated out (untuned)."""
        return classifier_evidence(self)

    def description_length(self, data: object, *, target: object = None, weight: Weight = None) -> DescriptionLength:
        """L(h) + L(classes | columns, h) in bits: cuts and arrows, ½ log₂ n for each parameter, −log₂ P(class)."""
        return classifier_length(self, data, target, weight)

    def structure_bits(self, n: float) -> float:  # noqa: ARG002 - of use to those who override
        """The bits of the structure; 0 for columns without cut points or arrows."""
        return 0.0

    def sample(self, size: int, seed: Any = None) -> pa.Table:
        """An Arrow table of rows sampled from the model (untuned)."""
        import pyarrow as pa

        if not isinstance(size, int | np.integer) or size < 0:
            raise DataError(f"the number of rows to sample must be whole and at least 0, but is {size!r}")
        rng = np.random.default_rng(check_seed(seed) if isinstance(seed, int | float | str) else seed)
        codes = rng.choice(len(self.classes), size, p=np.exp(self.terms.log_prior))
        columns: dict[str, Any] = {}
        for _, likelihood in self.plain.terms.likelihoods:
            columns |= Draws.needed(likelihood).sample(codes, rng)
        columns |= {name: instants(columns[name]) for name, forms in self.views.items() if forms[0] == "date"}
        ordered = {name: columns[name] for name in self.views if name in columns}
        return pa.table(
            {**{k: pa.array(v, from_pandas=True) for k, v in ordered.items()}, str(self.target): self._named(codes)}
        )

    def live(self) -> Live:
        """A mutable version of the model, for streams of single rows."""
        from credo.streaming.live import Live

        return Live(self)

    def tune(self, data: object, *, target: object = None, weight: Weight = None, seed: int = 0) -> TunedClassifier:
        """Infer likelihoods, weights and label noise from leave-one-out scores of the learned rows."""
        from credo.selection.nested_validation import tune

        return tune(self, self._labelled(data, target), weight, seed)

    def __repr__(self) -> str:
        from credo.models.explaining import described

        return described(self)


@dataclass(frozen=True, eq=False, repr=False)
class PlainClassifier(Classifier):
    """A classifier as fitted, before any tuning: its settings and its evidence."""

    target: str | None = field(default=None, init=False)
    views: Views = field(default_factory=dict, init=False)
    evidence: Evidence | None = field(default=None, init=False)


def _scored(model: Any, batch: Batch, weights: Array) -> tuple[Array, Codes, Array]:
    """For each row: log-joints (NaN at its class if no other fold has it), its class (-1 if none), and its weight."""
    log_joint, _ = model._log_joint(batch)
    codes = model.codes_of(batch)
    unknown = np.flatnonzero((codes >= 0) & (model.class_weights[codes] == 0))
    log_joint[unknown, codes[unknown]] = np.nan
    return log_joint, codes, weights


@dataclass(frozen=True, eq=False)
class FoldShares:
    """For labelled rows: log P(class | row) by the other folds' model, the class, and the weight."""

    job: FoldScores

    def __call__(self, batch: Batch) -> tuple[Array, Codes, Array]:
        log_joint, codes, weights, _ = self.job(batch)
        return _shares_of_fold(log_joint, codes, weights, batch.number(0) if batch.rows else 1)


def _shares_of_fold(log_joint: Array, codes: Codes, weights: Array, first: int) -> tuple[Array, Codes, Array]:
    """For rows with a class and a positive weight: the other folds' log P(class | row), the class, and the weight."""
    kept = (codes >= 0) & (weights > 0)
    log_shares, own = log_joint[kept], codes[kept]
    unknown = np.flatnonzero(np.isnan(log_shares[np.arange(len(own)), own]))
    _rule_out_classes(log_shares, unknown, own)
    if (row := _to_known_log_shares(log_shares, unknown, own)) >= 0:
        raise EvidenceError(IMPOSSIBLE_WITHOUT.format(int(np.flatnonzero(kept)[row]) + first, "its fold"))
    return log_shares, own, weights[kept]


def _rule_out_classes(logs: Array, rows: NDArray[np.intp], codes: Codes) -> Array:
    """Set the probability of classes unknown to the model to 0, in place."""
    logs[rows, codes[rows]] = -np.inf
    return logs


def _to_known_log_shares(log_joint: Array, unknown: NDArray[np.intp], codes: Codes) -> int:
    """As `to_log_shares`, but with NaN at the class of a row whose class is unknown to the model.

    Such a row may be impossible under every known class.
    """
    nowhere = unknown[np.isneginf(log_joint[unknown].max(1, initial=-np.inf))]
    log_joint[nowhere] = 0.0
    row = to_log_shares(log_joint)
    log_joint[unknown, codes[unknown]] = np.nan
    return row
