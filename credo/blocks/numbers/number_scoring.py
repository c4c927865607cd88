"""Scores of independent numbers: Student's t of each column, or a normal at the posterior mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from credo.blocks.block import Settings
from credo.blocks.numbers.independent_likelihood import NumbersLikelihood, columns_as_groups
from credo.blocks.scoring import Cells, RowFlags, Scorer
from credo.core.evidence import NEVER_LEARNED
from credo.core.membership import Hard
from credo.core.moments import Moments
from credo.core.statistics import Positions
from credo.data import Batch
from credo.errors import EvidenceError
from credo.families import NormalInverseGamma
from credo.families.normal import StudentTerms
from credo.families.priors import of_numbers
from credo.numerics.exact import Array, Exact


class CentredMoments(NamedTuple):
    """Moments about the columns' means, so that large means lose no digits. (classes, columns, 1)"""

    shift: Array  # (columns,)
    each: Moments  # of classes
    pooled: Moments  # (1, columns, 1) of all classes


@dataclass(frozen=True, eq=False)
class NumberScorer(Scorer):
    """log p(x | class) of each column, with parameters integrated out or at their posterior means."""

    reader: NumbersLikelihood
    statistics: Moments  # (classes, columns)
    settings: Settings
    known: CentredMoments | None = None  # of the remaining rows, if some were removed

    @property
    def names(self) -> tuple[str, ...]:
        return self.reader.names

    def read(self, batch: Batch) -> Cells:
        return self.reader.read(batch)

    @cached_property
    def _summary(self) -> CentredMoments:
        if self.known is not None:
            return self.known
        pooled = self.statistics.pooled()
        shift = np.asarray(pooled.mean[0])
        each, everyone = (columns_as_groups(part.about(shift)) for part in (self.statistics, pooled))
        return CentredMoments(shift, each, everyone)

    @cached_property
    def _varies(self) -> Array:
        """Whether a column has any variance: others are ignored. (columns,)"""
        return np.asarray(self._summary.pooled.scatter[0, :, 0] > 0)

    @cached_property
    def _prior(self) -> NormalInverseGamma:
        return of_numbers(self._summary.pooled, self.settings.strength)

    @cached_property
    def _posterior(self) -> NormalInverseGamma:
        return self._prior.posterior(self._summary.each)

    @cached_property
    def _density(self) -> tuple[Array, Array, Array]:
        """log p(x) = constant - power log(1 + inverse (x - m)²), or constant - inverse (x - m)². (classes, columns)"""
        post = self._posterior
        return self._parameters(post.strength, post.shape, np.where(self._varies, post.scale, 1.0))

    def _parameters(self, strength: Array, shape: Array, scale: Array) -> tuple[Array, Array, Array]:
        if self.settings.estimate == "mean":
            variance = scale / (shape - 1)
            return 0.5 / variance, shape, -0.5 * np.log(2 * np.pi * variance)
        return StudentTerms.of(strength, shape, scale)

    def _log_density(self, away: Array, inverse: Array, power: Array, constant: Array) -> Array:
        away *= away
        away *= inverse
        if self.settings.estimate != "mean":
            np.log1p(away, out=away)
            away *= power
        return np.subtract(constant, away, out=away)

    def each(self, cells: Cells, places: Positions) -> Array:
        x = cells[:, places] - self._summary.shift[places]
        away = x[:, None] - self._posterior.location[:, places]
        found = self._log_density(away, *(part[:, places] for part in self._density))
        return self._with_ignored(found, x, places)

    def each_left_out(self, cells: Cells, own: Hard, places: Positions) -> Array:
        """Without x, of weight w: κ′ = κ - w, a′ = a - w/2, b′ = b - ½ wκ/κ′ (x - m)², x - m′ = κ/κ′ (x - m)."""
        x = cells[:, places] - self._summary.shift[places]
        post, w, at = self._posterior, own.weight[:, None], (own.codes[:, None], places)
        found = self._log_density(x[:, None] - post.location[:, places], *(part[:, places] for part in self._density))
        kappa, away = post.strength[at], x - post.location[at]
        left = np.where(np.isnan(x), 1.0, kappa - w)
        scale = np.maximum(post.scale[at] - 0.5 * w * kappa / left * away**2, self._prior.scale[..., places])
        scale = np.where(self._varies[places], scale, 1.0)
        mine = self._log_density(kappa / left * away, *self._parameters(left, post.shape[at] - 0.5 * w, scale))
        found[np.arange(own.rows), own.codes] = mine
        return self._with_ignored(found, x, places)

    def _with_ignored(self, found: Array, x: Array, places: Positions) -> Array:
        """The scores, with 0 where a cell is missing or a column has no variance."""
        known = ~np.isnan(x) & self._varies[places]
        return found if known.all() else np.where(known[:, None], found, 0.0)

    def without(self, cells: Cells, own: Hard, gone: RowFlags) -> NumberScorer:
        if (
            (own.weight @ ~np.isnan(cells)) == self.statistics.n.value.sum(0)
        ).all():  # these are all rows of the evidence
            return replace(self, known=summary_of_rows(cells[~gone], own.take(~gone)))
        left = self.statistics.without(Moments.of(cells[gone], own.take(gone)))
        if left is None:
            raise EvidenceError(NEVER_LEARNED)
        return replace(self, statistics=left, known=None)

    def reclassified(self, cells: Cells, own: Hard) -> NumberScorer:
        return replace(self, known=summary_of_rows(cells, own))

    def under(self, settings: Settings) -> NumberScorer:
        return replace(self, settings=settings, known=self._summary)

    def beside(self, scorers: Sequence[NumberScorer]) -> NumberScorer:
        shifts, each, pooled = zip(*(scorer._summary for scorer in scorers), strict=True)
        return replace(self, known=CentredMoments(np.concatenate(shifts), _joined(each), _joined(pooled)))

    def log_bayes_factors(self) -> Array:
        apart = self._prior.log_evidence(self._summary.each).sum(0) - self._prior.log_evidence(self._summary.pooled)[0]
        return np.where(self._varies, apart, 0.0)


