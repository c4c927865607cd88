"""Tallies: sums that add single rows to a block's evidence, in place. A row is read and checked, and then added."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.blocks.block import Block, Settings
from credo.blocks.capabilities import Capability, Tallies
from credo.core.evidence import Evidence
from credo.core.membership import Hard
from credo.core.statistics import Counts
from credo.data import Batch, recut
from credo.data.conversion import array_of
from credo.data.schema import Column, Schema
from credo.numerics.exact import Array

Row = Mapping[str, Any]  # a cell for each column, None where it is missing


class Tally(ABC):
    """Sums over rows that came one by one, apart from the earlier evidence."""

    @abstractmethod
    def read(self, row: Row, number: int) -> None:
        """Read the cells of a row to be learned; a wrong one is an error. No sum changes yet."""

    @abstractmethod
    def add(self, k: int, weight: float) -> None:
        """Learn the row that was read, with class k, which may be new."""

    @abstractmethod
    def evidence(self, classes: Column) -> Evidence:
        """The evidence of all added rows, as by `Block.summarise`."""


class PredictingTally(Tally, Capability):
    """A tally that also predicts from its sums, as the likelihood with estimate="bayes"."""

    @property
    def exact(self) -> bool:
        """Whether it agrees with the likelihood to the last digits for all sums."""
        return True

    @abstractmethod
    def look(self, row: Row, number: int) -> None:
        """Read the cells of a row to be predicted; an unseen value is ignored."""

    @abstractmethod
    def score(self, settings: Settings, out: Array) -> None:
        """out (classes,) += log p(cells | class) of the row that `look` read."""


class KeptRows(Tally):
    """The tally of any block: rows are stored, and summarised when the evidence is read."""

    def __init__(self, block: Block, groups: str) -> None:
        self._block, self._groups = block, groups
        self._rows: list[Batch] = []
        self._codes: list[int] = []
        self._weights: list[float] = []

    def read(self, row: Row, number: int) -> None:
        self._batch = Batch(number, 1, {name: array_of([row[name]], name, number) for name in self._block.names})
        self._block.summarise(self._batch, Hard.whole(1), self._groups)  # raises an error for a wrong cell

    def add(self, k: int, weight: float) -> None:
        self._rows.append(self._batch)
        self._codes.append(k)
        self._weights.append(weight)

    def evidence(self, classes: Column) -> Evidence:
        member = Hard.of(self._codes, len(classes.levels), self._weights)
        own, found = Schema((classes,)), [Evidence(Schema((classes,)))]
        for batch in recut(self._rows):
            rows = np.arange(batch.start, batch.start + batch.rows)
            part = self._block.summarise(batch, member.take(rows), self._groups)
            found.append(Evidence(own | part.schema, part.parts))
        return Evidence.total(found)


def tally_of(block: Block, evidence: Evidence, groups: str) -> Tally:
    """The tally of any block."""
    own = Tallies.of(block)
    return KeptRows(block, groups) if own is None else own.tally(evidence)


class ClassWeights:
    """Class weights of rows that came one by one, in pairs of floats (see credo.numerics.exact), and of those
    before."""

    def __init__(self, before: Array) -> None:
        self._before = before  # (classes,)
        self._high, self._low = [0.0] * len(before), [0.0] * len(before)

    def add(self, k: int, weight: float) -> None:
        """Add a weight to class k, which may be new."""
        high, low = self._high, self._low
        if k >= len(high):
            high += [0.0] * (k + 1 - len(high))
            low += [0.0] * (k + 1 - len(low))
        old = high[k]
        new = high[k] = old + weight
        step = new - old
        low[k] += (old - (new - step)) + (weight - step)

    def value(self, classes: int) -> Array:
        """The weights of all rows. (classes,)"""
        found = np.zeros(classes)
        found[: len(self._before)] = self._before
        found[: len(self._high)] += np.add(self._high, self._low)
        return found

    def counts(self, classes: int) -> Counts:
        """The weights of added rows. (classes, 1)"""
        pairs = np.zeros((2, classes, 1))
        pairs[:, : len(self._high), 0] = self._high, self._low
        return Counts.of_pairs(*pairs)


def grown(sums: Array, axis: int) -> Array:
    """The sums with twice the length along an axis."""
    more = max(sums.shape[axis], 1)
    return np.pad(sums, [(0, more if i == axis else 0) for i in range(sums.ndim)])
