"""log p(x | class) of numbers that are independent within a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from credo._kernels.blocks.gaussians import add_left_out, add_normals, add_students
from credo._kernels.core.sums import EQUAL_SCATTER
from credo.blocks.block import Parameter, Scale, Settings
from credo.blocks.capabilities import (
    CountsIgnored,
    Draws,
    Expects,
    Ignored,
    KnowsFarRows,
    LogEvidence,
    LogPrior,
    Points,
    SharedFactor,
)
from credo.blocks.numbers.few_normals import FEW_NORMALS, add_normals_of_few
from credo.blocks.numbers.hidden_rows import NormalColumns
from credo.blocks.numbers.logarithms import logarithms
from credo.blocks.numbers.student_runs import ends_of_runs
from credo.blocks.scoring import ScoredColumns
from credo.core.membership import Hard
from credo.core.moments import Moments
from credo.core.statistics import RESIDUAL_WEIGHT, Positions
from credo.data import Batch
from credo.data.batches import NumberMatrix
from credo.errors import EvidenceError
from credo.families import NormalInverseGamma
from credo.families.normal import Gaussian, StudentTerms, log_likelihood, log_peaks
from credo.families.priors import of_numbers
from credo.numerics.exact import Array
from credo.numerics.special import log_gamma_ratio

if TYPE_CHECKING:
    from credo.blocks.numbers.number_scoring import NumberScorer

LOST_DIGITS = 1e-5  # of a sum of squares: a smaller remainder without a row has lost digits
POSTERIOR_ESTIMATES = ("bayes", "mean")  # estimates from the posterior's parameters
LEFT_OUT_CELLS = 2**20  # cells of rows that are left out exactly, at once


@dataclass(frozen=True, eq=False)
class NumbersLikelihood(
    ScoredColumns, KnowsFarRows, LogPrior, LogEvidence, Points, Expects, SharedFactor, CountsIgnored, Draws
):
    """log p(x | class) of independent numbers: Student's t with parameters integrated out, otherwise a normal."""

    names: tuple[str, ...]
    logs: bool
    statistics: Moments  # (classes, columns)
    settings: Settings
    weights: Array | None = None  # (columns,)
    dates: bool = False
    blur: Array | None = None  # (columns,) δ²/12, for rounded numbers
    part_of: tuple[NumbersLikelihood, Positions] | None = None  # the whole, which computes values of all columns once

    def read(self, batch: Batch) -> Array:
        x = batch.encoded(NumberMatrix(self.names))
        return logarithms(x) if self.logs else x

    def read_counting_ignored(self, batch: Batch) -> tuple[Array, Ignored]:
        if not self.logs:
            return self.read(batch), {}
        x = batch.matrix(self.names)
        lost = zip(self.names, (x <= 0).sum(0), strict=True)
        return logarithms(x), {(name, "numbers that have no logarithm"): int(n) for name, n in lost if n}

    def base(self, cells: Array) -> Array | float:
        """-log x, since the density of x = exp(z) is that of z divided by x."""
        return -np.nansum(cells, axis=1) if self.logs else 0.0

    @cached_property
    def pooled(self) -> Moments:
        if self.part_of is not None:
            whole, at = self.part_of
            return whole.pooled.take(1, at)
        return self.statistics.pooled()

    @cached_property
    def varying(self) -> NDArray[np.bool_]:
        """Whether a column has any variance: others are ignored. (columns,)"""
        if self.part_of is not None:
            whole, at = self.part_of
            return np.asarray(whole.varying[at])
        return np.asarray(self.pooled.scatter[0] > 0)

    @cached_property
    def shift(self) -> Array:
        """A number near each column's mean: numbers are taken relative to it, so that large means lose no digits.
        (columns,)"""
        if self.part_of is not None:
            whole, at = self.part_of
            return np.asarray(whole.shift[at])
        return np.asarray(self.pooled.mean[0])

    @cached_property
    def shifted(self) -> Moments:
        if self.part_of is not None:
            whole, at = self.part_of
            return whole.shifted.take(1, at)
        return self.statistics.about(self.shift)

    @cached_property
    def prior(self) -> NormalInverseGamma:
        """The prior about the shift; all that follows is about the shift, too."""
        return of_numbers(columns_as_groups(self.pooled.about(self.shift)), self.settings.strength)

    @cached_property
    def posterior(self) -> NormalInverseGamma:
        return self.prior.posterior(columns_as_groups(self.shifted))

    @cached_property
    def gaussian(self) -> Gaussian:
        """The point estimate, about the shift. (classes, columns)"""
        estimate = self.settings.estimate
        if estimate != "ml":
            found: Gaussian = self.posterior.mode() if estimate == "map" else self.posterior.mean()
            return found
        found = self.prior.maximum_likelihood(columns_as_groups(self.shifted))
        empty = ~(self.statistics.n.value > 0).any(1, keepdims=True)  # a class without rows has probability 0
        found = Gaussian(np.where(empty, 0.0, found.mean), np.where(empty, 1.0, found.variance))
        wrong = np.argwhere(~(found.variance > 0) & self.varying)
        if len(wrong):
            raise EvidenceError(
                f"the maximum-likelihood variance of column {self.names[wrong[0, 1]]!r} is 0 in one of the classes, "
                "where all its cells are equal or missing: use estimate='bayes'"
            )
        return found

    def log_prior(self) -> float:
        """Σ log N(μ; m, σ²/s) + log InverseGamma(σ²) over the columns with any variance."""
        with np.errstate(all="ignore"):  # other columns have no density
            found = self.prior.log_prior(self.gaussian)
        return float(np.where(self.varying, found, 0.0).sum())

    @cached_property
    def normals(self) -> NormalColumns | None:
        """The point estimate, if all columns are used with weight 1."""
        if self.settings.estimate == "bayes" or self.logs or self.weights is not None or not self.varying.all():
            return None
        return NormalColumns(self.shift, *self.gaussian, log_peaks(self.gaussian.variance, self.blur))

    @property
    def _centre(self) -> Array:
        """The expectation of each class's numbers. (classes, columns)"""
        if self.settings.estimate != "bayes":
            return np.asarray(self.gaussian.mean)
        if self.part_of is not None:
            whole, at = self.part_of
            return whole._centre[:, at]
        return np.asarray(self.posterior.location)

    def add(self, cells: Array, out: Array) -> None:
        weights = self.varying * (1.0 if self.weights is None else self.weights)
        if not self.varying.any():
            return
        if self.settings.estimate == "bayes":
            inverse, power, constant = self._student
            power, constant = power * weights, constant * weights
            add_students(cells, self.shift, self._centre, inverse, power, constant, ends_of_runs(power), out)
        else:
            variance = np.where(self.varying, self.gaussian.variance, 1.0)
            constant = log_peaks(variance, self.blur) * weights
            few = cells.size * len(out.T) <= FEW_NORMALS and not add_normals.is_ready and not np.isnan(cells).any()
            add = add_normals_of_few if few else add_normals
            add(cells, self.shift, self._centre, 0.5 * weights / variance, constant, out)

    @cached_property
    def _student(self) -> StudentTerms:
        """The terms of Student's t. (classes, columns)"""
        if self.part_of is not None:
            whole, at = self.part_of
            return StudentTerms(*(part[:, at] for part in whole._student))
        posterior = self.posterior
        return StudentTerms.of(posterior.strength, posterior.shape, np.where(self.varying, posterior.scale, 1.0))

    def add_left_out(self, cells: Array, own: Hard, out: Array) -> None:
        """By one kernel; rows with lost digits or weights other than 1 are left out one by one, exactly."""
        if not self.varying.all():
            if self.varying.any():
                places = np.flatnonzero(self.varying).tolist()
                self.pick(places).add_left_out(self.cells_of(cells, places), own, out)
            return
        if self.settings.estimate == "ml":
            _ = self.gaussian  # an error, if a class has no variance
        unsure, scores = own.weight != 1.0, np.zeros_like(out)
        student, mean = self.settings.estimate == "bayes", self.shifted.mean
        limit, others, mine, ends = self._without_one
        add_left_out(cells, self.shift, limit, own.codes, mean, others, mine, ends, student, scores, unsure)
        rows = np.flatnonzero(unsure)
        scores[rows] = 0.0
        for j in range(len(self.names) if len(rows) else 0):
            scores[rows] += self._exactly(cells[rows, j], j, own.take(rows))
        out += scores

    def scorer(self) -> NumberScorer | None:
        from credo.blocks.numbers.number_scoring import NumberScorer

        return (
            NumberScorer(self, self.statistics, self.settings)
            if self.settings.estimate in POSTERIOR_ESTIMATES
            else None
        )

    def cells_to_score(self, cells: Array) -> Array:
        return cells

    @property
    def _strength(self) -> float:
        return 0.0 if self.settings.estimate == "ml" else self.settings.strength

    @cached_property
    def _without_one(self) -> tuple[Array, Array, Array, Any]:
        """For the kernel: limits of squares, tables for other classes and for the row's class, and ends of runs.

        With the mean M of all N numbers, the prior without z has the mean M - (z - M)/(N - 1). Its spread is quadratic
        in z, and so is that of the posterior of a class with mean m: both are polynomials of u = z - m.
        """
        if self.part_of is not None:
            whole, at = self.part_of
            limit, others, mine, _ = whole._without_one
            return limit[at], others[:, at], mine[:, at], ends_of_runs(others[:, at, 5])
        with np.errstate(all="ignore"):  # in ignored columns
            return self._tables_without_one()

    def _tables_without_one(self) -> tuple[Array, Array, Array, Any]:
        s, own = self._strength, self.shifted
        n, mean, scatter = own.n.value, own.mean, own.scatter
        everyone = self.pooled.about(self.shift)
        size, squares = everyone.n.value[0], everyone.scatter[0]
        share = 1 / np.where(size > 1, size - 1, 1.0)  # of a row of weight 1, if there are others
        away = everyone.mean[0] - mean
        prior = s * share * (squares - share * size * away**2)
        slopes = 2 * s * share**2 * size * away, -s * share**2 * size

        def table(n: Array, own: Array, grown: Array | float) -> Array:
            """`grown` is 1/n for the class's other rows, the factor by which its mean moves without the row."""
            pull, factor, power, constant = self._left_out(n, s)
            far, step = away * (1 + share), grown - share  # the prior's mean is far + step·u
            b = (
                scatter + prior + pull * n * far**2,
                slopes[0] + 2 * pull * n * far * step,
                slopes[1] + pull * n * step**2,
            )
            spread = np.where(b[0] > 0, b[0], 1.0)
            root = np.sqrt(factor / spread)
            a = -pull * far * root, (1 + grown - pull * step) * root
            constant = constant - 0.5 * np.log(spread / self._unit)
            parts = (b[0] / spread, b[1] / spread, (b[2] - own) / spread, *a, power, constant)
            return np.stack(np.broadcast_arrays(*parts), axis=-1)

        left = np.maximum(n - 1, 0.0)
        inverse = np.where(left > 0, 1 / np.where(left > 0, left, 1.0), 0.0)
        others, mine = table(n, np.zeros_like(n), 0.0), table(left, n * inverse, inverse)
        return (1 - LOST_DIGITS) * squares / (share * size), others, mine, ends_of_runs(others[..., 5])

    @cached_property
    def _unit(self) -> Array:
        """A unit of variance for the rows' spreads; factors that classes share are omitted. (columns,)"""
        if self.part_of is not None:
            whole, at = self.part_of
            return np.asarray(whole._unit[at])
        return np.where(self.varying, self.pooled.scatter[0] / np.maximum(self.pooled.n.value[0], 1), 1.0)

    def _left_out(self, n: Array, s: float) -> tuple[Array, Array, Array, Array]:
        """For classes with n rows: the prior's share, factors of squared distances, powers and constants."""
        after = s + n
        shape = 1 + after / 2
        pull = s / np.where(after > 0, after, 1.0)
        if self.settings.estimate == "bayes":
            grow = after / (after + 1)
            return pull, grow, shape + 0.5, log_gamma_ratio(shape) + 0.5 * np.log(grow / np.pi)
        factor = {"map": after + 5, "mean": after, "ml": after}[self.settings.estimate]
        with np.errstate(divide="ignore"):
            return pull, 0.5 * factor, shape, 0.5 * np.log(factor)

    def _exactly(self, x: Array, j: int, own: Hard) -> Array:
        """Column j of rows left out one by one, in pairs of floats; 0 if it is ignored. (rows, classes)"""
        prior, statistics, varies = self._without_each(x, j, own)
        likelihood = np.zeros((len(x), len(self.statistics.n.value)))
        if not varies.any():
            return likelihood
        z = x[varies, None] - self.shift[j]
        if self.settings.estimate == "bayes":
            found = prior.posterior(statistics).predictive().log_prob(z)
        else:
            if self.settings.estimate == "ml":
                point = prior.maximum_likelihood(statistics)
                if not (point.variance > 0).all():
                    raise EvidenceError(
                        f"without one of its rows, a class has no variance in column {self.names[j]!r}, so "
                        "maximum likelihood can't predict it: use estimate='bayes'"
                    )
            else:
                after = prior.posterior(statistics)
                point = after.mode() if self.settings.estimate == "map" else after.mean()
            found = -0.5 * ((z - point.mean) ** 2 / point.variance + np.log(point.variance))
        likelihood[varies] = found + 0.5 * np.log(self._unit[j])
        return likelihood

    def _without_each(self, x: Array, j: int, own: Hard) -> tuple[NormalInverseGamma, Moments, Any]:
        """The prior (rows, 1) and the statistics (rows, classes, 1), each row left out, where the column still varies.

        A row's number is subtracted in pairs of floats.
        """
        member, shift = Hard.of(np.arange(len(x)), len(x), own.weight), self.shift[j : j + 1]
        alone = Moments.of(np.where(np.isnan(x), 0.0, x)[:, None], member).about(shift)
        column = self.shifted.take(1, np.array([j]))
        everyone = column.pooled() - alone
        left = everyone.n.value[:, 0] > RESIDUAL_WEIGHT * column.n.value.sum()
        varies = ~np.isnan(x) & left & (everyone.scatter[:, 0] > EQUAL_SCATTER * self.pooled.second.high[0, j])
        rows = np.flatnonzero(varies)
        others = Moments(*(part[rows][:, None] for part in everyone.sums))
        return of_numbers(others, self.settings.strength), column.leaving_out(alone[rows], own.codes[rows]), varies

    def mahalanobis(self, cells: Array) -> Array:
        """Distances over the known cells, in standard deviations of the point estimate. (rows, classes)"""
        found = np.zeros((len(cells), len(self.statistics.n.value)))
        point = (
            self
            if self.settings.estimate != "bayes"
            else replace(self, settings=replace(self.settings, estimate="mean"), part_of=None)
        )
        variance = np.where(self.varying, point.gaussian.variance, 1.0)
        for k, mean in enumerate(point.gaussian.mean):
            away = np.where(self.varying, cells - self.shift - mean, 0.0)
            found[:, k] = np.sqrt(np.nansum(away**2 / variance[k], axis=1))
        return found

    def pick(self, places: Sequence[int]) -> Self:
        names, weights = tuple(self.names[j] for j in places), None if self.weights is None else self.weights[places]
        at = np.array(places, dtype=np.intp)
        part = (self, at) if self.part_of is None else (self.part_of[0], self.part_of[1][at])
        blur, own = None if self.blur is None else self.blur[at], self.statistics.take(1, at)
        return replace(self, names=names, statistics=own, weights=weights, blur=blur, part_of=part)

    def rows_of(self, cells: Array, rows: Any) -> Array:
        return np.asarray(cells[rows])

    def far(self, cells: Array, alike: Self, log_odds: Array, certain: float) -> NDArray[np.bool_]:
        """Rows with a number at which the density of the more probable case is below the other's peak, given the
        odds."""
        own_peak, same_peak = self._peaks, alike._peaks
        below, above = (np.full(len(self.names), -np.inf), np.full(len(self.names), np.inf))
        for side, room, asked in (
            (self, own_peak - same_peak + log_odds - certain, log_odds > certain),
            (alike, same_peak - own_peak.max(0) - log_odds - certain, log_odds < -certain),
        ):
            low, high = side._within(np.where(self.varying, room, 0.0))
            below, above = np.where(asked, low, below), np.where(asked, high, above)
        outside = (cells < below) | (cells > above)
        return np.asarray((outside & self.varying).any(1))

    @property
    def _peaks(self) -> Array:
        """The log-density of each class at its centre. (classes, columns)"""
        if self.settings.estimate == "bayes":
            return self._student[2]
        return np.asarray(-0.5 * np.log(2 * np.pi * np.where(self.varying, self.gaussian.variance, 1.0)))

    def _within(self, room: Array) -> tuple[Array, Array]:
        """The interval in which every class's log-density is within `room` of its peak; empty if room < 0."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.settings.estimate == "bayes":
                inverse, power, _ = self._student
                reach = np.sqrt(np.expm1(room / power) / inverse)
            else:
                reach = np.sqrt(2 * room * self.gaussian.variance)
        reach = np.where(room > 0, reach, -np.inf)
        return (self.shift + self._centre - reach).max(0), (self.shift + self._centre + reach).min(0)

    def cells_of(self, cells: Array, places: Sequence[int]) -> Array:
        return np.ascontiguousarray(cells[:, places])

    def weighted(self, weights: Array) -> Self:
        return replace(self, weights=weights)

    def as_one(self) -> Self:
        return replace(self, statistics=self.pooled, part_of=None)

    def log_evidence(self) -> Array:
        """log p(column's cells | their classes). (columns,)"""
        found = self.prior.log_evidence(columns_as_groups(self.shifted)).sum(0)
        return np.where(self.varying, found, 0.0)

    def log_likelihood_at(self, other: Self) -> float:
        own = self.statistics.about(other.shift)
        at = Gaussian(other.gaussian.mean, np.where(other.varying, other.gaussian.variance, 1.0))
        return float(np.where(other.varying, log_likelihood(own.n.value, own.mean, own.scatter, at), 0.0).sum())

    def points(self, cells: Array) -> Array:
        return np.asarray((cells - self.shift)[:, self.varying] / np.sqrt(self._unit[self.varying]))

    def expected_cells(self, cells: Array, shares: Array) -> dict[str, Any]:  # noqa: ARG002 - columns are independent
        """The means of numbers; for logarithms, the exponential of their mean."""
        mean = shares @ self._centre + self.shift
        mean = np.where(self.varying, mean, np.where(self.pooled.n.value[0] > 0, self.shift, np.nan))
        mean = np.exp(mean) if self.logs else mean
        return {name: mean[:, j] for j, name in enumerate(self.names)}

    def log_evidence_left_out(self, cells: Array, own: Hard) -> Array:
        """The log evidence of a single column, each row left out. (rows,)"""
        found = np.zeros(len(cells))
        for start in range(0, len(cells), step := max(1, LEFT_OUT_CELLS // len(self.statistics.n.value))):
            rows = slice(start, start + step)
            part = Hard(own.codes[rows], own.groups, own.weight[rows])
            prior, statistics, varies = self._without_each(cells[rows, 0], 0, part)
            found[rows][varies] = prior.log_evidence(statistics).sum(1)
        return found

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        if self.settings.estimate == "bayes":
            law = self.posterior.predictive()
            degrees, place, scale = (np.asarray(part)[classes] for part in (law.degrees, law.location, law.scale))
            drawn = place + scale * rng.standard_t(degrees)
        else:
            mean, variance = (np.broadcast_to(part, self.statistics.n.shape)[classes] for part in self.gaussian)
            drawn = mean + np.sqrt(variance) * rng.standard_normal(mean.shape)
        drawn = drawn + self.shift
        drawn = np.where(self.varying, np.exp(drawn) if self.logs else drawn, np.nan)
        return {name: drawn[:, j] for j, name in enumerate(self.names)}

    def parameters(self) -> list[Parameter]:
        mean, variance = self.gaussian.mean + self.shift, self.gaussian.variance
        figures, lines = {"mean": mean, "sd": np.sqrt(variance)}, list[Parameter]()
        scale: Scale = "days" if self.dates else "logarithms" if self.logs else "values"
        for j, name in enumerate(self.names):
            lines += [Parameter(name, what, each[:, j], scale=scale) for what, each in figures.items()]
        return lines

    @property
    def free_parameters(self) -> int:
        return 2 * int(np.prod(self.statistics.n.shape))


def columns_as_groups(moments: Moments) -> Moments:
    """The moments with each column of each class as a group. (classes, columns, 1)"""
    return Moments(*(part.reshape((*part.shape, 1)) for part in moments.sums))
