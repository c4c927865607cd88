"""Scores of columns that depend on each other: one term.

Cut points depend on the classes of rows. So when a fold's rows are removed, they are chosen again from the remaining
rows: numbers are encoded in the initial bins, from which cut points are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import ALL, Settings
from credo.blocks.dependence.cells import Sizes, bins_of, sorted_cuts
from credo.blocks.dependence.cut_points import candidate_cuts, informative_cuts
from credo.blocks.dependence.likelihood import DependenceLikelihood
from credo.blocks.dependence.pairs import pair_counts
from credo.blocks.dependence.pairwise import PairwiseLikelihood
from credo.blocks.scoring import Cells, RowFlags, Scorer
from credo.core.evidence import NEVER_LEARNED, Evidence
from credo.core.labels import ROWS, Label
from credo.core.membership import Codes, Hard
from credo.core.statistics import Positions
from credo.data import Batch
from credo.errors import EvidenceError
from credo.numerics.exact import Array

BIN_PER_VALUE = 2**30  # bins: each value has a bin


@dataclass(frozen=True, eq=False)
class DependenceScorer(Scorer):
    """log p(cells | class) of all columns; the tree is chosen again when rows are removed."""

    likelihood: DependenceLikelihood
    edges: tuple[tuple[float, ...] | None, ...]  # all possible cut points of numbers; None: they are given
    codes: tuple[Codes, ...]  # for each column, the codes of its values or initial bins; -1 at the end
    rows: float  # the weight of the rows of the evidence
    reader: Any = None  # the likelihood that encodes cells

    missing = -1

    @property
    def names(self) -> tuple[str, ...]:
        return self.likelihood.names

    def term_names(self, places: Positions) -> tuple[str, ...]:  # noqa: ARG002 - columns aren't separable
        return (ALL,)

    def read(self, batch: Batch) -> Cells:
        """The value's code, or the initial bin, in each column. (rows, columns)"""
        found = self.reader.read(batch)
        for j, edges in enumerate(self.edges):
            if edges is not None:
                found[:, j] = bins_of(batch.numbers(self.names[j]), edges)
            else:
                found[:, j] = np.where(found[:, j] >= 0, found[:, j] - self.reader.cells.starts[j], -1)
        return np.asarray(found)

    def coded(self, cells: Cells) -> Codes:
        """The cells as codes of the likelihood. (rows, columns)"""
        columns = [codes[own] for codes, own in zip(self.codes, cells.T, strict=True)]
        return np.ascontiguousarray(np.stack(columns, axis=1)) if columns else cells

    def each(self, cells: Cells, places: Positions) -> Array:  # noqa: ARG002
        out = np.zeros((len(cells), len(self.likelihood.counts)))
        self.likelihood.add(self.coded(cells), out)
        return out[:, :, None]

    def each_left_out(self, cells: Cells, own: Hard, places: Positions) -> Array:  # noqa: ARG002
        out = np.zeros((len(cells), len(self.likelihood.counts)))
        self.likelihood.add_left_out(self.coded(cells), own, out)
        return out[:, :, None]

    def unseen(self, cells: Cells) -> NDArray[np.bool_]:
        return np.asarray((cells >= 0) & (self.likelihood.seen(self.coded(cells)) < 0))

    def reads_like(self, other: Scorer) -> bool:
        if not isinstance(other, DependenceScorer) or other.reader.evidence is not self.reader.evidence:
            return False
        return (other.names, other.edges, other.reader.cells.cuts) == (self.names, self.edges, self.reader.cells.cuts)

    def knowing(self, other: DependenceScorer) -> DependenceScorer:
        likelihood = replace(self.likelihood, cells=other.likelihood.cells, counts=other.likelihood.counts)
        return replace(self, likelihood=likelihood, codes=other.codes, rows=other.rows)

    def without(self, cells: Cells, own: Hard, gone: RowFlags) -> DependenceScorer:
        if not gone.any():
            return self
        left = self.rows - float(own.weight[gone].sum())
        if float(own.weight.sum()) == self.rows and any(edges is not None for edges in self.edges):
            return self.cut_again(cells[~gone], own.take(~gone))
        counts = self.likelihood.counts - self._counted(cells[gone], own.take(gone))
        if (counts < 0).any():
            raise EvidenceError(NEVER_LEARNED)
        return replace(self, likelihood=replace(self.likelihood, counts=counts), rows=left)

    def cut_again(self, cells: Cells, own: Hard) -> DependenceScorer:
        """The scorer of these rows alone, with cut points from these rows."""
        sizes, codes = list[int](), list[Codes]()
        for j, (edges, before) in enumerate(zip(self.edges, self.codes, strict=True)):
            bins = np.arange(len(before) - 1, dtype=np.int32)
            if edges is not None:
                at = np.where(cells[:, j] >= 0, own.codes * len(bins) + cells[:, j], own.groups * len(bins))
                found = np.bincount(at, own.weight, own.groups * len(bins) + 1)[:-1].astype(np.float64)
                counts = found.reshape(own.groups, len(bins))
                places = bins.astype(np.float64)
                bins = bins_of(places, informative_cuts(places, counts, BIN_PER_VALUE))
            codes.append(np.append(sum(sizes) + bins, -1).astype(np.int32))
            sizes.append(int(bins.max(initial=-1)) + 1)
        known = Sizes(self.names, {}, {}, {}, tuple(sizes))
        empty = np.zeros((own.groups, sum(sizes), sum(sizes)))
        fresh = replace(
            self, likelihood=replace(self.likelihood, cells=known, counts=empty), codes=tuple(codes),
            rows=float(own.weight.sum()),
        )  # fmt: skip
        return replace(fresh, likelihood=replace(fresh.likelihood, counts=fresh._counted(cells, own)))

    def _counted(self, cells: Cells, own: Hard) -> Array:
        found: Array = pair_counts(self.coded(cells), self.likelihood.counts.shape[1], own).n.value
        return found

    def under(self, settings: Settings) -> DependenceScorer:
        return replace(self, likelihood=replace(self.likelihood, settings=settings))


