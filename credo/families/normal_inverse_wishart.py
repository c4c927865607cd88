"""NormalInverseWishart: multivariate Gaussians with full, tied, diagonal or spherical covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from credo.core.membership import Membership
from credo.core.moments import CrossMoments
from credo.errors import PriorError
from credo.families.family import Family
from credo.families.normal import Gaussian
from credo.numerics.distributions import Distribution, InverseGamma, Real, Seed, StudentT
from credo.numerics.exact import Array
from credo.numerics.multivariate import log_density, mahalanobis

Covariance = Literal["full", "tied", "diagonal", "spherical"]


class JointGaussian(NamedTuple):
    """The parameters of a multivariate normal distribution."""

    mean: Any
    covariance: Any

    def over(self, places: Any) -> JointGaussian:
        """The parameters of some columns."""
        return JointGaussian(self.mean[..., places], self.covariance[..., places[:, None], places])

    def log_likelihood(self, n: Array, mean: Array, scatter: Array) -> Array:
        """log p of n rows with this mean and scatter. (groups,)"""
        away = mean - self.mean
        squares = scatter + n[..., None, None] * away[..., :, None] * away[..., None, :]
        inner = np.trace(np.linalg.solve(self.covariance, squares), axis1=-2, axis2=-1)
        size = np.linalg.slogdet(self.covariance)[1] + mean.shape[-1] * np.log(2 * np.pi)
        return np.asarray(-0.5 * (n * size + inner))


class JointParameters(NamedTuple):
    """The parameters of normal-inverse-Wishart distributions, prior or posterior, with a Σ per group or a shared Σ."""

    mean: Array  # (..., groups, d)
    strength: Array  # (..., groups)
    degrees: Array  # (..., groups)
    scale: Array  # (..., groups, d, d)

    @property
    def size(self) -> int:
        return int(self.mean.shape[-1])

    def posterior(self, n: Array, mean: Array, scatter: Array, tied: bool) -> JointParameters:
        """The posterior after n rows with this mean and scatter: see NormalInverseWishart."""
        strength, away = self.strength + n, mean - self.mean
        between = (self.strength * n / strength)[..., None]
        if tied:
            total = np.matmul((between * away).swapaxes(-1, -2), away) + scatter.sum(-3)
            scale = np.broadcast_to(total[..., None, :, :] + self.scale, scatter.shape)
        else:
            scale = away[..., :, None] * away[..., None, :]  # in place, since there may be one matrix per row
            scale *= between[..., None]
            scale += scatter
            scale += self.scale
        seen = np.broadcast_to(n.sum(-1, keepdims=True), n.shape) if tied else n
        return JointParameters(self.mean + (n / strength)[..., None] * away, strength, self.degrees + seen, scale)

    def mode(self, sharing: int) -> JointGaussian:
        """(mean, scale/(ν + d + 1 + groups that share Σ))."""
        return JointGaussian(self.mean, self.scale / (self.degrees + self.size + 1 + sharing)[..., None, None])

    def expected(self) -> JointGaussian:
        """(mean, scale/(ν - d - 1))."""
        return JointGaussian(self.mean, self.scale / (self.degrees - self.size - 1)[..., None, None])

    def predictive(self) -> tuple[Array, Array]:
        """The degrees of freedom of the predictive Student's t, and its matrix as a multiple of the scale."""
        degrees = self.degrees - self.size + 1
        return degrees, (1 + 1 / self.strength) / degrees

    def log_normaliser(self) -> Array:
        """log Γ_d(ν/2) - ν/2 log|scale|. (..., groups)"""
        from scipy.special import multigammaln

        half, log_size = self.degrees / 2, np.linalg.slogdet(self.scale)[1]
        return np.asarray(multigammaln(half, self.size) - half * log_size)

    def log_evidence(self, n: Array, mean: Array, scatter: Array, tied: bool) -> float:
        """log p of n rows with this mean and scatter in each group, summed over groups; self is the prior."""
        after = self.posterior(n, mean, scatter, tied)
        means = self.size / 2 * (np.log(self.strength / after.strength) - n * np.log(np.pi)).sum()
        grown = after.log_normaliser() - self.log_normaliser()
        return float(means + (grown[..., 0] if tied else grown.sum()))

    def log_kernel(self, parameters: JointGaussian, tied: bool) -> Array:
        """log N(μ; mean, Σ/κ) + log InverseWishart(Σ), without constants; a shared Σ counts once. (..., groups)"""
        mean, covariance = parameters
        squared, log_determinant = mahalanobis(mean - self.mean, covariance)
        about_mean = -0.5 * (self.strength * squared + log_determinant)
        ratio = np.trace(self.scale @ np.linalg.inv(covariance), axis1=-2, axis2=-1)
        spread = -0.5 * ((self.degrees + self.size + 1) * log_determinant + ratio)
        return np.asarray(about_mean + spread / (about_mean.shape[-1] if tied else 1))


