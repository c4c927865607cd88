"""Moments of rows with missing cells, completed by EM: a missing cell is replaced by its regression on the known
ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.blocks.numbers.covariances import completion, most_likely
from credo.core.em import Expected, em
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.moments import CrossMoments
from credo.data.schema import Schema
from credo.engines.partitions import Loaded
from credo.families.normal_inverse_wishart import JointGaussian
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.blocks.numbers.gaussian_likelihood import JointLikelihood

COMPLETE_ROWS = Label("joint")  # moments of complete rows
NO_COLUMNS = Schema(())  # the moments run over no levels
COMPLETION_STEPS, COMPLETION_TOLERANCE = 2000, 1e-15  # of EM


def completed(
    likelihood: JointLikelihood, parts: Sequence[FilledPattern], start: JointGaussian
) -> tuple[Array, Array, Array]:
    """The expected n, mean and scatter of complete rows at the most probable parameters."""
    with engines.using(engines.Serial()):
        found = em(
            GaussianCompletion(likelihood, start), lambda: parts, steps=COMPLETION_STEPS, tolerance=COMPLETION_TOLERANCE
        )
    return _moments(found.evidence[COMPLETE_ROWS])


@dataclass(frozen=True, eq=False)
class FilledPattern(Loaded):
    """One pattern's moments about the shift, and the expected moments of the completed rows."""

    known: NDArray[np.bool_]
    n: Array
    mean: Array
    scatter: Array

    @property
    def rows(self) -> int:
        return len(self.n)

    def expected(self, parameters: JointGaussian) -> CrossMoments:
        """E[Σx], E[Σxx′]: a missing cell is its regression on the known ones, and the residual covariance is added."""
        slope, residual = completion(parameters.covariance, self.known)
        centre = parameters.mean + np.einsum("kij,kj->ki", slope, self.mean - parameters.mean[:, self.known])
        n = self.n[:, None, None]
        second = slope @ self.scatter @ slope.swapaxes(1, 2) + n * (residual + centre[:, :, None] * centre[:, None, :])
        return CrossMoments(Exact.of(self.n), Exact.of(self.n[:, None] * centre), Exact.of(second))

    def log_likelihood(self, parameters: JointGaussian) -> float:
        given = parameters.over(np.flatnonzero(self.known))
        return float(given.log_likelihood(self.n, self.mean, self.scatter).sum())


@dataclass(frozen=True, eq=False)
class GaussianCompletion:
    """Gaussians of the classes, from rows with missing cells: a model for `em`, whose batches are patterns."""

    likelihood: JointLikelihood
    gaussians: JointGaussian

    def expect(self, batch: FilledPattern, /) -> Expected:
        moments = Part((None,), batch.expected(self.gaussians))
        return Evidence(NO_COLUMNS, {COMPLETE_ROWS: moments}), batch.log_likelihood(self.gaussians)

    @property
    def _flat(self) -> bool:
        """Whether there is no prior."""
        return self.likelihood.settings.estimate == "ml"

    def with_evidence(self, evidence: Evidence, /) -> Self:
        own, moments = self.likelihood, _moments(evidence[COMPLETE_ROWS])
        return replace(self, gaussians=most_likely(*moments, own.tied) if self._flat else self._mode(*moments))

    def _mode(self, n: Array, mean: Array, scatter: Array) -> JointGaussian:
        return self.likelihood.at_mode(self.likelihood.with_prior(n, mean, scatter))

    def log_prior(self) -> float:
        """Σ log N(μ; m, Σ/s) + log InverseWishart(Σ) over classes, up to a constant; a shared Σ counts once."""
        if self._flat:
            return 0.0
        return float(self.likelihood.prior.log_kernel(self.gaussians, self.likelihood.tied).sum())


def _moments(statistics: Any) -> tuple[Array, Array, Array]:
    return statistics.n.value, statistics.mean, statistics.scatter