@dataclass(frozen=True, eq=False)
class PairwiseScorer(DependenceScorer):
    """A term for each of the pairs most informative about the class, by the remaining evidence."""

    likelihood: PairwiseLikelihood

    def term_names(self, places: Positions) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(map(self.likelihood.name_of, self.likelihood.chosen))

    def each(self, cells: Cells, places: Positions) -> Array:  # noqa: ARG002
        codes = self.likelihood.seen(self.coded(cells))
        return self._stacked(len(cells), [self.likelihood.term_of(pair, codes) for pair in self.likelihood.chosen])

    def each_left_out(self, cells: Cells, own: Hard, places: Positions) -> Array:  # noqa: ARG002
        codes, likelihood = self.likelihood.seen(self.coded(cells), own), self.likelihood
        return self._stacked(len(cells), [likelihood.term_left_out(pair, codes, own) for pair in likelihood.chosen])

    def _stacked(self, rows: int, found: list[Array]) -> Array:
        return np.stack(found, axis=-1) if found else np.zeros((rows, len(self.likelihood.counts), 0))


def scorer_of(likelihood: DependenceLikelihood) -> DependenceScorer:
    cells, evidence = likelihood.cells, likelihood.evidence
    edges = tuple(_edges(evidence, name, cells.cuts[name]) if name in cells.cuts else None for name in cells.names)
    codes = []
    for j, (name, own) in enumerate(zip(cells.names, edges, strict=True)):
        found = np.append(cells.starts[j] + np.arange(cells.sizes[j]), -1).astype(np.int32)
        if own is not None:
            firsts = np.array([-np.inf, *own])  # of the initial bins
            places = {value: cells.starts[j] + i for i, value in enumerate(cells.values(name))}
            found = np.array([*(places.get(int(b), -1) for b in bins_of(firsts, cells.cuts[name])), -1], dtype=np.int32)
        codes.append(found)
    rows = float(evidence[ROWS].n.value.sum()) if evidence is not None and ROWS in evidence.parts else -1.0
    return DependenceScorer(likelihood, edges, tuple(codes), rows, likelihood)


def _edges(evidence: Evidence | None, name: str, cuts: tuple[float, ...]) -> tuple[float, ...] | None:
    """All possible cut points of a number, if there is a sketch of it."""
    label = Label("column", name)
    if evidence is None or label not in evidence.parts or evidence.schema[name].kind != "number":
        return None
    column, order = evidence.schema[name].ordered()
    values, counts = column.levels.to_numpy(zero_copy_only=False), evidence[label].n.value[:, order]
    return sorted_cuts((*cuts, *candidate_cuts(values, counts))) if len(values) else None
