"""The interface of nodes, P(node | parents)."""

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
Sizes = Mapping[str, int]  # the number of states of each variable


class NodeFactor(NamedTuple):
    """A factor of a node: P(last | others), over named variables and numbered auxiliary variables of the node."""

    scope: tuple[str | int, ...]
    table: Array


class Node(Protocol):
    """P(node | parents): statistics of rows, and parameters and factors derived from them.

    The parameters are an array. For a table they are the table; for a noisy-OR, the rows of its causes.
    """

    @property
    def name(self) -> str: ...

    @property
    def parents(self) -> tuple[str, ...]: ...

    @property
    def label(self) -> Label:
        """The label of the evidence that it learns from. Nodes with the same label are tied: their statistics add."""
        ...

    @property
    def expected_label(self) -> Label:
        """The label of EM's expected statistics: the same label if complete rows have statistics of the same form."""
        ...

    @property
    def axes(self) -> tuple[str | None, ...]:
        """The column whose levels each axis of its statistics runs over (None: a fixed axis)."""
        ...

    @property
    def is_rule(self) -> bool:
        """Whether it is deterministic with nothing to learn."""
        ...

    @property
    def has_rows(self) -> bool:
        """Whether each configuration of the parents selects one row of its parameters, a distribution with counts."""
        ...

    @property
    def takes_cases(self) -> bool:
        """Whether a number of cases defines a prior of its parameters."""
        ...

    def row(self, codes: Sequence[Codes]) -> tuple[Codes, ...]:
        """The row of the parameters for each configuration of the parents; only if it has rows."""
        ...

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """The shape of its parameters."""
        ...

    def fits(self, part: Part, sizes: Sizes) -> bool:
        """Whether a part of evidence has the form of its statistics."""
        ...

    def summarise(self, codes: Mapping[str, Codes], sizes: Sizes, weight: Array) -> Statistics:
        """The statistics of complete rows."""
        ...

    def node_factors(self, parameters: Array) -> tuple[NodeFactor, ...]:
        """The factors whose product is P(node | parents), auxiliary variables summed out: its own first, then one for
        each auxiliary variable, in their order."""
        ...

    def expected(self, counts: Sequence[Array], parameters: Array) -> Part:
        """The expected statistics, from expected counts of the factors under these parameters."""
        ...

    def counts(self, evidence: Evidence, parameters: Array) -> Any:
        """What `mode` needs of some evidence, under these parameters: for rows of distributions, their counts. It is
        additive."""
        ...

    def log_likelihood(self, evidence: Evidence, parameters: Array) -> float:
        """The log-likelihood of the rows behind some evidence."""
        ...

    def mode(self, prior: Prior, counts: Any) -> Array:
        """The most probable parameters: EM's M-step."""
        ...

    def estimate(self, prior: Prior, evidence: Evidence) -> Array:
        """The parameters for prediction: posterior means where possible."""
        ...

    def log_prior(self, prior: Prior, parameters: Array) -> float:
        """log p(parameters)."""
        ...

    def weight(self, evidence: Evidence) -> float:
        """The weight of the rows behind some evidence, summed over tied nodes."""
        ...

    def drawn(self, parameters: Array, random: np.random.Generator) -> Array:
        """Random parameters of the same form."""
        ...

    def coordinates(self, parameters: Array) -> Array:
        """Coordinates in which steps of EM can be extrapolated. (coordinates,)"""
        ...

    def at(self, coordinates: Array, parameters: Array) -> Array:
        """The parameters at these coordinates, near the current ones."""
        ...


class LearnedNode:
    """Defaults for most nodes: they learn from counts, and a number of cases is a prior."""

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
        """Whether it is a product of factors that fit in memory; otherwise rows of its table are computed as they are
        drawn."""
        ...

    def parameters(self, given: Any) -> Array:
        """The parameters of a user's distribution, checked."""
        ...

    def distribution(self, parameters: Array) -> Distribution:
        """The distribution as users read it."""
        ...

    def table(self, parameters: Array) -> Array:
        """(the parents' states..., own states); refused where it doesn't fit in memory."""
        ...

    def rows(self, parameters: Array, cells: NDArray[np.int64]) -> Array:
        """P(node | parents) for some configurations of the parents. (configurations, own states)"""
        ...
