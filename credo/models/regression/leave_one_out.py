"""Leave-one-out predictions of each row without refits: prior, centres and scales are held fixed.

Without row i, with h = (1, z)′ precision⁻¹ (1, z), r = y - ŷ and w its weight, the mean is y - r/(1 - wh), the variance
of the line h/(1 - wh), the noise's scale lower by ½ w r²/(1 - wh), and its shape by ½ w. A value that only this row has
is unseen without the row, and its terms don't exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.core.statistics import RESIDUAL_WEIGHT
from credo.models.regression.fitted_line import FittedLine
from credo.numerics.distributions import StudentT
from credo.numerics.exact import Array

LEVEL_WEIGHT_ERROR = 1e-9  # relative rounding error of the weight of a level's rows


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Leave-one-out predictives of learned rows."""

    line: FittedLine

    def __call__(self, z: Array, y: Array, weight: Array) -> StudentT:
        """The leave-one-out location and scale of each row of the basis."""
        line = self.line
        h, r = line.leverage(z), y - line.expected(z)
        shape = float(line.posterior.shape) - weight / 2
        left = 1 - weight * h, shape
        rest, shape = (np.where(each > RESIDUAL_WEIGHT, each, np.nan) for each in left)  # NaN: undetermined
        scale = np.maximum(float(line.posterior.scale) - weight * r**2 / rest / 2, float(line.prior.scale))
        location, spread = y - r / rest, np.sqrt(scale / shape * (1 + h / rest))
        only = self._only(z, weight)
        for i in np.flatnonzero(only.any(1)):
            location[i], spread[i] = self._without(z[i], float(y[i]), float(weight[i]), only[i])
        return StudentT(2 * shape, location, spread)

    @cached_property
    def _shares(self) -> tuple[Array, Array]:
        """For each indicator in the basis: z of a row that has it, and the weight of such rows; NaN for other
        features."""
        basis, n = self.line.basis, self.line.n
        features = basis.features
        at = np.full((2, features.width), np.nan)
        for column in features.schema:
            own = features.mains[column.name]
            known = n * (1 - features.missing.get(column.name, 0.0))
            if column.levels is not None:
                at[:, own] = 1 - features.centre[own], known * features.centre[own]
        for name, share in features.missing.items():
            at[:, features.marks[name]] = 1 - share, n * share
        scales = basis.scales[basis.kept]
        sums = self.line.statistics.first.value[0, :-1] * scales  # 0: features are centred
        return at[0, basis.kept] / scales, at[1, basis.kept] + sums

    def _only(self, z: Array, weight: Array) -> NDArray[np.bool_]:
        """Which indicators no other row has. (rows, kept)"""
        marked, rows = self._shares
        rare = np.flatnonzero(rows <= weight.max(initial=0.0) * (1 + LEVEL_WEIGHT_ERROR))
        found = np.zeros(z.shape, dtype=bool)
        if len(rare):
            has = np.isclose(z[:, rare], marked[rare], rtol=LEVEL_WEIGHT_ERROR)
            found[:, rare] = has & (weight[:, None] >= rows[rare] * (1 - LEVEL_WEIGHT_ERROR))
        return found

    def _without(self, z: Array, y: float, weight: float, only: NDArray[np.bool_]) -> tuple[float, float]:
        """Location and scale of a row; no other row has the terms in `only`."""
        line, read = self.line, self._read_as_unseen(z, only)
        gone = np.append(False, self._made_of(only))
        kept = np.flatnonzero(~gone)
        own, new = np.append(1.0, z)[kept], np.append(1.0, read)[kept]
        whole, products, squares = self._normal_equations
        precision = whole[np.ix_(kept, kept)] - weight * np.outer(own, own)
        y = y - self._mean
        rhs, squares = products[kept] - weight * y * own, squares - weight * y**2
        mean = np.linalg.solve(precision, rhs)
        scale = max((squares - float(mean @ rhs)) / 2, 0.0) + float(line.prior.scale)
        noise = scale / (float(line.posterior.shape) - weight / 2)
        levels, missing = self._unknown(only)
        weights = np.zeros(len(gone))
        weights[kept] = mean
        variance = noise * (1 + new @ np.linalg.solve(precision, new) + levels * line.new_level)
        if line.ridge:
            variance += line.missing_variance(missing, weights[1:])
        return float(new @ mean + self._mean), float(np.sqrt(variance))

    def _unknown(self, only: NDArray[np.bool_]) -> tuple[int, list[str]]:
        """How many of those terms are levels, and the columns whose missing cells the others mark."""
        features, own = self.line.basis.features, set(self.line.basis.kept[only].tolist())
        missing = [name for name, i in features.marks.items() if i in own]
        return len(own) - len(missing), missing

    @property
    def _mean(self) -> float:
        return float(self.line.statistics.mean[0, -1])

    @cached_property
    def _normal_equations(self) -> tuple[Array, Array, float]:
        """precision, Λ·mean + Σ zy and Σ y² + mean′Λ·mean, the target about its mean; the prior's mean is 0 but for the
        intercept, which has the target's."""
        sums, prior = self.line.statistics, self.line.prior
        size = self.line.posterior.location.shape[-1]
        before, location = prior._prior(size)
        location = location - np.append(self._mean, np.zeros(size - 1))
        products = np.append(0.0, sums.scatter[0, :-1, -1])
        return (
            self.line.posterior.precision,
            products + before @ location,
            float(sums.scatter[0, -1, -1]) + float(location @ before @ location),
        )

    def _made_of(self, only: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which features are made of those terms: the terms and their products. (kept,)"""
        features, kept = self.line.basis.features, self.line.basis.kept
        gone = {int(i) for i in kept[only]}
        return np.array([not gone.isdisjoint(features.factors[i]) for i in kept.tolist()], dtype=bool)

    def _read_as_unseen(self, z: Array, only: NDArray[np.bool_]) -> Array:
        """The row with unseen values in the columns of those terms."""
        basis = self.line.basis
        features, kept = basis.features, basis.kept
        columns = {features.sources[i][0] for i in kept[only]}
        read = z.copy()
        for j, i in enumerate(kept.tolist()):
            if columns & set(features.sources[i]):
                marks = [name for name in columns if features.marks.get(name) == i]
                read[j] = (1 - features.missing[marks[0]]) / basis.scales[i] if marks else 0.0
        return read
