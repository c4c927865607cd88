"""The interface of a block of columns: given the group, blocks are independent.

Optional interfaces (leaving rows out, weights, learning row by row ...) are in credo.blocks.capabilities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.membership import Membership
from credo.data import Batch
from credo.data.schema import Axis, Derivation
from credo.families.dirichlet import Estimate as Estimate
from credo.numerics.exact import Array

ALL = "(all together)"  # the name of the term of columns that share one weight
UNSEEN_VALUES = "unseen values"
Scale = Literal["values", "logarithms", "days"]  # of a number's mean and deviation; days are since 1970


@dataclass(frozen=True)
class Settings:
    """The estimator, and the strengths of the priors."""

    estimate: Estimate = "bayes"
    smoothing: float = 1.0  # Dirichlet(l) on each categorical distribution
    m: float | None = None  # the m-estimate: Dirichlet(m p) instead
    p: Mapping[str, Mapping[Any, float]] = field(default_factory=dict)  # {column: {value: share}}; otherwise uniform
    strength: float = 1.0  # of the prior on a number's mean and variance, in rows
    odds: Mapping[Axis, tuple[float, float]] = field(default_factory=dict)  # {text column, or its pairs: (c, p)}
    shrinkage: float = 1.0  # of a covariance: the strength of its prior is shrinkage · (d + 2) rows
    backoff: float = 5.0  # the strength of p(cell | class) as the prior of p(cell | another cell, class), in rows
    log_rates: bool = False  # "map" of a rate is the mode of its logarithm's density, so it isn't 0
    average: bool = False  # over all subsets of columns that may depend on the group


class Parameter(NamedTuple):
    """One line of a model's table of parameters."""

    column: str | None  # None: one for all columns of the block
    what: str  # probability, mean, sd, rate, correlation, or another parameter of the column's family
    estimates: Array  # (classes,)
    of: object = None  # the value whose probability it is, or the column that the correlation is with
    scale: Scale = "values"

    @property
    def name(self) -> str:
        """The name in tables."""
        if self.what == "probability":
            return f"P({self.of})"
        if self.what == "correlation":
            return f"correlation with {self.of}"
        if self.scale == "days":
            return f"{self.what}, days since 1970-01-01" if self.what == "mean" else f"{self.what}, days"
        return f"{self.what} log" if self.scale == "logarithms" else self.what


class Block(ABC):
    """Some columns, and how they are modelled."""

    if TYPE_CHECKING:  # a field, or a property

        @property
        def names(self) -> tuple[str, ...]:
            """The columns."""

    @property
    def counted(self) -> frozenset[Any]:
        """The statistics that it keeps: those that several blocks keep are counted once."""
        return frozenset({(type(self).__name__, self.names)})

    @abstractmethod
    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        """The statistics of a batch's rows by group, under hard or soft membership; `groups` is the column of
        groups."""

    @abstractmethod
    def likelihood(self, evidence: Evidence, settings: Settings) -> Likelihood:
        """p(columns | group) after the evidence."""

    @abstractmethod
    def keeps(self, label: Label) -> bool:
        """Whether a part of the evidence belongs to the block."""

    def labels(self, evidence: Evidence) -> Sequence[Label]:
        """The labels of the block's parts of the evidence."""
        return [label for label in evidence.parts if self.keeps(label)]

    def keeps_column(self, label: Label, derived: Derivation = "") -> bool:
        """Whether a part of the evidence is that of one of the block's columns alone."""
        return label.counted == "column" and label.derived == derived and label.name in self._set_of_names

    @cached_property
    def _set_of_names(self) -> frozenset[str]:
        return frozenset(self.names)


def counting(blocks: Iterable[Block]) -> list[Block]:
    """The blocks that together keep the statistics of all."""
    chosen: list[Block] = []
    for block in sorted(blocks, key=lambda block: -len(block.counted)):
        if not any(block.counted <= other.counted for other in chosen):
            chosen.append(block)
    return chosen


def column_labels(names: Iterable[str], derived: Derivation = "") -> list[Label]:
    """The labels of evidence that has a part for each column."""
    return [Label("column", name, derived) for name in names]


class Likelihood(ABC):
    """log p(cells | group) of a block's columns, for every group."""

    if TYPE_CHECKING:  # a field, or a property

        @property
        def names(self) -> tuple[str, ...]:
            """The columns."""

    @abstractmethod
    def read(self, batch: Batch) -> Any:
        """The cells in the form that the other methods take."""

    @abstractmethod
    def add(self, cells: Any, out: Array) -> None:
        """out (rows, groups) += log p(cells | group); missing cells are marginalised."""

    @abstractmethod
    def parameters(self) -> list[Parameter]:
        """The parameters, for tables."""

    @property
    @abstractmethod
    def free_parameters(self) -> int:
        """The number of free parameters of all groups' distributions."""
