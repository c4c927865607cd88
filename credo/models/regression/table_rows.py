"""The rows of a table as features, for repeated passes: kept in memory if they fit, else read each time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.core.folds import FoldDraw
from credo.core.learning import RowWeights, Weight, Weights
from credo.data import Batch, Source
from credo.data.partitions import Opened
from credo.engines import Partition
from credo.numerics.exact import Array
from credo.numerics.softmax import Derivatives, FeatureRows, LikelihoodSums, SumLikelihood, TimesCurvature

if TYPE_CHECKING:
    from credo.models.regression.logistic import LogisticRegression

HELD_BYTES = 2**30  # of features kept in memory
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class EncodeRows:
    """The features of a batch's rows with a class and a positive weight."""

    model: LogisticRegression
    weights: RowWeights
    folds: FoldDraw | None = None

    def __call__(self, batch: Batch) -> FeatureRows:
        folds = None if self.folds is None else self.folds.of(batch)
        kept, own = self.model.members(batch, self.weights)
        rows, _ = self.model.encoding.rows(kept, own)
        if folds is None:
            return rows
        there = np.arange(batch.rows) if kept.taken is None or kept.rows == batch.rows else _places(kept, batch)
        return replace(rows, folds=folds[there])


def _places(kept: Batch, batch: Batch) -> NDArray[np.intp]:
    """The positions of the kept rows in the batch."""
    assert kept.taken is not None
    if batch.taken is None:
        return kept.taken
    return np.searchsorted(batch.taken, kept.taken)


@dataclass(frozen=True, eq=False)
class OfBatch(Generic[Result]):
    """A job on features, applied to batches that aren't encoded yet."""

    encode: EncodeRows
    job: Callable[[FeatureRows], Result]

    def __call__(self, batch: Batch) -> Result:
        return self.job(self.encode(batch))


@dataclass(frozen=True, eq=False)
class InFold(Generic[Result]):
    """A job on the rows of one fold, or on those of all others."""

    job: Callable[[FeatureRows], Result]
    fold: int
    inside: bool

    def __call__(self, rows: FeatureRows) -> Result:
        return self.job(rows.of_fold(self.fold, self.inside))


@dataclass(frozen=True, eq=False)
class WithShares:
    """Rows with their P(class), given the coefficients."""

    coefficients: Array

    def __call__(self, rows: FeatureRows) -> FeatureRows:
        return rows.with_shares(self.coefficients)


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows with classes, to which engines apply jobs. `fold`: those of all other folds alone."""

    encode: EncodeRows
    table: Source
    weights: Weights
    held: tuple[FeatureRows, ...] | None = None
    sizes: tuple[int, ...] = ()  # the number of batches in each partition
    fold: int | None = None

    @classmethod
    def of(
        cls, model: LogisticRegression, table: Source, weight: Weight, folds: FoldDraw | None = None
    ) -> TableRows:  # fmt: skip
        table.check_rereadable("logistic regression reads the rows several times")
        weights = Weights.of(weight)
        encode = EncodeRows(model, weights.of_a_row, folds)
        return cls(encode, table, weights)._with_rows_held()

    def _with_rows_held(self) -> TableRows:
        if not self.table.near and not self.table.nearby:
            return self  # the rows stay with the engine's workers
        found, sizes, size = list[FeatureRows](), list[int](), 0
        for some in [self._partitions()] if self.table.files is None else ([own] for own in self._partitions()):
            before = len(found)
            for rows in engines.map(self.encode, some):
                found.append(rows)
                size += rows.size
                if size > HELD_BYTES:
                    return self
            sizes += [1] * len(found) if self.table.files is None else [len(found) - before]
        return replace(self, held=tuple(found), sizes=tuple(sizes))

    @property
    def _held_partitions(self) -> Sequence[Opened[FeatureRows]]:
        """The encoded batches in their original partitions, whose results are added first."""
        rows = iter(self.held or ())
        return [Opened(tuple(islice(rows, size))) for size in self.sizes]

    def _partitions(self) -> Iterable[Partition[Batch]]:
        model, folds = self.encode.model, self.encode.folds
        names = model.needs(self.table.without(self.weights.column))
        return self.weights.partitions(self.table, names if folds is None else folds.beside(names))

    def reduce(
        self, job: Callable[[FeatureRows], Result], total: Callable[[Sequence[Result]], Result], inside: bool = False
    ) -> Result:
        """The total over all rows, or those of the folds."""
        if self.fold is not None:
            job = InFold(job, self.fold, inside)
        if self.held is not None:
            found = engines.reduce(job, self._held_partitions, total)
        else:
            found = engines.reduce(OfBatch(self.encode, job), self._partitions(), total)
        assert found is not None
        return found

    def map(self, job: Callable[[FeatureRows], Result]) -> Iterator[Result]:
        """A job's results for each batch."""
        if self.held is not None:
            return engines.map(job, self._held_partitions)
        return engines.map(OfBatch(self.encode, job), self._partitions())

    def sums(self, coefficients: Array, derivatives: Derivatives = "gradient") -> LikelihoodSums:
        return self.reduce(SumLikelihood(coefficients, derivatives), LikelihoodSums.total)

    def curvature_at(self, coefficients: Array) -> Callable[[Array], Array]:
        """The curvature (minus the Hessian of the log-likelihood) as a linear operator."""
        known = self
        if self.held is not None:
            found = engines.map(WithShares(coefficients), self.held)
            known = replace(self, held=tuple(found))
        return lambda direction: known.reduce(TimesCurvature(coefficients, direction), _total)

    def held_out(self, coefficients: Array) -> float:
        """Σ w log P(class | row) over the held-out fold."""
        return self.reduce(SumLikelihood(coefficients), LikelihoodSums.total, inside=True).value

    @cached_property
    def n(self) -> float:
        """The weight of the rows in memory."""
        return float(sum(rows.weight.sum() for rows in self.held or ()))

    def thinned(self, most: int) -> TableRows | None:
        """A regular subsample of about that many rows; None if rows aren't in memory, or aren't many more."""
        total = sum(rows.rows for rows in self.held or ())
        step = total // most
        if self.held is None or step < 4:
            return None
        return replace(self, held=tuple(rows.take(np.arange(0, rows.rows, step)) for rows in self.held))


def _total(parts: Sequence[Array]) -> Array:
    return sum(parts[1:], parts[0])
