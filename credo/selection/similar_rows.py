"""Rows that are nearly equal: the same measurement with a little noise, or the same document with a few other words.

Such rows predict each other as copies do, and are held out together, where chance doesn't explain them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from credo.blocks.text.column import WordReader
from credo.data import Batch, Source
from credo.data.fingerprints import Fingerprints, cell_prints, column_prints, fingerprints, mixed
from credo.data.profile import profile
from credo.data.tokens import Tokeniser
from credo.models.forms import Text
from credo.models.repeated_rows import MOST_ROWS_SEARCHED
from credo.notices import listed, tell
from credo.numerics.arrays import Positions
from credo.numerics.exact import Array
from credo.selection.similarity import LEAST_COPIED, RankedNumbers, RowPairs, WordSigns

LEAST_ROWS = 20
LEAST_DISTINCT = 0.98  # distinct values per row of a column that identifies rows, or says when each was recorded
FEW_VALUES = 20  # of a number that is treated as a category
MOST_COPIES = 10  # rows of a group on average; new rows belong to larger groups, too


@dataclass(frozen=True, eq=False)
class SimilarityCells:
    """A table's cells, by what makes them similar."""

    batches: list[Batch]
    prints: dict[str, Fingerprints]  # of each column's cells. (rows,)
    texts: list[str]
    numbers: list[str]
    others: list[str]  # columns whose cells must be equal

    @classmethod
    def of(cls, table: Source, features: Sequence[str], target: str, kinds: Mapping[str, object]) -> SimilarityCells:
        """Without columns that identify rows."""
        batches = [*table.batches((*features, target))]
        cells = np.concatenate([cell_prints(batch, (*features, target)) for batch in batches], axis=1)
        prints = dict(zip((*features, target), cells, strict=True))
        found, own = profile(table, features), cls(batches, prints, [], [], [])
        for name in features:
            asked, distinct = kinds.get(name, found[name].kind), len(np.unique(prints[name]))
            kind = "text" if isinstance(asked, Text) else asked
            differs = distinct >= LEAST_DISTINCT * cells.shape[1]
            if kind == "text":
                own.texts.append(name)
            elif kind in ("number", "count") and distinct > FEW_VALUES:
                if not differs or pa.types.is_floating(batches[0].column(name).type):
                    own.numbers.append(name)
            elif kind != "ignore" and not differs:
                own.others.append(name)
        return own

    def strata(self, names: Sequence[str]) -> Positions:
        """The stratum of each row: those with equal cells in these columns. (rows,)"""
        own = np.stack([self.prints[name] for name in names]) if names else np.empty((0, len(self)), dtype=np.uint64)
        return np.unique(fingerprints(own), return_inverse=True)[1]

    def __len__(self) -> int:
        return sum(batch.rows for batch in self.batches)

    def matrix(self, names: Sequence[str]) -> Array:
        """Numbers, NaN where missing. (columns, rows)"""
        return np.concatenate([[batch.numbers(name) for name in names] for batch in self.batches], axis=1)

    def text_pairs(self, strata: Positions) -> RowPairs:
        """Pairs of rows with nearly equal texts: the text columns are read as one document."""
        sizes, words, prints = list[Positions](), list[Positions](), list[Fingerprints]()
        for batch in self.batches:
            rows, codes = list[Positions](), list[Positions]()
            for j, name in enumerate(self.texts):
                documents, vocabulary = batch.encoded(WordReader(name, Tokeniser()))
                rows.append(np.repeat(np.arange(batch.rows), np.diff(documents.starts)))
                codes.append(documents.words.astype(np.intp) + sum(map(len, prints)))
                prints.append(mixed(column_prints(vocabulary), salt=j))
            row = np.concatenate(rows)
            words.append(np.concatenate(codes)[np.argsort(row, kind="stable")])
            sizes.append(np.bincount(row, minlength=batch.rows))
        found = WordSigns.of(np.concatenate(sizes), np.concatenate(words), np.concatenate(prints))
        return found.pairs(strata)


def similar_rows(
    table: Source, features: Sequence[str], target: str, kinds: Mapping[str, object], quantity: bool
) -> Positions | None:
    """The group of each row, nearly equal rows in the same one, with a notice; None if there are few or none.

    Rows that are equal in all cells count as one. Tables of many rows aren't searched. quantity: the target's a number.
    """
    if not (table.nearby and features and LEAST_ROWS <= (table.rows or 0) <= MOST_ROWS_SEARCHED):
        return None
    cells = SimilarityCells.of(table, features, target, kinds)
    _, first, which = np.unique(cells.strata([*cells.prints]), return_index=True, return_inverse=True)
    numbers = [*cells.numbers, target] if quantity else cells.numbers
    equal = cells.others if quantity else [*cells.others, target]
    if cells.texts:
        strata = cells.strata([*equal, *cells.numbers])
        found = cells.text_pairs(strata)
        pairs = RowPairs(which[found.first], which[found.second])
    elif cells.numbers:
        strata = cells.strata(equal)
        classes = np.zeros(len(first), dtype=np.intp) if quantity else cells.strata([target])[first]
        pairs = RankedNumbers.of(cells.matrix(numbers)[:, first]).pairs(classes)
    else:
        return None
    groups = similar_groups(pairs, strata[first])
    if groups is None:
        return None
    copied = int((np.bincount(groups)[groups] > 1).sum())
    alike = f"the words of {listed(cells.texts)}" if cells.texts else f"the numbers of {listed(cells.numbers)}"
    tell(
        f"{copied:,} of {len(groups):,} different rows are nearly copies of others, by {alike}; "
        "such rows are held out together"
    )
    return np.asarray(groups[which], dtype=np.intp)


def similar_groups(pairs: RowPairs, strata: Positions) -> Positions | None:
    """The group of each row, from pairs of similar rows in the same stratum; None if they are few, or if groups are so
    large that new rows belong to them, too.
    """
    rows = len(strata)
    same = strata[pairs.first] == strata[pairs.second]
    if 2 * same.sum() <= LEAST_COPIED * rows:
        return None
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    linked = coo_array((np.ones(same.sum()), (pairs.first[same], pairs.second[same])), (rows, rows))
    which = np.asarray(connected_components(linked, directed=False)[1], dtype=np.intp)
    size = np.bincount(which)
    copied = size[size > 1]
    if copied.sum() <= LEAST_COPIED * rows or copied.mean() > MOST_COPIES:
        return None
    return which
