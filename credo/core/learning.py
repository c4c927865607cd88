"""The verbs of all models: update, merge, forget, discount and cross_validate, over an engine's `reduce`.

A learner implements the summary of one batch; everything else follows, since evidence adds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce as fold
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.core.evidence import NEVER_LEARNED, Evidence
from credo.core.folds import FoldDraw, FoldGroups
from credo.core.labels import Label
from credo.core.records import Surface
from credo.core.statistics import PAIR_ROUNDING, Positions
from credo.core.validation import Validation, summed_validation
from credo.data import Batch, Source, cells, source
from credo.data.tables import NO_DATA
from credo.engines import Partition
from credo.engines.partitions import Split
from credo.errors import DataError, EvidenceError, check_discount, check_whole
from credo.numerics.exact import Array

Weight = Any  # None, a column's name, or an array with one weight per row


class Additive(Surface, ABC):
    """A model that learns by adding evidence. Every verb returns a new object."""

    _internal: ClassVar[tuple[str, ...]] = (
        "crowded", "gathered", "mergeable", "needs", "summarise", "fitted_to", "total", "with_evidence",
    )  # fmt: skip

    if TYPE_CHECKING:  # a field, or a property

        @property
        def evidence(self) -> Evidence | None: ...

    @property
    @abstractmethod
    def n(self) -> float:
        """The weight of the learned rows."""

    @abstractmethod
    def needs(self, data: Source) -> Sequence[str]:
        """The columns that the model reads."""

    @abstractmethod
    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        """The evidence of one batch."""

    @abstractmethod
    def with_evidence(self, evidence: Evidence) -> Self:
        """The model with this evidence, and the same prior and settings."""

    @abstractmethod
    def log_prob(self, data: object) -> Array:
        """The predictive log p(row) of each row. (rows,)"""

    @abstractmethod
    def mergeable(self, other: Self) -> str | None:
        """The reason why the two can't be merged, if there is one."""

    def total(self, parts: Sequence[Evidence]) -> Evidence:
        """The evidence of many batches."""
        return Evidence.total(parts)

    def fitted_to(self, others: Evidence, held_out: Evidence) -> Self:  # noqa: ARG002 - for overriding methods
        """The model that predicts a fold, with the evidence of the other folds."""
        return self.with_evidence(others)

    def update(self, data: object, *, weight: Weight = None) -> Self:
        """Learn from more rows."""
        new = self.gathered(data, weight)
        return self.with_evidence(self.evidence.grown(new) if self.evidence else new.ordered())

    def forget(self, data: object, *, weight: Weight = None) -> Self:
        """Unlearn rows exactly, as if they had never been learned."""
        if self.evidence is None:
            raise EvidenceError("there is nothing to forget: no rows were learned yet")
        left = self.evidence.without(self.gathered(data, weight))
        if crowded := self.crowded(left, PAIR_ROUNDING * self.n):
            what = f"a missing {crowded.name!r}" if crowded.name else "missing cells"
            raise EvidenceError(f"{NEVER_LEARNED} (fewer rows with {what} were learned)")
        return self.with_evidence(left)

    def crowded(self, evidence: Evidence, slack: float = 0.0) -> Label | None:
        """A part of evidence with more observations of a group than the group has rows; None without such a part."""
        return evidence.crowded(slack)

    def discount(self, factor: float) -> Self:
        """Multiply all evidence by a factor between 0 and 1, to fade old rows."""
        share = check_discount(factor)
        return self if self.evidence is None else self.with_evidence(self.evidence * share)

    def __add__(self, other: Self) -> Self:
        """The evidence of both; the prior counts once."""
        if not isinstance(other, type(self)):
            return NotImplemented
        if reason := self.mergeable(other):
            raise EvidenceError(f"these don't merge: {reason}")
        seen = [part.evidence for part in (self, other) if part.evidence is not None]
        return self.with_evidence(Evidence.total(seen).ordered()) if seen else self

    def merge(self, *others: Self) -> Self:
        """The same as `+`."""
        return fold(add, others, self)

    def gathered(self, data: object, weight: Weight = None) -> Evidence:
        """The evidence of a table, in one pass over it."""
        table = source(data)
        names = self.needs(table.without(weight))
        found = gather(self.summarise, table, names, weight, self.total)
        return found.in_currencies(table.currencies(names))

    def cross_validate(self, data: object, folds: int = 10, *, weight: Weight = None, seed: int = 0) -> Validation:
        """The predictive log-probability of each row by the model of the other folds."""
        return cross_validate(self, data, folds, weight=weight, seed=seed)


