"""EM for all models: expected evidence in, parameters at the posterior mode out, until convergence.

A model implements the expected evidence of a batch, and the model at the mode given some evidence; everything else
follows, since evidence adds. Any engine can run it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from credo import engines
from credo.core.evidence import Evidence
from credo.errors import DataError, EvidenceError
from credo.notices import tell
from credo.numerics.exact import Array

OBJECTIVE_ROUNDING = 1e-9  # relative rounding error of the objective
SHRINKING_STEPS = 2  # consecutive shrinking steps needed to extrapolate
REMAINDER_MARGIN = 10.0  # times the extrapolated remainder is added before a climb is abandoned

Expected = tuple[Evidence, float]  # expected statistics of rows, and their log-likelihood
Batches = Callable[[], Iterable[Any]]  # the rows; each step reads them again


class Expecting(Protocol):
    """A model with hidden variables, at some parameters."""

    def expect(self, batch: Any, /) -> Expected:
        """The E-step: the expected statistics of one batch under these parameters, and its log-likelihood."""
        ...

    def with_evidence(self, evidence: Evidence, /) -> Self:
        """The M-step: the model with its parameters at the posterior mode given the evidence."""
        ...

    def log_prior(self) -> float:
        """log p(parameters), up to a constant."""
        ...


class Extrapolating(Expecting, Protocol):
    """A model whose parameters are also a vector, so that steps can be extrapolated."""

    def coordinates(self) -> Array:
        """The parameters on a scale on which steps of EM shrink at about the same rate. (parameters,)"""
        ...

    def at(self, coordinates: Array, /) -> Self:
        """The model with these parameters, or with nearer ones if the step is too long."""
        ...


@runtime_checkable
class RoundsObjective(Protocol):
    """A model whose parameters may have few correct digits."""

    def rounding(self) -> float:
        """By how much the objective may fall because of that."""
        ...


Model = TypeVar("Model", bound=Expecting)
VectorModel = TypeVar("VectorModel", bound=Extrapolating)


@dataclass(frozen=True, eq=False)
class Fitted(Generic[Model]):
    """The result of EM."""

    model: Model
    evidence: Evidence  # the expected statistics of all rows
    history: tuple[float, ...]  # the objective, log-likelihood + log prior, at the start and after each step
    converged: bool
    interrupted: bool = False  # by Ctrl-C

    @property
    def objective(self) -> float:
        """The objective at the end."""
        return self.history[-1]


@dataclass(frozen=True, eq=False)
class EStep:
    """The job that an engine runs on each batch."""

    model: Expecting

    def __call__(self, batch: object) -> Expected:
        return self.model.expect(batch)


def added(parts: Sequence[Expected]) -> Expected:
    """The sum of the expected evidence of several batches, in order."""
    return Evidence.total([evidence for evidence, _ in parts]), sum(log_likelihood for _, log_likelihood in parts)


@dataclass(frozen=True, eq=False)
class Step(Generic[Model]):
    """A state of EM: a model, its expected evidence, and the objective."""

    model: Model
    evidence: Evidence
    objective: float
    extrapolated: bool = False  # an extrapolated step is no sign of convergence


def em(
    model: Model, batches: Batches, *, steps: int = 500, tolerance: float = 1e-10, above: float = -math.inf
) -> Fitted[Model]:
    """EM from the model's parameters, until the relative growth of the objective is below `tolerance`, or until it
    clearly won't exceed `above`. A decreasing objective is an error."""
    return _fitted(em_steps(model, batches), steps, tolerance, above)


def interruptible_em(model: Model, batches: Batches, *, steps: int = 500, tolerance: float = 1e-10) -> Fitted[Model]:
    """EM that Ctrl-C stops after the first step, with the result of the last complete step."""
    found = _fitted(_until_interrupted(em_steps(model, batches)), steps, tolerance)
    return replace(found, interrupted=not found.converged and len(found.history) <= steps)


def _until_interrupted(climb: Iterator[Step[Model]]) -> Iterator[Step[Model]]:
    yield next(climb)
    try:
        yield from climb
    except KeyboardInterrupt:
        tell("EM was interrupted: the parameters of the last complete step are kept")


def em_steps(model: Model, batches: Batches) -> Iterator[Step[Model]]:
    """The start and all following steps, without end; a decreasing objective is an error."""
    return _rising(_plain_steps(model, batches))


def _plain_steps(model: Model, batches: Batches) -> Iterator[Step[Model]]:
    while True:
        evidence, objective = expected(model, batches)
        yield Step(model, evidence, objective)
        model = model.with_evidence(evidence)


