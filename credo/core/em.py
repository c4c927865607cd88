"""EM, written once: expected evidence in, parameters at the mode out, until the objective stops growing.

A model says what evidence it expects of a batch, and what it becomes at the mode given some evidence; everything else
follows, since evidence adds. Any engine runs it: what an engine is given is data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from credo import engines
from credo.core.evidence import Evidence
from credo.errors import DataError, EvidenceError

ROUNDING = 1e-9  # relative rounding error of the objective

Expected = tuple[Evidence, float]  # expected statistics, and the log-likelihood of the rows behind them
Batches = Callable[[], Iterable[Any]]  # the rows, which each step reads again


class Expecting(Protocol):
    """A model with something hidden in it, at some parameters."""

    def expect(self, batch: Any, /) -> Expected:
        """The E-step: the expected statistics of one batch under these parameters, and its log-likelihood."""
        ...

    def with_evidence(self, evidence: Evidence, /) -> Self:
        """The M-step: the same prior, parameters at the mode given that evidence (the mean could make the objective
        fall)."""
        ...

    def log_prior(self) -> float:
        """log p(parameters), up to a constant."""
        ...


Model = TypeVar("Model", bound=Expecting)


@dataclass(frozen=True, eq=False)
class Fitted(Generic[Model]):
    """Where EM ended."""

    model: Model
    evidence: Evidence  # what the model expects of all rows
    history: tuple[float, ...]  # the objective, log-likelihood + log prior, at the start and after each step
    converged: bool

    @property
    def objective(self) -> float:
        """That of the model."""
        return self.history[-1]


@dataclass(frozen=True, eq=False)
class EStep:
    """The job that an engine runs on each batch."""

    model: Expecting

    def __call__(self, batch: Any) -> Expected:
        return self.model.expect(batch)


def added(parts: Sequence[Expected]) -> Expected:
    """The sum of what is expected of several batches, in their order."""
    return Evidence.total([evidence for evidence, _ in parts]), sum(log_likelihood for _, log_likelihood in parts)


def em(model: Model, batches: Batches, *, steps: int = 500, tolerance: float = 1e-10) -> Fitted[Model]:
    """At most so many steps from the model's parameters, or until the objective grows by less than tolerance of its
    size. An objective that falls is an error: the M-step doesn't fit the E-step."""
    evidence, objective = _expected(model, batches)
    history = [objective]
    for _ in range(steps):
        model = model.with_evidence(evidence)
        evidence, objective = _expected(model, batches)
        growth = objective - history[-1]
        history.append(objective)
        _check(growth, objective)
        if growth <= tolerance * abs(objective):
            return Fitted(model, evidence, tuple(history), True)
    return Fitted(model, evidence, tuple(history), False)


def best_of(starts: Iterable[Model], batches: Batches, *, steps: int = 500, tolerance: float = 1e-10) -> Fitted[Model]:
    """EM from each start; the fit with the highest objective, the first of equal ones."""
    best: Fitted[Model] | None = None
    for start in starts:
        found = em(start, batches, steps=steps, tolerance=tolerance)
        if best is None or found.objective > best.objective:
            best = found
    if best is None:
        raise EvidenceError("EM needs a start: there is none to choose the best of")
    return best


def _expected(model: Expecting, batches: Batches) -> tuple[Evidence, float]:
    """The evidence that is expected of all rows, and the objective."""
    found: Expected | None = engines.current().reduce(EStep(model), batches(), added)
    if found is None:
        raise DataError("the data is empty: there are no rows to learn from")
    evidence, log_likelihood = found
    return evidence, log_likelihood + model.log_prior()


def _check(growth: float, objective: float) -> None:
    if math.isnan(growth):
        raise EvidenceError(
            f"EM's objective is {objective:g} and can't grow: rows are impossible under the model, or its density has "
            "no bound. Give other starts, or a prior"
        )
    if growth < -ROUNDING * max(1.0, abs(objective)):
        raise EvidenceError(f"EM's objective fell by {-growth:g}: the M-step doesn't fit the E-step")
