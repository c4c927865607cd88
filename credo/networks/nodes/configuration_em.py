"""EM for the hidden rows of distributions behind a node, such as a noisy-OR's causes, from the observed
configurations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from credo import engines
from credo.core.em import Expected, accelerated_em
from credo.core.evidence import Evidence, Part
from credo.core.statistics import Counts
from credo.data.schema import Schema
from credo.engines.partitions import Loaded
from credo.networks.table_priors import TablePriors
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.networks.nodes.independent_causes import CausesNode
    from credo.networks.nodes.node import Prior

EM_STEPS, EM_TOLERANCE = 2000, 1e-13


@dataclass(frozen=True, eq=False)
class SeenConfigurations(Loaded):
    """The observed configurations, as one batch."""

    evidence: Evidence
    rows: int = 1


@dataclass(frozen=True, eq=False)
class RowsEM:
    """The model of a node for `credo.core.em`."""

    node: CausesNode
    prior: Prior  # prior of the log-odds
    parameters: Array

    def expect(self, batch: SeenConfigurations, /) -> Expected:
        counts = Counts(Exact.of(self.node.counts(batch.evidence, self.parameters)))
        found = Evidence(Schema(()), {self.node.expected_label: Part((None, None), counts)})
        return found, self.node.log_likelihood(batch.evidence, self.parameters)

    def with_evidence(self, evidence: Evidence, /) -> Self:
        counts = evidence[self.node.expected_label].n.value
        return replace(self, parameters=self.node.mode(self.prior, counts))

    def log_prior(self) -> float:
        return self.node.log_prior(self.prior, self.parameters)

    def coordinates(self) -> Array:
        return self.node.coordinates(self.parameters)

    def at(self, coordinates: Array, /) -> Self:
        return replace(self, parameters=self.node.at(coordinates, self.parameters))


def fitted_rows(node: CausesNode, prior: Prior, evidence: Evidence) -> Array:
    """The mode of the rows in log-odds, from a fixed start: the same evidence gives the same bits.

    The likelihood of a noisy-OR is concave in log(1 - strength), so there is one optimum.
    """
    shape = {node.label.name: node.shape({})}
    in_log_odds = TablePriors(default=prior).in_log_odds(shape)[node.label.name]
    begun = RowsEM(node, in_log_odds, node.start())
    with engines.using(engines.Serial()):
        return accelerated_em(
            begun, lambda: [SeenConfigurations(evidence)], steps=EM_STEPS, tolerance=EM_TOLERANCE
        ).model.parameters
