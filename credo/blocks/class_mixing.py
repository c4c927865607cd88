"""A block whose log-likelihoods are mixed between classes, as tuning found best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.blocks.block import Likelihood, Parameter, Silence
from credo.core.membership import Hard
from credo.data import Batch
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class Mixed(Likelihood):
    """w s + M s, where s are a block's log-likelihoods under each class."""

    inner: Likelihood
    weights: Array
    mixture: Array  # (classes, classes)

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.inner.names

    @property
    def term_names(self) -> tuple[str, ...]:
        return self.inner.term_names

    def read(self, batch: Batch) -> Any:
        return self.inner.read(batch)

    def silent(self, batch: Batch, cells: Any) -> dict[Silence, int]:
        return self.inner.silent(batch, cells)

    def add(self, cells: Any, out: Array) -> None:
        said = np.zeros_like(out)
        self.inner.add(cells, said)
        out += self.weights[0] * said + said @ self.mixture.T

    def said(self, cells: Any, shape: tuple[int, int]) -> dict[str, Array]:
        each = self.inner.said(cells, shape)
        return {name: self.weights[0] * said + said @ self.mixture.T for name, said in each.items()}

    def hidden(self, cells: Any, said: Array) -> dict[str, Array] | None:
        whole = np.zeros_like(said)
        self.inner.add(cells, whole)
        each = self.inner.hidden(cells, whole)
        return each and {name: self.weights[0] * gone + gone @ self.mixture.T for name, gone in each.items()}

    def add_left_out(self, cells: Any, own: Hard, out: Array) -> None:
        """Neither weighed nor mixed."""
        self.inner.add_left_out(cells, own, out)

    def add_weighed_left_out(self, cells: Any, own: Hard, weights: Array, out: Array) -> None:
        said = np.zeros_like(out)
        self.inner.add_left_out(cells, own, said)
        out += weights[0] * said + said @ self.mixture.T

    def pick(self, places: Sequence[int]) -> Mixed:
        return replace(self, inner=self.inner.pick(places))

    def cells_of(self, cells: Any, places: Sequence[int]) -> Any:
        return self.inner.cells_of(cells, places)

    def weighted(self, weights: Array) -> Mixed:
        return replace(self, weights=weights)

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        return self.inner.sample(classes, rng)

    def parameters(self) -> list[Parameter]:
        return self.inner.parameters()

    @property
    def free_parameters(self) -> int:
        return self.inner.free_parameters
