"""What every block of columns offers a model in which, given the group, blocks are independent.

Optional interfaces (leaving rows out, weights, learning row by row ...) are in credo.blocks.capabilities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.membership import Membership
from credo.data import Batch
from credo.data.schema import Axis, Derivation
from credo.families.dirichlet import Estimate as Estimate
from credo.numerics.exact import Array

ALL = "(all together)"  # the name of the term of columns that have one weight
UNSEEN_VALUES = "unseen values"
Scale = Literal["values", "logarithms", "days"]  # of a number's mean and deviation; days are counted from 1970


@dataclass(frozen=True)
class Settings:
    """The estimator, and the strengths of the priors."""

    estimate: Estimate = "bayes"
    smoothing: float = 1.0  # Dirichlet(l) on each categorical distribution
    m: float | None = None  # the m-estimate: Dirichlet(m p) instead
    p: Mapping[str, Mapping[Any, float]] = field(default_factory=dict)  # {column: {value: share}}; else all alike
    strength: float = 1.0  # rows that the prior on a number's mean and variance is worth
    odds: Mapping[Axis, tuple[float, float]] = field(default_factory=dict)  # {text column, or its pairs: (c, p)}
    shrinkage: float = 1.0  # of columns together: their covariance's prior is worth so many times d + 2 rows
    backoff: float = 5.0  # rows that p(cell | class) is worth as the prior of p(cell | another cell, class)
    log_rates: bool = False  # "map" of a rate is the mode of its logarithm's density, which is never at 0
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
        """As tables show it."""
        if self.what == "probability":
            return f"P({self.of})"
        if self.what == "correlation":
            return f"correlation with {self.of}"
        if self.scale == "days":
            return f"{self.what}, days since 1970-01-01" if self.what == "mean" else f"{self.what}, days"
        return f"{self.what} log" if self.scale == "logarithms" else self.what


class Block(ABC):
    """Some columns, and how they are read."""

    names: tuple[str, ...]

    @property
    def counted(self) -> frozenset[Any]:
        """What it keeps of the rows: what several blocks keep is counted once."""
        return frozenset({(type(self).__name__, self.names)})

    @abstractmethod
    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        """The statistics of a batch's rows by group, under hard or soft membership; `groups` is the groups' column."""

    @abstractmethod
    def likelihood(self, evidence: Evidence, settings: Settings) -> Likelihood:
        """p(columns | group) after the evidence."""

    @abstractmethod
    def keeps(self, label: Label) -> bool:
        """Whether a part of the evidence is its own."""

    def labels(self, evidence: Evidence) -> Sequence[Label]:
        """The labels of its parts of the evidence."""
        return [label for label in evidence.parts if self.keeps(label)]

    def keeps_column(self, label: Label, derived: Derivation = "") -> bool:
        """Whether a part of the evidence is that of one of its columns, by itself."""
        return label.counted == "column" and label.derived == derived and label.name in self._set_of_names

    @cached_property
    def _set_of_names(self) -> frozenset[str]:
        return frozenset(self.names)


def counting(blocks: Iterable[Block]) -> list[Block]:
    """Those that count all that any of them keeps."""
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

    names: tuple[str, ...]

    @abstractmethod
    def read(self, batch: Batch) -> Any:
        """The cells as the other methods take them."""

    @abstractmethod
    def add(self, cells: Any, out: Array) -> None:
        """out (rows, groups) += log p(cells | group); missing cells are marginalised."""

    @abstractmethod
    def parameters(self) -> list[Parameter]:
        """A readable list."""

    @property
    @abstractmethod
    def free_parameters(self) -> int:
        """How many numbers the groups' distributions have."""
