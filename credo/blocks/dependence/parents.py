"""Parents: the other columns that each column depends on, besides the class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from credo.blocks.dependence.likelihood import DependenceLikelihood
from credo.core.membership import Codes, Hard
from credo.core.statistics import Positions
from credo.numerics.exact import Array

FAMILY_CELLS, ALL_FAMILY_CELLS = 2**17, 2**22  # cells of one family's table, for all classes; and of all families


class ColumnParents(NamedTuple):
    """The parents of each column, by number, and the columns that don't depend on the class."""

    parents: tuple[tuple[int, ...], ...]
    free: frozenset[int] = frozenset()


class Chooser(Protocol):
    """Chooses the parents, again when rows are removed."""

    @property
    def most(self) -> int:
        """Parents of a column, at most."""
        ...

    def __call__(self, pairs: DependenceLikelihood, codes: Codes, own: Hard) -> ColumnParents:
        """The structure by counts of pairs of cells, and the cells of the rows."""
        ...


@dataclass(frozen=True)
class StrongestParents:
    """Orders columns by their dependence on the class; a column's parents are the k earlier ones that it depends on
    most given the class (Sahami 1996)."""

    most: int

    def __call__(self, pairs: DependenceLikelihood, codes: Codes, own: Hard) -> ColumnParents:  # noqa: ARG002
        return ColumnParents(strongest_parents(pairs, self.most))


def strongest_parents(pairs: DependenceLikelihood, k: int) -> tuple[tuple[int, ...], ...]:
    """The parents of each column, the strongest first; parents with too large a table are skipped."""
    order = np.argsort(-_information(pairs), kind="stable").tolist()
    dependence = pairs.log_bayes_factors if k else np.zeros((len(order), len(order)))
    found: list[tuple[int, ...]] = [()] * len(order)
    for place, j in enumerate(order):
        ranked = sorted((a for a in order[:place] if pairs.cells.sizes[a]), key=lambda other: -dependence[j, other])
        found[j] = fitting(ranked, k, j, pairs.cells.sizes + 1, len(pairs.counts))
    return tuple(found)


def fitting(
    ranked: Iterable[int], k: int, column: int, sizes: Positions | Sequence[int], classes: int
) -> tuple[int, ...]:
    """The first k parents for which the column's table isn't too large; sizes include missing cells."""
    room = min(FAMILY_CELLS, ALL_FAMILY_CELLS // max(len(sizes), 1)) / (max(classes, 1) * sizes[column])
    found: list[int] = []
    for other in ranked:
        if len(found) == k:
            break
        if sizes[other] <= room:
            found.append(other)
            room /= float(sizes[other])
    return tuple(found)


def _information(pairs: DependenceLikelihood) -> Array:
    """n times the mutual information of each column and the class: Σ n(class, x) log n(class, x) n/(n(class) n(x)).

    (columns,)
    """
    within = pairs.over_columns(_n_log_n(pairs.singles)).sum(0) - _n_log_n(pairs.known).sum(0)
    return np.asarray(within - pairs.over_columns(_n_log_n(pairs.pooled)) + _n_log_n(pairs.known.sum(0)))


def _n_log_n(n: Array) -> Array:
    return np.where(n > 0, n * np.log(np.where(n > 0, n, 1.0)), 0.0)
