"""The fold of each row: drawn from the seed and the row's position, except for rows that must be in the same fold.

Copies of a row would predict each other, and so would rows of one patient, author or day: see `FoldGroups`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credo import engines
from credo.data import Batch, Source
from credo.data.fingerprints import MISSING_PRINT, Fingerprints, cell_prints, fingerprints
from credo.data.free_names import free_name
from credo.errors import DataError, SchemaError
from credo.numerics.arrays import Positions

GROUP_COLUMN = "groups"  # the name of the column, if groups are given as an array
Groups = object  # None, a column's name, or an array with one value per row


@dataclass(frozen=True)
class FoldGroups:
    """Rows in the same fold: those with the same fingerprint of these columns, if it is among `prints`."""

    names: tuple[str, ...]
    prints: Fingerprints  # in ascending order

    def folds(self, batch: Batch, drawn: Positions, folds: int, seed: int) -> Positions:
        """The fold of each row; rows outside these groups keep the drawn fold."""
        prints = fingerprints(cell_prints(batch, self.names))
        place = np.minimum(np.searchsorted(self.prints, prints), len(self.prints) - 1)
        own = np.random.default_rng(seed).permutation(len(self.prints)) % folds
        return np.where(self.prints[place] == prints, own[place], drawn)


@dataclass(frozen=True)
class FoldDraw:
    """Draws the fold of each row, given the seed, the batch's position, and groups of rows in the same fold."""

    folds: int
    seed: int
    together: FoldGroups | None = None

    def of(self, batch: Batch) -> Positions:
        drawn = np.random.default_rng([self.seed, batch.start]).permutation(batch.rows) % self.folds
        if self.together is None or not len(self.together.prints):
            return drawn
        return self.together.folds(batch, drawn, self.folds, self.seed)

    def beside(self, names: Sequence[str]) -> list[str]:
        """The columns to read: those named, and those that define groups."""
        return [*dict.fromkeys((*names, *(() if self.together is None else self.together.names)))]


@dataclass(frozen=True)
class GroupPrints:
    """The job of one batch: the distinct fingerprints of a column's known cells."""

    name: str

    def __call__(self, batch: Batch) -> Fingerprints:
        cells = cell_prints(batch, [self.name])
        return np.unique(fingerprints(cells[:, cells[0] != MISSING_PRINT]))


def with_groups(table: Source, groups: Groups) -> tuple[Source, str | None]:
    """The table with its groups, and the name of their column; None without groups."""
    if groups is None:
        return table, None
    if isinstance(groups, str):
        table.require([groups])
        return table, groups
    name = free_name(GROUP_COLUMN, table.names)
    return table.beside(name, groups), name


def check_groups(name: str | None, target: object, weight: object) -> None:
    """Refuse a column of groups that has another role."""
    for role, other in (("the target", target), ("the weight", weight)):
        if name is not None and isinstance(other, str) and other == name:
            raise SchemaError(f"column {name!r} can't be both {role} and the groups")


def group_count(table: Source, name: str) -> int:
    """The number of groups in a column."""
    return len(_prints(table, name))


def _prints(table: Source, name: str) -> Fingerprints:
    """The fingerprints of a column's distinct values, in ascending order."""
    found = [*engines.map(GroupPrints(name), table.partitions([name]))]
    return np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *found]))


def grouped_by(table: Source, name: str | None, folds: int) -> FoldGroups | None:
    """Groups of rows by the value of a column; a row without a value is a group by itself."""
    if name is None:
        return None
    prints = _prints(table, name)
    if len(prints) < folds:
        raise DataError(f"{folds} folds need at least {folds} groups, but column {name!r} has {len(prints)}")
    return FoldGroups((name,), prints)
