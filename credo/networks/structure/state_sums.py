"""Sums of numbers, of their squares and products, in each joint state of categories: all that Gaussian scores read.
They add, so that rows stay where they are, whichever engine has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.core.evidence import Evidence, Part
from credo.core.membership import Hard
from credo.core.moments import CrossMoments
from credo.data import Batch
from credo.data.schema import Column, Schema
from credo.networks.graph import Parents
from credo.networks.hybrid.learning import shapes_of
from credo.networks.hybrid.line_priors import HybridPriors
from credo.networks.hybrid.network import HybridNetwork
from credo.networks.structure.columns import ReadColumns
from credo.networks.structure.number_scores import Measured, NumberSums, Standard
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array, Exact


@dataclass(frozen=True, eq=False)
class StateSums:
    """Of the joint states that occur, in order; of none, if a cell is missing."""

    complete: bool
    rows: int
    keys: Integers  # (states,)
    moments: CrossMoments  # (states, numbers)

    @classmethod
    def of(cls, keys: Integers, x: Array, weights: Array) -> StateSums:
        found, codes = np.unique(keys, return_inverse=True)
        return cls(True, len(x), found, CrossMoments.of(x, Hard.of(codes, len(found), weights)))

    @classmethod
    def unknown(cls) -> StateSums:
        none = CrossMoments(Exact.zeros(0), Exact.zeros((0, 0)), Exact.zeros((0, 0, 0)))
        return cls(False, 0, np.zeros(0, dtype=np.int64), none)

    @classmethod
    def total(cls, parts: Sequence[StateSums]) -> StateSums:
        if not all(part.complete for part in parts):
            return cls.unknown()
        keys = np.unique(np.concatenate([part.keys for part in parts]))
        places = [[np.searchsorted(keys, part.keys)] for part in parts]
        moments = CrossMoments.gather([part.moments for part in parts], places, [len(keys)])
        return cls(True, sum(part.rows for part in parts), keys, moments)


@dataclass(frozen=True, eq=False)
class SumNumbers:
    """The job of one batch: sums over its rows that have a weight, in each joint state of some categories."""

    read: ReadColumns  # of all columns that must be complete
    categories: tuple[str, ...]
    sizes: tuple[int, ...]  # how many states each category has
    numbers: tuple[str, ...]
    units: Standard | None = None  # None: as they are

    def __call__(self, batch: Batch) -> StateSums:
        found, weights = self.read(batch)
        kept = np.flatnonzero(weights > 0)
        cells = {name: own[kept] for name, own in found.items()}
        if any((own < 0).any() for name, own in cells.items() if name not in self.numbers):
            return StateSums.unknown()
        x = np.empty((len(kept), len(self.numbers)))
        for j, name in enumerate(self.numbers):
            x[:, j] = cells[name]
        if np.isnan(x).any():
            return StateSums.unknown()
        keys = np.zeros(len(kept), dtype=np.int64)
        for name, size in zip(self.categories, self.sizes, strict=True):
            keys = keys * size + cells[name]
        return StateSums.of(keys, x if self.units is None else self.units(x), weights[kept])


def network_of_sums(parents: Parents, sums: Measured, prior: Any) -> HybridNetwork:
    """The network of numbers with those arrows: its evidence is a part of the sums over all of them."""
    assert isinstance(sums, NumberSums)
    place = {name: j for j, name in enumerate(sums.variables)}
    _, lines = shapes_of(parents, {*parents})
    parts = {}
    for line in lines.values():
        some = np.array([place[name] for name in line.columns])
        parts[line.label] = Part(line.axes, sums.moments.take(1, some).take(2, some))
    evidence = Evidence(Schema(tuple(Column(name, "number") for name in parents)), parts)
    return HybridNetwork.of_evidence(parents, HybridPriors.of(prior, parents, ()), evidence)
