"""Leave-one-out: log-probabilities of each row under nodes learned from the others, without refits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo import engines
from credo.core.learning import RowWeights, Weights
from credo.core.membership import Codes
from credo.core.validation import Validation, summed_validation
from credo.data import Batch, source
from credo.errors import DataError, EvidenceError
from credo.networks.hybrid.learning import HybridLearner, NodeShape, shapes_of
from credo.networks.hybrid.line_priors import LinePosterior, expected_variance, line_posterior
from credo.networks.inference.state_index import StateIndex
from credo.networks.learning import WEIGHT_TOLERANCE, state_codes
from credo.networks.nodes.table import ConditionalTable
from credo.networks.table_priors import dirichlet_of
from credo.numerics.distributions import Normal
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.core.learning import Weight
    from credo.networks.hybrid.network import HybridNetwork


def leave_one_out(net: HybridNetwork, data: object, weight: Weight) -> Validation:
    learner, table, weights = HybridLearner.of(net), source(data), Weights.of(weight)
    learner._check_additive("leave rows out")
    if net.history:
        raise EvidenceError("the nodes were fitted by EM: leaving out a row needs a refit; fit parts of the rows")
    table.check_rereadable("leave-one-out reads the data once more")
    names = learner.needs(table.without(weight))
    job, partitions = LeaveOutOfNodes.of(learner, weights.of_a_row), weights.partitions(table, names)
    if table.sums_scores:
        added = summed_validation(job, partitions, left_out=True)
        _check_rows(learner, added.n)
        return added.instead_of_rows()
    log_probs, row_weights = (np.concatenate(each) for each in zip(*engines.map(job, partitions), strict=True))
    _check_rows(learner, row_weights.sum())
    return Validation(log_probs, np.arange(len(log_probs)), row_weights)


def _check_rows(learner: HybridLearner, there: float) -> None:
    """Check the data against the evidence, given the weight of the data's rows."""
    if abs(there - learner.n) > WEIGHT_TOLERANCE * max(1.0, learner.n):
        raise EvidenceError(
            f"leave-one-out needs the rows that were learned: the evidence has {learner.n:g} of them, the data "
            f"{there:g}"
        )


@dataclass(frozen=True, eq=False)
class LeaveOutOfNodes:
    """The job of one batch: each node without the row, by subtracting it from the counts or by a rank-one downdate of
    the regression.

    With h = z′P⁻¹z and e = y - w′z: w₋ᵢ = w - P⁻¹z e/(1 - h), scale₋ᵢ = scale - ½ e²/(1 - h), shape₋ᵢ = shape - ½, P₋ᵢ
    = P - zz′. The prior is held fixed.
    """

    learner: HybridLearner
    weights: RowWeights
    lines: dict[str, LinePosterior]

    @classmethod
    def of(cls, learner: HybridLearner, weights: RowWeights) -> LeaveOutOfNodes:
        net, found = learner.network, dict[str, Any]()
        for name, line in shapes_of(net.parents, learner.numbers)[1].items():
            after = line_posterior(net.prior.line(name), name, net.evidence[line.label])
            if after is None:
                raise EvidenceError("leave-one-out of numbers needs a prior: under 'ml', fit parts of the rows")
            found[name] = after
        return cls(learner, weights, found)

    def __call__(self, batch: Batch) -> tuple[Array, Array]:
        weight, net = self.weights.of_rows(batch), self.learner.network
        names = tuple(net.states)
        index = StateIndex(names, tuple(net.states.values()))
        codes = dict(zip(names, state_codes(index, names, batch), strict=True)) if names else {}
        numbers = {name: batch.numbers(name) for name in net.numbers}
        for name, own in [*codes.items(), *numbers.items()]:
            missing = own < 0 if name in codes else np.isnan(own)
            if missing.any():
                raise DataError(
                    f"{name!r} is missing in row {batch.number(int(np.argmax(missing)))}: it wasn't learned"
                )
        tables, lines = shapes_of(net.parents, self.learner.numbers)
        found = np.zeros(batch.rows)
        for table in tables.values():
            found += self._log_share(table, codes, weight)
        for line in lines.values():
            found += self._log_density(line, codes, numbers, weight)
        return found, weight

    def _log_share(self, table: ConditionalTable, codes: dict[str, Codes], weight: Array) -> Array:
        net = self.learner.network
        counts, prior = net.evidence[table.label].n.value, net.prior.tables[table.name]
        cell = tuple(codes[name] for name in table.scope)
        left, total = counts[cell] - weight, counts.sum(-1)[cell[:-1]] - weight
        if prior is not None:
            alpha = np.broadcast_to(dirichlet_of(prior, counts.shape, table.name).concentration, counts.shape)
            left, total = left + alpha[cell], total + alpha.sum(-1)[cell[:-1]]
        with np.errstate(divide="ignore", invalid="ignore"):
            known = np.log(np.maximum(left, 0.0) / total)
        return np.asarray(np.where(total > 0, known, -np.log(counts.shape[-1])))

    def _log_density(self, line: NodeShape, codes: dict[str, Codes], numbers: dict[str, Array], weight: Array) -> Array:
        sizes = {name: len(states) for name, states in self.learner.network.states.items()}
        at, (after, pivot) = line.configuration(codes, sizes, len(weight)), self.lines[line.name]
        centred = [numbers[name] - middle for name, middle in zip(line.columns, pivot, strict=True)]
        z, y = np.column_stack([np.ones(len(weight)), *centred[:-1]]), centred[-1]
        inverse = np.linalg.inv(after.precision)[at]
        gain = np.einsum("nij,nj->ni", inverse, z)
        leverage = weight * np.einsum("ni,ni->n", gain, z)
        away = y - np.einsum("ni,ni->n", after.location[at], z)
        left = 1.0 - leverage
        shape = after.shape[at] - weight / 2
        variance = expected_variance(shape, after.scale[at] - weight * away**2 / left / 2)
        variance *= 1.0 + z.shape[1] / (after.precision[at, 0, 0] - weight)
        return np.asarray(Normal(y - away / left, np.sqrt(variance)).log_prob(y))
