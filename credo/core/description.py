"""Description length: the bits of a two-part message, the hypothesis and the data given the hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lgamma, log, log2
from typing import Protocol, runtime_checkable

from credo.core.records import Shown
from credo.errors import DataError

LN2 = log(2)
LOG2_NORMALISER = log2(2.865064)  # of Rissanen's code for whole numbers: Σ 2^-log*(n) over n ≥ 1


@dataclass(frozen=True)
class DescriptionLength(Shown):
    """L(h) + L(D | h), in bits; L(h) codes the structure, and the parameters at a finite precision.

    >>> DescriptionLength("labels", structure=3.0, parameters=4.0, data=10.5, n=14).total
    17.5
    """

    coded: str  # a description of D: only lengths of the same data can be compared
    structure: float
    parameters: float
    data: float
    n: float  # rows
    how: str = ""  # how parameters were coded

    @property
    def model(self) -> float:
        """L(h), the bits of structure and parameters."""
        return self.structure + self.parameters

    @property
    def total(self) -> float:
        """L(h) + L(D | h)."""
        return self.model + self.data

    def __repr__(self) -> str:
        parts = f"structure {self.structure:.1f} + parameters {self.parameters:.1f}"
        how = f" ({self.how})" if self.how else ""
        return f"{self.total:.1f} bits for {self.coded}: L(h) = {parts}{how}, L(D|h) = {self.data:.1f}"


@runtime_checkable
class Describes(Protocol):
    """A model with a description length, for credo.description_length and credo.choose(by="mdl")."""

    def description_length(self, data: object) -> DescriptionLength: ...


def integrated_out(log_evidence: float, n: float) -> DescriptionLength:
    """The prequential code of observations under a conjugate prior: Σ −log₂ p(x | earlier ones) = −log₂ p(all)."""
    how = "integrated out: the prequential code of the observations"
    return DescriptionLength("the observations", 0.0, 0.0, bits(log_evidence), n, how)


def bits(nats: float) -> float:
    """−log₂ p of a log-probability: never −0.

    >>> bits(log(1 / 8))
    3.0
    """
    return -nats / LN2 + 0.0


def parameter_bits(count: float, n: float) -> float:
    """½ log₂ n for each parameter: its posterior is about 1/√n wide, and a finer grid costs more bits than it saves
    (Rissanen 1983).

    >>> parameter_bits(3, 64)
    9.0
    """
    return 0.5 * count * log2(max(n, 1.0))


def integer_bits(n: int) -> float:
    """The bits of a whole number n ≥ 0, by Rissanen's universal code of n + 1: log₂ n + log₂ log₂ n + ... + log₂ 2.865.

    >>> round(integer_bits(0), 3), round(integer_bits(15), 3)
    (1.519, 8.519)
    """
    if n < 0:
        raise DataError(f"only whole numbers of at least 0 are coded, not {n}")
    total, each = LOG2_NORMALISER, log2(n + 1)
    while each > 0:
        total, each = total + each, log2(each)
    return total


def arrow_bits(parents: Mapping[str, Sequence[str]], others: int) -> float:
    """The bits of each node's number of parents k and of the choice: Σ log₂ (others + 1) + log₂ (others over k).

    >>> arrow_bits({"a": [], "b": ["a"]}, others=1)
    2.0
    """
    return sum(log2(others + 1) + choice_bits(others, len(own)) for own in parents.values())


def choice_bits(n: int, k: int) -> float:
    """log₂ (n over k), the bits of a choice of k out of n.

    >>> round(choice_bits(4, 2), 3)
    2.585
    """
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / LN2 + 0.0