def accelerated_em(
    model: VectorModel, batches: Batches, *, steps: int = 500, tolerance: float = 1e-10, above: float = -math.inf
) -> Fitted[VectorModel]:
    """EM with squared extrapolation (SQUAREM; Varadhan and Roland 2008): θ ← θ₀ + 2s(θ₁ - θ₀) + s²(θ₂ - 2θ₁ + θ₀), s =
    |θ₁ - θ₀| / |θ₂ - 2θ₁ + θ₀|, where θ₁ and θ₂ are EM steps after θ₀. If that decreases the objective, θ₂ is taken
    instead, so the objective never decreases."""
    return _fitted(_rising(_accelerated_steps(model, batches)), steps, tolerance, above)


def _accelerated_steps(model: VectorModel, batches: Batches) -> Iterator[Step[VectorModel]]:
    evidence, objective = expected(model, batches)
    yield Step(model, evidence, objective)
    while True:
        first = model.with_evidence(evidence)
        evidence, before = expected(first, batches)
        yield Step(first, evidence, before)
        second = first.with_evidence(evidence)
        model = second.at(_extrapolated(model.coordinates(), first.coordinates(), second.coordinates()))
        evidence, objective = expected(model, batches)
        if not objective >= before:
            model = second
            evidence, objective = expected(model, batches)
        yield Step(model, evidence, objective, extrapolated=True)


def _rising(climb: Iterator[Step[Model]]) -> Iterator[Step[Model]]:
    before = None
    for step in climb:
        if before is not None:
            _check(step.model, step.objective - before, step.objective)
        before = step.objective
        yield step


def _fitted(climb: Iterator[Step[Model]], steps: int, tolerance: float, above: float = -math.inf) -> Fitted[Model]:
    step = next(climb)
    history = [step.objective]
    for step in islice(climb, steps):
        growth = step.objective - history[-1]
        history.append(step.objective)
        if growth <= tolerance * abs(step.objective) and not step.extrapolated:
            return Fitted(step.model, step.evidence, tuple(history), True)
        if step.objective < above and _will_stay_below(history, above):
            break
    return Fitted(step.model, step.evidence, tuple(history), False)


def _will_stay_below(history: Sequence[float], above: float) -> bool:
    """Whether the objective will converge below a value, by Aitken's extrapolation with a margin.

    Steps that shrink by a factor r leave g r/(1 - r) after a step of g.

    >>> _will_stay_below([0.0, 4.0, 6.0, 7.0, 7.5], 20.0), _will_stay_below([0.0, 4.0, 6.0, 7.0, 7.5], 12.0)
    (True, False)
    >>> _will_stay_below([0.0, 1.0, 2.0, 3.0], 1000.0)  # steps that don't shrink may continue
    False
    """
    if len(history) < SHRINKING_STEPS + 2:
        return False
    growth = np.diff(history[-SHRINKING_STEPS - 2 :])
    if not (growth[-1] > 0.0 and (growth[1:] < growth[:-1]).all()):
        return False
    ratio = float((growth[1:] / growth[:-1]).max())
    return bool(history[-1] + REMAINDER_MARGIN * growth[-1] * ratio / (1.0 - ratio) < above)


def _extrapolated(start: Array, first: Array, second: Array) -> Array:
    """The parameters by squared extrapolation of two steps."""
    step, bend = first - start, second - 2.0 * first + start
    length, curvature = (float(np.linalg.norm(each)) for each in (step, bend))
    size = max(1.0, length / curvature) if curvature > 0.0 else 1.0
    return start + 2.0 * size * step + size**2 * bend


def expected(model: Expecting, batches: Batches) -> tuple[Evidence, float]:
    """The expected evidence of all rows, and the objective."""
    found: Expected | None = engines.reduce(EStep(model), batches(), added)
    if found is None:
        raise DataError("the data is empty: there are no rows to learn from")
    evidence, log_likelihood = found
    return evidence, log_likelihood + model.log_prior()


def _check(model: object, growth: float, objective: float) -> None:
    if math.isnan(growth):
        raise EvidenceError(
            f"EM's objective is {objective:g} and can't grow: rows are impossible under the model, or its density is "
            "unbounded. Try other starts, or a prior"
        )
    if growth >= -OBJECTIVE_ROUNDING * max(1.0, abs(objective)):
        return
    if not isinstance(model, RoundsObjective) or growth < -model.rounding():
        raise EvidenceError(f"EM's objective fell by {-growth:g}: the M-step is inconsistent with the E-step")
