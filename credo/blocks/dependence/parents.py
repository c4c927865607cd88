"""Parents: which other columns each column depends on beside the class (Sahami 1996).

Columns are put in order by how much they tell of the class; each then has the k earlier ones as parents that it depends
on most, given the class.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from credo.blocks.dependence.likelihood import DependenceLikelihood
from credo.core.statistics import Positions
from credo.numerics.exact import Array

MOST_CELLS, ALL_CELLS = 2**17, 2**22  # of one family's table, class by class; and of all of them


def chosen_parents(pairs: DependenceLikelihood, k: int) -> tuple[tuple[int, ...], ...]:
    """Of each column, the one that it depends on most first; one whose table would be too large isn't taken."""
    order = np.argsort(-_information(pairs), kind="stable").tolist()
    dependence = pairs.log_bayes_factors if k else np.zeros((len(order), len(order)))
    room = min(MOST_CELLS, ALL_CELLS // max(len(order), 1)) / max(len(pairs.counts), 1)
    found: list[tuple[int, ...]] = [()] * len(order)
    for place, j in enumerate(order):
        ranked = sorted(order[:place], key=lambda other: -dependence[j, other])
        found[j] = _fitting(ranked, k, pairs.cells.sizes + 1, room / (pairs.cells.sizes[j] + 1))
    return tuple(found)


def _fitting(ranked: Iterable[int], k: int, sizes: Positions, room: float) -> tuple[int, ...]:
    found: list[int] = []
    for other in ranked:
        if len(found) == k:
            break
        if sizes[other] <= room:
            found.append(other)
            room /= float(sizes[other])
    return tuple(found)


def _information(pairs: DependenceLikelihood) -> Array:
    """Σ n(class, x) log n(class, x) n/(n(class) n(x)) of each column's cells: n times the mutual information with the
    class. (columns,)"""
    within = pairs.over_columns(_n_log_n(pairs.singles)).sum(0) - _n_log_n(pairs.known).sum(0)
    return np.asarray(within - pairs.over_columns(_n_log_n(pairs.pooled)) + _n_log_n(pairs.known.sum(0)))


def _n_log_n(n: Array) -> Array:
    return np.where(n > 0, n * np.log(np.where(n > 0, n, 1.0)), 0.0)
