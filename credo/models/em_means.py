"""credo.em_means: EM as the lectures introduce it, for the means of k Gaussians that share one known variance."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from credo.core.em import Expected, em_steps
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Soft
from credo.core.records import Shown
from credo.data import Batch, Source, source
from credo.data.schema import Schema
from credo.errors import DataError, check_positive_number, check_whole, counted
from credo.families.normal import NormalMean
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCE = 1e-10  # EM ends when the log-likelihood grows by less than this share
LARGEST_DISTANCE = 1e150  # in deviations: the squares of larger ones overflow


class MeansStep(NamedTuple):
    """The means after a step, and their log-likelihood."""

    means: Array  # (k,)
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class EqualGaussians:
    """p(x | h) = 1/k Σⱼ N(x; μⱼ, σ²), where h = (μ₁ ... μₖ): a model for `em`, without a prior."""

    means: Array  # (k,)
    family: NormalMean  # which knows σ
    column: str

    @property
    def label(self) -> Label:
        return Label("column", self.column)

    def log_joint(self, x: Array) -> Array:
        """log 1/k + log N(x; μⱼ, σ²). (rows, k)"""
        return np.asarray(self.family.log_density(x, self.means) - np.log(len(self.means)))

    def expect(self, batch: Batch, /) -> Expected:
        x = batch.numbers(self.column)
        x = x[~np.isnan(x)]
        member, log_likelihood = responsibilities(self.log_joint(x))
        moments = self.family.statistics(x, Soft(member))
        return Evidence(Schema(()), {self.label: Part((None,), moments)}), float(log_likelihood.sum())

    def with_evidence(self, evidence: Evidence, /) -> Self:
        """μⱼ ← Σᵢ E[zᵢⱼ] xᵢ / Σᵢ E[zᵢⱼ]; a mean that no observation belongs to stays where it is."""
        found = self.family.maximum_likelihood(evidence[self.label])
        return type(self)(np.where(np.isnan(found), self.means, found), self.family, self.column)

    def log_prior(self) -> float:
        return 0.0


def responsibilities(log_joint: Array) -> tuple[Array, Array]:
    """E[zᵢⱼ] = p(xᵢ, j)/Σₗ p(xᵢ, l), and log p(xᵢ). (rows, k) and (rows,)"""
    log_likelihood = np.logaddexp.reduce(log_joint, axis=1)
    return np.exp(log_joint - log_likelihood[:, None]), log_likelihood


@dataclass(frozen=True, eq=False)
class FittedMeans(Shown):
    """The result of EM, with its history."""

    x: Array  # the observations, without missing ones
    sd: float
    history: tuple[MeansStep, ...]  # the start, and each step
    converged: bool

    @property
    def means(self) -> Array:
        return self.history[-1].means

    @property
    def log_likelihood(self) -> float:
        return self.history[-1].log_likelihood

    @property
    def responsibilities(self) -> Array:
        """E[zᵢⱼ] = exp(-(xᵢ - μⱼ)²/2σ²) / Σₗ exp(-(xᵢ - μₗ)²/2σ²): the probability that mean j generated xᵢ. (n, k)"""
        return responsibilities(_gaussians(self.means, self.sd).log_joint(self.x))[0]

    def q(self, means: ArrayLike) -> float:
        """Q(h′ | h) = E[log p(x, z | h′)], z being distributed as under h, these means."""
        other = _means("h′", means, len(self.means))
        return float((self.responsibilities * _gaussians(other, self.sd).log_joint(self.x)).sum())

    def plot(self) -> Figure:
        """The observations, the means by step, and the log-likelihood by step."""
        from credo.present.em_plot import plot_means

        return plot_means(self)

    def __repr__(self) -> str:
        means = ", ".join(f"{mean:.4g}" for mean in self.means)
        steps = counted(len(self.history) - 1, "step")
        ended = f"converged after {steps}" if self.converged else f"stopped after {steps}, before it converged"
        return f"means {means} (sd {self.sd:g}), log-likelihood {self.log_likelihood:.6g}, {ended}"


def em_means(
    x: object, k: int = 2, *, sd: float, start: ArrayLike | None = None, steps: int = 1000, column: str | None = None
) -> FittedMeans:
    """The maximum-likelihood means of k equally probable Gaussians with the same known standard deviation, by EM.

    E-step: E[zᵢⱼ] = exp(-(xᵢ - μⱼ)²/2σ²) / Σₗ exp(-(xᵢ - μₗ)²/2σ²).  M-step: μⱼ = Σᵢ E[zᵢⱼ] xᵢ / Σᵢ E[zᵢⱼ].

    Without a start, the means begin at k evenly spaced quantiles. Missing observations are skipped.

    >>> em_means([-2.0, -1.0, 1.0, 2.0], k=2, sd=0.5).means.round(3).tolist()
    [-1.5, 1.5]
    """
    table = source(x)
    name = _column(table, column)
    observed = np.concatenate([batch.numbers(name) for batch in table.batches([name])] or [np.empty(0)])
    observed = observed[~np.isnan(observed)]
    if not len(observed):
        raise DataError("the data is empty: there are no observations to learn from")
    k, steps = check_whole("k", k, 1, DataError), check_whole("steps", steps, 0, DataError)
    check_positive_number("sd", sd, DataError)
    means = _start(observed, k, start)
    _check_distances(observed, means, float(sd))
    return _watched(_gaussians(means, float(sd)), observed, steps)


def _watched(model: EqualGaussians, x: Array, steps: int) -> FittedMeans:
    table = source({model.column: x})
    climb = em_steps(model, lambda: table.partitions([model.column]))
    history: list[MeansStep] = []
    converged = False
    for step in islice(climb, steps + 1):
        grown = step.objective - history[-1].log_likelihood if history else np.inf
        history.append(MeansStep(step.model.means, step.objective))
        if converged := bool(grown <= TOLERANCE * abs(step.objective)):
            break
    return FittedMeans(x, float(model.family.noise_sd), tuple(history), converged)


def _gaussians(means: Array, sd: float) -> EqualGaussians:
    noise_only = NormalMean(mean=0.0, sd=1.0, noise_sd=sd)  # its belief about the mean isn't asked for
    return EqualGaussians(means, noise_only, "x")


def _column(table: Source, column: str | None) -> str:
    if column is None and len(table.names) != 1:
        raise DataError(f"the data has {counted(len(table.names), 'column')}: name the one to read, column=...")
    name = table.names[0] if column is None else column
    table.require([name])
    return name


def _start(x: Array, k: int, start: ArrayLike | None) -> Array:
    return np.asarray(np.quantile(x, (np.arange(k) + 0.5) / k)) if start is None else _means("start", start, k)


def _means(what: str, given: ArrayLike, k: int) -> Array:
    try:
        means = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        means = np.empty(0)
    if means.shape != (k,) or not np.isfinite(means).all():
        raise DataError(f"{what} must be {counted(k, 'mean')}, but is {given!r:.60}")
    return means


def _check_distances(x: Array, means: Array, sd: float) -> None:
    """Refuse observations so many deviations from the means that their densities are 0."""
    places = np.concatenate([x, means])
    with np.errstate(over="ignore"):
        furthest = float((places.max() - places.min()) / sd)
    if furthest > LARGEST_DISTANCE:
        raise DataError(
            f"observations and means lie up to {furthest:.3g} standard deviations apart, above the limit of "
            f"{LARGEST_DISTANCE:g}: sd={sd:g} is too small for these data"
        )
