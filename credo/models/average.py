"""The weighted average of several models: the Bayes-optimal prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, Literal, Self

import numpy as np

from credo import engines
from credo.blocks.capabilities import Ignored
from credo.core.description import DescriptionLength
from credo.core.folds import Groups
from credo.core.learning import RowWeights, Weight, Weights
from credo.core.membership import Hard
from credo.data import Batch, Source, source
from credo.data.schema import Column
from credo.errors import DataError, EvidenceError, SchemaError, check_seed, counted
from credo.models.class_jobs import LogProbabilities
from credo.models.class_predictor import ClassPredictor
from credo.models.class_reader import Shares
from credo.models.description_length import evidence_about, log_evidence_of, target_length
from credo.models.drawn_folds import DrawnFolds
from credo.models.label_shift import shifted_shares
from credo.models.metrics import Scores, fold_ratio
from credo.models.targets import with_target
from credo.numerics.exact import Array

Weighing = Literal["evidence", "loo", "folds"]
WEIGHTED = {"evidence": "by evidence", "loo": "stacked on leave-one-out scores", "folds": "stacked on held-out folds"}
STACKING_FOLDS = 10
MOST_FORGOTTEN = 2_000  # above this many rows, forgetting each in turn for leave-one-out is too slow
PRIOR_ROWS_PER_MODEL = 1.0  # the Dirichlet prior of the weights: no weight ends at 0


@dataclass(frozen=True, eq=False, repr=False)
class ModelAverage(ClassPredictor):
    """P(class | row) = Σ P(class | row, model) P(model | data)

    By evidence, P(model | data) ∝ p(rows, classes | model): it follows from the models' evidence and changes with it.
    By "loo" (or "folds") models are stacked: the weights maximise the probability of held-out rows and stay fixed until
    `fit`.
    """

    _internal: ClassVar[tuple[str, ...]] = ("stacked",)

    models: tuple[Any, ...]
    names: tuple[str, ...]
    by: Weighing = "evidence"
    class_prior: Shares | None = None
    stacked: tuple[float, ...] | None = None  # the weights of models, where they are stacked

    def __post_init__(self) -> None:
        _check_alike(self.models)
        if (self.by == "evidence") != (self.stacked is None):
            raise DataError("weights are stacked on held-out rows, or follow from the evidence")
        if self.by == "evidence":
            _check_evidence(self.models)

    @classmethod
    def of(cls, named: Mapping[str, object], data: object, by: Weighing) -> ModelAverage:
        """The average of fitted models; `data` are the rows that they were fitted on."""
        models = tuple(named.values())
        _check_alike(models)
        stacked = None if by == "evidence" else stacked_weights(models, data, by)
        return cls(models, tuple(named), by, None, stacked)

    @cached_property
    def weights(self) -> Array:
        """P(model | data), or the weights of the stack. (models,)"""
        if self.stacked is not None:
            return np.array(self.stacked)
        logs = np.array([log_evidence_of(model) for model in self.models])
        return np.asarray(np.exp(logs - np.logaddexp.reduce(logs)))

    def log_evidence(self) -> float:
        """log (1/m) Σ p(rows, classes | model), under a uniform prior over models."""
        if self.by != "evidence":
            raise EvidenceError("a stack of models has no evidence: average them by='evidence'")
        logs = [log_evidence_of(model) for model in self.models]
        return float(np.logaddexp.reduce(logs) - np.log(len(logs)))

    def description_length(self, data: object, *, target: object = None, weight: Weight = None) -> DescriptionLength:
        """L(h) is the sum over the models, plus ½ log₂ n for each free weight."""
        scores = self.scores(data, target=target, weight=weight)
        table = self._labelled(data, target)
        own = sum(model.description_length(table).model for model in self.models)
        return target_length(self, scores, len(self.models) - 1, own)

    # Learning

    def fit(self, data: object, target: object = None, *, weight: Weight = None) -> ModelAverage:
        """Refit all models and their weights."""
        table, name = with_target(self.opened(data), self.target if target is None else target)
        pairs = zip(self.names, self.models, strict=True)
        models = {own: model.fit(table, target=name, **_given(weight)) for own, model in pairs}
        return replace(ModelAverage.of(models, table, self.by), class_prior=self.class_prior)

    def update(self, data: object, *, target: object = None, weight: Weight = None) -> ModelAverage:
        """Every model learns from more rows. Weights by evidence move with it; stacked ones stay."""
        return self._with_each("update", data, target, weight)

    def forget(self, data: object, *, target: object = None, weight: Weight = None) -> ModelAverage:
        """Every model unlearns rows. Weights by evidence follow exactly; stacked ones stay."""
        return self._with_each("forget", data, target, weight)

    def _with_each(self, verb: str, data: object, target: object, weight: Weight) -> ModelAverage:
        table = self._labelled(data, target)
        for model in self.models:
            if not hasattr(model, verb):
                raise EvidenceError(f"a {type(model).__name__} has no {verb}: fit(data) refits all rows")
        return replace(self, models=tuple(getattr(m, verb)(table, **_given(weight)) for m in self.models))

    def __add__(self, other: ModelAverage) -> ModelAverage:
        """The sum, model by model; stacked weights must be equal, and stay."""
        if not isinstance(other, ModelAverage):
            return NotImplemented
        for what in ("names", "by", "stacked", "class_prior"):
            if getattr(self, what) != getattr(other, what):
                raise EvidenceError(f"these don't merge: their {what} differ; merge the models, and average those")
        return replace(self, models=tuple(one + two for one, two in zip(self.models, other.models, strict=True)))

    def merge(self, *others: ModelAverage) -> ModelAverage:
        """The same as `+`."""
        return reduce(add, others, self)

    def without_class(self, value: object) -> ModelAverage:
        """As if rows of that class had never been learned."""
        return replace(self, models=tuple(model.without_class(value) for model in self.models))

    # Descriptions

    @property
    def evidence(self) -> Any:
        """The first model's evidence; the others have learned the same rows."""
        return getattr(self.models[0], "evidence", None)

    @property
    def target(self) -> str | None:
        return str(self.models[0].target)

    @property
    def classes(self) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self.models[0].classes
        return found

    @property
    def class_weights(self) -> Array:
        return np.asarray(self.models[0].class_weights)

    @cached_property
    def features(self) -> Mapping[str, Column]:
        return {name: column for model in self.models[::-1] for name, column in model.features.items()}

    @property
    def word_columns(self) -> Sequence[str]:
        return [*dict.fromkeys(name for model in self.models for name in model.word_columns)]

    @property
    def lone_text(self) -> str | None:
        found = {model.lone_text for model in self.models}
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _places(self) -> list[Any]:
        """For each model, the positions of the average's classes among its own."""
        return [np.array([model.classes.index(value) for value in self.classes]) for model in self.models]

    # Prediction

    def _log_joint(self, batch: Batch, count_ignored: bool = True) -> tuple[Array, Ignored]:
        """log Σ P(class | row, model) P(model | data)"""
        out, cells = np.full((batch.rows, len(self.classes)), -np.inf), Ignored()
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        for model, places, log_weight in zip(self.models, self._places, log_weights.tolist(), strict=True):
            if log_weight == -np.inf:
                continue
            log_joint, ignored = model._log_joint(batch, count_ignored=count_ignored)
            total = np.logaddexp.reduce(log_joint, axis=1, keepdims=True)
            if np.isneginf(total).any():
                raise EvidenceError(model.impossible(batch.slice(int(np.argmin(total[:, 0])), 1)))
            np.logaddexp(out, (log_joint - total)[:, places] + log_weight, out=out)
            cells |= {name: max(number, cells.get(name, 0)) for name, number in ignored.items()}
        return out + self._prior_shift, cells

    # Validation

    def leave_one_out(self, data: object, *, target: object = None, weight: Weight = None) -> Scores:
        """The average's prediction for each row i, without row i. By evidence, weights are those without row i, too; a
        stack's weights are tuning, which is held fixed."""
        table = self._labelled(data, target).to_compare()
        found = [model.leave_one_out(table, **_given(weight)) for model in self.models]
        if self.stacked is not None:
            return self._mixed(found, np.log(self.weights), f"{found[0].how}, weights held fixed")
        return self._mixed(found, self._log_weights_left_out(table, found[0], weight), found[0].how)

    def _log_weights_left_out(self, table: Source, found: Scores, weight: Weight) -> Array:
        """log P(model | all rows but one): each row is forgotten. (rows, models)"""
        if len(found.truth) > MOST_FORGOTTEN:
            raise EvidenceError(
                f"weights by evidence change with each left-out row, which is too slow to compute for "
                f"{len(found.truth):,} rows (more than {MOST_FORGOTTEN:,}). Use cross_validate(data)"
            )
        weights, logs = Weights.of(weight), list[list[float]]()
        names = self.needs(table.without(weight))
        for kept, own in engines.map(ClassOfRows(self, weights.of_a_row), weights.partitions(table, names)):
            for row in range(own.rows):
                one = Source.of_batch(kept.slice(row, 1).only(names))
                less = [model.forget(one, weight=float(own.weight[row])) for model in self.models]
                logs.append([log_evidence_of(model) for model in less])
        each = np.array(logs)
        return np.asarray(each - np.logaddexp.reduce(each, axis=1, keepdims=True))

    def _mixed(self, found: Sequence[Scores], log_weights: Array, how: str) -> Scores:
        """The average's scores, from the models' scores of the same rows."""
        logs = np.stack([each.log_probabilities[:, own] for each, own in zip(found, self._places, strict=True)], axis=2)
        unknown = np.isnan(logs)
        mixed = np.logaddexp.reduce(np.where(unknown, -np.inf, logs) + np.atleast_2d(log_weights)[:, None, :], axis=2)
        first = found[0]  # whose classes are those of the average
        logs = np.where(unknown.all(axis=2), np.nan, mixed)
        return Scores(self.classes, logs, first.truth, first.weights, how, held_out_ratio=first.held_out_ratio)

    def cross_validate(
        self, data: object, folds: int = 10, *, target: object = None, weight: Weight = None, seed: int = 0,
        groups: Groups = None,
    ) -> Scores:  # fmt: skip
        """Predictions for each fold by averages fitted and weighted on the other folds.

        Rows of one group go to the same fold, where `groups` names a column or is an array.
        """
        table, seed = self._labelled(data, target), check_seed(seed)
        if table.once or weight is not None:
            raise DataError("an average is cross-validated on a table, read several times, with equal row weights")
        drawn = DrawnFolds.by_groups(table, folds, str(self.target), weight, groups)
        fold, folds = drawn.of_rows(seed), drawn.folds
        rows, table = len(fold), drawn.table.without(drawn.name)
        logs, truth = np.empty((rows, len(self.classes))), np.full(rows, -1, dtype=np.intp)
        for k in range(folds):
            fitted = self.fit(table.where(fold != k))
            self._score_fold(fitted, table.where(fold == k), np.flatnonzero(fold == k), logs, truth)
        known = truth >= 0
        weights, own = np.ones(int(known.sum())), drawn.codes(weight, int(known.sum()))
        return Scores(self.classes, logs[known], truth[known], weights, drawn.how, 0.0, fold_ratio(folds), own)

    def _score_fold(self, fitted: Self | ModelAverage, table: Source, rows: Any, logs: Array, truth: Any) -> None:
        """Write the scores of a fold's rows, in the order of this average's classes; NaN for classes absent from the
        other folds."""
        logs[rows] = np.nan
        logs[np.ix_(rows, [self.classes.index(value) for value in fitted.classes])] = fitted._collected(
            table, LogProbabilities(fitted)
        )
        truth[rows] = np.concatenate([*engines.map(self.codes_of, table.partitions([str(self.target)]))])

    def __repr__(self) -> str:
        order = np.argsort(-self.weights, kind="stable")
        lines = [f"  {self.weights[k]:.4f}  {self.names[k]}" for k in order]
        return "\n".join([f"Average of {len(self.models)} models of {self.target!r}, {WEIGHTED[self.by]}", *lines])


