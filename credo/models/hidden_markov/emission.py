"""p(columns | state): the groups of a conditional are the states, or several components of each state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.blocks.capabilities import Ignored
from credo.core.evidence import Evidence
from credo.core.membership import Hard, Membership, Soft
from credo.data import Batch
from credo.families.dirichlet import log_kernel, offset, shares
from credo.models.conditional import Conditional, add_log_likelihoods
from credo.models.known_columns import add_ignored
from credo.models.latent.log_evidence import of_shares
from credo.numerics.exact import Array

COMPONENT = "component"  # the column of the evidence that holds states' components


@dataclass(frozen=True, eq=False)
class Emission:
    """p(row | state) = Σ P(component | state) p(row | component); groups are state · components + component."""

    conditional: Conditional
    levels: Any  # of the states, an Arrow array
    components: int

    @property
    def states(self) -> int:
        return len(self.levels)

    @cached_property
    def group_levels(self) -> pa.Array:
        return self.levels if self.components == 1 else pa.array(np.arange(self.states * self.components))

    @cached_property
    def _component_shares(self) -> Array:
        """P(component | state). (states, components)"""
        n = self.conditional.weights.reshape(self.states, self.components)
        return shares(n, offset(self.conditional.settings.smoothing, self.conditional.settings.estimate))

    @cached_property
    def _log_shares(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self._component_shares)

    def _joint(self, batch: Batch, ignored: Ignored | None = None) -> Array:
        """log p(row, component | state). (rows, states, components)"""
        logs = self._of_group(batch, ignored)
        return logs.reshape(batch.rows, self.states, self.components) + self._log_shares

    def log_likelihood(self, batch: Batch, ignored: Ignored | None = None) -> Array:
        """(rows, states); cells with ignored values are added to `ignored`."""
        if self.components == 1:
            return self._of_group(batch, ignored)
        return np.asarray(np.logaddexp.reduce(self._joint(batch, ignored), axis=2))

    def _of_group(self, batch: Batch, ignored: Ignored | None) -> Array:
        if ignored is None:
            return self.conditional.log_likelihood(batch)
        out = np.zeros((batch.rows, len(self.group_levels)))
        likelihoods, rows = self.conditional.likelihoods, batch.filled(self.conditional.names)
        add_ignored(ignored, add_log_likelihoods(likelihoods, rows, out, base=True))
        return out

    def member(self, batch: Batch, states: Array) -> Membership:
        """The rows' memberships of groups, from those of states. (rows, states)"""
        if self.components == 1:
            return Soft(states)
        joint = self._joint(batch)
        top = joint.max(axis=2, keepdims=True)
        own = np.exp(joint - np.where(np.isneginf(top), 0.0, top))
        own *= (states / np.maximum(own.sum(axis=2), np.finfo(float).tiny))[:, :, None]
        return Soft(own.reshape(batch.rows, -1))

    def of_groups(self, states: Array) -> Array:
        """P(group) from P(state). (states,) -> (groups,)"""
        return (states[:, None] * self._component_shares).ravel() if self.components > 1 else states

    def drawn_groups(self, states: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
        """A random component of each row's state."""
        if self.components == 1:
            return states
        reached = np.cumsum(self._component_shares, axis=1)[states]
        own = (rng.random((len(states), 1)) * reached[:, -1:] >= reached).sum(1)
        return np.asarray(states * self.components + np.minimum(own, self.components - 1))

    def begun(self, member: Membership, rng: np.random.Generator) -> Membership:
        """The rows' groups before any parameters are known: each state's rows are divided among its components at
        random."""
        if self.components == 1:
            return member
        states = member.soft().weights if isinstance(member, Hard) else member.weights
        shared = rng.dirichlet(np.ones(self.components), states.shape)
        return Soft((states[:, :, None] * shared).reshape(len(states), -1))

    def expect(self, batch: Batch, member: Membership) -> Evidence:
        """The expected statistics of a batch."""
        return self.conditional.expected(batch, member, self.group_levels)

    def count(self, batch: Batch, member: Membership) -> Evidence:
        """The statistics of a batch whose states are known."""
        return self.conditional.summarise(batch, member, self.group_levels)

    def with_evidence(self, evidence: Evidence) -> Self:
        return replace(self, conditional=self.conditional.with_evidence(evidence))

    def log_prior(self) -> float:
        """The log-prior at EM's mode, with probabilities in terms of their logarithms."""
        found = self.conditional.log_prior()
        if self.components == 1:
            return found
        smoothing = self.conditional.settings.smoothing  # one more than the prior's, for the density of the logarithms
        return found + float(log_kernel(self._component_shares, smoothing).sum())

    def completed_shares(self, expected: Evidence, smoothing: float) -> float:
        """log p(completed components) - log p(completed components | their shares)."""
        if self.components == 1:
            return 0.0
        n = self.conditional.with_evidence(expected).weights.reshape(self.states, self.components)
        return of_shares(n, self._component_shares, smoothing)

    def log_shares_of(self, evidence: Evidence) -> float:
        """log p(components that were counted | their shares)."""
        from scipy.special import xlogy

        n = self.conditional.with_evidence(evidence).weights.reshape(self.states, self.components)
        return float(xlogy(n, self._component_shares).sum()) if self.components > 1 else 0.0

    @property
    def free_parameters(self) -> int:
        own = sum(likelihood.free_parameters for likelihood in self.conditional.likelihoods)
        return own + self.states * (self.components - 1)