Gathered = TypeVar("Gathered")


def gather(
    summarise: Callable[[Batch, Array], Gathered],
    table: Source,
    names: Sequence[str],
    weight: Weight,
    total: Callable[[Sequence[Gathered]], Gathered],
    split: Split | None = None,
) -> Gathered:
    """The total over all batches of these columns, in one pass; rows of weight 0 are dropped. Many keys are reduced in
    shards, if a split is given."""
    weights = Weights.of(weight)
    job = Summarise(summarise, tuple(names), weights.of_a_row)
    partitions = weights.partitions(table, names)
    if split is None:
        found = engines.reduce(job, partitions, total)
    else:
        found = engines.reduce_by_key(job, partitions, total, split)
    if found is None:
        raise DataError(NO_DATA)
    return found


@dataclass(frozen=True, eq=False)
class Summarise(Generic[Gathered]):
    """Summarises the weighted rows of a batch for a learner."""

    summarise: Callable[[Batch, Array], Gathered]
    names: tuple[str, ...]
    weights: RowWeights

    def __call__(self, batch: Batch) -> Gathered:
        rows = self.weights.of_rows(batch)
        batch = batch.only(self.names) if self.weights.column else batch
        if (rows == 0).any():
            kept = np.flatnonzero(rows)
            batch, rows = batch.take(kept), rows[kept]
        return self.summarise(batch, rows)


@dataclass(frozen=True)
class RowWeights:
    """The source of rows' weights: a column, the batch itself, or one weight for all."""

    column: str | None = None
    every: float = 1.0

    def of_rows(self, batch: Batch) -> Array:
        if self.column is not None:
            found = batch.numbers(self.column)
        else:
            found = np.full(batch.rows, self.every) if batch.weight is None else batch.weight
        wrong = ~((found >= 0) & (found <= cells.LARGEST_NUMBER))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise DataError(f"a weight must be 0 or more, but that of row {batch.number(row)} is {found[row]:g}")
        return found


@dataclass(frozen=True, eq=False)
class Weights(RowWeights):
    """The weights of rows: one for all, a column, or an array that is read with the table."""

    values: Array | None = None

    @classmethod
    def of(cls, weight: Weight) -> Weights:
        if weight is None or isinstance(weight, str):
            return cls(column=weight)
        try:
            values = np.asarray(list(weight) if hasattr(weight, "__next__") else weight, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"weights must be numbers, or the name of a column, but are {weight!r:.60}") from None
        if values.ndim > 1:
            raise DataError(f"there must be a weight for each row, but the weights have shape {values.shape}")
        return cls(values=values) if values.ndim else cls(every=float(values))

    @property
    def of_a_row(self) -> RowWeights:
        """The source of weights for a job: batches carry an array's weights."""
        return RowWeights(self.column, self.every)

    def beside(self, names: Sequence[str]) -> list[str]:
        """The columns to read: those named, and that of weights."""
        return [*names, self.column] if self.column is not None and self.column not in names else list(names)

    def partitions(self, table: Source, names: Sequence[str]) -> Iterable[Partition[Batch]]:
        """The partitions of these columns, with the weight of each row."""
        table = table if self.values is None else table.weighted(self.values)
        return table.partitions(self.beside(names))

    def batches(self, table: Source, names: Sequence[str]) -> Iterator[Batch]:
        """The batches of these columns, with the weight of each row."""
        return (batch for partition in self.partitions(table, names) for batch in partition.batches())


def cross_validate(
    learner: Additive, data: object, folds: int = 10, *, weight: Weight = None, seed: int = 0,
    together: FoldGroups | None = None,
) -> Validation:  # fmt: skip
    """The predictive log-probability of each row by models of the other folds."""
    table = source(data)
    if table.sums_scores:
        job, partitions, _ = fold_job(learner, table, folds, weight, seed, _log_prob, together)
        return summed_validation(job, partitions).instead_of_rows()
    found, _ = fold_scores(learner, table, folds, weight, seed, _log_prob, with_folds=True, together=together)
    log_prob, weights, fold_of = found
    return Validation(log_prob, fold_of, weights)


