"""Arrows between columns, and from the class to columns, learned by structure search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from credo import engines
from credo.blocks.dependence.cells import Cuts, bins_of
from credo.blocks.dependence.likelihood import DependenceLikelihood
from credo.blocks.dependence.parents import ColumnParents, fitting
from credo.core.learning import RowWeights, Weight, Weights
from credo.core.membership import Codes, Hard
from credo.data import Batch, Source
from credo.notices import quietly
from credo.numerics.exact import Array

CLASS_NODE = "class"  # the class's name in the search; columns are numbered


@dataclass(frozen=True)
class LearnedArrows:
    """The best network found in which the class has no parents. A missing cell is a value of its own."""

    score: str
    search: str
    most: int  # columns that are parents of a column

    def __call__(self, pairs: DependenceLikelihood, codes: Codes, own: Hard) -> ColumnParents:  # noqa: ARG002
        return self.of(codes, own)

    def of(self, codes: Codes, own: Hard) -> ColumnParents:
        """codes: of cells, -1 where one is missing. (rows, columns)"""
        from credo.networks.structure.learn import learn_structure

        columns = codes.shape[1]
        table: dict[str, Any] = {CLASS_NODE: own.codes, **{str(j): codes[:, j] for j in range(columns)}}
        with quietly():  # notices about arrows would confuse users of a classifier
            found = learn_structure(
                table, self.score, self.search, tiers=[[CLASS_NODE], list(map(str, range(columns)))],
                max_parents=self.most + 1, kinds=dict.fromkeys(table, "category"), weight=own.weight,
            ).parents  # fmt: skip
        sizes = [len(np.unique(codes[:, j])) + 1 for j in range(columns)]
        above = [[int(each) for each in found[str(j)] if each != CLASS_NODE] for j in range(columns)]
        parents = tuple(fitting(each, self.most, j, sizes, own.groups) for j, each in enumerate(above))
        return ColumnParents(parents, frozenset(j for j in range(columns) if CLASS_NODE not in found[str(j)]))


def coded_rows(table: Source, target: str, names: Sequence[str], cuts: Cuts, weight: Weight) -> tuple[Codes, Hard]:
    """The coded cells of all labelled rows, numbers in bins; and their classes. (rows, columns)"""
    weights = Weights.of(weight)
    job = ReadCells(target, tuple(names), cuts, weights.of_a_row)
    parts = [*engines.map(job, weights.partitions(table, [target, *names]))]
    columns = [_codes([cells[i] for cells, _ in parts]) for i in range(len(names) + 1)]
    classes, every = columns[0], np.concatenate([each for _, each in parts])
    kept = (classes >= 0) & (every > 0)
    codes = np.stack(columns[1:], axis=1)[kept]
    return codes, Hard(classes[kept], int(classes.max(initial=-1)) + 1, every[kept])


@dataclass(frozen=True, eq=False)
class ReadCells:
    """The job of one batch: its classes and cells, and the rows' weights."""

    target: str
    names: tuple[str, ...]
    cuts: Cuts
    weights: RowWeights

    def __call__(self, batch: Batch) -> tuple[list[Any], Array]:
        cuts, own = self.cuts, self.names
        cells = [bins_of(batch.numbers(name), cuts[name]) if name in cuts else batch.column(name) for name in own]
        return [batch.column(self.target), *map(_nulls, cells)], self.weights.of_rows(batch)


def _nulls(cells: object) -> pa.Array:
    """Bins as an Arrow array, with nulls for missing cells."""
    return pa.array(cells, mask=cells < 0) if isinstance(cells, np.ndarray) else cells


def _codes(parts: Sequence[Any]) -> Codes:
    """A code for each value, -1 for missing cells."""
    plain = [part.dictionary_decode() if pa.types.is_dictionary(part.type) else part for part in parts]
    found = pa.chunked_array(plain).combine_chunks().dictionary_encode().indices
    return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int32)
