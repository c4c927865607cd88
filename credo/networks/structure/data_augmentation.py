"""Missing cells of tables with numbers, drawn from P(missing | known) under a conditional Gaussian network.

Each cell in turn is drawn given all others of its row (Gibbs sampling): a category by its own table and the families of
its children, a number by the product of the Gaussians in which it occurs. The network's parameters are estimated from
the rows as last completed. (Tanner and Wong 1987)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.errors import SizeError
from credo.networks.structure.columns import MOST_NUMBERED_STATES, Columns
from credo.networks.structure.number_scores import NormalWishart, NumberTable, grouped_scatter
from credo.networks.structure.score import Parents
from credo.numerics.exact import Array

Cells = Mapping[int, NDArray[Any]]  # for each variable, state codes or standardised numbers. (rows,)


@dataclass(frozen=True, eq=False)
class Configurations:
    """The joint states of some categories that occur, in order; the last index stands for all others."""

    members: tuple[int, ...]
    sizes: tuple[int, ...]
    keys: NDArray[np.int64]

    @classmethod
    def of(cls, members: Sequence[int], sizes: Mapping[int, int], cells: Cells, rows: int) -> Configurations:
        made = cls(tuple(members), tuple(sizes[v] for v in members), np.empty(0, dtype=np.int64))
        if prod(made.sizes) > MOST_NUMBERED_STATES:
            raise SizeError(f"{len(members)} parents have too many joint states to number: lower max_parents=")
        return replace(made, keys=np.unique(made._key(cells, rows)))

    def _key(self, cells: Cells, rows: int) -> NDArray[np.int64]:
        key = np.zeros(rows, dtype=np.int64)
        for v, size in zip(self.members, self.sizes, strict=True):
            key = key * size + cells[v]
        return key

    def places(self, cells: Cells, rows: int) -> NDArray[np.intp]:
        """The index of the parameters of each row."""
        key = self._key(cells, rows)
        at = np.searchsorted(self.keys, key)
        found = self.keys[np.minimum(at, len(self.keys) - 1)] == key
        return np.where(found, at, len(self.keys))

    def __len__(self) -> int:
        return len(self.keys) + 1


@dataclass(frozen=True, eq=False)
class CategoryFamily:
    """log P(state | parents), the posterior mean under a uniform prior with an equivalent sample size."""

    node: int
    given: Configurations
    log_table: Array  # (configurations, states)

    @classmethod
    def of(
        cls, node: int, given: Configurations, states: int, cells: Cells, weight: Array, equivalent: float
    ) -> CategoryFamily:
        place = given.places(cells, len(weight)) * states + cells[node]
        seen = np.bincount(place, weight, len(given) * states).reshape(-1, states)
        counts = seen + equivalent / (prod(given.sizes) * states)
        return cls(node, given, np.asarray(np.log(counts / counts.sum(1, keepdims=True)), dtype=np.float64))

    def log_prob(self, cells: Cells, rows: int) -> Array:
        return np.asarray(self.log_table[self.given.places(cells, rows), cells[self.node]])


@dataclass(frozen=True, eq=False)
class NumberFamily:
    """number = intercept + Σ slope · parent + noise, separately for each joint state of the categories among its
    parents."""

    node: int
    given: Configurations
    numbers: tuple[int, ...]  # its number parents
    intercept: Array  # (configurations,)
    slope: Array  # (configurations, parents)
    variance: Array  # (configurations,)

    @classmethod
    def of(
        cls, node: int, given: Configurations, numbers: Sequence[int], cells: Cells, weight: Array, prior: NormalWishart
    ) -> NumberFamily:
        """The regression from the mean and covariance of parents and child, under the posterior of BGe's prior."""
        z = np.stack([cells[v] for v in (*numbers, node)], axis=1)
        n, mean, scatter = grouped_scatter(z, weight, given.places(cells, len(weight)), len(given))
        spread = prior.posterior_scale(n, mean, scatter)
        mean = mean * (n / (n + prior.equivalent))[:, None]
        slope = np.asarray(np.linalg.solve(spread[:, :-1, :-1], spread[:, :-1, -1:])[:, :, 0], dtype=np.float64)
        left = spread[:, -1, -1] - (slope * spread[:, :-1, -1]).sum(1)
        intercept = mean[:, -1] - (slope * mean[:, :-1]).sum(1)
        return cls(node, given, tuple(numbers), intercept, slope, left / (n + prior.equivalent))

    def expected(self, cells: Cells, rows: int) -> tuple[Array, Array, Array]:
        """The mean given the parents, the slope of each of them, and the variance, of each row."""
        place = self.given.places(cells, rows)
        slope = self.slope[place]
        mean = self.intercept[place]
        for j, parent in enumerate(self.numbers):
            mean = mean + slope[:, j] * cells[parent]
        return mean, slope, self.variance[place]

    def log_prob(self, cells: Cells, rows: int) -> Array:
        mean, _, variance = self.expected(cells, rows)
        return np.asarray(-0.5 * (np.log(variance) + (cells[self.node] - mean) ** 2 / variance))


Family = CategoryFamily | NumberFamily


