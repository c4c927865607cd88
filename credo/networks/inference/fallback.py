"""Estimates for rows of a table whose exact answers don't fit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from credo.errors import SizeError, counted
from credo.networks.inference.estimate import UNRELIABLE, JointQuery, Total
from credo.networks.inference.exact import ExactInference
from credo.networks.inference.findings import Findings
from credo.networks.inference.sizes import EXACT, Sampling, needed
from credo.notices import tell
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.graphical_model import GraphicalModel


@dataclass(frozen=True)
class EstimatedRows:
    """The number of estimated rows, and their errors."""

    rows: int = 0
    worst: float = 0.0  # the largest standard error
    doubted: int = 0
    need: str = ""

    def __add__(self, other: EstimatedRows) -> EstimatedRows:
        worst = float(np.nanmax([0.0, self.worst, other.worst]))
        return EstimatedRows(self.rows + other.rows, worst, self.doubted + other.doubted, other.need or self.need)

    def tell(self) -> None:
        if self.rows:
            error = f", with standard errors up to {self.worst:.2g}" if self.worst else ": the best states found"
            doubt = f"; {counted(self.doubted, 'row')} {UNRELIABLE}" if self.doubted else ""
            tell(f"{self.need}: {counted(self.rows, 'row')} estimated{error}{doubt}")


@dataclass(frozen=True)
class Fallback:
    """The settings of an estimate."""

    samples: int
    seed: int


class SamplingFallback:
    """Exact answers if they fit in memory, else estimates for each connected component: for queries about rows."""

    def __init__(self, exact: ExactInference, model: GraphicalModel, how: Fallback) -> None:
        self._exact, self._model, self.estimated = exact, model, EstimatedRows()
        self._how = Sampling("auto", how.samples, how.seed)

    def joint(self, codes: Integers, weights: Array, variables: Sequence[int]) -> tuple[Array, float]:
        try:
            return self._exact.joint(codes, weights, variables)
        except SizeError as error:
            need, possible = error, list[float]()
        asked = [JointQuery(variables)]
        (found,) = self._model.components.estimates(Findings(codes, weights), asked, self._how, possible.append)
        self._note(need, found.method, float(found.error.max()), found.reliable)
        return found.table, min(possible, default=0.0)

    def log_total(self, codes: Integers, weights: Array) -> float:
        try:
            return self._exact.log_total(codes, weights)
        except SizeError as error:
            found = self._model.components.log_total(Findings(codes, weights), self._how)
            self._note(error, found.method, found.error, found.reliable)
            return found.log_value

    def best(self, codes: Integers, weights: Array, variables: Sequence[int] | None) -> tuple[Integers, float]:
        try:
            return self._exact.best(codes, weights, variables)
        except SizeError as error:
            need, possible = error, list[float]()
        findings = Findings(codes, weights)
        found, total, how = self._model.components.best(findings, variables, self._how, possible.append)
        self._note(need, how, np.nan, True)
        return found, min([total.log_value if isinstance(total, Total) else total, *possible])

    def _note(self, error: SizeError, method: str, off: float, reliable: bool) -> None:
        if method != EXACT:
            self.estimated += EstimatedRows(1, off, int(not reliable), needed(error))
