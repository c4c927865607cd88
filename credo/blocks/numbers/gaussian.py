"""Correlated numbers given the class: a multivariate Gaussian with a covariance per class, or a shared one.

The evidence is the moments of each class and each pattern of missing cells, which add. EM completes the moments of
patterns with missing cells: its E-step replaces a missing cell by its regression on the known ones and adds the
residual covariance. All else is computed as if the rows had been complete.

If classes are hidden, a second EM runs around that one, and patterns are many (up to 2ᵈ). Its expected statistics of a
batch are completed moments, one set per class (see completed_rows): both E-steps in one, so the objective never falls.
The prior takes the columns' scales from the known cells alone, which don't change between steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from credo.blocks.block import Block, Likelihood, Settings
from credo.blocks.capabilities import Completes, ExpectsHidden, Limits, Rounds, Tallies
from credo.blocks.numbers.completed_rows import begun
from credo.blocks.numbers.gaussian_likelihood import JointLikelihood
from credo.blocks.numbers.hidden_rows import Before, HiddenGroups
from credo.blocks.numbers.patterns import PatternMoments, label_of, patterns, with_completed
from credo.core.evidence import Evidence, Part
from credo.core.labels import ROWS, Label
from credo.core.membership import Membership, Soft
from credo.core.moments import CrossMoments, Moments
from credo.core.soft_sums import FEW_SOFT_SUMS
from credo.core.statistics import exceeds
from credo.data import Batch
from credo.data.batches import NumberMatrix
from credo.data.schema import Column, Schema
from credo.numerics.exact import Exact

if TYPE_CHECKING:
    from credo.blocks.tally import Tally

COMPLETED, KNOWN = Label("completed"), Label("known")


@dataclass(frozen=True)
class Joint(Block, Limits, Tallies, Completes, ExpectsHidden, Rounds):
    """x | class ~ N(μ, Σ), with a normal-inverse-Wishart prior: s rows of the pooled means and variances.

    NormalInverseWishart(pooled means, s, d + 1 + s, s · diag(pooled variances)). Columns without variance are ignored.
    """

    names: tuple[str, ...]
    covariance: Literal["full", "tied"]
    blur: tuple[float, ...] = ()  # δ²/12 of each column, for rounded numbers

    def keeps(self, label: Label) -> bool:
        return label.counted in ("joint", "completed", "known")

    def crowded(self, evidence: Evidence, slack: float) -> Label | None:
        """A part with more rows than its group: each row has one pattern of missing cells."""
        labels = [label for label in self.labels(evidence) if label != KNOWN]
        total = np.sum([evidence[label].weight for label in labels], axis=0)
        return labels[0] if labels and exceeds(total, evidence[ROWS].weight, slack) else None

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        x = batch.encoded(NumberMatrix(self.names))
        parts = {}
        for known, rows in patterns(x):
            if known.any():
                inside = x[rows] if known.all() else x[rows][:, known]
                own = member if isinstance(rows, slice) else member.take(rows)
                parts[label_of(known)] = Part((groups,), CrossMoments.of(inside, own))
        return Evidence(Schema(tuple(Column(name, "number") for name in self.names)), parts)

    def expected(self, batch: Batch, member: Soft, groups: str, now: Likelihood | None) -> Evidence:
        x = batch.encoded(NumberMatrix(self.names))
        if not np.isnan(x).any():
            evidence = self.summarise(batch, member, groups)
            blurred = self.blur and self.labels(evidence)
            return self._complete_evidence(evidence[self._every], groups) if blurred else evidence
        filled = now.completed_moments(x, member) if isinstance(now, JointLikelihood) else begun(x, member)
        known = Moments.of(x, Soft(member.weights.sum(1, keepdims=True)))
        if self.blur:
            known = replace(known, second=known.second + known.n * Exact.of(np.array(self.blur)))
        parts = {COMPLETED: Part((groups,), filled), KNOWN: Part((None, None), known)}
        return Evidence(Schema(tuple(Column(name, "number") for name in self.names)), parts)

    def expected_hidden(
        self, batch: Batch, before: Before, groups: str, now: Likelihood
    ) -> tuple[Evidence, HiddenGroups] | None:
        x = batch.encoded(NumberMatrix(self.names))
        if before.others is not None or before.lookup is not None:
            return None
        if x.size * len(before.log_shares) < FEW_SOFT_SUMS or np.isnan(x).any():
            return None
        found = now.expected_tied(x, before) if isinstance(now, JointLikelihood) else None
        if found is None:
            return None
        return self._complete_evidence(CrossMoments.of_centred(found[0]), groups), found[1]

    @property
    def _every(self) -> Label:
        """The label of rows without missing cells."""
        return label_of(np.ones(len(self.names), dtype=bool))

    def _complete_evidence(self, moments: CrossMoments, groups: str) -> Evidence:
        """The evidence of complete rows, of numbers before rounding."""
        n, first, second = moments.sums
        if self.blur:
            moments = CrossMoments(n, first, second + n[:, None, None] * Exact.of(np.diag(self.blur)))
        schema = Schema(tuple(Column(name, "number") for name in self.names))
        return Evidence(schema, {self._every: Part((groups,), moments)})

    def rounded(self, steps: Mapping[str, float]) -> Joint:
        return replace(self, blur=tuple(steps.get(name, 0.0) ** 2 / 12 for name in self.names))

    def likelihood(self, evidence: Evidence, settings: Settings) -> JointLikelihood:
        own = sorted(label for label in self.labels(evidence) if label.counted == "joint")
        seen = [PatternMoments(np.array(label.pattern), evidence[label]) for label in own]
        if COMPLETED in evidence.parts:
            seen = with_completed(seen, evidence[COMPLETED], evidence[KNOWN])
        used = tuple(pattern for pattern in seen if pattern.moments.n.value.any())
        blur = np.array(self.blur) if self.blur else None
        return JointLikelihood(self.names, self.covariance, len(evidence[ROWS].n.value), used, settings, blur=blur)

    def tally(self, evidence: Evidence) -> Tally:
        from credo.blocks.numbers.tallies import JointTally

        classes = max((len(evidence[label].weight) for label in self.labels(evidence)), default=1)
        return JointTally(self.names, label_of, classes)