class Augmentation:
    """Rows with missing cells, and draws of these cells under a sequence of networks."""

    def __init__(self, columns: Columns, equivalent: float, seed: int) -> None:
        self.columns, self.prior = columns, NormalWishart(equivalent)
        self.random = np.random.default_rng(seed)
        place = {name: v for v, name in enumerate(columns.variables)}
        self._categories = {place[column.name]: column for column in columns.categories}
        self._numbers = {place[column.name]: column for column in columns.numbers}
        self._sizes = {v: len(column.levels) for v, column in self._categories.items()}
        self._units = {v: _units(column.name, column.values, columns.weight) for v, column in self._numbers.items()}
        self._missing = {v: np.flatnonzero(column.codes < 0) for v, column in self._categories.items()}
        self._missing |= {v: np.flatnonzero(np.isnan(column.values)) for v, column in self._numbers.items()}

    def begun(self) -> Columns:
        """Missing cells drawn from the known cells of their column."""
        weight = np.ones(self.columns.rows) if self.columns.weight is None else self.columns.weight
        drawn = self._cells(self.columns)
        for v, rows in self._missing.items():
            known = np.delete(np.arange(len(weight)), rows)
            shares = weight[known] / weight[known].sum()
            drawn[v][rows] = drawn[v][self.random.choice(known, len(rows), p=shares)]
        return self._filled(drawn)

    def swept(self, complete: Columns, parents: Parents, learned: Columns, sweeps: int) -> Columns:
        """Every missing cell redrawn in several sweeps, under the network fitted to some rows."""
        families = self._families(learned, parents)
        children: dict[int, list[Family]] = {v: [] for v in range(len(parents))}
        for node, above in enumerate(parents):
            for parent in above:
                children[parent].append(families[node])
        cells = self._cells(complete)
        for _ in range(sweeps):
            for v, rows in self._missing.items():
                if len(rows):
                    draw = self._state if v in self._categories else self._number
                    cells[v][rows] = draw(v, cells, rows, families[v], children[v])
        return self._filled(cells)

    def _state(
        self, v: int, cells: Cells, rows: NDArray[np.intp], own: Family, below: Sequence[Family]
    ) -> NDArray[Any]:
        """P(state | all other cells) ∝ P(state | parents) · Π P(child | its parents)."""
        some = {u: each[rows] for u, each in cells.items()}
        logs = np.empty((len(rows), self._sizes[v]))
        for state in range(self._sizes[v]):
            some[v] = np.full(len(rows), state)
            logs[:, state] = sum((each.log_prob(some, len(rows)) for each in below), own.log_prob(some, len(rows)))
        return drawn_states(np.exp(logs - logs.max(1, keepdims=True)), self.random)

    def _number(
        self, v: int, cells: Cells, rows: NDArray[np.intp], own: Family, below: Sequence[Family]
    ) -> NDArray[Any]:
        """p(number | all other cells): its own Gaussian times those of its children; precisions add."""
        some = {u: each[rows] for u, each in cells.items()}
        some[v] = np.zeros(len(rows))
        assert isinstance(own, NumberFamily)
        mean, _, variance = own.expected(some, len(rows))
        precision, pull = 1.0 / variance, mean / variance
        for each in below:
            assert isinstance(each, NumberFamily)  # a category has no numbers among its parents
            without, slope, noise = each.expected(some, len(rows))
            steep = slope[:, each.numbers.index(v)]
            precision = precision + steep**2 / noise
            pull = pull + steep * (some[each.node] - without) / noise
        return np.asarray(pull / precision + self.random.standard_normal(len(rows)) / np.sqrt(precision))

    def _families(self, learned: Columns, parents: Parents) -> list[Family]:
        cells, weight = self._cells(learned), np.ones(learned.rows) if learned.weight is None else learned.weight
        found = list[Family]()
        for node, above in enumerate(parents):
            numbers = [u for u in above if u in self._numbers]
            given = Configurations.of([u for u in above if u in self._categories], self._sizes, cells, len(weight))
            found.append(
                CategoryFamily.of(node, given, self._sizes[node], cells, weight, self.prior.equivalent)
                if node in self._categories
                else NumberFamily.of(node, given, numbers, cells, weight, self.prior)
            )
        return found

    def _cells(self, columns: Columns) -> dict[int, NDArray[Any]]:
        """Copies of the cells, with numbers standardised to mean 0 and variance 1."""
        place = {name: v for v, name in enumerate(columns.variables)}
        found: dict[int, NDArray[Any]] = {place[column.name]: column.codes.copy() for column in columns.categories}
        for column in columns.numbers:
            centre, scale = self._units[place[column.name]]
            found[place[column.name]] = (column.values - centre) / scale
        return found

    def _filled(self, cells: Cells) -> Columns:
        """The columns with known cells unchanged, to the last bit, and missing cells as drawn."""
        categories, numbers = dict[str, Any](), dict[str, Any]()
        for v, category in self._categories.items():
            categories[category.name] = replace(category, codes=cells[v].astype(np.int32))
        for v, number in self._numbers.items():
            (centre, scale), rows, values = self._units[v], self._missing[v], number.values.copy()
            values[rows] = centre + scale * cells[v][rows]
            numbers[number.name] = replace(number, values=values)
        return replace(self.columns, categories=tuple(categories.values()), numbers=tuple(numbers.values()))


def drawn_states(chances: Array, random: np.random.Generator) -> NDArray[np.intp]:
    """A state drawn for each row, from unnormalised probabilities. (rows, states)"""
    reached = np.cumsum(chances, axis=1)
    draws = random.random((len(chances), 1)) * reached[:, -1:]
    return np.asarray(np.minimum((reached <= draws).sum(1), chances.shape[1] - 1), dtype=np.intp)


def _units(name: str, values: Array, weight: Array | None) -> tuple[float, float]:
    """The mean and standard deviation of the known cells; a constant column is refused."""
    known = ~np.isnan(values)
    weight = None if weight is None else weight[known]
    table = NumberTable((name,), values[known][:, None], weight)
    return float(np.average(values[known], weights=weight)), float(table.scales[0])
