"""Conditional probability tables: what is learned about them, and the factor that inference multiplies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from credo.core.labels import Label
from credo.core.membership import Codes, Hard
from credo.core.statistics import Counts
from credo.families.dirichlet import DirichletCategorical
from credo.networks.inference.sizes import check_numbers
from credo.networks.nodes.node import Prior, Sizes
from credo.networks.table_priors import BDeu, dirichlet_of
from credo.numerics.exact import Array, Exact

IMPOSSIBLE = 1e-300  # means below it are those of an expert's zeros, which a Dirichlet can't have
SMALL_TABLE = 2**13  # numbers of a table that surely fit: asking how much memory is free takes time in each batch


@dataclass(frozen=True)
class Table:
    """P(node = k | parents = j) = θⱼₖ, θⱼ ~ Dirichlet: a conditional probability table, learned by counting.

    >>> fire = Table("Fire", ("Storm",))
    >>> codes = {"Storm": np.array([0, 0, 1], np.int32), "Fire": np.array([0, 1, 1], np.int32)}
    >>> counts = fire.summarise(codes, {"Storm": 2, "Fire": 2}, np.ones(3))
    >>> fire.mean(DirichletCategorical(1.0), counts).round(3)
    array([[0.5  , 0.5  ],
           [0.333, 0.667]])
    """

    name: str
    parents: tuple[str, ...]
    tied: str | None = None  # what its evidence is called, if other nodes may share it

    @property
    def label(self) -> Label:
        return Label("column", self.name if self.tied is None else self.tied)

    @property
    def scope(self) -> tuple[str, ...]:
        return (*self.parents, self.name)

    @property
    def axes(self) -> tuple[str | None, ...]:
        """Tied nodes have different columns with the same states."""
        return (None,) * len(self.scope) if self.tied is not None else self.scope

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(sizes[name] for name in self.scope)

    def summarise(self, codes: Mapping[str, Codes], sizes: Sizes, weight: Array) -> Counts:
        *above, own = shape = self.shape(sizes)
        if prod(shape) > SMALL_TABLE:
            check_numbers(f"the table of {self.name!r:.60}", prod(shape))
        configuration = np.zeros(len(weight), dtype=np.int32)  # a table that fits in memory has fewer rows than 2³¹
        for parent, size in zip(self.parents, above, strict=True):
            configuration *= size
            configuration += codes[parent]
        counts = Counts.of(codes[self.name], own, Hard.of(configuration, prod(above), weight))
        return Counts(counts.n.reshape(shape))

    def expected(self, counts: Array) -> Counts:
        return Counts(Exact.of(counts))

    def mean(self, prior: Prior, statistics: Counts) -> Array:
        if prior is None:
            return self._frequencies(statistics)
        found = np.asarray(self.posterior(prior, statistics).mean())
        return np.where(found < IMPOSSIBLE, 0.0, found)

    def mode(self, prior: Prior, statistics: Counts) -> Array:
        if prior is None:
            return self._frequencies(statistics)
        return _uniform_where_unknown(self.posterior(prior, statistics).mode())

    def log_prior(self, prior: Prior, factor: Array) -> float:
        return 0.0 if prior is None else float(dirichlet_of(prior, factor.shape, self.name).log_prior(factor).sum())

    def posterior(self, prior: DirichletCategorical | BDeu, statistics: Counts) -> DirichletCategorical:
        """Of each row of the table. (the parents' states..., own states)"""
        return dirichlet_of(prior, statistics.n.shape, self.name).posterior(statistics)

    def _frequencies(self, statistics: Counts) -> Array:
        return _uniform_where_unknown(DirichletCategorical(1.0).maximum_likelihood(statistics))


def _uniform_where_unknown(table: Array) -> Array:
    """Rows that no data and no prior determine: uniform, the limit of Dirichlet(l) as l falls to 0."""
    return np.where(np.isnan(table), 1.0 / table.shape[-1], table)
