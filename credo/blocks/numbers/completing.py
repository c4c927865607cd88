"""Numbers that covary, in an E-step: moments of whole rows, missing cells being as expected at some parameters.

So the evidence is one set of moments for each group, however many patterns of missing cells there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.blocks.block import Block, Likelihood, Settings
from credo.blocks.numbers.covariances import regression
from credo.blocks.numbers.gaussian import OBSERVED, Flags, Joint, label_of, patterns
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Hard, Membership
from credo.core.statistics import CrossMoments, Moments
from credo.data import Batch
from credo.data.schema import Column, Schema
from credo.families.normal_inverse_wishart import JointGaussian
from credo.numerics.exact import Array, Exact


@dataclass(frozen=True, eq=False)
class CompletedJoint(Block):
    """E[Σ wx] and E[Σ wxx′] of whole rows: a missing cell is its regression on the known ones, and the covariance that
    is left adds. Beside them, the moments of the known cells, which the prior is found from."""

    joint: Joint
    gaussians: JointGaussian | None  # of each group; None: cells are like the known ones of their columns

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.joint.names

    def keeps(self, label: Label) -> bool:
        return self.joint.keeps(label)

    def likelihood(self, evidence: Evidence, settings: Settings) -> Likelihood:
        return self.joint.likelihood(evidence, settings)

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        x = batch.matrix(self.names)
        weight = member.weight * (member.codes >= 0) if isinstance(member, Hard) else member.weights.sum(1)
        observed = Moments.of(x, Hard.whole(len(x), weight))
        parts = {
            label_of(np.ones(x.shape[1], dtype=bool)): Part((groups,), self._whole(x, member, observed)),
            OBSERVED: Part((None, None), observed),
        }
        return Evidence(Schema(tuple(Column(name, "number") for name in self.names)), parts)

    def _whole(self, x: Array, member: Membership, observed: Moments) -> CrossMoments:
        if not np.isnan(x).any():
            return CrossMoments.of(x, member)
        at = _independent(observed, member.groups) if self.gaussians is None else self.gaussians
        pivot = observed.mean[0]
        weights = member.soft().weights if isinstance(member, Hard) else member.weights
        n, first, second = (np.zeros((member.groups, *size)) for size in ((), pivot.shape, 2 * pivot.shape))
        for known, rows in patterns(x):
            if known.any():  # a row of which nothing is known says nothing
                each = _completed(x[rows] - pivot, weights[rows], known, at.mean - pivot, at.covariance)
                for total, sums in zip((n, first, second), each, strict=True):
                    total += sums
        second = (second + second.swapaxes(1, 2)) / 2  # but for rounding, it is symmetric
        return CrossMoments.about(Exact.of(n), Exact.of(first), Exact.of(second), pivot)


def _independent(observed: Moments, groups: int) -> JointGaussian:
    """Each column's own mean and variance, the same in all groups; a column without variance has 1."""
    n = np.maximum(observed.n.value[0], 1.0)
    variance = observed.scatter[0] / n
    covariance = np.where(variance > 0, variance, 1.0) * np.eye(len(n))
    return JointGaussian(np.repeat(observed.mean, groups, axis=0), np.repeat(covariance[None], groups, axis=0))


def _completed(z: Array, weights: Array, known: Flags, mean: Array, covariance: Array) -> tuple[Array, Array, Array]:
    """Σ w, E[Σ wz] and E[Σ wzz′] of rows that miss the same cells. (groups[, d[, d]])"""
    total = weights.sum(0)
    given, absent = np.flatnonzero(known), np.flatnonzero(~known)
    filled = np.empty((len(total), *z.shape))
    filled[:, :, given] = z[:, given]
    products = np.zeros(covariance.shape)
    if len(absent):
        filled[:, :, absent], left = regressed(z, known, mean, covariance)
        products[:, absent[:, None], absent] = total[:, None, None] * left
    weighted = weights.T[:, :, None] * filled
    products += weighted.swapaxes(1, 2) @ filled
    return total, weighted.sum(1), products


def regressed(z: Array, known: Flags, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """What each group expects of the missing cells of rows that miss the same ones, and the covariance that is left.
    (groups, rows, missing), (groups, missing, missing)"""
    given, absent = np.flatnonzero(known), np.flatnonzero(~known)
    slope, left = regression(covariance, given, absent)
    away = z[:, given] - mean[:, None, given]
    return mean[:, None, absent] + away @ slope.swapaxes(1, 2), left


def drawn_given(x: Array, classes: Any, law: JointGaussian, degrees: Array, rng: np.random.Generator) -> Array:
    """Rows whose missing cells are drawn given the known ones: normal, or Student's t with these degrees of freedom.

    Given p cells at the squared distance q, a t with ν degrees has ν + p, and its matrix is (ν + q)/(ν + p) times what
    regression leaves.
    """
    filled = x.copy()
    for known, rows in patterns(x):
        given, absent, at = np.flatnonzero(known), np.flatnonzero(~known), np.arange(len(x))[rows]
        for k in np.unique(classes[rows]) if len(absent) else ():
            own = at[classes[at] == k]
            mean, covariance = law.mean[k : k + 1], law.covariance[k : k + 1]
            centre, left = regressed(x[own], known, mean, covariance)
            noise = rng.standard_normal((len(own), len(absent))) @ np.linalg.cholesky(left[0]).T
            if np.isfinite(degrees[k]):
                away = (x[own] - mean[0])[:, given]
                inverse = np.linalg.inv(covariance[0][np.ix_(given, given)])
                after = degrees[k] + len(given)
                wider = (degrees[k] + np.einsum("ni,ij,nj->n", away, inverse, away)) / after
                noise *= np.sqrt(wider * after / rng.chisquare(after, len(own)))[:, None]
            filled[np.ix_(own, absent)] = centre[0] + noise
    return filled
