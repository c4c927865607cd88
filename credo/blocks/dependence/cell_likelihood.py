"""The common part of likelihoods of dependent columns: p(cell | class), and reading.

p(b | class) = (n(class, b) + l) / (n(class) + l levels), over the cells that have evidence.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from credo.blocks.block import UNSEEN_VALUES, Parameter, Settings
from credo.blocks.capabilities import CountsIgnored, Draws, Hides, Ignored, Scored, Weighable
from credo.blocks.dependence.cells import Cells, bin_name
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.membership import Codes, Hard
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.data import Batch
from credo.families import dirichlet
from credo.numerics.exact import Array


class CellLikelihood(Weighable, Scored, CountsIgnored, Draws, Hides):
    """log p(cells | class) of all columns jointly."""

    cells: Cells
    settings: Settings
    evidence: Evidence | None  # with sketches of numbers, from which cut points can be chosen again

    @property
    def names(self) -> tuple[str, ...]:
        return self.cells.names

    def read(self, batch: Batch) -> Codes:
        """Codes of cells, -1 where one is missing or unseen. (rows, columns)"""
        return self.cells.read(batch)[0]

    def read_counting_ignored(self, batch: Batch) -> tuple[Codes, Ignored]:
        codes, unseen = self.cells.read(batch)
        return codes, {(name, UNSEEN_VALUES): n for name, n in unseen.items() if n}

    # Tables

    @property
    @abstractmethod
    def singles(self) -> Array:
        """n(class, a). (classes, cells)"""

    @cached_property
    def pooled(self) -> Array:
        """The weight of the rows with each cell. (cells,)"""
        return np.asarray(self.singles.sum(0))

    def over_columns(self, x: Array) -> Array:
        """Sums over the cells of each column. (..., cells) -> (..., columns)"""
        found = np.zeros((*x.shape[:-1], len(self.names)))
        some = np.flatnonzero(self.cells.sizes)
        if len(some):
            found[..., some] = np.add.reduceat(x, self.cells.starts[some], axis=-1)
        return found

    @cached_property
    def levels(self) -> Array:
        """The number of cells of each column with evidence: the others have no prior mass. (columns,)"""
        return self.over_columns((self.pooled > 0).astype(np.float64))

    @cached_property
    def known(self) -> Array:
        """The weight of the rows in which a column is known. (classes, columns)"""
        return self.over_columns(self.singles)

    @cached_property
    def shares(self) -> Array:
        """p(b | class); 0 for cells without evidence. (classes, cells)"""
        column, smoothing = self.cells.column, self.settings.smoothing
        total = self.known + smoothing * self.levels
        above = np.where(self.pooled > 0, self.singles + smoothing, 0.0)
        return np.where(self.pooled > 0, dirichlet.shared_out(above, total[:, column], self.levels[column]), 0.0)

    def seen(self, codes: Codes, own: Hard | None = None) -> Codes:
        """The codes with cells without evidence missing; for left-out rows, also cells that no other row has."""
        if not len(self.pooled):
            return codes
        gone = np.zeros((len(codes), 1)) if own is None else own.weight[:, None]
        left = self.pooled[codes] - gone > RESIDUAL_WEIGHT * gone
        return np.ascontiguousarray(np.where(left, codes, np.int32(-1)))

    def hidden(self, cells: Codes, log_likelihood: Array) -> dict[str, Array]:
        """The contribution of each column given all others."""
        found = {}
        for j, name in enumerate(self.names):
            others, without = cells.copy(), np.zeros_like(log_likelihood)
            others[:, j] = -1
            self.add(others, without)
            found[name] = log_likelihood - without
        return found

    def parameters(self) -> list[Parameter]:
        return [
            Parameter(name, "probability", self.shares[:, self.cells.starts[j] + v], self._shown(j, v))
            for j, name in enumerate(self.names)
            for v in range(self.cells.sizes[j])
        ]

    def _shown(self, column: int, place: int) -> Any:
        name = self.names[column]
        value = self.cells.values(name)[place]
        return bin_name(self.cells.cuts[name], value) if name in self.cells.cuts else value

    # Drawing

    def _drawn(self, column: int, share: Array, rng: np.random.Generator) -> Codes:
        """A sampled cell of a column for each row, given their shares. (rows, cells) -> (rows,)"""
        if not self.cells.sizes[column]:
            return np.full(len(share), -1, dtype=np.int32)
        own = slice(self.cells.starts[column], self.cells.starts[column + 1])
        reached = np.cumsum(share[:, own], axis=1)
        place = (rng.random((len(share), 1)) * reached[:, -1:] >= reached).sum(1)
        last = self.cells.starts[column + 1] - 1
        return np.asarray(np.minimum(self.cells.starts[column] + place, last), dtype=np.int32)

    def _as_values(self, codes: Codes, rng: np.random.Generator) -> dict[str, Any]:
        """Cells as values; a number is drawn uniformly from its bin."""
        found: dict[str, Any] = {}
        for j, name in enumerate(self.names):
            values = np.array([*self.cells.values(name), None], dtype=object)
            drawn = values[np.where(codes[:, j] >= 0, codes[:, j] - self.cells.starts[j], -1)]
            found[name] = drawn
            if name in self.cells.cuts:
                edges = self._edges(name)
                found[name] = np.full(len(drawn), np.nan)
                known = codes[:, j] >= 0
                place = drawn[known].astype(np.intp)
                found[name][known] = edges[place] + rng.random(len(place)) * np.diff(edges)[place]
        return found

    def _edges(self, name: str) -> Array:
        """The edges of a number's bins. A uniform number lies within √3 standard deviations of the mean; the outermost
        bins are at least a standard deviation wide."""
        mean, deviation = self._spread(name)
        cuts = np.array(self.cells.cuts[name])
        low, high = mean - np.sqrt(3.0) * deviation, mean + np.sqrt(3.0) * deviation
        if len(cuts):
            low, high = min(low, cuts[0] - deviation), max(high, cuts[-1] + deviation)
        return np.concatenate([[low], cuts, [high]])

    def _spread(self, name: str) -> tuple[float, float]:
        """The pooled mean and standard deviation of a number, from its statistics or its cut points."""
        kind = None if self.evidence is None else self.evidence.schema[name].kind
        label = Label("dates" if kind == "date" else "numbers")
        if self.evidence is not None and label in self.evidence.parts:
            names = [column.name for column in self.evidence.schema if column.kind == kind]
            own = self.evidence[label].pooled()
            if name in names and own.n.shape[-1] == len(names):
                j = names.index(name)
                n = max(float(own.n.value[0, j]), RESIDUAL_WEIGHT)
                return float(own.mean[0, j]), float(np.sqrt(own.scatter[0, j] / n))
        cuts = np.array(self.cells.cuts[name])
        return (float(cuts.mean()), float(cuts.std())) if len(cuts) else (np.nan, np.nan)
