"""Answers to queries about numbers: Gaussians or mixtures of Gaussians, of one number or of several jointly."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from credo.core.records import Shown
from credo.errors import EvidenceError, SchemaError, suggest
from credo.networks.hybrid.truncated_normal import log_mass
from credo.numerics.distributions import Normal, Real, Seed, plain
from credo.numerics.exact import Array
from credo.numerics.mixture_distribution import MixtureDistribution
from credo.numerics.multivariate import log_density, mahalanobis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class MixedMarginals(Shown, dict[str, Any]):
    """{name: {state: probability}} of categories, {name: distribution} of numbers."""


class NumberAnswer(MixtureDistribution, Shown):
    """The distribution of a number: a mixture with a component for each configuration of the categories that it depends
    on.

    For an estimate, `method` isn't "exact", the components are weighted draws, and `standard_error` is that of the
    mean.

    >>> fever = NumberAnswer(np.array([0.1, 0.9]), Normal(np.array([39.0, 36.8]), np.array([0.5, 0.4])))
    >>> round(fever.mean(), 4), round(fever.cdf(37.0), 4)
    (37.02, 0.6223)
    """

    method: str = "exact"
    standard_error: float = 0.0
    effective_samples: float = float("inf")
    reliable: bool = True

    @property
    def form(self) -> str:
        """The form of the distribution: normal, or a mixture of how many components."""
        return "normal" if len(self.shares) == 1 else f"mixture of {len(self.shares)}"

    @property
    def sd(self) -> float:
        return float(np.sqrt(self.variance()))

    def probability(self, low: float | None = None, high: float | None = None) -> float:
        """P(low < x < high)"""
        if isinstance(self.each, Normal) and np.all(np.asarray(self.each.sd) > 0):  # keeps the tails' precision
            ends = (np.subtract(end, self.each.location) / self.each.sd for end in (_end(low, -inf), _end(high, inf)))
            return min(1.0, float(self.shares @ np.exp(log_mass(*ends))))
        above = 1.0 if high is None else float(self.cdf(high))
        return above - (0.0 if low is None else float(self.cdf(low)))

    def estimated(self, error: float, effective: float, method: str, reliable: bool) -> NumberAnswer:
        found = NumberAnswer(self.shares, self.each)
        for name, value in (("standard_error", error), ("effective_samples", effective), ("method", method)):
            object.__setattr__(found, name, value)
        object.__setattr__(found, "reliable", reliable)
        return found

    def plot(self, ax: Axes | None = None) -> Figure:
        """The density."""
        from credo.present.hybrid import plot_number

        return plot_number(self, ax)

    def __repr__(self) -> str:
        low, high = (float(end) for end in self.interval(0.95))
        error = f" ± {self.standard_error:.1g}" if self.method != "exact" else ""
        mark = "" if self.reliable else ", unreliable"
        return f"{self.form}, mean {float(self.mean()):.6g}{error}, sd {self.sd:.4g}, 95% {low:.6g} to {high:.6g}{mark}"


def _end(given: float | None, open_end: float) -> float:
    return open_end if given is None else float(given)


def known_number(value: float) -> NumberAnswer:
    """The answer for a number that is given."""
    return NumberAnswer(np.ones(1), Normal(np.array([value]), np.zeros(1)))


def covariance_roots(covariances: Array) -> Array:
    """R with RR′ = covariance, even if the covariance is singular. (..., names, names)"""
    values, vectors = np.linalg.eigh(covariances)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])


@dataclass(frozen=True, eq=False)
class JointNumbers(Shown):
    """The joint distribution of several numbers: p(x) = Σ shareₖ N(x; meanₖ, covarianceₖ)."""

    names: tuple[str, ...]
    shares: Array  # (components,)
    means: Array  # (components, names)
    covariances: Array  # (components, names, names)
    method: str = "exact"
    effective_samples: float = float("inf")

    def mean(self) -> Array:
        return np.asarray(self.shares @ self.means)

    def covariance(self) -> Array:
        """E[covariance] + covariance of the means"""
        away = self.means - self.mean()
        return np.asarray(
            np.einsum("k,kij->ij", self.shares, self.covariances) + np.einsum("k,ki,kj->ij", self.shares, away, away)
        )

    def variance(self) -> Array:
        return np.asarray(np.diagonal(self.covariance()))

    def correlation(self) -> Array:
        """NaN for numbers that are known."""
        found = self.covariance()
        sd = np.sqrt(np.diagonal(found))
        with np.errstate(invalid="ignore"):
            return np.asarray(found / sd[:, None] / sd[None])

    def __getitem__(self, name: str) -> NumberAnswer:
        """The marginal distribution of one number."""
        if name not in self.names:
            raise SchemaError(f"there is no {name!r} among them; {suggest(name, self.names)}")
        j = self.names.index(name)
        return NumberAnswer(self.shares, Normal(self.means[:, j], np.sqrt(self.covariances[:, j, j])))

    def log_prob(self, x: ArrayLike) -> Real:
        """The log-density of one point, or of rows of points."""
        points, known = np.asarray(x, dtype=np.float64), np.einsum("kii->ki", self.covariances) == 0
        if known.any():
            name = self.names[int(known.any(0).argmax())]
            raise EvidenceError(f"{name!r} is known, so there is no density: ask about the other numbers alone")
        squared, log_determinant = mahalanobis(points[..., None, :] - self.means, self.covariances)
        each = log_density(squared, log_determinant, np.array(np.inf), len(self.names))
        with np.errstate(divide="ignore"):
            return plain(np.logaddexp.reduce(np.log(self.shares) + each, axis=-1))

    def sample(self, size: int, seed: Seed = None) -> Array:
        """(size, names)"""
        random = np.random.default_rng(seed)
        part = random.choice(len(self.shares), size, p=self.shares)
        roots = covariance_roots(self.covariances)
        noise = random.standard_normal((size, len(self.names), 1))
        return np.asarray(self.means[part] + (roots[part] @ noise)[..., 0])

    def __repr__(self) -> str:
        lines = [f"{len(self.shares)} part{'s' if len(self.shares) > 1 else ''} of {len(self.names)} numbers together"]
        for name, mean, variance in zip(self.names, self.mean(), self.variance(), strict=True):
            lines.append(f"  {name}: mean {mean:.6g}, sd {np.sqrt(variance):.4g}")
        return "\n".join(lines)


Answer = dict[Any, float] | NumberAnswer | JointNumbers