def _log_prob(model: Additive, batch: Batch, weights: Array) -> tuple[Array, Array]:
    return model.log_prob(Source.of_batch(batch)), weights


# A model's scores of a batch's rows with these weights, and further arrays.
Score = Callable[[Any, Batch, Array], tuple[NDArray[Any], ...]]


def fold_scores(
    learner: Additive, table: Source, folds: int, weight: Weight, seed: int, score: Score, *,
    with_folds: bool = False, together: FoldGroups | None = None,
) -> tuple[list[NDArray[Any]], Evidence]:  # fmt: skip
    """k-fold validation without a refit: one pass gathers each fold's evidence, the next scores it by the other folds.

    The result is the arrays of scores, and the evidence of all rows. together: rows that must be in the same fold
    """
    job, partitions, evidence = fold_job(learner, table, folds, weight, seed, score, together)
    found = [*map(np.concatenate, zip(*engines.map(job, partitions), strict=True))]
    return found if with_folds else found[:-1], evidence


def fold_job(
    learner: Additive, table: Source, folds: int, weight: Weight, seed: int, score: Score,
    together: FoldGroups | None = None,
) -> tuple[FoldScores, Iterable[Partition[Batch]], Evidence]:  # fmt: skip
    """The job and the partitions of the second pass of `fold_scores`, and the evidence of all rows."""
    table.check_rereadable("cross-validation reads the data twice")
    folds = check_whole("folds", folds, 2, DataError)
    weights = Weights.of(weight)
    names, draw = tuple(learner.needs(table.without(weight))), FoldDraw(folds, seed, together)
    plan, read = Folds(learner, names, draw, weights.of_a_row), draw.beside(names)
    gathered = engines.reduce(plan, weights.partitions(table, read), plan.total)
    if gathered is None or gathered.rows < folds:
        raise DataError(f"{folds} folds need at least {folds} rows")
    parts = gathered.evidence
    others = [Evidence.total(parts[:k] + parts[k + 1 :]).ordered() for k in range(folds)]
    models = [learner.fitted_to(evidence, part) for evidence, part in zip(others, parts, strict=True)]
    return FoldScores(plan, models, score), weights.partitions(table, read), Evidence.total(parts).ordered()


@dataclass(frozen=True)
class OfFolds:
    """The evidence of each fold, and the number of rows."""

    evidence: list[Evidence]
    rows: int


@dataclass(frozen=True)
class Folds:
    """Gathers the evidence of each fold from a batch."""

    learner: Additive
    names: tuple[str, ...]
    draw: FoldDraw
    weights: RowWeights

    def split(self, batch: Batch) -> list[tuple[Positions, Batch, Array]]:
        drawn, weights, own = self.draw.of(batch), self.weights.of_rows(batch), batch.only(self.names)
        places = [np.flatnonzero(drawn == k) for k in range(self.draw.folds)]
        return [(rows, own.take(rows), weights[rows]) for rows in places]

    def __call__(self, batch: Batch) -> OfFolds:
        parts = [self.learner.summarise(part, weights) for _, part, weights in self.split(batch)]
        return OfFolds(parts, batch.rows)

    def total(self, gathered: Sequence[OfFolds]) -> OfFolds:
        evidence = [Evidence.total([each.evidence[k] for each in gathered]) for k in range(self.draw.folds)]
        return OfFolds(evidence, sum(each.rows for each in gathered))


@dataclass(frozen=True, eq=False)
class FoldScores:
    """Scores the rows of a batch, each by the model of the other folds."""

    plan: Folds
    models: Sequence[Additive]  # for each fold, fitted to the others
    score: Score

    def __call__(self, batch: Batch) -> list[NDArray[Any]]:
        split = self.plan.split(batch)
        filled = [(k, *part) for k, part in enumerate(split) if len(part[0])]
        filled = filled or [(0, *split[0])]  # an empty part gives the arrays' shapes
        parts = [
            (*self.score(self.models[k], part, weights), np.full(len(rows), k)) for k, rows, part, weights in filled
        ]
        order = np.argsort(np.concatenate([rows for _, rows, _, _ in filled]))
        return [np.concatenate(each)[order] for each in zip(*parts, strict=True)]
