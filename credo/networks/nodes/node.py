"""What a network needs of P(node | parents)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.core.labels import Label
from credo.core.membership import Codes
from credo.core.statistics import Statistics
from credo.networks.table_priors import TablePrior
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.core.evidence import Evidence, Part
    from credo.networks.nodes.distribution import Distribution

Prior = TablePrior
Sizes = Mapping[str, int]  # how many states each variable has


class NodeFactor(NamedTuple):
    """A factor of a node: P(last | others), over variables by name, and auxiliary variables of the node by number."""

    scope: tuple[str | int, ...]
    table: Array


class Node(Protocol):
    """What a network needs of P(node | parents): statistics of rows, and parameters and factors derived from them.

    The parameters are an array. Those of a table are the table; those of a noisy-OR, the rows of its causes.
    """

    @property
    def name(self) -> str: ...

    @property
    def parents(self) -> tuple[str, ...]: ...

    @property
    def label(self) -> Label:
        """The part of the evidence that it learns from. Nodes with the same label are tied: their statistics add."""
        ...

    @property
    def expected_label(self) -> Label:
        """The part that holds what EM expects: the same, where complete rows have statistics of the same form."""
        ...

    @property
    def axes(self) -> tuple[str | None, ...]:
        """The columns whose levels the axes of its statistics run over (None: over something fixed)."""
        ...

    @property
    def is_rule(self) -> bool:
        """Whether nothing is learned: all rows follow it."""
        ...

    @property
    def has_rows(self) -> bool:
        """Whether each configuration of the parents leads to one row of its parameters, a distribution with counts."""
        ...

    @property
    def takes_cases(self) -> bool:
        """Whether a number of cases is a prior of its parameters."""
        ...

    def row(self, codes: Sequence[Codes]) -> tuple[Codes, ...]:
        """Where configurations of the parents lead to in its parameters; of nodes that have rows."""
        ...

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Of its parameters."""
        ...

    def fits(self, part: Part, sizes: Sizes) -> bool:
        """Whether a part of evidence has the form of its own statistics."""
        ...

    def summarise(self, codes: Mapping[str, Codes], sizes: Sizes, weight: Array) -> Statistics:
        """The statistics of complete rows."""
        ...

    def pieces(self, parameters: Array) -> tuple[NodeFactor, ...]:
        """The factors whose product is P(node | parents), auxiliary variables summed out: its own first, then one for
        each auxiliary variable, in their order."""
        ...

    def expected(self, counts: Sequence[Array], parameters: Array) -> Part:
        """The part of the evidence that expected counts of the pieces are, under these parameters."""
        ...

    def counts(self, evidence: Evidence, parameters: Array) -> Any:
        """What `mode` needs of some evidence, under these parameters: of rows of distributions, their counts. It
        adds."""
        ...

    def log_likelihood(self, evidence: Evidence, parameters: Array) -> float:
        """Of the rows behind some evidence."""
        ...

    def mode(self, prior: Prior, counts: Any) -> Array:
        """The most probable parameters: EM's M-step."""
        ...

    def estimate(self, prior: Prior, evidence: Evidence) -> Array:
        """The parameters that predict best: integrated out, where that is possible."""
        ...

    def log_prior(self, prior: Prior, parameters: Array) -> float:
        """log p(parameters)."""
        ...

    def weight(self, evidence: Evidence) -> float:
        """Of the rows behind some evidence; tied nodes count each."""
        ...

    def drawn(self, parameters: Array, random: np.random.Generator) -> Array:
        """Random parameters, of the form of these."""
        ...

    def coordinates(self, parameters: Array) -> Array:
        """On a scale on which steps of EM can be extrapolated. (coordinates,)"""
        ...

    def at(self, coordinates: Array, parameters: Array) -> Array:
        """Parameters there, not far from these."""
        ...


class LearnedNode:
    """What most nodes answer: they learn from counts, and a number of cases is a prior."""

    if TYPE_CHECKING:

        @property
        def label(self) -> Label: ...

    @property
    def expected_label(self) -> Label:
        return self.label

    @property
    def is_rule(self) -> bool:
        return False

    @property
    def takes_cases(self) -> bool:
        return True


class DistributionNode(Node, Protocol):
    """A node whose distribution isn't a table."""

    @property
    def has_factors(self) -> bool:
        """Whether it is a product of factors that fit in memory; else rows of its table are made as they are drawn."""
        ...

    def parameters(self, given: Any) -> Array:
        """Those of a distribution as a user gives it, checked."""
        ...

    def distribution(self, parameters: Array) -> Distribution:
        """As users read it."""
        ...

    def table(self, parameters: Array) -> Array:
        """(the parents' states..., own states); refused where it doesn't fit in memory."""
        ...

    def rows(self, parameters: Array, cells: NDArray[np.int64]) -> Array:
        """P(node | parents) of some configurations of the parents. (configurations, own states)"""
        ...
