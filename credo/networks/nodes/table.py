"""Conditional probability tables: their statistics, and the factor that inference multiplies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Codes, Hard
from credo.core.statistics import Counts
from credo.families.dirichlet import DirichletCategorical
from credo.networks.inference.sizes import check_numbers
from credo.networks.nodes.node import LearnedNode, NodeFactor, Prior, Sizes
from credo.networks.nodes.simplex import amplitudes, random_rows, squares
from credo.networks.table_priors import BDeu, dirichlet_of
from credo.numerics.exact import Array, Exact

SMALLEST_MEAN = 1e-300  # smaller means stand for an expert's zeros, which a Dirichlet can't have
UNCHECKED_TABLE = 2**13  # numbers; smaller tables surely fit: asking how much memory is free takes time in each batch


@dataclass(frozen=True)
class ConditionalTable(LearnedNode):
    """P(node = k | parents = j) = θⱼₖ, θⱼ ~ Dirichlet: a conditional probability table, learned by counting.

    >>> fire = ConditionalTable("Fire", ("Storm",))
    >>> codes = {"Storm": np.array([0, 0, 1], np.int32), "Fire": np.array([0, 1, 1], np.int32)}
    >>> counts = fire.summarise(codes, {"Storm": 2, "Fire": 2}, np.ones(3))
    >>> fire.mean(DirichletCategorical(1.0), counts).round(3)
    array([[0.5  , 0.5  ],
           [0.333, 0.667]])
    """

    name: str
    parents: tuple[str, ...]
    tied: str | None = None  # the label of its evidence, if other nodes may share it

    @property
    def label(self) -> Label:
        return Label("column", self.name if self.tied is None else self.tied)

    @property
    def has_rows(self) -> bool:
        return True

    def row(self, codes: Sequence[Codes]) -> tuple[Codes, ...]:
        return tuple(codes)

    @property
    def scope(self) -> tuple[str, ...]:
        return (*self.parents, self.name)

    @property
    def axes(self) -> tuple[str | None, ...]:
        """The columns of the axes; tied nodes have different columns with the same states."""
        return (None,) * len(self.scope) if self.tied is not None else self.scope

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(sizes[name] for name in self.scope)

    def summarise(self, codes: Mapping[str, Codes], sizes: Sizes, weight: Array) -> Counts:
        *above, own = shape = self.shape(sizes)
        if prod(shape) > UNCHECKED_TABLE:
            check_numbers(f"the table of {self.name!r:.60}", prod(shape))
        configuration = np.zeros(len(weight), dtype=np.int32)  # a table that fits in memory has fewer rows than 2³¹
        for parent, size in zip(self.parents, above, strict=True):
            configuration *= size
            configuration += codes[parent]
        counts = Counts.of(codes[self.name], own, Hard.of(configuration, prod(above), weight))
        return Counts(counts.n.reshape(shape))

    def fits(self, part: Part, sizes: Sizes) -> bool:
        return (
            type(part.statistics) is Counts and part.axes == self.axes and part.statistics.n.shape == self.shape(sizes)
        )

    def node_factors(self, parameters: Array) -> tuple[NodeFactor, ...]:
        return (NodeFactor(self.scope, parameters),)

    def expected(self, counts: Sequence[Array], parameters: Array) -> Part:  # noqa: ARG002 - counts are what is seen
        return Part(self.axes, Counts(Exact.of(counts[0])))

    def counts(self, evidence: Evidence, parameters: Array) -> Array:  # noqa: ARG002
        return np.asarray(evidence[self.label].n.value)

    def log_likelihood(self, evidence: Evidence, parameters: Array) -> float:
        """Σ n log θ"""
        from scipy.special import xlogy

        return float(xlogy(self.counts(evidence, parameters), parameters).sum())

    def estimate(self, prior: Prior, evidence: Evidence) -> Array:
        return self.mean(prior, evidence[self.label])

    def mean(self, prior: Prior, statistics: Counts) -> Array:
        if prior is None:
            return self._frequencies(statistics)
        found = np.asarray(self.posterior(prior, statistics).mean())
        return np.where(found < SMALLEST_MEAN, 0.0, found)

    def mode(self, prior: Prior, counts: Array) -> Array:
        statistics = Counts(Exact.of(counts))
        if prior is None:
            return self._frequencies(statistics)
        return uniform_where_unknown(self.posterior(prior, statistics).mode())

    def log_prior(self, prior: Prior, factor: Array) -> float:
        return 0.0 if prior is None else float(dirichlet_of(prior, factor.shape, self.name).log_prior(factor).sum())

    def weight(self, evidence: Evidence) -> float:
        return float(evidence[self.label].n.value.sum())

    def drawn(self, parameters: Array, random: np.random.Generator) -> Array:
        return random_rows(parameters.shape, random)

    def coordinates(self, parameters: Array) -> Array:
        return amplitudes(parameters)

    def at(self, coordinates: Array, parameters: Array) -> Array:
        return squares(coordinates, parameters)

    def posterior(self, prior: DirichletCategorical | BDeu, statistics: Counts) -> DirichletCategorical:
        """The posterior of each row of the table. (the parents' states..., own states)"""
        return dirichlet_of(prior, statistics.n.shape, self.name).posterior(statistics)

    def _frequencies(self, statistics: Counts) -> Array:
        return uniform_where_unknown(DirichletCategorical(1.0).maximum_likelihood(statistics))


def uniform_where_unknown(table: Array) -> Array:
    """Rows without data or prior are uniform, the limit of Dirichlet(l) as l falls to 0."""
    return np.where(np.isnan(table), 1.0 / table.shape[-1], table)
