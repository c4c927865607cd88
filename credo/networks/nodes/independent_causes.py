"""Nodes with independent causes: the maximum of the effects of a leak and of each parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.statistics import Counts
from credo.families.dirichlet import DirichletCategorical
from credo.networks.nodes.active_causes import SeenCauses
from credo.networks.nodes.chain import Chain
from credo.networks.nodes.configurations import ConfigurationCounts
from credo.networks.nodes.family_node import ChainNode, CountedNode
from credo.networks.nodes.node import Prior, Sizes
from credo.networks.nodes.simplex import amplitudes, random_rows, squares
from credo.networks.nodes.table import uniform_where_unknown
from credo.networks.table_priors import BDeu, dirichlet_of
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.networks.nodes.noisy import NoisyDistribution


@dataclass(frozen=True, eq=False)
class CausesNode(ChainNode, CountedNode):
    """y = max(z₀, z₁, ..., zₙ): the leak z₀ ~ θ₀, and zᵢ ~ θᵢ given the state of parent i; all are grades of y.

    Its parameters are rows of distributions over the grades: the leak's, then one for each state of each parent. In its
    neutral state, a parent has no effect: zᵢ is the lowest grade. EM needs the counts of these rows. They follow from
    the steps mᵢ = max(mᵢ₋₁, zᵢ) of the chain: where mᵢ > mᵢ₋₁, zᵢ = mᵢ; else zᵢ ≤ mᵢ, with probabilities in the ratio
    of θᵢ.
    """

    form: NoisyDistribution
    grades: tuple[int, ...]  # own states, from the lowest grade
    neutral: tuple[int, ...]  # the neutral state of each parent

    @property
    def expected_label(self) -> Label:
        return Label("causes", self.name)

    @cached_property
    def starts(self) -> list[int]:
        """The start of each parent's rows, and the number of rows."""
        sizes = [len(self.family.states[parent]) for parent in self.parents]
        return [int(at) for at in np.cumsum([1, *sizes])]

    def shape(self, sizes: Sizes) -> tuple[int, ...]:  # noqa: ARG002 - its states are declared
        return self.starts[-1], len(self.grades)

    @cached_property
    def free(self) -> list[int]:
        """The learned rows: all except those of neutral states."""
        fixed = {at + state for at, state in zip(self.starts, self.neutral, strict=False)}
        return [row for row in range(0 if self.form.leaks else 1, self.starts[-1]) if row not in fixed]

    @property
    def free_numbers(self) -> int:
        """The number of learned parameters."""
        return len(self.free) * (len(self.grades) - 1)

    # Inference

    def parameters(self, given: NoisyDistribution) -> Array:
        return given.rows(self)

    def distribution(self, parameters: Array) -> NoisyDistribution:
        return self.form.with_rows(self, parameters)

    def chain(self, parameters: Array) -> Chain:
        """The chain of partial maxima; the leak is part of the first step."""
        every = _maximum_with(parameters[1:])  # (m, states of all parents, maximum)
        every.flags.writeable = False
        steps = [every[:, a - 1 : b - 1] for a, b in pairwise(self.starts)]
        steps[0] = np.tensordot(parameters[0], steps[0], 1)[None]
        steps[-1] = self._own_states(steps[-1])
        sizes = self.family.shape[:-1]
        return Chain(self.name, self.parents, sizes, tuple(range(len(sizes))), tuple(steps))

    def _rows(self, parameters: Array) -> list[Array]:
        """The rows of each parent. (its states, grades)"""
        return np.split(parameters[1:], [at - 1 for at in self.starts[1:-1]])

    def _own_states(self, by_grade: Array) -> Array:
        """The last axis reordered from grades to own states."""
        return np.ascontiguousarray(by_grade[..., np.argsort(self.grades)])

    # Learning

    def expected(self, counts: Sequence[Array], parameters: Array) -> Part:
        steps = self.chain(parameters).step_counts(counts)
        return Part((None, None), Counts(Exact.of(self._effects(steps, parameters))))

    def counts(self, evidence: Evidence, parameters: Array) -> Array:
        """Expected counts of the causes' effects in complete rows, plus EM's earlier expectations."""
        found = np.zeros(parameters.shape)
        if self.expected_label in evidence.parts:
            found += evidence[self.expected_label].n.value
        if self.label not in evidence.parts:
            return found
        seen: ConfigurationCounts = evidence[self.label]
        if len(self.grades) == 2:
            return found + self._active(seen).counts(parameters)
        steps = self.chain(parameters).expected(seen.cells.astype(np.int64), seen.n.value)
        return found + self._effects(steps, parameters)

    def _active(self, seen: ConfigurationCounts) -> SeenCauses:
        return SeenCauses.of(seen.cells, seen.n.value, self.starts, self.neutral, self.grades[1])

    def _effects(self, steps: Sequence[Array], parameters: Array) -> Array:
        """Expected counts of the parameters, from those of the chain's steps."""
        found = np.zeros(parameters.shape)
        steps = [*steps[:-1], steps[-1][..., list(self.grades)]]
        rows = self._rows(parameters)
        joint = parameters[0][:, None, None] * _maximum_with(rows[0])  # (leak's grade, state, maximum)
        share = np.divide(joint, joint.sum(0), out=np.zeros_like(joint), where=joint.sum(0) > 0)
        first = share * steps[0]
        found[0] = first.sum((1, 2))
        for at, own, counts in zip(self.starts, rows, [first, *steps[1:]], strict=False):
            found[at : at + len(own)] = _effects_of(own, counts)
        return found

    def log_likelihood(self, evidence: Evidence, parameters: Array) -> float:
        from scipy.special import xlogy

        seen: ConfigurationCounts = evidence[self.label]
        if len(self.grades) == 2:
            known = self._active(seen).log_likelihood(parameters)
        else:
            p = self.chain(parameters).probabilities(seen.cells.astype(np.int64))
            known = float(xlogy(seen.n.value, p).sum())
        if self.expected_label not in evidence.parts:
            return known
        return known + float(xlogy(evidence[self.expected_label].n.value, parameters).sum())

    def mode(self, prior: Prior, counts: Array) -> Array:
        found, own = self.start(), Counts(Exact.of(counts[self.free]))
        rows = (
            DirichletCategorical(1.0).maximum_likelihood(own)
            if prior is None
            else self._prior(prior).posterior(own).mode()
        )
        found[self.free] = uniform_where_unknown(rows)
        return found

    def start(self) -> Array:
        """EM's start: all possible effects of a cause are equally probable."""
        found = np.zeros((self.starts[-1], len(self.grades)))
        found[:, 0] = 1.0
        found[self.free] = 1.0 / len(self.grades)
        return found

    def _prior(self, prior: DirichletCategorical | BDeu) -> DirichletCategorical:
        """The prior of the learned rows. A concentration for each own state is reordered by grade."""
        shape = self.starts[-1], len(self.grades)
        alpha = dirichlet_of(prior, shape, self.name).concentration
        if alpha.ndim == 1:
            alpha = alpha[list(self.grades)]
        return DirichletCategorical(np.broadcast_to(alpha, shape)[self.free])

    def log_prior(self, prior: Prior, parameters: Array) -> float:
        return 0.0 if prior is None else float(self._prior(prior).log_prior(parameters[self.free]).sum())

    def weight(self, evidence: Evidence) -> float:
        """The weight of the rows: each row has one effect of the leak."""
        expected = evidence[self.expected_label].n.value[0] if self.expected_label in evidence.parts else np.zeros(1)
        return float(evidence[self.label].n.value.sum() + expected.sum())

    def drawn(self, parameters: Array, random: np.random.Generator) -> Array:
        found = parameters.copy()
        found[self.free] = random_rows((len(self.free), len(self.grades)), random)
        return found

    def coordinates(self, parameters: Array) -> Array:
        return amplitudes(parameters)

    def at(self, coordinates: Array, parameters: Array) -> Array:
        return squares(coordinates, parameters)

    def estimate(self, prior: Prior, evidence: Evidence) -> Array:
        """The mode in log-odds, by EM from a fixed start: the same evidence gives the same bits."""
        from credo.networks.nodes.configuration_em import fitted_rows

        return fitted_rows(self, prior, evidence)


def _maximum_with(rows: Array) -> Array:
    """P(max(m, z) | m, x), z ~ rows[x]. (m, x, maximum)

    >>> _maximum_with(np.array([[0.2, 0.3, 0.5]]))[1]
    array([[0. , 0.5, 0.5]])
    """
    grades = rows.shape[1]
    m, most = np.arange(grades)[:, None, None], np.arange(grades)
    return np.where(most > m, rows, np.where(most == m, np.cumsum(rows, axis=1), 0.0))


def _effects_of(rows: Array, counts: Array) -> Array:
    """E[n(x, z)], from counts of (m, x, max(m, z)). (x, z)"""
    grades = np.arange(rows.shape[1])
    above = np.where(grades[:, None, None] < grades, counts, 0.0).sum(0)
    same = counts[grades, :, grades].T  # (x, m)
    reached = np.cumsum(rows, axis=1)
    each = np.divide(same, reached, out=np.zeros_like(same), where=reached > 0)
    return np.asarray(above + rows * np.cumsum(each[:, ::-1], axis=1)[:, ::-1])
