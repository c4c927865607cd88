"""Many starts of Gaussian components, run together: EM on plain arrays, one step of all starts at once.

On a small table a step of EM takes longer to prepare than to calculate. Here a step is two products of matrices for all
starts together: with f(x) = (1, x, products of x), log-densities are f(x)·c, and the sums that components need are Σᵢ
wᵢ f(xᵢ). It chooses the start; the fit itself uses `core.em`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from credo.core.membership import Codes
from credo.families import dirichlet
from credo.families.normal_inverse_wishart import Covariance, JointParameters
from credo.families.priors import of_joint_numbers
from credo.models.mixture.strengths import STRENGTH_FOLDS
from credo.numerics.exact import Array

STEPS_OF_ROUNDS = (4, 6, 10)  # steps, after each of which the worse half of the starts is dropped
CONVERGED_STARTS = 3  # starts run to convergence
HOPEFUL_STEPS = 50  # a start is dropped if this many steps like the last wouldn't reach the best
EQUAL_OPTIMA = 0.5  # nats: closer optima count as one
SQUARES_ROUNDING = 4 * np.finfo(np.float64).eps  # of sums of squares, relative to them
LEAST_STRENGTH = 1e-3  # in rows, if there is no prior: a component on one row has unbounded likelihood
PRIOR_ROUNDS = 3  # rounds of fitting the prior and the components in turn

# From the components' rows, the evidence of a strength of the prior, and the current strength
StrengthChoice = Callable[[Array, Callable[[float], float], float], float]
Moments = tuple[Array, Array, Array]  # n (..., components), means (..., d) and scatters (..., products)


class Climbed(NamedTuple):
    """The state of the starts: responsibilities times row weights, and the objective."""

    shares: Array  # (starts, components, rows)
    objective: Array  # (starts,)

    def take(self, places: NDArray[np.intp] | slice) -> Climbed:
        """The state of some starts."""
        return Climbed(self.shares[places], self.objective[places])

    def best(self, count: int) -> Climbed:
        """The highest few."""
        return self.take(np.argsort(-self.objective, kind="stable")[:count])


@dataclass(frozen=True, eq=False)
class ParallelStarts:
    """EM from many starts at once; rows are points, in units of each column's deviation, without missing cells."""

    features: Array  # 1, x and products of x (rows, features)
    weight: Array  # (rows,)
    blur: Array  # (columns,): what rounding adds to the squares, δ²/12
    covariance: Covariance  # full, tied or diagonal
    strength: float  # of the prior, in rows of the pooled mean and variances
    concentration: float  # of the shares' Dirichlet prior
    flat: bool = False  # whether EM maximises the likelihood alone

    @classmethod
    def of(cls, points: Array, weight: Array, covariance: Covariance, *prior: Any) -> ParallelStarts:
        """Of points (rows, d). Columns have a variance of 1, rounding included: what their squares lack is what
        rounding adds."""
        a, b = _pairs(points.shape[1], covariance)
        products = points[:, a] * points[:, b]
        blur = np.maximum(1.0 - weight @ points**2 / weight.sum(), 0.0)
        products[:, a == b] += blur
        features = np.concatenate([np.ones((len(points), 1)), points, products], axis=1)
        return cls(features, weight, blur, covariance, *prior)

    def highest(
        self, groupings: Sequence[Codes], components: int, steps: int, tolerance: float, within: float = 0.0
    ) -> Climbed:
        """The best optimum from the groupings, and other, different ones within that distance."""
        now = self._stepped(self._begun(groupings, components))
        for steps_of_all in STEPS_OF_ROUNDS:
            if len(now.objective) <= CONVERGED_STARTS:
                break
            for _ in range(min(steps_of_all, steps)):
                now = self._stepped(now.shares)
            now = now.best(max(CONVERGED_STARTS, -(-len(now.objective) // 2)))
        ends = self._followed(now.best(CONVERGED_STARTS), steps, tolerance, within).best(CONVERGED_STARTS)
        top, lower = ends.objective[0], ends.objective[1:]
        apart = np.concatenate([[True], (ends.objective[:-1] > lower + EQUAL_OPTIMA) & (lower >= top - within)])
        return ends.take(np.flatnonzero(apart))

    def tuned(
        self, end: Climbed, steps: int, tolerance: float, choice: StrengthChoice
    ) -> tuple[ParallelStarts, Climbed]:
        """The starts with the prior under which the completed rows are most probable, and the optimum under it."""
        own = self
        for _ in range(PRIOR_ROUNDS):
            shares = end.shares[0]
            strength = choice(shares.sum(1), own.evidence_of_strength(shares), own.strength)
            if strength == own.strength:
                break
            own = replace(own, strength=strength)
            if not own.flat:
                end = own._followed(own._stepped(end.shares.copy()), steps, tolerance)
        return own, end

    def _followed(self, now: Climbed, steps: int, tolerance: float, within: float = 0.0) -> Climbed:
        """All starts run to convergence; those too far from the best are dropped."""
        for _ in range(steps):
            before, now = now.objective, self._stepped(now.shares)
            growth = now.objective - before
            if (growth <= tolerance * np.abs(now.objective)).all():
                break
            near = np.flatnonzero(
                now.objective + HOPEFUL_STEPS * np.maximum(growth, 0.0) >= now.objective.max() - within
            )
            now = now if len(near) == len(growth) else now.take(near)
        return now

    def _begun(self, groupings: Sequence[Codes], components: int) -> Array:
        return np.asarray((np.stack(groupings)[:, None, :] == np.arange(components)[:, None]) * self.weight)

    def _stepped(self, shares: Array) -> Climbed:
        """The M-step of all starts, and the E-step after it, whose responsibilities overwrite the old ones: allocating
        arrays of this size would take as long as the rest."""
        starts, components, rows = shares.shape
        flat, logs = shares.reshape(-1, rows), shares
        sums = (flat @ self.features).reshape(starts, components, -1)
        terms, log_prior = self._mode(sums)
        concentration = 0.0 if self.flat else self.concentration
        log_shares = np.log(np.maximum(dirichlet.shares(sums[..., 0], concentration), np.finfo(float).tiny))
        terms[..., 0] += log_shares
        np.matmul(terms.reshape(starts * components, -1), self.features.T, out=flat)
        top = logs.max(1)
        np.exp(np.subtract(logs, top[:, None], out=logs), out=logs)
        total = logs.sum(1)
        logs *= (self.weight / total)[:, None]
        objective = (top + np.log(total)) @ self.weight + log_prior
        return Climbed(logs, objective + concentration * log_shares.sum(1))

    @property
    def columns(self) -> int:
        return len(self.blur)

    @cached_property
    def _pairs(self) -> tuple[Array, Array]:
        return _pairs(self.columns, self.covariance)

    @property
    def _rows(self) -> float:
        """The weight of the prior, in rows."""
        return LEAST_STRENGTH if self.flat else self.strength

    def _mode(self, sums: Array) -> tuple[Array, Array]:
        """c of log N(x; μ, Σ) = f(x)·c at the mode of each component after these sums (starts, components, features),
        and log p of all of a start's components."""
        n, mean, scatter = self._moments(sums)
        constant, linear, products, log_prior = (
            self._of_columns(n, mean, scatter) if self.covariance == "diagonal" else self._of_matrices(n, mean, scatter)
        )
        constant = constant - 0.5 * self.columns * np.log(2 * np.pi)
        return np.concatenate([constant[..., None], linear, products], axis=-1), log_prior

    def _moments(self, sums: Array) -> Moments:
        """n (starts, components), mean (..., d) and scatter (..., products) of each component."""
        d, (a, b) = self.columns, self._pairs
        n = np.maximum(sums[..., 0], np.finfo(float).tiny)
        mean = sums[..., 1 : d + 1] / n[..., None]
        scatter = sums[..., d + 1 :] - n[..., None] * mean[..., a] * mean[..., b]
        scatter[..., a == b] += SQUARES_ROUNDING * d * sums[..., d + 1 :][..., a == b]  # it stays positive definite
        return n, mean, scatter

    def evidence_of_strength(self, shares: Array) -> Callable[[float], float]:
        """log p(points, completed by these shares (components, rows)) as a function of the prior's strength."""
        n, mean, scatter = (each[0] for each in self._moments((shares @ self.features)[None]))
        if self.covariance == "diagonal":
            rows, squares = n[:, None], np.maximum(scatter, 0.0)
            return lambda s: float(_log_evidence_of_columns(rows, mean, squares, s).sum())
        matrix = self._matrices(mean, scatter)
        flat, one = np.zeros(mean.shape[-1]), np.ones(mean.shape[-1])
        return lambda s: of_joint_numbers(flat, one, s, s).log_evidence(n, mean, matrix, self.covariance == "tied")

    def log_evidence(self, end: Climbed) -> float:
        """Of Cheeseman and Stutz: log p(completed rows), plus the entropy of their components, -Σ r log r, which is
        log p(rows | θ) - log p(completed rows | θ) where responsibilities r are at θ."""
        shares = end.shares[0]
        unknown = -float(xlogy(shares, shares / self.weight).sum())
        groups = float(np.sum(dirichlet.log_evidence(shares.sum(1), np.asarray(self.concentration))))
        return self.evidence_of_strength(shares)(self.strength) + groups + unknown

    def held_out(self, shares: Array) -> Callable[[float], float]:
        """`held_out_score` for a full covariance, up to a constant; shares are (components, rows)."""
        folds = [slice(i, None, STRENGTH_FOLDS) for i in range(STRENGTH_FOLDS)]
        own = [shares[:, fold] @ self.features[fold] for fold in folds]
        others = [self._moments(np.sum([*own[:i], *own[i + 1 :]], axis=0)) for i in range(STRENGTH_FOLDS)]

        def score(strength: float) -> float:
            return sum(self._log_predictive(*each, strength) for each in zip(folds, others, strict=True))

        return score

    def _log_predictive(self, rows: slice, moments: Moments, strength: float) -> float:
        """Of some rows, under Student's t of each component with these moments; the prior is of their pooled rows."""
        n, mean, scatter = moments
        d, matrix, centre = self.columns, self._matrices(mean, scatter), n @ mean / n.sum()
        spread = (np.diagonal(matrix, axis1=1, axis2=2).sum(0) + n @ (mean - centre) ** 2) / n.sum()
        belief = of_joint_numbers(centre, spread, strength, strength).posterior(n, mean, matrix, tied=False)
        degrees, factor = belief.predictive()
        constant, linear, products, log_size = self._terms(belief.mean, belief.scale * factor[:, None, None])
        terms = np.concatenate([constant[:, None], linear, products], axis=1)
        diagonal = d + 1 + np.flatnonzero(np.equal(*self._pairs))
        terms[:, 0] -= terms[:, diagonal] @ self.blur  # predictions are of rounded numbers
        squares = np.maximum(-2.0 * self.features[rows] @ terms.T, 0.0)
        peak = gammaln((degrees + d) / 2) - gammaln(degrees / 2) - d / 2 * np.log(degrees) + 0.5 * log_size
        logs = peak - (degrees + d) / 2 * np.log1p(squares / degrees)
        return float(self.weight[rows] @ np.logaddexp.reduce(logs + np.log(dirichlet.shares(n, self.concentration)), 1))

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
        if self.flat:
            variance = (s + scatter) / (s + n)
        else:
            variance = (s + scatter + s * n / (s + n) * mean**2) / (s + n + 5)
            mean = n / (s + n) * mean
            log_prior = -0.5 * ((s + 5) * np.log(variance) + (s * mean**2 + s) / variance).sum((1, 2))
        constant = -0.5 * (np.log(variance) + mean**2 / variance).sum(-1)
        return constant, mean / variance, -0.5 / variance, log_prior

    def _of_matrices(self, n: Array, mean: Array, scatter: Array) -> tuple[Array, Array, Array, Array]:
        d, tied, s = self.columns, self.covariance == "tied", self._rows
        matrix = self._matrices(mean, scatter)
        prior = of_joint_numbers(np.zeros(d), np.ones(d), s, s)
        own = slice(1) if tied else slice(None)  # a shared matrix is counted once
        if self.flat:
            n, matrix = (n.sum(1, keepdims=True), matrix.sum(1, keepdims=True)) if tied else (n, matrix)
            covariance = (s * np.eye(d) + matrix) / (s + n)[..., None, None]
        else:
            belief = prior.posterior(n, mean, matrix, tied)
            taken = JointParameters(belief.mean, belief.strength, belief.degrees[:, own], belief.scale[:, own])
            mean, covariance = taken.mode(n.shape[1] if tied else 1)
        constant, linear, products, log_size = self._terms(mean, covariance)
        terms = 0.5 * log_size + constant, linear, np.broadcast_to(products, (*mean.shape[:-1], products.shape[-1]))
        if self.flat:
            return *terms, np.zeros(len(n))
        trace = -2.0 * products[..., np.equal(*self._pairs)].sum(-1)
        spread = (prior.degrees + d + 1) * log_size - s * trace
        return *terms, 0.5 * ((log_size + 2.0 * s * constant).sum(1) + spread.sum(1))

    def _terms(self, mean: Array, covariance: Array) -> tuple[Array, Array, Array, Array]:
        """-½(x - μ)′Σ⁻¹(x - μ) by the powers of x, and log |Σ⁻¹|."""
        a, b = self._pairs
        precision = np.linalg.inv(covariance)
        linear = (precision @ mean[..., None])[..., 0]
        products = np.where(a == b, -0.5, -1.0) * precision[..., a, b]
        return -0.5 * (linear * mean).sum(-1), linear, products, np.linalg.slogdet(precision)[1]


def _pairs(d: int, covariance: Covariance) -> tuple[Array, Array]:
    """The pairs of columns whose products are features."""
    return (np.arange(d), np.arange(d)) if covariance == "diagonal" else np.tril_indices(d)  # type: ignore[return-value]


def _log_evidence_of_columns(n: Array, mean: Array, scatter: Array, s: float) -> Array:
    """That of NormalInverseGamma(0, s, 1 + s/2, s/2), without log 2π."""
    shape, scale = 1 + s / 2 + n / 2, (s + scatter + s * n / (s + n) * mean**2) / 2
    prior = (1 + s / 2) * np.log(s / 2) - gammaln(1 + s / 2)
    return np.asarray(0.5 * np.log(s / (s + n)) + prior + gammaln(shape) - shape * np.log(scale))
