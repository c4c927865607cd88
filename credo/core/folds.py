"""Which fold each row is in: drawn from the seed and the row's place, except for rows that must lie in one fold.

Copies of a row would predict each other, and so would rows of one patient, author or day: see `Together`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credo import engines
from credo.data import Batch, Source
from credo.data.fingerprints import MISSING_PRINT, Fingerprints, cell_prints, fingerprints
from credo.errors import DataError, SchemaError
from credo.numerics.arrays import Positions

GROUPS = "groups"  # the name of a column of groups that comes as an array
Groups = object  # None, a column's name, or an array with one value a row


@dataclass(frozen=True)
class Together:
    """Rows that lie in one fold: those with the same fingerprint of these columns, if it is one of `prints`."""

    names: tuple[str, ...]
    prints: Fingerprints  # in ascending order

    def folds(self, batch: Batch, drawn: Positions, folds: int, seed: int) -> Positions:
        """The fold of each row; those that have no others to lie with keep theirs."""
        prints = fingerprints(cell_prints(batch, self.names))
        place = np.minimum(np.searchsorted(self.prints, prints), len(self.prints) - 1)
        own = np.random.default_rng(seed).permutation(len(self.prints)) % folds
        return np.where(self.prints[place] == prints, own[place], drawn)


@dataclass(frozen=True)
class FoldDraw:
    """The fold of each row, which follows from the seed, the batch's place, and the rows that lie together."""

    folds: int
    seed: int
    together: Together | None = None

    def of(self, batch: Batch) -> Positions:
        drawn = np.random.default_rng([self.seed, batch.start]).permutation(batch.rows) % self.folds
        if self.together is None or not len(self.together.prints):
            return drawn
        return self.together.folds(batch, drawn, self.folds, self.seed)

    def beside(self, names: Sequence[str]) -> list[str]:
        """The columns to read: those named, and those by which rows lie together."""
        return [*dict.fromkeys((*names, *(() if self.together is None else self.together.names)))]


@dataclass(frozen=True)
class GroupPrints:
    """The job of one batch: the distinct fingerprints of a column's known cells."""

    name: str

    def __call__(self, batch: Batch) -> Fingerprints:
        cells = cell_prints(batch, [self.name])
        return np.unique(fingerprints(cells[:, cells[0] != MISSING_PRINT]))


def with_groups(table: Source, groups: Groups) -> tuple[Source, str | None]:
    """The table with its groups, and the name of the column that holds them; None where there are none."""
    if groups is None:
        return table, None
    if isinstance(groups, str):
        table.require([groups])
        return table, groups
    name = GROUPS
    while name in table.names:
        name += "_"
    return table.beside(name, groups), name


def check_groups(name: str | None, target: object, weight: object) -> None:
    """Refuse a column that has another role."""
    for role, other in (("the target", target), ("the weight", weight)):
        if name is not None and isinstance(other, str) and other == name:
            raise SchemaError(f"column {name!r} can't be both {role} and the groups")


def group_count(table: Source, name: str) -> int:
    """How many values the column has."""
    return len(_prints(table, name))


def _prints(table: Source, name: str) -> Fingerprints:
    """Of the distinct values, in ascending order."""
    found = [*engines.map(GroupPrints(name), table.partitions([name]))]
    return np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *found]))


def grouped_by(table: Source, name: str | None, folds: int) -> Together | None:
    """Rows with the same value of a column lie in one fold; a row without a value is a group by itself."""
    if name is None:
        return None
    prints = _prints(table, name)
    if len(prints) < folds:
        raise DataError(f"{folds} folds need at least {folds} groups, but column {name!r} has {len(prints)}")
    return Together((name,), prints)
