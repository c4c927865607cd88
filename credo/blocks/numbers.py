"""Numbers that are independent given the class: Gaussian, or Gaussian in their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from credo._kernels.gaussians import add_normals, add_numbers_left_out, add_students
from credo.blocks.block import Block, Estimate, Independent, Parameter, Settings
from credo.data import Batch
from credo.data.cells import LARGEST
from credo.errors import DataError, EvidenceError
from credo.evidence import Evidence, Part
from credo.exact import Array, Exact
from credo.families import NormalInverseGamma
from credo.families.normal import Gaussian
from credo.membership import Hard
from credo.priors import of_numbers
from credo.schema import Column, Schema
from credo.statistics import ALONE, Moments

RUN = 8  # columns whose squared distances are multiplied before a logarithm is taken
SERIES = 20.0  # from where on four terms are exact to the last digit
CHUNK = 2**20  # cells of rows that are left out one by one, exactly
ESTIMATES: dict[Estimate, int] = {"bayes": 0, "map": 1, "mean": 2, "ml": 3}


@dataclass(frozen=True)
class Numbers(Block):
    """x | class ~ N(μ, σ²) for each column; of logarithms where `logs`.

    The prior is NormalInverseGamma(pooled mean, s, 1 + s/2, s · pooled variance/2), s being `strength`: as if s rows
    of the pooled mean and variance had been seen in each class before. A column without variance says nothing.
    """

    names: tuple[str, ...]
    logs: bool = False

    @property
    def label(self) -> str:
        return "(logarithms)" if self.logs else "(numbers)"

    def labels(self, evidence: Evidence) -> Sequence[str]:  # noqa: ARG002 - the same, whatever was seen
        return (self.label,)

    def summarise(self, batch: Batch, member: Hard, groups: str) -> Evidence:
        if self.logs:
            statistics = Moments.of(_logs(batch, self.names), member)
        else:
            statistics = Moments.of(batch.raw_matrix(self.names), member)
            if not (statistics.second.high < LARGEST**2).all():
                batch.matrix(self.names)  # which says what is wrong with which cell
        schema = Schema(tuple(Column(name, "number") for name in self.names))
        return Evidence(schema, {self.label: Part((groups, None), statistics)})

    def likelihood(self, evidence: Evidence, settings: Settings) -> NumbersLikelihood:
        return NumbersLikelihood(self.names, self.logs, evidence[self.label], settings)


def _logs(batch: Batch, names: Sequence[str]) -> Array:
    """Logarithms; a number of at most 0 is an error."""
    x = batch.matrix(names)
    if (x <= 0).any():
        row, j = np.argwhere(x <= 0)[0]
        raise DataError(
            f"column {names[j]!r} has the value {x[row, j]:g} (row {batch.start + row + 1}), which has no logarithm; "
            f"use kinds={{{names[j]!r}: 'number'}}"
        )
    return np.log(x)


@dataclass(frozen=True, eq=False)
class NumbersLikelihood(Independent):
    """log p(x | class) of independent numbers: Student's t where parameters are integrated out, else a normal."""

    names: tuple[str, ...]
    logs: bool
    statistics: Moments  # (classes, columns)
    settings: Settings
    weights: Array | None = None  # (columns,)

    def read(self, batch: Batch) -> Array:
        x = batch.matrix(self.names)
        if not self.logs:
            return x
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(x > 0, np.log(x), np.nan)

    def base(self, cells: Array) -> Array | float:
        """The density of x = exp(z) is that of z over x."""
        return -np.nansum(cells, axis=1) if self.logs else 0.0

    @cached_property
    def pooled(self) -> Moments:
        return self.statistics.pooled()

    @cached_property
    def spoken(self) -> Any:
        """Which columns say something: those with any variance."""
        return self.pooled.scatter[0] > 0

    @cached_property
    def prior(self) -> NormalInverseGamma:
        return of_numbers(_each(self.pooled), self.settings.strength)

    @cached_property
    def posterior(self) -> NormalInverseGamma:
        return self.prior.posterior(_each(self.statistics))

    @cached_property
    def gaussian(self) -> Gaussian:
        """The point estimate. (classes, columns)"""
        estimate = self.settings.estimate
        if estimate != "ml":
            found: Gaussian = self.posterior.mode() if estimate == "map" else self.posterior.mean()
            return found
        found = self.prior.maximum_likelihood(_each(self.statistics))
        wrong = np.argwhere(~(found.variance > 0) & self.spoken)
        if len(wrong):
            raise EvidenceError(
                f"maximum likelihood has no variance for column {self.names[wrong[0, 1]]!r} in one of the classes, "
                "where all its cells are alike or missing: use estimate='bayes'"
            )
        return found

    @cached_property
    def shift(self) -> Array:
        return np.asarray(self.pooled.mean[0])

    def _about_shift(self, mean: Exact) -> Array:
        return np.asarray((mean - Exact.of(self.shift)).value)

    @cached_property
    def _centre(self) -> Array:
        """Where each class expects its numbers, about the shift, with all digits. (classes, columns)"""
        n, s = self.statistics.n.value, 0.0 if self.settings.estimate == "ml" else self.settings.strength
        seen = np.where(n > 0, self._about_shift(self.statistics.first / self.statistics.n), 0.0)
        pooled = self._about_shift((self.pooled.first / self.pooled.n)[0])
        return np.where(n > 0, seen + s / (s + n + (s + n == 0)) * (pooled - seen), pooled)

    def add(self, cells: Array, out: Array) -> None:
        weights = self.spoken * (1.0 if self.weights is None else self.weights)
        if not self.spoken.any():
            return
        if self.settings.estimate == "bayes":
            inverse, power, constant = self._student
            power, constant = power * weights, constant * weights
            add_students(cells, self.shift, self._centre, inverse, power, constant, _ends(power), out)
        else:
            variance = np.where(self.spoken, self.gaussian.variance, 1.0)
            constant = -0.5 * np.log(2 * np.pi * variance) * weights
            add_normals(cells, self.shift, self._centre, 0.5 * weights / variance, constant, out)

    @cached_property
    def _student(self) -> tuple[Array, Array, Array]:
        """p(x) = exp(constant) (1 + inverse (x - m)²)^-power. (classes, columns)"""
        shape, after = self.posterior.shape, self.posterior.strength
        scale = np.where(self.spoken, self.posterior.scale, 1.0)
        inverse = after / (after + 1) / (2 * scale)
        return inverse, shape + 0.5, _log_gamma_ratio(shape) + 0.5 * np.log(inverse / np.pi)

    def add_left_out(self, cells: Array, own: Hard, out: Array) -> None:
        if not self.spoken.any():
            return
        s = 0.0 if self.settings.estimate == "ml" else self.settings.strength
        if self.settings.estimate == "ml":
            _ = self.gaussian  # refused, where a class has no variance
        each, everyone = self._shifted(self.statistics), self._shifted(self.pooled)
        n, mean, scatter = (np.concatenate(pair) for pair in zip(each, everyone, strict=True))
        power, constant = np.stack([self._left_out(0.0, s), self._left_out(1.0, s)], axis=1)
        before, unsure = out.copy(), np.zeros(len(cells), dtype=bool)
        x = cells if self.spoken.all() else np.where(self.spoken, cells, np.nan)
        add_numbers_left_out(
            x, own.codes, own.weight, self.shift, n, mean, scatter, s, ESTIMATES[self.settings.estimate], power,
            constant, _ends(power[0]), self._unit, out, unsure,
        )  # fmt: skip
        if unsure.any():
            rows = np.flatnonzero(unsure)
            out[rows] = before[rows]
            for j in range(len(self.names)):
                out[rows] += self._exactly(cells[rows, j], j, own.take(rows))

    @cached_property
    def _unit(self) -> Array:
        """A variance in which the rows' spreads are measured: what classes share is left out. (columns,)"""
        return np.where(self.spoken, self.pooled.scatter[0] / np.maximum(self.pooled.n.value[0], 1), 1.0)

    def _shifted(self, moments: Moments) -> tuple[Array, Array, Array]:
        n = moments.n.value
        return n, np.where(n > 0, self._about_shift(moments.first / moments.n), 0.0), moments.scatter

    def _left_out(self, gone: float, s: float) -> tuple[Array, Array]:
        """Powers and constants of classes that have lost a row of that weight. (classes, columns)"""
        after = s + np.maximum(self.statistics.n.value - gone, 0.0)
        shape = 1 + after / 2
        if self.settings.estimate == "bayes":
            return shape + 0.5, _log_gamma_ratio(shape) + 0.5 * np.log(after / (after + 1) / np.pi)
        factor = {"map": after + 5, "mean": after, "ml": after}[self.settings.estimate]
        with np.errstate(divide="ignore"):
            return shape, 0.5 * np.log(factor)

    def _exactly(self, x: Array, j: int, own: Hard) -> Array:
        """Column j of rows left out one by one, in pairs of floats; 0 where it says nothing. (rows, classes)"""
        prior, statistics, said = self._without_each(x, j, own)
        likelihood = np.zeros((len(x), len(self.statistics.n.value)))
        if not said.any():
            return likelihood
        if self.settings.estimate == "bayes":
            found = prior.posterior(statistics).predictive().log_prob(x[said, None])
        else:
            if self.settings.estimate == "ml":
                point = prior.maximum_likelihood(statistics)
                if not (point.variance > 0).all():
                    raise EvidenceError(
                        f"without one of its rows, a class has no variance in column {self.names[j]!r}, so that "
                        "maximum likelihood can't foresee it: use estimate='bayes'"
                    )
            else:
                after = prior.posterior(statistics)
                point = after.mode() if self.settings.estimate == "map" else after.mean()
            found = -0.5 * ((x[said, None] - point.mean) ** 2 / point.variance + np.log(point.variance))
        likelihood[said] = found + 0.5 * np.log(self._unit[j])
        return likelihood

    def _without_each(self, x: Array, j: int, own: Hard) -> tuple[NormalInverseGamma, Moments, Any]:
        """The prior (rows, 1) and the statistics (rows, classes, 1) without each row, of those that say something then.

        A row's own number is taken away in the pairs of floats that it was added in.
        """
        alone = Moments.of(np.where(np.isnan(x), 0.0, x)[:, None], Hard.of(np.arange(len(x)), len(x), own.weight))
        column = self.statistics.take(1, np.array([j]))
        everyone = column.pooled() - alone
        left = everyone.n.value[:, 0] > ALONE * column.n.value.sum()
        said = ~np.isnan(x) & left & (everyone.scatter[:, 0] > 0)
        rows = np.flatnonzero(said)
        others = Moments(*(part[rows][:, None] for part in everyone.sums))
        return of_numbers(others, self.settings.strength), column.leaving_out(alone[rows], own.codes[rows]), said

    def pick(self, places: Sequence[int]) -> NumbersLikelihood:
        names, weights = tuple(self.names[j] for j in places), None if self.weights is None else self.weights[places]
        return replace(self, names=names, statistics=self.statistics.take(1, np.array(places)), weights=weights)

    def cells_of(self, cells: Array, places: Sequence[int]) -> Array:
        return np.ascontiguousarray(cells[:, places])

    def weighted(self, weights: Array) -> NumbersLikelihood:
        return replace(self, weights=weights)

    def as_one(self) -> NumbersLikelihood:
        return replace(self, statistics=self.pooled)

    def log_evidence(self) -> Array:
        """log p(column's cells | their classes). (columns,)"""
        found = self.prior.log_evidence(_each(self.statistics)).sum(0)
        return np.where(self.spoken, found, 0.0)

    def log_evidence_left_out(self, cells: Array, own: Hard) -> Array:
        """The same of a single column, without each row. (rows,)"""
        found = np.zeros(len(cells))
        for start in range(0, len(cells), step := max(1, CHUNK // len(self.statistics.n.value))):
            rows = slice(start, start + step)
            part = Hard(own.codes[rows], own.groups, own.weight[rows])
            prior, statistics, said = self._without_each(cells[rows, 0], 0, part)
            found[rows][said] = prior.log_evidence(statistics).sum(1)
        return found

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        if self.settings.estimate == "bayes":
            law = self.posterior.predictive()
            degrees, place, scale = (np.asarray(part)[classes] for part in (law.degrees, law.location, law.scale))
            drawn = place + scale * rng.standard_t(degrees)
        else:
            mean, variance = (np.broadcast_to(part, self.statistics.n.shape)[classes] for part in self.gaussian)
            drawn = mean + np.sqrt(variance) * rng.standard_normal(mean.shape)
        drawn = np.where(self.spoken, np.exp(drawn) if self.logs else drawn, np.nan)
        return {name: drawn[:, j] for j, name in enumerate(self.names)}

    def parameters(self) -> list[Parameter]:
        mean, variance = self.gaussian
        what = "log " if self.logs else ""
        lines = []
        for j, name in enumerate(self.names):
            lines += [
                Parameter(name, f"mean {what}".strip(), mean[:, j]),
                Parameter(name, f"sd {what}".strip(), np.sqrt(variance[:, j])),
            ]
        return lines

    @property
    def free_parameters(self) -> int:
        return 2 * int(np.prod(self.statistics.n.shape))


def _each(moments: Moments) -> Moments:
    """Every column of every class as a group of its own. (classes, columns, 1)"""
    return Moments(*(part.reshape((*part.shape, 1)) for part in moments.sums))


def _ends(power: Array) -> Any:
    """After which columns a logarithm is taken: where the power changes, and from time to time."""
    columns = power.shape[1]
    ends = np.ones(columns, dtype=bool)
    ends[:-1] = (power[:, 1:] != power[:, :-1]).any(0)
    run = 0
    for j in range(columns):
        run += 1
        ends[j] |= run == RUN
        run = 0 if ends[j] else run
    return ends


def _log_gamma_ratio(shape: Array) -> Array:
    """log Γ(a + ½)/Γ(a), by its series where a difference of the two would lose digits."""
    from scipy.special import gammaln

    a = np.maximum(shape, SERIES)
    series = 0.5 * np.log(a) - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5) + 17 / (14336 * a**7)
    return np.where(shape > SERIES, series, gammaln(shape + 0.5) - gammaln(shape))
