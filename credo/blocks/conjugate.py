"""A column given the group by any conjugate pair of one column, with a given prior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from credo.blocks.block import Block, Likelihood, Parameter, Settings
from credo.blocks.capabilities import ByColumn, Draws, Expects, LogEvidence, LogPrior, Points
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Membership
from credo.core.statistics import Statistics
from credo.data import Batch
from credo.data.cells import check_positive
from credo.data.schema import Column, Kind, Schema
from credo.families.family import Family, Reads
from credo.families.pareto_uniform import ParetoUniform
from credo.numerics.distributions import Distribution
from credo.numerics.exact import Array

KIND_OF_CELLS: dict[Reads, Kind] = {"count": "count", "positive": "number", "number": "number"}
RATE_CELLS: tuple[Reads, ...] = ("count", "positive")  # cells of families with rates, whose logarithms EM uses

EQUAL_VARIANCE_POWER: dict[Reads, float] = {"count": 1 / 2, "positive": 1 / 3}  # of Poisson counts (Anscombe), and of
# waiting times (Wilson and Hilferty): cells whose standard deviations grow with their means


def describes_numbers(family: Family) -> bool:
    """Whether the family describes one column of numbers, and allows soft membership (a maximum doesn't)."""
    return family.reads in KIND_OF_CELLS and not family.has_target and not isinstance(family, ParetoUniform)


@dataclass(frozen=True)
class ConjugateColumn(Block):
    """x | group ~ p(x | θ), θ ~ the family's prior."""

    names: tuple[str, ...]  # one column
    family: Family

    @property
    def _label(self) -> Label:
        return Label("column", self.names[0])

    def keeps(self, label: Label) -> bool:
        return label == self._label

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        statistics = self.family.statistics(_read(batch, self.names[0], self.family.reads), member)
        axes = (groups, *(None for _ in statistics.n.shape[1:]))
        return Evidence(Schema((Column(self.names[0], "number"),)), {self._label: Part(axes, statistics)})

    def likelihood(self, evidence: Evidence, settings: Settings) -> ConjugateLikelihood:
        return ConjugateLikelihood(self.names, self.family, evidence[self._label], settings)


def _read(batch: Batch, name: str, reads: Reads) -> Array:
    """The column as floats, NaN where a cell is missing."""
    x = batch.numbers(name)
    if reads in RATE_CELLS:
        check_positive(x, name, batch.number, whole=reads == "count")
    return x


@dataclass(frozen=True, eq=False)
class ConjugateLikelihood(Likelihood, LogPrior, LogEvidence, Points, Expects, ByColumn, Draws):
    """log p(x | group): the predictive, or the density at a point estimate."""

    names: tuple[str, ...]
    family: Family  # the prior
    statistics: Statistics  # by group
    settings: Settings

    def read(self, batch: Batch) -> Array:
        return _read(batch, self.names[0], self.family.reads)

    @cached_property
    def belief(self) -> Family:
        return self.family.posterior(self.statistics)

    @property
    def groups(self) -> int:
        return len(self.statistics.n.value)

    @cached_property
    def point(self) -> Any:
        """The estimate of the parameters. At the mode, rates are estimated on a logarithmic scale, whose mode is the
        posterior mean: it isn't 0."""
        if self.settings.estimate == "map":
            return self.belief.mean() if self._in_logs else self.belief.mode()
        mean = self.belief.mean()
        if self.settings.estimate != "ml":
            return mean
        found = self.family.maximum_likelihood(self.statistics)  # NaN for groups without rows
        if self.family.parameters is None:
            return np.where(np.isnan(found), mean, found)
        return self.family.parameters(*(np.where(np.isnan(a), b, a) for a, b in zip(found, mean, strict=True)))

    @property
    def _in_logs(self) -> bool:
        return self.family.reads in RATE_CELLS and self.settings.log_rates

    def add(self, cells: Array, out: Array) -> None:
        known = np.flatnonzero(~np.isnan(cells))
        x, bayes = cells[known], self.settings.estimate == "bayes"
        out[known] += self.belief.log_predictive(x) if bayes else self.family.log_density(x, self.point)

    def by_column(self, cells: Array, shape: tuple[int, int]) -> dict[str, Array]:
        found = np.zeros(shape)
        self.add(cells, found)
        return {self.names[0]: found}

    def log_prior(self) -> float:
        found = np.sum(self.family.log_prior(self.point))
        return float(found + np.log(self.point).sum() if self._in_logs else found)

    def log_evidence(self) -> Array:
        return np.asarray(np.sum(self.family.log_evidence(self.statistics)))[None]

    def log_likelihood_at(self, other: Self) -> float:
        """log p(x | θ) = log p(θ | x) + log p(x) - log p(θ), by Bayes' rule."""
        at = other.point
        return float(np.sum(self.belief.log_prior(at) - self.family.log_prior(at)) + self.log_evidence()[0])

    def points(self, cells: Array) -> Array:
        """On a scale on which groups have about the same variance, whatever their rates."""
        places = cells ** EQUAL_VARIANCE_POWER.get(self.family.reads, 1.0)
        known = places[~np.isnan(places)]
        spread = float(known.std()) if len(known) else 0.0
        return np.asarray((places - (known.mean() if len(known) else 0.0)) / (spread or 1.0))[:, None]

    def expected_cells(self, cells: Array, shares: Array) -> dict[str, Any]:  # noqa: ARG002 - columns are independent
        mean = np.asarray(self.law.mean(), dtype=np.float64)
        return {self.names[0]: shares @ np.broadcast_to(mean, (self.groups,))}

    @property
    def law(self) -> Distribution:
        """The predictive distribution of a cell in each group."""
        found: Distribution = self.belief.predictive()
        return found

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        drawn = np.full(len(classes), np.nan)
        for k in np.unique(classes):
            rows = np.flatnonzero(np.asarray(classes) == k)
            drawn[rows] = self.belief.group(int(k)).predictive().sample(len(rows), rng)
        return {self.names[0]: drawn}

    def parameters(self) -> list[Parameter]:
        name, point = self.names[0], self.belief.mean() if self.settings.estimate == "bayes" else self.point
        if self.family.parameters is None:
            what = "rate" if self.family.reads in RATE_CELLS else "mean"
            return [Parameter(name, what, np.asarray(point))]
        return [Parameter(name, what, np.asarray(getattr(point, what))) for what in point._fields]

    @property
    def free_parameters(self) -> int:
        return self.groups * (1 if self.family.parameters is None else len(self.point))