@dataclass(frozen=True, eq=False, repr=False, init=False)
class NormalInverseWishart(Family):
    """x ~ N(μ, Σ), Σ ~ InverseWishart(degrees, scale), μ | Σ ~ N(mean, Σ/strength).

    With n rows: strengthₙ = κ + n, degreesₙ = ν + n, meanₙ = (κ mean + n x̄)/(κ + n), scaleₙ = scale + C,
    C = Σ(x - x̄)(x - x̄)′ + κn/(κ + n) (x̄ - mean)(x̄ - mean)′.
    full: each group has its Σ. tied: all groups share one (their C and n add up). diagonal: each column has a
    variance, InverseGamma(ν/2, scaleⱼⱼ/2). spherical: one variance for all groups and columns.

    >>> NormalInverseWishart(mean=[0, 0], strength=1, degrees=3, scale=1).update([[2, 0], [4, 0]]).posterior
    NormalInverseWishart(mean=[2, 0], strength=3, degrees=5, scale=<2 x 2 array>, covariance='full')
    """

    location: Array  # (groups, d)
    strength: Array
    degrees: Array
    scale: Array  # (groups, d, d)
    covariance: Covariance

    reads = "numbers"
    parameters = Gaussian

    def __init__(self, mean: Any, strength: Real, degrees: Real, scale: Any, covariance: Covariance = "full") -> None:
        if covariance not in ("full", "tied", "diagonal", "spherical"):
            raise PriorError(f"covariance must be full, tied, diagonal or spherical, but is {covariance!r}")
        object.__setattr__(self, "covariance", covariance)
        self._require("location", np.atleast_1d(mean), np.isfinite, "numbers")
        least = self.size - 1 if self._joint else 0
        self._require("strength", strength, lambda x: x > 0, "positive")
        self._require("degrees", degrees, lambda x: x > least, f"more than {least} for {self.size} columns")
        matrix = np.asarray(scale, dtype=np.float64)
        self._require("scale", matrix * np.eye(self.size) if matrix.ndim < 2 else matrix, np.isfinite, "numbers")
        if not is_positive_definite(self.scale):
            raise PriorError("NormalInverseWishart: scale must be a symmetric, positive definite matrix")
        if not self._joint:
            object.__setattr__(self, "scale", self._variance_part(self.scale))

    def _variance_part(self, matrix: Array) -> Array:
        """The part of a matrix that variances use: its diagonal; the mean of that, if columns share a variance."""
        variances = np.diagonal(matrix, axis1=-2, axis2=-1)
        if self.covariance == "spherical":
            variances = np.broadcast_to(variances.mean(-1, keepdims=True), variances.shape)
        return np.asarray(variances[..., None] * np.eye(self.size))

    @property
    def size(self) -> int:
        return int(self.location.shape[-1])

    @property
    def width(self) -> int:
        return self.size

    @property
    def _joint(self) -> bool:
        """Whether columns are correlated."""
        return self.covariance in ("full", "tied")

    @property
    def _shared(self) -> bool:
        """Whether groups share a covariance."""
        return self.covariance in ("tied", "spherical")

    @property
    def _sharing(self) -> int:
        """The number of groups that share a covariance."""
        return self.location.size // self.size if self._shared else 1

    def statistics(self, x: Array, member: Membership) -> CrossMoments:
        """The moments of rows. x: (rows, d), without missing cells"""
        return CrossMoments.of(x, member)

    def posterior(self, statistics: CrossMoments) -> NormalInverseWishart:
        before = JointParameters(self.location, self.strength, np.zeros(()), np.zeros((self.size, self.size)))
        after = before.posterior(statistics.n.value, statistics.mean, statistics.scatter, tied=False)
        spread = self._spread(statistics.n.value, after.scale)
        return NormalInverseWishart(after.mean, after.strength, *spread, self.covariance)

    def _spread(self, n: Array, contribution: Array) -> tuple[Array, Array]:
        """Degrees and scale with the groups' contributions added, by the kind of covariance."""
        d, shape = self.size, contribution.shape
        if self._shared:
            n = np.broadcast_to(n.sum(), n.shape)
            contribution = np.broadcast_to(contribution.reshape(-1, d, d).sum(0), shape)
        if self.covariance == "spherical":
            return self.degrees + d * n, self.scale + d * self._variance_part(contribution)
        return self.degrees + n, self.scale + (contribution if self._joint else self._variance_part(contribution))

    def log_evidence(self, statistics: CrossMoments) -> Array:
        """The log evidence of each group; one number for a shared covariance, since groups aren't independent."""
        after = self.posterior(statistics)
        rows = statistics.n.value
        strength = self.size / 2 * np.log(self.strength / after.strength) - rows * self.size / 2 * np.log(np.pi)
        normaliser = after._log_normaliser() - self._log_normaliser()
        return np.asarray(strength.sum() + np.ravel(normaliser)[0] if self._shared else strength + normaliser)

    def _log_normaliser(self) -> Array:
        """log Γ_d(ν/2) - ν/2 log|scale|, or its analogue for each variance."""
        from scipy.special import gammaln

        if self._joint:
            return JointParameters(self.location, self.strength, self.degrees, self.scale).log_normaliser()
        each = gammaln(self.degrees / 2)[..., None] - self.degrees[..., None] / 2 * np.log(self._variances)
        return np.asarray(each[..., 0] if self.covariance == "spherical" else each.sum(-1))

    @property
    def _variances(self) -> Array:
        return np.diagonal(self.scale, axis1=-2, axis2=-1)

    def marginals(self) -> tuple[Distribution, ...]:
        """The marginals of each column's mean and variance."""
        degrees = (self.degrees - (self.size - 1 if self._joint else 0))[..., None]
        spread = np.sqrt(self._variances / (degrees * self.strength[..., None]))
        return StudentT(degrees, self.location, spread), InverseGamma(degrees / 2, self._variances / 2)

    def mean(self) -> JointGaussian:
        """(mean, scale/(ν - d - 1)); NaN where ν is too small for a mean."""
        excess = self.degrees - (self.size + 1 if self._joint else 2)
        divisor = np.where(excess > 0, excess, np.nan)[..., None, None]
        return JointGaussian(self.location, self.scale / divisor)

    def mode(self) -> JointGaussian:
        """(mean, scale/(ν + d + 1 + groups that share Σ)); for variances, with their columns."""
        columns = self.size if self._joint else 1
        means = self._sharing * (self.size if self.covariance == "spherical" else 1)
        return JointGaussian(self.location, self.scale / (self.degrees + columns + 1 + means)[..., None, None])

    def maximum_likelihood(self, statistics: CrossMoments) -> JointGaussian:
        n, scatter = statistics.n.value, statistics.scatter
        d = self.size
        if self._shared:
            scatter = np.broadcast_to(scatter.reshape(-1, d, d).sum(0), scatter.shape)
        rows = np.broadcast_to(n.sum(), n.shape) if self._shared else n
        covariance = scatter / np.where(rows > 0, rows, np.nan)[..., None, None]
        seen = np.where(n > 0, 1.0, np.nan)[..., None]
        return JointGaussian(statistics.mean * seen, covariance if self._joint else self._variance_part(covariance))

    def log_density(self, x: Array, parameters: JointGaussian) -> Array:
        squared, log_determinant = mahalanobis(x[:, None, :] - parameters.mean, parameters.covariance)
        return log_density(squared, log_determinant, np.asarray(np.inf), self.size)

    def log_prior(self, parameters: JointGaussian) -> Array:
        """log p(parameters of group k), up to a constant; the sum over groups counts a shared covariance once."""
        mean, covariance = parameters
        sharing = np.atleast_2d(mean).shape[0] if self._shared else 1
        scaled = -0.5 * self.size * np.log(2 * np.pi / self.strength)
        if self._joint:
            own = JointParameters(self.location, self.strength, self.degrees, self.scale)
            constant = self._log_normaliser() + self.degrees * self.size / 2 * np.log(2)
            return np.asarray(own.log_kernel(parameters, self._shared) + scaled - constant / sharing)
        squared, log_determinant = mahalanobis(mean - self.location, covariance)
        about_mean = -0.5 * (self.strength * squared + log_determinant) + scaled
        variances = np.diagonal(covariance, axis1=-2, axis2=-1)
        each = np.asarray(InverseGamma(self.degrees[..., None] / 2, self._variances / 2).log_prob(variances))
        return np.asarray(about_mean + (each[..., 0] if self.covariance == "spherical" else each.sum(-1)) / sharing)

    def log_predictive(self, x: Array) -> Array:
        """The multivariate t (full, tied, spherical), or a product of t's (diagonal)."""
        if self.covariance == "diagonal":
            degrees, spread = self.degrees[..., None], (1 + 1 / self.strength)[..., None]
            each = StudentT(degrees, self.location, np.sqrt(self._variances * spread / degrees))
            return np.asarray(np.sum(each.log_prob(np.asarray(x)[:, None, :]), axis=-1))
        degrees = self.degrees - (self.size - 1 if self._joint else 0)
        spread = (1 + 1 / self.strength) / degrees
        away = np.asarray(x)[:, None, :] - np.atleast_2d(self.location)
        squared, log_determinant = mahalanobis(away, self.scale * spread[..., None, None])
        return log_density(squared, log_determinant, degrees, self.size)

    def predictive(self) -> JointStudentT:
        return JointStudentT(self)

    def sample(self, size: int, seed: Seed = None) -> JointGaussian:
        rng = np.random.default_rng(seed)
        covariance = self._sample_joint(size, rng) if self._joint else self._sample_variances(size, rng)
        noise = rng.standard_normal((size, *self.location.shape))
        step = np.linalg.cholesky(covariance) @ noise[..., None]
        return JointGaussian(self.location + step[..., 0] / np.sqrt(self.strength)[..., None], covariance)

    def _sample_joint(self, size: int, rng: np.random.Generator) -> Array:
        """Σ⁻¹ = L A A′ L′ with L L′ = scale⁻¹, A Bartlett's triangle of χ and normal draws."""
        d = self.size
        lead = () if self.covariance == "tied" else self.degrees.shape
        degrees = np.atleast_1d(self.degrees)[0] if self.covariance == "tied" else self.degrees[..., None]
        scale = self.scale.reshape(-1, d, d)[0] if self.covariance == "tied" else self.scale
        bartlett = np.tril(rng.standard_normal((size, *lead, d, d)), -1)
        chi = np.sqrt(rng.chisquare(degrees - np.arange(d), (size, *lead, d)))
        bartlett = bartlett + chi[..., None] * np.eye(d)
        root = np.linalg.inv(np.linalg.cholesky(np.linalg.inv(scale)) @ bartlett)
        drawn = root.swapaxes(-1, -2) @ root
        return np.broadcast_to(drawn.reshape(size, *(1,) * (self.scale.ndim - drawn.ndim + 1), *drawn.shape[1:]),
                               (size, *self.scale.shape))  # fmt: skip

    def _sample_variances(self, size: int, rng: np.random.Generator) -> Array:
        _, variance = self.marginals()
        draws = variance.sample(size, rng)
        if self.covariance == "spherical":
            draws = np.broadcast_to(draws.reshape(size, -1)[:, :1].reshape(size, *(1,) * (draws.ndim - 1)), draws.shape)
        return draws[..., None] * np.eye(self.size)

    def group(self, k: int) -> NormalInverseWishart:
        def own(field: Array, axes: int) -> Array:
            return np.asarray(field[k]) if field.ndim > axes else field

        location, scale = own(self.location, 1), own(self.scale, 2)
        return NormalInverseWishart(location, own(self.strength, 0), own(self.degrees, 0), scale, self.covariance)


