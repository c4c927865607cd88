"""Nodes whose log-odds are linear in indicators of the parents' states: tables and learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.core.evidence import Evidence, Part
from credo.errors import NetworkError, SizeError
from credo.networks.nodes.chain import every_cell
from credo.networks.nodes.configurations import ConfigurationCounts
from credo.networks.nodes.family_node import CountedNode
from credo.networks.nodes.node import NodeFactor, Prior, Sizes
from credo.numerics.exact import Array, Exact

LARGEST_EXPANDED_TABLE = 2**22  # numbers
INTERCEPT_SPREAD = 10.0  # prior spread of the intercepts, as a multiple of the weights'


class LogLinear(Protocol):
    """A Softmax or a Logistic, as users give it."""

    def coefficients(self, node: LogLinearNode) -> Array: ...
    def with_coefficients(self, node: LogLinearNode, found: Array) -> Any: ...


@dataclass(frozen=True, eq=False)
class LogLinearNode(CountedNode):
    """P(y | x) ∝ exp(b + z(x) · w), z(x) being 1 for the state of each parent.

    Its parameters are a matrix: intercepts, then a row for each state of each parent; a column for each own state, or
    one for the log-odds of two. P(y | x) has no smaller factors: for exact answers, its table must fit in memory.
    """

    form: Any  # LogLinear
    classes: tuple[int, ...]  # own states in the order of columns; with one column, the reference first
    reference: tuple[int, ...]  # the reference state of each parent, whose weight is 0
    columns: int
    spread: float

    @cached_property
    def starts(self) -> list[int]:
        """The start of each parent's rows, and the number of rows."""
        return [int(at) for at in np.cumsum([1, *self.family.shape[:-1]])]

    @property
    def size(self) -> tuple[int, int]:
        return self.starts[-1], self.columns

    @cached_property
    def free(self) -> list[int]:
        """The learned rows: the intercepts, and the states that aren't references."""
        fixed = {at + state for at, state in zip(self.starts, self.reference, strict=False)}
        return [row for row in range(self.starts[-1]) if row not in fixed]

    @property
    def free_numbers(self) -> int:
        return len(self.free) * (len(self.classes) - 1)

    def shape(self, sizes: Sizes) -> tuple[int, ...]:  # noqa: ARG002 - its states are declared
        return self.size

    # Inference

    @property
    def takes_cases(self) -> bool:
        return False

    @property
    def has_factors(self) -> bool:
        return self.family.cells <= LARGEST_EXPANDED_TABLE

    def parameters(self, given: LogLinear) -> Array:
        return given.coefficients(self)

    def distribution(self, parameters: Array) -> Any:
        return self.form.with_coefficients(self, parameters)

    def log_shares(self, parameters: Array, cells: NDArray[np.int64]) -> Array:
        """log P(y | x) for configurations of the parents. (configurations, own states)"""
        from credo.numerics.softmax import to_log_shares

        logits = np.tile(parameters[0], (len(cells), 1))
        for i, at in enumerate(self.starts[:-1]):
            logits += parameters[at + cells[:, i]]
        return np.ascontiguousarray(to_log_shares(logits)[:, np.argsort(self.classes)])

    def table(self, parameters: Array) -> Array:
        above, own = self.family.shape[:-1], len(self.family.own)
        if not self.has_factors:
            raise SizeError(
                f"the table of {self.name!r:.60} has {prod(above) * own:.3g} numbers, and log-odds that are linear in "
                f"{len(above)} parents have no smaller factors; fit, update and net.distributions do without it, and "
                'query, marginals, probability, log_probability, log_prob and sample estimate, with method="auto"'
            )
        cells = every_cell(above) if above else np.zeros((1, 0), dtype=np.int64)
        return self.rows(parameters, cells).reshape(*above, own)

    def rows(self, parameters: Array, cells: NDArray[np.int64]) -> Array:
        return np.exp(self.log_shares(parameters, cells))

    def node_factors(self, parameters: Array) -> tuple[NodeFactor, ...]:
        return (NodeFactor(self.family.scope, self.table(parameters)),)

    # Learning

    def expected(self, counts: Sequence[Array], parameters: Array) -> Part:  # noqa: ARG002
        cells = every_cell(self.family.shape)
        seen = counts[0].reshape(-1) > 0
        return Part(self.axes, ConfigurationCounts(Exact.of(counts[0].reshape(-1)[seen]), cells[seen].astype(np.int32)))

    def counts(self, evidence: Evidence, parameters: Array) -> ConfigurationCounts:  # noqa: ARG002
        found: ConfigurationCounts = evidence[self.label]
        return found

    def log_likelihood(self, evidence: Evidence, parameters: Array) -> float:
        seen: ConfigurationCounts = evidence[self.label]
        cells = seen.cells.astype(np.int64)
        logs = self.log_shares(parameters, cells[:, :-1])
        return float(seen.n.value @ logs[np.arange(len(cells)), cells[:, -1]])

    def mode(self, prior: Prior, counts: ConfigurationCounts) -> Array:
        """The mode by Newton's method: the log-posterior is concave."""
        from credo.numerics.softmax import SumLikelihood, feature_rows
        from credo.numerics.softmax_modes import WeightPrior, newton_mode

        cells, found = counts.cells.astype(np.int64), np.zeros(self.size)
        features = np.zeros((len(cells), self.starts[-1] - 1))
        for i, at in enumerate(self.starts[:-1]):
            features[np.arange(len(cells)), at - 1 + cells[:, i]] = 1.0
        own = np.argsort(self.classes)[cells[:, -1]]
        rows = feature_rows(features[:, [row - 1 for row in self.free[1:]]], own, counts.n.value)
        precision = np.full((len(self.free), self.size[1]), 0.0 if prior is None else self.spread**-2)
        precision[0] /= INTERCEPT_SPREAD**2
        weights = WeightPrior(np.zeros_like(precision), precision)
        start = np.zeros_like(precision)
        found[self.free] = newton_mode(lambda at, how: SumLikelihood(at, how)(rows), weights, start).coefficients
        return found

    def estimate(self, prior: Prior, evidence: Evidence) -> Array:
        return self.mode(prior, evidence[self.label])

    def log_prior(self, prior: Prior, parameters: Array) -> float:
        if prior is None:
            return 0.0
        scaled = parameters / self.spread
        return -0.5 * float((scaled[1:] ** 2).sum() + ((scaled[0] / INTERCEPT_SPREAD) ** 2).sum())

    def drawn(self, parameters: Array, random: np.random.Generator) -> Array:
        found = np.zeros(parameters.shape)
        found[self.free] = random.standard_normal((len(self.free), parameters.shape[1]))
        return found

    def coordinates(self, parameters: Array) -> Array:
        return parameters.reshape(-1)

    def at(self, coordinates: Array, parameters: Array) -> Array:
        return coordinates.reshape(parameters.shape)


def checked_spread(given: object) -> None:
    if not isinstance(given, Real) or not 0.0 < float(given) < np.inf:
        raise NetworkError(f"the spread of weights must be above 0, but is {given!r:.60}")
