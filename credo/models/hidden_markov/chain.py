"""The hidden chain: Dirichlet priors of the initial and the transition probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.statistics import Counts
from credo.families.dirichlet import Estimate, log_evidence, log_kernel, offset
from credo.models.hidden_markov.pattern import Pattern
from credo.numerics.arrays import Flags
from credo.numerics.exact import Array, Exact

INITIAL, TRANSITIONS = Label("initial"), Label("transitions")


class Shares(NamedTuple):
    """P(first state), and P(next state | state). (states,), (states, states)"""

    first: Array
    step: Array


@dataclass(frozen=True, eq=False)
class ChainPrior:
    """first ~ Dirichlet(l), step of state k ~ Dirichlet(l + sticky [same state]), over the transitions that the pattern
    allows."""

    pattern: Pattern
    smoothing: float
    sticky: float = 0.0

    @cached_property
    def concentrations(self) -> Shares:
        """The Dirichlet concentrations; 0 for forbidden transitions."""
        stay = self.smoothing + self.sticky * np.eye(self.pattern.states)
        return Shares(np.where(self.pattern.first, self.smoothing, 0.0), np.where(self.pattern.step, stay, 0.0))

    def shares(self, seen: Shares, estimate: Estimate) -> Shares:
        """The probabilities by an estimate; EM's mode, in terms of their logarithms, is the posterior mean."""
        flags = self.pattern.first, self.pattern.step
        each = zip(seen, self.concentrations, flags, strict=True)
        return Shares(*(_shares(n, offset(a, estimate), allowed) for n, a, allowed in each))

    def log_prior(self, shares: Shares) -> float:
        """Σ a log θ: the density of the logarithms, up to a constant."""
        allowed = self.pattern.first, self.pattern.step
        each = zip(shares, self.concentrations, allowed, strict=True)
        return float(sum(log_kernel(theta[own], a[own] + 1.0).sum() for theta, a, own in each))

    def log_evidence(self, seen: Shares) -> float:
        """log p(states), shares integrated out."""
        return float(sum(log_evidence(n, a).sum() for n, a in zip(seen, self.concentrations, strict=True)))

    def completed(self, seen: Shares, shares: Shares) -> float:
        """log p(completed states) - log p(completed states | shares)."""
        return self.log_evidence(seen) - log_likelihood_of(seen, shares)


def log_likelihood_of(seen: Shares, shares: Shares) -> float:
    """log p(states | shares)."""
    from scipy.special import xlogy

    return float(sum(xlogy(n, theta).sum() for n, theta in zip(seen, shares, strict=True)))


def _shares(n: Array, added: Array, allowed: Flags) -> Array:
    above = np.where(allowed, np.maximum(n + added, 0.0), 0.0)
    above = np.where(above.sum(-1, keepdims=True) > 0, above, allowed)
    return np.asarray(above / above.sum(-1, keepdims=True))


def chain_parts(firsts: Array | Exact, pairs: Array | Exact, states: str) -> dict[Label, Part]:
    """The counts as parts of the evidence; `states` is the column of states."""
    first, step = (each if isinstance(each, Exact) else Exact.of(each) for each in (firsts, pairs))
    return {
        INITIAL: Part((states,), Counts(first.reshape((*first.shape, 1)))),
        TRANSITIONS: Part((states, states), Counts(step)),
    }


def seen_in(evidence: Evidence) -> Shares:
    """The counts of initial states and of transitions in the evidence."""
    return Shares(evidence[INITIAL].n.value[:, 0], evidence[TRANSITIONS].n.value)
