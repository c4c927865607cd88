"""Near copies: rows that differ only in columns where nearly all rows differ, such as a row number or a time.

Copies predict each other, and such a column hides them. They are recognised by a column whose repeated values come with
equal cells in all the others, which chance doesn't explain.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.data import Batch, Source
from credo.data.fingerprints import MISSING_PRINT, Fingerprints, cell_prints, fingerprints
from credo.data.profile import profile
from credo.models.repeated_rows import MOST_ROWS_SEARCHED
from credo.notices import listed, tell
from credo.numerics.arrays import Positions

LEAST_ROWS = 10
HEAD_ROWS = 200  # first rows, which settle most tables
ALL_DIFFERENT = 0.98  # distinct values per row of a column that may hide copies
SOME = 0.05  # the least share of rows with near copies
REPETITIONS = 10  # a value that tells copies apart from other rows is repeated at most so often on average
AGREEING = 0.9  # of the rows that share such a value, the least share that agree in all other columns
MOST_BY_CHANCE = 0.3  # P(two rows agree in all other features), if these were independent


@dataclass(frozen=True)
class CellPrints:
    """The job of one batch: its cells' fingerprints. (columns, rows)"""

    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> Fingerprints:
        return cell_prints(batch, self.names)


def near_copies(
    table: Source, features: Sequence[str], target: str, kept: Collection[str], quantity: bool = False
) -> Positions | None:
    """The group of each row, near copies in the same one, with a notice; None if there are few or none.

    Tables of many rows aren't searched. Row identifiers are ignored unless `kept`; they hide nothing. That rows agree
    in their class tells nothing: a column may determine it. quantity: the target is a number.
    """
    if table.rows is None or not LEAST_ROWS <= table.rows <= MOST_ROWS_SEARCHED or len(features) < 2:
        return None
    names = (*features, target)
    if not any(_differs(column) for column in _prints(table, names, HEAD_ROWS)[:-1]):
        return None
    cells = _prints(table, names)
    rows = cells.shape[1]
    hiding = np.array([_differs(column) for column in cells[:-1]])
    if not hiding.any() or hiding.all():
        return None
    others = cells[np.append(~hiding, True)]
    _, which, count = np.unique(fingerprints(others), return_inverse=True, return_counts=True)
    copied = count[which] > 1
    if copied.mean() <= SOME:
        return None
    counts = np.stack([_counts(column) for column in others])
    columns = [name for name, each in zip(features, hiding, strict=True) if not each]
    chance = (counts.sum(1) / rows**2).tolist()  # P(two rows agree in a column)
    for j, own in enumerate(counts[:-1]):
        shared = own > 1
        if shared.mean() <= SOME or len(np.unique(others[j])) * REPETITIONS < rows:
            continue
        if (own == count[which])[shared].mean() < AGREEING:
            continue
        if prod(chance[:j] + chance[j + 1 : len(columns) + quantity]) <= MOST_BY_CHANCE or _is_text(table, columns[j]):
            hidden = [name for name, each in zip(features, hiding, strict=True) if each]
            return _told(table, hidden, kept, which, copied)
    return None


def _prints(table: Source, names: tuple[str, ...], most: int | None = None) -> Fingerprints:
    """The fingerprints of the cells, of the first rows or of all. (columns, rows)"""
    if most is None:
        return np.concatenate([*engines.map(CellPrints(names), table.partitions(names))], axis=1)
    first = table.first(names, most)
    return np.empty((len(names), 0), dtype=np.uint64) if first is None else cell_prints(first, names)


def _differs(column: Fingerprints) -> bool:
    """Whether nearly all cells differ."""
    return len(column) > 0 and len(np.unique(column)) >= ALL_DIFFERENT * len(column)


def _is_text(table: Source, name: str) -> bool:
    """Whether equal cells are no accident."""
    return profile(table, [name])[name].kind == "text"


def _told(
    table: Source, hiding: Sequence[str], kept: Collection[str], which: Positions, copied: NDArray[np.bool_]
) -> Positions | None:
    """The groups, with a notice; None if the only columns that differ are ignored."""
    found = profile(table, hiding)
    read = [name for name in hiding if name in kept or found[name].kind != "ignore"]
    if not read:
        return None
    tell(
        f"{int(copied.sum()):,} of {len(copied):,} rows equal others in all cells but those of {listed(read)}; "
        "such copies are held out together"
    )
    return np.asarray(which, dtype=np.intp)


def _counts(column: Fingerprints) -> NDArray[np.intp]:
    """The number of rows with the value of each row; 0 where it is missing. (rows,)"""
    _, which, count = np.unique(column, return_inverse=True, return_counts=True)
    return np.where(column == MISSING_PRINT, 0, count[which])
