"""Joint queries, and estimates with standard errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from credo.errors import DataError, EvidenceError
from credo.networks.inference.findings import Findings
from credo.numerics.arrays import Codes, Flags, Integers
from credo.numerics.exact import Array

UNRELIABLE = "unreliable: independent runs disagree; increase samples="


@dataclass(frozen=True, eq=False)
class JointQuery:
    """P(variables, event): the variables of a joint table, and the states that an event allows for each of its
    variables."""

    variables: Sequence[int]
    event: Mapping[int, Flags] = field(default_factory=dict)

    def cells(self, card: Integers, codes: Codes) -> Integers:
        """The cell of each sample in the joint table; one past its end where the event doesn't happen. (samples,)"""
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
    """A table of probabilities, the standard error of each, and the effective sample size."""

    table: Array
    error: Array
    effective: float
    method: str
    spread: Callable[[Array], float]  # x -> the standard error of Σ x·P
    sure: float = 0.0  # total weight over the largest possible weight, which an unseen sample may have
    reliable: bool = True  # whether the standard error is reliable


@dataclass(frozen=True)
class Total:
    """The log of a sum, its standard error, and the effective sample size."""

    log_value: float
    error: float
    effective: float
    method: str
    reliable: bool = True  # whether the standard error is reliable


def check_samples(samples: object) -> None:
    if not isinstance(samples, int | np.integer) or samples < 1:
        raise DataError(f"the number of samples must be whole and at least 1, but is {samples!r}")


def floor_of(group: JointQuery, findings: Findings, effective: float) -> float:
    """A standard error for states that were never or always drawn: the next sample may be the first. 0 if observed."""
    return 1.0 / (effective + 1.0) if group.unsure(findings) else 0.0


def widened(independent: float) -> float:
    """The factor by which few independent samples widen an interval: the 95% quantile of Student's t over the normal's,
    about 1 + 1.21/ν + 1.6/ν².

    >>> widened(8.0).__round__(2)
    1.21
    """
    freedom = max(independent - 1.0, 1.0)
    return 1.0 + 1.21 / freedom + 1.6 / freedom**2


def mean_of(log_weights: Array, method: str) -> Total:
    """The log of the mean weight; its standard error is the relative standard error of the mean."""
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
