"""A block whose log-likelihoods are mixed between classes, with coefficients from tuning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.blocks.block import Parameter
from credo.blocks.capabilities import CountsIgnored, Hides, Ignored, OneTerm, Weighable, read_counting_ignored
from credo.core.membership import Hard
from credo.data import Batch
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class ClassMixture(OneTerm, CountsIgnored, Hides):
    """w s + M s, where s are the log-likelihoods of a joint block."""

    inner: Weighable
    weights: Array
    mixture: Array  # (classes, classes)

    @property
    def names(self) -> tuple[str, ...]:
        return self.inner.names

    @property
    def term_names(self) -> tuple[str, ...]:
        return self.inner.term_names

    def read(self, batch: Batch) -> Any:
        return self.inner.read(batch)

    def read_counting_ignored(self, batch: Batch) -> tuple[Any, Ignored]:
        return read_counting_ignored(self.inner, batch)

    def mixed(self, log_likelihood: Array) -> Array:
        return np.asarray(self.weights[0] * log_likelihood + log_likelihood @ self.mixture.T)

    def add(self, cells: object, out: Array) -> None:
        inner = np.zeros_like(out)
        self.inner.add(cells, inner)
        out += self.mixed(inner)

    def by_column(self, cells: object, shape: tuple[int, int]) -> dict[str, Array]:
        return {name: self.mixed(each) for name, each in self.inner.by_column(cells, shape).items()}

    def hidden(self, cells: object, log_likelihood: Array) -> dict[str, Array]:
        whole = np.zeros_like(log_likelihood)
        self.inner.add(cells, whole)
        return {name: self.mixed(gone) for name, gone in Hides.needed(self.inner).hidden(cells, whole).items()}

    def add_left_out(self, cells: object, own: Hard, out: Array) -> None:
        """The log-likelihoods, neither weighted nor mixed."""
        self.inner.add_left_out(cells, own, out)

    def add_weighted_left_out(self, cells: object, own: Hard, weights: Array, out: Array) -> None:
        inner = np.zeros_like(out)
        self.inner.add_left_out(cells, own, inner)
        out += replace(self, weights=weights).mixed(inner)

    def weighted(self, weights: Array) -> ClassMixture:
        return replace(self, weights=weights)

    def parameters(self) -> list[Parameter]:
        return self.inner.parameters()

    @property
    def free_parameters(self) -> int:
        return self.inner.free_parameters