def _joined(moments: Sequence[Moments]) -> Moments:
    """The moments of all columns, concatenated."""
    sums = zip(*(each.sums for each in moments), strict=True)
    return Moments(
        *(
            Exact(*(np.concatenate([getattr(part, half) for part in parts], axis=1) for half in ("high", "low")))
            for parts in sums
        )
    )


def summary_of_rows(x: Array, own: Hard) -> CentredMoments:
    """The moments from rows, NaN where a cell is missing: about each class's mean, without cancellation."""
    known = ~np.isnan(x)
    filled, member = np.where(known, x, 0.0), np.zeros((own.groups, own.rows))
    member[own.codes, np.arange(own.rows)] = own.weight
    n = member @ known
    everyone = n.sum(0)
    shift = own.weight @ filled / np.where(everyone > 0, everyone, 1.0)
    z = np.where(known, x - shift, 0.0)
    mean = member @ z / np.where(n > 0, n, 1.0)
    scatter = member @ np.where(known, z - mean[own.codes], 0.0) ** 2
    place = (n * mean).sum(0) / np.where(everyone > 0, everyone, 1.0)
    varies = np.fmax.reduce(x, axis=0, initial=-np.inf) > np.fmin.reduce(x, axis=0, initial=np.inf)
    pooled = np.where(varies, scatter.sum(0) + (n * (mean - place) ** 2).sum(0), 0.0)
    each = Moments.of_scatter(n[:, :, None], mean[:, :, None], scatter[:, :, None])
    together = (part[None, :, None] for part in (everyone, place, pooled))
    return CentredMoments(shift, each, Moments.of_scatter(*together))
