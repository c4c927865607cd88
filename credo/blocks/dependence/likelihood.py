"""Log-likelihoods of columns that depend on each other, by counts of pairs of cells.

p(b | a, class) = (n(class, a, b) + s p(b | class)) / (n(class, a) + s), where s is the strength of the back-off: with
few rows, it reduces to p(b | class).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from credo._kernels.blocks.dependence import (
    add_one_dependence,
    add_one_dependence_left_out,
    add_tree,
    add_tree_left_out,
    hide_one_dependence,
)
from credo.blocks.block import Settings
from credo.blocks.capabilities import OneTerm
from credo.blocks.dependence.cell_likelihood import CellLikelihood
from credo.blocks.dependence.cells import Cells
from credo.core.evidence import Evidence
from credo.core.membership import Codes, Hard
from credo.core.statistics import Positions
from credo.numerics.exact import Array
from credo.numerics.spanning_tree import spanning_tree
from credo.numerics.special import log_rising

if TYPE_CHECKING:
    from credo.blocks.dependence.scoring import DependenceScorer

Tables = tuple[Array, Array, Array, Array, float, float]  # for the kernels that leave rows out


@dataclass(frozen=True, eq=False)
class DependenceLikelihood(OneTerm, CellLikelihood):
    """log p(cells | class) of all columns jointly."""

    cells: Cells
    counts: Array  # (classes, cells, cells)
    settings: Settings
    given: Mapping[str, str] | None = None  # the tree, if it is given
    weight: float = 1.0
    evidence: Evidence | None = None

    @cached_property
    def singles(self) -> Array:
        return np.ascontiguousarray(np.diagonal(self.counts, axis1=1, axis2=2))

    @cached_property
    def totals(self) -> Array:
        """The weight of rows with a cell in which a column is known. (classes, cells, columns)"""
        return self.over_columns(self.counts)

    @cached_property
    def conditional(self) -> Array:
        """p(b | a, class). (classes, cells a, cells b)"""
        s, column = self.settings.backoff, self.cells.column
        return (self.counts + s * self.shares[:, None]) / (self.totals[:, :, column] + s)

    @cached_property
    def _log_single(self) -> Array:
        """log p(b | class); 0 for a cell without evidence, which is ignored. (cells, classes)"""
        with np.errstate(divide="ignore"):
            return np.ascontiguousarray(np.where(self.pooled > 0, np.log(self.shares), 0.0).T)

    @cached_property
    def _log_pair(self) -> Array:
        """log p(b | a, class). (cells a, cells b, classes)"""
        with np.errstate(divide="ignore"):
            return np.ascontiguousarray(np.where(self.pooled > 0, np.log(self.conditional), 0.0).transpose(1, 2, 0))

    # Log-likelihoods

    def add(self, cells: Codes, out: Array) -> None:
        if self.weight == 1:
            self._add(self.seen(cells), out)
        elif self.weight:
            found = np.zeros_like(out)
            self._add(self.seen(cells), found)
            out += self.weight * found

    def add_left_out(self, cells: Codes, own: Hard, out: Array) -> None:
        """The tree and the cut points are held fixed."""
        sums = (self.counts, self.totals, self.known, self.levels)
        tables: Tables = (*sums, self.settings.smoothing, self.settings.backoff)
        self._add_left_out(self.seen(cells, own), own, tables, out)

    @abstractmethod
    def _add(self, codes: Codes, out: Array) -> None: ...

    @abstractmethod
    def _add_left_out(self, codes: Codes, own: Hard, tables: Tables, out: Array) -> None: ...

    def weighted(self, weights: Array) -> Self:
        return replace(self, weight=float(weights[0]))

    def scorer(self) -> DependenceScorer:
        from credo.blocks.dependence.scoring import scorer_of

        return scorer_of(self)

    @cached_property
    def log_bayes_factors(self) -> Array:
        """The log Bayes factors of dependence between columns, with θ ~ Dirichlet(s p(b | class)) integrated out: the
        mean of both directions. (columns, columns)"""
        s, column = self.settings.backoff, self.cells.column
        prior = s * self.shares[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.where(self.counts > 0, self.counts * np.log(self.shares)[:, None], 0.0)
            each = np.where(self.counts > 0, log_rising(np.where(prior > 0, prior, 1.0), self.counts), 0.0) - alone
        gains = self.over_columns(each.sum(0)) - log_rising(np.full(self.totals.shape, s), self.totals).sum(0)
        by_column = np.zeros((len(self.names), len(self.names)))
        np.add.at(by_column, column, gains)  # (columns of a, columns of b)
        return (by_column + by_column.T) / 2


class TreeLikelihood(DependenceLikelihood):
    """log p(cells | class) = Σⱼ log p(xⱼ | parent's cell, class), along the tree.

    If the parent's cell is missing, the factor is p(xⱼ | class).
    """

    @cached_property
    def parents(self) -> Positions:
        """The parent of each column, -1 for a root: as given, or by the maximum spanning tree of log Bayes factors."""
        if self.given is not None:
            place = {name: j for j, name in enumerate(self.names)}
            return np.array([place[self.given[n]] if n in self.given else -1 for n in self.names], dtype=np.intp)
        return spanning_tree(self.log_bayes_factors, least=0.0)

    def _add(self, codes: Codes, out: Array) -> None:
        add_tree(codes, self.parents, self._log_pair, self._log_single, out)

    def _add_left_out(self, codes: Codes, own: Hard, tables: Tables, out: Array) -> None:
        before = (codes, own.codes, own.weight, self.parents, self._log_pair, self._log_single)
        add_tree_left_out(*before, *tables, out)

    def by_column(self, cells: Codes, shape: tuple[int, int]) -> dict[str, Array]:
        """The terms of each column given its parent."""
        found, codes = {}, self.seen(cells)
        for j, name in enumerate(self.names):
            own, alone = np.full_like(codes[:, :2], -1), np.full(2, -1, dtype=np.intp)
            own[:, 1] = codes[:, j]
            if self.parents[j] >= 0:
                own[:, 0], alone[1] = codes[:, self.parents[j]], 0
            full, without = np.zeros(shape), np.zeros(shape)
            add_tree(own, alone, self._log_pair, self._log_single, full)
            own[:, 1] = -1
            add_tree(own, alone, self._log_pair, self._log_single, without)
            found[name] = self.weight * (full - without)
        return found

    @property
    def free_parameters(self) -> int:
        cells = self.levels
        each = np.where(self.parents >= 0, cells[self.parents], 1.0) * np.maximum(cells - 1, 0)
        return int(len(self.counts) * each.sum())

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        codes = np.full((len(classes), len(self.names)), -1, dtype=np.int32)
        done: set[int] = set()
        while len(done) < len(self.names):
            for j in (j for j in range(len(self.names)) if j not in done):
                parent = int(self.parents[j])
                if parent < 0 or parent in done:
                    share = self.shares[classes]
                    if parent >= 0:
                        share = np.where(codes[:, [parent]] >= 0, self.conditional[classes, codes[:, parent]], share)
                    codes[:, j] = self._drawn(j, share, rng)
                    done.add(j)
        return self._as_values(codes, rng)


class OneDependenceLikelihood(DependenceLikelihood):
    """log p(cells | class) = log of the mean over columns s of p(xₛ | class) Πⱼ p(xⱼ | xₛ, class).

    The mean is over the columns that are known in the row. (Webb, Boughton & Wang 2005; with the back-off, no minimum
    number of rows is needed.)
    """

    def _add(self, codes: Codes, out: Array) -> None:
        add_one_dependence(codes, self._log_pair, self._log_single, out)

    def _add_left_out(self, codes: Codes, own: Hard, tables: Tables, out: Array) -> None:
        add_one_dependence_left_out(codes, own.codes, own.weight, self._log_pair, self._log_single, *tables, out)

    def hidden(self, cells: Codes, log_likelihood: Array) -> dict[str, Array]:
        without = np.empty((len(self.names), *log_likelihood.shape))
        hide_one_dependence(self.seen(cells), self._log_pair, self._log_single, without)
        return {name: log_likelihood - self.weight * each for name, each in zip(self.names, without, strict=True)}

    def by_column(self, cells: Codes, shape: tuple[int, int]) -> dict[str, Array]:
        """The contribution of each column given the earlier ones."""
        found, before, codes = {}, np.zeros(shape), self.seen(cells)
        shown = np.full_like(codes, -1)
        for j, name in enumerate(self.names):
            shown[:, j], after = codes[:, j], np.zeros(shape)
            self._add(shown, after)
            with np.errstate(invalid="ignore"):
                found[name] = self.weight * np.where(np.isneginf(after), after, after - before)
            before = after
        return found

    @property
    def free_parameters(self) -> int:
        """For each class, the cells of each column, and those of each other column given it."""
        cells = self.levels
        others = np.maximum(cells - 1, 0)
        each = others + cells * (others.sum() - others)
        return int(len(self.counts) * each.sum())

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        codes = np.full((len(classes), len(self.names)), -1, dtype=np.int32)
        first = rng.choice(np.flatnonzero(self.cells.sizes), len(classes)) if self.cells.sizes.any() else classes * 0
        for s in np.unique(first):
            rows = np.flatnonzero(first == s)
            codes[rows, s] = self._drawn(s, self.shares[classes[rows]], rng)
            for j in (j for j in range(len(self.names)) if j != s):
                codes[rows, j] = self._drawn(j, self.conditional[classes[rows], codes[rows, s]], rng)
        return self._as_values(codes, rng)
