"""The folds of a labelled table, and the groups of its scored rows for clustered standard errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from credo import engines
from credo.core.folds import FoldDraw, FoldGroups, Groups, check_groups, grouped_by, with_groups
from credo.core.learning import RowWeights, Weight, Weights
from credo.data import Batch, Source
from credo.data.fingerprints import MISSING_PRINT, Fingerprints, cell_prints, mixed
from credo.errors import DataError, check_whole
from credo.models.metrics import Scores, fold_ratio
from credo.models.regression.scores import NumberScores
from credo.numerics.arrays import Positions
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.class_predictor import ClassPredictor


@dataclass(frozen=True, eq=False)
class GroupsOfRows:
    """The group of each row with a target and a positive weight; a row without a group is its own group."""

    name: str
    target: str
    weights: RowWeights

    def __call__(self, batch: Batch) -> Fingerprints:
        target, own = cell_prints(batch, [self.target, self.name])
        alone = mixed(np.arange(batch.start, batch.start + batch.rows, dtype=np.uint64))
        kept = (target != MISSING_PRINT) & (self.weights.of_rows(batch) > 0)
        return np.asarray(np.where(own == MISSING_PRINT, alone, own)[kept])


@dataclass(frozen=True, eq=False)
class DrawnFolds:
    """A table and its folds: rows of one group (or, without groups, copies of a row) are in the same fold."""

    table: Source
    folds: int
    target: str
    together: FoldGroups | None = None
    name: str | None = None  # the column of groups

    @classmethod
    def by_groups(cls, table: Source, folds: int, target: str, weight: Weight, groups: Groups) -> DrawnFolds:
        """Folds by groups, without a search for copies."""
        folds = check_whole("folds", folds, 2, DataError)
        table, name = with_groups(table, groups)
        check_groups(name, target, weight)
        if name is not None:
            table.check_rereadable("cross-validation reads the data twice")
        return cls(table, folds, target, grouped_by(table, name, folds), name)

    @classmethod
    def of(cls, model: ClassPredictor, table: Source, folds: int, weight: Weight, groups: Groups) -> DrawnFolds:
        target = str(model.target)
        if groups is not None:
            return cls.by_groups(table, folds, target, weight, groups)
        return cls(table, check_whole("folds", folds, 2, DataError), target, model._copied(table, weight))

    @property
    def how(self) -> str:
        """The description of scores on these folds."""
        if self.name is None:
            return f"{self.folds}-fold"
        return f"{self.folds}-fold by groups{', errors by rows' if self.table.sums_scores else ''}"

    def draw(self, seed: int) -> FoldDraw:
        return FoldDraw(self.folds, seed, self.together)

    def of_rows(self, seed: int) -> Positions:
        """The fold of every row, for models that are refitted without each fold."""
        if self.together is None:
            rows = self.table.count(self.target)
            found = np.random.default_rng(seed).permutation(rows) % self.folds
        else:
            parts = self.table.partitions(list(self.together.names))
            found = np.concatenate([*engines.map(self.draw(seed).of, parts)])
        if len(found) < self.folds:
            raise DataError(f"{self.folds} folds need at least {self.folds} rows")
        return found

    def scores_of_numbers(self, columns: Array, weight: Weight) -> NumberScores:
        """Scores from the truth, prediction, log p(truth) and weight of each row, in the table's order. (rows, 4)"""
        found = NumberScores.of_columns(columns, self.how, fold_ratio(self.folds))
        return replace(found, groups=self.codes(weight, len(columns)))

    def with_groups(self, scores: Scores, weight: Weight) -> Scores:
        """The scores with the group of each row, unless the workers summed them."""
        if self.name is None or self.table.sums_scores:
            return scores
        return replace(scores, groups=self.codes(weight, scores.rows))

    def codes(self, weight: Weight, rows: int) -> Positions | None:
        """The group of each scored row; None without groups, or where only a sample of the rows was scored."""
        if self.name is None:
            return None
        weights = Weights.of(weight)
        job = GroupsOfRows(self.name, self.target, weights.of_a_row)
        found = np.concatenate([*engines.map(job, weights.partitions(self.table, [self.target, self.name]))])
        return np.unique(found, return_inverse=True)[1] if len(found) == rows else None