@dataclass(frozen=True, repr=False)
class JointStudentT:
    """The predictive of a row under the normal-inverse-Wishart of one group."""

    belief: NormalInverseWishart

    def log_prob(self, x: Any) -> Any:
        rows = self.belief.log_predictive(np.atleast_2d(np.asarray(x, dtype=np.float64)))[:, 0]
        return float(rows[0]) if np.ndim(x) == 1 else rows

    def columns(self) -> StudentT:
        """The marginal of each column."""
        mean, _ = self.belief.marginals()
        assert isinstance(mean, StudentT)
        return StudentT(mean.degrees, mean.location, mean.scale * np.sqrt(1 + self.belief.strength)[..., None])

    def mean(self) -> Any:
        return self.columns().mean()

    def variance(self) -> Any:
        return self.columns().variance()

    def interval(self, mass: float = 0.95) -> Any:
        return self.columns().interval(mass)

    def sample(self, size: int, seed: Seed = None) -> Array:
        rng = np.random.default_rng(seed)
        mean, covariance = self.belief.sample(size, rng)
        noise = rng.standard_normal(mean.shape)[..., None]
        return np.asarray(mean + (np.linalg.cholesky(covariance) @ noise)[..., 0])


def is_positive_definite(matrix: Array) -> bool:
    """Whether a matrix is symmetric, up to rounding, with positive eigenvalues."""
    symmetric = np.allclose(matrix, matrix.swapaxes(-1, -2), rtol=1e-12, atol=0)
    return symmetric and bool((np.linalg.eigvalsh(matrix) > 0).all())
