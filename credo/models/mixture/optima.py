"""The best optimum for the sample's rows from some starts: by EM for any columns, or on plain arrays, where only the
kept one is turned into evidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from credo.core.em import Fitted, em
from credo.core.membership import Soft
from credo.models.mixture.expectation import MixtureEM
from credo.models.mixture.parallel_starts import Climbed, ParallelStarts
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.mixture.fitting import Fitting, Problem

Fit = Fitted[MixtureEM]


@dataclass(frozen=True, eq=False)
class Optimum(ABC):
    """An optimum for a number of components and a covariance, with its best prior."""

    problem: Problem
    objective: float  # under the prior that it was found with

    @property
    @abstractmethod
    def fit(self) -> Fit:
        """Of the sample's rows."""

    @property
    @abstractmethod
    def rivals(self) -> list[MixtureEM]:
        """Other optima, which may be better ones of all rows."""

    @property
    @abstractmethod
    def strength(self) -> float:
        """Of its prior."""

    @property
    @abstractmethod
    def shares(self) -> Array:
        """Responsibilities times row weights. (rows, components)"""

    @property
    @abstractmethod
    def log_evidence(self) -> float:
        """The log-evidence, comparable among optima with the same number of components."""


@dataclass(frozen=True, eq=False)
class FittedOptimum(Optimum):
    """An optimum found by EM."""

    found: Fit
    others: Sequence[MixtureEM]

    @property
    def fit(self) -> Fit:
        return self.found

    @property
    def rivals(self) -> list[MixtureEM]:
        return [*self.others]

    @property
    def strength(self) -> float:
        return self.found.model.conditional.settings.strength

    @cached_property
    def shares(self) -> Array:
        return self.problem.responsibilities(self.found.model)

    @cached_property
    def log_evidence(self) -> float:
        return self.problem.log_evidence(self.found)


@dataclass(frozen=True, eq=False)
class ArrayOptimum(Optimum):
    """An optimum as arrays; EM takes the last step."""

    model: MixtureEM  # without parameters
    starts: ParallelStarts
    end: Climbed
    others: Climbed
    how: Fitting

    @cached_property
    def fit(self) -> Fit:
        start = self._begun(self.end.shares[0])
        return em(start, (self.problem.sample,).__iter__, steps=self.how.steps, tolerance=self.how.tolerance)

    @property
    def rivals(self) -> list[MixtureEM]:
        return [self._begun(shares) for shares in self.others.shares]

    @property
    def strength(self) -> float:
        return self.starts.strength

    @property
    def shares(self) -> Array:
        return np.asarray(self.end.shares[0].T)

    @cached_property
    def log_evidence(self) -> float:
        return self.starts.log_evidence(self.end)

    def _begun(self, shares: Array) -> MixtureEM:
        """The model at the parameters given by responsibilities (components, rows)."""
        model = self.model.with_prior(self.starts.strength)
        return model.begun_from(self.problem.sample, Soft(np.ascontiguousarray(shares.T)))