@dataclass(frozen=True, eq=False)
class ClassOfRows:
    """The job of one batch: its rows that have a class and a weight, and which class."""

    model: ModelAverage
    weights: RowWeights

    def __call__(self, batch: Batch) -> tuple[Batch, Hard]:
        return self.model.members(batch, self.weights)


def _given(weight: Weight) -> dict[str, Any]:
    return {} if weight is None else {"weight": weight}


def _check_alike(models: Sequence[Any]) -> None:
    """Raise an error if the models predict different targets or have learned different rows."""
    if len(models) < 2:
        raise DataError(f"an average needs at least two models, but there is {counted(len(models), 'model')}")
    for model in models:
        if not isinstance(model, ClassPredictor):
            raise DataError(f"a {type(model).__name__} doesn't predict classes: only models that do are averaged")
    first = models[0]
    for model in models[1:]:
        what = f"a {type(first).__name__} and a {type(model).__name__} can't be averaged"
        if model.target != first.target:
            raise SchemaError(f"{what}: they predict {first.target!r} and {model.target!r}")
        if {*model.classes} != {*first.classes}:
            raise SchemaError(f"{what}: they know different classes, {first.classes!r:.60} and {model.classes!r:.60}")
        if not np.isclose(model.n, first.n, rtol=1e-9):
            raise EvidenceError(f"{what}: they have learned {first.n:g} and {model.n:g} rows; fit them on the same")


