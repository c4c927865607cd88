"""Student-t noise by EM: rows far from the line count less.

y = w′z + noise, noise ~ t(ν, σ²) = N(0, σ²/u) with u ~ Gamma(ν/2, ν/2) hidden. The E-step expects u = (ν + 1)/(ν +
r²/σ²) of a row with residual r, and log u. The M-step is the mode of the same posterior as with Gaussian noise, of rows
that weigh u, and the ν that fits the expected u best. Features and their scales are those of the fit with Gaussian
noise. So is the strength of the ridge at first, but an outlier makes it too strong: it is chosen again by the evidence
of the expected sums, and EM continues, until it is stable.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from scipy.special import digamma, gammaln

from credo.blocks.one_hot import LABEL
from credo.core.em import Expected, accelerated_em
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.learning import RowWeights, Weight, Weights
from credo.core.membership import Soft
from credo.core.moments import CrossMoments
from credo.core.records import with_fields
from credo.core.statistics import Positions, Totals
from credo.data import Batch, Source
from credo.data.schema import Schema
from credo.errors import EvidenceError, counted
from credo.families.linear_gaussian import Line, LinearGaussian
from credo.models.drawn_folds import DrawnFolds
from credo.models.metrics import fold_ratio
from credo.models.regression.features import Features
from credo.models.regression.fitted_line import Basis, FittedLine, LineSettings, reference_prior
from credo.models.regression.ridge import RidgeEvidence
from credo.models.regression.scores import NumberScores, SummedNumberScores
from credo.notices import quietly, tell
from credo.numerics.distributions import StudentT
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.regression.linear import LinearRegression

Model = TypeVar("Model", bound="LinearRegression")
NOISE_LABEL = Label("noise")
RIDGE_ROUNDS, RIDGE_TOLERANCE = 5, 0.01  # of EM, the ridge chosen again after each, until log ridge is stable
LEAST_DEGREES, MOST_DEGREES = 1.0, 100.0  # degrees of freedom: Cauchy's, and nearly a Gaussian's
LARGEST_EXPONENT = 600.0  # exp of more overflows
FIRST_DEGREES = 4.0  # of freedom, at EM's start
NOISE_EM_STEPS, NOISE_EM_TOLERANCE = 300, 1e-9
ROUGH_TOLERANCE = 1e-6  # of EM while the ridge is being chosen
COLLAPSED_SHARE = 1e-24  # of the variance at the start: with less, EM is on its way to 0
SHRUNK_SHARE = 1e-4  # of the variance under the first ridge: with less, the ridges won't become stable
NO_SCALE = (
    "Student-t noise has no scale here: so many of the rows lie on one line exactly, or have the same value of "
    "{target!r}, that the likelihood grows without limit as the scale goes to 0; use noise='gaussian'"
)


@dataclass(frozen=True, eq=False)
class StudentNoise:
    """The result of EM: the features, the expected sums, ν, and the objective after each step."""

    features: Features
    scales: Array
    kept: Positions
    ridge: float
    expected: Evidence
    degrees: float
    history: tuple[float, ...]

    @property
    def rows(self) -> float:
        return float(self.expected[NOISE_LABEL].n.value[0])

    @property
    def variance(self) -> float:
        """The squared scale of the noise, at the mode."""
        return float(self.fitted.posterior.mode().variance)

    @cached_property
    def fitted(self) -> FittedLine:
        """The fitted line, from the expected sums."""
        basis, sums = Basis(self.features, self.scales, self.kept), self.expected[LABEL]
        prior = reference_prior(sums, self.ridge)
        return FittedLine(basis, sums, prior, self.ridge, rows=self.rows, noise_degrees=self.degrees)


@dataclass(frozen=True, eq=False)
class StudentLine:
    """A line with Student-t noise at some parameters, for EM."""

    basis: Basis
    target: str
    prior: LinearGaussian
    weights: RowWeights
    line: Line  # of the basis
    degrees: float
    earlier: Evidence | None = field(default=None)  # expected sums of earlier rows
    least_variance: float = 0.0  # with less, the noise has no scale

    def expect(self, batch: Batch, /) -> Expected:
        y, weight = batch.numbers(self.target), self.weights.of_rows(batch)
        kept = np.flatnonzero(~np.isnan(y) & (weight > 0))
        batch, y, weight = batch.take(kept), y[kept], weight[kept]
        z, _ = self.basis.read(batch)
        residual = y - z @ self.line.weights[1:] - self.line.weights[0]
        nu, distance = self.degrees, residual**2 / self.line.variance
        u = (nu + 1) / (nu + distance)
        log_u = digamma((nu + 1) / 2) - np.log((nu + distance) / 2)
        moments = CrossMoments.of(np.column_stack([z, y]), Soft((weight * u)[:, None]))
        hidden = Totals.of(u[:, None], log_u - u, Soft(weight[:, None]))
        parts = {LABEL: Part((None,), moments), NOISE_LABEL: Part((None,), hidden)}
        law = StudentT(nu, 0.0, float(np.sqrt(self.line.variance)))
        return Evidence(Schema(()), parts), float(weight @ np.atleast_1d(law.log_prob(residual)))

    def with_evidence(self, evidence: Evidence, /) -> StudentLine:
        whole = evidence if self.earlier is None else evidence + self.earlier
        line = FittedLine(self.basis, whole[LABEL], self.prior, None, rows=float(whole[NOISE_LABEL].n.value[0]))
        weights, variance = line.posterior.mode()
        if variance < self.least_variance:
            raise EvidenceError(NO_SCALE.format(target=self.target))
        return replace(self, line=Line(weights, float(variance)), degrees=_best_degrees(whole[NOISE_LABEL]))

    def coordinates(self) -> Array:
        """w, log σ² and log ν."""
        return np.concatenate([self.line.weights, [np.log(self.line.variance), np.log(self.degrees)]])

    def at(self, coordinates: Array, /) -> StudentLine:
        variance = float(np.exp(np.clip(coordinates[-2], -LARGEST_EXPONENT, LARGEST_EXPONENT)))
        degrees = float(np.clip(np.exp(np.minimum(coordinates[-1], LARGEST_EXPONENT)), LEAST_DEGREES, MOST_DEGREES))
        return replace(self, line=Line(coordinates[:-2], variance), degrees=degrees)

    def log_prior(self) -> float:
        """log p(w, σ²) up to a constant; and, for earlier rows, the expected log p(y, u | w, σ², ν)."""
        weights, variance = self.line
        penalty = float(self.prior.scale) + float(weights**2 @ np.diagonal(self.prior.precision)) / 2
        found = -(float(self.prior.shape) + 1 + len(weights) / 2) * np.log(variance) - penalty / variance
        if self.earlier is None:
            return float(found)
        sums, hidden = self.earlier[LABEL], self.earlier[NOISE_LABEL]
        n, at = float(hidden.n.value[0]), np.append(-weights, 1.0)
        second = np.block([[sums.n.value[:, None], sums.first.value], [sums.first.value.T, sums.second.value[0]]])
        squares = float(at @ second @ at)
        return float(found - n / 2 * np.log(variance) - squares / variance / 2 + _log_mixing(self.degrees, hidden))


def _log_mixing(nu: float, hidden: Totals) -> float:
    """Σ E[log Gamma(u; ν/2, ν/2)], up to a constant in ν"""
    n, total = float(hidden.n.value[0]), float(hidden.log_base.value[0])
    return float(n * (nu / 2 * np.log(nu / 2) - gammaln(nu / 2)) + nu / 2 * total)


def _best_degrees(hidden: Totals) -> float:
    """The ν that fits the expected u best: the objective is unimodal."""
    low, high = np.log(LEAST_DEGREES), np.log(MOST_DEGREES)
    golden = (np.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if _log_mixing(float(np.exp(left)), hidden) < _log_mixing(float(np.exp(right)), hidden):
            low = left
        else:
            high = right
    return float(np.exp((low + high) / 2))


def fitted_with_student_noise(model: Model, table: Source, weight: Weight) -> Model:
    """EM from the fit with Gaussian noise."""
    table.check_rereadable("EM reads the data several times")
    plain = with_fields(model, noise="gaussian").update(table, weight=weight)
    ridge = None if model.ridge == "evidence" else float(model.ridge)
    start = FittedLine.of(plain.design, plain._seen, LineSettings(None, ridge, model.select))
    fit = NoiseEM(model, table, weight, COLLAPSED_SHARE * float(start.posterior.mode().variance))
    if model.ridge != "evidence":
        return with_fields(plain, noise="student", robust=fit.begun_at(start, FIRST_DEGREES))
    found = first = fit.begun_at(start, FIRST_DEGREES, ROUGH_TOLERANCE)
    for _ in range(RIDGE_ROUNDS):
        best = replace(RidgeEvidence.of(found.expected[LABEL]), n=found.rows).best
        if abs(np.log(best / found.ridge)) < RIDGE_TOLERANCE:
            break
        line = replace(found.fitted, ridge=best, prior=reference_prior(found.expected[LABEL], best))
        found = fit.begun_at(line, found.degrees, ROUGH_TOLERANCE)
        if found.variance < SHRUNK_SHARE * first.variance:  # the weaker the ridge, the nearer the line to some rows
            raise EvidenceError(NO_SCALE.format(target=model.target))
    return with_fields(plain, noise="student", robust=fit.begun_at(found.fitted, found.degrees))


def continued(model: Model, table: Source, weight: Weight) -> Model:
    """EM continued with more rows; the expected sums of earlier rows are kept."""
    table.check_rereadable("EM reads the data several times")
    assert model.robust is not None
    evidence = with_fields(model, noise="gaussian", robust=None).update(table, weight=weight).evidence
    before = model.robust
    fit = NoiseEM(model, table, weight, COLLAPSED_SHARE * before.variance, before.expected)
    return with_fields(model, evidence=evidence, robust=fit.begun_at(before.fitted, before.degrees))


@dataclass(frozen=True, eq=False)
class NoiseEM:
    """EM over the rows of a table."""

    model: LinearRegression
    table: Source
    weight: Weight
    least_variance: float  # with less, the noise has no scale
    earlier: Evidence | None = None  # expected sums of earlier rows

    def begun_at(self, start: FittedLine, degrees: float, tolerance: float = NOISE_EM_TOLERANCE) -> StudentNoise:
        """The optimum that EM reaches from a line with Student-t noise of so many degrees of freedom."""
        table, weights, basis = self.table, Weights.of(self.weight), start.basis
        names, (at, variance) = self.model.needs(table.without(self.weight)), start.posterior.mode()
        line = StudentLine(
            basis, str(self.model.target), start.prior, weights.of_a_row, Line(at, float(variance)), degrees,
            self.earlier, self.least_variance,
        )  # fmt: skip
        fit = accelerated_em(line, lambda: weights.partitions(table, names), steps=NOISE_EM_STEPS, tolerance=tolerance)
        if not fit.converged:
            tell(f"EM ended after {counted(len(fit.history) - 1, 'step')}, before it converged")
        sums = fit.evidence if self.earlier is None else fit.evidence + self.earlier
        assert start.ridge is not None
        return StudentNoise(basis.features, basis.scales, basis.kept, start.ridge, sums, fit.model.degrees, fit.history)


def cross_validated(model: LinearRegression, drawn: DrawnFolds, weight: Weight, seed: int) -> NumberScores:
    """Each fold is predicted by a refit to the others: with Student-t noise there are no additive sums."""
    fold_of, table, found = drawn.of_rows(seed), drawn.table, list[NumberScores]()
    for k in range(drawn.folds):
        inside = fold_of == k
        own, other = (_weights_where(weight, chosen) for chosen in (inside, ~inside))
        trained = fitted_with_student_noise(model, table.where(~inside), other)
        with quietly():
            found.append(trained.scores(table.where(inside), weight=own))
    if table.sums_scores:
        added = SummedNumberScores.total(cast("list[SummedNumberScores]", found))
        return added.instead_of_rows(how=drawn.how, held_out_ratio=fold_ratio(drawn.folds))
    names = ("truth", "predicted", "log_probabilities", "weights")
    columns = np.column_stack([np.concatenate([getattr(each, name) for each in found]) for name in names])
    if len(columns) == len(fold_of):  # in the table's order if no row was left out
        columns = columns[np.argsort(np.argsort(fold_of, kind="stable"))]
    return drawn.scores_of_numbers(columns, weight)


def _weights_where(weight: Weight, chosen: Array) -> Weight:
    return weight if weight is None or isinstance(weight, str) or not np.ndim(weight) else np.asarray(weight)[chosen]
