"""Scorers: log p(cells | class) of each column, from evidence that rows can be removed from.

Tuning needs these scores for every fold, form and setting. So cells are encoded once for all rows, as arrays whose
first axis is the rows, and the rows of a fold are subtracted from the evidence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import Settings
from credo.blocks.capabilities import Independent, Scored
from credo.core.evidence import NEVER_LEARNED
from credo.core.membership import Hard
from credo.core.statistics import RESIDUAL_WEIGHT, Positions
from credo.data import Batch
from credo.errors import EvidenceError
from credo.families.dirichlet import Tables
from credo.numerics.exact import Array

Cells = NDArray[Any]  # (rows, ...)
RowFlags = NDArray[np.bool_]


class Scorer(ABC):
    """The terms of one block under its evidence."""

    if TYPE_CHECKING:  # a field, or a property

        @property
        def names(self) -> tuple[str, ...]:
            """The columns."""

    def term_names(self, places: Positions) -> tuple[str, ...]:
        """The names of the terms of some columns: one for each, unless they are read jointly."""
        return tuple(self.names[j] for j in places)

    @abstractmethod
    def read(self, batch: Batch) -> Cells:
        """The cells of rows that are in the evidence. (rows, ...)"""

    @abstractmethod
    def each(self, cells: Cells, places: Positions) -> Array:
        """log p(cells | class) of some columns. (rows, classes, terms)"""

    @abstractmethod
    def each_left_out(self, cells: Cells, own: Hard, places: Positions) -> Array:
        """log p(cells | class) of rows of the evidence, each left out of its class, but not of the pooled prior."""

    @abstractmethod
    def without(self, cells: Cells, own: Hard, gone: RowFlags) -> Scorer:
        """The scorer without some of these rows, which are all rows of the sample."""

    @abstractmethod
    def under(self, settings: Settings) -> Scorer:
        """The scorer under other settings."""

    def reads_like(self, other: Any) -> bool:  # noqa: ARG002 - for overriding methods
        """Whether another scorer has the same evidence, and reads the same cells."""
        return False

    def knowing(self, other: Any) -> Scorer:
        """The scorer with the evidence of another that reads the same cells."""
        raise NotImplementedError

    def reclassified(self, cells: Cells, own: Hard) -> Scorer | None:  # noqa: ARG002 - for overriding methods
        """The scorer of these rows alone, in the classes of `own`; None if columns aren't independent."""
        return None

    def log_bayes_factors(self) -> Array | None:
        """log p(cells | classes)/p(cells) of each column; None if columns aren't independent."""
        return None

    def beside(self, scorers: Sequence[Any]) -> Scorer | None:  # noqa: ARG002 - for overriding methods
        """One scorer for the columns of several scorers of the same columns and settings, concatenated; None if columns
        aren't independent."""
        return None

    def moved(self, cells: Cells, nth: int) -> Cells:  # noqa: ARG002 - for overriding methods
        """The cells of the nth scorer's columns as cells of the concatenated scorer."""
        return cells

    def unseen(self, cells: Cells) -> NDArray[np.bool_]:
        """Whether a cell has a value without evidence. (rows, columns)"""
        return np.zeros((len(cells), len(self.names)), dtype=bool)

    def blanked(self, cells: Cells, places: Positions, gone: RowFlags) -> Cells:
        """The cells with those of some columns missing. gone: (rows, places)"""
        found = cells.copy()
        found[:, places] = np.where(gone, self.missing, cells[:, places])
        return found

    missing: float = np.nan  # the value of a missing cell


class ScoredColumns(Independent, Scored):
    """Independent columns whose terms come from a scorer, if there is one."""

    @abstractmethod
    def cells_to_score(self, cells: Any) -> Cells:
        """The cells for the scorer, rows first."""

    def each(self, cells: object, shape: tuple[int, int]) -> Array:
        scorer = self.scorer()
        if scorer is None:
            return super().each(cells, shape)
        return scorer.each(self.cells_to_score(cells), np.arange(len(self.names)))

    def each_nearly_left_out(self, cells: object, own: Hard) -> Array:
        scorer = self.scorer()
        if scorer is None:
            return super().each_nearly_left_out(cells, own)
        return scorer.each_left_out(self.cells_to_score(cells), own, np.arange(len(self.names)))


