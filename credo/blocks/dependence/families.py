"""Counts of a column's cells jointly with its parents' cells, by class, which merge and are forgotten exactly.

Missing cells are counted, too, so that rows count for the first parents where only these are known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from credo.blocks.block import Settings
from credo.blocks.categories import Categories
from credo.blocks.dependence.cell_block import CellBlock
from credo.blocks.dependence.cells import Cells, Cuts, missing_cell
from credo.blocks.dependence.parents import Chooser
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Codes, Membership
from credo.core.statistics import Counts, FamilyCounts, Positions
from credo.data import Batch
from credo.data.schema import Column, Derived, Schema
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.blocks.dependence.family_likelihood import FamilyLikelihood

Parents = Mapping[str, tuple[str, ...]]  # of columns, the strongest parent first


@dataclass(frozen=True)
class Families(CellBlock):
    """p(columns | class) = Πⱼ p(xⱼ | its parents, class), or p(xⱼ | its parents) for some columns."""

    names: tuple[str, ...]
    cuts: Cuts  # of number columns
    parents: Parents
    free: frozenset[str] = frozenset()  # columns that don't depend on the class
    chooser: Chooser | None = field(default=None, compare=False)  # of the parents, unless they are given

    @property
    def counted(self) -> frozenset[Any]:
        return self._counted_with("families", tuple((name, *self.parents.get(name, ())) for name in self.names))

    def keeps(self, label: Label) -> bool:
        return (label.counted == "family" and label.name in self.names) or Categories(self.categories).keeps(label)

    def scope(self, name: str) -> tuple[str, ...]:
        return (*self.parents.get(name, ()), name)

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        coded = {name: self._coded_column(batch, name) for name in self.names}
        named = {name: pa.array(cells, pa.string()) for name, (_, cells) in coded.items()}
        columns = [Column(name, "category", cells, derived="cells") for name, cells in named.items()]
        parts = {}
        for name in self.names:
            scope = self.scope(name)
            shape = [len(coded[each][1]) for each in scope]
            joint = joint_codes([coded[each][0] for each in scope], shape)
            n = Counts.of(joint, math.prod(shape), member).n.reshape((-1, *shape))
            parts[Label("family", name)] = Part((groups, *map(_axis, scope)), FamilyCounts(n))
        values = Categories(self.categories).summarise(batch, member, groups)
        return Evidence(Schema((*columns, *values.schema)), {**parts, **values.parts})

    def likelihood(self, evidence: Evidence, settings: Settings) -> FamilyLikelihood:
        from credo.blocks.dependence.family_likelihood import FamilyLikelihood, depths

        levels = {name: evidence.schema[name].levels for name in self.categories}
        axes = {name: {cell: i for i, cell in enumerate(evidence.schema[_axis(name)].values)} for name in self.names}
        starts = dict(zip(self.names, np.cumsum([0, *map(len, axes.values())])[:-1].tolist(), strict=True))
        places = {cell: starts[name] + i for name, own in axes.items() for cell, i in own.items()}
        cells = Cells(self.names, levels, self.cuts, places)
        number = {name: j for j, name in enumerate(self.names)}
        tables, parents = [], []
        for name in self.names:
            scope, counts = self.scope(name), evidence[Label("family", name)].n.value
            for i, each in enumerate(scope):
                counts = counts.take(_known_first(cells, number[each], starts[each], each), axis=i + 1)
            sizes = [int(cells.sizes[number[each]]) for each in scope]
            tables.append(depths(counts.sum(0, keepdims=True) if name in self.free else counts, sizes))
            parents.append(tuple(number[each] for each in scope[:-1]))
        classes = len(evidence[Label("family", self.names[0])].n.value)
        return FamilyLikelihood(
            cells, tuple(tables), tuple(parents), classes, settings, self.chooser, evidence=evidence
        )


def _axis(name: str) -> Derived:
    return Derived("cells", name)


def _known_first(cells: Cells, column: int, start: int, name: str) -> Positions:
    """The positions of a column's cells in its axis, in the order of their codes, missing cells last."""
    own = cells.order[cells.starts[column] : cells.starts[column + 1]] - start
    absent = cells.places.get(missing_cell(name))
    return own if absent is None else np.append(own, absent - start)


def joint_codes(codes: list[Codes], sizes: list[int]) -> Codes:
    """The index of each row's combination of cells, the last one changing fastest. (rows,)"""
    found = np.zeros(len(codes[0]), dtype=np.int32)
    for own, size in zip(codes, sizes, strict=True):
        found = found * np.int32(size) + own
    return found


def table_of(codes: list[Codes], sizes: list[int], classes: Codes, groups: int, weight: Array) -> Array:
    """n(class, parents' cells..., own cell), the weight of these rows; sizes include missing cells. (classes, ...)"""
    joint = joint_codes([classes, *codes], [groups, *sizes])
    size = groups * math.prod(sizes)
    return np.bincount(joint, weight, size).astype(np.float64).reshape(groups, *sizes)
