"""Numbers with one variance for all classes and columns: at equal priors, the nearest mean wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from credo._kernels.blocks.gaussians import add_normals
from credo._kernels.core.sums import EQUAL_SCATTER
from credo.blocks.block import Block, Likelihood, Parameter, Settings
from credo.blocks.capabilities import (
    Completes,
    Draws,
    Expects,
    ExpectsHidden,
    LogEvidence,
    LogPrior,
    OneTerm,
    Points,
    Rounds,
    Tallies,
)
from credo.blocks.numbers.hidden_rows import Before, HiddenGroups, NormalColumns
from credo.blocks.numbers.independent import Numbers
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.membership import Hard, Membership, Soft
from credo.core.moments import Moments
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.data import Batch
from credo.data.batches import NumberMatrix
from credo.errors import EvidenceError
from credo.families.normal import Gaussian, SharedVariance, log_likelihood, log_peaks
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.blocks.tally import Tally

LEFT_OUT_NUMBERS = 2**20  # numbers that are held at once when rows are left out


@dataclass(frozen=True)
class Spherical(Block, Completes, ExpectsHidden, Rounds, Tallies):
    """xⱼ | class ~ N(μⱼ, σ²) with one σ² for all classes and columns.

    μⱼ ~ N(pooled mean, σ²/s), σ² ~ InverseGamma(1 + s/2, s · v/2) with the mean v of the columns' pooled variances.
    """

    names: tuple[str, ...]
    blur: tuple[float, ...] = ()  # δ²/12 of each column, for rounded numbers

    @property
    def _numbers(self) -> Numbers:
        return Numbers(self.names, blur=self.blur)

    def keeps(self, label: Label) -> bool:
        return self._numbers.keeps(label)

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        return self._numbers.summarise(batch, member, groups)

    def rounded(self, steps: Mapping[str, float]) -> Spherical:
        return replace(self, blur=self._numbers.rounded(steps).blur)

    def expected(self, batch: Batch, member: Soft, groups: str, now: Likelihood | None) -> Evidence:
        return self._numbers.expected(batch, member, groups, now)

    def expected_hidden(
        self, batch: Batch, before: Before, groups: str, now: Likelihood
    ) -> tuple[Evidence, HiddenGroups] | None:
        law = now.normals if isinstance(now, SphericalLikelihood) else None
        return None if law is None else self._numbers.expected_of_normals(batch, before, groups, law)

    def likelihood(self, evidence: Evidence, settings: Settings) -> SphericalLikelihood:
        blur = np.array(self.blur) if self.blur else None
        return SphericalLikelihood(self.names, evidence[self._numbers.label], settings, blur=blur)

    def tally(self, evidence: Evidence) -> Tally:
        return self._numbers.tally(evidence)


@dataclass(frozen=True, eq=False)
class SphericalLikelihood(OneTerm, LogPrior, LogEvidence, Points, Expects, Draws):
    """log p(x | class): a multivariate t with parameters integrated out, otherwise a normal."""

    names: tuple[str, ...]
    statistics: Moments  # (classes, columns)
    settings: Settings
    weight: float = 1.0
    blur: Array | None = None  # (columns,) δ²/12, for rounded numbers

    def read(self, batch: Batch) -> Array:
        """Numbers; a column without evidence is ignored."""
        x, seen = batch.encoded(NumberMatrix(self.names)), self.pooled.n.value[0] > 0
        return x if seen.all() else np.where(seen, x, np.nan)

    @cached_property
    def pooled(self) -> Moments:
        return self.statistics.pooled()

    @cached_property
    def shift(self) -> Array:
        return np.asarray(self.pooled.mean[0])

    def _about_shift(self, moments: Moments) -> tuple[Array, Array, Array]:
        n = moments.n.value
        mean = (moments.first / moments.n - Exact.of(self.shift)).value
        return n, np.where(n > 0, mean, 0.0), moments.scatter

    def _ball(self, n: Array, mean: Array, scatter: Array, pooled: tuple[Array, Array, Array]) -> SharedVariance:
        """The posterior from prior and evidence; leading axes are free."""
        s, (rows, place, total) = 0.0 if self.settings.estimate == "ml" else self.settings.strength, pooled
        return self._prior(s, place, _mean_variance(rows, total)).posterior(n, mean, scatter)

    def _prior(self, s: float, place: Array, variance: Array) -> SharedVariance:
        """The prior with the strength of s rows, at the pooled means and the mean of the pooled variances."""
        mean = place[..., None, :]
        return SharedVariance(mean, np.full(mean.shape, s), np.full(variance.shape, 1 + s / 2), s * variance)

    @cached_property
    def ball(self) -> SharedVariance:
        n, mean, scatter = self._about_shift(self.pooled)
        return self._ball(*self._about_shift(self.statistics), (n[0], mean[0], scatter[0]))

    def log_prior(self) -> float:
        """Σ log N(μ; m, σ²/s) + log InverseGamma(σ²; 1 + s/2, s v/2), up to a constant."""
        if not self._varies:
            return 0.0
        return float(self._own_prior.log_kernel(self.ball.mean, self._variance(self.ball)))

    @property
    def _own_prior(self) -> SharedVariance:
        n, place, total = (part[0] for part in self._about_shift(self.pooled))
        return self._prior(self.settings.strength, place, _mean_variance(n, total))

    def log_evidence(self) -> Array:
        if not self._varies:
            return np.zeros(1)
        return self._own_prior.log_evidence(*self._about_shift(self.statistics)).reshape(1)

    def log_likelihood_at(self, other: Self) -> float:
        if not other._varies:
            return 0.0
        at = Gaussian(other.ball.mean, other._variance(other.ball))
        return float(log_likelihood(*other._about_shift(self.statistics), at).sum())

    def expected_cells(self, cells: Array, shares: Array) -> dict[str, Any]:  # noqa: ARG002 - columns are independent
        mean = np.where(self.pooled.n.value[0] > 0, shares @ self.ball.mean + self.shift, np.nan)
        return {name: mean[:, j] for j, name in enumerate(self.names)}

    def points(self, cells: Array) -> Array:
        unit = np.sqrt(self.pooled.scatter.sum() / max(float(self.pooled.n.value.sum()), RESIDUAL_WEIGHT))
        return np.asarray((cells - self.shift) / (unit if unit > 0 else 1.0))

    @cached_property
    def normals(self) -> NormalColumns | None:
        """The point estimate, if all columns are used."""
        seen = bool((self.pooled.n.value > 0).all())
        if self.settings.estimate == "bayes" or self.weight != 1 or not (seen and self._varies):
            return None
        variance = np.full(self.ball.mean.shape, self._variance(self.ball))
        return NormalColumns(self.shift, self.ball.mean, variance, log_peaks(variance, self.blur))

    @property
    def _varies(self) -> bool:
        return bool((self.pooled.scatter > 0).any())

    def _variance(self, ball: SharedVariance) -> Array:
        """The point estimate of σ²."""
        if self.settings.estimate == "ml" and not (ball.spread > 0).all():
            raise EvidenceError("the maximum-likelihood variance is 0: all rows of each class are equal")
        return ball.variance_at_mode() if self.settings.estimate == "map" else ball.expected_variance()

    def _log_density(self, z: Array, ball: SharedVariance) -> Array:
        """log p(z | class). z: (rows, 1, columns) -> (rows, classes)"""
        if self.settings.estimate == "bayes":
            return ball.log_predictive(z)
        known, variance = ~np.isnan(z), np.asarray(self._variance(ball))[..., None]
        squared = np.where(known, (z - ball.mean) ** 2, 0.0).sum(-1)
        return np.asarray(-0.5 * (squared / variance + known.sum(-1) * np.log(2 * np.pi * variance)))

    def add(self, cells: Array, out: Array) -> None:
        if not self._varies:
            return
        if self.settings.estimate != "bayes":
            mean, variance = self.ball.mean, np.full(self.ball.mean.shape, self._variance(self.ball))
            constant = self.weight * log_peaks(variance, self.blur)
            add_normals(cells, self.shift, mean, 0.5 * self.weight / variance, constant, out)
            return
        for rows in _chunks(len(cells), self.statistics.n.value.size):
            out[rows] += self.weight * self._log_density((cells[rows] - self.shift)[:, None], self.ball)

    def by_column(self, cells: Array, shape: tuple[int, int]) -> dict[str, Array]:
        """The contribution of each column given the earlier ones."""
        found, before = {}, np.zeros(shape)
        for j, name in enumerate(self.names):
            upto = np.zeros(shape)
            self.add(np.where(np.arange(len(self.names)) <= j, cells, np.nan), upto)
            found[name], before = upto - before, upto
        return found

    def add_left_out(self, cells: Array, own: Hard, out: Array) -> None:
        for rows in _chunks(len(cells), self.statistics.n.value.size):
            x, part = cells[rows], Hard(own.codes[rows], own.groups, own.weight[rows])
            places = np.arange(len(x), dtype=np.int32)
            alone = Moments.of(x, Hard.of(places, len(x), part.weight))
            everyone = self.pooled.leaving_out(alone, np.zeros(len(x), dtype=np.int32))
            n, mean, scatter = self._about_shift(self.statistics.leaving_out(alone, part.codes))
            rest, place, left = (part[:, 0] for part in self._about_shift(everyone))
            left = np.where(left > EQUAL_SCATTER * self.pooled.second.high[0], left, 0.0)
            varies = left.any(1) & (rest.max(1) > RESIDUAL_WEIGHT)
            if varies.any():
                ball = self._ball(n[varies], mean[varies], scatter[varies], (rest[varies], place[varies], left[varies]))
                z = np.where(rest > 0, x - self.shift, np.nan)[varies]
                out[rows][varies] += self._log_density(z[:, None], ball)

    def mahalanobis(self, cells: Array) -> Array:
        """Distances over the known cells, in standard deviations. (rows, classes)"""
        squared = np.nansum(((cells - self.shift)[:, None] - self.ball.mean) ** 2, axis=-1)
        return np.asarray(np.sqrt(squared / self._variance(self.ball)))

    def weighted(self, weights: Array) -> SphericalLikelihood:
        return replace(self, weight=float(weights[0]))

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        mean, strength, shape, spread = self.ball
        noise = rng.standard_normal((len(classes), len(self.names)))
        if self.settings.estimate == "bayes":
            variance = spread / 2 / rng.gamma(shape, size=len(classes))
            noise *= np.sqrt(variance[:, None] * (1 + 1 / strength[classes]))
        else:
            noise *= np.sqrt(self._variance(self.ball))
        drawn = np.where(self.pooled.n.value[0] > 0, mean[classes] + noise + self.shift, np.nan)
        return {name: drawn[:, j] for j, name in enumerate(self.names)}

    def parameters(self) -> list[Parameter]:
        mean, sd = self.ball.mean + self.shift, np.full(len(self.ball.mean), np.sqrt(self._variance(self.ball)))
        return [
            *(Parameter(name, "mean", mean[:, j]) for j, name in enumerate(self.names)),
            Parameter(None, "sd", sd),
        ]

    @property
    def free_parameters(self) -> int:
        return self.statistics.n.value.size + 1


def _chunks(rows: int, cells: int) -> list[slice]:
    step = max(1, LEFT_OUT_NUMBERS // max(cells, 1))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def _mean_variance(rows: Array, scatter: Array) -> Array:
    """The mean of the variances of columns with evidence; leading axes are free."""
    seen = rows > 0
    return np.asarray(
        np.sum(np.where(seen, scatter / np.where(seen, rows, 1.0), 0.0), -1) / np.maximum(seen.sum(-1), 1)
    )
