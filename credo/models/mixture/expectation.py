"""The E-step and M-step of a mixture at given parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import xlogy

from credo.blocks.block import Settings
from credo.blocks.capabilities import LogEvidence, Rounded
from credo.core.em import Expected, Fitted
from credo.core.evidence import Evidence
from credo.core.labels import ROWS
from credo.core.learning import RowWeights
from credo.core.membership import Codes, Hard, Soft
from credo.data import Batch
from credo.errors import EvidenceError
from credo.families import dirichlet
from credo.models.conditional import Conditional
from credo.models.latent import log_evidence
from credo.models.latent.columns import at_mode
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class RowLabels:
    """The known component of each row, from the cell of a column, if any."""

    column: str
    values: tuple[Any, ...]  # of the components, in order; a name may occur in no cell

    def of(self, batch: Batch) -> Codes:
        """-1 where the component isn't known."""
        if self.column not in batch.names:
            return np.full(batch.rows, -1, dtype=np.int32)
        codes, levels = batch.categories(self.column)
        places = {value: k for k, value in enumerate(self.values)}
        table = np.array([*(places[value] for value in levels.to_pylist()), -1], dtype=np.int32)
        return table[codes]


@dataclass(frozen=True, eq=False)
class MixtureEM:
    """p(row) = Σₖ πₖ p(columns | k), with π ~ Dirichlet(concentration).

    π and the parameters of `at_mode` are at the mode of the density of their logarithms: πₖ = (nₖ + a)/Σ(n + a).
    """

    conditional: Conditional  # at the mode, after the evidence of a step
    levels: Any  # an Arrow array: the components' names
    concentration: float
    weights: RowWeights
    labels: RowLabels | None = None
    earlier: Evidence | None = None  # of earlier rows, whose memberships are fixed

    @property
    def size(self) -> int:
        return len(self.levels)

    @property
    def names(self) -> tuple[str, ...]:
        return self.conditional.names

    @cached_property
    def shares(self) -> Array:
        """π (components,)"""
        added = 0.0 if self.conditional.settings.estimate == "ml" else self.concentration
        return dirichlet.shares(self.conditional.weights, added)

    @cached_property
    def log_shares(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.shares)

    # Steps of EM

    def expect(self, batch: Batch, /) -> Expected:
        rows, weight, codes = self.read(batch)
        if codes is None:
            evidence, log_prob = self.conditional.expected_hidden(rows, self.log_shares, weight, self.levels)
            return evidence, _total(log_prob, weight, rows)
        member, log_likelihood = self.responsibilities(rows, weight, codes)
        return self.conditional.expected(rows, member, self.levels), log_likelihood

    def with_evidence(self, evidence: Evidence, /) -> Self:
        if self.earlier is not None:
            evidence = Evidence.total([self.earlier, evidence])
        conditional = self.conditional.with_evidence(evidence)
        _ = conditional.likelihoods  # once, for all batches
        return replace(self, conditional=conditional)

    def log_prior(self) -> float:
        """log p(parameters); rows learned before are part of it."""
        found = self.conditional.log_prior()
        if self.conditional.settings.estimate != "ml":
            found += float(xlogy(self.concentration, self.shares).sum())
        return found if self.earlier is None else found + self._log_likelihood_of(self.earlier)

    def rounding(self) -> float:
        """By how much the objective may fall: covariances of collinear columns have few correct digits."""
        known = (Rounded.of(likelihood) for likelihood in self.conditional.likelihoods)
        return sum(each.rounding() for each in known if each is not None)

    def _log_likelihood_of(self, evidence: Evidence) -> float:
        """log p(rows, components) of completed rows."""
        conditional = self.conditional
        evidence = Evidence.total([Evidence(conditional.seen.schema), evidence])  # levels of later rows, in their order
        total = float(xlogy(evidence[ROWS].n.value[:, 0], self.shares).sum())
        for block, at in zip(conditional.blocks, conditional.likelihoods, strict=True):
            known = LogEvidence.needed(block.likelihood(evidence, conditional.settings))
            total += known.log_likelihood_at(at)  # type: ignore[arg-type]
        return total

    # Parts of the steps

    def read(self, batch: Batch) -> tuple[Batch, Array, Codes | None]:
        """The rows with positive weight, their weights, and their known components."""
        weight = self.weights.of_rows(batch)
        if (weight == 0).any():
            kept = np.flatnonzero(weight)
            batch, weight = batch.take(kept), weight[kept]
        codes = None if self.labels is None else self.labels.of(batch)
        return batch, weight, codes

    def responsibilities(self, batch: Batch, weight: Array, codes: Codes | None) -> tuple[Soft, float]:
        """P(component | row) times the row's weight, and the weighted log-likelihood of all rows."""
        log_joint = self.conditional.log_joint(batch, self.log_shares)
        if codes is not None:
            known = np.flatnonzero(codes >= 0)
            own = log_joint[known, codes[known]]
            log_joint[known] = -np.inf
            log_joint[known, codes[known]] = own
        member, log_prob = Soft.responsibilities(log_joint, weight)
        return member, _total(log_prob, weight, batch)

    def begun(self, batch: Batch, codes: Codes) -> Self:
        """The model at the parameters given by groups of a batch's rows; known groups are kept."""
        rows, weight, known = self.read(batch)
        if known is not None:
            codes = np.where(known >= 0, known, codes)
        evidence = self.conditional.expected(rows, Hard(codes, self.size, weight), self.levels)
        return self.with_evidence(evidence)

    def begun_from(self, batch: Batch, member: Soft) -> Self:
        """The model at the parameters given by responsibilities of a batch's rows."""
        return self.with_evidence(self.conditional.expected(self.read(batch)[0], member, self.levels))

    def log_evidence(self, fitted: Fitted[Any], settings: Settings) -> float:
        """log p(rows) of Cheeseman and Stutz: see models/latent/log_evidence.py.

        For one of the k! labellings of the components. Separated components would have all k!; empty or coinciding ones
        have fewer, and a factor of k! would favour too many.
        """
        n = fitted.evidence[ROWS].n.value[:, 0]
        log_likelihood = fitted.objective - self.log_prior()
        columns = log_evidence.of_columns(self.conditional, fitted.evidence, settings)
        return log_likelihood + columns + log_evidence.of_shares(n, self.shares, self.concentration)

    def with_prior(self, strength: float) -> Self:
        """The model with another prior of numbers, for the next evidence."""
        settings = replace(self.conditional.settings, strength=strength)
        return replace(self, conditional=replace(self.conditional, settings=settings))


def _total(log_prob: Array, weight: Array, batch: Batch) -> float:
    """The weighted log-likelihood of a batch's rows."""
    log_likelihood = float(weight @ log_prob)
    if np.isneginf(log_likelihood):
        row = int(np.flatnonzero(np.isneginf(log_prob))[0])
        raise EvidenceError(
            f"row {batch.number(row)} is impossible under every component: maximum likelihood gives its cells no "
            "probability. Use estimate='bayes', whose prior does"
        )
    return log_likelihood


def unfitted(
    conditional: Conditional, levels: Any, concentration: float, weights: RowWeights, labels: RowLabels | None
) -> MixtureEM:
    """Without parameters yet."""
    own = replace(conditional, settings=at_mode(conditional.settings), evidence=None)
    return MixtureEM(own, levels, concentration, weights, labels)


def renamed_levels(evidence: Evidence, groups: str, order: Sequence[int], names: object) -> Evidence:
    """The evidence with the components in another order, under these names (an Arrow array)."""
    taken = evidence.only_levels(groups, np.asarray(order, dtype=np.intp))
    return Evidence(taken.schema.replaced([replace(taken.schema[groups], levels=names)]), taken.parts)
