"""Log-likelihoods of columns that depend on several others, by counts of families.

pᵢ(b | a₁..aᵢ, class) = (n(class, a₁..aᵢ, b) + s pᵢ₋₁(b | a₁..aᵢ₋₁, class)) / (n(class, a₁..aᵢ) + s), and p₀ is
p(b | class): the estimate backs off, parent by parent, to cells with many rows. A parent with a missing cell and all
later parents are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import Settings
from credo.blocks.dependence.cell_likelihood import CellLikelihood
from credo.blocks.dependence.cells import Cells
from credo.blocks.dependence.parents import Chooser
from credo.core.evidence import Evidence
from credo.core.membership import Codes, Hard
from credo.core.statistics import RESIDUAL_WEIGHT, Positions
from credo.families import dirichlet
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.blocks.dependence.family_scoring import FamilyScorer

# n(class, a₁..aᵢ, b) for i = 0, 1, ... parents; classes are pooled for a column that doesn't depend on the class.
Depths = tuple[Array, ...]  # (configurations of the parents, cells, classes) each
# For each row, the index of its parents' combination of cells, and whether all of these are known
Configuration = tuple[Positions, NDArray[np.bool_]]


def depths(counts: Array, sizes: Sequence[int]) -> Depths:
    """The counts given the first parents, summed over all cells of the others, missing ones included.

    counts: (classes, each parent's cells..., own cells), the missing cells of each last.
    """
    counts, found = counts[..., : sizes[-1]], []
    for i in reversed(range(len(sizes))):
        known = counts[(slice(None), *(slice(size) for size in sizes[:i]))]
        flat = known.reshape(len(counts), math.prod(sizes[:i]), sizes[-1]).transpose(1, 2, 0)
        found.append(np.ascontiguousarray(flat) if len(flat) else np.zeros((1, *flat.shape[1:])))  # unused
        counts = counts.sum(i) if i else counts
    return tuple(reversed(found))


@dataclass(frozen=True, eq=False)
class FamilyLikelihood(CellLikelihood):
    """Σⱼ log pₖ(xⱼ | its first k parents, class); each k is a term, which tuning may weight."""

    cells: Cells
    tables: tuple[Depths, ...]  # of each column
    parents: tuple[tuple[int, ...], ...]  # of each column, the strongest first
    classes: int
    settings: Settings
    chooser: Chooser | None = None  # of the parents, if folds choose them again
    weights: Array | None = None  # of the terms; by default, only the largest k counts
    evidence: Evidence | None = None

    @cached_property
    def singles(self) -> Array:
        if not self.tables:
            return np.zeros((self.classes, 0))
        each = [own[0][0] for own in self.tables]  # pooled counts are divided equally among classes
        even = [n if n.shape[1] == self.classes else np.repeat(n / self.classes, self.classes, axis=1) for n in each]
        return np.concatenate(even).T

    @property
    def largest(self) -> int:
        return max(map(len, self.parents), default=0) if self.chooser is None else self.chooser.most

    @property
    def term_names(self) -> tuple[str, ...]:
        """k = 1, 2, ..., the numbers of parents used."""
        return tuple(map(str, range(min(self.largest, 1), self.largest + 1)))

    @property
    def _term_weights(self) -> Array:
        return np.eye(len(self.term_names))[-1] if self.weights is None else self.weights

    @cached_property
    def totals(self) -> tuple[Depths, ...]:
        """n(class, a₁..aᵢ) of rows in which the column is known. (configurations, classes)"""
        return tuple(tuple(table.sum(1) for table in own) for own in self.tables)

    @cached_property
    def _class_tables(self) -> tuple[Array, ...]:
        """p(b | class) of each column. (cells, classes)"""
        found, smoothing = [], self.settings.smoothing
        for own, total, levels in zip(self.tables, self.totals, self.levels, strict=True):
            seen = own[0][0].sum(1, keepdims=True) > 0
            share = dirichlet.shared_out(own[0][0] + smoothing, total[0] + smoothing * levels, levels)
            found.append(np.where(seen, share, 0.0))
        return tuple(found)

    @cached_property
    def shares(self) -> Array:
        each = [np.broadcast_to(own, (len(own), self.classes)) for own in self._class_tables]
        return np.concatenate([np.empty((0, self.classes)), *each]).T

    # Log-likelihoods

    def _probabilities(self, j: int, codes: Codes, given_parents: Sequence[Configuration]) -> Iterator[Array]:
        """pᵢ of a column's cells for i = 0, 1, ... parents; arbitrary for unknown cells. (rows, classes)"""
        s, x = self.settings.backoff, np.maximum(codes[:, j] - self.cells.starts[j], 0)
        p = self._class_tables[j][x]
        yield p
        for i, (at, known) in enumerate(given_parents, 1):
            given = self.tables[j][i][at, x]
            given += s * p
            given /= self.totals[j][i][at] + s
            p = given if known.all() else np.where(known[:, None], given, p)
            yield p

    def _left_out(self, j: int, codes: Codes, own: Hard, given_parents: Sequence[Configuration]) -> Iterator[Array]:
        """pᵢ under each row's class, the row left out. (rows,)"""
        s, w = self.settings.backoff, own.weight
        k = own.codes if self.depends(j) else np.zeros_like(own.codes)
        x = np.maximum(codes[:, j] - self.cells.starts[j], 0)
        total = np.maximum(self.totals[j][0][0, k] - w, 0.0) + self.settings.smoothing * self.levels[j]
        above = np.maximum(self.tables[j][0][0, x, k] - w, 0.0) + self.settings.smoothing
        p = dirichlet.shared_out(above, np.where(total > RESIDUAL_WEIGHT * w, total, 0.0), self.levels[j])
        yield p
        for i, (at, known) in enumerate(given_parents, 1):
            n = np.maximum(self.tables[j][i][at, x, k] - w, 0.0)
            p = np.where(known, (n + s * p) / (np.maximum(self.totals[j][i][at, k] - w, 0.0) + s), p)
            yield p

    def depends(self, j: int) -> bool:
        """Whether a column depends on the class; with a single class, all do."""
        return bool(self.tables[j][0].shape[2] == self.classes)

    def _configurations(self, j: int, codes: Codes) -> Iterator[Configuration]:
        """For the first 1, 2, ... parents, the index of their cells' combination, and whether all are known. (rows,)"""
        known, at = np.ones(len(codes), dtype=bool), np.zeros(len(codes), dtype=np.intp)
        for parent in self.parents[j]:
            known = known & (codes[:, parent] >= 0)
            at = at * self.cells.sizes[parent] + np.maximum(codes[:, parent] - self.cells.starts[parent], 0)
            yield at, known

    def _column_terms(self, j: int, codes: Codes, own: Hard | None = None) -> list[Array]:
        """A column's part of each term, log pₖ; with `own`, each row is left out of its class. (rows, classes) each"""
        unknown, shape = codes[:, j] < 0, (len(codes), self.classes)
        given = [*self._configurations(j, codes)]
        needed = max(1, len(given) - self.largest + len(self.term_names))  # other columns have more parents
        found = [*self._probabilities(j, codes, given)][-needed:]
        if own is not None:
            rows, mine = np.arange(len(codes)), own.codes if self.depends(j) else 0
            for p, without in zip(found, [*self._left_out(j, codes, own, given)][-needed:], strict=True):
                p[rows, mine] = without
        with np.errstate(divide="ignore"):
            for p in found:
                np.log(p, out=p)
        for terms in found if unknown.any() else ():
            terms[unknown] = 0.0
        found += found[-1:] * (len(self.term_names) - len(found))
        return [terms if terms.shape == shape else np.broadcast_to(terms, shape) for terms in found]

    def _terms(self, codes: Codes, shape: tuple[int, int], own: Hard | None = None) -> Array:
        out = np.zeros((len(self.term_names), *shape))
        for j in np.flatnonzero(self.cells.sizes).tolist():
            for term, terms in zip(out, self._column_terms(j, codes, own), strict=True):
                term += terms
        return np.moveaxis(out, 0, 2)

    def each(self, cells: Codes, shape: tuple[int, int]) -> Array:
        return self._terms(self.seen(cells), shape)

    def each_nearly_left_out(self, cells: Codes, own: Hard) -> Array:
        return self._terms(self.seen(cells, own), (own.rows, own.groups), own)

    def add(self, cells: Codes, out: Array) -> None:
        self._add_weighted(self._term_weights, self.seen(cells), None, out)

    def add_left_out(self, cells: Codes, own: Hard, out: Array) -> None:
        """The parents and the cut points are held fixed."""
        self.add_weighted_left_out(cells, own, np.eye(len(self.term_names))[-1], out)

    def add_weighted_left_out(self, cells: Codes, own: Hard, weights: Array, out: Array) -> None:
        self._add_weighted(weights, self.seen(cells, own), own, out)

    def _add_weighted(self, weights: Array, codes: Codes, own: Hard | None, out: Array) -> None:
        for j in np.flatnonzero(self.cells.sizes).tolist():
            out += self._weighted_sum(weights, self._column_terms(j, codes, own))

    def _weighted_sum(self, weights: Array, terms: Sequence[Array]) -> Array:
        """The weighted sum of terms; a weight of 0 ignores even impossible cells."""
        return sum((w * each for w, each in zip(weights, terms, strict=True) if w), np.zeros_like(terms[0]))

    def by_column(self, cells: Codes, shape: tuple[int, int]) -> dict[str, Array]:
        """The terms of each column given its parents."""
        found, codes = {name: np.zeros(shape) for name in self.names}, self.seen(cells)
        for j in np.flatnonzero(self.cells.sizes).tolist():
            found[self.names[j]] = self._weighted_sum(self._term_weights, self._column_terms(j, codes))
        return found

    def hidden(self, cells: Codes, log_likelihood: Array) -> dict[str, Array]:
        """The term of each column, and the change in its children's terms."""
        codes = self.seen(cells)
        terms = self.by_column(cells, log_likelihood.shape)
        found = {}
        for j, name in enumerate(self.names):
            found[name] = terms[name].copy()
            others = codes.copy()
            others[:, j] = -1
            for child in (c for c, own in enumerate(self.parents) if j in own and self.cells.sizes[c]):
                found[name] += terms[self.names[child]] - self._weighted_sum(
                    self._term_weights, self._column_terms(child, others)
                )
        return found

    def weighted(self, weights: Array) -> Self:
        return replace(self, weights=weights)

    def scorer(self) -> FamilyScorer:
        from credo.blocks.dependence.family_scoring import family_scorer

        return family_scorer(self)

    @property
    def free_parameters(self) -> int:
        levels = np.maximum(self.levels, 1)
        each = [np.prod(levels[[*own]]) * (levels[j] - 1) for j, own in enumerate(self.parents)]
        return int(sum(n * self.tables[j][0].shape[2] for j, n in enumerate(each)))

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        codes, done = np.full((len(classes), len(self.names)), -1, dtype=np.int32), set[int]()
        while len(done) < len(self.names):
            for j in (j for j, own in enumerate(self.parents) if j not in done and done.issuperset(own)):
                codes[:, j] = self._drawn(j, self._given_parents(j, codes, classes), rng)
                done.add(j)
        return self._as_values(codes, rng)

    def _given_parents(self, j: int, codes: Codes, classes: Any) -> Array:
        """P(cell | parents' cells, class) of a column's cells; 0 for other columns' cells. (rows, cells)"""
        share, rows = np.zeros((len(codes), len(self.pooled))), np.arange(len(codes))
        for cell in range(self.cells.starts[j], self.cells.starts[j + 1]):
            asked = codes.copy()
            asked[:, j] = cell
            *_, p = self._probabilities(j, asked, [*self._configurations(j, asked)])
            share[:, cell] = p[rows, classes if self.depends(j) else 0]
        return share
