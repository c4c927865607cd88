"""Many starts of Gaussian components, run together: EM on plain arrays, one step of all starts at once.

On a small table a step of EM takes longer to prepare than to calculate. Here a step is two products of matrices for all
starts together: with f(x) = (1, x, products of x), log-densities are f(x)·c, and the sums that components need are Σᵢ
wᵢ f(xᵢ). It chooses the start; the fit itself uses `core.em`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from credo.core.membership import Codes
from credo.families import dirichlet
from credo.families.normal_inverse_wishart import Covariance
from credo.families.priors import of_joint_numbers
from credo.numerics.exact import Array

ROUNDS = (4, 6, 10)  # steps, after each of which the worse half of the starts gives up
FEW = 3  # starts that are followed to their ends
PATIENCE = 50  # steps as large as the last, in which a start must be able to reach the highest
SAME = 0.5  # nats: ends that are nearer to each other are one
LEAST_STRENGTH = 1e-3  # of the prior, in rows: a component on one row would have no bound


class Climbed(NamedTuple):
    """The state of the starts: responsibilities times row weights, and the objective."""

    shares: Array  # (starts, components, rows)
    objective: Array  # (starts,)

    def best(self, count: int) -> Climbed:
        """The highest few."""
        places = np.argsort(-self.objective, kind="stable")[:count]
        return Climbed(self.shares[places], self.objective[places])


@dataclass(frozen=True, eq=False)
class ParallelStarts:
    """EM from many starts at once; rows are points, in units of each column's deviation, without missing cells."""

    points: Array  # (rows, d)
    weight: Array  # (rows,)
    covariance: Covariance  # full, tied or diagonal
    strength: float  # of the prior, in rows of the pooled mean and variances; 0: none, maximum likelihood
    concentration: float  # of the shares' Dirichlet prior; 0: none

    def highest(
        self, groupings: Sequence[Codes], components: int, steps: int, tolerance: float, within: float = 0.0
    ) -> list[Array]:
        """The responsibilities (rows, components) at the best optimum that the groupings lead to, and at other optima
        whose objectives are within that of it."""
        now = self._stepped(self._begun(groupings, components))
        for steps_of_all in ROUNDS:
            for _ in range(min(steps_of_all, steps)):
                now = self._stepped(now.shares)
            now = now.best(max(FEW, -(-len(now.objective) // 2)))
        ends = self._followed(now.best(FEW), steps, tolerance, within).best(FEW)
        apart = [i for i, top in enumerate(ends.objective) if not i or ends.objective[i - 1] > top + SAME]
        return [_by_rows(ends.shares[i]) for i in apart if ends.objective[i] >= ends.objective[0] - within]

    def continued(self, shares: Array, steps: int, tolerance: float) -> Array:
        """The same from one start. (rows, components), as the result"""
        return _by_rows(self._followed(self._stepped(np.ascontiguousarray(shares.T)[None]), steps, tolerance).shares[0])

    def _followed(self, now: Climbed, steps: int, tolerance: float, within: float = 0.0) -> Climbed:
        """To the end of each; those that won't come near the highest in many steps are given up."""
        for _ in range(steps):
            before, now = now.objective, self._stepped(now.shares)
            growth = now.objective - before
            if (growth <= tolerance * np.abs(now.objective)).all():
                break
            near = np.flatnonzero(now.objective + PATIENCE * np.maximum(growth, 0.0) >= now.objective.max() - within)
            now = now if len(near) == len(growth) else Climbed(now.shares[near], now.objective[near])
        return now

    def _begun(self, groupings: Sequence[Codes], components: int) -> Array:
        return np.asarray((np.stack(groupings)[:, None, :] == np.arange(components)[:, None]) * self.weight)

    def _stepped(self, shares: Array) -> Climbed:
        """The M-step of all starts, and the E-step after it, whose shares are written over those before: arrays of this
        size are new memory each time, which takes as long as the rest."""
        starts, components, rows = shares.shape
        flat, logs = shares.reshape(-1, rows), shares
        sums = (flat @ self._features).reshape(starts, components, -1)
        terms, log_prior = self._mode(sums)
        log_shares = np.log(np.maximum(dirichlet.shares(sums[..., 0], self.concentration), np.finfo(float).tiny))
        terms[..., 0] += log_shares
        np.matmul(terms.reshape(starts * components, -1), self._features.T, out=flat)
        top = logs.max(1)
        np.exp(np.subtract(logs, top[:, None], out=logs), out=logs)
        total = logs.sum(1)
        logs *= (self.weight / total)[:, None]
        objective = (top + np.log(total)) @ self.weight + log_prior
        return Climbed(logs, objective + self.concentration * log_shares.sum(1))

    @cached_property
    def _pairs(self) -> tuple[Array, Array]:
        """Of columns whose products are taken."""
        d = self.points.shape[1]
        return (np.arange(d), np.arange(d)) if self.covariance == "diagonal" else np.tril_indices(d)  # type: ignore[return-value]

    @cached_property
    def _features(self) -> Array:
        """1, x and products of x. (rows, features)"""
        x, (a, b) = self.points, self._pairs
        return np.concatenate([np.ones((len(x), 1)), x, x[:, a] * x[:, b]], axis=1)

    @property
    def _rows(self) -> float:
        """That the prior is worth."""
        return max(self.strength, LEAST_STRENGTH)

    def _mode(self, sums: Array) -> tuple[Array, Array]:
        """c of log N(x; μ, Σ) = f(x)·c at the mode of each component after these sums (starts, components, features),
        and log p of all of a start's components."""
        d = self.points.shape[1]
        n, mean, scatter = self._moments(sums)
        constant, linear, products, log_prior = (
            self._of_columns(n, mean, scatter) if self.covariance == "diagonal" else self._of_matrices(n, mean, scatter)
        )
        constant = constant - 0.5 * d * np.log(2 * np.pi)
        return np.concatenate([constant[..., None], linear, products], axis=-1), log_prior

    def _moments(self, sums: Array) -> tuple[Array, Array, Array]:
        """n (starts, components), mean (..., d) and scatter (..., products) of each component."""
        d, (a, b) = self.points.shape[1], self._pairs
        n = np.maximum(sums[..., 0], np.finfo(float).tiny)
        mean = sums[..., 1 : d + 1] / n[..., None]
        return n, mean, sums[..., d + 1 :] - n[..., None] * mean[..., a] * mean[..., b]

    def log_evidence(self, shares: Array) -> Callable[[float], float]:
        """Of the prior's strength: log p(points, completed by these shares (rows, components)), up to a constant."""
        n, mean, scatter = (each[0] for each in self._moments((shares.T @ self._features)[None]))
        if self.covariance == "diagonal":
            rows, squares = n[:, None], np.maximum(scatter, 0.0)
            return lambda s: float(_log_evidence_of_columns(rows, mean, squares, s).sum())
        matrix = self._matrices(mean, scatter)
        flat, one = np.zeros(mean.shape[-1]), np.ones(mean.shape[-1])
        return lambda s: of_joint_numbers(flat, one, s, s).log_evidence(n, mean, matrix, self.covariance == "tied")

    def _matrices(self, mean: Array, scatter: Array) -> Array:
        """Scatters as symmetric matrices. (..., d, d)"""
        a, b = self._pairs
        matrix = np.empty((*mean.shape, mean.shape[-1]))
        matrix[..., a, b] = matrix[..., b, a] = scatter
        return matrix

    def _of_columns(self, n: Array, mean: Array, scatter: Array) -> tuple[Array, Array, Array, Array]:
        """The prior of each column is NormalInverseGamma(0, s, 1 + s/2, s/2)."""
        s, n, scatter = self._rows, n[..., None], np.maximum(scatter, 0.0)
        log_prior = np.zeros(len(n))
        if self.strength:
            variance = (s + scatter + s * n / (s + n) * mean**2) / (s + n + 5)
            mean = n / (s + n) * mean
            log_prior = -0.5 * ((s + 5) * np.log(variance) + (s * mean**2 + s) / variance).sum((1, 2))
        else:
            variance = (s + scatter) / (s + n)
        constant = -0.5 * (np.log(variance) + mean**2 / variance).sum(-1)
        return constant, mean / variance, -0.5 / variance, log_prior

    def _of_matrices(self, n: Array, mean: Array, scatter: Array) -> tuple[Array, Array, Array, Array]:
        d, (a, b), tied, s = mean.shape[-1], self._pairs, self.covariance == "tied", self._rows
        matrix = self._matrices(mean, scatter)
        prior = of_joint_numbers(np.zeros(d), np.ones(d), s, s)
        if self.strength:
            mean, covariance = prior.posterior(n, mean, matrix, tied).mode(n.shape[1] if tied else 1)
        else:
            n, matrix = (n.sum(1, keepdims=True), matrix.sum(1, keepdims=True)) if tied else (n, matrix)
            covariance = np.broadcast_to((s * np.eye(d) + matrix) / (s + n)[..., None, None], (*mean.shape, d))
        precision = np.linalg.inv(covariance)
        linear = (precision @ mean[..., None])[..., 0]
        squared, log_size = (linear * mean).sum(-1), np.linalg.slogdet(precision)[1]
        products = np.where(a == b, -0.5, -1.0) * precision[..., a, b]
        terms = 0.5 * (log_size - squared), linear, products
        if not self.strength:
            return *terms, np.zeros(len(n))
        spread = (prior.degrees + d + 1) * log_size - s * np.trace(precision, axis1=-2, axis2=-1)
        return *terms, 0.5 * (log_size - s * squared + (spread / n.shape[1] if tied else spread)).sum(1)


def _log_evidence_of_columns(n: Array, mean: Array, scatter: Array, s: float) -> Array:
    """That of NormalInverseGamma(0, s, 1 + s/2, s/2), without log 2π."""
    shape, scale = 1 + s / 2 + n / 2, (s + scatter + s * n / (s + n) * mean**2) / 2
    prior = (1 + s / 2) * np.log(s / 2) - gammaln(1 + s / 2)
    return np.asarray(0.5 * np.log(s / (s + n)) + prior + gammaln(shape) - shape * np.log(scale))


def _by_rows(shares: Array) -> Array:
    """(components, rows) -> (rows, components)"""
    return np.ascontiguousarray(shares.T)
