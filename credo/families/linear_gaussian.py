"""LinearGaussian: linear regression with Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.membership import Membership
from credo.core.moments import CrossMoments
from credo.errors import DataError, EvidenceError, PriorError, counted
from credo.families.family import Family
from credo.families.normal_inverse_wishart import is_positive_definite
from credo.numerics.distributions import LOG_2PI, Distribution, InverseGamma, Normal, Real, Seed, StudentT
from credo.numerics.exact import Array, Exact


class Line(NamedTuple):
    """The parameters of a regression: weights (the intercept first) and the variance about the line."""

    weights: Any
    variance: Any


@dataclass(frozen=True, eq=False, repr=False, init=False)
class LinearGaussian(Family):
    """y = w₀ + w₁x₁ + ... + noise, noise ~ N(0, σ²), σ² ~ InverseGamma(shape, scale), w | σ² ~ N(mean, σ² precision⁻¹).

    With rows z = (1, x): precisionₙ = Λ + Σzz′, meanₙ = precisionₙ⁻¹ (Λ mean + Σzy), shapeₙ = shape + n/2,
    scaleₙ = scale + ½ (residuals about meanₙ)² + ½ (meanₙ - mean)′Λ(meanₙ - mean), where Λ is the prior precision.

    A weight with a row of zeros in a matrix Λ has a flat prior. With k of them, shape = -k/2 makes p(σ²) ∝ 1/σ².
    A shape down to -weights/2 is improper: it accounts for the degrees of freedom of a mean from the same rows.

    >>> line = LinearGaussian(precision=1e-9).update({"x": [1, 2, 3], "y": [3, 5, 7]}, target="y")
    >>> line.mode().weights.round(6).tolist()
    [1.0, 2.0]
    """

    location: Array
    precision: Array
    shape: Array
    scale: Array

    reads = "numbers"
    has_target = True
    parameters = Line

    def __init__(self, mean: object = 0.0, precision: object = 1.0, shape: Real = 1.0, scale: Real = 1.0) -> None:
        self._require("location", mean, np.isfinite, "numbers")
        self._require("precision", precision, np.isfinite, "numbers")
        flat = self.flat
        least = -max(self.location.shape[-1:] + self.precision.shape[-1:], default=0) / 2
        self._require("shape", shape, lambda x: (x > 0) | (x >= least) & (least < 0), "positive")
        self._require("scale", scale, lambda x: x > 0, "positive")
        matrix = self.precision if self.precision.ndim >= 2 else np.diag(np.atleast_1d(self.precision))
        if matrix.shape[-2] == matrix.shape[-1] and flat.ndim == 1:
            matrix = matrix[np.ix_(~flat, ~flat)]
        if matrix.shape[-2] != matrix.shape[-1] or (matrix.size and not is_positive_definite(matrix)):
            raise PriorError("LinearGaussian: precision must be positive, or a symmetric, positive definite matrix")

    @property
    def flat(self) -> NDArray[np.bool_]:
        """Whether a weight has a flat prior. (weights,)"""
        if self.precision.ndim != 2 or self.precision.shape[0] != self.precision.shape[1]:
            return np.zeros(self.precision.shape[:-1], dtype=bool)
        return np.asarray(~self.precision.any(axis=0) & ~self.precision.any(axis=1))

    @property
    def improper(self) -> NDArray[np.bool_]:
        return np.asarray(self.shape <= 0)

    def statistics(self, x: Array, member: Membership) -> CrossMoments:
        """The moments of rows. x: (rows, features and then the target), without missing cells"""
        return CrossMoments.of(x, member)

    def posterior(self, statistics: CrossMoments) -> LinearGaussian:
        rows = _RowSums.of(statistics)
        if ((self.shape + rows.n / 2) <= 0).any():
            free = -2 * float(self.shape.min())
            raise EvidenceError(
                f"{counted(rows.n.min(), 'row')} can't determine {counted(free, 'weight')} and the noise variance "
                f"without a prior: at least {free + 1:g} rows are needed"
            )
        before, location = self._prior(rows.size)
        precision = rows.gram + Exact.of(before)
        mean = _solve(precision, rows.target + Exact.of((before @ location[..., None])[..., 0]))
        scale = self.scale + rows.residual(mean) / 2 + _quadratic(before, mean - location) / 2
        return LinearGaussian(mean, precision.value, self.shape + rows.n / 2, scale)

    def _prior(self, size: int) -> tuple[Array, Array]:
        """The prior precision and mean of `size` weights."""
        for given in (self.location, self.precision):
            if given.ndim and given.shape[-1] != size:
                raise DataError(f"the prior has {given.shape[-1]} weights (the intercept first), the data {size}")
        precision = self.precision if self.precision.ndim >= 2 else np.eye(size) * self.precision
        return precision, self.location if self.location.ndim else np.full(size, float(self.location))

    def log_evidence(self, statistics: CrossMoments) -> Array:
        """The log evidence; flat priors of weights have the density 1, and that of σ² is 1/σ²."""
        after, n = self.posterior(statistics), statistics.n.value
        before, _ = self._prior(after.location.shape[-1])
        free = int(self.flat.sum()) if self.flat.ndim == 1 else 0
        if free:
            before = before[np.ix_(~self.flat, ~self.flat)]
        determinants = np.linalg.slogdet(before)[1] - np.linalg.slogdet(after.precision)[1]
        return np.asarray(after._log_noise() - self._log_noise() + determinants / 2 - (n - free) / 2 * LOG_2PI)

    def _log_noise(self) -> Array:
        from scipy.special import gammaln

        proper = self.shape > 0
        shape = np.where(proper, self.shape, 1.0)
        return np.asarray(np.where(proper, gammaln(shape) - shape * np.log(self.scale), 0.0))

    def marginals(self) -> tuple[Distribution, ...]:
        inverse = np.diagonal(np.linalg.inv(self._known_precision()), axis1=-2, axis2=-1)
        spread = np.sqrt((self.scale / self.shape)[..., None] * inverse)
        return StudentT(2 * self.shape[..., None], self.location, spread), InverseGamma(self.shape, self.scale)

    def _known_precision(self) -> Array:
        """The precision, if the number of weights is known."""
        if self.precision.ndim < 2 or not self.location.ndim:
            raise PriorError("LinearGaussian doesn't know its features yet: update it first")
        return self.precision

    def mode(self) -> Line:
        """(mean, scale/(shape + 1 + weights/2))."""
        return Line(self.location, self.scale / (self.shape + 1 + self.location.shape[-1] / 2))

    def maximum_likelihood(self, statistics: CrossMoments) -> Line:
        """The least-squares fit; the minimum-norm solution if it isn't unique."""
        scatter, mean, n = statistics.scatter, statistics.mean, statistics.n.value
        size = np.sqrt(np.diagonal(scatter[..., :-1, :-1], axis1=-2, axis2=-1))
        size = np.where(size > 0, size, 1.0)  # for a constant feature
        scaled = scatter[..., :-1, :-1] / size[..., :, None] / size[..., None, :]
        slopes = (np.linalg.pinv(scaled, hermitian=True) @ (scatter[..., :-1, -1] / size)[..., None])[..., 0] / size
        intercept = mean[..., -1] - (slopes * mean[..., :-1]).sum(-1)
        weights = np.concatenate([intercept[..., None], slopes], axis=-1)
        return Line(weights, _RowSums.of(statistics).residual(weights) / np.where(n > 0, n, np.nan))

    def log_density(self, x: Array, parameters: Line) -> Array:
        expected = _with_intercept(x[:, :-1]) @ np.atleast_2d(parameters.weights).T  # (rows, groups)
        return np.asarray(Normal(expected, np.sqrt(parameters.variance)).log_prob(x[:, -1:]))

    def log_prior(self, parameters: Line) -> Array:
        size = np.shape(parameters.weights)[-1]
        precision, location = self._prior(size)
        determinant = np.linalg.slogdet(precision)[1] - size * np.log(2 * np.pi * parameters.variance)
        about_weights = (determinant - _quadratic(precision, parameters.weights - location) / parameters.variance) / 2
        return np.asarray(about_weights + InverseGamma(self.shape, self.scale).log_prob(parameters.variance))

    @property
    def width(self) -> int | None:
        """The number of features and the target: that of weights with the intercept."""
        return self.location.shape[-1] if self.location.ndim else None

    def predictive(self, features: object = None) -> StudentT:
        """The predictive of the target, given rows of features: scale² = scale/shape (1 + z′ precision⁻¹ z)."""
        if features is None:
            raise DataError("the predictive of a regression depends on the features: give them, as in predictive([4])")
        given = np.asarray(features, dtype=np.float64)
        z = _with_intercept(np.atleast_2d(given))
        inverse = np.linalg.inv(self._known_precision())
        if z.shape[1] != inverse.shape[-1]:
            raise DataError(f"the line has {inverse.shape[-1] - 1} features, but a row has {z.shape[1] - 1}")
        expected, spread = z @ self.location.T, 1 + _leverage(z, np.asarray(inverse))
        if given.ndim < 2:  # one row, one number
            expected, spread = expected[0], spread[0]
        return StudentT(2 * self.shape, expected, np.sqrt(self.scale / self.shape * spread))

    def log_predictive(self, x: Array) -> Array:
        predictive = self.predictive(x[:, :-1])
        return np.asarray(predictive.log_prob(x[:, -1:] if self.location.ndim > 1 else x[:, -1])).reshape(len(x), -1)

    def components(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return ("intercept", *columns[:-1])

    def group(self, k: int) -> LinearGaussian:
        location, precision = self.location, self.precision
        return LinearGaussian(
            location[k] if location.ndim > 1 else location,
            precision[k] if precision.ndim > 2 else precision,
            *(field[k] if field.ndim else field for field in (self.shape, self.scale)),
        )

    def sample(self, size: int, seed: Seed = None) -> Line:
        rng = np.random.default_rng(seed)
        variance = InverseGamma(self.shape, self.scale).sample(size, rng)
        root = np.linalg.cholesky(np.linalg.inv(self._known_precision()))
        noise = root @ rng.standard_normal((size, *self.location.shape, 1))
        return Line(self.location + np.sqrt(variance)[..., None] * noise[..., 0], variance)


@dataclass(frozen=True)
class _RowSums:
    """Sums over rows z = (1, x): gram = Σzz′, target = Σzy, square = Σy²."""

    n: Array
    gram: Exact
    target: Exact
    square: Exact

    @classmethod
    def of(cls, statistics: CrossMoments) -> _RowSums:
        n, first, second = statistics.sums
        size = first.shape[-1] + 1
        whole = Exact.zeros((*n.shape, size, size))
        for part in ("high", "low"):
            sums = getattr(whole, part)
            sums[..., 0, 0] = getattr(n, part)
            sums[..., 0, 1:] = sums[..., 1:, 0] = getattr(first, part)
            sums[..., 1:, 1:] = getattr(second, part)
        return cls(n.value, whole[..., :-1, :-1], whole[..., :-1, -1], whole[..., -1, -1])

    @property
    def size(self) -> int:
        return self.gram.shape[-1]

    def residual(self, weights: Array) -> Array:
        """Σ(y - w′z)² = Σy² - 2 w′Σzy + w′Σzz′w, in pairs of floats because of cancellation."""
        linear = (self.target * weights).sum(-1)
        quadratic = ((self.gram * weights[..., None, :]).sum(-1) * weights).sum(-1)
        return np.maximum((self.square - linear * 2.0 + quadratic).value, 0.0)


def _leverage(z: Array, inverse: Array) -> Array:
    """z′ precision⁻¹ z of each row and group. (rows, ...)"""
    if inverse.ndim == 2:
        return np.asarray(((z @ inverse) * z).sum(-1))
    return np.asarray(np.einsum("ni,...ij,nj->n...", z, inverse, z))


def _with_intercept(x: Array) -> Array:
    return np.column_stack([np.ones(len(x)), x])


def _solve(matrix: Exact, right: Exact) -> Array:
    """A scaled solution, refined with residuals in pairs: features far from 0 make the matrix near-singular."""
    size = 1 / np.sqrt(np.diagonal(matrix.value, axis1=-2, axis2=-1))
    scaled = matrix.value * size[..., :, None] * size[..., None, :]
    solution = np.zeros_like(size)
    for _ in range(4):
        residual = (right - (matrix * solution[..., None, :]).sum(-1)).value
        solution = solution + size * np.linalg.solve(scaled, (size * residual)[..., None])[..., 0]
    return solution


def _quadratic(matrix: Array, vector: Array) -> Array:
    """v′Mv of each group."""
    return np.asarray(np.einsum("...i,...ij,...j->...", vector, matrix, vector))
