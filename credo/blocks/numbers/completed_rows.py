"""Rows of correlated numbers, completed by the expectations of their missing cells.

Given the group, the expectation of a missing cell is its regression on the known ones; the residual covariance is added
to the products. EM over hidden groups and missing cells needs only the sums: one set of moments per group, whatever the
missingness patterns. They hold at the parameters of one step only: rows can't be forgotten from them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.blocks.gaussians import add_normals
from credo.blocks.numbers.covariances import completion
from credo.blocks.numbers.hidden_rows import PADDING
from credo.blocks.numbers.patterns import patterns, runs_of
from credo.core.membership import Soft
from credo.core.moments import CrossMoments, Moments
from credo.core.soft_sums import FEW_SOFT_SUMS, CentredSums, symmetric
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.numerics.exact import Array


class Normals(NamedTuple):
    """N(μ, Σ) of each group about a shift, for the kernels."""

    shift: Array  # (d,)
    mean: Array  # (groups, d)
    white: Array  # (groups, d, d + 3) W with W′W = Σ⁻¹, lower triangular
    precision: Array  # (groups, d, d) Σ⁻¹
    log_determinant: Array  # (groups,) log|Σ|

    @classmethod
    def of(cls, shift: Array, mean: Array, white: Array, log_determinant: Array) -> Normals:
        padded = np.pad(white, ((0, 0), (0, 0), (0, PADDING)))
        return cls(shift, np.ascontiguousarray(mean), padded, white.swapaxes(1, 2) @ white, log_determinant)

    def add(self, x: Array, weight: float, tied: bool, out: Array) -> None:
        """out (rows, groups) += weight · log N(x), over the known cells; tied: all groups share Σ."""
        from credo._kernels.blocks.joint_gaussians import add_joint_normals

        if tied and not np.isnan(x).any():
            self._add_independent(x, weight, out)
            return
        add_joint_normals(np.ascontiguousarray(x), *runs_of(x), *self, weight, out)

    def _add_independent(self, x: Array, weight: float, out: Array) -> None:
        """`add` for complete rows and a shared Σ: whitened columns are independent of each other."""
        white = self.white[0, :, : len(self.shift)].T
        half, constant = np.full(self.mean.shape, 0.5 * weight), np.zeros(self.mean.shape)
        constant[:, 0] = -0.5 * weight * (self.log_determinant + len(self.shift) * np.log(2 * np.pi))
        add_normals((x - self.shift) @ white, np.zeros(len(self.shift)), self.mean @ white, half, constant, out)

    def completed(self, x: Array, used: NDArray[np.bool_], shift: Array, member: Soft) -> CrossMoments:
        """The expected moments of complete rows, given the columns that are used; the others stay at their shift."""
        own = x if used.all() else x[:, used]
        some = ~np.isnan(own).all(1)
        sums = (own, member.weights) if some.all() else (own[some], member.weights[some])
        n, first, second = self._sums(*sums)
        wide = np.ix_(np.arange(len(n)), np.flatnonzero(used), np.flatnonzero(used))
        d = len(shift)
        pivot, once, twice = np.tile(shift, (len(n), 1)), np.zeros((len(n), d)), np.zeros((len(n), d, d))
        pivot[:, used] += self.mean
        once[:, used], twice[wide] = first, second
        return CrossMoments.of_centred(CentredSums(n, once, twice, pivot))

    def blurred(self, x: Array, weights: Array, blur: Array) -> Array:
        """The addition to the products if known cells have variances D: Σᵢ wᵢₖ B D B′, with the regression B of all
        cells on the row's known ones. (groups, d, d)"""
        covariance = np.linalg.inv(self.precision)
        found = np.zeros_like(covariance)
        for known, rows in patterns(x) if len(x) else ():
            if known.any():
                inside = np.flatnonzero(known)
                among = covariance[:, :, inside]
                regression = np.linalg.solve(among[:, inside], among.swapaxes(1, 2)).swapaxes(1, 2)
                n = weights[rows].sum(0)[:, None, None]
                found += n * (regression * blur[inside]) @ regression.swapaxes(1, 2)
        return symmetric(found)

    def _sums(self, x: Array, weights: Array) -> tuple[Array, Array, Array]:
        """n, E[Σu] and E[Σuu′], where u = x - shift - mean of the group."""
        groups, d = self.mean.shape
        if x.size * groups < FEW_SOFT_SUMS:
            return self._sums_by_pattern(x, weights)
        from credo._kernels.blocks.joint_gaussians import add_expected_products

        n, first, second = np.zeros(groups), np.zeros((groups, d)), np.zeros((groups, d, d + PADDING))
        rows = np.ascontiguousarray(x), *runs_of(x)
        about = self.shift, self.mean, self.precision, np.ascontiguousarray(weights)
        add_expected_products(*rows, *about, n, first, second)
        return n, first, symmetric(second[:, :, :d])

    def _sums_by_pattern(self, x: Array, weights: Array) -> tuple[Array, Array, Array]:
        """n, E[Σu] and E[Σuu′] from the sums of each pattern, for few rows."""
        groups, d = self.mean.shape
        n, first, second = np.zeros(groups), np.zeros((groups, d)), np.zeros((groups, d, d))
        covariance = np.asarray(np.linalg.inv(self.precision), dtype=np.float64)
        for known, rows in patterns(x) if len(x) else ():
            u = x[rows][:, known] - self.shift[known] - self.mean[:, None, known]  # (groups, rows, known)
            slope, residual = completion(covariance, known)
            of_pattern, weighted = weights[rows].sum(0), weights[rows].T[:, :, None] * u
            products = slope @ (weighted.swapaxes(1, 2) @ u) @ slope.swapaxes(1, 2)
            n, first = n + of_pattern, first + np.einsum("kij,kj->ki", slope, weighted.sum(1))
            second = second + products + of_pattern[:, None, None] * residual
        return n, first, symmetric(second)  # without rounding errors


def begun(x: Array, member: Soft) -> CrossMoments:
    """The start of EM: a missing cell has its column's mean and variance in the group."""
    each, some = Moments.of(x, member), ~np.isnan(x).all(1)
    everyone = each.pooled()
    n, seen = each.n.value, each.n.value > 0
    mean = np.where(seen, each.mean, everyone.mean)
    alike = everyone.scatter / np.maximum(everyone.n.value, RESIDUAL_WEIGHT)
    variance = np.where(seen, each.scatter / np.where(seen, n, 1.0), alike)
    n = member.weights[some].sum(0)
    scatter = (n[:, None] * variance)[:, :, None] * np.eye(x.shape[1])
    return CrossMoments.of_centred(CentredSums(n, np.zeros_like(mean), scatter, mean))