def _check_evidence(models: Sequence[object]) -> None:
    """Raise an error if the models' evidences are probabilities of different data."""
    for model in models:
        log_evidence_of(model)  # an error if there is none
    first, *others = (evidence_about(model) for model in models)
    for other in others:
        if other != first:
            raise EvidenceError(f"the models' evidences can't be compared: of {first}, and of {other}; use by='loo'")


def stacked_weights(models: Sequence[object], data: object, by: Weighing) -> tuple[float, ...]:
    """The weights w, Σ w = 1, that maximise Σᵢ log Σₘ wₘ P(classᵢ | rowᵢ, model m without row i), by EM.

    The prior has the weight of one row per model.
    """
    if data is None:
        raise DataError(f"by={by!r} needs the data that the models were fitted on, to leave rows out")
    table = source(data).to_compare()
    held_out: Callable[[Any], Scores] = (
        (lambda m: m.leave_one_out(table)) if by == "loo" else (lambda m: m.cross_validate(table, folds=STACKING_FOLDS))
    )
    found = [held_out(model) for model in models]
    truth = [each.of_truth for each in found]
    logs = np.stack(truth, axis=1)  # (rows, models)
    known = np.isfinite(logs).any(axis=1)
    if not known.any():
        raise EvidenceError("no row can be left out: every class has one row")
    logs = np.where(np.isnan(logs), -np.inf, logs)[known]
    uniform = np.full(len(models), -np.log(len(models)))
    return tuple(shifted_shares(logs, uniform, PRIOR_ROWS_PER_MODEL).tolist())
