"""A fitted line: the features in comparable units, the prior of their weights, and the posterior."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from credo.blocks.capabilities import Ignored
from credo.core.evidence import Evidence
from credo.core.moments import CrossMoments
from credo.core.statistics import Positions
from credo.data import Batch
from credo.families.linear_gaussian import Line, LinearGaussian
from credo.models.regression.design import INDICATOR_SCALE, Design, require_squares, scales_of
from credo.models.regression.features import Features
from credo.models.regression.ridge import RidgeEvidence
from credo.models.regression.variable_selection import Inclusion, inclusion
from credo.notices import tell
from credo.numerics.distributions import InverseGamma, StudentT
from credo.numerics.exact import Array

INDEPENDENT_SHARE = 1e-10  # of a feature's scatter: with less left after the others, it is a linear combination of them
LEAST_NOISE_SCALE = 1e-290  # keeps the noise's scale positive
EXACT_FIT_SHARE = 1e-10  # of the target's scatter: a smaller residual is an exact fit
FITS_EXACTLY = "the target fits exactly: the noise variance is unknown, and intervals are as narrow as rounding errors"


class LineSettings(NamedTuple):
    """The settings of a fit."""

    given: LinearGaussian | None = None  # a prior of the weights of raw cells, the intercept first
    ridge: float | None = None  # the strength of the prior in rows; None: by evidence
    select: bool = False


@dataclass(frozen=True, eq=False)
class Basis:
    """z(row): the features that are kept, each divided by its scale."""

    features: Features
    scales: Array  # of all features
    kept: Positions

    def read(self, batch: Batch) -> tuple[Array, Ignored]:
        """(rows, kept)"""
        z, ignored = self.features.read(batch)
        whole = len(self.kept) == z.shape[1]
        return (z if whole else z[:, self.kept]) / self.scales[self.kept], ignored

    def taken(self, sums: CrossMoments) -> CrossMoments:
        """The moments of the scaled, kept features and the target, from those of all features."""
        places = np.append(self.kept, len(self.scales))
        times = np.append(1 / self.scales[self.kept], 1.0)
        return CrossMoments(
            sums.n,
            sums.first.take(1, places) * times,
            sums.second.take(1, places).take(2, places) * (times[:, None] * times),
        )

    @cached_property
    def origin(self) -> Array:
        """z where every number is 0, no category has any of its levels, and nothing is missing. (features,)"""
        mains = dict(zip(self.features.columns, np.split(-self.features.centre, self._ends), strict=False))
        marks = [-share for share in self.features.missing.values()]
        products = [np.outer(mains[a], mains[b]).ravel() for a, b in self.features.interactions]
        return np.concatenate([-self.features.centre, marks, *products])

    @property
    def _ends(self) -> Positions:
        sizes = [1 if column.levels is None else len(column.levels) for column in self.features.schema]
        return np.cumsum(sizes, dtype=np.intp)[:-1]

    @cached_property
    def to_terms(self) -> Array:
        """The matrix from weights of the basis to an intercept at the origin and weights in the features' own units. (1
        + features, 1 + kept)"""
        made = np.zeros((1 + len(self.scales), 1 + len(self.kept)))
        made[0, 0] = 1.0
        made[0, 1:] = self.origin[self.kept] / self.scales[self.kept]
        made[1 + self.kept, 1 + np.arange(len(self.kept))] = 1 / self.scales[self.kept]
        return made


@dataclass(frozen=True, eq=False)
class FittedLine:
    """The weights' posterior, given the evidence and the prior found from it."""

    basis: Basis
    statistics: CrossMoments  # of the basis and the target. (1, kept + 1)
    prior: LinearGaussian  # of the weights of the basis
    ridge: float | None  # the strength, in rows; None if a prior was given
    inclusion: Inclusion | None = None
    rows: float | None = None  # the number of rows, if the sums weight them down: see robust
    noise_degrees: float | None = None  # of freedom of Student-t noise

    @classmethod
    def of(cls, design: Design, evidence: Evidence, settings: LineSettings) -> FittedLine:
        features = design.features(evidence)
        if settings.given is not None:
            plain = replace(
                features, centre=np.zeros_like(features.centre), missing=dict.fromkeys(features.missing, 0.0)
            )
            basis = Basis(plain, np.ones(plain.width), np.arange(plain.width))
            return cls(basis, basis.taken(design.sums(evidence, plain)), settings.given, None)
        sums = design.sums(evidence, features)
        require_squares(features, sums, design.target)
        scales, varying = scales_of(features, sums)
        basis = Basis(features, scales, np.flatnonzero(varying))
        found = None
        if settings.select:
            found = inclusion(basis.taken(sums), features, basis.kept, settings.ridge)
            basis = replace(basis, kept=found.kept)
        if settings.ridge == 0:
            basis = replace(basis, kept=basis.kept[independent(basis.taken(sums).scatter[0, :-1, :-1])])
        statistics = basis.taken(sums)
        ridge = RidgeEvidence.of(statistics).best if settings.ridge is None else settings.ridge
        line = cls(basis, statistics, reference_prior(statistics, ridge), ridge, found)
        if line.degrees > 0 and line.exact:
            tell(FITS_EXACTLY)
        return line

    @property
    def exact(self) -> bool:
        """Whether the residuals are mere rounding errors."""
        left = float(self.posterior.scale) - float(self.prior.scale)
        return left <= EXACT_FIT_SHARE * float(self.statistics.scatter[0, -1, -1])

    @property
    def n(self) -> float:
        return float(self.statistics.n.value[0])

    @cached_property
    def posterior(self) -> LinearGaussian:
        """The posterior of the basis' weights, the intercept first."""
        after = self.prior.posterior(self.statistics[0])
        if self.rows is None:
            return after
        return LinearGaussian(after.location, after.precision, after.shape + (self.rows - self.n) / 2, after.scale)

    @cached_property
    def covariance(self) -> Array:
        """precision⁻¹: the covariance of the weights of the basis, in units of σ²."""
        return np.asarray(np.linalg.inv(self.posterior.precision), dtype=np.float64)

    @property
    def noise(self) -> float:
        """The squared scale of the noise in the predictive."""
        return float(self.posterior.scale / self.posterior.shape)

    @property
    def degrees(self) -> float:
        return 2 * float(self.posterior.shape)

    @property
    def predictive_degrees(self) -> float:
        """Degrees of freedom: those of Student-t noise, or with Gaussian noise those of its unknown variance."""
        return self.degrees if self.noise_degrees is None else self.noise_degrees

    def weights(self, at: Array | None = None) -> StudentT:
        """The marginals of weights in their own units, after an intercept; or of other sums of the basis' weights."""
        made = self.basis.to_terms if at is None else at
        location = made @ self.posterior.location
        spread = np.sqrt(self.noise * np.maximum(((made @ self.covariance) * made).sum(1), 0.0))
        return StudentT(self.degrees, location, spread)

    def variance(self) -> InverseGamma:
        return InverseGamma(float(self.posterior.shape), float(self.posterior.scale))

    def line(self, weights: Array, variance: object) -> Line:
        """The line in the features' own units."""
        return Line(self.basis.to_terms @ weights, variance)

    def least_squares(self) -> Line:
        found = self.prior.maximum_likelihood(self.statistics[0])
        return self.line(found.weights, float(found.variance))

    def expected(self, z: Array) -> Array:
        return np.asarray(z @ self.posterior.location[1:] + self.posterior.location[0])

    def predictive(self, z: Array, unknown: Array | float = 0.0) -> StudentT:
        """The predictive of each row: location w′z, scale² = σ²(1 + z′ precision⁻¹ z) + what unknown cells add."""
        spread = np.sqrt(self.noise * (1 + self.leverage(z)) + unknown)
        return StudentT(self.predictive_degrees, self.expected(z), spread)

    def unknown_variance(self, batch: Batch) -> Array:
        """The variance that unknown cells add to each row's target: missing ones of columns that had none, and values
        without rows, whose weights have the prior N(0, σ²/ridge). (rows,)
        """
        found, features = np.zeros(batch.rows), self.basis.features
        if not self.ridge:
            return found
        batch = batch.filled(features.columns)
        absent = np.zeros((len(features.columns), batch.rows), dtype=bool)
        for column, own in zip(features.schema, absent, strict=True):
            name = column.name
            if column.levels is None:
                missing = np.isnan(batch.numbers(name))
            else:
                missing = np.asarray(batch.column(name).is_null())
                if len(self.places({name})):
                    unseen = (batch.codes_among(name, column.levels)[0] < 0) & ~missing
                    found += unseen * (self.noise * self.new_level)
            own[:] = missing & (name not in features.missing)
        if absent.any():
            patterns, which = np.unique(absent, axis=1, return_inverse=True)
            weights, names = self.posterior.location[1:], np.array(features.columns)
            each = [self.missing_variance(names[pattern].tolist(), weights) for pattern in patterns.T]
            found += np.array(each)[which.ravel()]
        return found

    @property
    def new_level(self) -> float:
        """The variance of what a value without rows adds to the target, in units of σ²; 0 without a prior on it."""
        return 1 / (self.ridge * INDICATOR_SCALE**2) if self.ridge else 0.0

    def missing_variance(self, columns: Collection[str], weights: Array) -> float:
        """w′ cov(z) w over the features of these columns, which are at their means. weights: (kept,)"""
        own = self.places(columns)
        scatter = self.statistics.scatter[0][np.ix_(own, own)]
        return max(float(weights[own] @ scatter @ weights[own]) / self.n, 0.0)

    def places(self, columns: Collection[str]) -> Positions:
        """The places in the basis of these columns' own features."""
        mains = [self.basis.features.mains[name] for name in columns]
        return np.flatnonzero(np.isin(self.basis.kept, np.concatenate(mains) if mains else []))

    def leverage(self, z: Array) -> Array:
        """(1, z)′ precision⁻¹ (1, z)"""
        across = z @ self.covariance[1:, 1:] + 2 * self.covariance[0, 1:]
        return np.asarray((across * z).sum(1) + self.covariance[0, 0])

    def log_evidence(self) -> float:
        """log p(target | features), parameters integrated out; scaling the weights doesn't change it."""
        return float(self.prior.log_evidence(self.statistics[0]))


def reference_prior(statistics: CrossMoments, ridge: float) -> LinearGaussian:
    """A flat prior on the intercept and on log σ²; the other weights have N(0, σ²/ridge), or a flat prior at 0.

    The noise's scale is at least the target's floating-point resolution.
    """
    n, size = float(statistics.n.value[0]), statistics.first.shape[1]
    square = float(statistics.second.value[0, -1, -1])
    resolution = np.spacing(np.sqrt(square / n)) if n > 0 else 0.0
    precision = np.diag(np.append(0.0, np.full(size - 1, ridge)))
    flat = 1 if ridge > 0 else size
    return LinearGaussian(0.0, precision, -flat / 2, max(n * resolution**2, LEAST_NOISE_SCALE))


def independent(scatter: Array) -> Positions:
    """The features that aren't linear combinations of those before them."""
    size = np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
    size = np.where(size > 0, size, 1.0)
    left = scatter / size[:, None] / size
    kept = []
    for j in range(len(left)):
        if left[j, j] > INDEPENDENT_SHARE:
            kept.append(j)
            left = left - np.outer(left[:, j], left[j]) / left[j, j]
    return np.array(kept, dtype=np.intp)
