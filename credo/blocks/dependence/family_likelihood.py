"""Log-likelihoods of columns that depend on several others, by counts of families.

pᵢ(b | a₁..aᵢ, class) = (n(class, a₁..aᵢ, b) + s pᵢ₋₁(b | a₁..aᵢ₋₁, class)) / (n(class, a₁..aᵢ) + s), and p₀ = p(b | class):
the estimate backs off, parent by parent, to where rows are many. Where a parent's cell is missing, it and those after
it are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from credo.blocks.block import Settings
from credo.blocks.dependence.cell_likelihood import CellLikelihood
from credo.blocks.dependence.cells import Cells
from credo.core.evidence import Evidence
from credo.core.membership import Codes, Hard
from credo.core.statistics import Positions
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.blocks.dependence.family_scoring import FamilyScorer

Depths = tuple[Array, ...]  # n(class, a₁..aᵢ, b) for i = 0, 1, ... parents. (configurations of these, cells, classes)


def depths(counts: Array, sizes: Sequence[int]) -> Depths:
    """The counts given the first parents, over all cells of the others, missing ones among them.

    counts: (classes, each parent's cells..., own cells), the missing cells of each last.
    """
    counts, found = counts[..., : sizes[-1]], []
    for i in reversed(range(len(sizes))):
        known = counts[(slice(None), *(slice(size) for size in sizes[:i]))]
        found.append(np.ascontiguousarray(known.reshape(len(counts), -1, sizes[-1]).transpose(1, 2, 0)))
        counts = counts.sum(i) if i else counts
    return tuple(reversed(found))


@dataclass(frozen=True, eq=False)
class FamilyLikelihood(CellLikelihood):
    """Σⱼ log pₖ(xⱼ | its first k parents, class); each k up to the largest is a term, which a tuning may weigh."""

    cells: Cells
    tables: tuple[Depths, ...]  # of each column
    parents: tuple[tuple[int, ...], ...]  # of each column, those that it depends on most first
    settings: Settings
    most: int | None = None  # parents of a column, where folds choose them again; None: they are given
    weights: Array | None = None  # of the terms; without, the largest k counts alone
    evidence: Evidence | None = None

    @cached_property
    def singles(self) -> Array:  # type: ignore[override]
        return np.concatenate([own[0][0] for own in self.tables]).T if self.tables else np.zeros((0, 0))

    @property
    def classes(self) -> int:
        return int(self.tables[0][0].shape[2])

    @property
    def largest(self) -> int:
        return max(map(len, self.parents), default=0) if self.most is None else self.most

    @property
    def term_names(self) -> tuple[str, ...]:
        """k = 1, 2, ...: how many parents are looked at."""
        return tuple(map(str, range(min(self.largest, 1), self.largest + 1)))

    @property
    def _weighed(self) -> Array:
        return np.eye(len(self.term_names))[-1] if self.weights is None else self.weights

    @cached_property
    def totals(self) -> tuple[Depths, ...]:
        """n(class, a₁..aᵢ) where the column is known. (configurations, classes)"""
        return tuple(tuple(table.sum(1) for table in own) for own in self.tables)

    # Log-likelihoods

    def _probabilities(self, j: int, codes: Codes, own: Hard | None = None) -> Iterator[Array]:
        """pᵢ of a column's cells for i = 0, 1, ... parents; of rows that are left out, their class without them. Cells
        that aren't known have any value. (rows, classes)"""
        s, each = self.settings.backoff, np.arange(len(codes))
        x = np.maximum(codes[:, j] - self.cells.starts[j], 0)
        p = self.shares[:, self.cells.starts[j] + x].T
        if own is not None:
            p[each, own.codes] = self._share_left_out(j, x, own)
        yield p
        known, at = np.ones(len(codes), dtype=bool), np.zeros(len(codes), dtype=np.intp)
        for i, parent in enumerate(self.parents[j], 1):
            known = known & (codes[:, parent] >= 0)
            at = at * self.cells.sizes[parent] + np.maximum(codes[:, parent] - self.cells.starts[parent], 0)
            n, total = self.tables[j][i][at, x], self.totals[j][i][at]
            if own is not None:
                n[each, own.codes] = np.maximum(n[each, own.codes] - own.weight, 0.0)
                total[each, own.codes] = np.maximum(total[each, own.codes] - own.weight, 0.0)
            p = np.where(known[:, None], (n + s * p) / (total + s), p)
            yield p

    def _share_left_out(self, j: int, x: Positions, own: Hard) -> Array:
        """p(b | class) of each row's class, without the row. (rows,)"""
        w, smoothing = own.weight, self.settings.smoothing
        total = np.maximum(self.known[own.codes, j] - w, 0.0) + smoothing * self.levels[j]
        above = np.maximum(self.tables[j][0][0][x, own.codes] - w, 0.0) + smoothing
        some = total > 1e-12 * w
        return np.where(some, above / np.where(some, total, 1.0), 1 / max(self.levels[j], 1.0))

    def _said(self, j: int, codes: Codes, own: Hard | None = None) -> list[Array]:
        """What a column says as each term has it: log pₖ. (rows, classes) each"""
        unknown, found = (codes[:, j] < 0)[:, None], list[Array]()
        with np.errstate(divide="ignore"):
            for p in self._probabilities(j, codes, own):
                found.append(np.where(unknown, 0.0, np.log(np.where(unknown, 1.0, p))))
        found += found[-1:] * (self.largest + 1 - len(found))
        return found[-len(self.term_names) :]

    def _terms(self, codes: Codes, shape: tuple[int, int], own: Hard | None = None) -> Array:
        out = np.zeros((*shape, len(self.term_names)))
        for j in np.flatnonzero(self.cells.sizes).tolist():
            for term, said in enumerate(self._said(j, codes, own)):
                out[:, :, term] += said
        return out

    def each(self, cells: Codes, shape: tuple[int, int]) -> Array:
        return self._terms(self.seen(cells), shape)

    def each_nearly_left_out(self, cells: Codes, own: Hard) -> Array:
        return self._terms(self.seen(cells, own), (own.rows, own.groups), own)

    def add(self, cells: Codes, out: Array) -> None:
        self._add_weighted(self._weighed, self.seen(cells), None, out)

    def add_left_out(self, cells: Codes, own: Hard, out: Array) -> None:
        """The parents and the cut points stay as they are."""
        self.add_weighted_left_out(cells, own, np.eye(len(self.term_names))[-1], out)

    def add_weighted_left_out(self, cells: Codes, own: Hard, weights: Array, out: Array) -> None:
        self._add_weighted(weights, self.seen(cells, own), own, out)

    def _add_weighted(self, weights: Array, codes: Codes, own: Hard | None, out: Array) -> None:
        for j in np.flatnonzero(self.cells.sizes).tolist():
            out += self._weighted_sum(weights, self._said(j, codes, own))

    def _weighted_sum(self, weights: Array, said: Sequence[Array]) -> Array:
        """A weight of 0 silences even what is impossible."""
        return sum((w * each for w, each in zip(weights, said, strict=True) if w), np.zeros_like(said[0]))

    def by_column(self, cells: Codes, shape: tuple[int, int]) -> dict[str, Array]:
        """What each column says given its parents."""
        found, codes = {name: np.zeros(shape) for name in self.names}, self.seen(cells)
        for j in np.flatnonzero(self.cells.sizes).tolist():
            found[self.names[j]] = self._weighted_sum(self._weighed, self._said(j, codes))
        return found

    def hidden(self, cells: Codes, log_likelihood: Array) -> dict[str, Array]:
        """What each column says, and what its children say beyond what they would without it."""
        codes = self.seen(cells)
        said = self.by_column(cells, log_likelihood.shape)
        found = {}
        for j, name in enumerate(self.names):
            found[name] = said[name].copy()
            others = codes.copy()
            others[:, j] = -1
            for child in (c for c, own in enumerate(self.parents) if j in own and self.cells.sizes[c]):
                found[name] += said[self.names[child]] - self._weighted_sum(self._weighed, self._said(child, others))
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
        return int(self.classes * sum(each))

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        codes, done = np.full((len(classes), len(self.names)), -1, dtype=np.int32), set[int]()
        while len(done) < len(self.names):
            for j in (j for j, own in enumerate(self.parents) if j not in done and done.issuperset(own)):
                codes[:, j] = self._drawn(j, self._given_parents(j, codes, classes), rng)
                done.add(j)
        return self._as_values(codes, rng)

    def _given_parents(self, j: int, codes: Codes, classes: Any) -> Array:
        """P(cell | parents' cells, class) of a column's cells, 0 for those of others. (rows, cells)"""
        share, rows = np.zeros((len(codes), len(self.pooled))), np.arange(len(codes))
        for cell in range(self.cells.starts[j], self.cells.starts[j + 1]):
            asked = codes.copy()
            asked[:, j] = cell
            *_, p = self._probabilities(j, asked)
            share[:, cell] = p[rows, classes]
        return share
