"""Near copies: rows that differ only in columns where nearly all rows differ, such as a row number or a time.

Copies predict each other, and such a column hides them. They are recognised by a column whose repeated values come with
equal cells in all the others, which chance doesn't explain.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.folds import with_groups
from credo.data import Source
from credo.data.fingerprints import MISSING_PRINT, Fingerprints, all_cell_prints, cell_prints, fingerprints
from credo.data.profile import profile
from credo.models.repeated_rows import MOST_ROWS_SEARCHED
from credo.notices import listed, tell
from credo.numerics.arrays import Positions
from credo.selection.similar_rows import LEAST_DISTINCT, similar_rows
from credo.selection.similarity import LEAST_COPIED

LEAST_ROWS = 10
HEAD_ROWS = 200  # first rows, which settle most tables
MOST_REPETITIONS = 10  # a value that tells copies apart from other rows is repeated at most so often on average
LEAST_AGREEING = 0.9  # of the rows that share such a value, the least share that agree in all other columns
MOST_BY_CHANCE = 0.3  # P(two rows agree in all other columns), if these were independent


def with_near_copies(
    table: Source, groups: str | None, features: Sequence[str], target: str, kinds: Mapping[str, Any] | None,
    quantity: bool = False,
) -> tuple[Source, str | None]:  # fmt: skip
    """The table with groups of near copies, unless groups are given; and the name of their column, if any. quantity:
    the target is a number."""
    if groups is not None:
        return table, groups
    read = [name for name in features if name in table.names and (kinds or {}).get(name) != "ignore"]
    found = near_copies(table, read, target, set(kinds or {}), quantity)
    return with_groups(table, similar_rows(table, read, target, kinds or {}, quantity) if found is None else found)


def near_copies(
    table: Source, features: Sequence[str], target: str, kept: Collection[str], quantity: bool = False
) -> Positions | None:
    """The group of each row, near copies in the same one, with a notice; None if there are few or none.

    Tables of many rows aren't searched. Rows without a target aren't held out, whatever their group. Row identifiers
    are ignored unless `kept`; they hide nothing. That rows agree in their class tells nothing: a column may determine
    it. quantity: the target is a number.
    """
    if table.rows is None or not LEAST_ROWS <= table.rows <= MOST_ROWS_SEARCHED or len(features) < 2:
        return None
    names = (*features, target)
    if not any(_differs(column) for column in _prints(table, names, HEAD_ROWS)[:-1]):
        return None
    cells = _prints(table, names)
    labelled = cells[-1] != MISSING_PRINT
    cells, rows = cells[:, labelled], int(labelled.sum())
    hiding = np.array([_differs(column) for column in cells[:-1]])
    if not hiding.any() or hiding.all():
        return None
    others = cells[np.append(~hiding, True)]
    _, which, count = np.unique(fingerprints(others), return_inverse=True, return_counts=True)
    copied = count[which] > 1
    if copied.mean() <= LEAST_COPIED:
        return None
    counts = np.stack([_counts(column) for column in others])
    columns = [name for name, each in zip(features, hiding, strict=True) if not each]
    chance = (counts.sum(1) / rows**2).tolist()  # P(two rows agree in a column)
    for j, own in enumerate(counts[:-1]):
        shared = (own > 1) & (others[j] != MISSING_PRINT)
        if shared.mean() <= LEAST_COPIED or len(np.unique(others[j])) * MOST_REPETITIONS < rows:
            continue
        if (own == count[which])[shared].mean() < LEAST_AGREEING:
            continue
        if prod(chance[:j] + chance[j + 1 : len(columns) + quantity]) <= MOST_BY_CHANCE or _is_text(table, columns[j]):
            hidden = [name for name, each in zip(features, hiding, strict=True) if each]
            if not _is_told(table, hidden, kept, copied):
                return None
            groups = np.zeros(len(labelled), dtype=np.intp)
            groups[labelled] = which
            return groups
    return None


def _prints(table: Source, names: tuple[str, ...], most: int | None = None) -> Fingerprints:
    """The fingerprints of the cells, of the first rows or of all. (columns, rows)"""
    if most is None:
        return all_cell_prints(table, names)
    first = table.first(names, most)
    return np.empty((len(names), 0), dtype=np.uint64) if first is None else cell_prints(first, names)


def _differs(column: Fingerprints) -> bool:
    """Whether nearly all cells differ."""
    return len(column) > 0 and len(np.unique(column)) >= LEAST_DISTINCT * len(column)


def _is_text(table: Source, name: str) -> bool:
    """Whether equal cells are no accident."""
    return profile(table, [name])[name].kind == "text"


def _is_told(table: Source, hiding: Sequence[str], kept: Collection[str], copied: NDArray[np.bool_]) -> bool:
    """Whether a column that differs is read, not ignored: then there is a notice."""
    found = profile(table, hiding)
    read = [name for name in hiding if name in kept or found[name].kind != "ignore"]
    if not read:
        return False
    tell(
        f"{int(copied.sum()):,} of {len(copied):,} rows equal others in all cells but those of {listed(read)}; "
        "such copies are held out together"
    )
    return True


def _counts(column: Fingerprints) -> NDArray[np.intp]:
    """The number of rows with the cell of each row, which may be a missing one. (rows,)"""
    _, which, count = np.unique(column, return_inverse=True, return_counts=True)
    return np.asarray(count[which])
