"""What estimates are asked, and what they answer: numbers that say how far off they are likely to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from credo.errors import DataError, EvidenceError
from credo.networks.inference.findings import Findings
from credo.networks.inference.potentials import Flags, Integers
from credo.numerics.exact import Array

Codes = NDArray[np.int32]
UNRELIABLE = "unreliable: independent runs disagree, and nobody knows which is right; more samples= may help"


@dataclass(frozen=True, eq=False)
class JointQuery:
    """Variables that are looked at together; only where an event happens, if there is one: which states of each of its
    variables it allows."""

    variables: Sequence[int]
    event: Mapping[int, Flags] = field(default_factory=dict)

    def cells(self, card: Integers, codes: Codes) -> Integers:
        """(samples): where each is in the joint table; behind its end where the event doesn't happen."""
        shape = tuple(card[list(self.variables)])
        found = np.zeros(codes.shape[1], dtype=np.int64)
        if shape:
            found = np.ravel_multi_index(tuple(codes[list(self.variables)]), shape).astype(np.int64)
        for v, allowed in self.event.items():
            found[~allowed[codes[v]]] = int(np.prod(shape))
        return found

    def unsure(self, findings: Findings) -> bool:
        return bool((findings.codes[[*self.variables, *self.event]] < 0).any())


@dataclass(frozen=True, eq=False)
class Estimate:
    """A table of probabilities, the standard error of each, and how many independent samples would be as good."""

    table: Array
    error: Array
    effective: float
    method: str
    spread: Callable[[Array], float]  # x -> the standard error of Σ x·P
    sure: float = 0.0  # how many of the heaviest samples that there can be all weigh: what never came may be one
    reliable: bool = True  # whether the error can be trusted


@dataclass(frozen=True)
class Total:
    """The logarithm of a sum, its standard error, and how many independent samples would be as good."""

    log_value: float
    error: float
    effective: float
    method: str
    reliable: bool = True  # whether the error can be trusted


def check_samples(samples: object) -> None:
    if not isinstance(samples, int | np.integer) or samples < 1:
        raise DataError(f"the number of samples must be whole and at least 1, but is {samples!r}")


def floor_of(group: JointQuery, findings: Findings, effective: float) -> float:
    """What never or always came isn't certain for that: one more sample may be the first. What is observed is."""
    return 1.0 / (effective + 1.0) if group.unsure(findings) else 0.0


def widened(independent: float) -> float:
    """By how much an error of so many independent samples is wider than one of many: Student's t over the normal, at
    95%, is about 1 + 1.21/ν + 1.6/ν².

    >>> widened(8.0).__round__(2)
    1.21
    """
    freedom = max(independent - 1.0, 1.0)
    return 1.0 + 1.21 / freedom + 1.6 / freedom**2


def mean_of(log_weights: Array, method: str) -> Total:
    """log of the weights' mean; its error is that of the mean, relative to it."""
    top = log_weights.max()
    if top == -np.inf:
        raise no_sample(method)
    weights = np.exp(log_weights - top)
    mean, n = weights.mean(), len(weights)
    error = np.sqrt(max((weights**2).mean() / mean**2 - 1.0, 0.0) / max(n - 1, 1))
    return Total(float(top + np.log(mean)), float(error), float(weights.sum() ** 2 / (weights**2).sum()), method)


def no_sample(method: str) -> EvidenceError:
    return EvidenceError(
        f"no sample of {method} agrees with the evidence: it is impossible, or so improbable that it takes more "
        "samples=, or another method="
    )
