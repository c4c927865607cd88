"""What a network needs of P(node | parents)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from credo.core.labels import Label
from credo.core.membership import Codes
from credo.core.statistics import Statistics
from credo.networks.table_priors import TablePrior
from credo.numerics.exact import Array

Prior = TablePrior
Sizes = Mapping[str, int]  # how many states each variable has


class Node(Protocol):
    """What a network needs of P(node | parents): statistics of rows, and parameters and a factor derived from them.

    A table has them; a noisy-OR, a logistic or a linear-Gaussian node would have others.
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
    def axes(self) -> tuple[str | None, ...]:
        """The columns whose levels the axes of its statistics run over (None: over something fixed)."""
        ...

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Of its factor, the parents' axes first."""
        ...

    def summarise(self, codes: Mapping[str, Codes], sizes: Sizes, weight: Array) -> Statistics:
        """The statistics of complete rows."""
        ...

    def expected(self, counts: Array) -> Statistics:
        """The statistics of expected family counts."""
        ...

    def mean(self, prior: Prior, statistics: Any) -> Array:
        """The factor that predicts best: parameters integrated out."""
        ...

    def mode(self, prior: Prior, statistics: Any) -> Array:
        """The factor at the most probable parameters: EM's M-step."""
        ...

    def log_prior(self, prior: Prior, factor: Array) -> float:
        """log p(parameters), at those of a factor."""
        ...
