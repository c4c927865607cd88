"""P(number | parents) and P(category | parents, numbers among them), as arrays over the states of category parents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.numerics.arrays import Positions
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class NumberNode:
    """x | c, z ~ N(interceptᶜ + Σ weightᶜⱼ zⱼ, varianceᶜ), c the states of category parents, z the number parents."""

    name: str
    categories: tuple[str, ...]
    numbers: tuple[str, ...]
    intercept: Array  # (the categories' states...)
    weights: Array  # (the categories' states..., number parents)
    variance: Array  # (the categories' states...)

    def __post_init__(self) -> None:
        for each in ("intercept", "weights", "variance"):  # arrays may have no axes
            object.__setattr__(self, each, np.asarray(getattr(self, each), dtype=np.float64))

    @cached_property
    def parallel(self) -> bool:
        """Whether weights and variance are the same in all configurations, so that only intercepts differ."""
        weights = self.weights.reshape(self.variance.size, len(self.numbers))
        variance = self.variance.reshape(-1)
        return bool((weights == weights[:1]).all() and (variance == variance[:1]).all())

    def at(self, codes: Mapping[str, Positions]) -> tuple[Array, Array, Array]:
        """Intercepts, weights and variances for configurations of the category parents."""
        where = tuple(codes[name] for name in self.categories)
        return self.intercept[where], self.weights[where], self.variance[where]

    def mean(self, codes: Mapping[str, Positions], numbers: Mapping[str, Array]) -> Array:
        """The mean of each row."""
        where = tuple(codes[name] for name in self.categories)
        found = self.intercept[where]
        for j, parent in enumerate(self.numbers):
            found = found + self.weights[..., j][where] * numbers[parent]
        return np.asarray(found)

    def log_density(self, codes: Mapping[str, Positions], numbers: Mapping[str, Array]) -> Array:
        """log p(x | parents) of each row."""
        variance = self.variance[tuple(codes[name] for name in self.categories)]
        away = numbers[self.name] - self.mean(codes, numbers)
        return np.asarray(-0.5 * (away**2 / variance + np.log(2 * np.pi * variance)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NumberNode):
            return NotImplemented
        if (self.name, self.categories, self.numbers) != (other.name, other.categories, other.numbers):
            return False
        pairs = ((getattr(self, each), getattr(other, each)) for each in ("intercept", "weights", "variance"))
        return all(np.array_equal(a, b) for a, b in pairs)


@dataclass(frozen=True, eq=False)
class Equations:
    """xᵢ - Σ weightᵢⱼ xⱼ = interceptᵢ + noise, of all numbers without category parents; rows of others are empty."""

    place: Mapping[str, int]
    coefficients: Any  # a SciPy sparse matrix (numbers, numbers)
    intercept: Array
    variance: Array

    @classmethod
    def of(cls, nodes: Mapping[str, NumberNode]) -> Equations:
        from scipy import sparse

        place = {name: i for i, name in enumerate(nodes)}
        rows, columns, cells = list[int](), list[int](), list[float]()
        intercept, variance = np.zeros(len(nodes)), np.ones(len(nodes))
        for i, node in enumerate(nodes.values()):
            if node.categories:
                continue
            intercept[i], variance[i] = node.intercept, node.variance
            rows += [i] * (len(node.numbers) + 1)
            columns += [i, *(place[name] for name in node.numbers)]
            cells += [1.0, *(-node.weights).tolist()]
        return cls(place, sparse.csr_array((cells, (rows, columns)), shape=(len(nodes),) * 2), intercept, variance)


@dataclass(frozen=True, eq=False)
class LogisticNode:
    """P(x = k | c, z) ∝ exp(interceptᶜₖ + Σ weightᶜₖⱼ zⱼ): softmax regression at each state of category parents."""

    name: str
    categories: tuple[str, ...]
    numbers: tuple[str, ...]
    intercept: Array  # (the categories' states..., own states)
    weights: Array  # (the categories' states..., own states, number parents)

    def log_table(self, codes: Mapping[str, Positions], numbers: Mapping[str, Array]) -> Array:
        """log P(state | parents) of each row. (rows, own states)"""
        where = tuple(codes[name] for name in self.categories)
        score = self.intercept[where]
        for j, parent in enumerate(self.numbers):
            score = score + self.weights[..., j][where] * np.asarray(numbers[parent])[..., None]
        return np.asarray(score - np.logaddexp.reduce(score, axis=-1, keepdims=True))

    def table(self, numbers: Mapping[str, float]) -> Array:
        """The table over category parents and own states, given all number parents."""
        score = self.intercept + self.weights @ np.array([numbers[each] for each in self.numbers])
        return np.asarray(np.exp(score - np.logaddexp.reduce(score, axis=-1, keepdims=True)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LogisticNode):
            return NotImplemented
        same = (self.name, self.categories, self.numbers) == (other.name, other.categories, other.numbers)
        return same and np.array_equal(self.intercept, other.intercept) and np.array_equal(self.weights, other.weights)