@dataclass(frozen=True, eq=False)
class TableScorer(Scorer):
    """log θ of each value, θ = (n + a)/Σ(n + a), for the concatenated values of all columns.

    A value without evidence is unseen: it has no prior mass, and is ignored.
    """

    names: tuple[str, ...]
    counts: Array  # (classes, values), whole numbers
    sizes: Positions  # (columns,) the number of values of each column
    settings: Settings
    declared: NDArray[np.bool_]  # (values,) whether a value counts without evidence, too
    shares: Array | None = None  # (values,) p of the m-estimate, NaN if it isn't given
    reader: Any = None  # the likelihood that encodes cells

    missing = -1

    def read(self, batch: Batch) -> Cells:
        return np.ascontiguousarray(self.reader.read(batch).T)

    @cached_property
    def _pooled(self) -> Array:
        return np.asarray(self.counts.sum(0))

    @cached_property
    def _known_levels(self) -> NDArray[np.bool_]:
        return (self._pooled > 0) | self.declared

    @cached_property
    def _levels(self) -> Array:
        """The number of each column's values with evidence. (columns,)"""
        column = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.bincount(column, self._known_levels, len(self.sizes)).astype(np.float64)

    @cached_property
    def _tables(self) -> Tables:
        known, settings = self._known_levels.astype(np.float64), self.settings
        if settings.m is None:
            return Tables(self.counts, known * settings.smoothing, self.sizes)
        even = np.repeat(1 / np.maximum(self._levels, 1), self.sizes)
        shares = even if self.shares is None else np.where(np.isnan(self.shares), even, self.shares)
        return Tables(self.counts, known * (settings.m * shares), self.sizes)

    @cached_property
    def _log_shares(self) -> Array:
        """log θ, with zeros at the end for missing cells. (values + 1, classes)"""
        with np.errstate(divide="ignore"):
            logs = np.log(self._tables.shares(self._tables.concentration, self._levels))
        rows = np.where(self._known_levels, logs, 0.0)
        return np.concatenate([rows.T, np.zeros((1, len(rows)))])

    def _flat(self, codes: Cells, places: Positions) -> Positions:
        """Positions among the values of all columns; the last is for missing cells. (rows, places)"""
        chosen = codes[:, places]
        return np.where(chosen >= 0, chosen + self._tables.starts[places], self.counts.shape[1])

    def unseen(self, cells: Cells) -> NDArray[np.bool_]:
        return ~np.append(self._known_levels, True)[self._flat(cells, np.arange(len(self.names)))]

    def each(self, cells: Cells, places: Positions) -> Array:
        return self._log_shares[self._flat(cells, places)].swapaxes(1, 2)

    def each_left_out(self, cells: Cells, own: Hard, places: Positions) -> Array:
        """In the row's class, θ = (n - w + a)/Σ; a value that no other row has is ignored."""
        flat, w, none = self._flat(cells, places), own.weight[:, None], np.zeros((len(self.counts), 1))
        found, tables = self._log_shares[flat], self._tables
        counts, prior = np.append(self.counts, none, axis=1), np.append(tables.concentration, 0.0)
        left = np.maximum(counts[own.codes[:, None], flat] - w, 0.0)
        total = np.maximum(tables.totals[own.codes[:, None], places] - w, 0.0)
        total = total + tables.summed(tables.concentration)[places]
        with np.errstate(divide="ignore", invalid="ignore"):
            found[np.arange(own.rows), :, own.codes] = np.log(left + prior[flat]) - np.log(total)
        found[np.append(self._pooled, 0.0)[flat] - w <= RESIDUAL_WEIGHT * w] = 0.0
        return found.swapaxes(1, 2)

    def without(self, cells: Cells, own: Hard, gone: RowFlags) -> TableScorer:
        left = self.counts - self._counted(cells[gone], own.take(gone))
        if (left < 0).any():
            raise EvidenceError(NEVER_LEARNED)
        return replace(self, counts=left)

    def reclassified(self, cells: Cells, own: Hard) -> TableScorer:
        return replace(self, counts=self._counted(cells, own))

    def _counted(self, cells: Cells, own: Hard) -> Array:
        """The counts of cells. (classes, values)"""
        size = self.counts.shape[1]
        flat = self._flat(cells, np.arange(len(self.names)))
        at = np.where(flat < size, own.codes[:, None] * size + flat, self.counts.size).ravel()
        weights = np.repeat(own.weight, len(self.names))
        found: Array = np.bincount(at, weights, self.counts.size + 1).astype(np.float64)
        return found[: self.counts.size].reshape(self.counts.shape)

    def under(self, settings: Settings) -> TableScorer:
        return replace(self, settings=settings)

    def log_bayes_factors(self) -> Array:
        return np.asarray(self._tables.log_evidence().sum(0) - self._tables.pooled().log_evidence()[0])

    def beside(self, scorers: Sequence[TableScorer]) -> TableScorer:
        return replace(
            self,
            names=self.names * len(scorers),
            counts=np.concatenate([each.counts for each in scorers], axis=1),
            sizes=np.concatenate([each.sizes for each in scorers]),
            declared=np.concatenate([each.declared for each in scorers]),
            shares=None if self.shares is None else np.tile(self.shares, len(scorers)),
        )


def whole_numbers(weights: Sequence[Array]) -> bool:
    """Whether sums of these weights are exact, so that differences are exact, too."""
    return all(bool((each == np.rint(each)).all() and (each <= 2.0**52).all()) for each in weights)
