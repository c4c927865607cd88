"""The common base of nodes whose distribution isn't a table: a family with declared states."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Codes
from credo.networks.nodes.chain import Chain
from credo.networks.nodes.configurations import ConfigurationCounts, fits_family
from credo.networks.nodes.distribution import NodeFamily
from credo.networks.nodes.node import LearnedNode, NodeFactor, Sizes
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class FamilyNode(LearnedNode):
    """A node with its parents, and the label of the evidence that it learns from."""

    family: NodeFamily

    @property
    def name(self) -> str:
        return self.family.name

    @property
    def parents(self) -> tuple[str, ...]:
        return self.family.parents

    @property
    def label(self) -> Label:
        return Label("column", self.name)

    @property
    def has_rows(self) -> bool:
        return False

    def row(self, codes: Sequence[Codes]) -> tuple[Codes, ...]:
        raise NotImplementedError(f"{self.name!r} has no rows for {len(codes)} parents")

    @property
    def has_factors(self) -> bool:
        """Whether it is a product of factors that fit in memory."""
        return True


class ChainNode(FamilyNode):
    """A node that reads its parents one by one: a chain of factors."""

    @abstractmethod
    def chain(self, parameters: Array) -> Chain:
        """The chain with these parameters."""

    def table(self, parameters: Array) -> Array:
        return self.chain(parameters).table()

    def rows(self, parameters: Array, cells: NDArray[np.int64]) -> Array:
        return self.chain(parameters).rows(cells)

    def node_factors(self, parameters: Array) -> tuple[NodeFactor, ...]:
        return self.chain(parameters).node_factors()


class CountedNode(FamilyNode):
    """A node whose sufficient statistics are the counts of its family's configurations."""

    @property
    def axes(self) -> tuple[str | None, ...]:
        return (None,)

    def fits(self, part: Part, sizes: Sizes) -> bool:  # noqa: ARG002 - its states are declared
        return fits_family(part, self.family.shape)

    def summarise(self, codes: Mapping[str, Codes], sizes: Sizes, weight: Array) -> ConfigurationCounts:  # noqa: ARG002
        return ConfigurationCounts.of(codes, self.family.scope, weight)

    def weight(self, evidence: Evidence) -> float:
        return float(evidence[self.label].n.value.sum())
